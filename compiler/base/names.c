/* Interned strings: a hash table of the strings seen so far.  The text of a name lives as long as the table's arena. */
#include "names.h"
#include <string.h>

#ifdef TSR_HOSTILE               /* a build in which every table grows at once, so that stale pointers show */
#define FIRST_SLOTS 2
#else
#define FIRST_SLOTS 64
#endif

typedef struct entry { tsr_name name; size_t n; uint64_t hash; } entry;

struct tsr_names {
	tsr_arena *arena;
	entry *slots;                    /* open addressing, linear probing; nslots is a power of two */
	uint32_t n, nslots;              /* n <= nslots / 2 */
};

static uint64_t hash_of(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;        /* FNV-1a */
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

tsr_names *tsr_names_new(tsr_arena *a)
{
	tsr_names *t = TSR_NEW(a, tsr_names);
	t->arena = a;
	t->nslots = FIRST_SLOTS;
	t->slots = TSR_NEW_N(a, entry, t->nslots);
	return t;
}

/* The slot that holds the string, or the empty one where it belongs. */
static entry *slot_of(entry *slots, uint32_t nslots, const char *s, size_t n, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash;; i++) {
		entry *e = &slots[i & (nslots - 1)];
		if (!e->name || (e->hash == hash && e->n == n && !memcmp(e->name, s, n)))
			return e;
	}
}

static void grow(tsr_names *t)
{
	uint32_t nslots = t->nslots * 2;
	entry *slots = TSR_NEW_N(t->arena, entry, nslots);
	for (uint32_t i = 0; i < t->nslots; i++)
		if (t->slots[i].name)
			*slot_of(slots, nslots, t->slots[i].name, t->slots[i].n, t->slots[i].hash) = t->slots[i];
	t->slots = slots;
	t->nslots = nslots;
}

tsr_name tsr_intern_n(tsr_names *t, const char *s, size_t n)
{
	uint64_t hash = hash_of(s, n);
	entry *e = slot_of(t->slots, t->nslots, s, n, hash);
	if (e->name)
		return e->name;
	tsr_name name = tsr_strndup(t->arena, s, n);
	*e = (entry){name, n, hash};
	if (++t->n > t->nslots / 2)
		grow(t);
	return name;
}

tsr_name tsr_intern(tsr_names *t, const char *s)
{
	return tsr_intern_n(t, s, strlen(s));
}
