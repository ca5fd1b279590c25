/* Derives the index maps of one record and walks their points.  It builds the record and evaluates indices, and uses no rule. */
#include "maps.h"
#include "../unit/graph_kit.h"

static const tsr_kind memory_order[TSR_KINDS] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};

typedef struct walk {
	const tsr_proj *proj;
	const tsr_record *record;
	const tsr_graph *g;
	int64_t size[MAPS_SLOTS][MAPS_AXES];
	bool reached[MAPS_CELLS];
	maps_answer *out;
} walk;

static void read_sizes(walk *w)
{
	for (uint32_t i = 0; i <= w->record->rule.noperands; i++) {
		const tsr_solved *shape = &tsr_tensor_get(w->g, w->record->slots[i])->solved;
		int at = 0;
		for (uint32_t k = 0; k < TSR_KINDS; k++)
			for (uint32_t j = 0; j < shape->row[memory_order[k]].n; j++)
				w->size[i][at++] = shape->row[memory_order[k]].axes[j].size.k;
	}
}

/* The cell of a slot; false where a guard leaves the point out. */
static bool cell_of(walk *w, const tsr_piece *p, uint32_t slot, const int64_t *loops, int8_t *cell)
{
	const tsr_map_axes *m = &p->maps[slot];
	for (uint32_t i = 0; i < m->n; i++) {
		const tsr_index *x = &m->axes[i];
		int64_t at = x->offset + x->base.k;
		for (uint32_t j = 0; j < x->n; j++)
			at += x->terms[j].coef * loops[x->terms[j].sym.id];
		bool inside = at >= 0 && at < w->size[slot][i];
		w->out->outside |= !inside && !x->guarded;
		if (!inside)
			return false;
		cell[i] = (int8_t)at;
	}
	return true;
}

/* The cells of the result that points reach, also where another slot is outside its guard. */
static void mark(walk *w, const int8_t *cell, uint32_t n)
{
	int64_t at = 0;
	for (uint32_t i = 0; i < n; i++)
		at = at * w->size[0][i] + cell[i];
	if (at >= MAPS_CELLS)
		return;
	w->out->reached += !w->reached[at];
	w->reached[at] = true;
}

static void add_point(walk *w, uint32_t piece, const int64_t *loops)
{
	const tsr_piece *p = &w->proj->pieces[piece];
	point x;
	bool any = false;
	memset(&x, 0, sizeof x);
	if (p->live[0] && cell_of(w, p, 0, loops, x.at[0]))
		mark(w, x.at[0], p->maps[0].n);
	for (uint32_t i = 0; i <= w->record->rule.noperands; i++) {
		any |= p->live[i];
		if (!p->live[i])
			x.at[i][0] = DEAD;
		else if (!cell_of(w, p, i, loops, x.at[i]))
			return;
	}
	if (!any)
		return;
	w->out->too_many |= w->out->npoints == MAPS_POINTS;
	if (w->out->too_many)
		return;
	w->out->piece[w->out->npoints] = (int16_t)piece;
	w->out->points[w->out->npoints++] = x;
}

static void walk_piece(walk *w, uint32_t piece, uint32_t loop, int64_t *loops)
{
	const tsr_piece *p = &w->proj->pieces[piece];
	if (loop == p->nloops) {
		add_point(w, piece, loops);
		return;
	}
	for (loops[loop] = 0; loops[loop] < p->loops[loop].extent.k && !w->out->too_many; loops[loop]++)
		walk_piece(w, piece, loop + 1, loops);
}

static void read_claims(walk *w)
{
	const tsr_proj *p = w->proj;
	w->out->surjective = tsr_proj_surjective(w->g, p, 0);
	for (uint32_t i = 0; i < p->npieces; i++) {
		w->out->injective[i] = p->pieces[i].live[0] && tsr_map_injective(&p->pieces[i], &p->pieces[i].maps[0]);
		for (uint32_t j = 0; j < i; j++)
			w->out->disjoint[i][j] = p->pieces[i].live[0] && p->pieces[j].live[0] && tsr_pieces_disjoint(p, i, j, 0);
	}
}

void maps_run(const maps_question *q, maps_answer *out)
{
	static const tsr_logic logics[] = {TSR_LOGIC_POINTWISE, TSR_LOGIC_COMPOSE, TSR_LOGIC_COMPOSE_ACC, TSR_LOGIC_TRANSPOSE, TSR_LOGIC_SPEC};
	static const char *const names[] = {"y", "u", "v", "w"}, *const labels[] = {"a", "b", "c", "d"};
	kit k = kit_new();
	tsr_tensor *slots[MAPS_SLOTS];
	int64_t loops[64];
	for (int i = 0; i < q->nslots; i++)
		slots[i] = kit_tensor(&k, i ? TSR_TENSOR_PARAM : TSR_TENSOR_OP, names[i], q->shape[i]);
	tsr_record_id r = kit_record(&k, logics[q->logic], q->logic == BY_SPEC ? q->spec : NULL, (uint32_t)q->nslots, slots);
	for (int i = 0; i < MAPS_LABELS && q->logic == BY_SPEC; i++)
		kit_label(&k, r, labels[i], q->label_size[i]);
	walk w = {.proj = tsr_proj_derive(k.g, r), .record = k.g->records.at[r], .g = k.g, .out = out};
	out->npoints = out->npieces = out->reached = 0;
	out->outside = out->too_many = false;
	out->refused = !w.proj || w.proj->npieces > MAPS_PIECES;
	if (!out->refused) {
		out->npieces = (int)w.proj->npieces;
		read_sizes(&w);
		for (uint32_t i = 0; i < w.proj->npieces; i++)
			walk_piece(&w, i, 0, loops);
		if (!out->outside)
			tsr_proj_check(k.g, w.proj);
		read_claims(&w);
	}
	tsr_compiler_free(k.tc);
}
