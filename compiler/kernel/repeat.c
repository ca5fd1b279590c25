/* Statements that may be done twice: what is left over of rows or columns begins within what comes before it (plane.c, outer_rows.c), which is right only where nothing reads
 * what is stored there. */
#include "nests.h"

static bool reads(const tsr_stmts *body, tsr_buffer_id b)
{
	bool found = false;
	for (uint32_t i = 0; i < body->n && !found; i++) {
		const tsr_stmt *s = body->at[i];
		switch (s->kind) {
		case TSR_STMT_LET: case TSR_STMT_SET: found = tsr_expr_reads(s->let.value, b); break;
		case TSR_STMT_LETSYM: found = tsr_expr_reads(s->letsym.value, b); break;
		case TSR_STMT_STORE: found = tsr_expr_reads(s->store.value, b); break;
		case TSR_STMT_FOR: found = reads(&s->loop.body, b); break;
		case TSR_STMT_IF: found = reads(&s->cond.body, b); break;
		case TSR_STMT_UPDATE: case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KERNEL: case TSR_STMT_KINDS: found = true; break;
		}
	}
	return found;
}

static bool fine(const tsr_stmts *all, const tsr_stmts *body)
{
	bool can = true;
	for (uint32_t i = 0; i < body->n && can; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_STORE)
			can = !reads(all, s->store.buffer);
		else if (s->kind == TSR_STMT_FOR || s->kind == TSR_STMT_IF)
			can = fine(all, s->kind == TSR_STMT_FOR ? &s->loop.body : &s->cond.body);
	}
	return can;
}

bool tsr_emit_may_repeat(const tsr_stmts *body) { return fine(body, body); }
