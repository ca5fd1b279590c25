/* What stands between a product and the first kernel that touches its result, or another product, and has nothing to do with it, as a mask that all heads share: strips of all of them lack the loops that
 * it lacks, heads and with them what threads could divide.  So it goes before the product where the group shares more loops then (12 heads of 1024 positions with a causal mask: 1.08 to
 * 1.12 times as fast by one thread, 2.1 by two). */
#include "strip.h"

enum { MOST = 4 };               /* kernels that change places with the product */

static void move(tsr_body_uses *u, uint32_t from, uint32_t to)
{
	tsr_stmt *s = u->body->at[from];
	tsr_uses uses = u->at[from];
	for (uint32_t i = from; i != to;) {
		uint32_t next = to < from ? i - 1 : i + 1;
		u->body->at[i] = u->body->at[next];
		u->at[i] = u->at[next];
		i = next;
	}
	u->body->at[to] = s;
	u->at[to] = uses;
}

uint32_t tsr_strip_move(tsr_body_uses *u, uint32_t product)
{
	tsr_buffer_id result = u->body->at[product]->kernel.body.at[0]->loop.contraction->c;
	uint32_t n = 0;
	for (; n < MOST && product + n + 1 < u->body->n; n++) {
		const tsr_stmt *s = u->body->at[product + n + 1];
		tsr_use use = tsr_uses_of(&u->at[product + n + 1], result);
		bool plain = s->kind == TSR_STMT_KERNEL && s->kernel.body.n == 1 && s->kernel.body.at[0]->kind == TSR_STMT_FOR && !s->kernel.body.at[0]->loop.contraction;
		if (use.loads || tsr_use_writes(use) || !plain || tsr_stmts_check(&s->kernel.body) || tsr_uses_meet(&u->at[product], &u->at[product + n + 1]))
			break;
	}
	if (n)
		move(u, product, product + n);
	return n;
}

void tsr_strip_move_back(tsr_body_uses *u, uint32_t product, uint32_t n) { move(u, product + n, product); }
