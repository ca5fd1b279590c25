/* Which passes run, in which order, and that each leaves a well-formed program behind. */
#include "pass.h"
#include "../base/text.h"
#include <string.h>

typedef struct entry { const char *name; void (*run)(tsr_pass *); int level; const char *requires; } entry;

static const entry entries[] = {
#define TSR_PASS(name, function, level, help, requires, breaks) { #name, function, level, requires },
#include "passes.def"
};
enum { ENTRIES = sizeof entries / sizeof *entries };

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

bool tsr_opt_run(tsr_loops *l, const tsr_target *target, const tsr_opt_options *options)
{
	tsr_pass p = { .l = l, .target = target, .options = options, .arena = l->tc->arena };
	if (options->passes)
		return run_named(&p, options->passes);
	for (int i = 0; i < ENTRIES; i++) {
		if (options->level >= entries[i].level)
			run_one(&p, &entries[i]);
	}
	return true;
}
