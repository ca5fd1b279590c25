/* What whole numbers of the configuration are for: those that only sizes depend on may be others in another application, which then
 * makes the same.  A trace is a number from 1; what it was computed from has smaller ones.  It is recorded where a number decides: compared,
 * matched, part of a text or a spec, an argument of a builtin.  What is not found here is found out later, at some cost: an application
 * does not follow what was made for other numbers (elab/share.c). */
#include "eval.h"
#include "../base/map.h"

uint32_t tsr_trace(tsr_eval *ev, uint32_t a, uint32_t b)
{
	tsr_push(ev->arena, &ev->traces, ((tsr_traced){a, b}));
	return ev->traces.n;
}

void tsr_trace_decides(tsr_eval *ev, const tsr_value *v)
{
	if (tsr_value_is_number(*v) && v->trace)
		tsr_push(ev->arena, &ev->decisions, v->trace);
}

void tsr_trace_decide(tsr_eval *ev, const tsr_value *a, const tsr_value *b)
{
	tsr_trace_decides(ev, a);
	tsr_trace_decides(ev, b);
}

uint32_t tsr_trace_decisions(const tsr_eval *ev) { return ev->decisions.n; }

bool tsr_trace_decided(const tsr_eval *ev, uint32_t from, uint32_t to, uint32_t trace)
{
	tsr_map seen;
	TSR_VEC(uint32_t) left = {0};
	tsr_map_init(&seen, ev->arena);
	for (uint32_t i = from; i < to; i++)
		tsr_push(ev->arena, &left, ev->decisions.at[i]);
	while (left.n) {
		uint32_t at = left.at[--left.n];
		if (at == trace)
			return true;
		if (at < trace || tsr_map_find(&seen, at))
			continue;
		tsr_map_put(&seen, at);
		tsr_push(ev->arena, &left, ev->traces.at[at - 1].a);
		tsr_push(ev->arena, &left, ev->traces.at[at - 1].b);
	}
	return false;
}
