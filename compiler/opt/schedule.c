/* Chooses how each contraction is computed, from its sizes and the target's table alone: its tile (register_tile.c), then what is packed (packing.c)
 * and the blocks.
 *
 * K is cut so that a B panel and an A block share L2, M so that A's block takes half of
 * L2, N so that B's block takes three quarters of a share of L3; where A is not packed its rows pass by a block of B that takes three
 * quarters of L2. */
#include "schedule.h"

enum { PASSING = 512, TABLE = 48 << 10, LEAST_DEPTH = 64, NEAR = 8, PAGE = 4096, PANEL = 256 };

/* Of a B from memory that is asked for two panels ahead: of so few rows that all there is to wait for is memory blocks are nearer its order (1.05 to 1.2 times as fast), and a panel of the widest
 * tile whose rows lie pages apart is small (5, 6, 12 rows by 4096 x 4096, 11008 x 4096 and across 0.99 to 1.13 times as fast, 1.05 in the mean; by 4000 x 4000 0.94 to 1.02). */
static int64_t asked_depth(const tsr_problem *p, const tsr_schedule *s)
{
	enum { FEWEST = 4 };
	if (!p->t->panels_ahead || !tsr_target_far(p->t, p->n * p->k * p->bytes))
		return TSR_DEPTH;
	return p->m <= FEWEST ? LEAST_DEPTH : p->row % PAGE == 0 && s->nr == TSR_MOST_VECS * (int64_t)p->lanes ? TSR_DEPTH / 2 : TSR_DEPTH;
}

/* Of a B that streams by, each row of a block is one of the few places where a processor looks ahead, and few rows in turn come almost in the order
 * of memory.  C is added to once more for each block: its lines come one in a round, and the more of them a row of B meets the more a block is worth. */
static int64_t streaming_depth(const tsr_problem *p, const tsr_schedule *s)
{
	enum { MOST = 96, MOST_NEAR = 128, PARTS = 4, LINE = 64 };
	if (tsr_reads_deep(p))
		return asked_depth(p, s);
	if (!p->t->streams && p->depth * p->n * p->bytes <= PARTS * p->t->l2)     /* what is not far from the second cache needs no looking ahead (2 to 8 %) */
		return MOST_NEAR;
	if (p->t->streams)
		return tsr_follows_rows(p) ? p->t->streams : MOST;
	int64_t rows = p->m < s->mr ? p->m : s->mr, rounds = rows * ((s->nr * p->bytes + LINE - 1) / LINE), least = rounds * 9 / 4;
	int64_t depth = p->m / 2 * 3 > least ? p->m / 2 * 3 : least;
	return depth < MOST ? depth : MOST;
}

/* One row of A does not hide what a line of B takes from the second cache: in turns of so few rows as a processor looks ahead in, those come in time (1.1 to 1.9 times as
 * fast).  Of more rows, too, but then sums that several threads add to again and again are taken from each other (0.3 of the pace by two threads). */
static bool walks_near(const tsr_problem *p)
{
	enum { LEAST_COLUMNS = 128 };
	bool many = p->t->streams && !tsr_target_few_registers(p->t);
	int64_t bytes = p->n * p->k * p->bytes;
	return many && p->n >= LEAST_COLUMNS && p->m == 1 && p->k > 0 && bytes > p->t->l1 && (p->batch == 1 || (p->batch > 0 && p->batch * bytes <= 2 * p->t->l2)) && !p->run && !p->across && !p->turn;
}

/* Rows of B a page apart, read in place, fall into the same few lines of a cache: no more of them in turn than it can keep.  One column of tiles
 * reads its block of B again and again, which the first cache then has, where C is near enough to be added to more often and no tail waits
 * for its sums. */
static int64_t most_depth(const tsr_problem *p, const tsr_schedule *s, const tsr_tail *tail)
{
	enum { AHEAD = 32 };
	if (p->down && !p->streams) {        /* both fit into the first cache, or B's panels come from the second */
		int64_t near = p->t->l1 / ((p->m + p->n) * p->bytes);
		return near < LEAST_DEPTH ? TSR_STRIDED : near < TSR_STRIDED ? near : TSR_STRIDED;
	}
	if (p->down)
		return TSR_STRIDED / 2;
	if (p->streams)
		return streaming_depth(p, s);
	if (p->shallow)
		return p->shallow;
	if (p->panels && p->t->streams && tsr_near_panels(p->t) && !s->pack_b)       /* half of the first cache, beside the rows of A that pass */
		return PANEL;
	if (p->t->streams && !tail && p->m > 0 && p->m <= (int64_t)s->mr && p->n > 0 && p->n <= (int64_t)s->nr && !p->run && !p->across && !p->turn)
		return TSR_LONGEST / 2;      /* one tile reads everything once: no cache has to keep it (LeNet's first gradient of weights 1.2 to 1.3 times as fast) */
	bool in_place = !s->pack_b && !s->cols && p->row, crowded = in_place && p->row % PAGE == 0;
	if (in_place && tsr_spreads(p))
		return p->t->spread - (crowded ? 2 : 0);
	if (in_place && walks_near(p))
		return p->t->streams;
	if (in_place && p->m == 1 && p->n > 0 && p->depth > 2 * p->t->l2 / p->bytes / p->n)      /* a vector's sums are near: no more rows than are looked ahead in */
		return tsr_target_streams(p->t, 1) ? tsr_target_streams(p->t, 1) : AHEAD;
	bool again = in_place && !tail && !p->run && p->n > 0 && p->n <= s->nr && p->m > 0 && p->m * p->n * p->bytes <= p->t->l2 / NEAR;
	if (tsr_both_across(p) && in_place && !crowded && !tail && p->n > s->nr) {
		int64_t near = p->t->l1 / ((p->m + p->n) * p->bytes);
		return near < LEAST_DEPTH ? LEAST_DEPTH : near < TSR_DEPTH ? near : TSR_DEPTH;
	}
	/* a stretch of rows whose padding is left out is not cut in two where B lies in place: fewer tiles begin and end */
	if (in_place && p->run && p->padding && p->run <= 2 * TSR_DEPTH && p->t->streams && !tsr_target_few_registers(p->t))
		return p->run > TSR_DEPTH ? p->run : TSR_DEPTH;
	int64_t fit = crowded ? p->t->l2 / p->row : again ? p->t->l1 / p->n / p->bytes : TSR_DEPTH;
	if (tsr_in_long_rows(p) && (again || (in_place && p->n <= (int64_t)s->nr && !tsr_target_few_registers(p->t))))
		return TSR_PASSING_LONG;
	return fit < LEAST_DEPTH ? LEAST_DEPTH : fit < TSR_DEPTH ? fit : TSR_DEPTH;
}

/* K's blocks hold whole stretches of A's rows, or whole blocks make a stretch; false: neither. */
static bool choose_depth(const tsr_problem *p, int64_t most, int64_t *kc)
{
	if (!p->run)
		*kc = tsr_block_of(p->k, most, p->k_unit);
	else if (p->run <= most)
		*kc = p->run * tsr_block_of(p->k < 0 ? -1 : p->k / p->run, (most + most / 2) / p->run, 1);
	else {
		int64_t parts = 1;
		while (parts < p->run && (p->run % parts || p->run / parts > most + most / 4))
			parts++;
		*kc = p->run / parts >= TSR_DEPTH / 8 ? p->run / parts : p->run;
	}
	return *kc <= TSR_LONGEST;
}

/* Turning few rows of sums costs less than turning B, where there is more of that; they wait in the second cache. */
static tsr_problem consider_turning(const tsr_loops *l, tsr_contraction *c, tsr_problem p)
{
	enum { MOST_TURNED_LANES = 16, TURNED_COLUMNS = 6400 };      /* of a second cache of a megabyte */
	tsr_contract_view v;
	if (!p.must_b || p.m < 2 || p.m > 2 * TSR_MOST_ROWS || p.k < p.m || p.lanes > MOST_TURNED_LANES || !tsr_contract_turns(l, c))
		return p;
	c->turned = TURNED_COLUMNS * (p.t->l2 >> 10) >> 10;
	for (c->cut = false;; c->cut = true) {
		tsr_contract_view_make(l, c, &v);
		tsr_problem turned = tsr_problem_of(l, c, &v, p.t);
		if (turned.turn % p.lanes == 0 && p.m * turned.turn * p.bytes <= p.t->l2 / 4 * 3)
			return turned;
		if (c->cut)
			break;
	}
	c->turned = 0;
	c->cut = false;
	return p;
}

/* Loops over columns but the last ones, which make so many, are those of a batch. */
static void part_loops(tsr_contraction *c, const tsr_walks *n, int64_t width)
{
	uint32_t first = n->nloops;
	for (int64_t within = 1; within < width;)
		within *= n->loop[--first].extent.k;
	for (uint32_t i = 0; i < c->nloops; i++)
		for (uint32_t j = 0; j < first; j++)
			if (c->loops[i].sym == n->loop[j].sym)
				c->loops[i].cls = TSR_CLASS_BATCH;
}

/* Of columns that lie side by side in B and in C only as far as the last of their loops goes, the others are positions of a batch that all have
 * the same A: each position's B is read where it lies, and need not be packed for C's sake.  A stays near, and tiles' edges cost little. */
static void part_columns(const tsr_loops *l, tsr_contraction *c, const tsr_contract_view *v, const tsr_problem *p)
{
	enum { SHORTEST = 4 };       /* vectors side by side, but of panels that follow each other */
	const tsr_walks *n = &v->cls[TSR_CLASS_N];
	bool plain = tsr_contract_plain(l, c, TSR_SIDE_A) && tsr_contract_plain(l, c, TSR_SIDE_B), known = p->m > 0 && p->k > 0;
	if (!plain || !known || !p->must_b || p->must_a || v->cls[TSR_CLASS_K].n != 1 || n->n < 2 || p->m > p->t->l2 / p->bytes / p->k)
		return;
	const tsr_walk *last = &n->at[n->n - 1];
	if (!tsr_size_is_const(last->extent))
		return;
	int64_t width = last->extent.k, vectors = tsr_round_up(width, p->lanes);
	bool panel = p->t->streams && tsr_near_panels(p->t) && width == (int64_t)p->t->tile_n * p->lanes && p->row == width * p->bytes;
	if (!last->known || last->stride[TSR_SIDE_B] != 1 || last->stride[TSR_SIDE_C] != 1 || (width < SHORTEST * p->lanes && !panel) || vectors * 15 > width * 16)
		return;
	part_loops(c, n, width);
}

/* Of columns that lie side by side in B in stretches that fill no vectors, and in C as far as the last of their loops go, as those of images whose channels come first do, the others
 * are positions of a batch as well: each one's stretches are joined (5x5 of 64 images of 28x28 1.3 times as fast, 3x3 of 22x22x64 1.55).  Deeper sums are taken in parts (deep.c), which
 * have all columns together. */
static void part_images(const tsr_loops *l, tsr_contraction *c, const tsr_contract_view *v, const tsr_problem *p)
{
	const tsr_walks *n = &v->cls[TSR_CLASS_N];
	bool plain = tsr_contract_plain(l, c, TSR_SIDE_A) && tsr_contract_plain(l, c, TSR_SIDE_B), known = p->m > 0 && p->k > 0;
	if (!plain || !known || n->n != 2 || p->k >= TSR_DEEP || p->m > p->t->l2 / p->bytes / p->k)
		return;
	const tsr_walk *last = &n->at[1];
	if (last->known && tsr_size_is_const(last->extent) && last->stride[TSR_SIDE_C] == 1 && tsr_problem_stretches(p, last->extent.k))
		part_loops(c, n, last->extent.k);
}

/* Bytes of B's block, of which a column has `each`.  A is packed again for each block: where that is much beside B itself, a block of a large B can
 * well be more than a share of the caches, since what A's block makes of a panel takes longer than its coming from memory. */
static int64_t most_of_b(const tsr_problem *p, const tsr_schedule *s, int64_t each)
{
	enum { PARTS = 16, MOST = 16 << 20, FEW = 4 };
	int64_t share = p->t->l3 / 4 * 3, near = p->t->l2 / 4 * 3;
	if (p->streams && s->pack_b)
		return near / 2;
	if (p->down)                 /* the next rows of A find it in the second cache */
		return p->t->l2 / 2;
	if (p->streams)              /* all rows of C beside it stay in the second cache for the next block */
		return p->t->l2 / 2 / (p->m * p->bytes) * each;
	if (p->m < 0 || p->n < 0 || p->k < 0 || !s->pack_a || !s->pack_b)
		return share;
	if (p->m * each * FEW <= near)       /* few rows use it at once, and never again */
		return near;
	if (tsr_near_panels(p->t) && !p->must_a && !p->must_b)       /* a copy of A for each block of B is little beside a large A, and memory beside a small one */
		return p->m * p->k * p->bytes >= TSR_LARGE_A * p->t->l2 ? p->t->l3 : p->t->l2;
	int64_t part = p->k * p->n * p->bytes / PARTS, enough = 2 * p->m * each;
	part = part > MOST ? MOST : part > enough ? enough : part;
	return part > share ? part : share;
}

/* Where a panel of B is near, one after the other may go by a block of A in place, as they do where A is packed: whole rows of B are then packed at once, in the
 * order of memory, and no block of it has to stay in the second cache (2 to 5 %).  Of few rows, to which packing B is much, or sums of one block, which go to
 * C once; but not so few terms that C's lines, or what a tail reads beside them, are most of what moves: row by row these come in the order of memory. */
static bool panels_pass(const tsr_problem *p)
{
	enum { LEAST = 256, FEW = 224 };
	bool few = p->m <= FEW && p->n * p->k * p->bytes >= p->t->l2, deep = p->k > PANEL / 2 && (p->k <= PANEL || few);
	return p->t->streams && tsr_near_panels(p->t) && p->m > 0 && p->n >= LEAST && p->a_step == 1 && deep;
}

/* All of A's rows stay in the second cache, one block of K deep: then narrow blocks of B do so as well, where a copy of all its columns would go from there to the last cache and come
 * back (136 to 256 rows by 256 to 4096 columns 1.01 to 1.05 times as fast by two threads, 1.0 to 1.03 by one). */
static bool near_rows(const tsr_problem *p, const tsr_schedule *s, int64_t each)
{
	enum { MOST = 256 };         /* more pass by wide blocks as fast (0.97 to 1.01) */
	return s->panels && s->kc >= p->k && p->m <= MOST && p->m * each <= p->t->l2 / 5 * 2;
}

/* The blocks, once what is packed and the depth of a stretch are known. */
static void choose_blocks(const tsr_problem *p, tsr_schedule *s, int64_t kc, bool short_sum)
{
	const tsr_target *t = p->t;
	/* A's rows pass by B's block, which has to be near; the fewer its columns, the more often */
	bool passing = s->pack_b && !s->pack_a && !s->rows && !p->must_b && !p->turn;
	s->panels = passing && panels_pass(p);
	s->kc = passing ? tsr_block_of(p->k, s->panels ? PANEL : p->a_step != 1 ? (tsr_both_across(p) && !p->down ? TSR_STRIDED / 2 : TSR_STRIDED) : tsr_in_long_rows(p) ? TSR_PASSING_LONG : PASSING, p->k_unit) : kc;
	s->kc = p->renews ? p->k : s->kc;
	bool both = s->pack_a && s->pack_b && tsr_near_panels(t);
	if (both && p->k_unit == 1 && s->kc < p->k)                /* rows are turned by whole vectors of depths */
		s->kc = tsr_round_up(s->kc, p->lanes);
	int64_t each = s->kc * p->bytes, most_m = t->l2 / 2 / each;
	if (both)                    /* beside it are the panels of B that come next, and lines of C */
		most_m = t->l2 / 5 / each;
	if (short_sum)               /* rows of a block that lie near each other are written together */
		most_m = t->l1 / 2 / each;
	/* so do those of an A that lies side by side by a B that is turned for it (2 to 5 % in the mean of 70 products, one thread and two) */
	bool beside = s->pack_b && p->must_b && !s->pack_a && !s->rows && !p->turn && p->a_step == 1;
	int64_t most_b = s->panels ? t->l3 : passing ? t->l2 / 4 * 3 : beside ? t->l2 / 2 : most_of_b(p, s, each);
	if (s->pack_b && s->rows && p->run == p->k) {        /* rows of one stretch pass by as those of a plain A do, and both blocks stay near (2 to 6 %) */
		s->panels = t->streams && tsr_near_panels(t);                /* or only A's does, and A is read once (2 to 13 % with 8 images) */
		most_m = t->l2 / 4 / each;
		most_b = s->panels ? t->l3 : t->l2 / 2;
	}
	if (near_rows(p, s, each))
		most_b = t->l2 / 8, most_m = p->m + s->mr;
	else if (s->panels)
		most_m = t->l2 / 6 / each;
	if (p->run && most_m > TABLE / 8 / (s->kc / p->run + 1))
		most_m = TABLE / 8 / (s->kc / p->run + 1);
	s->spread = tsr_spreads(p) && !s->pack_a && !s->pack_b && s->kc < p->k;
	s->nc = tsr_block_of(p->n, most_b / each, s->nr);
	if (both && s->nc * each > t->l3)                          /* panels that come from afar serve more rows */
		most_m = t->l2 / 2 / each;
	s->mc = tsr_block_of(p->m, most_m, s->mr);
	/* panels of rows that lie side by side in stretches are filled together, by whole vectors that no block cuts (engine/group.c); where panels of B are near one
	 * order of axes has the blocks of another */
	int64_t unit = tsr_multiple_of(s->mr, p->lanes), whole = tsr_block_of(p->m, most_m, unit);
	if (s->pack_a && s->pack_b && p->must_a && p->plain_a && (p->flat_stretches || tsr_near_panels(t)) && unit <= most_m && whole > s->mc)
		s->mc = whole;
	bool joins = s->kc >= p->k && tsr_tile_fills_lines(p, s);
	if (joins && tsr_can_knit(p))
		s->knit = p->run_c;
	else if (joins && p->n % tsr_multiple_of(s->nr, p->run_c) == 0) {
		s->join = tsr_multiple_of(s->nr, p->run_c);
		s->mc = tsr_multiple_of(s->mr, p->rows_c);
		s->nc = tsr_block_of(p->n, s->nc, s->join);
	}
	if (p->turn) {
		s->turn = p->turn;
		s->nc = s->pack_b ? tsr_block_of(p->turn, t->l2 / 4 / each, p->stretch % s->nr ? s->nr : p->stretch) : p->turn;
	}
	if (s->dense)
		s->nc = p->n;
	else if (s->cols)
		s->nc = p->across * tsr_block_of(p->n < 0 ? -1 : p->n / p->across, TABLE / 8 / s->kc, 1);
}

/* Tiles of few rows that add to C for each of many shallow blocks of K: its rows are on pages of their own, as B's are, and a core neither looks ahead on
 * so many, nor has it so many lines on their way.  Sums that lie tile by tile are one stretch. */
static bool waits_aside(const tsr_problem *p, const tsr_contraction *c, const tsr_contract_view *v, const tsr_schedule *s)
{
	enum { MANY = 8 };           /* blocks of K */
	const tsr_walks *m = &v->cls[TSR_CLASS_M], *n = &v->cls[TSR_CLASS_N];
	return p->streams && c->clear && !c->tail && m->n <= 1 && n->n == 1 && tsr_walks_unit(n, TSR_SIDE_C) && p->m <= s->mc && p->k > MANY * s->kc;
}

const char *tsr_schedule_words(const tsr_schedule *s)
{
	static const char *const words[][4] = {          /* of packing nothing, A, B, both */
		{ "no packing", "pack A", "pack B", "pack both" },
		{ "turn C", "turn C, pack A", "turn C, pack B", "turn C, pack both" },
		{ "B's rows copied", "B's rows copied, pack A", "B's rows copied", "B's rows copied, pack A" },
		{ "B's rows in place", "B's rows in place, pack A", "B's rows in place", "B's rows in place, pack A" },
		{ "A's rows in place", "A's rows in place", "A's rows in place, pack B", "A's rows in place, pack B" },
		{ "A's rows one step apart", "A's rows one step apart", "A's rows one step apart, pack B", "A's rows one step apart, pack B" },
		{ "sums aside", "sums aside, pack A", "sums aside, pack B", "sums aside, pack both" },
		{ "dot products", "dot products, pack A", "dot products, columns turned", "dot products, pack A" },
		{ "", "", "pack B early", "pack both, B early" },
		{ "", "", "pairs of bf16, pack B", "pairs of bf16, pack both" },
		{ "", "", "dot products, pack B", "" },
		{ "B's rows spread", "", "", "" },
	};
	int kind = s->dots && s->pack_b && s->must_b ? 10 : s->dots ? 7 : s->pairs && !s->rows ? 9 : s->spread ? 11 : s->early ? 8 : s->aside ? 6 : s->turn ? 1 : s->dense ? 2 : s->cols ? 3 : s->step ? 5 : s->rows ? 4 : 0;
	return words[kind][s->pack_a + 2 * s->pack_b];
}

/* Rows of A, in place through pointers, that lie whole pages apart fall into the same lines of the first cache and into few of the second: deep sums of
 * many columns pay for a copy (a window of one place, every second one of 4 or 8 KB: 2 to 5 %, two threads 0 to 5). */
static bool rows_crowd(const tsr_problem *p, const tsr_walks *m, const tsr_walks *k)
{
	enum { COLUMNS = 512 };
	bool known = m->n && m->at[m->n - 1].known && k->n == 1 && k->at[0].known && k->at[0].stride[TSR_SIDE_A] == 1;
	return p->t->streams && tsr_near_panels(p->t) && p->plain_a && known && m->at[m->n - 1].stride[TSR_SIDE_A] * p->bytes % PAGE == 0 && p->k > TSR_DEPTH && p->n >= COLUMNS;
}

/* The parameters that a sum changes, and what an optimiser keeps of them, come and go once for the sum instead of once more for themselves, and its gradients are not stored: as fast as
 * apart up to this depth (ResNet-18's step 1.007 in the least of its rounds, 1.001 in the middle), not at four times as much (0.998 in the least). */
static bool renews(const tsr_problem *p, const tsr_tail *tail)
{
	enum { DEEPEST = 512 };
	bool any = false;
	for (uint32_t i = 0; tail && i < tail->stores.n; i++)
		any |= tsr_store_renews(tail->stores.at[i]);
	return any && p->k > 0 && p->k <= DEEPEST;
}

/* The last words: a depth of pairs is half of it. */
static bool decided(const tsr_problem *p, tsr_schedule *s)
{
	s->pairs = p->pairs;
	s->kc *= p->pairs ? 2 : 1;
	s->reason = tsr_schedule_words(s);
	return true;
}

/* Operands in the precision of the sums, as tiles find them best: in place, through pointers, or by columns that are turned on their way to C.  `crowded`: A could be read
 * through pointers, but its rows would crowd the caches. */
static tsr_problem whole_problem(const tsr_loops *l, tsr_contraction *c, const tsr_target *target, tsr_contract_view *v, bool *crowded)
{
	tsr_contract_view_make(l, c, v);
	tsr_problem p = tsr_problem_of(l, c, v, target);
	part_columns(l, c, v, &p);
	tsr_contract_view_make(l, c, v);
	p = tsr_problem_of(l, c, v, target);
	int64_t kc;
	/* where A is packed once for all of B, its rows need no pointers */
	p.rows_crowd = p.must_a && rows_crowd(&p, &v->cls[TSR_CLASS_M], &v->cls[TSR_CLASS_K]);
	*crowded = p.rows_crowd && !tsr_may_be_early(&p);
	if (p.must_a && !tsr_may_be_early(&p) && !*crowded && (c->run = tsr_contract_run(l, c)).n) {
		tsr_contract_view_make(l, c, v);
		p = tsr_problem_of(l, c, v, target);
		if (!choose_depth(&p, TSR_DEPTH, &kc)) {
			c->run = (tsr_stretch){ 0 };
			tsr_contract_view_make(l, c, v);
			p = tsr_problem_of(l, c, v, target);
		}
	}
	if (p.must_b && p.windows && !p.run && (c->across = tsr_contract_across(l, c)).n) {
		tsr_contract_view_make(l, c, v);
		p = tsr_problem_of(l, c, v, target);
		part_images(l, c, v, &p);
		tsr_contract_view_make(l, c, v);
		p = tsr_problem_of(l, c, v, target);
	}
	return consider_turning(l, c, p);
}

/* B is read through a window: an axis of it is walked by a loop of its columns and one that is summed. */
static bool through_window(const tsr_loops *l, const tsr_contraction *c)
{
	const tsr_expr *b = tsr_contract_guarded(c->b_value);
	bool any = false;
	for (uint32_t axis = 0; b && axis < l->buffers.at[b->load.buffer]->rank; axis++) {
		bool columns = false, summed = false;
		for (uint32_t i = 0; i < c->nloops; i++) {
			bool here = tsr_lin_mentions(&b->load.index[axis], c->loops[i].sym);
			columns |= here && c->loops[i].cls == TSR_CLASS_N;
			summed |= here && c->loops[i].cls == TSR_CLASS_K;
		}
		any |= columns && summed;
	}
	return any;
}

bool tsr_contract_schedule(const tsr_loops *l, tsr_contraction *c, const tsr_target *target)
{
	tsr_contract_view v;
	tsr_problem p;
	int64_t kc;
	bool crowded = false;
	c->turned = 0, c->cut = false;
	c->run = c->across = (tsr_stretch){ 0 };         /* what another target made of it says nothing here */
	if (!tsr_pairs_problem(l, c, target, &v, &p))
		p = whole_problem(l, c, target, &v, &crowded);
	tsr_schedule *s = &c->schedule;
	*s = (tsr_schedule){ .reason = "plain loops" };
	if (p.lanes < 2 || p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0)
		return false;
	bool tiny = tsr_is_tiny(&p);
	bool narrow = tsr_is_narrow(&p);
	if (!tiny && tsr_choose_dots(&p, s))
		return decided(&p, s);
	s->lanes = tsr_narrow_lanes(&p);
	p.lanes = s->lanes ? s->lanes : p.lanes;
	if (p.pairs)                 /* rows that are read in place are worth a copy of any columns */
		narrow = p.n == 1 || (narrow && p.must_a);
	bool vector = p.m == 1 && (p.must_b || (p.across && through_window(l, c))) && !(p.shallow && tsr_target_far(target, p.n * p.k * p.bytes));   /* a large B comes so in the order of memory (4096 x 4096: twice as fast) */
	if (tiny || narrow || vector) {
		s->reason = tiny ? "plain loops: small" : "plain loops: a vector";
		return false;
	}
	bool short_sum = p.k > 0 && p.k <= TSR_SHORT_SUM && p.m * p.n * p.bytes > target->l3;        /* C is most of the traffic */
	if (!short_sum || p.turn || p.across)
		p.run_c = 0;
	tsr_padding padding = { 0 };
	tsr_contraction seen = *c;
	if (p.pairs)
		tsr_contract_narrow(l, c, &seen);
	if (p.run && tsr_padding_of(l, &seen, &v, &padding))
		p.padding = &padding;
	p.renews = renews(&p, c->tail);
	bool early = tsr_choose_early(&p, s);
	tsr_choose_packing(&p, s);
	p.crowded = !p.run && p.a_step == 1 && !s->pack_a && !s->pack_b && !s->cols && p.row && p.row % PAGE == 0;
	if (p.crowded && !early)
		tsr_choose_tile(&p, s);
	choose_depth(&p, most_depth(&p, s, c->tail), &kc);
	choose_blocks(&p, s, kc, short_sum);
	if (early)
		tsr_early_blocks(&p, s);
	tsr_matrix_deepen(l, &p, c);
	s->aside = !early && waits_aside(&p, c, &v, s);
	s->together = tsr_batch_rows(l, c, &p, &v, s);
	s->must_a = p.must_a, s->must_b = p.must_b, s->crowded = crowded;
	return decided(&p, s);
}

int64_t tsr_schedule_rows(const tsr_schedule *s) { return s->join ? s->mc : s->mr; }
int64_t tsr_schedule_columns(const tsr_schedule *s) { return s->join ? s->join : s->turn ? s->turn : s->nr; }

void tsr_contractions_schedule(tsr_pass *p, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR && s->loop.contraction)
			p->changes += tsr_contract_schedule(p->l, s->loop.contraction, p->target);
		if (s->kind == TSR_STMT_FOR && s->loop.contraction && s->loop.contraction->schedule.mr && p->options->schedules)
			tsr_schedules_apply(p->options->schedules, p->l, s->loop.contraction, p->target);
		if (s->kind == TSR_STMT_KERNEL)
			tsr_contractions_schedule(p, &s->kernel.body);
		else if (s->kind == TSR_STMT_IF)
			tsr_contractions_schedule(p, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR)
			tsr_contractions_schedule(p, &s->loop.body);
	}
}

void tsr_pass_schedule(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++)
		tsr_contractions_schedule(p, &p->l->units.at[i]->body);
}
