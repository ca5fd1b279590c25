/* argv -> options -> driver -> exit status. */
#include "driver/driver.h"
#include <signal.h>

int main(int argc, char **argv)
{
	signal(SIGXFSZ, SIG_IGN);                /* a limit on file sizes is a failed write, here and in the linker */
	tsr_arena *arena = tsr_arena_new();
	tsr_options options;
	int status = TSR_EXIT_USAGE;
	if (tsr_options_parse(&options, arena, argc, argv))
		status = tsr_drive(&options);
	tsr_arena_free(arena);
	return status;
}
