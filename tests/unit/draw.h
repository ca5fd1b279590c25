/* Random draws that every machine repeats: Knuth's 64-bit linear congruential generator (MMIX, The Art of Computer Programming 2, 3.3.4), of which the upper bits are used.
 * A test sets `state` before it draws. */
#ifndef TSR_TESTS_DRAW_H
#define TSR_TESTS_DRAW_H
#include <stdint.h>

static uint64_t state;

/* One of 0 .. n-1. */
static inline uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}
#endif
