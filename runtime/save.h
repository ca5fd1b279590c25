/* What a format of saved files is to save.c.  Functions return 0 or an errno value. */
#ifndef TSR_RUNTIME_SAVE_H
#define TSR_RUNTIME_SAVE_H
#include "internal.h"

typedef struct tsr_rt_writer {
	void *state;
} tsr_rt_writer;

struct tsr_save_format {
	bool single;                                     /* one array and no more */
	int (*open)(tsr_rt_writer *w, const char *path); /* the file is there, empty, ours */
	int (*add)(tsr_rt_writer *w, const char *key, const char *header, size_t header_size, const void *data,
			   size_t size);
	int (*close)(tsr_rt_writer *w); /* frees the state, also after a failure */
};
#endif
