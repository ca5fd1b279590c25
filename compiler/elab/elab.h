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
tsr_graph *tsr_elaborate(tsr_compiler *tc, const char *path, bool share);

/* Applications of functions to the same shapes share what they emit when `share` is set (share.c). After tsr_graph_close: false where
 * that may have decided differently than solving each by itself, or where errors must be found again without it. */
bool tsr_graph_shares_well(tsr_graph *g);
/* Applications that were solved, copied from a scheme, and found to be the same as an earlier one. */
typedef struct tsr_share_stats { uint32_t solved, copied, same; } tsr_share_stats;
tsr_share_stats tsr_graph_shared(const tsr_graph *g);

/* For host/: a named piece of code for `run` and `print` (t.forward); evaluates a configuration expression in main's environment. */
tsr_code_id tsr_elab_forward_code(tsr_graph *g, tsr_tensor_id t);
/* A code value as something to run: one codedef per tree, made when first asked for. */
tsr_code_id tsr_elab_code(tsr_graph *g, struct tsr_codetree *tree, tsr_name name, tsr_span span);
/* The evaluator of this elaboration, for tsr_evaluate and tsr_resolve in main's environment. */
tsr_eval *tsr_elab_evaluator(tsr_graph *g);
#endif
