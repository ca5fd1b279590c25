/* Inside host/: the state of an interpreted program. */
#ifndef TSR_HOST_INTERP_H
#define TSR_HOST_INTERP_H
#include "host.h"
#include "../../runtime/tsr_abi.h"

typedef struct tsr_hcell { int64_t i; double f; const tsr_str *s; } tsr_hcell;

typedef struct tsr_interp {
	const tsr_host *host;
	const tsr_loops *loops;
	tsr_arena *arena;
	tsr_ctx *ctx;
	tsr_hcell *vars;
	uint64_t *random_counters;
	tsr_spread **spreads;        /* NULL: values are printed; else how far other orders of computing may be from them */
	uint64_t seed;
} tsr_interp;

/* start.c: the context, with files read, sizes known and every buffer allocated that belongs to no call. */
void tsr_interp_start(tsr_interp *in, int argc, char **argv);
/* The sizes that follow from those that the owner gives, tested, and memory for what depends on them. */
void tsr_interp_sizes(tsr_interp *in, tsr_owner owner);
const char *tsr_interp_place(tsr_interp *in, tsr_span span);
void tsr_interp_unit(tsr_interp *in, tsr_code_id code);
void tsr_interp_print(tsr_interp *in, tsr_tensor_id tensor, tsr_part part, tsr_name name);
/* interp.c */
void tsr_interp_statement(tsr_interp *in, const tsr_hstmt *s);
/* interp_export.c: one call of an exported function, "f x.npy 0.5". */
void tsr_interp_export(tsr_interp *in, const char *call);
/* interp_call.c: one function of host.def. */
tsr_hcell tsr_interp_call(tsr_interp *in, tsr_hfun f, const tsr_hcell *args, const char *where);
#endif
