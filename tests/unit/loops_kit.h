/* What tests of the passes over loops ask of a program. */
#ifndef TSR_TESTS_LOOPS_KIT_H
#define TSR_TESTS_LOOPS_KIT_H
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The next piece of a form of loops: <s> is a loop over axis s, <s+> one that sums, #s the extent; anything else is a character.  The piece behind it. */
static inline const char *put_piece(tsr_text *t, const char *text, const int *extent)
{
	if (*text == '#') {
		tsr_text_addf(t, "%d", extent[(int)text[1]]);
		return text + 2;
	}
	if (*text == '<') {
		tsr_text_addf(t, "for %c in 0..%d %s {", text[1], extent[(int)text[1]], text[2] == '+' ? "reduce" : "parallel");
		return text + (text[2] == '+' ? 4 : 3);
	}
	tsr_text_char(t, *text);
	return text + 1;
}

/* The loops of a file after these passes, by one thread; NULL where there is a mistake. */
static inline tsr_loops *loops_after(tsr_compiler *tc, uint32_t file, const tsr_target *target, const char *passes)
{
	tsr_loops *l = tsr_loops_read(tc, file);
	tsr_opt_options options = { .level = 2, .fuse = true, .threads = TSR_THREADS_NONE, .passes = passes };
	return l && tsr_opt_run(l, target, &options) ? l : NULL;
}

/* How many of its notes contain the text. */
static inline uint32_t notes_with(const tsr_loops *l, const char *text)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->notes.n; i++)
		n += strstr(l->notes.at[i], text) != NULL;
	return n;
}

/* Runs the first unit by the interpreter, where all buffers are full of multiples of an eighth, but temporaries of NaN.  What f32 buffer `result` holds then, for the caller to free, and how many. */
static inline float *interpreted(const tsr_loops *l, tsr_buffer_id result, size_t *count)
{
	void **memory = calloc(l->buffers.n, sizeof *memory);
	for (uint32_t b = 0; b < l->buffers.n; b++) {
		size_t many = (size_t)tsr_buffer_bytes(l->buffers.at[b]) / sizeof(float);
		float *at = memory[b] = malloc((many + 1) * sizeof *at);
		for (size_t i = 0; i < many; i++)
			at[i] = l->buffers.at[b]->kind == TSR_BUFFER_TEMP ? (float)NAN : (float)((int)((i * 37 + b * 11) % 17) - 8) / 8;
		*count = b == result ? many : *count;
	}
	tsr_machine m = { .buffers = memory };
	CHECK(tsr_loops_run(l, 0, &m));
	float *out = memory[result];
	for (uint32_t b = 0; b < l->buffers.n; b++)
		if (b != result)
			free(memory[b]);
	free(memory);
	return out;
}
#endif
