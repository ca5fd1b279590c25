/* What the driver's own files share: the state of one command. */
#ifndef TSR_DRIVER_PRIVATE_H
#define TSR_DRIVER_PRIVATE_H
#include "driver.h"
#include "../host/host.h"
#include "../llvm/llvm.h"

typedef struct tsr_drive_state {
	const tsr_options *options;
	tsr_compiler *tc;
	tsr_graph *graph;
	tsr_host *host;
	const tsr_code *code;
	tsr_loops *loops;
	TSR_VEC(const char *) cpus;  /* those that --cpu names, by level; none: see tsr_drive_cpu */
	uint32_t which;              /* of them, d->llvm is for */
	tsr_llvm *llvm;
	const char *home;            /* folder of the running tsrc */
	double last;                 /* when the last stage ended */
} tsr_drive_state;

/* Objects to one file. */
typedef bool tsr_put_together(tsr_drive_state *d, uint32_t n, const char *const *objects, const char *path);

/* Ends a stage for --time. */
void tsr_drive_lap(tsr_drive_state *d, const char *what);

/* driver.c: the processor to compile for: the one named, else the least one for objects; NULL: this machine's. */
const char *tsr_drive_cpu(const tsr_drive_state *d);
/* driver.c: the program for another of d->cpus, in the place of the one before. */
bool tsr_drive_build(tsr_drive_state *d, uint32_t which);

/* several.c: one program for several processors. */
/* What --cpu names; false: not for what is asked for (reported). */
bool tsr_drive_cpus(tsr_drive_state *d);
/* Compiles for each, and puts what comes of it together. */
bool tsr_drive_write_several(tsr_drive_state *d, tsr_put_together *together, const char *path);

/* tools.c: what a command does with compiled code or with loops; each gives the exit status. */
int tsr_drive_write(tsr_drive_state *d);
int tsr_drive_run(tsr_drive_state *d);
int tsr_drive_interpret(tsr_drive_state *d);
int tsr_drive_passes(tsr_drive_state *d);
/* The command ends in objects, which are optimised in parts as they are written. */
bool tsr_drive_in_parts(const tsr_drive_state *d);
/* Writes d->llvm as so many objects, and those as one file. */
bool tsr_drive_write_parts(tsr_drive_state *d, uint32_t n, tsr_put_together *together, const char *path);
/* A new file in the folder of temporary ones; NULL: reported. */
const char *tsr_drive_temporary(tsr_drive_state *d, const char *ending);

/* tune.c: times schedules and writes the file of them. */
int tsr_drive_tune(tsr_drive_state *d, const tsr_target *target);

/* explain.c: the reasons for the shapes of the tensors that the command line names, on standard output. */
void tsr_drive_explain(tsr_drive_state *d);

/* link.c */
/* Whether --target, if it is given, names a machine of this kind. */
bool tsr_drive_runs_here(const tsr_drive_state *d);
/* Finds the compiler's own folder, the standard library and the -I folders. */
void tsr_drive_folders(tsr_drive_state *d);
/* Object files to executable; false when linking failed (reported). */
tsr_put_together tsr_drive_link;
/* Object files to one, in which they see each other and nobody else sees what is hidden; only where the machine has what that takes. */
bool tsr_drive_joins(tsr_drive_state *d, const char *object);
tsr_put_together tsr_drive_join;
/* The same of objects for several processors: what chooses among them stays in sight, what is chosen from does not. */
tsr_put_together tsr_drive_join_several;
/* Object file to a library that this process can load. */
bool tsr_drive_link_library(tsr_drive_state *d, const char *object, const char *library);
/* Runs a program and waits: its exit status, 128 + N after signal N, -1 when it cannot be started. */
int tsr_drive_spawn(tsr_drive_state *d, char *const *argv);
/* "examples/digits.tsr" -> "digits"; and as a C identifier. */
const char *tsr_drive_stem(tsr_drive_state *d, const char *path);
const char *tsr_drive_identifier(tsr_drive_state *d, const char *stem);
/* The object has a NAME_main: not where exported functions are all there is. */
static inline bool tsr_drive_has_main(const tsr_drive_state *d) { return d->graph->main || !d->graph->exports.n; }
#endif
