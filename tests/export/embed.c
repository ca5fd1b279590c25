/* What a C program does with two models: many sizes, wrong sizes, several contexts, threads, callbacks, no memory.  Prints "done", or
 * what does not hold; check.py compiles it with training.o and words.o and runs it, under valgrind too. */
#include "training.h"
#include "words.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

#define CHECK(holds, ...)                          \
	do {                                           \
		if (!(holds)) {                            \
			wrong++;                               \
			printf("%s:%d: ", __FILE__, __LINE__); \
			printf(__VA_ARGS__);                   \
			printf("\n");                          \
		}                                          \
	} while (0)

static float example(int64_t i) { return (float)((i * 7 + 3) % 11) / 11 - 0.5f; }

/* The same model in C: y = w x + b, the loss before the step, one step of gradient descent. */
typedef struct plain { double w[2][3], b[2]; } plain;

static double plain_step(plain *p, int64_t n, const float *x, const float *y, double rate)
{
	double dw[2][3] = {{0}}, db[2] = {0}, loss = 0;
	for (int64_t i = 0; i < n; i++)
		for (int o = 0; o < 2; o++) {
			double e = p->b[o] - (double)y[2 * i + o];
			for (int k = 0; k < 3; k++)
				e += p->w[o][k] * (double)x[3 * i + k];
			loss += e * e;
			db[o] += 2 * e;
			for (int k = 0; k < 3; k++)
				dw[o][k] += 2 * e * (double)x[3 * i + k];
		}
	for (int o = 0; o < 2; o++) {
		p->b[o] -= rate * db[o];
		for (int k = 0; k < 3; k++)
			p->w[o][k] -= rate * dw[o][k];
	}
	return loss;
}

static void fill(int64_t n, float *to, int64_t from)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = example(i + from);
}

/* Trains at changing sizes; NULL, or what differs from the plain model. */
static const char *train(tsr_context *ctx, int64_t seed)
{
	static const int64_t sizes[] = {1, 2, 7, 64, 3, 501, 1};
	plain p = {{{0}}, {0}};
	for (int round = 0; round < 21; round++) {
		int64_t n = sizes[round % 7];
		float *x = malloc(sizeof *x * (size_t)(3 * n)), *y = malloc(sizeof *y * (size_t)(2 * n)), loss = -1, w[6];
		double rate = 0.02 / (double)n;
		fill(3 * n, x, seed + round);
		fill(2 * n, y, seed - round);
		double want = plain_step(&p, n, x, y, rate);
		int status = training_step(ctx, n, x, y, rate, &loss);
		float *out = malloc(sizeof *out * (size_t)training_predict_elements(n));
		int also = training_predict(ctx, n, x, out), third = training_weights(ctx, w);
		double last = p.b[1];
		for (int k = 0; k < 3; k++)
			last += p.w[1][k] * (double)x[3 * (n - 1) + k];
		double got = (double)out[2 * n - 1];
		free(x);
		free(y);
		free(out);
		if (status || also || third)
			return tsr_last_error(ctx);
		if (fabs((double)loss - want) > 1e-4 * (1 + want) || fabs(got - last) > 1e-4)
			return "the loss or the prediction differs";
		for (int i = 0; i < 6; i++)
			if (fabs((double)w[i] - p.w[i / 3][i % 3]) > 1e-4)
				return "the weights differ";
	}
	return NULL;
}

static void *train_thread(void *seed)
{
	tsr_context *ctx;
	const char *what = "open failed";
	if (training_open(&ctx, NULL) == TSR_OK)
		what = train(ctx, *(int64_t *)seed);
	what = what ? strdup(what) : NULL;
	tsr_close(ctx);
	return (void *)(size_t)what;
}

static void contexts(void)
{
	pthread_t threads[4];
	int64_t seeds[4] = {10, 20, 30, 40};
	tsr_context *a, *b;
	CHECK(training_open(&a, NULL) == TSR_OK && training_open(&b, NULL) == TSR_OK, "open");
	for (int i = 0; i < 2; i++) { /* interleaved: neither sees the other */
		const char *what = train(i ? b : a, 5);
		CHECK(!what, "%s", what);
	}
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, train_thread, &seeds[i]), "a thread");
	for (int i = 0; i < 4; i++) {
		void *what;
		pthread_join(threads[i], &what);
		CHECK(!what, "%s", (char *)what);
		free(what);
	}
	CHECK(tsr_close(a) == TSR_OK && tsr_close(b) == TSR_OK && tsr_close(NULL) == TSR_OK, "close");
}

/* ---- files, arguments, printing -------------------------------------------------------------------------------------------- */

static char said[4096];
static int take_text(void *user, const char *text, size_t length)
{
	(void)user;
	strncat(said, text, length);
	return 0;
}

static int refuse_text(void *user, const char *text, size_t length)
{
	(void)user, (void)text, (void)length;
	return 28; /* ENOSPC */
}

static int errors;
static void take_error(void *user, const char *where, const char *message)
{
	(void)message;
	CHECK(user == &errors && (!*where || strstr(where, "words.tsr:")), "where: %s", where);
	errors++;
}

/* Five floats 1. .. 5. as an npy file. */
static void write_table(const char *path)
{
	char head[128];
	FILE *f = fopen(path, "wb");
	memset(head, ' ', sizeof head);
	memcpy(head, "\x93NUMPY\1\0\x76\0", 10);
	memcpy(head + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", 57);
	head[127] = '\n';
	fwrite(head, 1, sizeof head, f);
	for (int i = 1; i <= 5; i++) {
		float x = (float)i;
		fwrite(&x, sizeof x, 1, f);
	}
	fclose(f);
}

static void words(void)
{
	const char *args[] = {"table.npy", "none.npy"};
	tsr_context *ctx, *other;
	tsr_config config;
	float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, out[16];
	write_table("table.npy");
	tsr_config_init(&config);
	config.error = take_error;
	config.write = take_text;
	config.user = &errors;
	config.nargs = 1;
	config.args = args;
	CHECK(words_open(&ctx, &config) == TSR_OK, "%s", tsr_last_error(ctx));
	CHECK(words_double(ctx, 1, 3, x, x, out) == TSR_OK && out[0] == 0 && out[1] == 3, "double: %g", (double)out[1]);
	CHECK(words_against(ctx, 5, x, out) == TSR_OK && out[4] == 9, "against: %g", (double)out[4]);
	CHECK(words_against(ctx, 4, x, out) == TSR_FAILED && errors == 1
		&& strstr(tsr_last_error(ctx), "words.tsr:8:40: x has 4 output positions (?n) and table has 5 (?rows), and `x + table` needs them equal"),
		"%s", tsr_last_error(ctx));
	CHECK(words_against_elements(ctx, 4) == -1 && words_against_elements(ctx, 5) == 5 && words_appended_elements(ctx, 3) == 8, "sizes of a file");
	CHECK(words_appended(ctx, 3, x, out) == TSR_OK && out[2] == 2 && out[3] == 1 && out[7] == 5, "appended");
	CHECK(words_greet(ctx, 2, 0.25) == TSR_OK && !strcmp(said, "hello 1 of 2, 0.5\nhello 2 of 2, 0.5\n"), "said: %s", said);
	said[0] = 0;
	CHECK(words_running(ctx, 3, x, 2) == TSR_OK && !strcmp(said, "running.shown : 3 |  [0. 1. 2.]\n2.\n"), "said: %s", said);
	CHECK(words_running(ctx, 3, x, 3) == TSR_FAILED && strstr(tsr_last_error(ctx), "index 3 is outside"), "%s", tsr_last_error(ctx));
	CHECK(words_running(ctx, 4, x, 3) == TSR_OK, "%s", tsr_last_error(ctx));
	CHECK(tsr_close(ctx) == TSR_OK, "close");

	config.write = refuse_text;
	CHECK(words_open(&ctx, &config) == TSR_OK && words_greet(ctx, 1, 1) == TSR_OUTPUT_FAILED, "a full disk: %s", tsr_last_error(ctx));
	CHECK(tsr_close(ctx) == TSR_OUTPUT_FAILED, "close says it too");

	config.args = args + 1;
	CHECK(words_open(&ctx, &config) == TSR_FAILED && strstr(tsr_last_error(ctx), "none.npy: no such file"), "%s", tsr_last_error(ctx));
	CHECK(words_greet(ctx, 1, 1) == TSR_FAILED && strstr(tsr_last_error(ctx), "failed to open"), "%s", tsr_last_error(ctx));
	tsr_close(ctx);
	config.nargs = 0;
	CHECK(words_open(&ctx, &config) == TSR_FAILED && strstr(tsr_last_error(ctx), "argument 1 is missing"), "%s", tsr_last_error(ctx));
	CHECK(training_open(&other, NULL) == TSR_OK, "open");
	CHECK(words_greet(other, 1, 1) == TSR_FAILED && strstr(tsr_last_error(other), "was opened by training, and the function belongs to words"),
		"%s", tsr_last_error(other));
	CHECK(words_greet(NULL, 1, 1) == TSR_FAILED && !strcmp(tsr_last_error(NULL), "no memory"), "no context");
	tsr_close(other);
	tsr_close(ctx);
}

/* ---- memory that ends -------------------------------------------------------------------------------------------------------- */

static long allowed, held;
static void *count_memory(void *user, void *memory, size_t size)
{
	(void)user;
	if (size && allowed-- <= 0)
		return NULL;
	held += !memory - !size;
	if (size)
		return realloc(memory, size);
	free(memory);
	return NULL;
}

static void no_memory(void)
{
	float x[30], y[20], loss;
	int failures = 0, ends;
	fill(30, x, 1);
	fill(20, y, 2);
	for (long n = 0; n < 200; n++) {
		tsr_context *ctx;
		tsr_config config;
		tsr_config_init(&config);
		config.memory = count_memory;
		allowed = n;
		ends = training_open(&ctx, &config);
		if (ends == TSR_OK)
			ends = training_step(ctx, 10, x, y, 0.01, &loss);
		CHECK(ends == TSR_OK || (ends == TSR_NO_MEMORY && strstr(tsr_last_error(ctx), "no memory")), "%d: %s", ends, tsr_last_error(ctx));
		failures += ends != TSR_OK;
		allowed = 1000;
		if (ctx && ends != TSR_OK && training_step(ctx, 10, x, y, 0.01, &loss) == TSR_OK)
			CHECK(loss > 0, "a loss");
		tsr_close(ctx);
		CHECK(held == 0, "%ld blocks are left", held);
		if (ends == TSR_OK)
			break;
	}
	CHECK(failures > 5 && ends == TSR_OK, "%d failures", failures);
}

int main(void)
{
	contexts();
	words();
	no_memory();
	printf("done\n");
	return wrong ? 1 : 0;
}
