/* Modules: which files a program consists of, and the order in which they are evaluated.
 *
 * A module is a file.  `open Nn` and `Nn.layer_norm` find nn.tsr beside the program, then on the -I paths, then in the
 * standard library; one name is one file for the whole program.  The prelude (Ops, Random, Data: the standard
 * library's first rooms) is opened implicitly, in that order, by every module; each of the three opens those before it.
 * Modules are evaluated one after another, so none can need itself. */
#ifndef TSR_MODULE_MODULE_H
#define TSR_MODULE_MODULE_H
#include "../syntax/ast.h"

typedef struct tsr_module {
	tsr_name name;                           /* "Nn"; of the program, from its file's name */
	tsr_name path;
	const tsr_module_ast *ast;
	TSR_VEC(struct tsr_module *) prelude;    /* what is opened implicitly, in order */
	uint32_t index;                          /* in tsr_modules.order */
	/* while loading */
	bool loading;
	struct tsr_module *user;                 /* what is being loaded and asked for this */
	tsr_span asked;                          /* where */
} tsr_module;

typedef struct tsr_modules {
	TSR_VEC(tsr_module *) order;             /* each after everything that it needs; the program last */
	TSR_VEC(tsr_module *) known;             /* by first mention, those that form a cycle included */
	tsr_module *main;                        /* NULL when its file cannot be read (reported) */
} tsr_modules;

/* The program at `path` with everything that it opens or names. Never NULL. Looks on tc->include_dirs and in
 * tc->stdlib_dir. What is missing after `open`, and cycles, are reported; a qualifier that no file answers is left to
 * whoever resolves the name, since a library may be built in. */
tsr_modules *tsr_modules_load(tsr_compiler *tc, const char *path);

/* The module of that name, or NULL. */
tsr_module *tsr_modules_find(const tsr_modules *all, tsr_name name);

/* Reports that no file answers `name`, and where it was looked for. */
void tsr_module_missing(tsr_compiler *tc, const tsr_modules *all, tsr_name name, tsr_span span);
#endif
