/* Runs the solver on a problem and reads off what it bound, before closing and after.  The only file here that includes
 * the solver's headers: it builds terms and reads bindings, and uses no rule. */
#include "oracle.h"
#include "../../compiler/shape/store.h"
#include <string.h>

typedef struct run {
	const problem *p;
	tsr_compiler *tc;
	tsr_store *s;
	tsr_dim dim[MAX_DIMS];
	tsr_row row[MAX_ROWS];
	tsr_name basis[3];
	uint32_t symbol[MAX_SYMBOLS];
	outcome *out;
} run;

/* ---- building ---------------------------------------------------------------------------------------------------- */

static tsr_dim code_dim(const run *r, int code)
{
	if (is_symbol(code))
		return tsr_dim_symbol(r->s, r->symbol[symbol_of(code)], r->basis[code & 3]);
	return code == UNIT ? tsr_dim_unit() : tsr_dim_atom(size_of(code), r->basis[basis_of(code)]);
}

static tsr_dim simple_dim(const run *r, simple x) { return x.is_var ? r->dim[x.at] : code_dim(r, x.code); }

static tsr_dim term_dim(const run *r, const term *t)
{
	tsr_dim part[MAX_PARTS];
	for (int i = 0; i < t->nparts; i++)
		part[i] = simple_dim(r, t->part[i]);
	switch (t->kind) {
	case T_CONST: case T_VAR: return part[0];
	case T_AFFINE:
		return tsr_dim_affine(r->s, (tsr_affine){.stride = t->stride, .dilation = t->nparts > 1 ? t->dilation : 0, .offset = t->offset,
			.over = part[0], .has_kernel = t->nparts > 1, .kernel = t->nparts > 1 ? part[1] : tsr_dim_unit(),
			.pad = t->nparts < 2 ? TSR_PAD_NONE : t->padded ? TSR_PAD_SAME : TSR_PAD_VALID});
	case T_CONCAT: return tsr_dim_concat(r->s, (uint32_t)t->nparts, part);
	}
	return part[0];
}

static tsr_row flat_to_row(const run *r, const flat_row *f)
{
	tsr_row out = {.nlead = (uint32_t)f->nlead, .ntrail = (uint32_t)f->ntrail, .var = f->var < 0 ? TSR_NO_ROW : r->row[f->var].var};
	out.lead = TSR_NEW_N(r->s->arena, tsr_dim, out.nlead + 1);
	out.trail = TSR_NEW_N(r->s->arena, tsr_dim, out.ntrail + 1);
	for (int i = 0; i < f->nlead; i++)
		out.lead[i] = term_dim(r, &f->lead[i]);
	for (int i = 0; i < f->ntrail; i++)
		out.trail[i] = term_dim(r, &f->trail[i]);
	return out;
}

/* These have no emitter of their own: an operation emits them together. */
static void emit_lookup(const run *r, const cons *c, const tsr_why *why)
{
	tsr_cstr *x = tsr_cstr_new(r->s, c->kind == JOIN ? TSR_C_JOIN : TSR_C_LOOKUP, NULL, why);
	tsr_push(r->s->arena, &r->s->emitted, x->id);
	if (c->kind == JOIN) {
		x->join.whole = flat_to_row(r, &c->ra);
		x->join.front = flat_to_row(r, &c->rb);
		x->join.back = flat_to_row(r, &c->rc);
	} else {
		x->lookup.d = term_dim(r, &c->a);
		x->lookup.batch = flat_to_row(r, &c->ra);
		x->lookup.input = flat_to_row(r, &c->rb);
		x->lookup.rest_batch = flat_to_row(r, &c->rc);
		x->lookup.rest_input = flat_to_row(r, &c->rd);
	}
	tsr_solve(r->s);
}

static void emit(const run *r, const cons *c)
{
	tsr_why why = {.what = "`oracle`"};
	tsr_row rows[2];
	switch (c->kind) {
	case DIM_EQ: tsr_emit_dim_equal(r->s, term_dim(r, &c->a), term_dim(r, &c->b), why); return;
	case DIM_LE: tsr_emit_dim_below(r->s, term_dim(r, &c->a), term_dim(r, &c->b), why); return;
	case ROW_EQ: tsr_emit_row_equal(r->s, flat_to_row(r, &c->ra), flat_to_row(r, &c->rb), why); return;
	case ROW_LE: tsr_emit_row_below(r->s, flat_to_row(r, &c->ra), flat_to_row(r, &c->rb), why); return;
	case JOIN: case LOOKUP: emit_lookup(r, c, &why); return;
	case AT_LEAST: tsr_emit_at_least(r->s, term_dim(r, &c->a), c->n, why); return;
	case TOTAL:
		for (int i = 0; i < c->nrows; i++)
			rows[i] = flat_to_row(r, i ? &c->rb : &c->ra);
		if (c->a.nparts)
			tsr_emit_total_of(r->s, (uint32_t)c->nrows, rows, c->n, term_dim(r, &c->a), why);
		else
			tsr_emit_total(r->s, (uint32_t)c->nrows, rows, tsr_size_const(c->n), why);
		return;
	}
}

static tsr_shape shape_of(const run *r, tsr_row row)
{
	return (tsr_shape){{tsr_row_closed(r->s, 0, NULL), tsr_row_closed(r->s, 0, NULL), row}};
}

static void declare(const run *r, tsr_row row, role as)
{
	tsr_shape shape = shape_of(r, row);
	if (as != INTERIOR)
		tsr_store_leaf(r->s, &shape, as == LEAF ? TSR_LEAF_PLAIN : TSR_LEAF_PARAM, NULL, TSR_NOWHERE);
}

static void build(run *r)
{
	static const char *const names[] = {"", "rgb", "xyz"};
	r->tc = tsr_compiler_new();
	r->s = tsr_store_new(r->tc);
	for (int i = 1; i < 3; i++)
		r->basis[i] = tsr_intern(r->tc->names, names[i]);
	r->basis[0] = NULL;
	for (int i = 0; i < r->p->nsymbols; i++)
		r->symbol[i] = tsr_store_symbol(r->s, tsr_intern(r->tc->names, i ? "m" : "n"), TSR_NOWHERE, r->p->exported[i]);
	for (int i = 0; i < r->p->ndims; i++) {
		r->dim[i] = tsr_dim_fresh(r->s, NULL, TSR_NOWHERE);
		if (r->p->discardable[i])
			tsr_dim_discardable(r->s, r->dim[i]);
		declare(r, tsr_row_closed(r->s, 1, &r->dim[i]), r->p->dim_role[i]);
	}
	for (int i = 0; i < r->p->nrows; i++) {
		r->row[i] = tsr_row_fresh(r->s);
		declare(r, r->row[i], r->p->row_role[i]);
	}
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int name_code(const run *r, tsr_name name) { return name == r->basis[1] ? 1 : name == r->basis[2] ? 2 : 0; }

static int dim_code(const run *r, tsr_dim d)
{
	d = tsr_dim_find(r->s, d);
	switch (d.kind) {
	case TSR_DIM_UNIT: return UNIT;
	case TSR_DIM_ZERO: return ZERO;
	case TSR_DIM_ATOM: return ATOM((int)d.atom.size.k, name_code(r, d.atom.basis));
	case TSR_DIM_VAR: case TSR_DIM_AFFINE: case TSR_DIM_CONCAT: case TSR_DIM_POISON: return NOTHING;
	}
	return NOTHING;
}

static void state(run *r, fact_kind kind, int var, int other, int value)
{
	if (r->out->nfacts < MAX_FACTS)
		r->out->facts[r->out->nfacts++] = (fact){kind, var, other, value};
}

static void state_axes(run *r, int v, tsr_row row)
{
	for (uint32_t i = 0; i < row.nlead; i++) {
		int code = dim_code(r, row.lead[i]);
		if (code != NOTHING)
			state(r, F_LEAD, v, (int)i, code);
	}
	for (uint32_t i = 0; i < row.ntrail; i++) {
		int code = dim_code(r, row.trail[i]);
		if (code != NOTHING)
			state(r, F_TRAIL, v, (int)(row.ntrail - 1 - i), code);
	}
}

/* A condition, a word equation, or an alignment that depends on how many axes the result will have. */
static bool waits(run *r, const tsr_cstr *c)
{
	bool poison = false;
	if (c->done || c->kind == TSR_C_DIM_BELOW || c->kind == TSR_C_DIM_EQUAL)
		return false;
	r->out->words |= c->kind == TSR_C_ROW_EQUAL;
	r->out->lookups |= c->kind == TSR_C_LOOKUP || c->kind == TSR_C_JOIN;
	if (c->kind != TSR_C_ROW_BELOW)
		return true;
	tsr_row op = tsr_row_find(r->s, c->row.b, &poison);
	bool wait = c->row.nlead < op.nlead || c->row.ntrail < op.ntrail;
	r->out->alignments |= wait;
	return wait;
}

static void read_facts(run *r)
{
	const tsr_store *s = r->s;
	for (int i = 0; i < r->p->ndims; i++) {
		tsr_dim d = tsr_dim_find(r->s, r->dim[i]);
		if (d.kind == TSR_DIM_VAR)
			r->out->open_choice |= s->dims.at[d.var].in_leaf || s->dims.at[d.var].in_term || s->dims.at[d.var].discardable;
		else
			state(r, F_DIM, i, 0, dim_code(r, d));
		for (int j = 0; j < i && d.kind == TSR_DIM_VAR; j++) {
			tsr_dim e = tsr_dim_find(r->s, r->dim[j]);
			if (e.kind == TSR_DIM_VAR && e.var == d.var)
				state(r, F_SAME, i, j, 0);
		}
	}
	for (int i = 0; i < r->p->nrows; i++) {
		bool poison = false;
		tsr_row row = tsr_row_find(r->s, r->row[i], &poison);
		state(r, tsr_row_open(row) ? F_RANK_AT_LEAST : F_RANK, i, 0, (int)tsr_row_flanks(row));
		if (!tsr_row_open(row))
			state(r, F_MARKER, i, 0, (int)row.nlead);
		state_axes(r, i, row);
	}
	for (uint32_t i = 0; i < s->rows.n; i++)
		r->out->open_choice |= !s->rows.at[i].bound && s->rows.at[i].in_leaf;
	for (uint32_t i = 0; i < s->dims.n; i++)
		r->out->open_choice |= !s->dims.at[i].bound && (s->dims.at[i].in_leaf || s->dims.at[i].in_term);
	for (uint32_t i = 0; i < s->cstrs.n; i++)
		r->out->open_choice |= waits(r, s->cstrs.at[i]);
}

static int axis_code(const run *r, const tsr_solved_axis *axis)
{
	return axis->unit ? UNIT : axis->size.k == 0 ? ZERO : ATOM((int)axis->size.k, name_code(r, axis->basis));
}

static void read_result(run *r)
{
	tsr_solved_axis axis;
	for (int i = 0; i < r->p->ndims; i++) {
		if (tsr_store_dim(r->s, r->dim[i], &axis))
			r->out->result.dim[i] = axis_code(r, &axis);
		else
			r->out->unsolved = true;
	}
	for (int i = 0; i < r->p->nrows; i++) {
		tsr_shape shape = shape_of(r, r->row[i]);
		tsr_solved solved;
		if (!tsr_store_solved(r->s, &shape, &solved) || solved.row[2].n > MAX_RANK) {
			r->out->unsolved = true;
			continue;
		}
		ground_row *to = &r->out->result.row[i];
		to->n = (int)solved.row[2].n;
		to->marker = (int)solved.row[2].marker;
		for (int j = 0; j < to->n; j++)
			to->at[j] = axis_code(r, &solved.row[2].axes[j]);
	}
}

/* ---- for values of the symbols ------------------------------------------------------------------------------------ */

static int64_t size_at(const run *r, tsr_size x, const int *values)
{
	x = tsr_store_size(r->s, x);
	int64_t out = x.k;
	for (uint32_t i = 0; i < x.nterms; i++) {
		const tsr_symbol *sym = tsr_store_symbol_get(r->s, x.terms[i].symbol);
		int64_t value = 0;
		for (int k = 0; k < r->p->nsymbols; k++)
			value = r->symbol[k] == x.terms[i].symbol ? values[k] : value;
		if (sym->derived) {
			int64_t dividend = size_at(r, sym->dividend, values);
			value = dividend / sym->divisor - (dividend % sym->divisor != 0 && dividend < 0);
		}
		out += x.terms[i].coef * value;
	}
	return out;
}

/* Solved symbols have these values, and the conditions of the run hold. */
static bool may_be(const run *r, const int *values)
{
	for (int k = 0; k < r->p->nsymbols; k++) {
		const tsr_symbol *sym = tsr_store_symbol_get(r->s, r->symbol[k]);
		if (sym->solved && size_at(r, sym->value, values) != values[k])
			return false;
	}
	for (uint32_t i = 0; i < tsr_store_nconditions(r->s); i++) {
		const tsr_condition *c = tsr_store_condition(r->s, i);
		int64_t left = size_at(r, c->left, values), right = size_at(r, c->right, values);
		if (c->kind == TSR_CONDITION_EQUAL ? left != right : left < right)
			return false;
	}
	return true;
}

static void read_at(const run *r, at_values *at)
{
	tsr_solved_axis axis;
	for (int i = 0; i < r->p->ndims; i++) {
		if (!tsr_store_dim(r->s, r->dim[i], &axis)) {
			at->unsolved = true;
			continue;
		}
		int64_t size = axis.unit ? 1 : size_at(r, axis.size, at->value);
		at->result.dim[i] = axis.unit ? UNIT : size == 0 ? ZERO : size < 0 ? NOTHING : ATOM((int)size, name_code(r, axis.basis));
	}
}

static bool exhausted(const run *r)
{
	for (uint32_t i = 0; i < r->tc->diags.n; i++)
		if (r->tc->diags.at[i]->code == TSR_E_SHAPE_BUDGET)
			return true;
	return false;
}

void solver_run_at(const problem *p, const int *order, outcome *out, at_values *at, int n)
{
	run r = {.p = p, .out = out};
	memset(out, 0, sizeof *out);
	build(&r);
	for (int i = 0; i < p->ncons; i++)
		emit(&r, &p->at[order[i]]);
	out->early_error = r.tc->nerrors > 0;
	if (!out->early_error)
		read_facts(&r);
	for (int i = 0; i < n; i++)
		at[i].early = !out->early_error && may_be(&r, at[i].value);
	out->error = !tsr_store_close(r.s) || r.tc->nerrors > 0;
	for (int i = 0; i < n; i++) {
		at[i].holds = !out->error && may_be(&r, at[i].value);
		if (at[i].holds)
			read_at(&r, &at[i]);
	}
	if (!out->error && !p->nsymbols)
		read_result(&r);
	out->exhausted = exhausted(&r);
	out->steps = (unsigned long)tsr_store_statistics(r.s).steps;
	tsr_compiler_free(r.tc);
}

void solver_run(const problem *p, const int *order, outcome *out) { solver_run_at(p, order, out, NULL, 0); }
