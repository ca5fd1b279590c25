/* Machines, as tables: everything that passes and emitters know of a target stands here, and nothing here knows LLVM. */
#ifndef TSR_TARGET_TARGET_H
#define TSR_TARGET_TARGET_H
#include "../base/names.h"

/* Which accesses to some lanes of a vector, chosen by a mask, cost as much as those to all.  Loads alone on AVX2, where a masked store takes some forty
 * instructions inside a Zen 3; without either, a mask becomes a branch for each lane. */
typedef enum tsr_masks { TSR_MASKS_NONE, TSR_MASKS_LOADS, TSR_MASKS_ALL } tsr_masks;

typedef struct tsr_target {
	const char *name;            /* "amx", "avx512", "xeon", "zen4", "zen5", "avx2", "sse", "neon", "generic" */
	const char *triple_arch;     /* "x86_64", "aarch64" */
	const char *refines;         /* the entry of the same instructions that is taken where they are all that is known of a processor; NULL: itself */
	const char *without;         /* the entry that is taken where it may not use all of its instructions; or NULL */
	const char *needs;           /* a feature, LLVM's name, that it has beside those of the entry that it refines; or NULL */

	/* vectors and what is done with them */
	uint32_t vector_bytes;       /* of one register */
	uint32_t vector_registers;
	bool fma;
	bool half_units;             /* a multiply-add of a whole register takes both of its units, so that one is done in a cycle, not two */
	tsr_masks masks;
	bool halves;                 /* a shuffle of lanes across the halves of a vector takes two or three instructions, one within them or of whole halves takes one */
	bool quarters;               /* a shuffle of lanes across the quarters of a vector takes twice as long as one within them or of whole quarters */
	uint32_t stores;             /* so many may wait for sums at once before what follows them waits, too; 0: not measured */
	uint32_t stores_wait;        /* so many may wait for the caches before what follows them waits, too; 0: not measured */
	uint32_t lookup;             /* entries of a table of f32 in one register that one instruction looks up for all lanes; 0: none does */
	bool parts_halves;           /* LLVM compares a vector of f16 number by number */
	bool loses_nan;              /* a maximum in one instruction is the second operand where either is NaN */
	bool hopes;                  /* a comparison takes the place of a multiply-add: exponentials that vanish, and NaN, are looked for once for a row of them */
	bool scales;                 /* one instruction multiplies by a power of 2 that is a lane's, and is one operation */
	bool slow_division;          /* of vectors: takes longer than a reciprocal's five instructions */
	uint32_t tile_m, tile_n;     /* register tile in rows and vectors of columns */
	uint32_t matrix;             /* rows of its matrix registers, each a vector, which multiply pairs of bf16 and sum them in f32; 0: it has none */
	bool pairs;                  /* an instruction adds two products of bf16 to each f32 of a vector, as often in a cycle as multiply-adds add one */

	/* caches */
	int64_t l1, l2, l3;          /* of data, in bytes, one core's share */
	int64_t last;                /* all of the last cache, which a core has for itself where the others are idle; 0: not told */
	uint32_t last_kept;          /* eighths of it that a kernel which reads along its rows alone may fill, where one thread computes it, before its results had better go around the caches;
	                              * 0: as any other */
	uint32_t kept_by_several;    /* and where several threads do, which store no more around the caches than one; at least as many, 0: as any other */
	uint32_t kept_half_written;  /* and where these write half of the arrays or more; at least as many, 0: the same */
	uint32_t ways;               /* of the first cache; 0: not told, and rows may crowd it */
	uint32_t panel_depth;        /* of a panel two vectors wide that is copied while the one before multiplies: the second cache gives its lines as fast as tiles take them; 0: two
	                              * thirds of the first cache */

	/* what comes from memory and goes there */
	uint32_t streams;            /* rows along which it looks ahead by itself, several of which it takes to get all of the memory's bandwidth, and what asks for lines
	                              * gets less than half of that; 0: lines that are asked for come as fast as any */
	uint32_t vector_streams;     /* rows of a B that one row of A multiplies in turn, for which nobody asks; 0: as many as `streams` */
	uint32_t lines_ahead;        /* so many before it is read a line from memory is asked for, once, into the first cache; 0: into the second one a page ahead, and from there
	                              * in time into the first, which has few places for lines that are on their way */
	int64_t rows_ahead;          /* tiles of rows of A where they lie ask for what the next row of places reads, where A has more bytes: no core looks ahead along so many short stretches by itself; 0: never */
	uint32_t panels_ahead;       /* tiles that read B's rows in place ask for lines of the panel so many behind theirs, and not once more a few steps before where these rows lie whole half pages
	                              * apart; 0: of the next one, and once more */
	uint32_t spread;             /* rows of a B from memory that a vector multiplies in turn, as far apart as there are as many, so that each is a stream that goes on from row to row; where rows
	                              * are whole pages apart, and fall into one set of the first cache, two fewer; 0: neighbours, as many as `streams` */
	bool follows;                /* what is read along a row comes as soon unasked: only what a later row begins with is asked for */
	uint32_t lines_at_once;      /* are computed where memory is kept busy meanwhile, in registers whose operations alternate; 0: one */
	uint32_t store_run;          /* lines of a row that memory wants within some thirty others to take stores around the caches at its full rate; 0: not measured */
	bool loses_requests;         /* a line that is asked for does not come where more are on their way than the first cache has places for; whoever asks waits for what it reads first */
	uint32_t late_rows;          /* what no walk of a row waits for is computed for so many rows at once, a power of two; 0: not measured, row by row */
	bool upwards;                /* what is read stretch by stretch comes sooner from memory where each lies behind the one before */
	bool torn_loads;             /* a load across the end of a line waits for stores around the caches that lie whole pages from there */

	/* threads */
	uint32_t strides_ahead;      /* where one instruction stores at equal distances a core fetches so many of them further by itself, and takes those lines from a thread that
	                              * has written them; 0: not measured */
	bool apart;                  /* cores may share no cache: what one has written takes another one longer to get than to read from memory */
	int64_t least_turn;          /* multiply-adds that have to be in a part of a product so that what it costs a thread to take it in its turn is not felt; 0: those of two tiles */
} tsr_target;

/* Elements up to so far apart are lanes of one vector: as many registers have them all, and shuffles take them from there; and records of so many numbers, of which all are wanted, are taken apart. */
enum { TSR_MOST_STRIDE = 4, TSR_MOST_RECORD = 36 };

/* Sixteen: not enough for vectors of both operands beside the sums that keep multiply-adds from waiting for each other. */
static inline bool tsr_target_few_registers(const tsr_target *t) { return t->vector_registers <= 16; }
/* Rows of a B that so many rows of A multiply in turn where a core looks ahead by itself; 0: it does not. */
static inline uint32_t tsr_target_streams(const tsr_target *t, int64_t rows) { return rows == 1 && t->vector_streams ? t->vector_streams : t->streams; }
/* Of so many bytes the last cache has a small part at most: they come from memory each time. */
static inline bool tsr_target_far(const tsr_target *t, int64_t bytes) { return bytes > 8 * t->l3; }

/* The table entry that fits a processor of this name: its own, but only if it may use the instructions of that, where `features` tells which it may
 * (LLVM's string, "+avx2,+fma,..": a virtual machine can hide some; NULL: all of its own).  Detecting the machine's own is the emitter's business. */
const tsr_target *tsr_target_find(const char *arch, const char *cpu, const char *features);
const tsr_target *tsr_target_by_name(const char *name);
bool tsr_target_known_cpu(const char *arch, const char *cpu);
/* The level of a processor that is one, as tsr_cpu_level of the runtime counts them: 3 for "x86-64-v3"; 0 for every other one. */
int tsr_target_level(const char *cpu);
/* What is compiled for when no processor is named and the machine's own is not meant. */
const char *tsr_target_baseline_cpu(const char *arch);
#endif
