/* Which files a program consists of, in which order, and what a name means across them. */
#include "check.h"
#include "../../compiler/module/module.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct { const char *path, *text; } files[] = {
	{"main.tsr", "open Left\nlet a = Deep.d\nopen Right\nlet b = \"{Quoted.q}\"\nlet (c, left) = 1\n"},
	{"left.tsr", "let left = 1\nlet both = 2\n"},
	{"right.tsr", "open Left\nlet both = 3\nlet%export out (x : \"3\") = x\n"},
	{"lib/deep.tsr", "let d = 1\nlet d = 2\n"},
	{"lib/left.tsr", "let hidden = 1\n"},
	{"std/ops.tsr", "open Under\nlet plus = 1\nlet both = 0\n"},
	{"std/under.tsr", "let u = 1\n"},
	{"std/quoted.tsr", "let q = 1\n"},
	{"one.tsr", "open Two\n"},
	{"two.tsr", "let x = Three.y\n"},
	{"three.tsr", "open One\nlet y = 1\n"},
	{"lost.tsr", "open Nowhere\nopen Nowhere\nlet x = List.map\n"},
};

static char folder[] = "/tmp/tsr-modules-XXXXXX";

static const char *in_folder(tsr_compiler *tc, const char *name)
{
	return tsr_format(tc->arena, "%s/%s", folder, name);
}

static void each_file(bool make)
{
	tsr_compiler *tc = tsr_compiler_new();
	if (make) {
		CHECK(mkdtemp(folder) != NULL);
		CHECK(mkdir(in_folder(tc, "lib"), 0700) == 0 && mkdir(in_folder(tc, "std"), 0700) == 0);
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const char *path = in_folder(tc, files[i].path);
		if (!make) {
			unlink(path);
			continue;
		}
		FILE *f = fopen(path, "w");
		if (CHECK(f != NULL)) {
			fputs(files[i].text, f);
			fclose(f);
		}
	}
	if (!make) {
		rmdir(in_folder(tc, "lib"));
		rmdir(in_folder(tc, "std"));
		rmdir(folder);
	}
	tsr_compiler_free(tc);
}

static tsr_compiler *compiler(void)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_push(tc->arena, &tc->include_dirs, in_folder(tc, "lib"));
	tc->stdlib_dir = in_folder(tc, "std");
	return tc;
}

static const char *order(tsr_compiler *tc, const tsr_modules *all)
{
	const char *s = "";
	for (uint32_t i = 0; i < all->order.n; i++)
		s = tsr_format(tc->arena, "%s%s%s", s, i ? " " : "", all->order.at[i]->name);
	return s;
}

static void one_program(void)
{
	tsr_compiler *tc = compiler();
	tsr_modules *all = tsr_modules_load(tc, in_folder(tc, "main.tsr"));
	CHECK_INT(tc->nerrors, 0);
	CHECK_STR(order(tc, all), "Under Ops Left Deep Right Quoted Main");
	CHECK_INT(all->order.at[0]->prelude.n, 0);
	CHECK_INT(all->main->prelude.n, 1);
	CHECK_STR(all->main->prelude.at[0]->name, "Ops");
	tsr_compiler_free(tc);
}

static void mistakes(void)
{
	tsr_compiler *tc = compiler();
	tsr_modules_load(tc, in_folder(tc, "one.tsr"));
	if (CHECK_INT(tc->diags.n, 1)) {
		CHECK_INT(tc->diags.at[0]->code, TSR_E_MODULE_CYCLE);
		CHECK_STR(tc->diags.at[0]->text, "One needs Two needs Three needs One");
		CHECK_INT(tc->diags.at[0]->notes.n, 2);
	}
	tsr_compiler_free(tc);

	tc = compiler();
	tsr_modules_load(tc, in_folder(tc, "lost.tsr"));
	if (CHECK_INT(tc->diags.n, 2)) {              /* each open; List is left to the evaluator */
		CHECK_INT(tc->diags.at[0]->code, TSR_E_NO_MODULE);
		CHECK(strstr(tc->diags.at[0]->hint, "/lib/") && strstr(tc->diags.at[0]->hint, "standard library"));
	}
	tsr_compiler_free(tc);

	tc = compiler();
	tsr_modules *all = tsr_modules_load(tc, in_folder(tc, "absent.tsr"));
	CHECK(all->main == NULL && all->order.n == 0);
	CHECK(tc->diags.n == 1 && tc->diags.at[0]->code == TSR_E_NO_FILE);
	tsr_compiler_free(tc);
}

int main(void)
{
	each_file(true);
	one_program();
	mistakes();
	each_file(false);
	return check_end("modules");
}
