/* Runtime numbers: one that the program's code reads is given by some `run` of it, or by a caller of an exported function, or it
 * would be 0 in silence. */
#include "host.h"

static void find_given(const tsr_hstmt *s, bool *given)
{
	if (!s)
		return;
	switch (s->kind) {
	case TSR_H_IF:
		find_given(s->iff.then, given);
		find_given(s->iff.other, given);
		break;
	case TSR_H_WHILE: find_given(s->whil.body, given); break;
	case TSR_H_FOR: find_given(s->loop.body, given); break;
	case TSR_H_RUN:
		for (uint32_t i = 0; i < s->run.numbers.n; i++)
			given[s->run.numbers.at[i]] = true;
		break;
	case TSR_H_SEQ:
		for (uint32_t i = 0; i < s->seq.n; i++)
			find_given(s->seq.at[i], given);
		break;
	case TSR_H_SET: case TSR_H_STORE: case TSR_H_DO: case TSR_H_PRINT_TENSOR: break;
	}
}

typedef struct reader { const tsr_graph *g; const tsr_unit *unit; bool *known; } reader;      /* known: given, or reported */

static void need(const reader *r, tsr_number_id id)
{
	const tsr_number *n = r->g->numbers.at[id];
	if (r->known[id])
		return;
	r->known[id] = true;
	tsr_diag *d = tsr_report(r->g->tc, TSR_E_NUMBER_MISSING, n->span, "`%s` reads the runtime number `%s`, and no `run` gives it", r->unit->name,
		n->name);
	tsr_hint(r->g->tc, d, "give it where the code runs: `run %s ~%s:..`", r->unit->name, n->name);
}

static void need_operand(void *user, const tsr_operand *o)
{
	const reader *r = user;
	const tsr_tensor *t = tsr_tensor_get(r->g, o->tensor);
	if (t->kind == TSR_TENSOR_NUMBER)
		need(r, t->number.number);
}

void tsr_host_numbers(const tsr_host *h, const tsr_code *code)
{
	if (!h || (!h->body && !h->exports.n) || !code)
		return;
	const tsr_graph *g = h->graph;
	reader r = {.g = g, .known = TSR_NEW_N(g->tc->arena, bool, g->numbers.n + 1)};
	find_given(h->body, r.known);
	for (uint32_t i = 0; i < h->exports.n; i++) {
		const tsr_export *x = h->exports.at[i].x;
		find_given(h->exports.at[i].body, r.known);
		for (uint32_t k = 0; k < x->args.n; k++)
			if (x->args.at[k].number != TSR_NONE)
				r.known[x->args.at[k].number] = true;
	}
	for (uint32_t i = 0; i < code->units.n; i++) {
		r.unit = code->units.at[i];
		for (uint32_t k = 0; k < r.unit->steps.n; k++) {
			const tsr_step *s = &r.unit->steps.at[k];
			if (s->kind != TSR_STEP_ASSIGN)
				continue;
			const tsr_record *record = g->records.at[s->assign.a.record];
			for (uint32_t j = 0; j < record->nnumbers; j++)
				need(&r, record->numbers[j].number);
			tsr_rhs_operands(s->assign.a.rhs, need_operand, &r);
		}
	}
}
