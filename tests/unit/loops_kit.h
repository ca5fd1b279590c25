/* What tests of the passes over loops ask of a program. */
#ifndef TSR_TESTS_LOOPS_KIT_H
#define TSR_TESTS_LOOPS_KIT_H
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
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
#endif
