/* A context whose output, errors and end are caught, for the tests of the runtime.
 *
 * FAILS(statement) runs a statement that must stop the program and gives its message as "where: message". */
#ifndef TSR_TESTS_RUNTIME_CONTEXT_H
#define TSR_TESTS_RUNTIME_CONTEXT_H
#include "../../runtime/tsr_abi.h"
#include "check.h"
#include <setjmp.h>
#include <stdlib.h>

typedef struct caught {
	jmp_buf back;
	char text[1 << 16], error[700];
	size_t length;
	int status;
	long allocations_left; /* -1: no limit */
	int armed;             /* inside FAILS: `back` may be jumped to */
} caught;

static caught *the_caught;

static inline int catch_write(void *user, const char *text, size_t length)
{
	caught *c = user;
	if (length > sizeof c->text - 1 - c->length)
		length = sizeof c->text - 1 - c->length;
	memcpy(c->text + c->length, text, length);
	c->text[c->length += length] = 0;
	return 0;
}

static inline void catch_error(void *user, const char *where, const char *message)
{
	caught *c = user;
	snprintf(c->error, sizeof c->error, "%s: %s", where, message);
}

static inline void catch_stop(void *user, tsr_status status)
{
	caught *c = user;
	c->status = status;
	if (!c->armed) {
		printf("unexpected failure: %s\n", c->error);
		exit(1);
	}
	longjmp(c->back, 1);
}

static inline void *catch_memory(void *user, void *memory, size_t size)
{
	caught *c = user;
	if (size == 0) {
		free(memory);
		return NULL;
	}
	if (c->allocations_left == 0)
		return NULL;
	if (c->allocations_left > 0)
		c->allocations_left--;
	return realloc(memory, size);
}

/* The configuration of such a context; one at a time. */
static inline tsr_config caught_config(caught *c)
{
	tsr_config config;
	memset(c, 0, sizeof *c);
	c->allocations_left = -1;
	the_caught = c;
	tsr_config_init(&config);
	config.error = catch_error;
	config.write = catch_write;
	config.stop = catch_stop;
	config.user = c;
	return config;
}

/* What was printed since the last call. */
static inline const char *printed(tsr_ctx *ctx)
{
	tsr_flush(ctx);
	the_caught->length = 0;
	return the_caught->text;
}

#define FAILS(statement)                                                                                               \
	(the_caught->error[0] = 0, the_caught->armed = 1,                                                                  \
	 setjmp(the_caught->back) == 0 ? ((void)(statement), strcpy(the_caught->error, "no failure")) : NULL,              \
	 the_caught->armed = 0, (const char *)the_caught->error)
#endif
