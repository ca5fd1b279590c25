/* What is at most 0: a value less the greatest of all that it is along a loop, as softmax and cross entropy raise e to.
 *
 *     let $a = -inf
 *     for t { set $a = max($a, x[t]) }
 *     let $m = $a                              or c * $a, c > 0
 *     for j { .. exp(x[j] - $m) .. }           and c * x[j] - $m
 *
 * Both loops stand in one list of statements and go equally far, and nothing that x reads changes between an element's comparison and its exponential: the
 * second loop may store to where it has just read.  Where the difference is fused with a product, as the maximum was not, it may be above 0 by some
 * roundings, and it is NaN where x is. */
#include "opt.h"

typedef struct fall {
	const tsr_loops *l;
	const tsr_stmts *body;
	uint32_t first, second, in;  /* the loops in it, and the statement of the second that x is part of */
} fall;

static const tsr_expr *value_of(const tsr_stmt *s)
{
	if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET)
		return s->let.value;
	return s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE ? s->store.value : NULL;
}

static bool within(const tsr_expr *all, const tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	bool found = all == x;
	for (uint32_t i = 0, n = tsr_expr_parts(all, part); i < n && !found; i++)
		found = within(part[i], x);
	return found;
}

/* The loop among whose own statements x is. */
static bool find_second(fall *f, const tsr_stmts *body, const tsr_expr *x)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmts *in = tsr_stmt_inside(body->at[i]);
		for (uint32_t k = 0; in && body->at[i]->kind == TSR_STMT_FOR && k < in->n; k++)
			if (value_of(in->at[k]) && within(value_of(in->at[k]), x)) {
				f->body = body, f->second = i, f->in = k;
				return true;
			}
		if (in && find_second(f, in, x))
			return true;
	}
	return false;
}

static uint32_t sets(const tsr_stmts *body, tsr_local_id id)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmts *in = tsr_stmt_inside(body->at[i]);
		n += body->at[i]->kind == TSR_STMT_SET && body->at[i]->let.local == id;
		n += in ? sets(in, id) : 0;
	}
	return n;
}

/* Where a local is introduced, or `before`. */
static uint32_t let_of(const fall *f, uint32_t before, tsr_local_id id)
{
	uint32_t i = 0;
	while (i < before && !(f->body->at[i]->kind == TSR_STMT_LET && f->body->at[i]->let.local == id))
		i++;
	return i;
}

/* What local `id` is the greatest of, by a loop between two statements which is all that sets it. */
static const tsr_expr *greatest(fall *f, uint32_t from, uint32_t to, tsr_local_id id)
{
	for (f->first = from; f->first < to; f->first++) {
		const tsr_stmts *in = f->body->at[f->first]->kind == TSR_STMT_FOR ? tsr_stmt_inside(f->body->at[f->first]) : NULL;
		for (uint32_t k = 0; in && k < in->n; k++) {
			const tsr_expr *v = in->at[k]->kind == TSR_STMT_SET && in->at[k]->let.local == id ? in->at[k]->let.value : NULL;
			if (v && v->kind == TSR_EXPR_OP && v->op.op == TSR_OP_MAX && v->op.args[0]->kind == TSR_EXPR_LOCAL && v->op.args[0]->local == id)
				return sets(f->body, id) == 1 ? v->op.args[1] : NULL;
		}
	}
	return NULL;
}

static bool same_index(const fall *f, const tsr_lin *x, const tsr_lin *y)
{
	enum { MOST = 16 };
	tsr_lin_term terms[MOST];
	tsr_lin renamed = *x;
	if (x->n > MOST)
		return false;
	renamed.terms = terms;
	for (uint32_t i = 0; i < x->n; i++) {
		terms[i] = x->terms[i];
		if (terms[i].kind == TSR_LSYM_LOOP && terms[i].id == f->body->at[f->first]->loop.sym)
			terms[i].id = f->body->at[f->second]->loop.sym;
	}
	return tsr_lin_equal(renamed, *y);
}

/* A statement leaves what is loaded as it is, or, `behind` the load, changes that element alone. */
static bool leaves(const fall *f, const tsr_stmt *s, const tsr_expr *load, bool behind)
{
	const tsr_stmts *in = tsr_stmt_inside(s);
	bool stores = s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE;
	if (stores && s->store.buffer == load->load.buffer) {
		for (uint32_t i = 0; i < f->l->buffers.at[load->load.buffer]->rank; i++)
			if (!behind || !tsr_lin_equal(s->store.index[i], load->load.index[i]))
				return false;
		return behind;
	}
	for (uint32_t i = 0; in && i < in->n; i++)
		if (!leaves(f, in->at[i], load, behind))
			return false;
	return in || stores || value_of(s) || s->kind == TSR_STMT_LETSYM;
}

static bool same_load(const fall *f, const tsr_expr *x, const tsr_expr *y)
{
	if (x->load.buffer != y->load.buffer)
		return false;
	for (uint32_t i = 0; i < f->l->buffers.at[x->load.buffer]->rank; i++)
		if (!same_index(f, &x->load.index[i], &y->load.index[i]))
			return false;
	const tsr_stmts *second = tsr_stmt_inside(f->body->at[f->second]);
	for (uint32_t i = f->first; i < f->second; i++)
		if (!leaves(f, f->body->at[i], y, false))
			return false;
	for (uint32_t i = 0; i < second->n; i++)
		if (!leaves(f, second->at[i], y, i >= f->in))
			return false;
	return true;
}

/* x in the first loop is y in the second. */
static bool same(const fall *f, const tsr_expr *x, const tsr_expr *y)
{
	tsr_expr *part[TSR_MOST_PARTS], *other[TSR_MOST_PARTS];
	if (x->kind != y->kind || x->prec != y->prec)
		return false;
	if (x->kind == TSR_EXPR_CONST)
		return x->value.prec == y->value.prec && x->value.i == y->value.i;
	if (x->kind == TSR_EXPR_LOAD)
		return same_load(f, x, y);
	if (x->kind == TSR_EXPR_LOCAL)
		return x->local == y->local && let_of(f, f->first, x->local) < f->first && !sets(f->body, x->local);
	if (x->kind != TSR_EXPR_CONVERT && (x->kind != TSR_EXPR_OP || x->op.op != y->op.op || x->op.operand_prec != y->op.operand_prec))
		return false;
	uint32_t n = tsr_expr_parts(x, part);
	tsr_expr_parts(y, other);
	for (uint32_t i = 0; i < n; i++)
		if (!same(f, part[i], other[i]))
			return false;
	return true;
}

static bool is_product(const tsr_expr *x) { return x->kind == TSR_EXPR_OP && x->op.op == TSR_OP_MUL && x->op.operand_prec == TSR_PREC_F32; }

/* A product of `of` and a positive constant: the constant; NULL for anything else. */
static const tsr_expr *factor_of(const tsr_expr *x, const tsr_expr **of)
{
	for (uint32_t i = 0; is_product(x) && i < 2; i++)
		if (x->op.args[i]->kind == TSR_EXPR_CONST && tsr_scalar_convert(x->op.args[i]->value, TSR_PREC_F64).d > 0) {
			*of = x->op.args[1 - i];
			return x->op.args[i];
		}
	return NULL;
}

/* Nothing in the list writes what x loads. */
static bool lasts(const fall *f, const tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	for (uint32_t i = 0; x->kind == TSR_EXPR_LOAD && i < f->body->n; i++)
		if (!leaves(f, f->body->at[i], x, false))
			return false;
	for (uint32_t i = 0, n = tsr_expr_parts(x, part); i < n; i++)
		if (!lasts(f, part[i]))
			return false;
	return true;
}

bool tsr_expr_falls(const tsr_loops *l, const tsr_stmts *body, const tsr_expr *x, tsr_falling *out)
{
	fall f = {.l = l};
	if (x->kind != TSR_EXPR_OP || x->op.op != TSR_OP_SUB || x->op.args[1]->kind != TSR_EXPR_LOCAL || !find_second(&f, body, x))
		return false;
	const tsr_expr *top = x->op.args[1], *of = x->op.args[0];
	uint32_t behind = let_of(&f, f.second, top->local);
	if (behind == f.second || sets(f.body, top->local))
		return false;
	const tsr_expr *value = f.body->at[behind]->let.value, *factor = factor_of(value, &value);
	if (factor) {
		const tsr_expr *other = factor_of(of, &of);
		if (!other || !same(&f, factor, other))
			return false;
	}
	if (value->kind != TSR_EXPR_LOCAL)
		return false;
	uint32_t from = let_of(&f, behind, value->local);
	const tsr_expr *each = from < behind ? greatest(&f, from, behind, value->local) : NULL;
	if (!each || !tsr_extent_equal(f.body->at[f.first]->loop.extent, f.body->at[f.second]->loop.extent) || !same(&f, each, of))
		return false;
	*out = (tsr_falling){f.body->at[f.first], f.body->at[f.second], lasts(&f, of)};
	return true;
}

static bool reads_before(const tsr_stmts *body, uint32_t n, const tsr_stmt *store, bool *there)
{
	for (uint32_t i = 0; i < n && !*there; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_stmts *in = tsr_stmt_inside(s);
		const tsr_expr *value = s->kind == TSR_STMT_LETSYM ? s->letsym.value : value_of(s);
		if ((value && tsr_expr_reads(value, store->store.buffer)) || (in && reads_before(in, in->n, store, there)))
			return true;
		*there |= s == store;
	}
	return false;
}

static bool introduces(const tsr_stmts *body, uint32_t n, tsr_local_id id)
{
	bool found = false;
	for (uint32_t i = 0; i < n && !found; i++) {
		const tsr_stmts *in = tsr_stmt_inside(body->at[i]);
		found = in ? introduces(in, in->n, id) : body->at[i]->kind == TSR_STMT_LET && body->at[i]->let.local == id;
	}
	return found;
}

static bool repeat(const tsr_stmts *all, uint32_t n, const tsr_stmts *body, uint32_t here)
{
	for (uint32_t i = 0; i < here; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_stmts *in = tsr_stmt_inside(s);
		bool there = false, once = s->kind == TSR_STMT_STORE ? reads_before(all, n, s, &there) : s->kind == TSR_STMT_SET ? !introduces(all, n, s->let.local)
			: s->kind != TSR_STMT_LET && s->kind != TSR_STMT_LETSYM;
		if (in ? !repeat(all, n, in, in->n) : once)
			return false;
	}
	return true;
}

/* Nothing is added to what was there, nothing that is stored was read before, and locals that are set begin here. */
bool tsr_stmts_repeat(const tsr_stmts *body, uint32_t n) { return repeat(body, n, body, n); }
