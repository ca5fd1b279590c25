/* Loops written as text, compiled to a shared object of their own and loaded: for tests of generated code. */
#ifndef TSR_TESTS_EMIT_KIT_H
#define TSR_TESTS_EMIT_KIT_H
#include "../../compiler/llvm/llvm.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*kit_unit)(void *ctx, void **buffers, const int64_t *symbols, int64_t *numbers);
typedef struct kit { tsr_compiler *tc; tsr_loops *loops; void *library; } kit;

static inline kit kit_compile(const char *text, int level, const char *cpu)
{
	kit k = {.tc = tsr_compiler_new()};
	char object[] = "/tmp/tsr-emit-XXXXXX.o", library[sizeof object + 4], command[256];
	k.loops = tsr_loops_read(k.tc, tsr_source_add(k.tc, "test.loop", text, strlen(text)));
	if (!k.loops) {
		tsr_diags_render(k.tc, stdout, false);
		exit(1);
	}
	tsr_loops_check(k.loops, "reading");
	tsr_llvm_options o = {.level = level, .program = "test", .entry = "main", .cpu = cpu, .dump_faulty = true};
	tsr_llvm *l = tsr_llvm_open(k.tc, &o);
	tsr_llvm_emit(l, k.loops, NULL);
	tsr_llvm_optimise(l);
	close(mkstemps(object, 2));
	snprintf(library, sizeof library, "%s.so", object);
	snprintf(command, sizeof command, "ld -shared -o %s %s", library, object);
	if (!tsr_llvm_write(l, TSR_CODE_OBJECT, object) || system(command)) {
		printf("cannot compile and link the loops\n");
		exit(1);
	}
	tsr_llvm_close(l);
	k.library = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	if (!k.library) {
		printf("%s\n", dlerror());
		exit(1);
	}
	unlink(object);
	unlink(library);
	return k;
}

static inline kit_unit kit_find(const kit *k, const char *name)
{
	union { void *p; kit_unit f; } u = {dlsym(k->library, name)};
	if (!u.f) {
		printf("no unit %s\n", name);
		exit(1);
	}
	return u.f;
}

static inline void kit_free(kit *k)
{
	dlclose(k->library);
	tsr_compiler_free(k->tc);
}
#endif
