/* Sums in parts: the parts' buffer, and the two kernels that one becomes. */
#include "parts.h"

tsr_buffer *tsr_parts_buffer(tsr_pass *p, const tsr_buffer *c, int64_t parts, tsr_prec prec)
{
	tsr_buffer *t = tsr_pass_buffer(p, c, "parts", prec, c->rank + 1);
	t->dims[0] = tsr_size_const(parts);
	for (uint32_t i = 0; i < c->rank; i++)
		t->dims[i + 1] = c->dims[i];
	return t;
}

tsr_lin *tsr_parts_index(tsr_pass *p, const tsr_buffer *c, tsr_lin part, const tsr_lin *index)
{
	tsr_lin *out = TSR_NEW_N(p->arena, tsr_lin, c->rank + 1);
	out[0] = part;
	for (uint32_t i = 0; i < c->rank; i++)
		out[i + 1] = tsr_lin_place(p->arena, &index[i], 0, NULL, NULL);
	return out;
}

void tsr_parts_kernels(tsr_pass *p, const tsr_stmt *kernel, tsr_stmt *parts, tsr_stmts together, tsr_stmts *out)
{
	tsr_stmt *first = tsr_stmt_new(p->arena, TSR_STMT_KERNEL, kernel->span), *second = tsr_stmt_new(p->arena, TSR_STMT_KERNEL, kernel->span);
	first->kernel.name = tsr_intern(p->l->tc->names, tsr_format(p->arena, "%s.parts", kernel->kernel.name));
	second->kernel.name = kernel->kernel.name;
	tsr_push(p->arena, &first->kernel.body, parts);
	second->kernel.body = together;
	tsr_push(p->arena, out, first);
	tsr_push(p->arena, out, second);
	p->changes++;
}
