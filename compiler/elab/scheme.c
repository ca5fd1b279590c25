/* Schemes: a function is elaborated aside, where it is defined, with arguments that are not known (config/unknown.h), in a store of
 * its own that is never closed.  A constraint that fails there fails for every application.
 *
 * Everything that elaboration writes is put back afterwards: the graph, the state, the errors of ways that need not be gone.
 * The definition is evaluated again, in a frame and an instance of its own; where a closure of the program is applied, its frames get
 * their names back. Tensors of the program are met as copies, with what is known of their shapes by then. */
#include "state.h"
#include <string.h>

enum { MOST_WAYS = 24, MOST_ATTEMPTS = 16, MOST_KEPT = 12, MOST_SHOWN = 4 };

struct tsr_aside {
	tsr_elab el;                     /* to be put back */
	tsr_graph g;
	tsr_name path;
	uint32_t errors, warnings, diags;
	tsr_import *import;
	tsr_map copies;                  /* tensor of the program -> its copy */
	tsr_map frames;                  /* frame that was written -> its names before */
	tsr_map made;                    /* instance -> a map like its own, of copies of what its declarations made */
	tsr_map symbols;                 /* name of an unknown number -> symbol + 1 */
};

/* ---- there and back ---------------------------------------------------------------------------------------------------------- */

/* What grows aside must not move what is there. */
#define OWN(v) ((v)->at = own(el->arena, (v)->at, (v)->n * sizeof *(v)->at), (v)->cap = (v)->n)

static void *own(tsr_arena *a, const void *at, size_t size)
{
	return size ? memcpy(tsr_alloc(a, size), at, size) : NULL;
}

static void own_lists(tsr_elab *el)
{
	tsr_graph *g = el->g;
	OWN(&g->tensors), OWN(&g->records), OWN(&g->codes), OWN(&g->numbers), OWN(&g->params), OWN(&g->exports), OWN(&g->shown);
	OWN(&el->codes), OWN(&el->items), OWN(&el->owners), OWN(&el->inits), OWN(&el->functions);
}

static void begin(tsr_elab *el, struct tsr_aside *a)
{
	*a = (struct tsr_aside){.el = *el, .g = *el->g, .path = tsr_eval_path(el->ev), .errors = el->tc->nerrors,
	                        .warnings = el->tc->nwarnings, .diags = el->tc->diags.n};
	own_lists(el);
	tsr_map *fresh[] = {&el->used, &el->turns, &el->numbers, &el->number_tensors, &el->code_ids, &el->forward_ids, &a->copies, &a->frames, &a->made, &a->symbols};
	for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++)
		tsr_map_init(fresh[i], el->arena);
	el->g->store = tsr_store_new(el->tc);
	a->import = tsr_import_new(el->g->store, a->g.store);
	el->slots = NULL;
	el->random_key = NULL;
	el->share = NULL;
	el->aside = a;
	tsr_eval_set_path(el->ev, NULL);
}

static void end(tsr_elab *el, const struct tsr_aside *a)
{
	tsr_eval_set_path(el->ev, a->path);
	for (uint32_t i = 0; i < a->frames.n; i++)
		((tsr_frame *)(uintptr_t)a->frames.entries[i].key)->names = *(tsr_map *)a->frames.entries[i].value.p;
	*el->g = a->g;
	*el = a->el;
}

static void forget_mistakes(tsr_elab *el, const struct tsr_aside *a)
{
	el->tc->diags.n = a->diags;
	el->tc->nerrors = a->errors;
	el->tc->nwarnings = a->warnings;
}

void tsr_elab_put(tsr_elab *el, tsr_frame *frame, tsr_name name, tsr_value v)
{
	tsr_map_entry *e = el->aside ? tsr_map_put(&el->aside->frames, tsr_key(frame)) : NULL;
	if (e && !e->value.p) {
		tsr_map *before = e->value.p = TSR_NEW(el->arena, tsr_map);
		tsr_map_init(before, el->arena);
		for (uint32_t i = 0; i < frame->names.n; i++)
			tsr_map_put(before, frame->names.entries[i].key)->value = frame->names.entries[i].value;
	}
	tsr_frame_put(el->arena, frame, name, v);
}

/* ---- what is not known, as elaboration needs it ----------------------------------------------------------------------------- */

/* What the program has asked for up to here is solved: what is elaborated aside mentions it. */
static void solve_outside(tsr_elab *el)
{
	struct tsr_aside *a = el->aside;
	tsr_elab aside = *el;
	tsr_graph g = *el->g;
	*el->g = a->g;
	*el = a->el;
	tsr_share_solve(el, false);
	a->g = *el->g;
	a->el = *el;
	*el->g = g;
	*el = aside;
}

tsr_tensor *tsr_aside_tensor(tsr_elab *el, tsr_tensor_id id)
{
	struct tsr_aside *a = el->aside;
	if (id >= a->g.tensors.n)
		return tsr_tensor_get(el->g, id);
	tsr_map_entry *e = tsr_map_put(&a->copies, id);
	if (!e->value.p) {
		tsr_tensor *t = TSR_NEW(el->arena, tsr_tensor);
		if (tsr_share_waits(&a->el, tsr_tensor_get(el->g, id)))
			solve_outside(el);
		*t = *tsr_tensor_get(el->g, id);
		t->shape = tsr_shape_import(a->import, &t->shape);
		tsr_map_put(&a->copies, id)->value.p = t;
		return t;
	}
	return e->value.p;
}

/* A closure of the program may be applied aside, and its declarations evaluated for the first time: not for the program. */
tsr_map *tsr_aside_made(tsr_elab *el, tsr_instance *instance)
{
	tsr_map_entry *e = tsr_map_put(&el->aside->made, tsr_key(instance));
	if (e->value.p)
		return e->value.p;
	tsr_map *made = e->value.p = TSR_NEW(el->arena, tsr_map);
	tsr_map_init(made, el->arena);
	for (uint32_t i = 0; i < instance->made.n; i++) {
		const tsr_minted *from = instance->made.entries[i].value.p;
		tsr_minted *m = TSR_NEW(el->arena, tsr_minted);
		m->next = from->next;
		m->round = from->round;
		for (uint32_t k = 0; k < from->made.n; k++)
			tsr_push(el->arena, &m->made, from->made.at[k]);
		tsr_map_put(made, instance->made.entries[i].key)->value.p = m;
	}
	return made;
}

static tsr_tensor *tensor_of_anything(tsr_elab *el, tsr_span span)
{
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_STATE, span);
	t->shape = tsr_shape_fresh(el->g->store);
	t->differentiable = true;
	return t;
}

tsr_value tsr_aside_anything(tsr_elab *el, tsr_span span)
{
	return tsr_value_tensor(tensor_of_anything(el, span)->id);
}

tsr_value tsr_aside_operand(tsr_elab *el, tsr_unknown *u, tsr_span span)
{
	if (u->kind == TSR_UNKNOWN_TENSOR)
		return tsr_value_tensor(u->tensor);
	tsr_tensor *t = tensor_of_anything(el, span);
	if (u->kind == TSR_UNKNOWN_OPEN) {
		u->kind = TSR_UNKNOWN_TENSOR;
		u->tensor = t->id;
		t->name = u->text;
		tsr_store_leaf(el->g->store, &t->shape, TSR_LEAF_PLAIN, t->name, span);
		tsr_store_leaf_called(el->g->store, "the argument", tsr_elab_within(el));
	}
	return tsr_value_tensor(t->id);
}

tsr_size tsr_aside_size(tsr_elab *el, const tsr_unknown *u, tsr_span span)
{
	tsr_size out = tsr_size_const(u->k);
	for (uint32_t i = 0; i < u->nterms; i++) {
		tsr_map_entry *e = tsr_map_put(&el->aside->symbols, tsr_key(u->terms[i].name));
		if (!e->value.i)
			e->value.i = tsr_store_config_symbol(el->g->store, u->terms[i].name, span) + 1;
		tsr_size_term *t = TSR_NEW(el->arena, tsr_size_term);
		*t = (tsr_size_term){u->terms[i].coef, (uint32_t)(e->value.i - 1)};
		out = tsr_size_add(el->arena, out, (tsr_size){0, 1, t});
	}
	return out;
}

/* Demands as configuration whatever unknown value went into a tensor. */
static bool suspect_below(tsr_elab *el, tsr_tensor_id id, uint32_t depth)
{
	const tsr_tensor *t = id == TSR_NONE || id < el->aside->g.tensors.n ? NULL : tsr_tensor_get(el->g, id);
	tsr_guess *g = tsr_eval_guess(el->ev);
	bool any = false;
	if (!t || depth == 0)
		return false;
	if (t->kind == TSR_TENSOR_STATE && t->name) {
		tsr_map_put(&g->config, tsr_key(t->name));
		g->again = true;
		return true;
	}
	if (t->kind != TSR_TENSOR_OP || t->op.record == TSR_NONE)
		return false;
	const tsr_record *r = el->g->records.at[t->op.record];
	for (uint32_t i = 0; i < r->rule.noperands; i++)
		any |= suspect_below(el, r->slots[1 + i], depth - 1);
	return any;
}

bool tsr_aside_suspect(tsr_eval *ev, tsr_value v)
{
	tsr_elab *el = tsr_elab_of(ev);
	return el->aside && v.kind == TSR_VALUE_TENSOR && suspect_below(el, v.tensor.id, 6);
}

/* ---- one way through a function ----------------------------------------------------------------------------------------------- */

typedef struct way {
	struct tsr_aside aside;
	tsr_guess_arguments arguments;
	tsr_value result;
} way;

static tsr_value definition(tsr_elab *el, const tsr_env *env, const tsr_ast *item)
{
	tsr_instance *instance = tsr_instance_new(el->ev, NULL);
	const tsr_env *inside = env;
	if (item->let.level != TSR_LEVEL_CONFIG)
		inside = tsr_env_frame(el->arena, env, tsr_frame_new(el->arena, instance, false));
	instance->open = true;
	tsr_value v = tsr_evaluate_let(el->ev, item->let.level, inside, item);
	instance->open = false;
	return v;
}

/* What a function gives is applied too, as long as it is a function: { w } of the closure, then x. */
static void go(tsr_elab *el, const tsr_env *env, const tsr_ast *item, tsr_guess *guess, way *w)
{
	w->arguments.n = 0;
	for (uint32_t attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
		begin(el, &w->aside);
		w->arguments = (tsr_guess_arguments){0};
		tsr_guess_begin(el->ev, guess);
		w->result = definition(el, env, item);
		for (uint32_t i = 0; i < 4 && w->result.kind == TSR_VALUE_FUNCTION; i++)
			w->result = tsr_guess_apply(el->ev, w->result, TSR_NOWHERE, &w->arguments);
		tsr_guess_end(el->ev, guess);
		if (!guess->again)
			return;
		forget_mistakes(el, &w->aside);
		end(el, &w->aside);
	}
	begin(el, &w->aside);                          /* nothing came of it */
	w->result = TSR_POISON;
	guess->given_up = true;
}

/* Mistakes that no argument can mend. Others depend on files, or on values that were made up here. */
static bool is_lasting(tsr_diag_code code)
{
	switch ((int)code) {
	case TSR_E_SIZE_CLASH: case TSR_E_BASIS_CLASH: case TSR_E_RANK_CLASH: case TSR_E_CLAIM_FREE: case TSR_E_CONV_TILING:
	case TSR_E_INFINITE_RANK: case TSR_E_TOTAL: case TSR_E_CONCAT: case TSR_E_POSITION: case TSR_E_BAD_SPEC: case TSR_E_LOGIC:
	case TSR_E_UNKNOWN_NAME: case TSR_E_LITERAL: return true;
	default: return false;
	}
}

static bool keep_lasting(tsr_elab *el, const struct tsr_aside *a)
{
	tsr_compiler *tc = el->tc;
	uint32_t n = a->diags;
	for (uint32_t i = a->diags; i < tc->diags.n; i++)
		if (is_lasting(tc->diags.at[i]->code))
			tc->diags.at[n++] = tc->diags.at[i];
	tc->nerrors = a->errors + (n - a->diags);
	tc->nwarnings = a->warnings;
	tc->diags.n = n;
	return n > a->diags;
}

/* Every way, with numbers that are not known and then with the defaults. */
bool tsr_scheme_check(tsr_elab *el, const tsr_env *env, const tsr_ast *item, tsr_value f)
{
	way w;
	for (int defaults = 0; defaults <= tsr_guess_has_defaults(f); defaults++) {
		tsr_guess *guess = tsr_guess_new(el->ev);
		guess->defaults = defaults;
		uint32_t turns = 0;
		do {
			go(el, env, item, guess, &w);
			end(el, &w.aside);
			if (guess->unsure)
				forget_mistakes(el, &w.aside);
			else if (keep_lasting(el, &w.aside))
				return true;
		} while (tsr_guess_next(guess) && ++turns < MOST_WAYS);
	}
	return false;
}

/* ---- as text -------------------------------------------------------------------------------------------------------------------- */

typedef struct said { tsr_name name; tsr_value value; } said;
typedef TSR_VEC(said) says;

static void announce(tsr_elab *el, tsr_namer *n, tsr_value v)
{
	if (v.kind == TSR_VALUE_UNKNOWN && v.unknown->kind == TSR_UNKNOWN_TENSOR)
		v = tsr_value_tensor(v.unknown->tensor);
	if (v.kind == TSR_VALUE_TENSOR && v.tensor.id != TSR_NONE)
		tsr_namer_announce(n, &tsr_elab_tensor(el, v.tensor.id)->shape);
	if (v.kind == TSR_VALUE_UNKNOWN && v.unknown->kind == TSR_UNKNOWN_LIST)
		v = v.unknown->list;
	if (v.kind == TSR_VALUE_TUPLE || v.kind == TSR_VALUE_LIST)
		for (uint32_t i = 0; i < v.items.n; i++)
			announce(el, n, v.items.at[i]);
}

static void value_text(tsr_elab *el, tsr_namer *n, tsr_text *t, tsr_value v)
{
	if (v.kind == TSR_VALUE_UNKNOWN && v.unknown->kind == TSR_UNKNOWN_TENSOR)
		v = tsr_value_tensor(v.unknown->tensor);
	if (v.kind == TSR_VALUE_TENSOR && v.tensor.id != TSR_NONE) {
		tsr_text_add(t, tsr_namer_shape(n, &tsr_elab_tensor(el, v.tensor.id)->shape));
	} else if (v.kind == TSR_VALUE_TUPLE || v.kind == TSR_VALUE_LIST) {
		bool list = v.kind == TSR_VALUE_LIST;
		tsr_text_char(t, list ? '[' : '(');
		for (uint32_t i = 0; i < v.items.n; i++) {
			tsr_text_add(t, !i ? "" : list ? ";  " : ",  ");
			value_text(el, n, t, v.items.at[i]);
		}
		tsr_text_char(t, list ? ']' : ')');
	} else if (v.kind == TSR_VALUE_UNKNOWN && v.unknown->kind == TSR_UNKNOWN_LIST) {
		value_text(el, n, t, v.unknown->list);
	} else if (v.kind == TSR_VALUE_UNKNOWN) {
		tsr_text_add(t, v.unknown->kind == TSR_UNKNOWN_CONFIG ? v.unknown->text : "anything");
	} else {
		tsr_text_add(t, tsr_value_kind_name(v));
	}
}

/* The tensors among the arguments, each with its name. */
static void tensors_of(tsr_elab *el, tsr_name name, tsr_value v, bool labelled, says *out)
{
	bool unknown = v.kind == TSR_VALUE_UNKNOWN;
	if (unknown && v.unknown->kind != TSR_UNKNOWN_CONFIG && !(labelled && v.unknown->kind == TSR_UNKNOWN_OPEN))
		tsr_push(el->arena, out, ((said){v.unknown->text[0] == '_' ? name : v.unknown->text, v}));
	for (uint32_t i = 0; v.kind == TSR_VALUE_TUPLE && i < v.items.n; i++)
		tensors_of(el, name, v.items.at[i], labelled, out);
}

static const char *head(tsr_elab *el, const way *w, tsr_name name)
{
	bool word = (name[0] >= 'a' && name[0] <= 'z') || name[0] == '_';
	tsr_text t;
	tsr_text_init(&t, el->arena);
	tsr_text_addf(&t, word ? "%s" : "( %s )", name);
	for (uint32_t i = 0; i < w->arguments.n; i++) {
		const tsr_guess_argument *a = &w->arguments.at[i];
		tsr_text_addf(&t, a->unit ? " ()" : " %s%s", a->kind == TSR_ARG_LABEL ? "~" : a->kind == TSR_ARG_OPTION ? "?" : "", a->name);
	}
	return tsr_text_str(&t);
}

/* How this way differs from the first. */
static const char *turn(tsr_elab *el, const tsr_guess *g)
{
	tsr_text t;
	tsr_text_init(&t, el->arena);
	uint32_t with = 0;
	tsr_text_add(&t, "  or");
	for (uint32_t i = 0; i < g->at; i++) {
		const tsr_choice *c = &g->choices.at[i];
		uint32_t taken = (c->first + c->turn) % c->n;
		if (c->turn == 0)
			continue;
		switch (c->kind) {
		case TSR_CHOICE_FLAG: tsr_text_addf(&t, "%s ~%s:%s", with++ ? "" : " with", c->what, taken ? "true" : "false"); break;
		case TSR_CHOICE_GIVEN: tsr_text_addf(&t, "%s ~%s", with++ ? "" : " with", c->what); break;
		case TSR_CHOICE_IF: tsr_text_addf(&t, " unless %s", c->what); break;
		case TSR_CHOICE_MATCH: tsr_text_addf(&t, " in case %u of %s", taken + 1, c->what); break;
		}
	}
	return tsr_text_str(&t);
}

/* A part of a scheme: on the line where there is room, else on the next. */
static void part(tsr_text *t, size_t *line, const char *word, const char *text)
{
	enum { WIDTH = 118 };
	size_t here = t->n - *line, n = strlen(word) + strlen(text) + 4;
	if (here + n > WIDTH && here > 6) {
		tsr_text_add(t, "\n   ");
		*line = t->n - 3;
	} else {
		tsr_text_add(t, " ");
	}
	tsr_text_addf(t, " %s%s%s", word, *word ? " " : "", text);
}

static const char *tensor_part(tsr_elab *el, tsr_namer *n, tsr_name name, tsr_value v, const char *format)
{
	tsr_text t;
	tsr_text_init(&t, el->arena);
	value_text(el, n, &t, v);
	return tsr_format(el->arena, format, name, tsr_text_str(&t));
}

/* All of one way: "f x y :  x: n | 3,  y: 3  gives  n |  where ..  with { w : 3 -> 4 }". */
static const char *scheme_text(tsr_elab *el, const way *w, const char *first)
{
	tsr_namer *n = tsr_namer_new(el->g->store);
	tsr_text t, result;
	says tensors = {0};
	size_t line = 0;
	for (uint32_t i = 0; i < w->arguments.n; i++)
		tensors_of(el, w->arguments.at[i].name, w->arguments.at[i].value, w->arguments.at[i].kind != TSR_ARG_PLAIN, &tensors);
	for (uint32_t i = 0; i < tensors.n; i++)
		announce(el, n, tensors.at[i].value);
	announce(el, n, w->result);
	for (uint32_t i = w->aside.g.params.n; i < el->g->params.n; i++)
		announce(el, n, tsr_value_tensor(el->g->params.at[i]));
	tsr_text_init(&t, el->arena);
	tsr_text_init(&result, el->arena);
	tsr_text_addf(&t, "%s :", first);
	for (uint32_t i = 0; i < tensors.n; i++)
		part(&t, &line, "", tensor_part(el, n, tensors.at[i].name, tensors.at[i].value, i + 1 < tensors.n ? "%s: %s," : "%s: %s"));
	value_text(el, n, &result, w->result);
	part(&t, &line, "gives", tsr_format(el->arena, " %s", tsr_text_str(&result)));
	for (uint32_t i = w->aside.g.params.n; i < el->g->params.n; i++) {
		tsr_value p = tsr_value_tensor(el->g->params.at[i]);
		part(&t, &line, i == w->aside.g.params.n ? "with " : "", tensor_part(el, n, tsr_elab_tensor(el, p.tensor.id)->name, p, "{ %s : %s }"));
	}
	const char *where = tsr_namer_where(n);
	if (*where)
		part(&t, &line, "where ", where);
	return tsr_text_str(&t);
}

typedef struct told { const char *first, *other, *body; } told;

static void tell(tsr_elab *el, const way *w, const tsr_guess *guess, tsr_name name, told *out)
{
	out->body = scheme_text(el, w, "");
	out->first = scheme_text(el, w, head(el, w, name));
	out->other = scheme_text(el, w, turn(el, guess));
}

/* The text of the way that the guess stands at; false where it comes to nothing. */
static bool way_text(tsr_elab *el, const tsr_defined *f, tsr_guess *guess, FILE *notes, told *out)
{
	tsr_kept kept = {0};
	bool found = false;
	way w;
	uint32_t failed = 0;
	for (bool done = false; !done && kept.n < MOST_KEPT;) {
		go(el, f->env, f->item, guess, &w);
		if (w.result.kind == TSR_VALUE_UNKNOWN && w.result.unknown->kind == TSR_UNKNOWN_OPEN)
			w.result = tsr_aside_operand(el, w.result.unknown, TSR_NOWHERE);      /* an argument as it is */
		bool good = el->tc->nerrors == w.aside.errors && !guess->given_up && !tsr_value_is_poison(w.result);
		done = !good || tsr_store_principal(el->g->store, &kept, &failed);
		if (good && (done || kept.n + 1 == MOST_KEPT || failed == UINT32_MAX))
			tell(el, &w, guess, f->name, out), found = true;
		done |= failed == UINT32_MAX && !done;
		tsr_push(el->arena, &kept, failed);
		end(el, &w.aside);
		forget_mistakes(el, &w.aside);
	}
	for (uint32_t i = 0; notes && i < guess->passed.n; i++) {
		const tsr_passed *p = &guess->passed.at[i];
		tsr_position at = tsr_position_of(el->tc, p->span.file ? p->span : f->item->span);
		fprintf(notes, "%s:%u:%u: note: in the scheme of `%s` is passed over: %s\n", at.path, at.line, at.column, f->name, p->text);
	}
	return found;
}

/* The ways of a function that differ, the first one as the defaults say. */
static void print_function(tsr_elab *el, const tsr_defined *f, FILE *out, FILE *notes)
{
	told shown[MOST_SHOWN];
	uint32_t n = 0, turns = 0;
	tsr_guess *guess = tsr_guess_new(el->ev);
	do {
		bool news = way_text(el, f, guess, notes, &shown[n]);
		for (uint32_t i = 0; news && i < n; i++)
			news = strcmp(shown[i].body, shown[n].body) != 0;
		if (news)
			fprintf(out, "%s\n", n ? shown[n].other : shown[n].first);
		n += news;
	} while (tsr_guess_next(guess) && ++turns < MOST_WAYS && n < MOST_SHOWN);
}

void tsr_graph_print_schemes(tsr_graph *g, FILE *out, FILE *notes)
{
	tsr_elab *el = g->elab;
	for (uint32_t i = 0; i < el->functions.n; i++)
		print_function(el, &el->functions.at[i], out, notes);
}
