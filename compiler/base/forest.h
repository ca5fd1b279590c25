/* Union-find over 0..n-1 with path halving; each union carries a reason (any integer id of the caller's) kept in a
 * proof forest, so that "why are a and b in one class" has an answer. */
#ifndef TSR_BASE_FOREST_H
#define TSR_BASE_FOREST_H
#include "vec.h"

typedef struct tsr_forest_node {
	uint32_t parent;                 /* itself: a representative */
	uint32_t proof;                  /* the other end of this node's proof edge, or itself at the root */
	uint32_t reason;                 /* of the proof edge; meaningless at the root */
	uint32_t size;                   /* of the class, kept at the representative */
} tsr_forest_node;

typedef struct tsr_forest {
	tsr_arena *arena;
	TSR_VEC(tsr_forest_node) nodes;
} tsr_forest;

tsr_forest *tsr_forest_new(tsr_arena *a);
uint32_t tsr_forest_add(tsr_forest *f);                      /* a new singleton class */
uint32_t tsr_forest_size(const tsr_forest *f);
/* The representative; here, because shape inference asks for little else. */
static inline uint32_t tsr_forest_find(tsr_forest *f, uint32_t x)
{
	tsr_forest_node *at = f->nodes.at;
	while (at[x].parent != x)
		x = at[x].parent = at[at[x].parent].parent;
	return x;
}
/* Joins the classes of a and b because of `reason`; false when they were one class already. The representative of `a` stays. */
bool tsr_forest_union(tsr_forest *f, uint32_t a, uint32_t b, uint32_t reason);
/* The nodes [from, to), which were joined among themselves only, kept as they are; and that state again for as many new nodes, its
 * reasons moved by `reasons`. */
typedef struct tsr_forest_state tsr_forest_state;
tsr_forest_state *tsr_forest_keep(const tsr_forest *f, uint32_t from, uint32_t to, tsr_arena *a);
void tsr_forest_repeat(tsr_forest *f, const tsr_forest_state *state, uint32_t reasons);
/* Nodes [from, from + n) stand as they did when they were made by tsr_forest_repeat (or kept). */
bool tsr_forest_unchanged(const tsr_forest *f, const tsr_forest_state *state, uint32_t from);
/* The reasons on the proof path from a to b, in order; returns their number, 0 when a == b or they are apart. */
uint32_t tsr_forest_explain(tsr_forest *f, uint32_t a, uint32_t b, tsr_arena *out_arena, uint32_t **out);
#endif
