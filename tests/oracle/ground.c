/* The ground semantics of sections 1 to 3, on numbers alone: a solution gives each dimension variable a code and each row
 * variable a content and the place of its marker. A row inequality lines the result up with the operand around the
 * OPERAND's marker, an equality ignores markers. */
#include "oracle.h"

bool code_below(int res, int op) { return res == op || (op == UNIT && res != ZERO); }

static int merge_basis(int a, int b) { return a && b && a != b ? NOTHING : a ? a : b; }
static int floor_div(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static int affine_code(const term *t, int over, int kernel)
{
	int basis = merge_basis(basis_of(over), basis_of(kernel)), n;
	if (over == ZERO || kernel == ZERO || basis == NOTHING)
		return NOTHING;
	if (t->nparts < 2)
		n = t->stride * (size_of(over) + floor_div(t->offset, t->stride));
	else if (t->padded)
		n = t->stride * size_of(over);
	else
		n = t->stride * (size_of(over) - 1) + 1 + (size_of(kernel) - 1) * t->dilation + t->offset;
	return n < 1 ? NOTHING : ATOM(n, basis);
}

static int concat_code(const int *part, int n)
{
	int sum = 0, basis = 0, lasting = 0, only = NOTHING;
	for (int i = 0; i < n; i++) {
		if (part[i] == ZERO)
			continue;
		basis = merge_basis(basis, basis_of(part[i]));
		if (basis == NOTHING)
			return NOTHING;
		sum += size_of(part[i]);
		lasting++;
		only = part[i];
	}
	return lasting == 1 ? only : lasting ? ATOM(sum, basis) : NOTHING;
}

int ground_term(const term *t, const int *dim)
{
	int part[MAX_PARTS] = {0};
	for (int i = 0; i < t->nparts; i++)
		part[i] = t->part[i].is_var ? dim[t->part[i].at] : t->part[i].code;
	switch (t->kind) {
	case T_CONST: case T_VAR: return part[0];
	case T_AFFINE: return affine_code(t, part[0], t->nparts > 1 ? part[1] : UNIT);
	case T_CONCAT: return concat_code(part, t->nparts);
	}
	return NOTHING;
}

int ground_rank(const flat_row *r, const ground *g) { return r->nlead + r->ntrail + (r->var < 0 ? 0 : g->row[r->var].n); }
int ground_marker(const flat_row *r, const ground *g) { return r->nlead + (r->var < 0 ? 0 : g->row[r->var].marker); }

static int row_code(const flat_row *r, const ground *g, int i)
{
	int n = r->var < 0 ? 0 : g->row[r->var].n;
	if (i < r->nlead)
		return ground_term(&r->lead[i], g->dim);
	return i < r->nlead + n ? g->row[r->var].at[i - r->nlead] : ground_term(&r->trail[i - r->nlead - n], g->dim);
}

static bool row_below(const flat_row *a, const flat_row *b, const ground *g)
{
	int na = ground_rank(a, g), nb = ground_rank(b, g), marker = ground_marker(b, g);
	for (int i = 0; i < nb && na >= nb; i++) {
		int x = row_code(a, g, i < marker ? i : i + na - nb), y = row_code(b, g, i);
		if (x == NOTHING || y == NOTHING || !code_below(x, y))
			return false;
	}
	return na >= nb;
}

static bool row_equal(const flat_row *a, const flat_row *b, const ground *g)
{
	int n = ground_rank(a, g);
	for (int i = 0; i < n && n == ground_rank(b, g); i++) {
		int x = row_code(a, g, i);
		if (x == NOTHING || x != row_code(b, g, i))
			return false;
	}
	return n == ground_rank(b, g);
}

int rows_of(const cons *c, const flat_row **out)
{
	static const int count[LOOKUP + 1] = {[ROW_EQ] = 2, [ROW_LE] = 2, [JOIN] = 3, [LOOKUP] = 4};
	const flat_row *all[] = {&c->ra, &c->rb, &c->rc, &c->rd};
	for (int i = 0; i < count[c->kind]; i++)
		out[i] = all[i];
	return count[c->kind];
}

bool ground_ranks_fit(const cons *c, const ground *g)
{
	const flat_row *r[4];
	int n[4] = {0};
	for (int i = rows_of(c, r); i-- > 0;)
		n[i] = ground_rank(r[i], g);
	switch (c->kind) {
	case ROW_EQ: return n[0] == n[1];
	case ROW_LE: return n[0] >= n[1];
	case JOIN: return n[0] == n[1] + n[2];
	case LOOKUP: return n[0] ? n[0] == 1 + n[2] && n[1] == n[3] : n[1] == 1 && n[2] == 0 && n[3] == 0;
	case DIM_EQ: case DIM_LE: case AT_LEAST: case TOTAL: break;
	}
	return true;
}

/* n axes of a from axis i on are those of b from axis j on. */
static bool same_axes(const flat_row *a, int i, const flat_row *b, int j, int n, const ground *g)
{
	for (int k = 0; k < n; k++) {
		int x = row_code(a, g, i + k);
		if (x == NOTHING || x != row_code(b, g, j + k))
			return false;
	}
	return true;
}

static bool joined(const cons *c, const ground *g)
{
	int front = ground_rank(&c->rb, g), back = ground_rank(&c->rc, g);
	return ground_ranks_fit(c, g) && same_axes(&c->ra, 0, &c->rb, 0, front, g) && same_axes(&c->ra, front, &c->rc, 0, back, g);
}

static bool looked_up(const cons *c, const ground *g)
{
	int batch = ground_rank(&c->ra, g), input = ground_rank(&c->rb, g), d = ground_term(&c->a, g->dim);
	if (!ground_ranks_fit(c, g) || d == NOTHING || d != row_code(batch ? &c->ra : &c->rb, g, 0))
		return false;
	return !batch || (same_axes(&c->ra, 1, &c->rc, 0, batch - 1, g) && same_axes(&c->rb, 0, &c->rd, 0, input, g));
}

static int product(const cons *c, const ground *g)
{
	int n = 1;
	for (int i = 0; i < c->nrows; i++) {
		const flat_row *r = i ? &c->rb : &c->ra;
		for (int j = 0; j < ground_rank(r, g); j++)
			n *= size_of(row_code(r, g, j));
	}
	return n;
}

/* An inequality whose result is written as a term is an equality, unless the term is a sum of numbers. */
bool ground_is_order(const cons *c)
{
	bool numbers = c->a.kind == T_CONCAT;
	for (int i = 0; i < c->a.nparts; i++)
		numbers &= !c->a.part[i].is_var && c->a.part[i].code != UNIT;
	return c->kind == DIM_LE && (c->a.kind <= T_VAR || numbers);
}

bool ground_holds(const problem *p, const cons *c, const ground *g)
{
	(void)p;
	int a = c->kind <= DIM_LE || c->kind == AT_LEAST ? ground_term(&c->a, g->dim) : 0, b;
	switch (c->kind) {
	case DIM_EQ: case DIM_LE:
		b = ground_term(&c->b, g->dim);
		if (a == NOTHING || b == NOTHING)
			return false;
		return ground_is_order(c) ? code_below(a, b) : a == b;
	case ROW_EQ: return row_equal(&c->ra, &c->rb, g);
	case ROW_LE: return row_below(&c->ra, &c->rb, g);
	case AT_LEAST: return size_of(a) >= c->n;
	case JOIN: return joined(c, g);
	case LOOKUP: return looked_up(c, g);
	case TOTAL: return product(c, g) == c->n * (c->a.nparts ? size_of(ground_term(&c->a, g->dim)) : 1);
	}
	return false;
}

/* ---- markers ----------------------------------------------------------------------------------------------------- */

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/* The variable of `a` has its marker where one at `at` falls, or at the nearer edge. */
static bool falls(const flat_row *a, int at, const ground *g)
{
	return a->var < 0 || g->row[a->var].marker == clamp(at - a->nlead, 0, g->row[a->var].n);
}

static bool inherits(const flat_row *a, const flat_row *b, const ground *g) { return falls(a, ground_marker(b, g), g); }

/* A joined row has the marker of the side that is open when they are joined; of two closed ones that of the back where it has
 * axes before it, else that of the front. Which is closed by then is not known here: all agree. */
static bool join_agrees(const cons *c, const ground *g)
{
	int front = ground_rank(&c->rb, g), whole = ground_marker(&c->ra, g), f = ground_marker(&c->rb, g), b = ground_marker(&c->rc, g);
	bool by_front = c->rb.var >= 0 || b == 0, by_back = c->rc.var >= 0 || b > 0;
	if (by_front && !(falls(&c->ra, f, g) && falls(&c->rb, whole, g)))
		return false;
	return !by_back || (falls(&c->ra, front + b, g) && falls(&c->rc, whole - front, g));
}

static bool lookup_agrees(const cons *c, const ground *g)
{
	if (!ground_rank(&c->ra, g))
		return falls(&c->rb, 0, g);
	return falls(&c->ra, 1 + ground_marker(&c->rc, g), g) && falls(&c->rc, ground_marker(&c->ra, g) - 1, g) && inherits(&c->rb, &c->rd, g)
		&& inherits(&c->rd, &c->rb, g);
}

/* An unknown inside a term is an atom with the term's basis, where arithmetic gives it: POLICY of derived sizes. */
static bool term_agrees(const term *t, const ground *g)
{
	int value = ground_term(t, g->dim), lasting = 0;
	for (int i = 0; i < t->nparts; i++)
		lasting += (t->part[i].is_var ? g->dim[t->part[i].at] : t->part[i].code) != ZERO;
	if (t->kind == T_CONST || t->kind == T_VAR || (t->kind == T_CONCAT && lasting < 2))
		return true;
	for (int i = 0; i < t->nparts; i++) {
		int x = t->part[i].is_var ? g->dim[t->part[i].at] : ZERO;
		bool kernel = t->kind == T_AFFINE && i > 0;
		if (x != ZERO && (x == UNIT || (basis_of(x) != basis_of(value) && !kernel)))
			return false;
	}
	return true;
}

bool ground_terms_agree(const problem *p, const ground *g)
{
	for (int i = 0; i < p->ncons; i++) {
		const cons *c = &p->at[i];
		if ((c->kind == DIM_EQ || c->kind == DIM_LE) && !(term_agrees(&c->a, g) && term_agrees(&c->b, g)))
			return false;
	}
	return true;
}

bool ground_markers_agree(const problem *p, const cons *c, const ground *g)
{
	(void)p;
	if (c->kind == ROW_EQ)
		return inherits(&c->ra, &c->rb, g) && inherits(&c->rb, &c->ra, g);
	if (c->kind == JOIN)
		return join_agrees(c, g);
	if (c->kind == LOOKUP)
		return lookup_agrees(c, g);
	if (c->kind != ROW_LE || c->ra.var < 0)
		return true;
	int na = ground_rank(&c->ra, g), nb = ground_rank(&c->rb, g), at = ground_marker(&c->ra, g), op = ground_marker(&c->rb, g);
	return op <= at && at <= na - (nb - op);
}

/* ---- the codes that matter --------------------------------------------------------------------------------------- */

static void add_code(int *out, int *n, int code)
{
	for (int i = 0; i < *n; i++)
		if (out[i] == code)
			return;
	out[(*n)++] = code;
}

static void add_term(int *out, int *n, const term *t)
{
	for (int i = 0; i < t->nparts; i++)
		if (!t->part[i].is_var)
			add_code(out, n, t->part[i].code);
}

static void add_row(int *out, int *n, const flat_row *r)
{
	for (int i = 0; i < r->nlead; i++)
		add_term(out, n, &r->lead[i]);
	for (int i = 0; i < r->ntrail; i++)
		add_term(out, n, &r->trail[i]);
}

int codes_of(const problem *p, int *out, int largest)
{
	int n = 0;
	add_code(out, &n, UNIT);
	for (int i = 0; i < p->ncons; i++) {
		const cons *c = &p->at[i];
		add_term(out, &n, &c->a);
		if (c->kind <= DIM_LE)
			add_term(out, &n, &c->b);
		const flat_row *rows[4] = {&c->ra, &c->rb};
		int nrows = c->kind == TOTAL ? c->nrows : rows_of(c, rows);
		for (int j = 0; j < nrows; j++)
			add_row(out, &n, rows[j]);
	}
	for (int size = 1; size <= largest; size++)
		add_code(out, &n, ATOM(size, 0));
	add_code(out, &n, ATOM(largest + 7, 0));
	return n;
}
