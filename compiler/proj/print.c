/* --dump=proj: a record's iteration space, one piece after the other.
 *
 *     y.1: "2*j<+k, i; ... => i, k"
 *       loops i:50 k:64 j:10
 *       lhs  [i, k] of 50, 64
 *       rhs1 [i, j] of 50, 10
 *       rhs2 [2*j + k - 1 guarded, 0] of 20, 1
 *
 * A map has an index for each axis of its tensor, whose sizes stand behind `of`.  Loops without a label of the spec are called
 * a, b, c ... or by number; `guarded` and `checked` as in proj.h. */
#include "space.h"
#include "../base/text.h"

/* The label where it is the first of its name, else a letter that no label uses, else the number. */
static void loop_name(tsr_text *t, const tsr_piece *p, uint32_t loop)
{
	tsr_name label = p->loops[loop].label;
	char letter = (char)('a' + loop % 26);
	bool taken = loop >= 26;
	for (uint32_t i = 0; i < p->nloops; i++) {
		tsr_name other = p->loops[i].label;
		if (i < loop && label && other == label)
			label = NULL;
		taken |= other && other[0] == letter && !other[1];
	}
	if (label)
		tsr_text_add(t, label);
	else if (!taken)
		tsr_text_char(t, letter);
	else
		tsr_text_addf(t, "l%u", loop);
}

static void size(tsr_text *t, const tsr_graph *g, tsr_size s)
{
	bool first = true;
	for (uint32_t i = 0; i < s.nterms; i++, first = false) {
		if (!first)
			tsr_text_add(t, s.terms[i].coef < 0 ? " - " : " + ");
		int64_t coef = first ? s.terms[i].coef : s.terms[i].coef < 0 ? -s.terms[i].coef : s.terms[i].coef;
		if (coef != 1)
			tsr_text_addf(t, "%lld*", (long long)coef);
		tsr_name name = g->store ? tsr_store_symbol_get(g->store, s.terms[i].symbol)->name : NULL;
		tsr_text_addf(t, "?%s", name ? name : "");
		if (!name)
			tsr_text_addf(t, "%u", s.terms[i].symbol);
	}
	if (first)
		tsr_text_addf(t, "%lld", (long long)s.k);
	else if (s.k)
		tsr_text_addf(t, " %c %lld", s.k < 0 ? '-' : '+', (long long)(s.k < 0 ? -s.k : s.k));
}

static void index_text(tsr_text *t, const tsr_graph *g, const tsr_piece *p, const tsr_index *x)
{
	bool first = true;
	for (uint32_t i = 0; i < x->n; i++, first = false) {
		int64_t coef = x->terms[i].coef;
		if (!first) {
			tsr_text_add(t, coef < 0 ? " - " : " + ");
			coef = coef < 0 ? -coef : coef;
		}
		if (coef != 1)
			tsr_text_addf(t, "%lld*", (long long)coef);
		if (x->terms[i].sym.kind == TSR_SYM_NUMBER)
			tsr_text_addf(t, "@%s", g->numbers.at[x->terms[i].sym.id]->name);
		else
			loop_name(t, p, x->terms[i].sym.id);
	}
	if (x->base.nterms) {
		tsr_text_add(t, first ? "" : " + ");
		size(t, g, x->base);
		first = false;
	}
	if (first)
		tsr_text_addf(t, "%lld", (long long)x->offset);
	else if (x->offset)
		tsr_text_addf(t, " %c %lld", x->offset < 0 ? '-' : '+', (long long)(x->offset < 0 ? -x->offset : x->offset));
	if (x->guarded)
		tsr_text_add(t, " guarded");
	if (x->checked)
		tsr_text_add(t, " checked");
}

static void sizes(tsr_text *t, const tsr_graph *g, const tsr_solved *shape)
{
	const char *between = " of ";
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		const tsr_solved_row *row = &shape->row[tsr_memory_order[k]];
		for (uint32_t j = 0; j < row->n; j++, between = ", ") {
			tsr_text_add(t, between);
			size(t, g, row->axes[j].size);
		}
	}
}

static void piece(tsr_text *t, const tsr_graph *g, const tsr_piece *p, const tsr_record *r)
{
	tsr_text_add(t, "  loops");
	for (uint32_t i = 0; i < p->nloops; i++) {
		tsr_text_char(t, ' ');
		loop_name(t, p, i);
		tsr_text_char(t, ':');
		size(t, g, p->loops[i].extent);
	}
	tsr_text_char(t, '\n');
	for (uint32_t i = 0; i <= r->rule.noperands; i++) {
		if (i)
			tsr_text_addf(t, "  rhs%u ", i);
		else
			tsr_text_add(t, "  lhs  ");
		tsr_text_add(t, p->live[i] ? "[" : "not live");
		for (uint32_t j = 0; p->live[i] && j < p->maps[i].n; j++) {
			tsr_text_add(t, j ? ", " : "");
			index_text(t, g, p, &p->maps[i].axes[j]);
		}
		if (p->live[i]) {
			tsr_text_char(t, ']');
			sizes(t, g, &tsr_tensor_get(g, r->slots[i])->solved);
		}
		tsr_text_char(t, '\n');
	}
}

void tsr_proj_print(const tsr_graph *g, const tsr_proj *p, FILE *out)
{
	tsr_arena *a = tsr_arena_new();
	tsr_text t;
	tsr_text_init(&t, a);
	const tsr_record *r = g->records.at[p->record];
	tsr_text_addf(&t, "%s", tsr_tensor_get(g, r->slots[0])->name);
	if (r->rule.logic == TSR_LOGIC_SPEC)
		tsr_text_addf(&t, ": \"%s\"", r->rule.spec->text);
	tsr_text_char(&t, '\n');
	for (uint32_t i = 0; i < p->npieces; i++)
		piece(&t, g, &p->pieces[i], r);
	fputs(tsr_text_str(&t), out);
	tsr_arena_free(a);
}
