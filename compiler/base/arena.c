/* Arenas.  Decides where memory comes from and what happens when there is none.
 *
 * An arena is a chain of blocks; an allocation is cut from the newest one, and a request too large for a block gets a
 * block of its own.  Blocks double in size: what is never touched of the last one costs nothing.  Large blocks are mappings,
 * and an array that has such a block for itself grows by moving its pages.  Very large ones stand on huge pages: a store of a
 * hundred megabytes that is read in no order would otherwise miss the translation cache at every second look.
 *
 * In a sanitizer build each allocation is a block of its own size, and an array that grows frees the old one, so that
 * AddressSanitizer sees every overrun and every pointer into an array that was kept across a push, and the leak checker every
 * forgotten arena. */
#include "arena.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
#define LARGEST_BLOCK ((size_t)1 << 25)
#define SMALLEST_MAPPING ((size_t)1 << 18)
#define HUGE_PAGE ((size_t)1 << 21)
#define SMALLEST_HUGE (2 * HUGE_PAGE)    /* from here on less than a half can be lost in the last page */

typedef struct block {
	struct block *older, *newer;
	size_t used, size;               /* of `bytes` */
	bool mapped;
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

static size_t whole_pages(size_t size) { return (size + 4095) & ~(size_t)4095; }

/* `bytes` of zeros at a new place, or the pages of the mapping `old` moved there and continued with zeros.  A huge page needs
 * an address that is a multiple of its size, before and after a move: more is asked for, and what is left over given back. */
static void *map(void *old, size_t old_bytes, size_t bytes)
{
	size_t spare = bytes >= SMALLEST_HUGE ? HUGE_PAGE : 0;
	char *p = mmap(NULL, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		out_of_memory();
	if (spare) {
		size_t before = -(uintptr_t)p & (HUGE_PAGE - 1), after = spare - before;
		if (before)
			munmap(p, before);
		munmap(p + before + bytes, after);
		p += before;
	}
	if (old && mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p) == MAP_FAILED)
		out_of_memory();
	if (spare)
		madvise(p, bytes, MADV_HUGEPAGE);    /* advice: a system without huge pages refuses it, and nothing is lost */
	return p;
}

static block *take(size_t size)
{
	if (size > SIZE_MAX - sizeof(block) - 4096)
		out_of_memory();
	size_t bytes = sizeof(block) + size;
	bool mapped = FIRST_BLOCK && bytes >= SMALLEST_MAPPING;
	if (mapped)
		bytes = whole_pages(bytes);
	block *b = mapped ? map(NULL, 0, bytes) : calloc(1, bytes);
	if (!b)
		out_of_memory();
	b->mapped = mapped;
	b->size = bytes - sizeof(block);
	return b;
}

static void give_back(block *b)
{
	if (b->mapped)
		munmap(b, sizeof(block) + b->size);
	else
		free(b);
}

/* b's neighbours are told of it. */
static void link_in(tsr_arena *a, block *b)
{
	if (b->older)
		b->older->newer = b;
	if (b->newer)
		b->newer->older = b;
	else
		a->newest = b;
}

void tsr_arena_free(tsr_arena *a)
{
	if (!a)
		return;
	for (block *b = a->newest; b;) {
		block *older = b->older;
		give_back(b);
		b = older;
	}
	free(a);
}

size_t tsr_arena_used(const tsr_arena *a)
{
	size_t used = 0;
	for (const block *b = a->newest; b; b = b->older)
		used += b->used;
	return used;
}

static block *add_block(tsr_arena *a, size_t want)
{
	bool own = want > a->next_size / 4 || want >= SMALLEST_MAPPING;
	block *b = take(own ? want : a->next_size);
	if (own && a->newest) {                  /* keep cutting from the block that still has room */
		b->newer = a->newest;
		b->older = a->newest->older;
	} else {
		b->older = a->newest;
	}
	link_in(a, b);
	if (!own && a->next_size < LARGEST_BLOCK)
		a->next_size *= 2;
	return b;
}

static size_t rounded(size_t size)
{
	if (size > SIZE_MAX - ALIGNMENT)
		out_of_memory();
	return FIRST_BLOCK ? (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : size;
}

void *tsr_alloc(tsr_arena *a, size_t size)
{
	size = rounded(size);
	block *b = a->newest;
	if (!b || b->size - b->used < size || size >= SMALLEST_MAPPING || (size && !FIRST_BLOCK))
		b = add_block(a, size);
	void *p = b->bytes + b->used;
	b->used += size;
	return p;
}

/* An allocation of this size has its block for itself. */
static bool stands_alone(size_t size) { return size && (size >= SMALLEST_MAPPING || !FIRST_BLOCK); }

/* The block that begins with p, with room for `size`; it may move. */
static void *enlarge(tsr_arena *a, char *p, size_t size)
{
	block *b = (block *)(p - offsetof(block, bytes)), *old = b;
	size_t bytes = whole_pages(sizeof(block) + size);
	if (size > SIZE_MAX - sizeof(block) - 4096)
		out_of_memory();
	if (!b->mapped) {
		b = take(size);
		b->older = old->older;
		b->newer = old->newer;
		memcpy(b->bytes, old->bytes, old->used);
		give_back(old);
	} else if (size > b->size) {
		b = map(old, sizeof(block) + old->size, bytes);
		b->size = bytes - sizeof(block);
	}
	b->used = size;
	link_in(a, b);
	return b->bytes;
}

void *tsr_realloc(tsr_arena *a, void *p, size_t old_size, size_t new_size)
{
	size_t have = rounded(old_size), want = rounded(new_size);
	if (want > have && stands_alone(have))
		return enlarge(a, p, want);
	block *b = a->newest;
	if (!stands_alone(want) && want > have && have && (char *)p + have == b->bytes + b->used && b->size - b->used >= want - have) {
		b->used += want - have;          /* it is the last one */
		return p;
	}
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
	char text[128];                  /* most are short: they are written once and copied */
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	size_t size = n < 0 ? 1 : (size_t)n + 1;
	char *s = tsr_alloc(a, size);
	if (n >= 0 && size <= sizeof text)
		memcpy(s, text, size);
	else if (n >= 0)
		vsnprintf(s, size, fmt, again);
	va_end(again);
	return s;
}
