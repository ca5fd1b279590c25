/* The constants of a program: literals, and the table that tells the runtime what to allocate. */
#include "emit.h"
void tsr_emit_program(tsr_emit *e)
{
	(void)e;
}
