/* What a file format is to the rest of the runtime: one array of one file, without a context, so that the compiler reads
 * headers with the same code.  A failing function leaves one line in `error`, without the path, and returns false. */
#ifndef TSR_RUNTIME_ARRAY_H
#define TSR_RUNTIME_ARRAY_H
#include "internal.h"

enum { TSR_RT_ERROR = 320 };

typedef struct tsr_rt_array {
	const tsr_file_format *format;
	const char *path, *key; /* the caller's; `key` may be NULL */
	tsr_header header;
	size_t bytes; /* of all elements: the product is known to fit */
	void *state;  /* the format's own, between open and close */
	char error[TSR_RT_ERROR];
} tsr_rt_array;

struct tsr_file_format {
	const char *symbol, *ending;
	bool (*open)(tsr_rt_array *a);             /* fills `header`; after a failure close is not called */
	bool (*read)(tsr_rt_array *a, void *data); /* all elements in C order; once */
	void (*close)(tsr_rt_array *a);
	bool digits; /* elements are written in digits: reading them in a wider precision loses nothing */
};

/* array.c */
bool tsr_rt_array_open(tsr_rt_array *a, const char *path, const char *key, const tsr_file_format *format);
bool tsr_rt_array_read(tsr_rt_array *a, void *data);
void tsr_rt_array_close(tsr_rt_array *a);
/* Formats the error and returns false. */
bool tsr_rt_wrong(tsr_rt_array *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Opens a regular file and tells its size. */
FILE *tsr_rt_open(tsr_rt_array *a, uint64_t *size);
/* "(1797, 64)" */
void tsr_rt_shape_text(char *to, size_t size, int64_t rank, const int64_t *dims);

/* npy_read.c: an npy stream inside whatever container. */
typedef struct tsr_rt_source tsr_rt_source;
struct tsr_rt_source {
	/* Reads exactly n bytes; what is missing is an error of the container's wording. */
	bool (*read)(tsr_rt_source *s, tsr_rt_array *a, void *to, size_t n);
	void *from;
	uint64_t left; /* bytes the container still promises */
	bool fortran;  /* found by the header */
};
bool tsr_rt_npy_header(tsr_rt_source *s, tsr_rt_array *a);
bool tsr_rt_npy_data(tsr_rt_source *s, tsr_rt_array *a, void *data);
#endif
