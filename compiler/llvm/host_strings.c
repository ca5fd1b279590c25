/* Which loops of the program level may forget the strings that an iteration makes: a program that builds text in a long
 * loop stays small.  An iteration's strings die with it when every string variable that the body sets is mentioned nowhere
 * else and is set anew before the iteration reads it. */
#include "host.h"

/* How often one variable is mentioned, and whether a string is made. */
typedef struct census { tsr_var_id var; uint32_t mentions; bool makes; } census;

static void count_expr(census *c, const tsr_hexpr *x);

static void count_exprs(census *c, const tsr_hexprs *all)
{
	for (uint32_t i = 0; i < all->n; i++)
		count_expr(c, all->at[i]);
}

static void count_expr(census *c, const tsr_hexpr *x)
{
	if (!x)
		return;
	switch (x->kind) {
	case TSR_H_INT: case TSR_H_FLOAT: case TSR_H_BOOL: case TSR_H_STRING: case TSR_H_SIZE: case TSR_H_NUMBER:
		return;
	case TSR_H_VAR:
		c->mentions += x->var == c->var;
		return;
	case TSR_H_UNARY: case TSR_H_BINARY:
		count_expr(c, x->op.a);
		count_expr(c, x->op.b);
		return;
	case TSR_H_TO_FLOAT: case TSR_H_TO_INT:
		count_expr(c, x->converted);
		return;
	case TSR_H_ELEMENT:
		count_exprs(c, &x->element.indices);
		return;
	case TSR_H_CALL:
		c->makes |= tsr_hfun_get(x->call.function)->result[0] == 's';
		count_exprs(c, &x->call.args);
		return;
	case TSR_H_COND:
		count_expr(c, x->cond.cond);
		count_expr(c, x->cond.then);
		count_expr(c, x->cond.other);
		return;
	}
}

static void count_stmt(census *c, const tsr_hstmt *s)
{
	if (!s)
		return;
	switch (s->kind) {
	case TSR_H_SET:
		c->mentions += s->set.var == c->var;
		count_expr(c, s->set.value);
		return;
	case TSR_H_IF:
		count_expr(c, s->iff.cond);
		count_stmt(c, s->iff.then);
		count_stmt(c, s->iff.other);
		return;
	case TSR_H_WHILE:
		count_expr(c, s->whil.cond);
		count_stmt(c, s->whil.body);
		return;
	case TSR_H_FOR:
		count_expr(c, s->loop.from);
		count_expr(c, s->loop.to);
		count_stmt(c, s->loop.body);
		return;
	case TSR_H_RUN:
		count_exprs(c, &s->run.values);
		return;
	case TSR_H_STORE:
		count_expr(c, s->store.target);
		count_expr(c, s->store.value);
		return;
	case TSR_H_DO:
		count_expr(c, s->expr);
		return;
	case TSR_H_PRINT_TENSOR:
		return;
	case TSR_H_SEQ:
		for (uint32_t i = 0; i < s->seq.n; i++)
			count_stmt(c, s->seq.at[i]);
		return;
	}
}

static uint32_t mentions(const tsr_hstmt *s, tsr_var_id var)
{
	census c = {.var = var};
	count_stmt(&c, s);
	return c.mentions;
}

/* The first statement that mentions the variable sets it, from other things. */
static bool set_first(const tsr_hstmt *s, tsr_var_id var)
{
	if (s->kind == TSR_H_SEQ) {
		for (uint32_t i = 0; i < s->seq.n; i++)
			if (mentions(s->seq.at[i], var))
				return set_first(s->seq.at[i], var);
		return false;
	}
	return s->kind == TSR_H_SET && s->set.var == var && mentions(s, var) == 1;
}

bool tsr_emit_strings_die(const tsr_host *h, const tsr_hstmt *body)
{
	census c = {.var = UINT32_MAX};
	count_stmt(&c, body);
	for (uint32_t v = 0; c.makes && v < h->vars.n; v++) {
		uint32_t inside = h->vars.at[v] == TSR_HOST_STRING ? mentions(body, v) : 0;
		if (inside && (mentions(h->body, v) != inside || !set_first(body, v)))
			return false;
	}
	return c.makes;
}
