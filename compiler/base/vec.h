/* Typed growable arrays on an arena.
 *     TSR_VEC(int) v = {0};  tsr_push(arena, &v, 3);  v.at[0], v.n
 * Growth moves the elements: keep indices, not pointers, across a push. */
#ifndef TSR_BASE_VEC_H
#define TSR_BASE_VEC_H
#include "arena.h"

#ifdef TSR_HOSTILE                       /* a build in which arrays move at nearly every push, so that kept pointers show */
#define TSR_VEC_FIRST 1
#else
#define TSR_VEC_FIRST 8
#endif

#define TSR_VEC(T) struct { T *at; uint32_t n, cap; }

#define tsr_push(arena, v, x) \
	(tsr_vec_reserve((arena), (void **)&(v)->at, &(v)->cap, (v)->n + 1, sizeof *(v)->at), (void)((v)->at[(v)->n++] = (x)))

static inline void tsr_vec_reserve(tsr_arena *a, void **at, uint32_t *cap, uint32_t want, size_t elem)
{
	if (want <= *cap)
		return;
	uint32_t grown = *cap ? *cap * 2 : TSR_VEC_FIRST;
	if (grown < want)
		grown = want;
	*at = tsr_realloc(a, *at, *cap * elem, grown * elem);
	*cap = grown;
}
#endif
