/* The register tile of a contraction: the one with the least modelled time over the whole problem, its edges included.  A step of K costs
 * a tile of r rows and v vectors the larger of its multiply-adds (two a cycle), its loads (two a cycle, three in two where registers are few) and the latency
 * of one multiply-add; a tile's end costs its stores.  Where B comes from the second cache for each tile of a column anew, few tiles of even heights are better
 * than the table's; and tall ones where A's rows are packed as they lie side by side, a short piece for each panel, for few columns. */
#include "schedule.h"

enum { MOST_POINTERS = 12, LATENCY = 4 };
#define LOAD 0.65                    /* cycles that a load takes beside multiply-adds that read it, where registers are few (8 x 8: 5.4 a step, 12 x 8: 8.3, 14 x 8: 12) */
#define TALL 0.03                    /* and of tiles of one vector for each row beyond eight: 10 x 8 takes 7.4 a step, 12 x 8 up to 10, 14 x 8 12, packed or not */
#define PACE 26.0                    /* bytes of B in a cycle that low tiles of a window over an image get from the second cache */
#define LOW_PACE 18.0                /* and low tiles of any product, where registers are few and a panel of B leaves the first cache no room for more */
#define PIECE 1.0                    /* cycles that packing takes for what one step of K has in a panel of A */
#define TORN 2                       /* pieces that a vector of a panel takes beside itself where it is not whole, A is computed and columns are few */
#define ISSUED 6.0                    /* instructions in a cycle, which bound products without multiply-adds: each copies an operand, multiplies and adds, and an element of A takes two for all lanes */
#define BARE 1.35                    /* times as long as its latency a step of few sums takes */
#define AGAIN 0.1                    /* cycles that a vector of B costs beside all else when it comes from the second cache */
#define FETCHED 0.3                  /* cycles that a line costs which comes from there, of A as well, where that lies across K */
#define LOST 14.0                    /* cycles that a line of C costs which others of its tile have driven from the first cache before sums are added to it */

static double larger(double a, double b) { return a > b ? a : b; }

static bool few_registers(const tsr_problem *p) { return p->t->fma && tsr_target_few_registers(p->t); }

/* So few sums that they only just hide a multiply-add's latency, on processors that look ahead by themselves and where registers are few: whatever else waits shows (tiles of 2 x 32 and
 * 4 x 16 are 1.35 to 1.5 times slower there than the model says without; with many registers 6 and 2 rows of 64 columns take 1.04 to 1.08 times as long as 5 and 3; not those of one vector,
 * which loads alone bound). */
static bool few_sums(const tsr_problem *p, int64_t r, int64_t v)
{
	return p->t->fma && (few_registers(p) || p->t->streams) && !p->run && v > 1 && r * v <= 2 * LATENCY;
}

/* Few columns are 1.2 times as fast by eight rows as by twelve or fourteen. */
static double each_load(const tsr_problem *p, int64_t r, int64_t v)
{
	enum { ROWS = 8 };
	return !few_registers(p) ? 0.5 : v == 1 && r > ROWS ? LOAD + TALL * (double)(r - ROWS) : LOAD;
}

/* Lines of C that each row of a tile shares with its neighbours, or the ends of a run of whole ones that goes around the caches: of sums of few terms, whose stores are most
 * of the work, high and narrow tiles have the most (6 x 64 is 1.05 to 1.6 times as fast as 14 x 32 or 24 x 16 where up to 8 are added). */
static int64_t ends(const tsr_problem *p, int64_t r)
{
	enum { FEW = 16, LARGE = 4, LINE = 64 };
	bool whole = p->n > 0 && p->n * p->bytes % LINE == 0, around = p->m * p->n * p->bytes >= LARGE * p->t->l3;
	return p->t->streams && !tsr_target_few_registers(p->t) && p->k > 0 && p->k <= FEW && (!whole || around) ? r : 0;
}

/* Cycles that a step's multiply-adds take by themselves. */
static double products(const tsr_problem *p, int64_t r, int64_t v) { return p->t->fma ? (double)(r * v) / 2 : (double)(3 * r * v + v + 2 * r) / ISSUED; }

/* Rows of v vectors for which there are registers, beside those of B and what A's elements, and products before they are added, take. */
static int64_t room_for_rows(const tsr_problem *p, int64_t v) { return ((int64_t)p->t->vector_registers - (p->t->fma || v == 1 ? 1 : 3) - v) / v; }

/* Cycles of one tile of r rows and v vectors. */
static double tile_time(const tsr_problem *p, int64_t r, int64_t v)
{
	bool again = p->streams || p->crowded || (p->dots && p->t->streams);
	double lines = p->down ? FETCHED * (double)(v + (r + p->lanes - 1) / p->lanes) : again ? AGAIN * (double)v : 0;
	double step = larger(larger(products(p, r, v), (double)(r + v) * each_load(p, r, v)), LATENCY) * (few_sums(p, r, v) ? BARE : 1) + lines;
	double depth = p->k > 0 ? (double)p->k : TSR_DEPTH, block = depth < TSR_DEPTH ? depth : TSR_DEPTH, width = (double)(v * p->t->vector_bytes);
	if (p->padding)
		step = larger(step, width / PACE);
	if (few_registers(p) && block * width > (double)p->t->l1 / 2)
		step = larger(step, width / LOW_PACE);
	return depth * step + 1.5 * (double)(r * v + ends(p, r)) + 20;
}

static int64_t offset_in_c(const tsr_walks *x, int64_t i)
{
	int64_t at = 0;
	for (uint32_t axis = x->n; axis-- > 0; i /= x->at[axis].extent.k)
		at += i % x->at[axis].extent.k * x->at[axis].stride[TSR_SIDE_C];
	return at;
}

/* Lines of C under the tile of r rows and v vectors from this row on that find no place in the first cache, because more than `room` fall into the same set of it. */
static int64_t lines_lost(const tsr_problem *p, int64_t r, int64_t v, int64_t first, int64_t room)
{
	enum { MOST_SETS = 128, MOST_LINES = 64, LINE = 64 };
	int64_t line[MOST_SETS][MOST_LINES], n[MOST_SETS] = { 0 }, sets = p->t->l1 / LINE / p->t->ways, lost = 0, last = -1;
	sets = sets < MOST_SETS ? sets : MOST_SETS;
	for (int64_t row = first; row < first + r && row < p->m; row++)
		for (int64_t column = 0; column < v * p->lanes && column < p->n; column++) {
			int64_t at = (offset_in_c(p->rows, row) + offset_in_c(p->columns, column)) * p->bytes / LINE, set = (at % sets + sets) % sets, i = 0;
			if (at == last)
				continue;
			last = at;
			while (i < n[set] && line[set][i] != at)
				i++;
			if (i < n[set] || i == MOST_LINES)
				continue;
			line[set][n[set]++] = at;
			lost += i >= room;
		}
	return lost;
}

/* What that costs each of some tiles that stand below each other, in cycles.  A panel of B that the first cache cannot hold goes through all sets meanwhile and
 * leaves half of what was asked for. */
static double crowding(const tsr_problem *p, int64_t r, int64_t v)
{
	enum { SOME = 16 };
	int64_t lost = 0, tiles = 0, depth = p->k > 0 ? p->k : TSR_DEPTH, blocks = (depth + TSR_DEPTH - 1) / TSR_DEPTH;
	if (!p->rows || !p->t->ways || p->run_c)
		return 0;
	bool fits = v * p->t->vector_bytes * (depth / blocks) < p->t->l1;
	int64_t left = fits ? p->t->ways : p->t->ways / 2;
	for (int64_t row = 0; row < p->m && tiles < SOME; row += r, tiles++)
		lost += lines_lost(p, r, v, row, left);
	return LOST * (double)(lost * blocks) / (double)tiles;
}

static double total_time(const tsr_problem *p, int64_t r, int64_t v)
{
	int64_t m = p->m > 0 ? p->m : 1024, n = tsr_problem_columns(p) > 0 ? tsr_problem_columns(p) : 1024, width = v * p->lanes;
	int64_t full_m = m / r, rest_m = m % r, full_n = n / width, rest_v = (n % width + p->lanes - 1) / p->lanes;
	double time = (double)(full_m * full_n) * (tile_time(p, r, v) + crowding(p, r, v));
	if (rest_m)
		time += (double)full_n * tile_time(p, rest_m, v);
	if (rest_v)
		time += (double)full_m * tile_time(p, r, rest_v);
	if (rest_m && rest_v)
		time += tile_time(p, rest_m, rest_v);
	if (!p->plain_a && p->must_a && few_registers(p) && n <= p->lanes && p->k > 0)
		time += (double)(p->k * ((m + r - 1) / r) * ((r + p->lanes - 1) / p->lanes + (r % p->lanes ? TORN : 0))) * PIECE;
	else if (p->flat && p->k > 0)
		time += (double)(p->k * ((m + r - 1) / r) * ((r + p->lanes - 1) / p->lanes)) * PIECE;
	return time;
}

/* A large B whose rows begin within lines, beside an A that lies across K, too: where a multiply-add takes both units of a register, tiles of one vector wait less for what is behind the
 * ends of lines (32 to 300 rows by 777 to 1433 columns over 1000 to 2708 depths 1.02 to 1.3 times as fast; a B that the second cache holds as fast by any, and of 1000 rows, for which B is copied, 0.96). */
static bool torn_from_far(const tsr_problem *p)
{
	enum { LINE = 64, MOST_ROWS = 512 };
	return p->t->half_units && tsr_by_strides(p) && !p->run_c && p->a_step != 1 && p->row % LINE && p->m <= MOST_ROWS && p->n > 0 && p->k > TSR_DEPTH && p->n * p->k * p->bytes > p->t->l2;
}

/* No more vectors side by side than there are columns for. */
static int64_t widest_of(const tsr_problem *p)
{
	int64_t columns = tsr_problem_columns(p);
	if (torn_from_far(p))
		return 1;
	return columns > 0 && columns < TSR_MOST_VECS * (int64_t)p->lanes ? (columns + p->lanes - 1) / p->lanes : TSR_MOST_VECS;
}

/* Of a B in place that is asked for two panels ahead: from memory few rows at a time by two vectors, whose lines of C are fewer; and more rows, which pass by deep blocks, by three or four,
 * so that two tiles share what the first has asked for (10 to 64 rows 1.05 to 1.5 times as fast as by high tiles of two). */
static bool suits_asking(const tsr_problem *p, int64_t v)
{
	enum { NARROW = 2, WIDE = 3, MANY = 10 };
	if (!p->t->panels_ahead || !p->streams || p->run_c || widest_of(p) < TSR_MOST_VECS)
		return true;
	if (tsr_follows_rows(p))
		return v <= NARROW || !tsr_target_far(p->t, p->n * p->k * p->bytes);
	return v >= WIDE || p->m < MANY;
}

/* Columns that are turned together are whole tiles, and so are those that lie side by side in B, where tiles of two vectors can be. */
static bool fits_turning(const tsr_problem *p, int64_t v)
{
	int64_t lanes = p->lanes;
	bool wide = false;
	for (int64_t w = 2; w <= TSR_MOST_VECS; w++)
		wide |= p->turn % (w * lanes) == 0 && p->stretch % (w * lanes) == 0;
	return p->turn % (v * lanes) == 0 && (!wide || p->stretch % (v * lanes) == 0);
}

/* Where rows are joined, tiles are whole stretches of C's columns, where tiles of two vectors can be, and few of them whole rows of lines. */
static bool fits_joining(const tsr_problem *p, int64_t r, int64_t v)
{
	bool wide = false;
	for (int64_t w = 2; w <= widest_of(p); w++)
		wide |= w * p->lanes % p->run_c == 0;
	int64_t rows = tsr_multiple_of(p->rows_c, r);
	return rows <= 3 * p->rows_c && (rows % p->most_c == 0 || p->most_c % rows == 0) && (!wide || v * p->lanes % p->run_c == 0);
}

/* Or a tile has all that fills its lines in registers. */
static bool fits_knitting(const tsr_problem *p, int64_t r, int64_t v)
{
	int64_t width = v * p->lanes;
	return p->most_c % p->few_c == 0 && p->m % p->few_c == 0 && r % p->few_c == 0 && width % p->run_c == 0 && p->n % width == 0;
}

bool tsr_can_knit(const tsr_problem *p)
{
	bool can = false;
	for (int64_t v = 1; p->run_c && v <= TSR_MOST_VECS; v++)
		can |= fits_knitting(p, p->few_c, v) && p->few_c * v <= (int64_t)p->t->vector_registers / 2;
	return can;
}

bool tsr_tile_fills_lines(const tsr_problem *p, const tsr_schedule *s)
{
	return p->run_c && (tsr_can_knit(p) ? fits_knitting : fits_joining)(p, s->mr, s->nr / p->lanes);
}

/* B that is turned behind is read as it lies by tiles of as many rows as there are, so that each of its lines is read as seldom as can be. */
static bool choose_tall(const tsr_problem *p, tsr_schedule *s)
{
	enum { FEWEST = 20 };
	for (int64_t v = 1; v <= TSR_MOST_VECS; v++) {
		int64_t most = ((int64_t)p->t->vector_registers - 1 - v) / v, limit = most > TSR_MOST_ROWS ? TSR_MOST_ROWS : most;
		int64_t rows = tsr_even_rows(p->m, limit);
		if (p->stretch % (v * p->lanes) || rows * v < (FEWEST < most ? FEWEST : most / 2))
			continue;
		s->mr = (uint32_t)rows;
		s->nr = (uint32_t)(v * p->lanes);
		return true;
	}
	return false;
}

/* The share of the work that tiles of so many rows have, which leave out padding; at most MOST_POINTERS of them unless they stand one stride apart.
 * 0: there are no such tiles. */
static double work_left(const tsr_problem *p, int64_t r, int64_t v, bool *step)
{
	double pointers = r > MOST_POINTERS ? 0 : p->padding ? tsr_padding_left(p->padding, r, false) : 1;
	double apart = p->padding ? tsr_padding_left(p->padding, r, true) : 0;
	/* low ones lose more than what they leave out where registers are few (7 x 8: 1.3 times as long as 8 x 8 by pointers) */
	bool low = few_registers(p) && pointers > 0 && r * v < (int64_t)p->t->tile_m * p->t->tile_n;
	*step = apart > 0 && !low && (pointers == 0 || apart < pointers);
	return *step ? apart : pointers;
}

/* One of the table's tiles and a part of another would be all columns there are: the part, of few sums, is as slow as the whole. */
static bool leaves_part(const tsr_problem *p)
{
	int64_t width = (int64_t)p->t->tile_n * p->lanes;
	return !p->run && !p->across && !p->turn && !p->run_c && p->n > width && p->n < 2 * width;
}

/* The tile that the table names; where that leaves a part, those of as many sums. */
static bool is_usual(const tsr_problem *p, int64_t r, int64_t v)
{
	if (p->streams || p->crowded)
		return false;
	return leaves_part(p) ? r * v == (int64_t)p->t->tile_m * p->t->tile_n && v != p->t->tile_n : r == p->t->tile_m && v == p->t->tile_n;
}

/* Where one column of tiles is all there is, loads bound those of one vector, as many as multiply-adds but for B's, and of a row of an image tables say where each panel
 * begins: twice as many rows are 1.15 times as fast (28 x 16 of groups of 16 channels), unless they share the lines of the first cache.  Each line of A serves a tile for a few steps of K and then never again.  Rows that are whole pages apart, or
 * a half, fall into the same lines of the first cache: of more rows than it has ways each step would fetch them anew (24 or 14 rows of 1024 to
 * 4096 elements for at most 32 columns are 1.35 to 1.6 times slower than 8); a third of the ways is left to others (of 8 ways, 6 rows by 32 columns are
 * 3.8 times as fast as the 24 by 16 that 4 were worse than; AVX2, 6 rows by 8 or 16 columns 1 to 1.36 times as fast as 4), and two to four columns of tiles do not make up for that (1.1 to 2.5
 * times, where registers are many).  Of more than twelve the pointers cost wide tiles 2 to 8 %. */
static int64_t most_rows(const tsr_problem *p, int64_t v)
{
	enum { WAY = 4096, FEWEST_WAYS = 4, WINDOW_ROWS = 28, COLUMNS = 32 };
	int64_t ways = p->t->ways ? p->t->ways - p->t->ways / 3 : p->t->l1 / WAY > FEWEST_WAYS ? p->t->l1 / WAY : FEWEST_WAYS, groups = 1, most = TSR_MOST_ROWS;
	bool window = v == 1 && p->padding && p->padding->apart > 0;
	int64_t row = window ? p->padding->apart : p->a_row;
	if (!row || p->n < 0 || p->n > COLUMNS * p->lanes)
		return most;
	while (groups < WAY && groups * row % WAY)
		groups++;
	most = window ? WINDOW_ROWS : most;
	most = ways * groups < most ? ways * groups : most;
	return v > 1 && most > MOST_POINTERS ? MOST_POINTERS : most;
}

/* Of few depths that lie in short stretches LLVM loads what several steps read before it multiplies, more than there are registers for beside many sums: of 32
 * registers the sums have half (measured on Zen 4: by tiles of 4 to 7 rows 27 to 32 depths by 32 and 48 columns are 1.05 to 1.08 times as fast, 12 and 16 depths 1.15 to 1.37). */
static int64_t most_sums(const tsr_problem *p, int64_t v)
{
	enum { SHORT_RUN = 16, FEW_DEPTHS = 32, SUMS = 14, FEW_ROWS_VECS = 4 };      /* so wide tiles have few rows */
	bool spills = v < FEW_ROWS_VECS && p->run && p->run <= SHORT_RUN && p->k > 0 && p->k <= FEW_DEPTHS && p->t->fma && !tsr_target_few_registers(p->t);
	return spills ? SUMS / v : INT64_MAX;
}

void tsr_choose_tile(const tsr_problem *p, tsr_schedule *s)
{
	if (p->turn && !p->must_b && choose_tall(p, s))
		return;
	double best = 0;
	bool knit = tsr_can_knit(p);
	for (int64_t v = widest_of(p); v > 0; v--) {
		if ((p->turn && !fits_turning(p, v)) || !suits_asking(p, v))
			continue;
		int64_t most = room_for_rows(p, v);
		int64_t limit = p->run && !p->padding ? MOST_POINTERS : most_rows(p, v);
		most = most > limit ? limit : most;
		most = most > most_sums(p, v) ? most_sums(p, v) : most;
		int64_t least = p->run && most > MOST_POINTERS ? MOST_POINTERS / 2 : most / 2;
		for (int64_t r = most; r > 0 && r > least; r--) {
			if (p->run_c && !(knit ? fits_knitting : fits_joining)(p, r, v))
				continue;
			if ((p->streams || p->crowded) && r != tsr_even_rows(p->m, r) && r - 1 > most / 2)
				continue;
			if (p->down && r > p->m && r - 1 > most / 2)
				continue;
			bool step = false;
			double left = p->run ? work_left(p, r, v, &step) : 1;
			if (left == 0)
				continue;
			double time = total_time(p, r, v) * left * (is_usual(p, r, v) ? 0.97 : step && r * v >= p->t->tile_m * p->t->tile_n ? 0.985 : 1);
			if (best == 0 || time < best * 0.995) {
				best = time;
				s->mr = (uint32_t)r;
				s->nr = (uint32_t)(v * p->lanes);
				s->step = step;
			}
		}
	}
	if (best == 0 && p->run_c) {         /* no tile fills lines of joined rows (f64: 6046 rows of 140 columns) */
		tsr_problem apart = *p;
		apart.run_c = 0;
		tsr_choose_tile(&apart, s);
	}
}
