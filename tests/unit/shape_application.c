/* shape/: applications (Note [Applications]).  Two rows that a body makes longer, at either end, and a result outside over both: where its axis
 * comes to stand does not depend on which of them the body binds first, though it does where there is no application. */
#include "../../compiler/shape/store.h"
#include "check.h"

static const tsr_why why = {.what = "the test"};

typedef struct program { tsr_compiler *tc; tsr_store *s; tsr_row w, v, z; } program;

static void below(tsr_store *s, tsr_row result, tsr_row a, tsr_row b)
{
	tsr_shape c, operands[2];
	for (int k = 0; k < TSR_KINDS; k++)
		c.row[k] = operands[0].row[k] = operands[1].row[k] = tsr_row_closed(s, 0, NULL);
	c.row[TSR_OUTPUT] = result;
	operands[0].row[TSR_OUTPUT] = a;
	operands[1].row[TSR_OUTPUT] = b;
	tsr_rule rule = {.logic = TSR_LOGIC_POINTWISE, .noperands = 2, .why = why};
	tsr_emit_rule(s, &rule, &c, operands);
}

/* `z = w + v`, of rows that are open. */
static program begin(void)
{
	program p = {.tc = tsr_compiler_new()};
	p.s = tsr_store_new(p.tc);
	p.w = tsr_row_fresh(p.s);
	p.v = tsr_row_fresh(p.s);
	p.z = tsr_row_fresh(p.s);
	below(p.s, p.z, p.w, p.v);
	return p;
}

static void grow(tsr_store *s, tsr_row row, bool leading)
{
	tsr_dim axis = tsr_dim_fresh(s, NULL, TSR_NOWHERE);
	tsr_row longer = tsr_row_fresh(s);
	longer.nlead = leading;
	longer.ntrail = !leading;
	*(leading ? &longer.lead : &longer.trail) = &axis;
	tsr_emit_row_equal(s, row, tsr_row_copy(s, longer), why);
}

static tsr_row now(const program *p, tsr_row r) { return tsr_row_find(p->s, r, &(bool){false}); }

static bool leads(const program *p)
{
	tsr_row z = now(p, p->z);
	CHECK_INT(z.nlead + z.ntrail, 1);
	return z.nlead == 1;
}

/* w by a leading axis, v by a trailing one. */
static bool grown(bool w_first, bool applied)
{
	program p = begin();
	if (applied)
		tsr_store_enter(p.s);
	grow(p.s, w_first ? p.w : p.v, w_first);
	if (applied)
		CHECK_INT(tsr_row_flanks(now(&p, p.z)), 0);
	grow(p.s, w_first ? p.v : p.w, !w_first);
	if (applied)
		tsr_store_leave(p.s);
	bool leading = leads(&p);
	tsr_compiler_free(p.tc);
	return leading;
}

/* Of an application within another: the outer one's tensor hears when the inner is complete, what is outside of both when the outer is. */
static void test_nested(void)
{
	program p = begin();
	tsr_store_enter(p.s);
	tsr_row inside = tsr_row_fresh(p.s);
	below(p.s, inside, p.w, p.w);
	tsr_store_enter(p.s);
	grow(p.s, p.w, true);
	CHECK_INT(tsr_row_flanks(now(&p, inside)), 0);
	tsr_store_leave(p.s);
	CHECK_INT(tsr_row_flanks(now(&p, inside)), 1);
	CHECK_INT(tsr_row_flanks(now(&p, p.z)), 0);
	grow(p.s, p.v, false);
	tsr_store_leave(p.s);
	CHECK(leads(&p));
	CHECK(tsr_store_close(p.s));
	tsr_compiler_free(p.tc);
}

int main(void)
{
	CHECK(grown(true, false) != grown(false, false));
	CHECK(grown(true, true) == grown(false, true));
	test_nested();
	return check_end("shape_application");
}
