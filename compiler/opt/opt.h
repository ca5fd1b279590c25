/* Loop IR to loop IR.  passes.def lists every pass; the pipeline is chosen by the optimisation level and the target. */
#ifndef TSR_OPT_OPT_H
#define TSR_OPT_OPT_H
#include "../loop/loop.h"
#include "../target/target.h"

typedef struct tsr_opt_options { int level; bool fuse; const char *passes; /* comma-separated, or NULL: the pipeline of the level */ } tsr_opt_options;

/* Runs the pipeline in place; in debug builds the checker runs after every pass. false: an unknown pass was named (reported). */
bool tsr_opt_run(tsr_loops *l, const tsr_target *target, const tsr_opt_options *options);
/* --dump=schedule: what was fused, inlined, classified and how each contraction is scheduled, with operations and bytes. */
void tsr_opt_print_schedule(const tsr_loops *l, const tsr_target *target, FILE *out);
#endif
