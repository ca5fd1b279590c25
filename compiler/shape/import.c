/* Stores of functions that nobody has called: what they take over from the store of the program.  Nothing that is concluded there
 * goes back. */
#include "store.h"

uint32_t tsr_store_config_symbol(tsr_store *s, tsr_name name, tsr_span span)
{
	uint32_t id = tsr_store_symbol(s, name, span, true);
	s->symbols.at[id].config = true;
	return id;
}

tsr_import *tsr_import_new(tsr_store *to, tsr_store *from)
{
	tsr_import *im = TSR_NEW(to->arena, tsr_import);
	*im = (tsr_import){to, from, TSR_NEW(to->arena, tsr_map), TSR_NEW(to->arena, tsr_map), TSR_NEW(to->arena, tsr_map)};
	tsr_map_init(im->dims, to->arena);
	tsr_map_init(im->rows, to->arena);
	tsr_map_init(im->symbols, to->arena);
	return im;
}

/* A size that is known when the program runs stays one that nothing here decides. */
static tsr_size import_size(tsr_import *im, tsr_size x)
{
	x = tsr_size_normal(im->from, x);
	tsr_size out = tsr_size_const(x.k);
	for (uint32_t i = 0; i < x.nterms; i++) {
		tsr_map_entry *e = tsr_map_put(im->symbols, x.terms[i].symbol);
		const tsr_symbol *sym = &im->from->symbols.at[x.terms[i].symbol];
		if (!e->value.i)
			e->value.i = tsr_store_symbol(im->to, sym->name, sym->span, true) + 1;
		tsr_size_term *t = TSR_NEW(im->to->arena, tsr_size_term);
		*t = (tsr_size_term){x.terms[i].coef, (uint32_t)(e->value.i - 1)};
		out = tsr_size_add(im->to->arena, out, (tsr_size){0, 1, t});
	}
	return out;
}

static tsr_dim import_dim(tsr_import *im, tsr_dim d)
{
	d = tsr_dim_find(im->from, d);
	d.from = 0;
	if (d.kind == TSR_DIM_ATOM)
		d.atom.size = import_size(im, d.atom.size);
	if (d.kind != TSR_DIM_VAR)
		return d;
	tsr_map_entry *e = tsr_map_put(im->dims, d.var);
	const tsr_dim_var *v = &im->from->dims.at[d.var];
	if (!e->value.i)
		e->value.i = tsr_dim_fresh(im->to, v->label, v->span).var + 1;
	return (tsr_dim){.kind = TSR_DIM_VAR, .var = (uint32_t)(e->value.i - 1)};
}

static tsr_row import_row(tsr_import *im, tsr_row r)
{
	bool poison = false;
	r = tsr_row_copy(im->to, tsr_row_find(im->from, r, &poison));
	r.from = 0;
	for (uint32_t i = 0; i < r.nlead; i++)
		r.lead[i] = import_dim(im, r.lead[i]);
	for (uint32_t i = 0; i < r.ntrail; i++)
		r.trail[i] = import_dim(im, r.trail[i]);
	if (poison)
		return tsr_row_fresh(im->to);
	if (!tsr_row_open(r))
		return r;
	tsr_map_entry *e = tsr_map_put(im->rows, r.var);
	if (!e->value.i) {
		e->value.i = tsr_row_var_new(im->to) + 1;
		im->to->rows.at[e->value.i - 1].label = im->from->rows.at[r.var].label;
	}
	r.var = (uint32_t)(e->value.i - 1);
	return r;
}

tsr_shape tsr_shape_import(tsr_import *im, const tsr_shape *shape)
{
	tsr_shape out;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		out.row[k] = import_row(im, shape->row[k]);
	return out;
}
