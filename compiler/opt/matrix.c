/* Which contractions matrix registers compute, and in which blocks: the sum is of f32, and so are both operands, of numbers in bf16 or of any that are
 * taken apart into three such (engine/thirds.c); its sizes are known.  Whether a process may use the registers is known only when it runs, so that the schedule for vectors stands beside this one. */
#include "schedule.h"

/* Deep blocks, since sums that wait in memory for another block cost more than a panel of B that the second cache has (2048 cubed 23.8 ms in blocks of
 * 512, 15.5 in one); bytes of A's and of B's block. */
enum { DEPTH = 2048, BYTES_A = 512 << 10, BYTES_B = 4 << 20, EACH = 2 };
/* The same of numbers in thirds, of sums that are long enough to be as near as any order of them is: both blocks stay in the second cache, and little memory is theirs (16 MB for B: 0.96 to 1.02 times as fast for 1024 cubed and more, 0.85 for 512). Windows of 3 x 3 x 64 are one block of depths (of 512: 0.93). */
enum { LEAST_DEPTH = 32, DEPTH_OF_THIRDS = 640, BYTES_A_OF_THIRDS = 256 << 10, BYTES_B_OF_THIRDS = 1 << 20, EACH_OF_THIRDS = 6 };

uint32_t tsr_thirds_count(const tsr_expr *operand)
{
	enum { ALL = 3 };
	while (operand->kind == TSR_EXPR_SELECT && operand->select.outside->kind == TSR_EXPR_CONST && operand->select.outside->value.d == 0)
		operand = operand->select.inside;
	tsr_prec from = operand->kind == TSR_EXPR_CONVERT ? operand->converted->prec : TSR_PREC_NONE;
	bool whole = from == TSR_PREC_BF16 || from == TSR_PREC_F8 || from == TSR_PREC_BOOL || from == TSR_PREC_I8 || from == TSR_PREC_U8;
	return whole ? 1 : ALL;
}

/* In as few equal blocks as `most` allows. */
static int64_t block_of(int64_t total, int64_t most, int64_t unit)
{
	if (total < 0)
		return most;
	int64_t parts = (total + most - 1) / most;
	return tsr_round_up((total + parts - 1) / parts, unit);
}

/* A sum that nobody but a tail gets is one block, however deep. */
static tsr_schedule blocks_of(const tsr_contraction *c, const tsr_target *t, bool thirds, int64_t m, int64_t n, int64_t k)
{
	uint32_t tile = 2 * t->matrix;
	int64_t each = thirds ? EACH_OF_THIRDS : EACH, kc = block_of(k, c->tail && c->tail->passing ? k : thirds ? DEPTH_OF_THIRDS : DEPTH, tile);
	int64_t height = (thirds ? BYTES_A_OF_THIRDS : BYTES_A) / each / kc / tile * tile, width = (thirds ? BYTES_B_OF_THIRDS : BYTES_B) / each / kc / tile * tile;
	return (tsr_schedule){ .mr = tile, .nr = tile, .mc = block_of(m, height > tile ? height : tile, tile), .nc = block_of(n, width > tile ? width : tile, tile), .kc = kc,
		.pack_a = true, .pack_b = true, .must_a = true, .must_b = true, .split = c->schedule.split, .grid = c->schedule.grid, .thirds = thirds, .reason = thirds ? "matrix registers, in thirds" : "matrix registers" };
}

/* So many numbers a cycle registers multiply: six products of thirds each, or those with one operand's only one. */
static double multiplied(const tsr_contraction *c)
{
	const double each = 72 * 6;
	uint32_t a = tsr_thirds_count(c->a_value), b = tsr_thirds_count(c->b_value);
	return each / (a > 1 && b > 1 ? 6 : a * b);
}

/* Cycles of a core in thirds over those by vectors, by a model whose constants choose best among 1,200 products that were measured: taking apart and packing an element of A and of B beyond what vectors pack,
 * what tiles of sums cost on their way to C, and products. */
static double share_of(int64_t m, int64_t n, int64_t k, const tsr_schedule *s, double pack_a, double pack_b, double by_matrix)
{
	const double sum = 0.3, by_vectors = 27;
	double rows = (double)tsr_round_up(m, s->mr), columns = (double)tsr_round_up(n, s->nr), depths = (double)tsr_round_up(k, s->mr), blocks = (double)((n + s->nc - 1) / s->nc);
	return by_vectors * (rows * columns * depths / by_matrix + depths * (pack_a * rows * blocks + pack_b * columns) + sum * rows * columns) / ((double)m * (double)n * (double)k);
}

/* Bytes that an operand of so many elements comes from, fewer where windows read some of them again and again. */
static int64_t bytes_of(const tsr_loops *l, const tsr_expr *operand, int64_t elements)
{
	const tsr_expr *x = tsr_contract_guarded(operand);
	int64_t all = x ? tsr_buffer_bytes(l->buffers.at[x->load.buffer]) : -1, bytes = elements * tsr_prec_bytes(TSR_PREC_F32);
	return all > 0 && all < bytes ? all : bytes;
}

/* The class' last axis lies side by side in the operand. */
static bool beside(const tsr_walks *x, tsr_side side) { return x->n && x->at[x->n - 1].known && x->at[x->n - 1].stride[side] == 1; }

/* Packing an element of an operand of so many bytes, beyond what vectors do for it.  Those evaluate number by number, or in short stretches, as registers do, but into fewer places; what lies side by side
 * along an axis that comes last in neither class is copied by squares first, from near or far; and what no cache holds vectors read where it lies, if it lies so. */
static double packing(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, const tsr_contract_view *v, tsr_side side, int64_t bytes)
{
	enum { LEAST_STRETCH = 32, OF_STRETCH = 48 };
	bool a = side == TSR_SIDE_A, along = beside(&v->cls[TSR_CLASS_K], side), across = beside(&v->cls[a ? TSR_CLASS_M : TSR_CLASS_N], side);
	if (tsr_thirds_count(a ? c->a_value : c->b_value) == 1)          /* vectors convert it, too */
		return 0;
	if (!tsr_contract_plain(l, c, side))
		return a && c->run.length >= LEAST_STRETCH ? 0.75 + OF_STRETCH / (double)c->run.length : 3;
	if (!along && !across)
		return bytes > t->last / 2 ? 4 : 0.5;
	if (bytes > t->last && (a ? along : across))
		return a ? 1.6 : 2;
	return 0.75;
}

/* The same of windows from planes: the places that tiles compute, what of the image they take apart, some of it for two blocks, and put together; sums go through memory, and on to a C that may be far. */
static double share_of_planes(int64_t m, int64_t n, int64_t k, const tsr_schedule *s, const tsr_planes *p, double pack_b, double by_matrix, bool far)
{
	enum { COLUMNS = 16 };       /* of a register */
	const double sum = far ? 2.2 : 0.75, by_vectors = 27, pack_a = 0.75, joined = 0.6, across_lines = 0.85;
	double columns = (double)tsr_round_up(n, COLUMNS), blocks = (double)((n + s->nc - 1) / s->nc), results = (double)(p->h.results * p->w.results);
	double places = (double)m / results * (double)tsr_round_up((p->h.results - 1) * p->places + p->w.results, s->mr);
	double rows = (double)m / (double)s->mc * (double)tsr_planes_rows(p, s->mc), cost = pack_a * (double)(p->pixels * p->channels) + (p->tall > 1 ? joined * (double)(p->pixels * p->channels * p->tall) : 0);
	by_matrix *= p->runs ? across_lines : 1;         /* registers are loaded from rows that begin anywhere in a line */
	return by_vectors * (places * columns * (double)p->depth / by_matrix + cost * rows * blocks + pack_b * (double)p->depth * columns + sum * places * columns) / ((double)m * (double)n * (double)k);
}

/* Bytes of so many lines of results' planes. */
static int64_t bytes_of_planes(const tsr_planes *p, int64_t lines) { return tsr_planes_rows(p, lines * p->w.results) * p->bytes; }

/* A's block becomes planes of some rows of an image, and a sum is one block.  Where only the run knows their sizes, it has at most so many rows (engine/plane_sizes.c). */
enum { ROWS_LATER = 1024 };
static tsr_schedule by_planes(const tsr_schedule *panels, const tsr_planes *p, int64_t m, int64_t n, int64_t k)
{
	tsr_schedule s = *panels;
	int64_t lines = 1, width = BYTES_B_OF_THIRDS / EACH_OF_THIRDS / p->depth / s.nr * s.nr;
	while (lines * p->w.results < m && bytes_of_planes(p, lines + 1) <= TSR_PLANES_BYTES)
		lines++;
	s.mc = p->later ? ROWS_LATER : block_of(m, lines * p->w.results > s.mr ? lines * p->w.results : s.mr, s.mr);
	s.nc = block_of(n, width > s.nr ? width : s.nr, s.nr);
	s.kc = k;
	s.planes = true;
	s.reason = "matrix registers, in thirds, windows from planes";
	return s;
}

/* What only the run knows is taken to be many, as those of one image where the run knows how many images there are, and multiplied so where it turns out to be enough (tsr_matrix_enough). */
enum { MANY = 256 };
static int64_t counted(const tsr_walks *x, bool later)
{
	int64_t n = tsr_walks_count(x), some = 1;
	for (uint32_t i = 0; i < x->nloops; i++)
		some *= tsr_size_is_const(x->loop[i].extent) ? x->loop[i].extent.k : 1;
	return later && n < 0 ? (some > MANY ? some : MANY) : n;
}

static bool sizes_known(const tsr_contract_view *v, bool later)
{
	return (later || tsr_walks_count(&v->cls[TSR_CLASS_M]) >= 0) && tsr_walks_count(&v->cls[TSR_CLASS_N]) >= 0 && tsr_walks_count(&v->cls[TSR_CLASS_K]) >= 0;
}

/* Whether thirds take fewer cycles than vectors, to one thread and to each of two, which pack for themselves what is not divided between them, taken together; from planes where that is surely fewer still, which the schedule
 * says then.  Which class is divided, if any, depends on options, and results may not: it is taken to be the longer one. */
static bool thirds_pay(const tsr_loops *l, tsr_contraction *c, const tsr_target *t, const tsr_contract_view *v, bool later, int64_t m, int64_t n, int64_t k)
{
	const tsr_schedule *s = &c->schedule;
	if (m < 1 || n < 1 || k < LEAST_DEPTH)
		return false;
	double a = packing(l, c, t, v, TSR_SIDE_A, bytes_of(l, c->a_value, m * k)), b = packing(l, c, t, v, TSR_SIDE_B, bytes_of(l, c->b_value, n * k));
	const double doubt = 0.9, surely = 0.9;
	bool rows = m >= n;
	int64_t half_m = rows ? (m + 1) / 2 : m, half_n = rows ? n : (n + 1) / 2;
	double by_matrix = multiplied(c), by_panels = share_of(m, n, k, s, a, b, by_matrix) * share_of(half_m, half_n, k, s, a, b, by_matrix);
	tsr_planes planes;
	if (sizes_known(v, later) && tsr_planes_of(l, c, v, &planes) && bytes_of_planes(&planes, 1) <= 2 * TSR_PLANES_BYTES) {      /* which the second cache has beside B's panels */
		tsr_schedule p = by_planes(s, &planes, m, n, k);
		bool far = m * n * tsr_prec_bytes(TSR_PREC_F32) > t->last / 4 || tsr_walks_count(&v->cls[TSR_CLASS_M]) < 0;
		double share = share_of_planes(m, n, k, &p, &planes, b, by_matrix, far) * share_of_planes(half_m, half_n, k, &p, &planes, b, by_matrix, far);
		if (share < surely * by_panels && share < doubt) {
			c->schedule = p;
			return true;
		}
	}
	return by_panels < doubt;
}

/* The blocks that a file names, of whole tiles; what only a tail gets stays one deep block. */
static bool named_blocks(const tsr_contraction *c, tsr_schedule *s)
{
	const tsr_blocks *b = &c->schedule.named_blocks;
	s->mc = b->m, s->nc = b->n;
	if (!(c->tail && c->tail->passing))
		s->kc = b->k;
	return b->k > 0;
}

static bool sums(const tsr_contraction *c, const tsr_target *t)
{
	return t->matrix && c->prec == TSR_PREC_F32 && c->acc == TSR_ACC_ADD && c->combine == TSR_OP_MUL;
}

bool tsr_contract_thirds(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t)
{
	tsr_contraction narrow;
	return sums(c, t) && !tsr_contract_narrow(l, c, &narrow);
}

bool tsr_contract_matrix(const tsr_loops *l, const tsr_contraction *c, const tsr_target *t, tsr_contraction *out)
{
	enum { FEWEST = 8, SHORTEST = 16 };      /* rows and columns, depths that are worth whole registers */
	if (!sums(c, t))
		return false;
	bool narrow = tsr_contract_narrow(l, c, out);
	if (narrow && c->watched)
		return false;
	if (!narrow)
		*out = *c;
	out->across = (tsr_stretch){ 0 };
	if (narrow || tsr_contract_plain(l, c, TSR_SIDE_A))      /* lines of thirds are those that A's rows lie side by side along, else evaluated at places far apart */
		out->run = out->across;
	out->turned = 0;
	out->schedule.thirds = !narrow;          /* which the view asks for */
	tsr_contract_view v;
	tsr_contract_view_make(l, out, &v);
	bool later = !c->most_rows && !(c->tail && c->tail->passing && tsr_walks_count(&v.cls[TSR_CLASS_K]) < 0);
	int64_t m = counted(&v.cls[TSR_CLASS_M], later), n = counted(&v.cls[TSR_CLASS_N], later), k = counted(&v.cls[TSR_CLASS_K], later && !narrow);
	out->schedule = blocks_of(c, t, !narrow, m, n, k);
	if (!narrow && c->schedule.blocks_named)
		return named_blocks(c, &out->schedule) && m > 0 && n > 0 && k >= LEAST_DEPTH;
	if (!narrow && c->schedule.asked) {
		tsr_planes planes;
		if (tsr_planes_of(l, out, &v, &planes))
			out->schedule = by_planes(&out->schedule, &planes, m, n, k);
		return m > 0 && n > 0 && k > 0;
	}
	if (!narrow)
		return thirds_pay(l, out, t, &v, later, m, n, k);
	return m >= FEWEST && n >= FEWEST && (k < 0 || k >= SHORTEST);
}

/* 64 rows by 1024 x 1024 are 0.94 times as fast in thirds as by vectors, 96 1.12 times; where one operand has only one third 24 rows 1.05 to 1.4 times, 32 1.3 to 1.7. */
int64_t tsr_matrix_enough(const tsr_contraction *c, tsr_loop_class cls)
{
	enum { NARROW = 16, ONE_THIRD = 32, THIRDS = 96 };
	bool whole = tsr_thirds_count(c->a_value) == 1 || tsr_thirds_count(c->b_value) == 1;
	return c->schedule.thirds ? whole && cls != TSR_CLASS_K ? ONE_THIRD : THIRDS : cls == TSR_CLASS_K ? 0 : NARROW;
}

void tsr_matrix_deepen(const tsr_loops *l, const tsr_problem *p, tsr_contraction *c)
{
	tsr_contraction as;
	tsr_schedule *s = &c->schedule;
	if (s->rows || s->cols || s->turn || p->k <= s->kc || p->k > DEPTH || !tsr_contract_matrix(l, c, p->t, &as) || as.schedule.thirds)
		return;
	int64_t part = s->nc * s->kc / p->k, wide = part > (int64_t)s->nr ? part : (int64_t)s->nr;
	if (p->m < 0 && p->n > wide)     /* rows by vectors are few then: B's block is no larger than it was (1 row by 1024 x 1024 286 us, 456 by a larger one) */
		s->nc = tsr_block_of(p->n, wide, s->nr);
	s->kc = p->k;
}
