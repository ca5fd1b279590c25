/* Index maps against enumeration: what maps.c asks of projection inference, and maps_run.c, the only file that sees its
 * headers, answers.  A point is one step of an assignment: for each slot the cell that it touches, axis by axis in memory order
 * (batch, output, input), or that the slot takes no part (`DEAD` on its first place). */
#ifndef TSR_ORACLE_MAPS_H
#define TSR_ORACLE_MAPS_H
#include "oracle.h"

enum { MAPS_SLOTS = 4, MAPS_AXES = 6, MAPS_LABELS = 4, MAPS_POINTS = 6000, MAPS_CELLS = 4096, MAPS_PIECES = 1024 };
#define DEAD (-1)

typedef struct point { int8_t at[MAPS_SLOTS][MAPS_AXES]; } point;
typedef enum { BY_POINTWISE, BY_COMPOSE, BY_COMPOSE_ACC, BY_TRANSPOSE, BY_SPEC } maps_logic;

typedef struct maps_question {
	maps_logic logic;
	char spec[160];
	int nslots;                              /* the result first */
	char shape[MAPS_SLOTS][64];              /* "2 3 | 4 -> 1* ^ 5" */
	int label_size[MAPS_LABELS];             /* of a, b, c, d */
} maps_question;

typedef struct maps_answer {
	bool refused, too_many;
	bool outside;                            /* an index without a guard left its axis */
	int npoints, npieces, reached;           /* cells of the result that some point reaches */
	point *points;                           /* room for MAPS_POINTS; those outside a guard are left out */
	int16_t *piece;                           /* of each point */
	bool injective[MAPS_PIECES], surjective; /* what is claimed of the result's map */
	bool disjoint[MAPS_PIECES][MAPS_PIECES];
} maps_answer;

void maps_run(const maps_question *q, maps_answer *out);

/* The points by definition. */
typedef struct points { int n; bool too_many; point *at; } points;
void points_add(points *out, const point *x);
/* A random spec, a random operation without one: the question and its points. True when each cell of the result tells which
 * components are live. */
bool maps_spec(uint64_t *seed, maps_question *q, points *want);
void maps_plain(uint64_t *seed, maps_question *q, points *want);
void words_add(char *out, size_t size, const char *text);
#endif
