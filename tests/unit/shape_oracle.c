/* shape/ against a brute-force enumeration of ground solutions, which shares no code with the solver.
 *
 * Dimensions: three variables over the unit and atoms of sizes 1 to 3 in two bases. Rows: two variables of ranks up to the
 * sum of all flanks plus one, with their markers, over the unit and two atoms. Small random sets of constraints.
 *   - a rule that fails before closing: there is no solution;
 *   - what is bound before closing is so in every solution (both for rows only where no marker is policy);
 *   - no solution: an error, at the latest when closing;
 *   - closing without an error: the result is one of the solutions (also tested by tsr_store_check). */
#include "../../compiler/shape/shape.h"
#include "check.h"

static uint32_t seed;
static uint32_t pick(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 9) % n;
}

/* ---- dimensions: value 0 is the unit, 1..3 default sizes, 4..6 named ones --------------------------------------------- */

enum { NVARS = 3, NVALUES = 7 };
typedef struct term { bool is_var; uint32_t n; } term;
typedef struct relation { bool below; term a, b; } relation;

static tsr_dim value_dim(tsr_name x, uint32_t v) { return v == 0 ? tsr_dim_unit() : tsr_dim_atom(v > 3 ? v - 3 : v, v > 3 ? x : NULL); }
static uint32_t ground(const uint32_t *at, term t) { return t.is_var ? at[t.n] : t.n; }

static bool holds(const uint32_t *at, relation r)
{
	uint32_t a = ground(at, r.a), b = ground(at, r.b);
	return a == b || (r.below && b == 0);
}

static term random_term(void)
{
	bool is_var = pick(3) > 0;
	return (term){is_var, is_var ? pick(NVARS) : pick(NVALUES)};
}

static uint32_t axis_value(const tsr_solved_axis *axis)
{
	return axis->unit ? 0 : (uint32_t)axis->size.k + (axis->basis ? 3 : 0);
}

static void dims_round(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_store *s = tsr_store_new(tc);
	tsr_name x = tsr_intern(tc->names, "x");
	tsr_why why = {.what = "`test`"};
	relation rs[6];
	tsr_dim vars[NVARS];
	uint32_t n = 1 + pick(6), solutions = 0, same[NVARS] = {0}, first[NVARS] = {0};
	for (uint32_t i = 0; i < NVARS; i++)
		vars[i] = tsr_dim_fresh(s, NULL, TSR_NOWHERE);
	if (pick(2)) {
		tsr_shape leaf = {{tsr_row_closed(s, 0, NULL), tsr_row_closed(s, 0, NULL), tsr_row_closed(s, 1 + pick(NVARS), vars)}};
		tsr_store_leaf(s, &leaf, TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
	}
	for (uint32_t i = 0; i < n; i++) {
		rs[i] = (relation){pick(3) > 0, random_term(), random_term()};
		tsr_dim a = rs[i].a.is_var ? vars[rs[i].a.n] : value_dim(x, rs[i].a.n), b = rs[i].b.is_var ? vars[rs[i].b.n] : value_dim(x, rs[i].b.n);
		if (rs[i].below)
			tsr_emit_dim_below(s, a, b, why);
		else
			tsr_emit_dim_equal(s, a, b, why);
	}
	uint32_t at[NVARS], found[NVARS];
	bool failed = tc->nerrors > 0, member = false;
	tsr_solved_axis axis;
	bool bound[NVARS];
	uint32_t before[NVARS];
	for (uint32_t i = 0; i < NVARS; i++) {
		bound[i] = tsr_store_dim(s, vars[i], &axis);
		before[i] = bound[i] ? axis_value(&axis) : 0;
	}
	bool closed = tsr_store_close(s);
	tsr_store_check(s);
	for (uint32_t i = 0; i < NVARS && closed; i++)
		found[i] = tsr_store_dim(s, vars[i], &axis) ? axis_value(&axis) : 99;
	for (uint32_t code = 0; code < NVALUES * NVALUES * NVALUES; code++) {
		bool ok = true;
		for (uint32_t i = 0, c = code; i < NVARS; i++, c /= NVALUES)
			at[i] = c % NVALUES;
		for (uint32_t i = 0; i < n && ok; i++)
			ok = holds(at, rs[i]);
		if (!ok)
			continue;
		for (uint32_t i = 0; i < NVARS; i++) {
			first[i] = solutions ? first[i] : at[i];
			same[i] += first[i] == at[i];
			if (!failed && bound[i])
				CHECK_INT(at[i], before[i]);
		}
		member |= closed && !memcmp(at, found, sizeof at);
		solutions++;
	}
	CHECK(!failed || solutions == 0);
	CHECK(solutions > 0 || !closed);
	CHECK(!closed || member);
	tsr_compiler_free(tc);
}

/* ---- rows: value 0 is the unit, 1 and 2 are atoms -------------------------------------------------------------------- */

enum { RANK = 5, RVALUES = 3 };
typedef struct flat { uint32_t n, marker, at[2 * RANK + 4]; } flat;
typedef struct side { uint32_t nlead, ntrail, lead[2], trail[2]; int var; } side;      /* var: 0, 1 or -1 */
typedef struct row_relation { bool below; side a, b; } row_relation;

static flat substituted(const flat *vars, side s)
{
	flat in = s.var < 0 ? (flat){0} : vars[s.var], out = {.n = s.nlead + in.n + s.ntrail, .marker = s.nlead + in.marker};
	for (uint32_t i = 0; i < s.nlead; i++)
		out.at[i] = s.lead[i];
	for (uint32_t i = 0; i < in.n; i++)
		out.at[s.nlead + i] = in.at[i];
	for (uint32_t i = 0; i < s.ntrail; i++)
		out.at[s.nlead + in.n + i] = s.trail[i];
	return out;
}

static bool row_holds(const flat *vars, row_relation r)
{
	flat a = substituted(vars, r.a), b = substituted(vars, r.b);
	if (r.below ? a.n < b.n : a.n != b.n)
		return false;
	for (uint32_t i = 0; i < b.n; i++) {
		uint32_t x = a.at[!r.below || i < b.marker ? i : i + a.n - b.n];
		if (x != b.at[i] && !(r.below && b.at[i] == 0))
			return false;
	}
	return true;
}

static side random_side(void)
{
	side s = {.nlead = pick(2), .ntrail = pick(3), .var = (int)pick(3) - 1};
	for (uint32_t i = 0; i < 2; i++) {
		s.lead[i] = pick(RVALUES);
		s.trail[i] = pick(RVALUES);
	}
	return s;
}

static tsr_dim row_value(uint32_t v) { return v == 0 ? tsr_dim_unit() : tsr_dim_atom(v + 1, NULL); }

static tsr_row side_row(tsr_store *s, side x, const tsr_row *vars)
{
	tsr_dim lead[2], trail[2];
	for (uint32_t i = 0; i < 2; i++) {
		lead[i] = row_value(x.lead[i]);
		trail[i] = row_value(x.trail[i]);
	}
	tsr_row l = tsr_row_closed(s, x.nlead, lead), t = tsr_row_closed(s, x.ntrail, trail);
	return (tsr_row){.nlead = l.ntrail, .lead = l.trail, .ntrail = t.ntrail, .trail = t.trail, .var = x.var < 0 ? TSR_NO_ROW : vars[x.var].var};
}

/* The next row in the enumeration; false after the last. */
static bool next(flat *r, uint32_t most)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (++r->at[i] < RVALUES)
			return true;
		r->at[i] = 0;
	}
	if (r->marker++ < r->n)
		return true;
	r->marker = 0;
	return ++r->n <= most;
}

static bool closed_row(tsr_store *s, tsr_row r, flat *out)
{
	tsr_shape shape = {{tsr_row_closed(s, 0, NULL), tsr_row_closed(s, 0, NULL), r}};
	tsr_solved solved;
	if (!tsr_store_solved(s, &shape, &solved))
		return false;
	const tsr_solved_row *row = &solved.row[TSR_OUTPUT];
	*out = (flat){.n = row->n, .marker = row->marker};
	for (uint32_t i = 0; i < row->n && i < 2 * RANK; i++)
		out->at[i] = row->axes[i].unit ? 0 : (uint32_t)row->axes[i].size.k - 1;
	return true;
}

static bool same_content(const flat *a, const flat *b) { return a->n == b->n && !memcmp(a->at, b->at, a->n * sizeof *a->at); }

static void describe(const row_relation *rs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const side *sides[2] = {&rs[i].a, &rs[i].b};
		for (uint32_t k = 0; k < 2; k++) {
			printf(k ? rs[i].below ? " <= [" : " = [" : "    [");
			for (uint32_t j = 0; j < sides[k]->nlead; j++)
				printf("%u ", sides[k]->lead[j]);
			printf(sides[k]->var < 0 ? "." : sides[k]->var ? "..q.." : "..p..");
			for (uint32_t j = 0; j < sides[k]->ntrail; j++)
				printf(" %u", sides[k]->trail[j]);
			printf("]");
		}
		printf("   (0 claim-free)\n");
	}
}

/* The marker of a variable is policy where an equality or a template gave it, and plays a part only in an operand: where no
 * variable of an operand occurs elsewhere, solving must lose no solution. */
static bool free_of_policy(const row_relation *rs, uint32_t n)
{
	bool operand[3] = {false}, other[3] = {false};
	for (uint32_t i = 0; i < n; i++) {
		other[rs[i].a.var + 1] = true;
		if (rs[i].below)
			operand[rs[i].b.var + 1] = true;
		else
			other[rs[i].b.var + 1] = true;
	}
	return !(operand[1] && other[1]) && !(operand[2] && other[2]);
}

static void rows_round(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_store *s = tsr_store_new(tc);
	tsr_why why = {.what = "`test`"};
	tsr_row vars[2] = {tsr_row_fresh(s), tsr_row_fresh(s)};
	row_relation rs[3];
	uint32_t n = 1 + pick(3), most = 1, solutions = 0;
	if (pick(2)) {
		tsr_shape leaf = {{tsr_row_closed(s, 0, NULL), tsr_row_closed(s, 0, NULL), vars[pick(2)]}};
		tsr_store_leaf(s, &leaf, TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
	}
	for (uint32_t i = 0; i < n; i++) {
		rs[i] = (row_relation){pick(2) > 0, random_side(), random_side()};
		most += rs[i].a.nlead + rs[i].a.ntrail + rs[i].b.nlead + rs[i].b.ntrail;
		if (rs[i].below)
			tsr_emit_row_below(s, side_row(s, rs[i].a, vars), side_row(s, rs[i].b, vars), why);
		else
			tsr_emit_row_equal(s, side_row(s, rs[i].a, vars), side_row(s, rs[i].b, vars), why);
	}
	most = most > RANK - 1 ? RANK - 1 : most;
	bool failed = tc->nerrors > 0, member = false, forced = true;
	flat before[2], found[2], at[2] = {0};
	bool bound[2] = {!failed && closed_row(s, vars[0], &before[0]), !failed && closed_row(s, vars[1], &before[1])};
	bool closed = tsr_store_close(s), in_range = true;
	tsr_store_check(s);
	for (uint32_t i = 0; i < 2 && closed; i++)
		in_range &= closed_row(s, vars[i], &found[i]) && found[i].n <= most;
	do {
		at[1] = (flat){0};
		do {
			bool ok = true;
			for (uint32_t i = 0; i < n && ok; i++)
				ok = row_holds(at, rs[i]);
			if (!ok)
				continue;
			solutions++;
			for (uint32_t i = 0; i < 2; i++)
				forced &= !bound[i] || same_content(&before[i], &at[i]);
			member |= closed && same_content(&at[0], &found[0]) && same_content(&at[1], &found[1])
				&& at[0].marker == found[0].marker && at[1].marker == found[1].marker;
		} while (next(&at[1], most));
	} while (next(&at[0], most));
	bool exact = free_of_policy(rs, n);
	bool ok = CHECK(!exact || !failed || solutions == 0) & CHECK(!exact || forced) & CHECK(!closed || !in_range || member)
		& CHECK(solutions > 0 || !closed || !in_range);
	if (!ok)
		describe(rs, n);
	tsr_compiler_free(tc);
}

int main(void)
{
	seed = 1;
	for (uint32_t i = 0; i < 4000; i++)
		dims_round();
	for (uint32_t i = 0; i < 150; i++)
		rows_round();
	return check_end("shape_oracle");
}
