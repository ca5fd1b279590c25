/* Open-addressing map from 64-bit keys (an id, or a name's pointer) to pointers or integers.
 * Iteration order is insertion order, so that every dump is reproducible. */
#ifndef TSR_BASE_MAP_H
#define TSR_BASE_MAP_H
#include "arena.h"

typedef struct tsr_map_entry { uint64_t key; union { void *p; int64_t i; } value; } tsr_map_entry;
typedef struct tsr_map {
	tsr_arena *arena;
	tsr_map_entry *entries;          /* 0..n-1 in insertion order */
	uint32_t n, cap;
	uint32_t *slots;                 /* index + 1 into entries, 0 = empty; power of two */
	uint32_t nslots;
} tsr_map;

void tsr_map_init(tsr_map *m, tsr_arena *a);
/* The entry of `key`, or NULL. */
tsr_map_entry *tsr_map_find(const tsr_map *m, uint64_t key);
/* The entry of `key`, added with a zero value where it is missing. */
tsr_map_entry *tsr_map_put(tsr_map *m, uint64_t key);

static inline uint64_t tsr_key(const void *p) { return (uint64_t)(uintptr_t)p; }
#endif
