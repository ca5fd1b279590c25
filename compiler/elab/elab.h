/* Elaboration: modules evaluated in order; configuration runs, tensor definitions become the graph. */
#ifndef TSR_ELAB_ELAB_H
#define TSR_ELAB_ELAB_H
#include "graph.h"
#include "../syntax/ast.h"
#include "../config/config.h"

/* let%main, kept for host/: its syntax and the environment it sees. */
struct tsr_main { tsr_ast *body; struct tsr_env *env; tsr_span span; };

/* Elaborates the main module (path of a .tsr file) with everything it opens. Never NULL; errors are reported, and what
 * they touched is poison. */
/* What applications of a function share (share.c): nothing; schemes; what is the same, too, which may turn out not to stay so. */
typedef enum { TSR_SHARE_NONE, TSR_SHARE_SCHEMES, TSR_SHARE_ALL } tsr_share_level;
tsr_graph *tsr_elaborate(tsr_compiler *tc, const char *path, tsr_share_level share);

/* After tsr_graph_close: the level at which the program is to be elaborated again, because sharing may have decided differently than
 * solving each application by itself, or because errors must be found again without it; the level that it has where all is well. */
tsr_share_level tsr_graph_shares_well(tsr_graph *g);
/* Applications that were solved, by why they were; copied; found to be the same as an earlier one; instances of schemes, but for the first
 * of each; schemes, and the solver's steps for them. Twice: solved, though one that asks for the same, of arguments whose rows are made alike, was solved before.
 * What asks for nothing does not count. */
typedef enum {
#define TSR_AGAIN(name, why) TSR_AGAIN_##name,
#include "again.def"
#undef TSR_AGAIN
	TSR_AGAIN_COUNT,
} tsr_again;
const char *tsr_again_str(tsr_again why);
typedef struct tsr_share_stats { tsr_share_level level; uint32_t solved[TSR_AGAIN_COUNT], twice, copied, same, instances, schemes; uint64_t steps; } tsr_share_stats;
tsr_share_stats tsr_graph_shared(const tsr_graph *g);

/* For host/: a named piece of code for `run` and `print` (t.forward); evaluates a configuration expression in main's environment. */
tsr_code_id tsr_elab_forward_code(tsr_graph *g, tsr_tensor_id t);
/* A code value as something to run: one codedef per tree, made when first asked for. */
tsr_code_id tsr_elab_code(tsr_graph *g, struct tsr_codetree *tree, tsr_name name, tsr_span span);
/* The evaluator of this elaboration, for tsr_evaluate and tsr_resolve in main's environment. */
tsr_eval *tsr_elab_evaluator(tsr_graph *g);
#endif
