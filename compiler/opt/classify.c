/* Recognises contractions:  C[c] acc= combine(A[a], B[b])  over a perfect nest, and sorts its loops.
 *
 * Two forms are seen, both with any loops around the innermost statements and any affine indices:
 *     for .. { let $s = 0  for .. reduce { set $s = $s + a * b }  store C = $s }       (or update C += $s, or let $s = C)
 *     for .. { update C += a * b }
 * A loop goes to the class of the operands that mention it: all three, batch; C and A, M; C and B, N; A or B only, K.
 * Without K it is no contraction.  A and B are named so that the loop which walks C with stride one is in N.  Whatever else stands in the nest (guards,
 * gathered indices, order that matters) leaves it as it is.
 *
 * Requires nothing; adds a note to the outermost FOR and changes no statement. */
#include "pass.h"
#include <string.h>

enum { MOST_LOOPS = 32 };

typedef struct nest {
	const tsr_loops *l;
	uint32_t n;
	tsr_contract_loop loops[MOST_LOOPS];
	const tsr_expr *product;
	tsr_buffer_id c;
	tsr_lin *c_index;
	tsr_acc acc;
	bool clear;
} nest;

/* Descends through FORs that hold nothing but the next; NULL when a loop's order matters. */
static const tsr_stmts *descend(nest *n, const tsr_stmts *body)
{
	while (body->n == 1 && body->at[0]->kind == TSR_STMT_FOR) {
		const tsr_stmt *s = body->at[0];
		if (s->loop.how == TSR_FOR_SERIAL || n->n == MOST_LOOPS)
			return NULL;
		n->loops[n->n++] = (tsr_contract_loop){ s->loop.sym, s->loop.extent, TSR_CLASS_K };
		body = &s->loop.body;
	}
	return body;
}

static bool is_local(const tsr_expr *e, tsr_local_id local) { return e->kind == TSR_EXPR_LOCAL && e->local == local; }

static bool is_element(const tsr_loops *l, const tsr_expr *e, const tsr_stmt *store)
{
	if (e->kind != TSR_EXPR_LOAD || e->load.buffer != store->store.buffer)
		return false;
	for (uint32_t i = 0; i < l->buffers.at[e->load.buffer]->rank; i++)
		if (!tsr_lin_equal(e->load.index[i], store->store.index[i]))
			return false;
	return true;
}

/* let, reduce loops, store */
static bool local_form(nest *n, const tsr_stmts *body)
{
	const tsr_stmt *let = body->at[0], *loop = body->at[1], *out = body->at[2];
	if (let->kind != TSR_STMT_LET || loop->kind != TSR_STMT_FOR || (out->kind != TSR_STMT_STORE && out->kind != TSR_STMT_UPDATE))
		return false;
	const tsr_expr *start = let->let.value;
	bool from_zero = start->kind == TSR_EXPR_CONST && tsr_prec_is_float(start->prec) && start->value.d == 0;
	bool from_element = out->kind == TSR_STMT_STORE && is_element(n->l, start, out);
	if ((!from_zero && !from_element) || !is_local(out->store.value, let->let.local))
		return false;
	tsr_stmts one = { (tsr_stmt **)&body->at[1], 1, 1 };
	const tsr_stmts *inner = descend(n, &one);
	if (!inner || inner->n != 1 || inner->at[0]->kind != TSR_STMT_SET || inner->at[0]->let.local != let->let.local)
		return false;
	const tsr_expr *sum = inner->at[0]->let.value;
	if (sum->kind != TSR_EXPR_OP || sum->op.op != TSR_OP_ADD)
		return false;
	int mine = is_local(sum->op.args[0], let->let.local) ? 0 : 1;
	if (!is_local(sum->op.args[mine], let->let.local))
		return false;
	n->product = sum->op.args[1 - mine];
	n->clear = out->kind == TSR_STMT_STORE && from_zero;
	n->acc = out->kind == TSR_STMT_STORE ? TSR_ACC_ADD : out->store.acc;
	n->c = out->store.buffer;
	n->c_index = out->store.index;
	return n->acc == TSR_ACC_ADD || n->acc == TSR_ACC_SUB;
}

static bool update_form(nest *n, const tsr_stmts *body)
{
	const tsr_stmt *s = body->at[0];
	if (s->kind != TSR_STMT_UPDATE || (s->store.acc != TSR_ACC_ADD && s->store.acc != TSR_ACC_SUB))
		return false;
	n->product = s->store.value;
	n->acc = s->store.acc;
	n->c = s->store.buffer;
	n->c_index = s->store.index;
	return true;
}

static bool mentions(const tsr_buffer *b, const tsr_lin *index, uint32_t sym)
{
	for (uint32_t i = 0; i < b->rank; i++)
		for (uint32_t t = 0; t < index[i].n; t++)
			if (index[i].terms[t].kind == TSR_LSYM_LOOP && index[i].terms[t].id == sym && index[i].terms[t].coef)
				return true;
	return false;
}

static bool has_data_term(const tsr_buffer *b, const tsr_lin *index)
{
	for (uint32_t i = 0; i < b->rank; i++)
		for (uint32_t t = 0; t < index[i].n; t++)
			if (index[i].terms[t].kind == TSR_LSYM_DATA)
				return true;
	return false;
}

static void sort_loops(const tsr_loops *l, tsr_contraction *k)
{
	for (uint32_t i = 0; i < k->nloops; i++) {
		uint32_t sym = k->loops[i].sym;
		bool c = mentions(l->buffers.at[k->c], k->c_index, sym);
		bool a = mentions(l->buffers.at[k->a], k->a_index, sym);
		bool b = mentions(l->buffers.at[k->b], k->b_index, sym);
		k->loops[i].cls = !c ? TSR_CLASS_K : a == b ? TSR_CLASS_BATCH : a ? TSR_CLASS_M : TSR_CLASS_N;
	}
}

static void exchange(const tsr_loops *l, tsr_contraction *k)
{
	tsr_buffer_id buffer = k->a;
	tsr_lin *index = k->a_index;
	tsr_expr *value = k->a_value;
	k->a = k->b, k->a_index = k->b_index, k->a_value = k->b_value;
	k->b = buffer, k->b_index = index, k->b_value = value;
	sort_loops(l, k);
}

/* Stride one in C belongs to N; where C has it in neither, B should have it along N. */
static void choose_sides(const tsr_loops *l, tsr_contraction *k)
{
	tsr_contract_view v;
	tsr_contract_view_make(l, k, &v);
	const tsr_walks *m = &v.cls[TSR_CLASS_M], *n = &v.cls[TSR_CLASS_N];
	bool m_unit = m->n && m->at[m->n - 1].known && m->at[m->n - 1].stride[TSR_SIDE_C] == 1;
	bool n_unit = n->n && n->at[n->n - 1].known && n->at[n->n - 1].stride[TSR_SIDE_C] == 1;
	bool none = n->n == 0 && m->n > 0;
	if (!n_unit && (m_unit || none))
		exchange(l, k);
}

static tsr_contraction *recognise(tsr_pass *p, const tsr_stmt *s)
{
	nest n = { .l = p->l };
	tsr_stmts one = { (tsr_stmt **)&s, 1, 1 };
	const tsr_stmts *body = descend(&n, &one);
	if (!body || !(body->n == 3 ? local_form(&n, body) : body->n == 1 && update_form(&n, body)))
		return NULL;
	const tsr_expr *e = n.product;
	tsr_prec prec = p->l->buffers.at[n.c]->prec;
	if ((prec != TSR_PREC_F32 && prec != TSR_PREC_F64) || e->kind != TSR_EXPR_OP || e->op.op != TSR_OP_MUL || e->prec != prec)
		return NULL;
	tsr_expr *a = e->op.args[0], *b = e->op.args[1];
	if (a->kind != TSR_EXPR_LOAD || b->kind != TSR_EXPR_LOAD || a->load.buffer == n.c || b->load.buffer == n.c)
		return NULL;
	tsr_contraction *k = TSR_NEW(p->arena, tsr_contraction);
	k->nloops = n.n;
	k->loops = TSR_NEW_N(p->arena, tsr_contract_loop, n.n + 1);
	memcpy(k->loops, n.loops, n.n * sizeof *n.loops);
	k->c = n.c, k->c_index = n.c_index;
	k->a = a->load.buffer, k->a_index = a->load.index, k->a_value = a;
	k->b = b->load.buffer, k->b_index = b->load.index, k->b_value = b;
	k->acc = n.acc;
	k->combine = TSR_OP_MUL;
	k->clear = n.clear;
	if (has_data_term(p->l->buffers.at[k->a], k->a_index) || has_data_term(p->l->buffers.at[k->b], k->b_index)
		|| has_data_term(p->l->buffers.at[k->c], k->c_index))
		return NULL;
	sort_loops(p->l, k);
	bool sums = false;
	for (uint32_t i = 0; i < k->nloops; i++)
		sums |= k->loops[i].cls == TSR_CLASS_K;
	if (!sums)
		return NULL;
	choose_sides(p->l, k);
	return k;
}

static void visit(tsr_pass *p, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_KERNEL)
			visit(p, &s->kernel.body);
		else if (s->kind == TSR_STMT_IF)
			visit(p, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR) {
			tsr_contraction *k = recognise(p, s);
			if (k) {
				s->loop.contraction = k;
				p->changes++;
			} else
				visit(p, &s->loop.body);
		}
	}
}

void tsr_pass_classify(tsr_pass *p)
{
	for (uint32_t i = 0; i < p->l->units.n; i++)
		visit(p, &p->l->units.at[i]->body);
}
