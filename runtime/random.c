/* Threefry-4x32-20 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011), the streams built
 * on it, and nothing that depends on the machine: the same words everywhere.
 *
 * One counter gives four words by twenty rounds of add, rotate, xor.  tsr_random_words runs LANES counters side by side
 * in vectors of the C compiler, built once per instruction set and chosen at the first call by what the
 * processor has. */
#include "tsr_abi.h"
#include <string.h>

enum { LANES = 16 };

static const unsigned char rotation[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
											 {6, 20},  {17, 11}, {25, 10}, {18, 20}};
static const uint32_t parity = 0x1BD11BDA;

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

#define ALWAYS static inline __attribute__((always_inline))

/* a += b; b = rotate(b, r) ^ a, in every lane */
ALWAYS void mix(lanes *a, lanes *b, unsigned r)
{
	*a += *b;
	*b = ((*b << r) | (*b >> (32 - r))) ^ *a;
}

/* Round d (mod 8): odd ones exchange the partners. */
#define ROUND(d, p, q)                                                                                                 \
	mix(x0, p, rotation[d][0]);                                                                                        \
	mix(x2, q, rotation[d][1])
/* After every fourth round the key comes in again, turned by one word more. */
#define INJECT(s)                                                                                                      \
	*x0 += ks[(s) % 5];                                                                                                \
	*x1 += ks[((s) + 1) % 5];                                                                                          \
	*x2 += ks[((s) + 2) % 5];                                                                                          \
	*x3 += ks[((s) + 3) % 5] + (s)

ALWAYS void rounds(lanes *x0, lanes *x1, lanes *x2, lanes *x3, const uint32_t key[4])
{
	const uint32_t ks[5] = {key[0], key[1], key[2], key[3], parity ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
	INJECT(0u);
	ROUND(0, x1, x3);
	ROUND(1, x3, x1);
	ROUND(2, x1, x3);
	ROUND(3, x3, x1);
	INJECT(1u);
	ROUND(4, x1, x3);
	ROUND(5, x3, x1);
	ROUND(6, x1, x3);
	ROUND(7, x3, x1);
	INJECT(2u);
	ROUND(0, x1, x3);
	ROUND(1, x3, x1);
	ROUND(2, x1, x3);
	ROUND(3, x3, x1);
	INJECT(3u);
	ROUND(4, x1, x3);
	ROUND(5, x3, x1);
	ROUND(6, x1, x3);
	ROUND(7, x3, x1);
	INJECT(4u);
	ROUND(0, x1, x3);
	ROUND(1, x3, x1);
	ROUND(2, x1, x3);
	ROUND(3, x3, x1);
	INJECT(5u);
}

/* Words of counters block .. block + LANES - 1. */
ALWAYS void blocks(uint32_t *out, const uint32_t key[4], uint64_t block)
{
	lanes x0, x1, x2, x3;
	for (int i = 0; i < LANES; i++) {
		uint64_t counter = block + (uint64_t)i;
		x0[i] = (uint32_t)counter;
		x1[i] = (uint32_t)(counter >> 32);
		x2[i] = x3[i] = 0;
	}
	rounds(&x0, &x1, &x2, &x3, key);
	for (int i = 0; i < LANES; i++) {
		out[4 * i] = x0[i];
		out[4 * i + 1] = x1[i];
		out[4 * i + 2] = x2[i];
		out[4 * i + 3] = x3[i];
	}
}

/* Whole groups go straight to their place; the ragged ends through a small array. */
ALWAYS void fill(uint32_t *words, int64_t n, const uint32_t key[4], uint64_t first)
{
	while (n > 0) {
		unsigned skip = (unsigned)(first % 4);
		if (skip == 0 && n >= 4 * LANES) {
			blocks(words, key, first / 4);
			words += 4 * LANES;
			first += 4 * LANES;
			n -= 4 * LANES;
			continue;
		}
		uint32_t some[4 * LANES];
		int64_t take = 4 * LANES - (int64_t)skip < n ? 4 * LANES - (int64_t)skip : n;
		blocks(some, key, first / 4);
		memcpy(words, some + skip, (size_t)take * sizeof *words);
		words += take;
		first += (uint64_t)take;
		n -= take;
	}
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static void fill_avx512(uint32_t *w, int64_t n, const uint32_t *key, uint64_t first)
{
	fill(w, n, key, first);
}
__attribute__((target("avx2"))) static void fill_avx2(uint32_t *w, int64_t n, const uint32_t *key, uint64_t first)
{
	fill(w, n, key, first);
}
#endif
static void fill_plain(uint32_t *w, int64_t n, const uint32_t *key, uint64_t first)
{
	fill(w, n, key, first);
}

void tsr_random_words(uint32_t *words, int64_t n, const uint32_t key[4], uint64_t first)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f")) {
		fill_avx512(words, n, key, first);
		return;
	}
	if (__builtin_cpu_supports("avx2")) {
		fill_avx2(words, n, key, first);
		return;
	}
#endif
	fill_plain(words, n, key, first);
}

/* One counter by itself, written as the paper does: the other form is tested against it. */
void tsr_threefry(const uint32_t counter[4], const uint32_t key[4], uint32_t out[4])
{
	uint32_t ks[5] = {key[0], key[1], key[2], key[3], parity ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
	uint32_t x[4];
	for (unsigned i = 0; i < 4; i++)
		x[i] = counter[i] + ks[i];
	for (unsigned r = 0; r < 20; r++) {
		unsigned p = r % 2 ? 3 : 1, q = 4 - p;
		const unsigned char *by = rotation[r % 8];
		x[0] += x[p];
		x[p] = ((x[p] << by[0]) | (x[p] >> (32 - by[0]))) ^ x[0];
		x[2] += x[q];
		x[q] = ((x[q] << by[1]) | (x[q] >> (32 - by[1]))) ^ x[2];
		if (r % 4 == 3) {
			unsigned s = r / 4 + 1;
			for (unsigned i = 0; i < 4; i++)
				x[i] += ks[(s + i) % 5];
			x[3] += s;
		}
	}
	memcpy(out, x, sizeof x);
}

/* FNV-1a with 128 bits (offset basis and prime of its authors), over the bytes of the name. */
void tsr_random_key(const char *name, uint64_t seed, uint32_t key[4])
{
	__extension__ typedef unsigned __int128 wide;
	const wide prime = ((wide)1 << 88) + 0x13B;
	wide h = ((wide)0x6C62272E07BB0142u << 64) | 0x62B821756295C58Du;
	for (const unsigned char *s = (const unsigned char *)name; *s; s++)
		h = (h ^ *s) * prime;
	const uint32_t hash[4] = {(uint32_t)h, (uint32_t)(h >> 32), (uint32_t)(h >> 64), (uint32_t)(h >> 96)};
	const uint32_t counter[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
	tsr_threefry(counter, hash, key);
}
