/* Buffers and blocks: zeroed memory at 64-byte boundaries, owned by the context.
 *
 * A block is a header and its bytes.  Large ones ask the kernel for huge pages: a matrix product over 4 KiB pages spends a tenth of its
 * time on address translation.  They stand at 2 MiB boundaries, but for those of which the pages that are cut off at both ends are a small part.
 * From a page on, blocks begin at COLOURS different distances from a page boundary (tsr_gap).
 *
 * In a program that is linked with an address sanitizer the bytes of a block are its own, and what lies before and behind them,
 * its header too, is nobody's: generated code that leaves the block is stopped. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* More than any machine has, and so little that sums of such sizes do not overflow. */
#define MOST_BYTES ((int64_t)1 << 48)

enum { ALIGNMENT = 64, HUGE_PAGE = 1 << 21, COLOURS = 8, MANY_PAGES = 32 };

/* Lies directly before the bytes it describes; its size is a multiple of ALIGNMENT. */
struct tsr_block {
	tsr_block *next, *previous;
	void *base; /* what the allocator gave, and how much of it; NULL: a part of another block */
	size_t total;
	size_t size;
	char padding[ALIGNMENT - 5 * sizeof(void *)];
};
_Static_assert(sizeof(struct tsr_block) == ALIGNMENT, "the bytes after a header are aligned");

/* There where the program is linked with a sanitizer; the allocator itself must reach headers in any build. */
extern void __asan_poison_memory_region(void const volatile *from, size_t bytes) __attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *from, size_t bytes) __attribute__((weak));
#define OF_THE_ALLOCATOR __attribute__((no_sanitize("address")))

/* Of the block, `bytes` from its beginning may be touched. */
static OF_THE_ALLOCATOR void shut_around(const tsr_block *block, size_t bytes)
{
	char *data = (char *)(uintptr_t)(block + 1), *base = block->base;
	if (!__asan_poison_memory_region || !__asan_unpoison_memory_region)
		return;
	__asan_unpoison_memory_region(data, bytes);
	__asan_poison_memory_region(base, (size_t)(data - base));
	__asan_poison_memory_region(data + bytes, block->total - (size_t)(data + bytes - base));
}

static OF_THE_ALLOCATOR void give_back(tsr_ctx *ctx, tsr_block *block)
{
	void *base = block->base;
	if (__asan_unpoison_memory_region)
		__asan_unpoison_memory_region(base, block->total);
	tsr_rt_memory(ctx, base, 0);
}

static _Noreturn void no_memory(tsr_ctx *ctx, size_t bytes)
{
	ctx->failure = TSR_NO_MEMORY;
	tsr_fail(ctx, NULL, "no memory for %zu bytes", bytes);
}

void *tsr_rt_memory(tsr_ctx *ctx, void *old, size_t size)
{
	if (!old && !size)
		return NULL;
	void *p = NULL;
	if (ctx->config.memory)
		p = ctx->config.memory(ctx->config.user, old, size);
	else if (size)
		p = realloc(old, size);
	else
		free(old);
	if (!p && size)
		no_memory(ctx, size);
	return p;
}

/* Fresh pages from the allocator are zero already, and calloc knows which are: only a configured allocator needs memset. */
static OF_THE_ALLOCATOR void *block_of(tsr_ctx *ctx, int64_t bytes, bool zero)
{
	if (bytes < 0)
		tsr_fail(ctx, NULL, "a block of %lld bytes was asked for", (long long)bytes);
	size_t size = (size_t)bytes;
	bool huge = size >= 2 * (size_t)HUGE_PAGE;
	size_t boundary = huge && size < MANY_PAGES * (size_t)HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
	size_t colour = tsr_gap(bytes) ? ctx->colour++ % COLOURS * (size_t)tsr_gap(bytes) : 0;
	size_t total = size + boundary + sizeof(tsr_block) + colour;
	char *base;
	if (ctx->config.memory) {
		base = tsr_rt_memory(ctx, NULL, total);
		if (zero)
			memset(base, 0, total);
	} else {
		base = zero ? calloc(1, total) : malloc(total);
		if (!base)
			no_memory(ctx, size);
	}
	uintptr_t first = ((uintptr_t)base + sizeof(tsr_block) + boundary - 1) & ~(uintptr_t)(boundary - 1);
	char *data = base + (first - (uintptr_t)base);
	size_t cut = -(uintptr_t)data & (HUGE_PAGE - 1);
	if (huge)
		madvise(data + cut, (size - cut) & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
	data += colour;
	tsr_block *block = (tsr_block *)(void *)(data - sizeof(tsr_block));
	*block = (tsr_block){.next = ctx->blocks, .base = base, .total = total, .size = size};
	if (ctx->blocks)
		ctx->blocks->previous = block;
	ctx->blocks = block;
	shut_around(block, size);
	return data;
}

void *tsr_alloc_block(tsr_ctx *ctx, int64_t bytes) { return block_of(ctx, bytes, true); }

void *tsr_rt_alloc_unset(tsr_ctx *ctx, int64_t bytes) { return block_of(ctx, bytes, false); }

OF_THE_ALLOCATOR void tsr_release_block(tsr_ctx *ctx, void *data)
{
	if (!data)
		return;
	tsr_block *block = (tsr_block *)(void *)((char *)data - sizeof(tsr_block));
	if (!block->base)
		return;
	if (block->next)
		block->next->previous = block->previous;
	if (block->previous)
		block->previous->next = block->next;
	else
		ctx->blocks = block->next;
	give_back(ctx, block);
}

OF_THE_ALLOCATOR void tsr_rt_free_blocks(tsr_ctx *ctx)
{
	for (tsr_block *block = ctx->blocks, *next; block; block = next) {
		next = block->next;
		give_back(ctx, block);
	}
	ctx->blocks = NULL;
}

/* What a buffer takes of a block that many share: its bytes and the gap, which has room for a header, so that it can be told from a block of its own. */
static size_t share_of(int64_t bytes)
{
	size_t size = ((size_t)bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	size_t gap = (size_t)tsr_gap(bytes);
	return size + (gap > sizeof(tsr_block) ? gap : sizeof(tsr_block));
}

OF_THE_ALLOCATOR void tsr_rt_share_block(tsr_ctx *ctx, int64_t n, void **table)
{
	int64_t total = 0;
	bool apart = __asan_poison_memory_region != NULL;
	for (int64_t i = 0; i < n; i++) {
		int64_t bytes = (intptr_t)table[i];
		if (bytes > MOST_BYTES || __builtin_add_overflow(total, (int64_t)share_of(bytes), &total) || total > MOST_BYTES)
			tsr_fail(ctx, NULL, "no memory for %lld bytes", (long long)bytes);
	}
	char *at = apart || n == 0 ? NULL : tsr_alloc_block(ctx, total);
	for (int64_t i = 0; i < n; i++) {
		int64_t bytes = (intptr_t)table[i];
		size_t size = share_of(bytes);
		table[i] = apart ? tsr_alloc_block(ctx, bytes) : at + size - (((size_t)bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
		if (apart)
			continue;
		*(tsr_block *)(void *)((char *)table[i] - sizeof(tsr_block)) = (tsr_block){.size = (size_t)bytes};
		at += size;
	}
}

void *tsr_alloc_buffer(tsr_ctx *ctx, int64_t buf, int64_t bytes)
{
	if (ctx->program->buffers && ctx->program->buffers[buf].kind != TSR_ROLE_CONST)
		tsr_release_block(ctx, ctx->buffers[buf]);
	return ctx->buffers[buf] = tsr_alloc_block(ctx, bytes);
}

OF_THE_ALLOCATOR void *tsr_reserve_buffer(tsr_ctx *ctx, int64_t buf, int64_t bytes, int32_t zero)
{
	char *data = ctx->buffers[buf];
	if (!data || ((tsr_block *)(void *)(data - sizeof(tsr_block)))->size < (size_t)bytes) {
		ctx->buffers[buf] = NULL; /* in case there is no memory for another */
		tsr_release_block(ctx, data);
		ctx->buffers[buf] = tsr_alloc_block(ctx, bytes);
		return ctx->buffers[buf];
	}
	shut_around((tsr_block *)(void *)(data - sizeof(tsr_block)), (size_t)bytes);
	if (zero)
		memset(data, 0, (size_t)bytes);
	return ctx->buffers[buf];
}

bool tsr_rt_bytes(int prec, int64_t rank, const int64_t *dims, int64_t *bytes)
{
	*bytes = (int64_t)tsr_rt_prec_bytes(prec);
	for (int64_t k = 0; k < rank; k++)
		if (dims[k] == 0)
			*bytes = 0;
	for (int64_t k = 0; k < rank; k++)
		if (__builtin_mul_overflow(*bytes, dims[k], bytes))
			return false;
	return true;
}

int64_t tsr_elements(int64_t rank, const int64_t *dims)
{
	int64_t n = 1;
	for (int64_t k = 0; k < rank; k++)
		if (dims[k] < 1 || dims[k] > TSR_MAX_SIZE || __builtin_mul_overflow(n, dims[k], &n) || n > INT64_MAX / 2)
			return -1;
	return n;
}

int64_t tsr_array_bytes(tsr_ctx *ctx, const char *where, int32_t prec, int64_t rank, const int64_t *dims)
{
	int64_t bytes, sizes[TSR_MAX_RANK];
	if (rank > TSR_MAX_RANK)
		tsr_fail(ctx, where, "an array of %lld axes; there can be %d", (long long)rank, TSR_MAX_RANK);
	for (int64_t k = 0; k < rank; k++) {
		sizes[k] = dims[k] >= 0 ? dims[k] : ctx->syms[-1 - dims[k]];
		if (sizes[k] < 0) {
			const char *const *names = ctx->program->syms;
			tsr_fail(ctx, where, "the size %s is not known yet", names ? names[-1 - dims[k]] : "of an axis");
		}
	}
	if (!tsr_rt_bytes(prec, rank, sizes, &bytes) || bytes > MOST_BYTES)
		tsr_fail(ctx, where, "an array of this size does not fit into memory");
	return bytes;
}
