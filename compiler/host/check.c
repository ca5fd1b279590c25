/* What must hold of a lowered program level: types fit at every use, ids are in range.  A fault of ours when not. */
#include "host.h"
#include <string.h>

static void expr(const tsr_host *h, const tsr_hexpr *e);

static void typed(const tsr_host *h, const tsr_hexpr *e, tsr_host_type t)
{
	TSR_ASSERT(e != NULL);
	expr(h, e);
	TSR_ASSERT(e->type == t);
}

static void call(const tsr_host *h, const tsr_hexpr *e)
{
	const tsr_hfun_info *f = tsr_hfun_get(e->call.function);
	TSR_ASSERT(e->call.args.n == strlen(f->params));
	for (uint32_t i = 0; i < e->call.args.n; i++)
		typed(h, e->call.args.at[i], tsr_host_type_of_letter(f->params[i]));
	TSR_ASSERT(e->type == tsr_host_type_of_letter(f->result[0]));
}

static void expr(const tsr_host *h, const tsr_hexpr *e)
{
	switch (e->kind) {
	case TSR_H_INT: TSR_ASSERT(e->type == TSR_HOST_INT); break;
	case TSR_H_FLOAT: TSR_ASSERT(e->type == TSR_HOST_FLOAT); break;
	case TSR_H_BOOL: TSR_ASSERT(e->type == TSR_HOST_BOOL); break;
	case TSR_H_STRING: TSR_ASSERT(e->type == TSR_HOST_STRING); break;
	case TSR_H_VAR: TSR_ASSERT(e->var < h->vars.n && e->type == h->vars.at[e->var]); break;
	case TSR_H_UNARY: typed(h, e->op.a, e->type); break;
	case TSR_H_BINARY:
		expr(h, e->op.a);
		typed(h, e->op.b, e->op.a->type);
		if (e->op.op < TSR_HOP_LT)
			TSR_ASSERT(e->type == e->op.a->type);
		else if (e->op.op <= TSR_HOP_OR)
			TSR_ASSERT(e->type == TSR_HOST_BOOL);
		break;
	case TSR_H_TO_FLOAT: typed(h, e->converted, TSR_HOST_INT); break;
	case TSR_H_TO_INT: typed(h, e->converted, TSR_HOST_FLOAT); break;
	case TSR_H_ELEMENT:
		TSR_ASSERT(e->element.tensor < h->graph->tensors.n && h->observed[2 * e->element.tensor + e->element.part]);
		for (uint32_t i = 0; i < e->element.indices.n; i++)
			typed(h, e->element.indices.at[i], TSR_HOST_INT);
		break;
	case TSR_H_SIZE: case TSR_H_NUMBER: break;
	case TSR_H_CALL: call(h, e); break;
	case TSR_H_COND:
		typed(h, e->cond.cond, TSR_HOST_BOOL);
		typed(h, e->cond.then, e->type);
		typed(h, e->cond.other, e->type);
		break;
	}
}

static void stmt(const tsr_host *h, const tsr_hstmt *s)
{
	switch (s->kind) {
	case TSR_H_SET: typed(h, s->set.value, h->vars.at[s->set.var]); break;
	case TSR_H_IF:
		typed(h, s->iff.cond, TSR_HOST_BOOL);
		stmt(h, s->iff.then);
		if (s->iff.other)
			stmt(h, s->iff.other);
		break;
	case TSR_H_WHILE:
		typed(h, s->whil.cond, TSR_HOST_BOOL);
		stmt(h, s->whil.body);
		break;
	case TSR_H_FOR:
		typed(h, s->loop.from, TSR_HOST_INT);
		typed(h, s->loop.to, TSR_HOST_INT);
		TSR_ASSERT(h->vars.at[s->loop.var] == TSR_HOST_INT);
		stmt(h, s->loop.body);
		break;
	case TSR_H_RUN:
		TSR_ASSERT(s->run.code < h->graph->codes.n && s->run.numbers.n == s->run.values.n);
		for (uint32_t i = 0; i < s->run.numbers.n; i++)
			typed(h, s->run.values.at[i], h->graph->numbers.at[s->run.numbers.at[i]]->integer ? TSR_HOST_INT : TSR_HOST_FLOAT);
		break;
	case TSR_H_STORE:
		expr(h, s->store.target);
		TSR_ASSERT(s->store.target->kind == TSR_H_ELEMENT);
		typed(h, s->store.value, s->store.target->type);
		break;
	case TSR_H_DO: expr(h, s->expr); break;
	case TSR_H_PRINT_TENSOR: TSR_ASSERT(h->observed[2 * s->print.tensor + s->print.part]); break;
	case TSR_H_SEQ:
		for (uint32_t i = 0; i < s->seq.n; i++)
			stmt(h, s->seq.at[i]);
		break;
	}
}

void tsr_host_check(const tsr_host *h)
{
	if (h->body)
		stmt(h, h->body);
	for (uint32_t i = 0; i < h->exports.n; i++)
		if (h->exports.at[i].body)
			stmt(h, h->exports.at[i].body);
}
