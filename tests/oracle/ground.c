/* The ground semantics of sections 1 to 3, on numbers alone, and the search that tries every assignment.
 *
 * A solution gives each dimension variable a code and each row variable a content and the place of its marker: a row
 * inequality lines the result up with the operand around the OPERAND's marker, an equality ignores markers. The search
 * chooses ranks and markers first; every constraint is then one over codes, checked as soon as its variables have values. */
#include "oracle.h"
#include <string.h>

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

static int term_value(const term *t, const int *dim)
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

static int row_rank(const flat_row *r, const ground *g) { return r->nlead + r->ntrail + (r->var < 0 ? 0 : g->row[r->var].n); }
static int row_marker(const flat_row *r, const ground *g) { return r->nlead + (r->var < 0 ? 0 : g->row[r->var].marker); }

static int row_code(const flat_row *r, const ground *g, int i)
{
	int n = r->var < 0 ? 0 : g->row[r->var].n;
	if (i < r->nlead)
		return term_value(&r->lead[i], g->dim);
	return i < r->nlead + n ? g->row[r->var].at[i - r->nlead] : term_value(&r->trail[i - r->nlead - n], g->dim);
}

static bool row_below(const flat_row *a, const flat_row *b, const ground *g)
{
	int na = row_rank(a, g), nb = row_rank(b, g), marker = row_marker(b, g);
	for (int i = 0; i < nb && na >= nb; i++) {
		int x = row_code(a, g, i < marker ? i : i + na - nb), y = row_code(b, g, i);
		if (x == NOTHING || y == NOTHING || !code_below(x, y))
			return false;
	}
	return na >= nb;
}

static bool row_equal(const flat_row *a, const flat_row *b, const ground *g)
{
	int n = row_rank(a, g);
	for (int i = 0; i < n && n == row_rank(b, g); i++) {
		int x = row_code(a, g, i);
		if (x == NOTHING || x != row_code(b, g, i))
			return false;
	}
	return n == row_rank(b, g);
}

bool ground_holds(const problem *p, const cons *c, const ground *g)
{
	(void)p;
	int a = c->kind <= DIM_LE || c->kind == AT_LEAST ? term_value(&c->a, g->dim) : 0, b, product = 1;
	switch (c->kind) {
	case DIM_EQ: case DIM_LE:
		b = term_value(&c->b, g->dim);
		if (a == NOTHING || b == NOTHING)
			return false;
		return c->kind == DIM_EQ || c->a.kind == T_AFFINE || c->a.kind == T_CONCAT ? a == b : code_below(a, b);
	case ROW_EQ: return row_equal(&c->ra, &c->rb, g);
	case ROW_LE: return row_below(&c->ra, &c->rb, g);
	case AT_LEAST: return size_of(a) >= c->n;
	case TOTAL:
		for (int i = 0; i < row_rank(&c->ra, g); i++)
			product *= size_of(row_code(&c->ra, g, i));
		return product == c->n;
	}
	return false;
}

/* ---- markers ----------------------------------------------------------------------------------------------------- */

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/* The variable of `a` has its marker where that of `b` falls, or at the nearer edge. */
static bool inherits(const flat_row *a, const flat_row *b, const ground *g)
{
	return a->var < 0 || g->row[a->var].marker == clamp(row_marker(b, g) - a->nlead, 0, g->row[a->var].n);
}

/* An unknown inside a term is an atom with the term's basis, where arithmetic gives it: POLICY of derived sizes. */
static bool term_agrees(const term *t, const ground *g)
{
	int value = term_value(t, g->dim), lasting = 0;
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
	if (c->kind != ROW_LE || c->ra.var < 0)
		return true;
	int na = row_rank(&c->ra, g), nb = row_rank(&c->rb, g), at = row_marker(&c->ra, g), op = row_marker(&c->rb, g);
	return op <= at && at <= na - (nb - op);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

enum { MAX_SLOTS = MAX_DIMS + MAX_ROWS * MAX_RANK, MAX_PAIRS = MAX_CONS * (MAX_RANK + MAX_FLANK) };
typedef struct operand { const term *term; const int *axis; } operand;      /* one of them */
typedef struct pair { operand a, b; bool below; int next; } pair;

typedef struct search {
	const problem *p;
	const query *q;
	ground g;
	int *slot[MAX_SLOTS];            /* what is assigned, in this order */
	int nslots;
	const int *avoid;                /* the place that must not have the value of q->against */
	uint32_t ready[MAX_SLOTS + 1];   /* constraints whose last variable is slot i - 1 */
	int first[MAX_SLOTS + 1];        /* and pairs of axes: the first, + 1 */
	pair pair[MAX_PAIRS];
	int npairs;
	long tried;
} search;

static int slot_of_dim(const search *s, int v)
{
	for (int i = 0; i < s->nslots; i++)
		if (s->slot[i] == &s->g.dim[v])
			return i + 1;
	return 0;
}

static int last_of_term(const search *s, const term *t)
{
	int last = 0;
	for (int i = 0; i < t->nparts; i++)
		if (t->part[i].is_var) {
			int at = slot_of_dim(s, t->part[i].at);
			last = at > last ? at : last;
		}
	return last;
}

/* ---- constraints over codes: the ranks and markers are chosen ------------------------------------------------------ */

static operand operand_of(search *s, const flat_row *r, int i)
{
	int n = r->var < 0 ? 0 : s->g.row[r->var].n;
	if (i < r->nlead)
		return (operand){.term = &r->lead[i]};
	return i < r->nlead + n ? (operand){.axis = &s->g.row[r->var].at[i - r->nlead]} : (operand){.term = &r->trail[i - r->nlead - n]};
}

static int last_of_operand(const search *s, operand x)
{
	if (!x.axis)
		return last_of_term(s, x.term);
	for (int i = 0; i < s->nslots; i++)
		if (s->slot[i] == x.axis)
			return i + 1;
	return 0;
}

static void add_pair(search *s, operand a, operand b, bool below)
{
	int x = last_of_operand(s, a), y = last_of_operand(s, b), at = x > y ? x : y;
	s->pair[s->npairs] = (pair){a, b, below, s->first[at]};
	s->first[at] = ++s->npairs;
}

/* A whole constraint: conditions, and dimensions. */
static void add_whole(search *s, const cons *c)
{
	int last = c->kind == TOTAL ? s->nslots : last_of_term(s, &c->a), b = c->kind == DIM_EQ || c->kind == DIM_LE ? last_of_term(s, &c->b) : 0;
	s->ready[last > b ? last : b] |= 1u << (c - s->p->at);
}

static void add_constraint(search *s, const cons *c)
{
	if (c->kind != ROW_EQ && c->kind != ROW_LE) {
		add_whole(s, c);
		return;
	}
	int na = row_rank(&c->ra, &s->g), nb = row_rank(&c->rb, &s->g), marker = row_marker(&c->rb, &s->g);
	for (int i = 0; i < nb; i++)
		add_pair(s, operand_of(s, &c->ra, i < marker || c->kind == ROW_EQ ? i : i + na - nb), operand_of(s, &c->rb, i), c->kind == ROW_LE);
}

static int operand_value(const search *s, operand x) { return x.axis ? *x.axis : term_value(x.term, s->g.dim); }

static bool pair_holds(const search *s, const pair *x)
{
	int a = operand_value(s, x->a), b = operand_value(s, x->b);
	return a != NOTHING && b != NOTHING && (x->below ? code_below(a, b) : a == b);
}

/* 1: strictly above, 0: the same, -1: neither. The rank of a row that lies higher is no greater. */
static int row_above(const ground_row *x, const ground_row *than)
{
	bool strict = x->n < than->n;
	for (int i = 0; i < x->n; i++) {
		int other = than->at[i < x->marker ? i : i + than->n - x->n];
		if (x->n > than->n || !code_below(other, x->at[i]))
			return -1;
		strict |= other != x->at[i];
	}
	return x->n > than->n ? -1 : strict;
}

static bool is_higher(const search *s)
{
	bool strict = false;
	const ground *g = &s->g, *than = s->q->fixed;
	for (int i = 0; i < s->p->ndims; i++) {
		if (!code_below(than->dim[i], g->dim[i]))
			return false;
		strict |= than->dim[i] != g->dim[i];
	}
	for (int i = 0; i < s->p->nrows; i++) {
		int above = row_above(&g->row[i], &than->row[i]);
		if (above < 0)
			return false;
		strict |= above > 0;
	}
	return strict;
}

static bool ready_hold(const search *s, int at)
{
	for (int i = 0; i < s->p->ncons; i++)
		if (s->ready[at] >> i & 1 && !ground_holds(s->p, &s->p->at[i], &s->g))
			return false;
	for (int i = s->first[at]; i; i = s->pair[i - 1].next)
		if (!pair_holds(s, &s->pair[i - 1]))
			return false;
	return true;
}

/* What a solution must avoid so as to contradict a statement: `avoid` at one place, nothing where the rank does it. */
static bool aim(search *s)
{
	const fact *x = s->q->against;
	s->avoid = NULL;
	if (!x)
		return true;
	ground_row *r = &s->g.row[x->var];
	switch (x->kind) {
	case F_DIM: s->avoid = &s->g.dim[x->var]; return true;
	case F_SAME: return true;
	case F_RANK_AT_LEAST: return r->n < x->value;
	case F_RANK: return r->n != x->value;
	case F_MARKER: return r->marker != x->value;
	case F_LEAD: s->avoid = x->other < r->n ? &r->at[x->other] : NULL; return true;
	case F_TRAIL: s->avoid = x->other < r->n ? &r->at[r->n - 1 - x->other] : NULL; return true;
	}
	return true;
}

static bool accept(const search *s)
{
	const fact *x = s->q->against;
	if ((s->q->higher && !is_higher(s)) || (s->q->agree && !ground_terms_agree(s->p, &s->g)))
		return false;
	if (x && x->kind == F_SAME && s->g.dim[x->var] == s->g.dim[x->other])
		return false;
	return !s->q->found || s->q->found(s->q->context, &s->g);
}

static bool assign(search *s, int at)
{
	if (s->q->budget && ++s->tried > s->q->budget)
		return false;
	if (!ready_hold(s, at))
		return false;
	if (at == s->nslots)
		return accept(s);
	bool is_dim = s->slot[at] >= s->g.dim && s->slot[at] < s->g.dim + MAX_DIMS;
	for (int i = 0; i < s->q->ncodes; i++) {
		*s->slot[at] = s->q->codes[i];
		if (s->slot[at] == s->avoid && s->q->codes[i] == s->q->against->value)
			continue;
		if (assign(s, at + 1))
			return true;
	}
	if (is_dim && s->p->discardable[s->slot[at] - s->g.dim] && !(s->slot[at] == s->avoid && s->q->against->value == ZERO)) {
		*s->slot[at] = ZERO;
		return assign(s, at + 1);
	}
	return false;
}

/* Markers bear on inequalities through their open operands alone. */
static bool marker_matters(const problem *p)
{
	for (int i = 0; i < p->ncons; i++)
		if (p->at[i].kind == ROW_LE && p->at[i].rb.var >= 0)
			return true;
	return false;
}

static bool with_ranks(search *s)
{
	for (int i = 0; i < s->p->ncons && s->q->agree && (s->q->markers || marker_matters(s->p)); i++)
		if (!ground_markers_agree(s->p, &s->p->at[i], &s->g))
			return false;
	s->nslots = 0;
	for (int v = 0; v < s->p->ndims; v++)
		if (!s->q->fix_dim[v])
			s->slot[s->nslots++] = &s->g.dim[v];
	for (int v = 0; v < s->p->nrows; v++)
		for (int i = 0; i < s->g.row[v].n && !s->q->fix_row[v]; i++)
			s->slot[s->nslots++] = &s->g.row[v].at[i];
	if (!aim(s))
		return false;
	memset(s->ready, 0, sizeof s->ready);
	memset(s->first, 0, sizeof s->first);
	s->npairs = 0;
	for (int i = 0; i < s->p->ncons; i++)
		add_constraint(s, &s->p->at[i]);
	return assign(s, 0);
}

static bool choose_markers(search *s, int v)
{
	if (v == s->p->nrows)
		return with_ranks(s);
	if (s->q->fix_row[v] && !s->q->markers)
		return choose_markers(s, v + 1);
	for (int m = 0; m <= s->g.row[v].n; m++) {
		s->g.row[v].marker = m;
		if (choose_markers(s, v + 1))
			return true;
	}
	return false;
}

static bool ranks_fit(const search *s)
{
	for (int i = 0; i < s->p->ncons; i++) {
		const cons *c = &s->p->at[i];
		if (c->kind == ROW_EQ && row_rank(&c->ra, &s->g) != row_rank(&c->rb, &s->g))
			return false;
		if (c->kind == ROW_LE && row_rank(&c->ra, &s->g) < row_rank(&c->rb, &s->g))
			return false;
	}
	return true;
}

static bool choose_ranks(search *s, int v)
{
	if (v == s->p->nrows) {
		if (!ranks_fit(s) || (s->q->budget && s->tried > s->q->budget))
			return false;
		if (s->q->markers || marker_matters(s->p))
			return choose_markers(s, 0);
		for (int i = 0; i < s->p->nrows; i++)
			if (!s->q->fix_row[i])
				s->g.row[i].marker = 0;
		return with_ranks(s);
	}
	if (s->q->fix_row[v])
		return choose_ranks(s, v + 1);
	for (int n = 0; n <= s->q->max_rank; n++) {
		s->g.row[v].n = n;
		if (choose_ranks(s, v + 1))
			return true;
	}
	return false;
}

bool ground_search(const problem *p, const query *q, ground *out)
{
	search s = {.p = p, .q = q};
	if (q->fixed)
		s.g = *q->fixed;
	bool found = choose_ranks(&s, 0);
	if (found && out)
		*out = s.g;
	return found;
}

typedef struct collector { int (*out)[MAX_DIMS]; int n, max; } collector;

static bool collect(void *context, const ground *g)
{
	collector *c = context;
	memcpy(c->out[c->n++], g->dim, sizeof g->dim);
	return c->n == c->max;
}

int ground_all_dims(const problem *p, const int *codes, int ncodes, int (*out)[MAX_DIMS], int max)
{
	collector c = {out, 0, max};
	query q = {.codes = codes, .ncodes = ncodes, .found = collect, .context = &c};
	ground_search(p, &q, NULL);
	return c.n;
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
		if (c->kind <= DIM_LE || c->kind == AT_LEAST)
			add_term(out, &n, &c->a);
		if (c->kind <= DIM_LE)
			add_term(out, &n, &c->b);
		if (c->kind == ROW_EQ || c->kind == ROW_LE || c->kind == TOTAL)
			add_row(out, &n, &c->ra);
		if (c->kind == ROW_EQ || c->kind == ROW_LE)
			add_row(out, &n, &c->rb);
	}
	for (int size = 1; size <= largest; size++)
		add_code(out, &n, ATOM(size, 0));
	add_code(out, &n, ATOM(largest + 7, 0));
	return n;
}
