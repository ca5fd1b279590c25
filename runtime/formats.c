/* The format by the ending of the file's name.  Linked only where a program leaves the choice to the run, and into the
 * compiler, which decides it before. */
#include "array.h"
#include <string.h>
#include <strings.h>

static const tsr_file_format *const formats[] = {&tsr_format_npy, &tsr_format_npz, &tsr_format_csv};

const tsr_file_format *tsr_format_of_path(const char *path)
{
	size_t n = strlen(path);
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		size_t m = strlen(formats[i]->ending);
		if (n > m && strcasecmp(path + n - m, formats[i]->ending) == 0)
			return formats[i];
	}
	return &tsr_format_text;
}

const char *tsr_format_symbol(const tsr_file_format *format)
{
	return format->symbol;
}

/* From here on the array belongs to the format that was found, so this one never reads or closes. */
static bool open_any(tsr_rt_array *a)
{
	a->format = tsr_format_of_path(a->path);
	return a->format->open(a);
}

const tsr_file_format tsr_format_any = {.symbol = "tsr_format_any", .ending = "", .open = open_any};
