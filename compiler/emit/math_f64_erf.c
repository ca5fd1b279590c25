/* The error function in f64; how to read it: math.c. */
#include "maths.h"

/* As in f32 (math_erf.c): below 7/8 x + x p(x^2); elsewhere 1 - 2^w, w fitted to the logarithm of erfc.  That is -3 at the point from which the polynomial
 * counts, so that what it leaves beside its whole part is rounded as the small number that it is. */
LLVMValueRef tsr_math_erf_f64(const tsr_maths *m, LLVMValueRef x)
{
	LLVMValueRef a = tsr_math_magnitude(m, x), z = MUL(a, a);
	LLVMValueRef p = POLY_APART(z, MUL(z, z), 0x1.06eba8214db69p-3, -0x1.812746b037a2bp-2, 0x1.ce2f21a0461d1p-4, -0x1.b82ce313932e2p-6, 0x1.565bcd389f98fp-8,
		-0x1.c02dbbca03116p-11, 0x1.f9a40b64c1e47p-14, -0x1.f4e30716e9093p-17, 0x1.baab6a052a283p-20, -0x1.64dc4312ccbb5p-23, 0x1.11553826b6d82p-26,
		-0x1.61c5443154f17p-30);
	LLVMValueRef near = tsr_math_mad(m, p, a, a);
	LLVMValueRef t = SUB(IF(LESS(N(5.9375), a), N(5.9375), a), N(0x1.15b49a7c38e2fp+0)), of_whole = N(TSR_MATH_WHOLE + 1023 - 3);
	LLVMValueRef q = POLY_APART(t, MUL(t, t), -0x1.00f19411fa18dp+2, -0x1.3b22380946e9ep+0, -0x1.c49eb993bc117p-5, 0x1.b3ef081ab929dp-7,
		-0x1.5e996007bbf5cp-9, 0x1.770ce481e43a3p-12, 0x1.ed73209c137a0p-17, -0x1.ef87d90cdd04cp-16, 0x1.7fa32a7674028p-17, -0x1.6cfef558bd7dbp-19,
		0x1.4fc0bbfa69283p-22, 0x1.192002cd48ad2p-24, -0x1.93a21db877255p-25, 0x1.d49e380b4420bp-27, -0x1.481f524521a61p-29, 0x1.0c06b8899e680p-32,
		-0x1.89a323c7a99edp-37);
	LLVMValueRef big = tsr_math_mad(m, t, q, of_whole), r = tsr_math_mad(m, t, q, SUB(of_whole, big)), rr = MUL(r, r);
	LLVMValueRef e = ADD(N(1), tsr_math_mad(m, rr, tsr_math_exp2_rest_f64(m, r, rr), MUL(r, N(0x1.62e42fefa39efp-1))));
	LLVMValueRef far = tsr_math_mad(m, NEG(e), FLOAT(SHL(BITS(big), 52)), N(1));
	return tsr_math_with_sign_of(m, IF(LESS(a, N(0.875)), near, far), x);
}
