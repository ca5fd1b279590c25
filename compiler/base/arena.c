/* Arenas.  Decides where memory comes from and what happens when there is none.
 *
 * An arena is a chain of blocks; an allocation is cut from the newest one, and a request too large for a block gets a
 * block of its own.  In a sanitizer build each allocation is a block of its own size, so that AddressSanitizer sees
 * every overrun and the leak checker every forgotten arena. */
#include "arena.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 16

#if defined(__SANITIZE_ADDRESS__)
#define FIRST_BLOCK 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIRST_BLOCK 0
#endif
#endif
#ifndef FIRST_BLOCK
#define FIRST_BLOCK 4096
#endif
#define LARGEST_BLOCK (1u << 20)

typedef struct block {
	struct block *older;
	size_t used, size;               /* of `bytes` */
	_Alignas(ALIGNMENT) char bytes[];
} block;

struct tsr_arena {
	block *newest;
	size_t next_size;                /* of the next ordinary block; it doubles up to LARGEST_BLOCK */
};

_Noreturn static void out_of_memory(void)
{
	fputs("tsrc: out of memory\n", stderr);
	exit(70);
}

tsr_arena *tsr_arena_new(void)
{
	tsr_arena *a = calloc(1, sizeof *a);
	if (!a)
		out_of_memory();
	a->next_size = FIRST_BLOCK;
	return a;
}

void tsr_arena_free(tsr_arena *a)
{
	if (!a)
		return;
	for (block *b = a->newest; b;) {
		block *older = b->older;
		free(b);
		b = older;
	}
	free(a);
}

static block *add_block(tsr_arena *a, size_t want)
{
	size_t size = want > a->next_size / 4 ? want : a->next_size;
	if (size > SIZE_MAX - sizeof(block))
		out_of_memory();
	block *b = calloc(1, sizeof(block) + size);
	if (!b)
		out_of_memory();
	b->size = size;
	if (size == want && a->newest) {         /* keep cutting from the block that still has room */
		b->older = a->newest->older;
		a->newest->older = b;
		return b;
	}
	b->older = a->newest;
	a->newest = b;
	if (a->next_size && a->next_size < LARGEST_BLOCK)
		a->next_size *= 2;
	return b;
}

void *tsr_alloc(tsr_arena *a, size_t size)
{
	if (size > SIZE_MAX - ALIGNMENT)
		out_of_memory();
	if (FIRST_BLOCK)
		size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	block *b = a->newest;
	if (!b || b->size - b->used < size || (size && !FIRST_BLOCK))
		b = add_block(a, size);
	void *p = b->bytes + b->used;
	b->used += size;
	return p;
}

void *tsr_realloc(tsr_arena *a, void *p, size_t old_size, size_t new_size)
{
	void *fresh = tsr_alloc(a, new_size);
	size_t keep = old_size < new_size ? old_size : new_size;
	if (keep)
		memcpy(fresh, p, keep);
	return fresh;
}

char *tsr_strndup(tsr_arena *a, const char *s, size_t n)
{
	char *copy = tsr_alloc(a, n + 1);
	if (n)
		memcpy(copy, s, n);
	return copy;
}

char *tsr_strdup(tsr_arena *a, const char *s)
{
	return tsr_strndup(a, s, strlen(s));
}

char *tsr_format(tsr_arena *a, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	size_t size = n < 0 ? 1 : (size_t)n + 1;
	char *s = tsr_alloc(a, size);
	if (n >= 0)
		vsnprintf(s, size, fmt, again);
	va_end(again);
	return s;
}
