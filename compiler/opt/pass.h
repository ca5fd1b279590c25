/* Private to opt/: what a pass gets, and the tools that passes share. */
#ifndef TSR_OPT_PASS_H
#define TSR_OPT_PASS_H
#include "opt.h"

typedef struct tsr_pass {
	tsr_loops *l;
	const tsr_target *target;
	const tsr_opt_options *options;
	tsr_arena *arena;            /* of the results */
	uint32_t changes;            /* counted by the pass */
} tsr_pass;

#define TSR_PASS(name, function, level, help, requires, breaks) void function(tsr_pass *p);
#include "passes.def"
#endif
