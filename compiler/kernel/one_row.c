/* Products of as many rows as the run says by a B that is converted, as weights of 8 bits or in bf16 are: of one row alone B need not be packed for that, since plain loops convert what they read (4096 x 4096
 * three times as fast).  So if it is one, the loops are emitted as they are written. */
#include "nests.h"
#include "../engine/engine.h"
#include "../opt/opt.h"

/* The loops from s on; threads share the innermost one that is not summed over, not rows. */
static tsr_stmt *as_written(tsr_emit *e, const tsr_stmt *s)
{
	tsr_stmt *out = TSR_NEW(e->loops->tc->arena, tsr_stmt);
	*out = *s;
	out->loop.contraction = NULL;
	out->loop.stream = false;    /* which says of a contraction that its tiles store around the caches */
	out->loop.split = s->loop.body.n != 1;
	if (!out->loop.split) {
		out->loop.body = (tsr_stmts){0};
		tsr_push(e->loops->tc->arena, &out->loop.body, as_written(e, s->loop.body.at[0]));
	}
	return out;
}

/* Loops over rows and columns, around a sum and a store, and a schedule for the fewest rows that packs B. */
static bool understand(tsr_emit *e, const tsr_stmt *loop)
{
	const tsr_contraction *c = loop->loop.contraction;
	tsr_contraction few[TSR_FEW];
	const tsr_stmt *in = loop;
	if (!e->options->level || !c->schedule.mr || c->b_value->kind != TSR_EXPR_CONVERT)
		return false;
	if (!(tsr_contract_few(e->loops, c, e->target, few) ? few : c)->schedule.pack_b)
		return false;
	while (in->loop.how == TSR_FOR_PARALLEL && in->loop.body.n == 1 && in->loop.body.at[0]->kind == TSR_STMT_FOR)
		in = in->loop.body.at[0];
	return in != loop && in->loop.how == TSR_FOR_PARALLEL && in->loop.body.n == 3;
}

bool tsr_emit_one_row(tsr_emit *e, const tsr_stmt *loop)
{
	if (!understand(e, loop))
		return false;
	tsr_stmt *plain = as_written(e, loop);
	tsr_emit_fork f = tsr_emit_fork_begin(e, LLVMBuildICmp(e->builder, LLVMIntEQ, tsr_contraction_rows(e, loop->loop.contraction), tsr_emit_i64(e, 1), ""), "one");
	tsr_emit_stmts(e, &(tsr_stmts){&plain, 1, 1});
	tsr_emit_fork_other(e, &f);
	tsr_emit_contraction(e, loop);
	tsr_emit_fork_end(e, &f);
	return true;
}
