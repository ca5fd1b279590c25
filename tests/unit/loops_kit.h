/* What tests of the passes over loops ask of a program. */
#ifndef TSR_TESTS_LOOPS_KIT_H
#define TSR_TESTS_LOOPS_KIT_H
#include "../../compiler/opt/opt.h"
#include <string.h>

/* How many of its notes contain the text. */
static inline uint32_t notes_with(const tsr_loops *l, const char *text)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->notes.n; i++)
		n += strstr(l->notes.at[i], text) != NULL;
	return n;
}
#endif
