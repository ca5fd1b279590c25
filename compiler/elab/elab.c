/* Elaboration: the modules of a program evaluated in order.  A top-level let%op or let%cd is a definition with a frame of
 * its own; what it binds is exported under its name.  let%main is kept for the program level. */
#include "state.h"
#include "../module/module.h"
#include <string.h>

static const tsr_map *module_table(tsr_eval *ev, tsr_name qualifier, tsr_span span)
{
	tsr_elab *el = tsr_elab_of(ev);
	tsr_module *m = tsr_modules_find(el->program, qualifier);
	if (!m) {
		tsr_module_missing(el->tc, el->program, qualifier, span);
		return NULL;
	}
	return &el->exports[m->index];
}

static uint32_t mark(tsr_eval *ev) { return tsr_elab_of(ev)->g->tensors.n; }

/* The result of an inner let is the outer one's too, and takes the outer name. */
void tsr_elab_named(tsr_eval *ev, tsr_name path, tsr_value v, uint32_t since)
{
	tsr_elab *el = tsr_elab_of(ev);
	if (v.kind != TSR_VALUE_TENSOR || v.tensor.part != TSR_PART_VALUE || v.tensor.id == TSR_NONE || v.tensor.id < since)
		return;
	tsr_tensor *t = tsr_elab_tensor(el, v.tensor.id);
	if (t->name && t->kind == TSR_TENSOR_OP)
		tsr_tensor_drop_name(el, t);
	if (!t->name)
		tsr_tensor_set_name(el, t, path);
}

static const tsr_hooks hooks = {
	.literal = tsr_elab_literal, .declare = tsr_elab_declare, .assign = tsr_cd_assign, .sequence = tsr_cd_sequence,
	.comment = tsr_cd_comment, .field = tsr_cd_field, .region = tsr_elab_regions, .capture = tsr_elab_capture, .mark = mark,
	.named = tsr_elab_named,
	.enter = tsr_share_enter, .leave = tsr_share_leave, .suspect = tsr_aside_suspect, .module = module_table,
};

/* ---- items ---------------------------------------------------------------------------------------------------------------------- */

static void export_name(tsr_elab *el, tsr_map *exports, tsr_name name, tsr_value v)
{
	tsr_value *kept = TSR_NEW(el->arena, tsr_value);
	*kept = v;
	tsr_map_put(exports, tsr_key(name))->value.p = kept;
}

static void export_pattern(tsr_elab *el, tsr_map *exports, const tsr_env *env, const tsr_pat *p)
{
	tsr_value v;
	if (p->kind == TSR_PAT_NAME && tsr_env_lookup(env, p->name, &v))
		export_name(el, exports, p->name, v);
	for (uint32_t i = 0; i < p->items.n; i++)
		export_pattern(el, exports, env, p->items.at[i]);
}

static void show(tsr_elab *el, const tsr_pat *pat, tsr_value v)
{
	if (v.kind == TSR_VALUE_TUPLE && pat->kind == TSR_PAT_TUPLE)
		for (uint32_t i = 0; i < v.items.n && i < pat->items.n; i++)
			show(el, pat->items.at[i], v.items.at[i]);
	if (v.kind != TSR_VALUE_TENSOR || v.tensor.part != TSR_PART_VALUE || pat->kind != TSR_PAT_NAME)
		return;
	tsr_tensor_show(el, tsr_tensor_get(el->g, v.tensor.id));
}

static const tsr_env *let_item(tsr_elab *el, const tsr_env *env, tsr_map *exports, const tsr_ast *item, bool main_module)
{
	tsr_level level = item->let.level;
	const tsr_env *inside = env;
	tsr_instance *instance = NULL;
	if (level == TSR_LEVEL_MAIN) {
		if (!main_module)
			return env;
		struct tsr_main *m = TSR_NEW(el->arena, struct tsr_main);
		*m = (struct tsr_main){item->let.value, (tsr_env *)env, item->span};
		el->g->main = m;
		return env;
	}
	if (level != TSR_LEVEL_CONFIG) {
		instance = tsr_instance_new(el->ev, item->let.pat->kind == TSR_PAT_NAME ? item->let.pat->name : NULL);
		inside = tsr_env_frame(el->arena, env, tsr_frame_new(el->arena, instance, false));
		instance->open = true;
	}
	tsr_value v = tsr_evaluate_let(el->ev, level, inside, item);
	if (instance)
		instance->open = false;
	const tsr_env *bound = tsr_match(el->ev, env, item->let.pat, v);
	if (!bound) {
		tsr_eval_report(el->ev, TSR_E_NO_CASE, item->let.pat->span, "the value does not have this form: it is %s",
		                tsr_function_describe(el->arena, v));
		bound = tsr_match(el->ev, env, item->let.pat, TSR_POISON);
	}
	export_pattern(el, exports, bound, item->let.pat);
	if (main_module)
		show(el, item->let.pat, v);
	if (main_module && v.kind == TSR_VALUE_CODE && item->let.pat->kind == TSR_PAT_NAME)
		tsr_push(el->arena, &el->codes, ((tsr_named_code){item->let.pat->name, item->span, v.code}));
	return bound;
}

static const tsr_env *open_item(tsr_elab *el, const tsr_env *env, const tsr_ast *item)
{
	tsr_module *m = tsr_modules_find(el->program, item->open.module);
	return m ? tsr_env_table(el->arena, env, &el->exports[m->index]) : env;
}

/* What is wrong with a definition whatever it is applied to is said here, once: a function with a mistake is poison. */
static const tsr_env *check_item(tsr_elab *el, const tsr_env *before, const tsr_env *env, tsr_map *exports, const tsr_ast *item, bool shown)
{
	uint32_t mistakes = el->tc->nerrors;
	tsr_value v;
	tsr_elab_check_names(el, before, item);
	if (item->let.pat->kind != TSR_PAT_NAME || !tsr_env_lookup(env, item->let.pat->name, &v) || v.kind != TSR_VALUE_FUNCTION)
		return env;
	bool config = item->let.level == TSR_LEVEL_CONFIG;
	if (!config && !item->let.params.n && item->let.value->kind != TSR_AST_FUN)
		return env;
	if (shown)
		tsr_push(el->arena, &el->functions, ((tsr_defined){item, before, item->let.pat->name, config}));
	if (config || el->tc->nerrors > mistakes || !tsr_scheme_check(el, before, item, v))
		return env;
	export_name(el, exports, item->let.pat->name, TSR_POISON);
	return tsr_match(el->ev, env, item->let.pat, TSR_POISON);
}

static void evaluate_module(tsr_elab *el, const tsr_module *m)
{
	tsr_map *exports = &el->exports[m->index];
	bool main_module = m == el->program->main;
	/* the library's functions are judged where they are applied: a program may leave out operations that it does not use */
	bool own = main_module || !tsr_source_in_library(el->tc, m->ast->file);
	const tsr_env *env = tsr_eval_root(el->ev);
	for (uint32_t i = 0; i < m->prelude.n; i++)
		env = tsr_env_table(el->arena, env, &el->exports[m->prelude.at[i]->index]);
	for (uint32_t i = 0; i < m->ast->items.n; i++) {
		const tsr_ast *item = m->ast->items.at[i];
		if (item->kind == TSR_AST_OPEN)
			env = open_item(el, env, item);
		else if (item->kind == TSR_AST_LET) {
			const tsr_env *before = env;
			tsr_item known = {.ast = item, .first = el->g->tensors.n, .errors = el->tc->nerrors};
			env = let_item(el, env, exports, item, main_module);
			if (own && item->let.level != TSR_LEVEL_MAIN)
				env = check_item(el, before, env, exports, item, main_module);
			known.errors = el->tc->nerrors - known.errors;
			known.mistaken = known.errors > 0;
			if (main_module)
				tsr_push(el->arena, &el->items, known);
		}
		else if (item->kind == TSR_AST_EXPORT && main_module)
			tsr_elab_export(el, env, item);
	}
}

/* ---- the program ------------------------------------------------------------------------------------------------------------------- */

static void initialisation(tsr_elab *el)
{
	tsr_codetree *c = tsr_codetree_new(el, TSR_CODE_SEQ, TSR_NOWHERE);
	for (uint32_t i = 0; i < el->inits.n; i++)
		tsr_push(el->arena, &c->seq, el->inits.at[i]);
	el->g->init = tsr_elab_code(el->g, c, tsr_elab_name(el, "init"), TSR_NOWHERE);
}

tsr_graph *tsr_elaborate(tsr_compiler *tc, const char *path, tsr_share_level share)
{
	tsr_elab *el = TSR_NEW(tc->arena, tsr_elab);
	tsr_graph *g = TSR_NEW(tc->arena, tsr_graph);
	el->tc = g->tc = tc;
	el->arena = tc->arena;
	el->g = g;
	g->elab = el;
	g->store = tsr_store_new(tc);
	tsr_map *maps[] = {&el->used, &el->turns, &el->numbers, &el->number_tensors, &el->code_ids, &el->forward_ids};
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		tsr_map_init(maps[i], tc->arena);
	el->share = share != TSR_SHARE_NONE ? tsr_share_new(el, share) : NULL;
	if (el->share)
		tsr_store_guess(g->store);
	el->ev = tsr_eval_new(tc, &hooks, el);
	tsr_eval_add_builtins(el->ev, tsr_op_nbuiltins, tsr_op_builtins);
	tsr_eval_add_builtins(el->ev, tsr_terminal_nbuiltins, tsr_terminal_builtins);
	tsr_eval_add_builtins(el->ev, tsr_file_nbuiltins, tsr_file_builtins);
	el->program = tsr_modules_load(tc, path);
	g->file = el->program->main ? el->program->main->ast->file : 0;
	el->exports = TSR_NEW_N(tc->arena, tsr_map, el->program->order.n + 1);
	for (uint32_t i = 0; i <= el->program->order.n; i++)
		tsr_map_init(&el->exports[i], tc->arena);
	for (uint32_t i = 0; i < el->program->order.n; i++)
		evaluate_module(el, el->program->order.at[i]);
	if (el->share)
		tsr_share_solve(el, true);
	tsr_elab_finish_names(el);
	initialisation(el);
	for (uint32_t i = 0; !g->main && !g->exports.n && i < el->codes.n; i++)
		tsr_elab_code(g, el->codes.at[i].tree, el->codes.at[i].name, el->codes.at[i].span);
	return g;
}
