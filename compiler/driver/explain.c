/* `tsrc explain FILE:LINE:NAME`: which tensors are meant, and for each axis of their shapes the facts that its size follows
 * from.  A tensor is bound at a line when a name is bound to it there, or when it is made there; a line of a function that
 * is applied several times has as many tensors. */
#include "private.h"
#include <string.h>

/* Tensors of one line that are shown; a name narrows them. */
#define MOST_TENSORS 8

static const char *const kind_names[] = {"batch", "input", "output"};

/* ---- which tensors --------------------------------------------------------------------------------------------------- */

typedef struct bound {
	tsr_drive_state *d;
	const char *name;                /* that is asked for, or NULL */
	TSR_VEC(tsr_name) names;         /* bound at the line */
} bound;

static void bound_by(bound *b, const tsr_pat *p)
{
	if (p->kind == TSR_PAT_NAME && tsr_position_of(b->d->tc, p->span).line == b->d->options->at_line)
		tsr_push(b->d->tc->arena, &b->names, p->name);
	for (uint32_t i = 0; i < p->items.n; i++)
		bound_by(b, p->items.at[i]);
}

static void visit(void *ctx, tsr_ast **child)
{
	if ((*child)->kind == TSR_AST_LET)
		bound_by(ctx, (*child)->let.pat);
	tsr_ast_children(*child, visit, ctx);
}

/* "net.hidden.w" ends in the name `w`, and is the name "net.hidden.w". */
static bool is_called(const char *full, const char *name)
{
	size_t n = full ? strlen(full) : 0, m = strlen(name);
	return n >= m && !strcmp(full + n - m, name) && (n == m || full[n - m - 1] == '.');
}

static bool made_there(const tsr_drive_state *d, const tsr_tensor *t)
{
	if (!t->span.file)
		return false;
	tsr_position p = tsr_position_of(d->tc, t->span);
	return !strcmp(p.path, d->options->input) && p.line == d->options->at_line;
}

static bool meant(const bound *b, const tsr_tensor *t)
{
	const tsr_options *o = b->d->options;
	if (b->name && !is_called(t->name, b->name))
		return false;
	bool there = o->at_line == 0 || made_there(b->d, t);
	for (uint32_t i = 0; i < b->names.n && !there; i++)
		there = is_called(t->name, b->names.at[i]);
	return there;
}

/* A name that its user chose: lifted numbers and unnamed results have none. */
static bool is_named(const tsr_tensor *t)
{
	const char *dot = t->name ? strrchr(t->name, '.') : NULL;
	return t->name && !(dot && dot[1] >= '0' && dot[1] <= '9');
}

typedef TSR_VEC(const tsr_tensor *) tensors;

static tensors tensors_of(bound *b)
{
	tsr_drive_state *d = b->d;
	const tsr_graph *g = d->graph;
	tensors named = {0}, all = {0};
	for (uint32_t i = 0; i < g->shown.n && !d->options->at_line && !b->name; i++)
		tsr_push(d->tc->arena, &named, tsr_tensor_get(g, g->shown.at[i]));
	for (uint32_t i = 0; i < g->tensors.n && (d->options->at_line || b->name); i++) {
		const tsr_tensor *t = g->tensors.at[i];
		if (!meant(b, t) || t->poison)
			continue;
		tsr_push(d->tc->arena, &all, t);
		if (is_named(t))
			tsr_push(d->tc->arena, &named, t);
	}
	return named.n ? named : all;
}

/* A label of a spec as a tensor of one axis, so that it is explained as one. */
static tsr_tensor *label_tensor(tsr_drive_state *d, const tsr_record *r, const tsr_label *l)
{
	tsr_store *s = d->graph->store;
	tsr_tensor *t = TSR_NEW(d->tc->arena, tsr_tensor);
	t->name = l->name;
	t->span = r->rule.why.span;
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		t->shape.row[k] = tsr_row_closed(s, k == TSR_OUTPUT && !l->is_row ? 1 : 0, &l->dim);
	if (l->is_row)
		t->shape.row[TSR_OUTPUT] = l->row;
	t->poison = !tsr_store_solved(s, &t->shape, &t->solved);
	return t;
}

/* The axes that specs of the line, or of anywhere in the program, call by the name; alike ones of one place once. */
static tensors labels_of(bound *b)
{
	tsr_drive_state *d = b->d;
	tensors all = {0};
	for (uint32_t i = 0; b->name && i < d->graph->records.n; i++) {
		const tsr_record *r = d->graph->records.at[i];
		const tsr_label *l = tsr_rule_label(&r->rule, tsr_intern(d->tc->names, b->name));
		tsr_tensor *t = l ? label_tensor(d, r, l) : NULL;
		if (!t || t->poison || tsr_source_in_library(d->tc, t->span.file) || (d->options->at_line && !made_there(d, t)))
			continue;
		bool seen = false;
		for (uint32_t k = 0; k < all.n && !seen; k++)
			seen = all.at[k]->span.start == t->span.start
				&& !strcmp(tsr_solved_str(d->graph->store, &all.at[k]->solved), tsr_solved_str(d->graph->store, &t->solved));
		if (!seen)
			tsr_push(d->tc->arena, &all, t);
	}
	return all;
}

/* By name; by a name bound at the line, whose tensor bears another (that of what the definition gives); by a label. A gradient has
 * the shape of its tensor. */
static tensors asked_for(bound *b)
{
	tsr_compiler *tc = b->d->tc;
	const char *dot = b->name ? strrchr(b->name, '.') : NULL;
	if (dot && (!strcmp(dot, ".grad") || !strcmp(dot, ".value")))
		b->name = tsr_strndup(tc->arena, b->name, (size_t)(dot - b->name));
	tensors found = tensors_of(b);
	for (uint32_t i = 0; !found.n && b->name && i < b->names.n; i++)
		if (!strcmp(b->names.at[i], b->name)) {
			b->name = NULL;
			found = tensors_of(b);
		}
	return found.n ? found : labels_of(b);
}

/* ---- what is printed --------------------------------------------------------------------------------------------------- */

static const char *axis_str(tsr_drive_state *d, const tsr_solved_axis *axis)
{
	tsr_solved one = {0};
	one.row[TSR_OUTPUT] = (tsr_solved_row){1, 0, (tsr_solved_axis *)axis};
	return tsr_solved_str(d->graph->store, &one);
}

static void axis_text(tsr_drive_state *d, const tsr_tensor *t, uint32_t k, uint32_t i, tsr_text *out)
{
	const tsr_solved_axis *axis = &t->solved.row[k].axes[i];
	tsr_chain chain = tsr_store_why(d->graph->store, &t->shape, (tsr_kind)k, i);
	tsr_notes notes = {0};
	tsr_chain_words(d->graph->store, &chain, &notes);
	tsr_text_addf(out, "  %s axis", kind_names[k]);
	if (t->solved.row[k].n > 1)
		tsr_text_addf(out, " %u", i + 1);
	if (axis->unit)
		tsr_text_add(out, " is 1 and stretches: nothing claims a size here\n");
	else
		tsr_text_addf(out, " is %s\n", axis_str(d, axis));
	for (uint32_t n = 0; n < notes.n; n++) {
		tsr_position p = tsr_position_of(d->tc, notes.at[n].span);
		if (notes.at[n].span.file)
			tsr_text_addf(out, "    %s:%u:%u: %s\n", p.path, p.line, p.column, notes.at[n].text);
		else
			tsr_text_addf(out, "    %s\n", notes.at[n].text);
	}
}

static void axis_json(tsr_drive_state *d, const tsr_tensor *t, uint32_t k, uint32_t i, tsr_text *out)
{
	const tsr_solved_axis *axis = &t->solved.row[k].axes[i];
	tsr_chain chain = tsr_store_why(d->graph->store, &t->shape, (tsr_kind)k, i);
	tsr_notes notes = {0};
	tsr_chain_words(d->graph->store, &chain, &notes);
	tsr_solved_axis bare = *axis;
	bare.basis = NULL;
	bare.unit = false;
	tsr_text_addf(out, "{\"kind\": \"%s\", \"axis\": %u, \"size\": ", kind_names[k], i + 1);
	if (tsr_size_is_const(axis->size))
		tsr_text_add(out, axis_str(d, &bare));
	else
		tsr_text_json(out, axis_str(d, &bare));
	tsr_text_add(out, ", \"basis\": ");
	tsr_text_json(out, axis->unit ? "bcast_if_1" : axis->basis ? axis->basis : "default");
	tsr_text_add(out, ", \"because\": [");
	for (uint32_t n = 0; n < notes.n; n++) {
		tsr_text_add(out, n ? ", {" : "{");
		tsr_place_json(d->tc, out, notes.at[n].span);
		tsr_text_add(out, ", \"message\": ");
		tsr_text_json(out, notes.at[n].text);
		tsr_text_char(out, '}');
	}
	tsr_text_add(out, "]}");
}

static void tensor_out(tsr_drive_state *d, const tsr_tensor *t, tsr_text *out)
{
	bool json = d->options->json, any = false;
	const char *name = t->name ? t->name : "_", *shape = tsr_solved_str(d->graph->store, &t->solved);
	if (json) {
		tsr_text_add(out, "{\"tensor\": ");
		tsr_text_json(out, name);
		tsr_text_add(out, ", ");
		tsr_place_json(d->tc, out, t->span);
		tsr_text_add(out, ", \"shape\": ");
		tsr_text_json(out, shape);
		tsr_text_add(out, ", \"axes\": [");
	} else {
		tsr_text_addf(out, "%s : %s\n", name, shape);
	}
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < t->solved.row[k].n; i++, any = true) {
			if (json && any)
				tsr_text_add(out, ", ");
			(json ? axis_json : axis_text)(d, t, k, i, out);
		}
	tsr_text_add(out, json ? "]}\n" : any ? "" : "  it has no axes\n");
}

void tsr_drive_explain(tsr_drive_state *d)
{
	const tsr_options *o = d->options;
	bound b = {.d = d, .name = o->at_name};
	uint32_t file = tsr_source_load(d->tc, o->input);
	tsr_module_ast *m = o->at_line ? tsr_parse(d->tc, file) : NULL;
	for (uint32_t i = 0; m && i < m->items.n; i++)
		visit(&b, &m->items.at[i]);
	tensors found = asked_for(&b);
	if (found.n == 0) {
		const char *where = o->at_line ? tsr_format(d->tc->arena, " at line %u", o->at_line) : "";
		const char *called = o->at_name ? tsr_format(d->tc->arena, " called `%s`", o->at_name) : "";
		tsr_report(d->tc, TSR_E_NO_TENSOR, TSR_NOWHERE, "%s: no tensor%s is bound%s", o->input, called, where);
		return;
	}
	tsr_text out;
	tsr_text_init(&out, d->tc->arena);
	uint32_t most = o->at_line || o->at_name ? MOST_TENSORS : found.n;
	for (uint32_t i = 0; i < found.n && i < most; i++)
		tensor_out(d, found.at[i], &out);
	if (found.n > most && !o->json)
		tsr_text_addf(&out, "%u more tensors are bound here: FILE:LINE:NAME names one\n", found.n - most);
	fputs(tsr_text_str(&out), stdout);
}
