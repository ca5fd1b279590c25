/* Deferred word equations: x <p> = <q> y with flanks x and y on opposite sides, and p = q for a variable against its
 * own rotation. They wait for one of the variables; closing decides what still waits. */
#include "store.h"

bool tsr_word_deferred(tsr_store *s, const tsr_cstr *c)
{
	bool poison = false;
	return c->kind == TSR_C_ROW_EQUAL && !c->done && tsr_row_open(tsr_row_find(s, c->row.rest[0], &poison))
		&& tsr_row_open(tsr_row_find(s, c->row.rest[1], &poison));
}

/* Could x's last j axes be y's first j? */
static bool overlap(tsr_store *s, const tsr_dim *x, uint32_t nx, const tsr_dim *y, uint32_t j)
{
	for (uint32_t i = 0; i < j; i++) {
		tsr_dim a = tsr_dim_find(s, x[nx - j + i]), b = tsr_dim_find(s, y[i]);
		if (!tsr_dim_is_var(a) && !tsr_dim_is_var(b) && !tsr_dim_same(s, a, b))
			return false;
	}
	return true;
}

/* POLICY: least rank. x <p> = <q> y is solved by q = x without its last j axes, p = y without its first j, for the
 * greatest j at which the axes that coincide may be equal. A rotation is solved by the empty row. */
void tsr_word_resolve(tsr_store *s, tsr_cstr *c)
{
	bool poison = false;
	tsr_row a = tsr_row_find(s, c->row.rest[0], &poison), b = tsr_row_find(s, c->row.rest[1], &poison);
	if (a.var == b.var) {
		tsr_bind_row(s, a.var, tsr_row_empty(), c);
		return;
	}
	if (a.nlead == 0) {
		tsr_row swap = a;
		a = b;
		b = swap;
	}
	uint32_t nx = a.nlead, ny = b.ntrail, j = nx < ny ? nx : ny;
	while (j > 0 && !overlap(s, a.lead, nx, b.trail, j))
		j--;
	tsr_bind_row(s, b.var, tsr_row_closed(s, nx - j, a.lead), c);
	tsr_bind_row(s, a.var, tsr_row_closed(s, ny - j, b.trail + j), c);
}
