/* After a mistake in a definition: what may still be said of the others' shapes.
 *
 * A definition with a mistake gives poison, and the constraints that it would have made are missing; a size that they would have
 * given must not be called missing. So the definitions that a mistaken one mentions, and those that they mention, are tainted, and
 * what is open in their tensors' shapes becomes poison, which closing passes over in silence. So are the definitions that mention
 * a mistaken one, and what those mention. The rest closes as in a program without mistakes, and its own are reported
 * in the same run. Names are compared as they are written: a name that a parameter hides taints too much, never too little. */
#include "state.h"
#include "../module/module.h"

typedef struct walk {
	tsr_elab *el;
	tsr_map names;                   /* name -> the last item that defines it, + 1 */
	tsr_item *item;
} walk;

static void mention(walk *w, tsr_name name)
{
	tsr_map_entry *e = tsr_map_find(&w->names, tsr_key(name));
	if (e)
		tsr_push(w->el->arena, &w->item->mentions, (uint32_t)e->value.i - 1);
}

static void visit(void *data, tsr_ast **child)
{
	walk *w = data;
	const tsr_ast *e = *child;
	if (e->kind == TSR_AST_NAME && !e->name.qualifier)
		mention(w, e->name.name);
	else if (e->kind == TSR_AST_BINARY)
		mention(w, e->binary.op);
	tsr_ast_children(*child, visit, data);
}

static void define(walk *w, const tsr_pat *p, uint32_t item)
{
	if (p->kind == TSR_PAT_NAME)
		tsr_map_put(&w->names, tsr_key(p->name))->value.i = item + 1;
	for (uint32_t i = 0; i < p->items.n; i++)
		define(w, p->items.at[i], item);
}

/* What each item mentions stands before it: mistakes spread in the order of the file, taint against it. */
static void spread(tsr_elab *el)
{
	walk w = {.el = el};
	tsr_map_init(&w.names, el->arena);
	for (uint32_t i = 0; i < el->items.n; i++) {
		w.item = &el->items.at[i];
		tsr_ast *root = (tsr_ast *)w.item->ast;
		visit(&w, &root);
		define(&w, root->let.pat, i);
		for (uint32_t k = 0; k < w.item->mentions.n; k++)
			w.item->mistaken |= el->items.at[w.item->mentions.at[k]].mistaken;
	}
	for (uint32_t i = el->items.n; i-- > 0;) {
		const tsr_item *item = &el->items.at[i];
		for (uint32_t k = 0; (item->mistaken || item->tainted) && k < item->mentions.n; k++)
			el->items.at[item->mentions.at[k]].tainted = true;
	}
}

bool tsr_elab_taint(tsr_graph *g)
{
	tsr_elab *el = g->elab;
	uint32_t errors = 0, at = 0;
	if (!el->program->main)                           /* there is no such file */
		return false;
	for (uint32_t i = 0; i < el->items.n; i++)
		errors += el->items.at[i].errors;
	for (uint32_t i = 0; i < el->program->main->ast->items.n; i++)
		if (el->program->main->ast->items.at[i]->kind == TSR_AST_EXPORT)     /* a function uses what it names, too */
			return false;
	if (errors != g->tc->nerrors)                     /* in a module, or in the text: what it would have mentioned is not known */
		return false;
	spread(el);
	for (uint32_t i = 0; i < g->tensors.n; i++) {
		while (at + 1 < el->items.n && i >= el->items.at[at + 1].first)
			at++;
		if (at < el->items.n && i >= el->items.at[at].first && (el->items.at[at].mistaken || el->items.at[at].tainted))
			tsr_store_poison(g->store, &g->tensors.at[i]->shape);
	}
	return true;
}
