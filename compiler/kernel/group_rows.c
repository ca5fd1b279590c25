/* Elements of groups that fill no vectors, as channels of normalised groups are, where some of what is read is a group's own number:
 *
 *     for g parallel { for c in 0..4 parallel { Y[.., g, c] = f(X[.., g, c], m[g], s[g, c]) } }
 *
 * Both loops are taken as one, whose lanes are elements of several groups (emit/grouped.c).  Where nothing is a group's own, flat.c does so. */
#include "nests.h"
#include "../opt/opt.h"

enum { VECTORS = 2 };

bool tsr_emit_in_groups(const tsr_emit *e, const tsr_stmt *group, const tsr_stmt *along, const tsr_expr *x)
{
	tsr_expr *part[TSR_MOST_PARTS];
	int64_t near = 0, far = 0, each = along->loop.extent.k;
	if (x->kind == TSR_EXPR_LOAD) {
		const tsr_buffer *b = e->loops->buffers.at[x->load.buffer];
		if (tsr_prec_bytes(b->prec) != 4 || !tsr_index_stride(b, x->load.index, along->loop.sym, &near) || !tsr_index_stride(b, x->load.index, group->loop.sym, &far))
			return false;
		return near == 1 ? far == each || far == 0 : near == 0 && (far == 1 || far == 0);
	}
	if (x->kind != TSR_EXPR_CONST && x->kind != TSR_EXPR_OP)
		return false;
	bool all = true;
	for (uint32_t i = tsr_expr_parts(x, part); i-- > 0 && all;)
		all = tsr_emit_in_groups(e, group, along, part[i]);
	return all;
}

bool tsr_emit_stores_groups(const tsr_emit *e, const tsr_stmt *group, const tsr_stmt *along, const tsr_stmt *s)
{
	const tsr_buffer *b = e->loops->buffers.at[s->store.buffer];
	int64_t near, far;
	return tsr_prec_bytes(b->prec) == 4 && tsr_index_stride(b, s->store.index, along->loop.sym, &near) && tsr_index_stride(b, s->store.index, group->loop.sym, &far)
		&& near == 1 && far == along->loop.extent.k && tsr_emit_in_groups(e, group, along, s->store.value);
}

int64_t tsr_emit_group_columns(const tsr_emit *e, const tsr_stmt *group, const tsr_stmt *along)
{
	int64_t lanes = e->target->vector_bytes / 4, each = tsr_size_is_const(along->loop.extent) ? along->loop.extent.k : 0;
	if (each < 2 || each >= lanes || lanes % each || !tsr_size_is_const(group->loop.extent) || group->loop.extent.k * each % lanes || group->loop.extent.k < 1)
		return 0;
	return group->loop.extent.k * each;
}

static bool understand(const tsr_emit *e, const tsr_stmt *s)
{
	const tsr_stmt *in = s->loop.body.n == 1 && s->loop.body.at[0]->kind == TSR_STMT_FOR ? s->loop.body.at[0] : NULL;
	if (e->wide || !e->options->level || !in || s->loop.how != TSR_FOR_PARALLEL || in->loop.how != TSR_FOR_PARALLEL || s->loop.split || in->loop.split || s->loop.contraction || in->loop.contraction || s->loop.from
		|| in->loop.from || in->loop.until || s->loop.ahead || in->loop.ahead || s->loop.overlap || tsr_emit_streams(e, s) || tsr_emit_streams(e, in) || !in->loop.body.n || !tsr_emit_group_columns(e, s, in))
		return false;
	for (uint32_t i = 0; i < in->loop.body.n; i++)
		if (in->loop.body.at[i]->kind != TSR_STMT_STORE || !tsr_emit_stores_groups(e, s, in, in->loop.body.at[i]))
			return false;
	return true;
}

bool tsr_emit_around_groups(const tsr_emit *e, const tsr_stmt *s)
{
	while (s->loop.how == TSR_FOR_PARALLEL && s->loop.body.n == 1 && s->loop.body.at[0]->kind == TSR_STMT_FOR) {
		s = s->loop.body.at[0];
		if (understand(e, s))
			return true;
	}
	return false;
}

bool tsr_emit_group_rows(tsr_emit *e, const tsr_stmt *s)
{
	if (!understand(e, s))
		return false;
	const tsr_stmt *in = s->loop.body.at[0];
	unsigned lanes = e->target->vector_bytes / 4;
	int64_t columns = tsr_emit_group_columns(e, s, in);
	lanes *= columns % (VECTORS * lanes) ? 1 : VECTORS;
	tsr_emit_loop loop = tsr_emit_loop_begin(e, tsr_emit_i64(e, 0), tsr_emit_i64(e, columns), tsr_emit_i64(e, lanes), TSR_FOR_PARALLEL);
	e->syms[s->loop.sym] = tsr_emit_i64(e, 0), e->syms[in->loop.sym] = loop.index;
	e->wide = &(tsr_wide){.loop = in, .lanes = lanes, .each = (unsigned)in->loop.extent.k, .group = s->loop.sym};
	tsr_emit_stmts(e, &in->loop.body);
	e->wide = NULL;
	tsr_emit_loop_end(e, &loop);
	e->syms[s->loop.sym] = e->syms[in->loop.sym] = NULL;
	return true;
}
