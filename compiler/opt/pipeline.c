/* Which passes run, in which order, and that each leaves a well-formed program behind. */
#include "pass.h"
#include "../base/text.h"
#include <stdarg.h>
#include <string.h>

typedef struct entry { const char *name; void (*run)(tsr_pass *); int level; const char *requires; } entry;

static const entry entries[] = {
#define TSR_PASS(name, function, level, help, requires, breaks) { #name, function, level, requires },
#include "passes.def"
};
enum { ENTRIES = sizeof entries / sizeof *entries };

void tsr_pass_note(tsr_pass *p, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	size_t size = (size_t)vsnprintf(NULL, 0, fmt, args) + 1;
	char *line = tsr_alloc(p->arena, size);
	vsnprintf(line, size, fmt, again);
	va_end(again);
	va_end(args);
	tsr_push(p->arena, &p->l->notes, line);
}

static void run_one(tsr_pass *p, const entry *e)
{
	p->changes = 0;
	e->run(p);
	tsr_loops_check(p->l, e->name);
}

static bool run_named(tsr_pass *p, const char *names)
{
	while (*names) {
		size_t n = strcspn(names, ",");
		const entry *found = NULL;
		for (int i = 0; i < ENTRIES; i++)
			if (strlen(entries[i].name) == n && !strncmp(entries[i].name, names, n))
				found = &entries[i];
		if (!found) {
			tsr_diag *d = tsr_report(p->l->tc, TSR_E_PASS, TSR_NOWHERE, "no pass is called %.*s", (int)n, names);
			tsr_text known;
			tsr_text_init(&known, p->arena);
			for (int i = 0; i < ENTRIES; i++)
				tsr_text_addf(&known, "%s%s", i ? " " : "", entries[i].name);
			tsr_hint(p->l->tc, d, "the passes are: %s", tsr_text_str(&known));
			return false;
		}
		run_one(p, found);
		names += n + (names[n] == ',');
	}
	return true;
}

static tsr_expr *keep(tsr_pass *p, const tsr_expr *e) { return tsr_expr_place(p->arena, p->l, e, 0, NULL, NULL); }

/* Passes rewrite expressions in place, so no two statements may share a node. */
static void unshare(tsr_pass *p, tsr_stmt *s)
{
	tsr_stmts *body = s->kind == TSR_STMT_KERNEL ? &s->kernel.body : s->kind == TSR_STMT_FOR ? &s->loop.body
		: s->kind == TSR_STMT_IF ? &s->cond.body : NULL;
	for (uint32_t i = 0; body && i < body->n; i++)
		unshare(p, body->at[i]);
	if (s->kind == TSR_STMT_STORE || s->kind == TSR_STMT_UPDATE)
		s->store.value = keep(p, s->store.value);
	else if (s->kind == TSR_STMT_LET || s->kind == TSR_STMT_SET)
		s->let.value = keep(p, s->let.value);
	else if (s->kind == TSR_STMT_LETSYM)
		s->letsym.value = keep(p, s->letsym.value);
}

bool tsr_opt_run(tsr_loops *l, const tsr_target *target, const tsr_opt_options *options)
{
	tsr_pass p = { .l = l, .target = target, .options = options, .arena = l->tc->arena };
	for (uint32_t u = 0; u < l->units.n; u++)
		for (uint32_t i = 0; i < l->units.at[u]->body.n; i++)
			unshare(&p, l->units.at[u]->body.at[i]);
	if (options->passes)
		return run_named(&p, options->passes);
	for (int i = 0; i < ENTRIES; i++) {
		bool joins = entries[i].run == tsr_pass_virtual || entries[i].run == tsr_pass_fuse || entries[i].run == tsr_pass_copies || entries[i].run == tsr_pass_rows
			|| entries[i].run == tsr_pass_strip || entries[i].run == tsr_pass_blocks || entries[i].run == tsr_pass_tail || entries[i].run == tsr_pass_points;
		bool divides = entries[i].run == tsr_pass_threads, may_divide = options->threads != TSR_THREADS_NONE && !options->whole;
		if (options->level >= entries[i].level && (options->fuse || !joins) && (may_divide || !divides))
			run_one(&p, &entries[i]);
	}
	return true;
}
