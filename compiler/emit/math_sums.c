/* erf and tanh with what they are times and added to, as in gelu and the logistic function, in f32 and registers of AVX-512: of the sum a unit or two of the
 * constant's last place count, and nearness to 0 need not be kept apart; how to read it: math.c. */
#include "maths.h"
#include <math.h>

enum { DEGREE = 4, NARROW = 12 };

/* erf at points from 0 on, by the distance from there: NARROW of them one unit apart, where most is to be told of it, then two units, the last one of which gives
 * 1 at 19 units, where erf is 1 - 6.5 10^-8 and goes on as that.  7.3 10^-8 are the most that they lack. */
static const double UNIT = 3.82 / 19;
static const double erf_near[TSR_MATH_REGISTER][DEGREE + 1] = {
	{0, 1.1283755795, 0, -0.37470479346, 0},
	{0.22384354088, 1.0836743084, -0.21787331567, -0.33087498939, 0.10539665051},
	{0.43041494256, 0.95991778524, -0.38598427016, -0.21603125486, 0.17129387094},
	{0.60633740731, 0.78425870511, -0.47302784424, -0.071484735441, 0.17838886102},
	{0.74459773236, 0.59098238657, -0.475271067, 0.057053701944, 0.13482587573},
	{0.84487409098, 0.41075167921, -0.41291174476, 0.13893664783, 0.067456167842},
	{0.91198971535, 0.26331369936, -0.31763909281, 0.16701321479, 0.0050937906408},
	{0.95344425104, 0.15568847348, -0.21911165314, 0.15335001601, -0.034724544493},
	{0.97707311884, 0.084903947833, -0.13656235067, 0.11808455219, -0.049215339792},
	{0.98950208953, 0.042705835005, -0.07727616316, 0.079101129577, -0.045585055659},
	{0.99553528813, 0.019812249627, -0.039833907238, 0.046952316498, -0.033751280774},
	{0.99823787071, 0.0084774829982, -0.01874919873, 0.024960569246, -0.02124074824},
	{0.99935509576, 0.0033460143864, -0.0080931772403, 0.011906101842, -0.0099321229409},
	{0.99993126402, 0.00040780931512, -0.0011491978348, 0.0021343492059, -0.0025620858688},
	{0.99999461629, 3.5975117976e-05, -0.0001159377651, 0.00025658826775, -0.00036511814774},
	{0.99999975562, 2.2753781116e-06, -2.1124735008e-05, 2.222648944e-05, 0.00028163493695},
};

/* Half of two units behind the last point, but nearer to that than to what would come next. */
static const double END = 2 * TSR_MATH_REGISTER - NARROW - 1.001;

/* A sum with this number crosses a power of two NARROW units above it, where its last place becomes two units: it is rounded to a point of the table, and its
 * low bits are that one's number, but for a turn of NARROW. */
static const double START = 0x1p24 - NARROW;

typedef struct erf_sum { double width, per_width, most, table[DEGREE + 1][TSR_MATH_REGISTER]; } erf_sum;

/* As it is computed at the end of the last interval. */
static float at_end(const erf_sum *s, int entry)
{
	float a = (float)s->most, big = fmaf(a, (float)s->per_width, (float)START), t = fmaf((float)START - big, (float)s->width, a), p = (float)s->table[DEGREE][entry];
	for (int k = DEGREE; k-- > 0;)
		p = fmaf(p, t, (float)s->table[k][entry]);
	return p;
}

/* factor * erf (scale a) for a in 0 .. most.  What rounding leaves at the end goes into its entry: the factor itself stands there, which a constant may cancel. */
static erf_sum tabulated(double factor, double scale)
{
	enum { LAST = TSR_MATH_REGISTER - NARROW - 1, TRIES = 8 };
	erf_sum s = {.width = (float)(UNIT / scale), .per_width = (float)(scale / UNIT), .most = (float)(END * UNIT / scale)};
	for (int i = 0; i < TSR_MATH_REGISTER; i++)
		for (int k = 0; k <= DEGREE; k++)
			s.table[k][(i + TSR_MATH_REGISTER - NARROW) % TSR_MATH_REGISTER] = (float)(factor * erf_near[i][k] * pow(scale, k));
	for (int i = 0; i < TRIES && at_end(&s, LAST) != (float)factor; i++)
		s.table[0][LAST] = (float)(s.table[0][LAST] + (factor - (double)at_end(&s, LAST)));
	return s;
}

LLVMValueRef tsr_math_erf_sum(const tsr_maths *m, const tsr_emit_sum *sum, LLVMValueRef x)
{
	erf_sum s = tabulated(sum->scale < 0 ? -sum->factor : sum->factor, fabs(sum->scale));
	LLVMValueRef sign = LLVMBuildAnd(m->b, BITS(x), I(INT32_MIN), ""), a = FLOAT(LLVMBuildXor(m->b, BITS(x), sign, ""));
	a = IF(LESS(N(s.most), a), N(s.most), a);
	LLVMValueRef big = tsr_math_mad(m, a, N(s.per_width), N(START)), at = BITS(big), t = tsr_math_mad(m, SUB(N(START), big), N(s.width), a);
	LLVMValueRef p = tsr_math_looked_up(m, s.table[DEGREE], at);
	for (unsigned k = DEGREE; k-- > 0;)
		p = tsr_math_mad(m, p, t, tsr_math_looked_up(m, s.table[k], at));
	return ADD(FLOAT(LLVMBuildXor(m->b, BITS(p), sign, "")), N(sum->constant));
}

/* factor (tanh y + 1) = 2 factor / (1 + e^-2y), which is exact where tanh is 1 or -1, and at 0. */
LLVMValueRef tsr_math_tanh_sum(const tsr_maths *m, const tsr_emit_sum *sum, LLVMValueRef x)
{
	LLVMValueRef e = tsr_math_exp(m, MUL(x, N(-2 * sum->scale)));
	LLVMValueRef quotient = DIV(N(2 * sum->factor), ADD(e, N(1)));
	double rest = (float)(sum->constant - sum->factor);
	return rest == 0 ? quotient : ADD(quotient, N(rest));
}
