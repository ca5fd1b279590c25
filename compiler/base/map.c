/* The map from 64-bit keys: a dense array of entries in insertion order, and a table of indices into it. */
#include "map.h"
#include <string.h>

#ifdef TSR_HOSTILE
#define FIRST_ENTRIES 1
#else
#define FIRST_ENTRIES 8
#endif

void tsr_map_init(tsr_map *m, tsr_arena *a)
{
	*m = (tsr_map){.arena = a};
}

/* Pointers differ in their middle bits and ids in their low ones: mix both into the low bits of the result. */
static uint64_t mix(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 29;
}

/* The slot of `key`: it holds the key's entry, or 0.  Needs at least one empty slot. */
static uint32_t *slot_of(const tsr_map *m, uint64_t key)
{
	for (uint32_t i = (uint32_t)mix(key);; i++) {
		uint32_t *slot = &m->slots[i & (m->nslots - 1)];
		if (!*slot || m->entries[*slot - 1].key == key)
			return slot;
	}
}

tsr_map_entry *tsr_map_find(const tsr_map *m, uint64_t key)
{
	if (!m->n)
		return NULL;
	uint32_t at = *slot_of(m, key);
	return at ? &m->entries[at - 1] : NULL;
}

static void grow(tsr_map *m)
{
	uint32_t cap = m->cap ? m->cap * 2 : FIRST_ENTRIES;
	m->entries = tsr_realloc(m->arena, m->entries, m->cap * sizeof *m->entries, cap * sizeof *m->entries);
	m->cap = cap;
	m->nslots = cap * 2;
	m->slots = TSR_NEW_N(m->arena, uint32_t, m->nslots);
	for (uint32_t i = 0; i < m->n; i++)
		*slot_of(m, m->entries[i].key) = i + 1;
}

tsr_map_entry *tsr_map_put(tsr_map *m, uint64_t key)
{
	tsr_map_entry *found = tsr_map_find(m, key);
	if (found)
		return found;
	if (m->n == m->cap)
		grow(m);
	uint32_t *slot = slot_of(m, key);
	*slot = m->n + 1;
	tsr_map_entry *e = &m->entries[m->n++];
	memset(e, 0, sizeof *e);
	e->key = key;
	return e;
}
