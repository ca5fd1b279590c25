/* Arenas: memory by lifetime.  An allocation lives as long as its arena; nobody frees a node.
 * Out of memory ends the process inside the arena with exit status 70, so callers never test for NULL. */
#ifndef TSR_BASE_ARENA_H
#define TSR_BASE_ARENA_H
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

typedef struct tsr_arena tsr_arena;

tsr_arena *tsr_arena_new(void);
void tsr_arena_free(tsr_arena *a);
/* What its allocations take, in bytes. */
size_t tsr_arena_used(const tsr_arena *a);
/* Zeroed memory of `size` bytes, aligned for any object. */
void *tsr_alloc(tsr_arena *a, size_t size);
/* `old_size` bytes of `p` moved into a block of `new_size`, or left where they are when there is room; the rest is zero. When it
 * grows, p is gone. */
void *tsr_realloc(tsr_arena *a, void *p, size_t old_size, size_t new_size);
char *tsr_strndup(tsr_arena *a, const char *s, size_t n);
char *tsr_strdup(tsr_arena *a, const char *s);
/* printf into the arena. */
char *tsr_format(tsr_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define TSR_NEW(arena, T) ((T *)tsr_alloc((arena), sizeof(T)))
#define TSR_NEW_N(arena, T, n) ((T *)tsr_alloc((arena), sizeof(T) * (size_t)(n)))
#endif
