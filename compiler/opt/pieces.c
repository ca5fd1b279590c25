/* Results that are written piece by piece, as a concatenation is:
 *
 *     store X = 0 everywhere; store X[i, a] = u; update X[i, b + 512] += v        store X[i, a] = u; store X[i, b + 512] = v
 *
 * What is added to a cleared element that nothing has written since is stored, and where the pieces are all of X, nothing is cleared: each row of
 * X would be written twice.  Pieces are boxes that do not meet: of known sizes wherever they lie, of others each behind the one before, along one axis.  What only the units read stays cleared: where its readers are joined with the
 * pieces, exposed.c sees a row as a whole by that.  A part of reduce.c. */
#include "pieces.h"

enum { MOST_AXES = 8, MOST_PIECES = 16 };

typedef struct piece { tsr_size from[MOST_AXES], extent[MOST_AXES]; int64_t volume; } piece;       /* volume: where all sizes are known */
/* Pieces that follow each other: along which axis, and how far they have come. */
typedef struct chain { bool parted; uint32_t axis; tsr_size end; } chain;

/* Where the index walks from and how far; each loop of the nest walks one axis, and is counted. */
static bool side_of(const tsr_nest *n, const tsr_lin *x, uint64_t *walked, piece *box, uint32_t axis)
{
	if (x->n > 1)
		return false;
	box->from[axis] = x->base;
	box->from[axis].k += x->offset;
	box->extent[axis] = tsr_size_const(1);
	if (!x->n)
		return true;
	if (x->terms[0].kind != TSR_LSYM_LOOP || x->terms[0].coef != 1)
		return false;
	for (uint32_t i = 0; i < n->n; i++)
		if (n->loop[i]->loop.sym == x->terms[0].id && !(*walked >> i & 1)) {
			*walked |= UINT64_C(1) << i;
			box->extent[axis] = n->loop[i]->loop.extent;
			return true;
		}
	return false;
}

/* The only statement of a kernel, which writes each element of a box of X once; NULL. */
static tsr_stmt *writes_piece(const tsr_loops *l, const tsr_stmt *kernel, tsr_buffer_id x, piece *box)
{
	tsr_nest n;
	tsr_stmt *s = tsr_nest_single(kernel, &n);
	uint64_t walked = 0;
	if (!s || (s->kind != TSR_STMT_STORE && s->kind != TSR_STMT_UPDATE) || s->store.buffer != x || tsr_expr_reads(s->store.value, x) || n.n > 63)
		return NULL;
	box->volume = 1;
	for (uint32_t axis = 0; axis < l->buffers.at[x]->rank; axis++) {
		if (!side_of(&n, &s->store.index[axis], &walked, box, axis))
			return NULL;
		box->volume *= box->extent[axis].k;
	}
	return walked == (UINT64_C(1) << n.n) - 1 ? s : NULL;
}

static bool meet(const piece *a, const piece *b, uint32_t rank)
{
	for (uint32_t axis = 0; axis < rank; axis++)
		if (a->from[axis].k + a->extent[axis].k <= b->from[axis].k || b->from[axis].k + b->extent[axis].k <= a->from[axis].k)
			return false;
	return true;
}

/* The box, all of X along every axis but one, begins where those before it end. */
static bool follows(tsr_arena *a, const tsr_buffer *x, const piece *box, chain *c)
{
	for (uint32_t axis = 0; axis < x->rank; axis++) {
		bool whole = tsr_extent_equal(box->from[axis], tsr_size_const(0)) && tsr_extent_equal(box->extent[axis], x->dims[axis]);
		if (!whole && c->parted && axis != c->axis)
			return false;
		if (!whole)
			c->parted = true, c->axis = axis;
	}
	if (!c->parted || !tsr_extent_equal(box->from[c->axis], c->end))
		return false;
	c->end = tsr_size_add(a, c->end, box->extent[c->axis]);
	return true;
}

/* What a kernel stores all over a buffer is a number: that statement, or NULL. */
static const tsr_stmt *clears(const tsr_loops *l, const tsr_stmt *kernel)
{
	tsr_nest n;
	const tsr_stmt *s = tsr_nest_single(kernel, &n);
	return s && s->kind == TSR_STMT_STORE && s->store.value->kind == TSR_EXPR_CONST && tsr_nest_covers(l, &n, s, NULL) ? s : NULL;
}

static bool plainly_joined(tsr_acc acc)
{
	return acc == TSR_ACC_ADD || acc == TSR_ACC_MUL || acc == TSR_ACC_MAX || acc == TSR_ACC_MIN;
}

bool tsr_store_pieces(tsr_pass *p, tsr_body_uses *uses, uint32_t at)
{
	const tsr_stmt *clear = clears(p->l, uses->body->at[at]);
	const tsr_buffer *x = clear ? p->l->buffers.at[clear->store.buffer] : NULL;
	piece box[MOST_PIECES];
	uint32_t n = 0;
	chain row = { 0 };
	if (!x || x->rank > MOST_AXES)
		return false;
	int64_t bytes = tsr_buffer_bytes(x), left = bytes / tsr_prec_bytes(x->prec);
	bool sizes = bytes >= 0;
	for (uint32_t i = at + 1; i < uses->body->n && n < MOST_PIECES; i++) {
		tsr_use use = tsr_uses_of(&uses->at[i], x->id);
		if (!use.loads && !tsr_use_writes(use))
			continue;
		tsr_stmt *s = writes_piece(p->l, uses->body->at[i], x->id, &box[n]);
		bool apart = s && (s->kind == TSR_STMT_STORE || (plainly_joined(s->store.acc) && tsr_expr_is_neutral(clear->store.value, s->store.acc)));
		for (uint32_t k = 0; sizes && apart && k < n; k++)
			apart = !meet(&box[k], &box[n], x->rank);
		apart = apart && (sizes || follows(p->arena, x, &box[n], &row));
		if (!apart)
			break;
		left -= box[n++].volume;
		if (s->kind == TSR_STMT_UPDATE) {
			s->kind = TSR_STMT_STORE;
			s->store.acc = TSR_ACC_SET;
			tsr_body_uses_renew(uses, i);
			p->changes++;
		}
	}
	if (!n || !(sizes ? left == 0 : row.parted && tsr_extent_equal(row.end, x->dims[row.axis])) || !tsr_buffer_kept(x))
		return false;
	tsr_body_remove(uses, at);
	p->changes++;
	return true;
}
