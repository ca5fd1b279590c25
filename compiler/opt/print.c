/* --dump=schedule: what the passes decided, and for each kernel its work: operations, bytes that must move at least once, and how
 * a contraction is computed. */
#include "pass.h"
#include "../base/text.h"

static int64_t elements(const tsr_buffer *b)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < b->rank; i++) {
		if (!tsr_size_is_const(b->dims[i]))
			return -1;
		n *= b->dims[i].k;
	}
	return n;
}

static int64_t expr_operations(const tsr_expr *e)
{
	int64_t n = 0;
	switch (e->kind) {
	case TSR_EXPR_OP:
		n = 1;
		for (uint32_t i = 0; i < tsr_op_get(e->op.op)->arity; i++)
			n += expr_operations(e->op.args[i]);
		break;
	case TSR_EXPR_CONVERT: n = expr_operations(e->converted); break;
	case TSR_EXPR_LOOKUP: n = expr_operations(e->lookup.at) + expr_operations(e->lookup.value); break;
	case TSR_EXPR_SELECT: n = expr_operations(e->select.inside) + expr_operations(e->select.outside); break;
	case TSR_EXPR_CONST: case TSR_EXPR_LOAD: case TSR_EXPR_LOCAL: case TSR_EXPR_INDEX: case TSR_EXPR_SIZE: case TSR_EXPR_NUMBER:
	case TSR_EXPR_KINDS: break;
	}
	return n;
}

/* What finite.c has put beside a contraction, for operands that are not finite. */
static bool instead(const tsr_stmt *s)
{
	const tsr_lin *x = &s->cond.ranges[0].index;
	return s->cond.n == 1 && x->n == 1 && x->terms[0].kind == TSR_LSYM_DATA && x->offset == -1 && tsr_size_is_const(s->cond.ranges[0].size)
		&& s->cond.ranges[0].size.k == 1;
}

static int64_t stmt_operations(const tsr_stmt *s, bool *known)
{
	switch (s->kind) {
	case TSR_STMT_FOR: {
		int64_t inner = tsr_stmts_operations(&s->loop.body, known);
		*known &= tsr_size_is_const(s->loop.extent);
		return inner * s->loop.extent.k;
	}
	case TSR_STMT_IF: return instead(s) ? 0 : tsr_stmts_operations(&s->cond.body, known);
	case TSR_STMT_KERNEL: return tsr_stmts_operations(&s->kernel.body, known);
	case TSR_STMT_STORE: return expr_operations(s->store.value);
	case TSR_STMT_UPDATE: return 1 + expr_operations(s->store.value);
	case TSR_STMT_LET: case TSR_STMT_SET: return expr_operations(s->let.value);
	case TSR_STMT_LETSYM: return expr_operations(s->letsym.value);
	case TSR_STMT_RANDOM: case TSR_STMT_CHECK: case TSR_STMT_KINDS: break;
	}
	return 0;
}

int64_t tsr_stmts_operations(const tsr_stmts *body, bool *known)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < body->n; i++)
		n += stmt_operations(body->at[i], known);
	return n;
}

static void contractions(const tsr_loops *l, const tsr_target *target, const tsr_stmts *body, FILE *out)
{
	static const char *const classes[] = { "batch", "M", "N", "K" };
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		const tsr_contraction *k = s->kind == TSR_STMT_FOR ? s->loop.contraction : NULL;
		if (!k) {
			if (s->kind == TSR_STMT_FOR)
				contractions(l, target, &s->loop.body, out);
			else if (s->kind == TSR_STMT_IF)
				contractions(l, target, &s->cond.body, out);
			continue;
		}
		fprintf(out, "    contraction:");
		for (int cls = 0; cls < TSR_CLASSES; cls++)
			for (uint32_t j = 0; j < k->nloops; j++) {
				if ((int)k->loops[j].cls != cls)
					continue;
				if (tsr_size_is_const(k->loops[j].extent))
					fprintf(out, " %s %lld", classes[cls], (long long)k->loops[j].extent.k);
				else
					fprintf(out, " %s (run-time)", classes[cls]);
			}
		const tsr_schedule *t = &k->schedule;
		if (t->form)
			fprintf(out, "; %s", t->form);
		if (t->mr)
			fprintf(out, "; tile %u x %u, blocks m %lld n %lld k %lld, %s%s%s\n", t->mr, t->nr, (long long)t->mc, (long long)t->nc,
				(long long)t->kc, t->together ? tsr_format(l->tc->arena, "all of the batch by %lld rows, ", (long long)t->together) : "", t->join ? "join rows of C, " : t->knit ? "knit rows of C, " : "", t->reason);
		else
			fprintf(out, "; %s\n", t->reason ? t->reason : "not scheduled");
		tsr_contraction as, few[TSR_FEW];
		for (uint32_t f = 0, n = t->mr ? tsr_contract_few(l, k, target, few) : 0; f < n; f++)
			fprintf(out, "      of at most %lld rows: tile %u x %u, blocks n %lld k %lld, %s\n", (long long)few[f].most_rows, few[f].schedule.mr, few[f].schedule.nr, (long long)few[f].schedule.nc,
				(long long)few[f].schedule.kc, few[f].schedule.reason);
		if (t->mr && tsr_contract_matrix(l, k, target, &as))
			fprintf(out, "      where the system grants them: %s, tile %u x %u, blocks m %lld n %lld k %lld\n", as.schedule.reason, as.schedule.mr, as.schedule.nr,
				(long long)as.schedule.mc, (long long)as.schedule.nc, (long long)as.schedule.kc);
	}
}

static void kernel(const tsr_loops *l, const tsr_target *target, const tsr_stmt *s, FILE *out)
{
	bool known = true, sized = true;
	int64_t ops = tsr_stmts_operations(&s->kernel.body, &known), bytes = 0;
	tsr_arena *a = tsr_arena_new();
	tsr_uses uses = { 0 };
	tsr_stmt_uses(a, s, &uses);
	for (uint32_t i = 0; i < uses.v.n; i++) {
		tsr_use use = uses.v.at[i];
		int64_t n = elements(l->buffers.at[use.buffer]) * tsr_prec_bytes(l->buffers.at[use.buffer]->prec);
		sized &= n >= 0;
		bytes += ((use.loads || use.updates) + tsr_use_writes(use)) * n;
	}
	fprintf(out, "  %s: ", s->kernel.name);
	fprintf(out, known ? "%lld operations, " : "(run-time) operations, ", (long long)ops);
	fprintf(out, sized ? "%lld bytes\n" : "(run-time) bytes\n", (long long)bytes);
	contractions(l, target, &s->kernel.body, out);
	tsr_arena_free(a);
}

void tsr_opt_print_schedule(const tsr_loops *l, const tsr_target *target, FILE *out)
{
	fprintf(out, "target %s: vectors of %u bytes, %u registers, caches %lld %lld %lld\n", target->name, target->vector_bytes,
		target->vector_registers, (long long)target->l1, (long long)target->l2, (long long)target->l3);
	for (uint32_t i = 0; i < l->notes.n; i++)
		fprintf(out, "%s\n", l->notes.at[i]);
	for (uint32_t u = 0; u < l->units.n; u++) {
		fprintf(out, "unit %s\n", l->units.at[u]->name);
		for (uint32_t i = 0; i < l->units.at[u]->body.n; i++)
			if (l->units.at[u]->body.at[i]->kind == TSR_STMT_KERNEL)
				kernel(l, target, l->units.at[u]->body.at[i], out);
	}
}
