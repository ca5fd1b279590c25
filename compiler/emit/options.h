/* What code is made for. */
#ifndef TSR_EMIT_OPTIONS_H
#define TSR_EMIT_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct tsr_llvm_options {
	int level;                   /* 0 .. 3 */
	bool debug;                  /* line tables */
	bool sanitize;               /* accesses are checked as they run: the program is linked with the C compiler's address sanitizer */
	bool profile;                /* kernels are timed, and the program's end says what they took */
	const char *triple, *cpu;    /* NULL: this machine's; the cpu "baseline": one that every machine in use has */
	const char *const *cpus;     /* where the program is compiled for several, each in a module of its own: all of them, by level */
	uint32_t ncpus, which;       /* the place of `cpu` among them; the first module chooses when it is called */
	const char *program;         /* name for messages and --help of the program: "digits" */
	const char *entry;           /* name of the start-up function: "main", or "NAME_main" in an object; NULL: none */
	const char *exports;         /* NAME: exported functions become NAME_open and NAME_f; NULL: they are left out */
	uint64_t seed;
	bool dump_faulty;            /* an ill-formed module is printed before the compiler stops */
} tsr_llvm_options;
#endif
