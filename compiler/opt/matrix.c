/* Which contractions matrix registers compute, and in which blocks: both operands are the f32 of numbers in bf16, the sum is of f32, and its sizes
 * are known.  Whether a process may use the registers is known only when it runs, so that the schedule for vectors stands beside this one. */
#include "schedule.h"

/* Deep blocks, since sums that wait in memory for another block cost more than a panel of B that the second cache has (2048 cubed 23.8 ms in blocks of
 * 512, 15.5 in one); bytes of A's and of B's block. */
enum { DEPTH = 2048, BYTES_A = 512 << 10, BYTES_B = 4 << 20, EACH = 2 };

/* In as few equal blocks as `most` allows. */
static int64_t block_of(int64_t total, int64_t most, int64_t unit)
{
	if (total < 0)
		return most;
	int64_t parts = (total + most - 1) / most;
	return tsr_round_up((total + parts - 1) / parts, unit);
}

/* A sum that nobody but a tail gets is one block, however deep. */
static tsr_schedule blocks_of(const tsr_contraction *c, const tsr_target *t, int64_t m, int64_t n, int64_t k)
{
	uint32_t tile = 2 * t->matrix;
	int64_t kc = block_of(k, c->tail && c->tail->passing ? k : DEPTH, tile), height = BYTES_A / EACH / kc / tile * tile, width = BYTES_B / EACH / kc / tile * tile;
	return (tsr_schedule){ .mr = tile, .nr = tile, .mc = block_of(m, height > tile ? height : tile, tile), .nc = block_of(n, width > tile ? width : tile, tile), .kc = kc,
		.pack_a = true, .pack_b = true, .must_a = true, .must_b = true, .split = c->schedule.split, .grid = c->schedule.grid, .reason = "matrix registers" };
}

bool tsr_contract_matrix(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, tsr_contraction *out)
{
	enum { FEWEST = 8, SHORTEST = 16 };      /* rows and columns, depths that are worth whole registers */
	if (!t->matrix || c->watched || !tsr_contract_narrow(l, c, out))
		return false;
	out->run = out->across = (tsr_stretch){ 0 };
	out->turned = 0;
	tsr_contract_view v;
	tsr_contract_view_make(l, out, &v);
	int64_t m = tsr_walks_count(&v.cls[TSR_CLASS_M]), n = tsr_walks_count(&v.cls[TSR_CLASS_N]), k = tsr_walks_count(&v.cls[TSR_CLASS_K]);
	out->schedule = blocks_of(c, t, m, n, k);
	return m >= FEWEST && n >= FEWEST && (k < 0 || k >= SHORTEST);
}

void tsr_matrix_deepen(const tsr_loops *l, const tsr_problem *p, tsr_contraction *c)
{
	tsr_contraction as;
	tsr_schedule *s = &c->schedule;
	if (!s->rows && !s->cols && !s->turn && p->k > s->kc && p->k <= DEPTH && tsr_contract_matrix(l, c, p->t, &as))
		s->kc = p->k;
}
