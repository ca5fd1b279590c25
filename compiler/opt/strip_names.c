/* What the axes of the first product's result are to each kernel of a group: an index that is a bare loop on an axis names that loop, and loops name the axes of what is stored or
 * read with them. */
#include "strip.h"

static uint32_t tag_of(const tsr_strip_tags *v, uint32_t id, uint32_t axis)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->at[i].id == id && v->at[i].axis == axis)
			return v->at[i].tag;
	return 0;
}

uint32_t tsr_strip_loop_tag(const tsr_strip *g, uint32_t sym) { return tag_of(&g->loops, sym, 0); }
uint32_t tsr_strip_axis_tag(const tsr_strip *g, tsr_buffer_id b, uint32_t axis) { return tag_of(&g->axes, b, axis); }

uint32_t tsr_strip_bare(const tsr_lin *x) { return x->n == 1 && tsr_lin_bare(x, x->terms[0].id) ? x->terms[0].id : TSR_NONE; }

/* One step of naming loops by axes, and axes by loops; true where something got its name. A name is a guess, which is verified for all
 * that the group writes. */
static bool name_access(tsr_strip *g, const tsr_access *x, bool reads)
{
	bool news = false;
	for (uint32_t axis = 0; axis < g->p->l->buffers.at[x->buffer]->rank; axis++) {
		uint32_t sym = tsr_strip_bare(&x->index[axis]), tag = tsr_strip_axis_tag(g, x->buffer, axis);
		if (sym == TSR_NONE)
			continue;
		uint32_t loop = tsr_strip_loop_tag(g, sym);
		tsr_strip_tag named = { loop ? x->buffer : sym, loop ? axis : 0, loop ? loop : tag };
		if (tag && !loop)
			tsr_push(g->a, &g->loops, named);
		else if (loop && !tag && (reads || x->write))
			tsr_push(g->a, &g->axes, named);
		else
			continue;
		news = true;
	}
	return news;
}

static bool name_member(tsr_strip *g, const tsr_strip_member *m)
{
	bool any = false;
	for (int reads = 0; reads < 2; reads++)          /* what is only read comes last: a loop has one name, but may walk two axes */
		for (bool news = true; news;) {
			news = false;
			for (uint32_t i = 0; i < m->x.v.n; i++)
				news |= name_access(g, &m->x.v.at[i], reads);
			any |= news;
		}
	return any;
}

/* From the axes of X alone.  A kernel may be tied to the first one only by another that follows. */
void tsr_strip_name_members(tsr_strip *g)
{
	const tsr_stmt *first = g->member[0].kernel;
	tsr_buffer_id x = first->kernel.body.at[0]->loop.contraction->c;
	g->loops.n = g->axes.n = 0;
	for (uint32_t axis = 0; axis < g->p->l->buffers.at[x]->rank; axis++) {
		tsr_strip_tag t = { x, axis, axis + 1 };
		tsr_push(g->a, &g->axes, t);
	}
	for (bool news = true; news;) {
		news = false;
		for (uint32_t m = 0; m < g->n; m++)
			news |= name_member(g, &g->member[m]);
	}
}
