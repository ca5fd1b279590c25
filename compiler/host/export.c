/* Exported functions: their names in C, programs among them, and sizes that only a call gives.
 *
 * What stays from call to call has its memory when the context is opened, so no size of it may come from a call; and what one
 * function's call gives is not there in another's, nor while the program starts. */
#include "lower.h"
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------------------------------------- */

static bool is_word(const char *s)
{
	static const char *const words[] = {"alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class",
		"compl", "concept", "const", "constexpr", "continue", "ctx", "decltype", "default", "delete", "do", "double", "else", "enum",
		"explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable",
		"namespace", "new", "noexcept", "not", "nullptr", "operator", "or", "private", "protected", "public", "register", "requires",
		"restrict", "return", "shape", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true",
		"try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(s, words[i]))
			return true;
	return false;
}

static const char *plain(tsr_arena *a, const char *name)
{
	char *s = tsr_strdup(a, name);
	for (char *c = s; *c; c++)
		if (*c == '\'' || *c == '.')
			*c = '_';
	return s;
}

/* What C knows already, or another argument is called, gets a `_` behind it. */
static void add(tsr_hlower *l, tsr_host_export *x, tsr_c_arg arg)
{
	bool taken = true;
	for (arg.name = plain(l->arena, arg.name); taken; arg.name = taken ? tsr_format(l->arena, "%s_", arg.name) : arg.name) {
		taken = is_word(arg.name);
		for (uint32_t i = 0; i < x->args.n; i++)
			taken |= !strcmp(x->args.at[i].name, arg.name);
	}
	tsr_push(l->arena, &x->args, arg);
}

static bool is_argument(const tsr_export *x, tsr_name name)
{
	for (uint32_t i = 0; i < x->args.n; i++)
		if (x->args.at[i].name == name)
			return true;
	return false;
}

static void add_args(tsr_hlower *l, tsr_host_export *to)
{
	const tsr_export *x = to->x;
	for (uint32_t i = 0; i < x->symbols.n; i++)
		add(l, to, (tsr_c_arg){TSR_C_SIZE, tsr_store_symbol_get(l->g->store, x->symbols.at[i])->name, x->symbols.at[i], TSR_PART_VALUE});
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_export_arg *a = &x->args.at[i];
		bool tensor = a->tensor != TSR_NONE;
		add(l, to, (tsr_c_arg){tensor ? TSR_C_INPUT : TSR_C_NUMBER, a->name, tensor ? a->tensor : a->number, TSR_PART_VALUE});
	}
	for (uint32_t i = 0; i < x->results.n; i++) {
		const tsr_export_result *r = &x->results.at[i];
		const char *name = r->name && !is_argument(x, r->name) ? r->name : x->results.n > 1 ? tsr_format(l->arena, "result%u", i + 1) : "result";
		add(l, to, (tsr_c_arg){TSR_C_RESULT, name, r->tensor, r->part});
		l->host->results[2 * r->tensor + r->part]++;
	}
}

static bool from_file(const tsr_graph *g, tsr_size s)
{
	for (uint32_t i = 0; i < s.nterms; i++) {
		const tsr_symbol *y = tsr_store_symbol_get(g->store, s.terms[i].symbol);
		if (y->solved ? from_file(g, y->value) : y->derived ? from_file(g, y->dividend) : !y->exported)
			return true;
	}
	return false;
}

bool tsr_host_size_of_file(const tsr_host *h, const tsr_host_export *x, const tsr_c_arg *result)
{
	const tsr_tensor *t = tsr_tensor_get(h->graph, result->of);
	tsr_host_condition *all;
	uint32_t n = tsr_host_conditions(h->graph, (tsr_owner)(x - h->exports.at), &all);
	for (int k = 0; !t->poison && k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < t->solved.row[k].n; i++)
			if (from_file(h->graph, t->solved.row[k].axes[i].size))
				return true;
	for (uint32_t i = 0; i < n; i++)
		if (from_file(h->graph, all[i].left) || from_file(h->graph, all[i].right))
			return true;
	return false;
}

const char *tsr_host_size_name(const tsr_host *h, const tsr_host_export *x, const tsr_c_arg *result)
{
	return x->x->results.n == 1 ? x->name : tsr_format(h->graph->tc->arena, "%s_%s", x->name, result->name);
}

static void claim(tsr_hlower *l, tsr_map *names, const char *name, const tsr_export *x)
{
	tsr_map_entry *e = tsr_map_put(names, tsr_key(tsr_intern(l->tc->names, name)));
	const tsr_export *other = e->value.p;
	if (!e->value.p)
		e->value.p = (void *)(uintptr_t)x;
	if (!other || other == x)
		return;
	tsr_diag *d = tsr_report(l->tc, TSR_E_EXPORT, x->at, "C would have two functions `%s`", name);
	tsr_note_at(l->tc, d, other->at, "the other one belongs to this exported function");
}

/* Every function has a name of its own in the header: NAME, NAME_elements, NAME_shape, and the header's `open` and `main`. */
static void claim_names(tsr_hlower *l, tsr_map *names, const tsr_host_export *x)
{
	if (!strcmp(x->name, "open") || !strcmp(x->name, "main"))
		tsr_report(l->tc, TSR_E_EXPORT, x->x->at, "`%s` is a function that a header has already; give this one another name", x->name);
	claim(l, names, x->name, x->x);
	for (uint32_t i = 0; i < x->args.n; i++) {
		if (x->args.at[i].kind != TSR_C_RESULT)
			continue;
		const char *stem = tsr_host_size_name(l->host, x, &x->args.at[i]);
		claim(l, names, tsr_format(l->arena, "%s_elements", stem), x->x);
		claim(l, names, tsr_format(l->arena, "%s_shape", stem), x->x);
	}
}

/* ---- programs --------------------------------------------------------------------------------------------------------------- */

/* A number that C passes is a variable, set on entry: `run step ~i` may change the runtime number of that name. */
static tsr_hstmt *program(tsr_hlower *l, const tsr_export *x)
{
	tsr_hstmt *block = TSR_NEW(l->arena, tsr_hstmt);
	tsr_hscope *scopes = TSR_NEW_N(l->arena, tsr_hscope, x->args.n + 1);
	block->kind = TSR_H_SEQ;
	block->span = x->span;
	l->env = x->program->env;
	l->out = &block->seq;
	for (uint32_t i = 0; i < x->args.n; i++) {
		const tsr_export_arg *a = &x->args.at[i];
		if (a->number == TSR_NONE)
			continue;
		tsr_host_type type = l->g->numbers.at[a->number]->integer ? TSR_HOST_INT : TSR_HOST_FLOAT;
		tsr_hexpr *value = tsr_hexpr_new(l, TSR_H_NUMBER, type, a->span);
		value->number = a->number;
		scopes[i] = (tsr_hscope){l->scope, a->name, tsr_host_var(l, type), false};
		l->scope = &scopes[i];
		tsr_hstmt *s = tsr_hstmt_add(l, TSR_H_SET, a->span);
		s->set.var = scopes[i].var;
		s->set.value = value;
	}
	tsr_host_effect(l, x->program->body);
	l->scope = NULL;
	l->out = NULL;
	return block;
}

void tsr_host_exports(tsr_hlower *l)
{
	tsr_map names;
	tsr_map_init(&names, l->arena);
	for (uint32_t i = 0; i < l->g->exports.n; i++) {
		tsr_host_export x = {.x = l->g->exports.at[i]};
		x.name = plain(l->arena, x.x->name);
		add_args(l, &x);
		claim_names(l, &names, &x);
		if (x.x->program)
			x.body = program(l, x.x);
		tsr_push(l->arena, &l->host->exports, x);
	}
}

/* ---- sizes that a call gives -------------------------------------------------------------------------------------------------- */

static tsr_owner owner_of_tensor(const tsr_graph *g, const tsr_tensor *t)
{
	tsr_owner o = TSR_OWNER_PROGRAM;
	for (int k = 0; !t->poison && k < TSR_KINDS; k++)
		for (uint32_t i = 0; i < t->solved.row[k].n; i++) {
			tsr_owner axis = tsr_host_owner(g, t->solved.row[k].axes[i].size);
			o = o == TSR_OWNER_PROGRAM || o == axis ? axis : axis == TSR_OWNER_PROGRAM ? o : TSR_OWNER_MANY;
		}
	return o;
}

static void misplaced(const tsr_graph *g, const tsr_tensor *t, tsr_owner o)
{
	const char *shape = tsr_solved_str(g->store, &t->solved);
	tsr_diag *d;
	if (o == TSR_OWNER_MANY) {
		tsr_report(g->tc, TSR_E_EXPORT_SIZE, t->span, "`%s` : %s has sizes of different exported functions, which are called one at a time",
			t->name, shape);
		return;
	}
	const char *name = g->exports.at[o]->name;
	d = tsr_report(g->tc, TSR_E_EXPORT_SIZE, t->span, "`%s` : %s is there before `%s` is called, and only a call gives its size", t->name,
		shape, name);
	tsr_note_at(g->tc, d, g->exports.at[o]->at, "`%s` gives it", name);
	tsr_hint(g->tc, d, t->kind == TSR_TENSOR_PARAM ? "give the argument's axis a number in place of a `?`"
		: "declare the state inside `%s`: there it begins at zero in each call", name);
}

/* Who runs each code: TSR_OWNER_PROGRAM, or one exported function; MANY when several do. */
typedef struct runners { tsr_owner *who; bool *known; } runners;

static void runs(runners *r, tsr_code_id code, tsr_owner by)
{
	r->who[code] = !r->known[code] || r->who[code] == by ? by : TSR_OWNER_MANY;
	r->known[code] = true;
}

static void find_runs(runners *r, const tsr_hstmt *s, tsr_owner by)
{
	if (!s)
		return;
	switch (s->kind) {
	case TSR_H_IF:
		find_runs(r, s->iff.then, by);
		find_runs(r, s->iff.other, by);
		break;
	case TSR_H_WHILE: find_runs(r, s->whil.body, by); break;
	case TSR_H_FOR: find_runs(r, s->loop.body, by); break;
	case TSR_H_RUN: runs(r, s->run.code, by); break;
	case TSR_H_SEQ:
		for (uint32_t i = 0; i < s->seq.n; i++)
			find_runs(r, s->seq.at[i], by);
		break;
	case TSR_H_SET: case TSR_H_STORE: case TSR_H_DO: case TSR_H_PRINT_TENSOR: break;
	}
}

typedef struct touching { const tsr_host *h; const tsr_unit *unit; tsr_owner by; bool *told; } touching;

static void touch(void *user, const tsr_operand *o)
{
	const touching *u = user;
	const tsr_graph *g = u->h->graph;
	const tsr_tensor *t = tsr_tensor_get(g, o->tensor);
	tsr_owner owner = owner_of_tensor(g, t);
	if (owner == TSR_OWNER_PROGRAM || owner == TSR_OWNER_MANY || owner == u->by || u->told[t->id])
		return;
	u->told[t->id] = true;
	tsr_report(g->tc, TSR_E_EXPORT_SIZE, t->span, "`%s` : %s is computed by `%s`, and only a call of `%s` gives its size", t->name,
		tsr_solved_str(g->store, &t->solved), u->unit->name, g->exports.at[owner]->name);
}

static runners runners_of(const tsr_host *h, const tsr_code *code)
{
	tsr_arena *a = h->graph->tc->arena;
	runners r = {TSR_NEW_N(a, tsr_owner, code->units.n + 1), TSR_NEW_N(a, bool, code->units.n + 1)};
	find_runs(&r, h->body, TSR_OWNER_PROGRAM);
	for (uint32_t i = 0; i < h->exports.n; i++) {
		find_runs(&r, h->exports.at[i].body, i);
		if (h->exports.at[i].x->code != TSR_NONE)
			runs(&r, h->exports.at[i].x->code, i);
	}
	return r;
}

void tsr_host_returns(tsr_host *h, const tsr_code *code)
{
	if (!h || !code)
		return;
	runners r = runners_of(h, code);
	for (uint32_t i = 0; i < h->exports.n; i++) {
		const tsr_export *x = h->exports.at[i].x;
		for (uint32_t k = 0; k < x->results.n; k++) {
			uint32_t at = 2 * x->results.at[k].tensor + x->results.at[k].part;
			bool alone = x->code != TSR_NONE && r.who[x->code] == i && h->results[at] == 1 && !h->observed[at];
			h->returned[at] = alone ? 1 + x->code : 0;
			h->observed[at] = true;
		}
	}
}

static void check_units(const tsr_host *h, const tsr_code *code)
{
	runners r = runners_of(h, code);
	bool *told = TSR_NEW_N(h->graph->tc->arena, bool, h->graph->tensors.n + 1);
	for (uint32_t i = 0; i < code->units.n; i++) {
		touching u = {h, code->units.at[i], r.known[i] ? r.who[i] : TSR_OWNER_PROGRAM, told};
		for (uint32_t k = 0; k < u.unit->steps.n; k++) {
			const tsr_step *s = &u.unit->steps.at[k];
			if (s->kind != TSR_STEP_ASSIGN)
				continue;
			touch(&u, &s->assign.a.target);
			tsr_rhs_operands(s->assign.a.rhs, touch, &u);
		}
	}
}

static void warn(const tsr_host *h, tsr_owner owner)
{
	const tsr_graph *g = h->graph;
	tsr_host_condition *all;
	uint32_t n = tsr_host_conditions(g, owner, &all);
	for (uint32_t i = 0; i < n; i++) {
		if (owner == TSR_OWNER_MANY) {
			tsr_report(g->tc, TSR_E_EXPORT_SIZE, all[i].span, "%s needs sizes of different exported functions to agree, which are called one at a time",
				all[i].who);
			continue;
		}
		tsr_diag *d = tsr_report(g->tc, TSR_W_EXPORT_SIZES, all[i].span, "`%s` takes only sizes for which %s", g->exports.at[owner]->name, all[i].fact);
		tsr_note_at(g->tc, d, TSR_NOWHERE, "%s needs it, and each call tests it", all[i].who);
		if (!all[i].at_least && all[i].left.nterms == 1 && tsr_size_is_const(all[i].right) && all[i].left.k == 0)
			tsr_hint(g->tc, d, "write %lld in the signature where it is always that", (long long)all[i].right.k);
	}
}

void tsr_host_call_sizes(const tsr_host *h, const tsr_code *code)
{
	if (!h || !h->exports.n)
		return;
	const tsr_graph *g = h->graph;
	for (uint32_t i = 0; i < g->tensors.n; i++) {
		const tsr_tensor *t = g->tensors.at[i];
		tsr_owner o = owner_of_tensor(g, t);
		bool stays = t->kind == TSR_TENSOR_PARAM || t->kind == TSR_TENSOR_STATE || t->kind == TSR_TENSOR_FILE;
		bool own = o < g->exports.n && t->kind == TSR_TENSOR_STATE && t->id >= g->exports.at[o]->from && t->id < g->exports.at[o]->to;
		if (o == TSR_OWNER_MANY || (o != TSR_OWNER_PROGRAM && stays && !own))
			misplaced(g, t, o);
	}
	for (tsr_owner i = 0; i < h->exports.n; i++)
		warn(h, i);
	warn(h, TSR_OWNER_MANY);
	if (code && !g->tc->nerrors)
		check_units(h, code);
}
