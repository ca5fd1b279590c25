/* opt/order.c against the reference interpreter: random products of a batch, and of a matrix by a vector, whose axes lie in any order, with what follows them, leave what they left before the passes; and
 * they are turned where, and only where, the result lies along the batch or across the matrix, operands where theirs lie one within the other, vectors where their axes lie in another order than the matrix'.  Numbers are multiples of a power of two, so that sums are exact in any order. */
#include "check.h"
#include "draw.h"
#include "loops_kit.h"

enum { PROGRAMS = 300, LANES = 16, AXES = 8 };
enum { BATCH, ROWS, COLUMNS, SUMS, CLASSES };

typedef struct product {
	int n, cls[AXES], extent[AXES];      /* its axes */
	int x[AXES], y[AXES], z[AXES], nx, ny, nz;
	int form;                            /* 0: the sum, 1: what follows it, 2: it is added to what is there */
} product;

static void shuffle(int *v, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int j = (int)draw((uint32_t)i + 1), t = v[i];
		v[i] = v[j], v[j] = t;
	}
}

static product drawn(void)
{
	static const int sizes[] = { 2, 3, 4, 5, 8, 12, 16, 20, 33 };
	for (;;) {
		product p = { .form = (int)draw(3) };
		int counts[CLASSES] = { (int)draw(3), (int)draw(3), (int)draw(3), 1 + (int)draw(2) };
		int64_t work = 1;
		for (int cls = 0; cls < CLASSES; cls++)
			for (int i = 0; i < counts[cls]; i++) {
				int axis = p.n++;
				p.cls[axis] = cls, p.extent[axis] = sizes[draw(sizeof sizes / sizeof *sizes)];
				work *= p.extent[axis];
				if (cls != COLUMNS)
					p.x[p.nx++] = axis;
				if (cls != ROWS)
					p.y[p.ny++] = axis;
				if (cls != SUMS)
					p.z[p.nz++] = axis;
			}
		shuffle(p.x, p.nx), shuffle(p.y, p.ny), shuffle(p.z, p.nz);
		if (p.nz && work >= 4096 && work < 300000)
			return p;
	}
}

static void put_list(tsr_text *t, const product *p, const int *axes, int n, bool extents)
{
	tsr_text_char(t, '[');
	for (int i = 0; i < n; i++)
		tsr_text_addf(t, extents ? "%s%d" : "%sa.%d", i ? ", " : "", extents ? p->extent[axes[i]] : axes[i]);
	tsr_text_char(t, ']');
}

static const char *program(tsr_arena *a, const product *p)
{
	tsr_text t;
	tsr_text_init(&t, a);
	const struct { const char *name, *kind; const int *axes; int n; } buffers[] = { { "x", "param", p->x, p->nx }, { "y", "param", p->y, p->ny }, { "z", "value observed", p->z, p->nz }, { "w", "param", p->z, p->nz } };
	for (int i = 0; i < 4; i++) {
		tsr_text_addf(&t, "buffer %%%s : f32", buffers[i].name);
		put_list(&t, p, buffers[i].axes, buffers[i].n, true);
		tsr_text_addf(&t, " %s\n", buffers[i].kind);
	}
	tsr_text_addf(&t, "unit u { kernel z {\n");
	for (int i = 0; i < p->nz; i++)
		tsr_text_addf(&t, "for a.%d in 0..%d parallel {\n", p->z[i], p->extent[p->z[i]]);
	tsr_text_addf(&t, "let $0 : f32 = 0.\n");
	for (int i = 0; i < p->n; i++)
		if (p->cls[i] == SUMS)
			tsr_text_addf(&t, "for a.%d in 0..%d reduce {\n", i, p->extent[i]);
	tsr_text_addf(&t, "set $0 = add.f32($0, mul.f32(%%x");
	put_list(&t, p, p->x, p->nx, false);
	tsr_text_addf(&t, ", %%y");
	put_list(&t, p, p->y, p->ny, false);
	tsr_text_addf(&t, "))\n");
	for (int i = 0; i < p->n; i++)
		if (p->cls[i] == SUMS)
			tsr_text_addf(&t, "}\n");
	tsr_text_addf(&t, p->form == 2 ? "update %%z" : "store %%z");
	put_list(&t, p, p->z, p->nz, false);
	if (p->form == 1) {
		tsr_text_addf(&t, " = max.f32(add.f32($0, %%w");
		put_list(&t, p, p->z, p->nz, false);
		tsr_text_addf(&t, "), mul.f32($0, -0.5))\n");
	} else
		tsr_text_addf(&t, p->form == 2 ? " += $0\n" : " = $0\n");
	for (int i = 0; i < p->nz; i++)
		tsr_text_addf(&t, "}\n");
	tsr_text_addf(&t, "} }\n");
	return tsr_text_str(&t);
}

static int64_t count(const product *p, int cls)
{
	int64_t n = 1;
	for (int i = 0; i < p->n; i++)
		n *= p->cls[i] == cls ? p->extent[i] : 1;
	return n;
}

static int64_t step(const product *p, const int *axes, int n, int axis)
{
	int64_t step = 1;
	for (int i = n; i-- > 0; step *= p->extent[axes[i]])
		if (axes[i] == axis)
			return step;
	return 0;
}

/* Lanes may lie along it. */
static bool fills(const product *p, const int *axes, int n, int axis)
{
	int64_t far = step(p, axes, n, axis);
	return p->extent[axis] >= LANES && far > 0 && far <= 4;
}

/* The operand's axes, sorted as the other one has those that they share. */
static int sorted_as(const int *axes, int n, const int *as, int m, int *out)
{
	int k = 0;
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++)
			if (as[i] == axes[j])
				out[k++] = axes[j];
	return k;
}

/* So many places of the result lie one behind the other in the matrix, and evenly in the vector; `inner`: its last ones, in its order. */
static int run_of(const product *p, const int *matrix, int nm, const int *vector, int nv, bool inner)
{
	bool elements = count(p, ROWS) == 1 && count(p, COLUMNS) == 1;
	int64_t run = 1, each = 0;
	for (int i = p->nz; i-- > 0;) {
		int64_t far = step(p, vector, nv, p->z[i]);
		if (step(p, matrix, nm, p->z[i]) == run && (run == 1 ? !elements || far == 1 : far == each * run)) {
			each = run == 1 ? far : each;
			run *= p->extent[p->z[i]];
			i = inner ? i : p->nz;
		} else if (inner)
			break;
	}
	return (int)run;
}

/* As the pass's head says it: -1 never, 1 always, 0 as it likes.  Of a matrix by a vector the vector may have been turned. */
static int turns(const product *p, bool vector_turned, bool x_turned)
{
	int last = p->z[p->nz - 1], in_row = 1;
	bool rows = count(p, ROWS) > 1, columns = count(p, COLUMNS) > 1;
	if (rows && columns) {
		for (int i = p->nz; i-- > 0 && p->cls[p->z[i]] != BATCH;)
			in_row *= p->extent[p->z[i]];
		bool behind = p->cls[last] == BATCH, along = fills(p, p->x, p->nx, last) || fills(p, p->y, p->ny, last);
		for (int i = 0; i < p->nz; i++)
			along |= fills(p, p->x, p->nx, p->z[i]) && fills(p, p->y, p->ny, p->z[i]);
		return behind && !along ? 1 : count(p, BATCH) == 1 || (!behind && 2 * in_row >= LANES) ? -1 : 0;
	}
	bool first = rows || (!columns && !(vector_turned && x_turned));         /* x is the matrix */
	const int *matrix = first ? p->x : p->y, *vector = first ? p->y : p->x;
	int nm = first ? p->nx : p->ny, nv = first ? p->ny : p->nx, sorted[AXES] = { 0 };
	if (vector_turned)
		nv = sorted_as(vector, nv, matrix, nm, sorted), vector = sorted;
	int run = run_of(p, matrix, nm, vector, nv, false), both = run_of(p, matrix, nm, vector, nv, true);
	return run >= 4 && run >= 2 * both && both < LANES && !(fills(p, vector, nv, last) && fills(p, matrix, nm, last)) ? 1 : -1;
}

/* The axes of the sum are one stretch, as the matrix goes through them. */
static bool is_stretch(const product *p, const int *matrix, int nm, const int *vector, int nv)
{
	int before = -1;
	bool all = true;
	for (int i = 0; i < nv; i++) {
		if (p->cls[vector[i]] != SUMS)
			continue;
		all &= before < 0 || (before + 1 == i && step(p, matrix, nm, vector[before]) >= step(p, matrix, nm, vector[i]));
		before = i;
	}
	return all;
}

/* The vector's axes are in another order than the matrix', and that is worth a copy. */
static bool is_turned(const product *p, const int *matrix, int nm, const int *vector, int nv)
{
	int sorted[AXES] = { 0 }, n = sorted_as(vector, nv, matrix, nm, sorted);
	bool another = false;
	for (int i = 0; i < nv; i++)
		another |= sorted[i] != vector[i];
	int last = sorted[n - 1];
	int64_t own = count(p, ROWS) * count(p, COLUMNS), run = 1;
	bool along = step(p, matrix, nm, last) == 1;
	for (int i = n; i-- > 0 && step(p, matrix, nm, sorted[i]) == run && (p->cls[sorted[i]] == SUMS) == (p->cls[last] == SUMS);)
		run *= p->extent[sorted[i]];
	if (along && last != vector[nv - 1])
		return (own >= 8 ? run : p->extent[last]) >= (p->cls[last] == SUMS ? 4 : 8);
	return another && ((!is_stretch(p, matrix, nm, vector, nv) && is_stretch(p, matrix, nm, sorted, nv)) || (!along && 2 * own < LANES));
}

/* Of as many numbers on both sides either is the vector. */
static bool vector_turns(const product *p)
{
	bool rows = count(p, ROWS) > 1, columns = count(p, COLUMNS) > 1;
	return !(rows && columns) && ((!rows && is_turned(p, p->y, p->ny, p->x, p->nx)) || (!columns && is_turned(p, p->x, p->nx, p->y, p->ny)));
}

int main(void)
{
	state = 9;
	static const char *const passes[] = { "order", "tail,order,groups,classify,schedule,fuse,rows,strip,turn,threads,finite" };
	tsr_target target = *tsr_target_by_name("avx512");
	target.l1 = 1 << 10, target.l2 = 1 << 12;         /* operands are small */
	int turned[3] = { 0 }, operands = 0, vectors = 0;
	for (int i = 0; i < PROGRAMS; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		product p = drawn();
		const char *text = program(tc->arena, &p);
		uint32_t file = tsr_source_add(tc, "order.loop", text, strlen(text));
		tsr_loops *before = tsr_loops_read(tc, file), *after = loops_after(tc, file, &target, passes[i % 2]);
		tsr_diags_render(tc, stdout, false);
		if (!CHECK(before && after)) {
			printf("%s\n", text);
			return check_end("order");
		}
		bool noted = notes_with(after, "matrix by matrix");
		bool within = p.cls[p.x[p.nx - 1]] == BATCH || p.cls[p.y[p.ny - 1]] == BATCH, behind = notes_with(after, "matrix behind matrix");
		operands += behind;
		CHECK(within || !behind);
		bool as_matrix = notes_with(after, "as the matrix has it"), groups = p.x[p.nx - 1] == p.y[p.ny - 1] && p.x[p.nx - 1] == p.z[p.nz - 1];        /* whose lanes lie along all of them (stays.c) */
		CHECK(as_matrix == vector_turns(&p) || (groups && !as_matrix));
		vectors += as_matrix;
		int should = turns(&p, as_matrix, notes_with(after, ": x is turned"));
		turned[p.form] += noted;
		size_t n = 0;
		float *x = interpreted(before, 2, &n), *y = interpreted(after, 2, &n);
		bool asked = CHECK(!(should > 0 && !noted) && !(should < 0 && noted)), same = CHECK(!memcmp(x, y, n * sizeof *x));
		if (!asked || !same)
			printf("should %d, noted %d\n%s\n", should, noted, text);
		free(x), free(y);
		tsr_compiler_free(tc);
	}
	for (int form = 0; form < 3; form++)
		CHECK(turned[form] > PROGRAMS / 30);
	CHECK(operands > PROGRAMS / 30 && vectors > PROGRAMS / 30);
	return check_end("order");
}
