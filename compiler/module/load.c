/* Finding, reading and ordering the files of a program.  Depth first: a module is complete once everything that it opens
 * or names is; meeting one that is still being loaded is a cycle. */
#include "module.h"
#include "../base/text.h"
#include <errno.h>
#include <string.h>

typedef struct loader {
	tsr_compiler *tc;
	tsr_modules *all;
	const char *home;            /* the program's folder with its '/', or "" */
	tsr_module *current;
} loader;

static void load(loader *l, tsr_module *m);

tsr_module *tsr_modules_find(const tsr_modules *all, tsr_name name)
{
	for (uint32_t i = 0; i < all->known.n; i++)
		if (all->known.at[i]->name == name)
			return all->known.at[i];
	return NULL;
}

/* ---- places */

static const char *file_name(tsr_arena *a, tsr_name module)
{
	char *s = tsr_format(a, "%s.tsr", module);
	if (*s >= 'A' && *s <= 'Z')
		*s = (char)(*s - 'A' + 'a');
	return s;
}

static const char *folder_of(tsr_arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? tsr_strndup(a, path, (size_t)(slash + 1 - path)) : "";
}

/* The i-th place to look in, as a prefix of a path; NULL after the last. */
static const char *place(tsr_compiler *tc, const char *home, uint32_t i)
{
	if (i == 0)
		return home;
	if (i <= tc->include_dirs.n)
		return tsr_format(tc->arena, "%s/", tc->include_dirs.at[i - 1]);
	if (i == tc->include_dirs.n + 1 && tc->stdlib_dir)
		return tsr_format(tc->arena, "%s/", tc->stdlib_dir);
	return NULL;
}

static uint32_t find_file(tsr_compiler *tc, const char *home, tsr_name module)
{
	const char *file = file_name(tc->arena, module), *where;
	for (uint32_t i = 0; (where = place(tc, home, i)) != NULL; i++) {
		uint32_t source = tsr_source_load(tc, tsr_format(tc->arena, "%s%s", where, file));
		if (source)
			return source;
	}
	return 0;
}

void tsr_module_missing(tsr_compiler *tc, const tsr_modules *all, tsr_name name, tsr_span span)
{
	const char *home = all->main ? folder_of(tc->arena, all->main->path) : "";
	tsr_text t;
	tsr_text_init(&t, tc->arena);
	tsr_text_addf(&t, "beside the program (%s)", *home ? home : "./");
	for (uint32_t i = 0; i < tc->include_dirs.n; i++)
		tsr_text_addf(&t, ", in %s/", tc->include_dirs.at[i]);
	tsr_text_add(&t, tc->stdlib_dir ? " and in the standard library" : "");
	tsr_diag *d = tsr_report(tc, TSR_E_NO_MODULE, span, "there is no module `%s`", name);
	tsr_hint(tc, d, "`%s` was looked for %s", file_name(tc->arena, name), tsr_text_str(&t));
}

/* ---- needs */

static void cycle(loader *l, const tsr_module *again, tsr_span span)
{
	tsr_text t;
	tsr_text_init(&t, l->tc->arena);
	const tsr_module *chain[64];
	uint32_t n = 0;
	for (const tsr_module *m = l->current; m && n < 64; m = m->user) {
		chain[n++] = m;
		if (m == again)
			break;
	}
	while (n > 0)
		tsr_text_addf(&t, "%s needs ", chain[--n]->name);
	tsr_diag *d = tsr_report(l->tc, TSR_E_MODULE_CYCLE, span, "%s%s", tsr_text_str(&t), again->name);
	for (const tsr_module *m = l->current; m && m != again; m = m->user)
		tsr_note_at(l->tc, d, m->asked, "%s is needed here", m->name);
}

/* The module of that name, loaded; NULL when no file answers it. */
static tsr_module *need(loader *l, tsr_name name, tsr_span span)
{
	tsr_module *m = tsr_modules_find(l->all, name);
	if (m) {
		if (m->loading)
			cycle(l, m, span);
		return m;
	}
	uint32_t file = find_file(l->tc, l->home, name);
	if (!file)
		return NULL;
	m = TSR_NEW(l->tc->arena, tsr_module);
	m->name = name;
	m->path = tsr_source_get(l->tc, file)->path;
	m->user = l->current;
	m->asked = span;
	m->ast = tsr_parse(l->tc, file);
	load(l, m);
	return m;
}

/* ---- qualifiers: Nn.layer_norm without an open, also inside the braces of a string */

static void in_string(loader *l, const tsr_ast *e)
{
	const char *c = strchr(e->string.text, '{');
	while (c && *c) {
		size_t n = strspn(c, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_'");
		if (n && *c >= 'A' && *c <= 'Z' && c[n] == '.' && c[n + 1] >= 'a' && c[n + 1] <= 'z')
			need(l, tsr_intern_n(l->tc->names, c, n), e->span);
		c += n ? n : 1;
	}
}

static void qualifiers(void *ctx, tsr_ast **at)
{
	loader *l = ctx;
	tsr_ast *e = *at;
	if (e->kind == TSR_AST_NAME && e->name.qualifier)
		need(l, e->name.qualifier, e->span);
	else if (e->kind == TSR_AST_STRING)
		in_string(l, e);
	tsr_ast_children(e, qualifiers, ctx);
}

/* Every module opens the prelude; a module of the prelude, and what it opens by name, opens the part before it. */
static void open_prelude(loader *l, tsr_module *m)
{
	static const char *const prelude[] = {"Ops", "Random", "Data"};
	for (size_t i = 0; i < sizeof prelude / sizeof *prelude; i++) {
		tsr_name name = tsr_intern(l->tc->names, prelude[i]);
		tsr_module *known = tsr_modules_find(l->all, name);
		if (m->name == name || (known && known->loading))
			return;
		tsr_module *p = need(l, name, TSR_NOWHERE);
		if (p)
			tsr_push(l->tc->arena, &m->prelude, p);
		else if (l->tc->stdlib_dir && i == 0)
			tsr_module_missing(l->tc, l->all, name, TSR_NOWHERE);
	}
}

static void load(loader *l, tsr_module *m)
{
	tsr_module *outer = l->current;
	l->current = m;
	m->loading = true;
	tsr_push(l->tc->arena, &l->all->known, m);
	open_prelude(l, m);
	for (uint32_t i = 0; i < m->ast->items.n; i++) {
		tsr_ast *item = m->ast->items.at[i];
		if (item->kind != TSR_AST_OPEN)
			qualifiers(l, &item);
		else if (!need(l, item->open.module, item->at))
			tsr_module_missing(l->tc, l->all, item->open.module, item->at);
	}
	m->loading = false;
	m->index = l->all->order.n;
	tsr_push(l->tc->arena, &l->all->order, m);
	l->current = outer;
}

/* "dir/some_name.tsr" is module Some_name. */
static tsr_name module_name(tsr_compiler *tc, const char *path)
{
	const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
	const char *dot = strrchr(stem, '.');
	char *s = tsr_strndup(tc->arena, stem, dot ? (size_t)(dot - stem) : strlen(stem));
	if (*s >= 'a' && *s <= 'z')
		*s = (char)(*s - 'a' + 'A');
	return tsr_intern(tc->names, s);
}

tsr_modules *tsr_modules_load(tsr_compiler *tc, const char *path)
{
	loader l = {tc, TSR_NEW(tc->arena, tsr_modules), folder_of(tc->arena, path), NULL};
	uint32_t file = tsr_source_load(tc, path);
	if (!file) {
		tsr_report(tc, TSR_E_NO_FILE, TSR_NOWHERE, "%s: %s", path, strerror(errno));
		return l.all;
	}
	tsr_module *m = TSR_NEW(tc->arena, tsr_module);
	l.all->main = m;
	m->name = module_name(tc, path);
	m->path = tsr_source_get(tc, file)->path;
	m->ast = tsr_parse(tc, file);
	load(&l, m);
	return l.all;
}
