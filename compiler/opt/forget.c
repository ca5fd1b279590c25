/* State that no run looks back at is none: what every unit that reads it has stored before in the same run, and the program level never looks
 * at, needs neither memory of its own nor to be stored at all.  An optimiser that is told to do without momentum leaves such state.
 *
 * Requires nothing; comes before the passes that join kernels, which may then put it into its readers. */
#include "pass.h"

void tsr_pass_forget(tsr_pass *p)
{
	tsr_arena *scratch = tsr_arena_new();
	const bool *exposed = tsr_exposed_of(p->l, scratch);
	for (uint32_t i = 0; i < p->l->buffers.n; i++) {
		tsr_buffer *b = p->l->buffers.at[i];
		if (b->kind != TSR_BUFFER_STATE || b->observed || exposed[i])
			continue;
		b->kind = TSR_BUFFER_TEMP;
		tsr_pass_note(p, "%s is not looked back at: it is no state", b->name);
		p->changes++;
	}
	tsr_arena_free(scratch);
}
