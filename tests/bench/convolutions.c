/* Convolutions of one shared object, ours, against oneDNN's, in turns.
 *
 *     convolutions MODEL.so NAME
 *
 * For each line `function kind batch height channels filters window stride seconds` on standard input: `ours=` and `oneDNN=` in
 * seconds, the best of all rounds, `peak=` in GFLOP/s, probed in the same turns, and `wrong=`, the largest difference from a sum in
 * double relative to the sum of the factors' sizes.  Kinds: forward; forward with bias, residual and relu; gradient of the
 * weights; gradient of the input.  oneDNN has activations as n h w c, its own layout of the weights, turned before, and a primitive
 * made before.  Without -DPEER there is no oneDNN. */
#include "probes.h"
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef PEER
#include <oneapi/dnnl/dnnl.h>
#endif

typedef enum { FORWARD, FUSED, WEIGHTS, INPUT } kind;
typedef struct shape { int kind, n, h, c, f, k, s, o; } shape;
/* x, y: activations before and after; w: weights as ours has them; plain: f c kh kw; b, r: bias and residual. */
typedef struct arrays { size_t nx, ny, nw; float *x, *y, *w, *plain, *b, *r; } arrays;

static size_t place(const shape *s, int n, int h, int w, int c, int size, int channels)
{
	(void)s;
	return (((size_t)n * (size_t)size + (size_t)h) * (size_t)size + (size_t)w) * (size_t)channels + (size_t)c;
}

/* Of ours: forward kh kw c f, for both gradients f kh kw c. */
static size_t weight(const shape *s, int f, int c, int i, int j)
{
	size_t k = (size_t)s->k;
	if (s->kind == INPUT || s->kind == WEIGHTS)
		return (((size_t)f * k + (size_t)i) * k + (size_t)j) * (size_t)s->c + (size_t)c;
	return (((size_t)i * k + (size_t)j) * (size_t)s->c + (size_t)c) * (size_t)s->f + (size_t)f;
}

static arrays arrays_make(const shape *s)
{
	arrays a = {(size_t)s->n * (size_t)(s->h * s->h) * (size_t)s->c, (size_t)s->n * (size_t)(s->o * s->o) * (size_t)s->f,
				(size_t)(s->k * s->k) * (size_t)s->c * (size_t)s->f};
	a.x = probe_array(a.nx), a.y = probe_array(a.ny), a.w = probe_array(a.nw), a.plain = probe_array(a.nw);
	a.b = probe_array((size_t)s->f), a.r = probe_array(a.ny);
	for (int f = 0; f < s->f; f++)
		for (int c = 0; c < s->c; c++)
			for (int i = 0; i < s->k; i++)
				for (int j = 0; j < s->k; j++)
					a.plain[(((size_t)f * (size_t)s->c + (size_t)c) * (size_t)s->k + (size_t)i) * (size_t)s->k + (size_t)j] = a.w[weight(s, f, c, i, j)];
	return a;
}

static void arrays_free(arrays *a)
{
	probe_free(a->x), probe_free(a->y), probe_free(a->w), probe_free(a->plain), probe_free(a->b), probe_free(a->r);
}

/* ---- ours ---------------------------------------------------------------------------------------------------------- */

static void ours(void *function, void *ctx, const shape *s, arrays *a)
{
	union { void *object; int (*two)(void *, const float *, const float *, float *);
			int (*four)(void *, const float *, const float *, const float *, const float *, float *); } f = {function};
	if (s->kind == FUSED)
		f.four(ctx, a->x, a->w, a->b, a->r, a->y);
	else if (s->kind == WEIGHTS)
		f.two(ctx, a->x, a->y, a->w);
	else if (s->kind == INPUT)
		f.two(ctx, a->y, a->w, a->x);
	else
		f.two(ctx, a->x, a->w, a->y);
}

/* ---- oneDNN ---------------------------------------------------------------------------------------------------------- */

#ifdef PEER
typedef struct peer { dnnl_engine_t engine; dnnl_stream_t stream; dnnl_primitive_t primitive; dnnl_exec_arg_t args[4]; int nargs; } peer;

static void check(dnnl_status_t status)
{
	if (status != dnnl_success) {
		fprintf(stderr, "oneDNN: status %d\n", (int)status);
		exit(1);
	}
}

static dnnl_memory_t memory_of(const peer *p, const dnnl_memory_desc_t *d, void *data)
{
	dnnl_memory_t m;
	check(dnnl_memory_create(&m, d, p->engine, data ? data : DNNL_MEMORY_ALLOCATE));
	return m;
}

static void argument(peer *p, int which, dnnl_memory_t m) { p->args[p->nargs++] = (dnnl_exec_arg_t){which, m}; }

/* The weights in the primitive's own layout. */
static dnnl_memory_t turned(const peer *p, dnnl_primitive_desc_t made, dnnl_query_t what, const dnnl_memory_desc_t *plain, float *data)
{
	const dnnl_memory_desc_t *own = dnnl_primitive_desc_query_md(made, what, 0);
	dnnl_memory_t from = memory_of(p, plain, data), to = memory_of(p, own, NULL);
	dnnl_primitive_desc_t d;
	dnnl_primitive_t reorder;
	check(dnnl_reorder_primitive_desc_create(&d, plain, p->engine, own, p->engine, NULL));
	check(dnnl_primitive_create(&reorder, d));
	dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
	check(dnnl_primitive_execute(reorder, p->stream, 2, args));
	check(dnnl_stream_wait(p->stream));
	check(dnnl_primitive_destroy(reorder));
	check(dnnl_primitive_desc_destroy(d));
	check(dnnl_memory_destroy(from));
	return to;
}

typedef struct places { dnnl_memory_desc_t x, y, w, plain, b; dnnl_dims_t strides, before, after; } places;

static places places_of(const shape *s)
{
	places d = {.strides = {s->s, s->s}};
	int before = s->k / 2, after = s->s * (s->o - 1) + s->k - before - s->h;
	for (int i = 0; i < 2; i++)
		d.before[i] = before, d.after[i] = after;
	dnnl_dims_t x = {s->n, s->c, s->h, s->h}, y = {s->n, s->f, s->o, s->o}, w = {s->f, s->c, s->k, s->k}, b = {s->f};
	check(dnnl_memory_desc_init_by_tag(&d.x, 4, x, dnnl_f32, dnnl_nhwc));
	check(dnnl_memory_desc_init_by_tag(&d.y, 4, y, dnnl_f32, dnnl_nhwc));
	check(dnnl_memory_desc_init_by_tag(&d.w, 4, w, dnnl_f32, dnnl_format_tag_any));
	check(dnnl_memory_desc_init_by_tag(&d.plain, 4, w, dnnl_f32, dnnl_oihw));
	check(dnnl_memory_desc_init_by_tag(&d.b, 1, b, dnnl_f32, dnnl_a));
	return d;
}

/* The backward primitives ask for a forward one as a hint. */
static dnnl_primitive_desc_t describe(const peer *p, const shape *s, const places *d)
{
	dnnl_convolution_desc_t forward, backward;
	dnnl_primitive_desc_t hint, made;
	dnnl_primitive_attr_t attributes;
	dnnl_post_ops_t after;
	bool fused = s->kind == FUSED, training = s->kind == WEIGHTS || s->kind == INPUT;
	check(dnnl_primitive_attr_create(&attributes));
	check(dnnl_post_ops_create(&after));
	if (fused) {
		check(dnnl_post_ops_append_sum(after, 1));
		check(dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0));
		check(dnnl_primitive_attr_set_post_ops(attributes, after));
	}
	check(dnnl_convolution_forward_desc_init(&forward, training ? dnnl_forward_training : dnnl_forward_inference, dnnl_convolution_direct, &d->x,
		&d->w, fused ? &d->b : NULL, &d->y, d->strides, d->before, d->after));
	check(dnnl_primitive_desc_create(&hint, &forward, attributes, p->engine, NULL));
	check(dnnl_post_ops_destroy(after));
	check(dnnl_primitive_attr_destroy(attributes));
	if (!training)
		return hint;
	if (s->kind == WEIGHTS)
		check(dnnl_convolution_backward_weights_desc_init(&backward, dnnl_convolution_direct, &d->x, &d->w, NULL, &d->y, d->strides, d->before, d->after));
	else
		check(dnnl_convolution_backward_data_desc_init(&backward, dnnl_convolution_direct, &d->x, &d->w, &d->y, d->strides, d->before, d->after));
	check(dnnl_primitive_desc_create(&made, &backward, NULL, p->engine, hint));
	check(dnnl_primitive_desc_destroy(hint));
	return made;
}

static peer peer_make(const shape *s, const arrays *a)
{
	peer p = {0};
	check(dnnl_engine_create(&p.engine, dnnl_cpu, 0));
	check(dnnl_stream_create(&p.stream, p.engine, dnnl_stream_default_flags));
	places d = places_of(s);
	dnnl_primitive_desc_t made = describe(&p, s, &d);
	check(dnnl_primitive_create(&p.primitive, made));
	bool input = s->kind == INPUT, weights = s->kind == WEIGHTS;
	argument(&p, input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, memory_of(&p, &d.x, a->x));
	argument(&p, input || weights ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, memory_of(&p, &d.y, a->y));
	argument(&p, weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
			 weights ? memory_of(&p, dnnl_primitive_desc_query_md(made, dnnl_query_diff_weights_md, 0), NULL)
					 : turned(&p, made, dnnl_query_weights_md, &d.plain, a->plain));
	if (s->kind == FUSED)
		argument(&p, DNNL_ARG_BIAS, memory_of(&p, &d.b, a->b));
	check(dnnl_primitive_desc_destroy(made));
	return p;
}

static void peer_run(peer *p)
{
	check(dnnl_primitive_execute(p->primitive, p->stream, p->nargs, p->args));
	check(dnnl_stream_wait(p->stream));
}

static void peer_free(peer *p)
{
	for (int i = 0; i < p->nargs; i++)
		check(dnnl_memory_destroy(p->args[i].memory));
	check(dnnl_primitive_destroy(p->primitive));
	check(dnnl_stream_destroy(p->stream));
	check(dnnl_engine_destroy(p->engine));
}
#else
typedef struct peer { int none; } peer;
static peer peer_make(const shape *s, const arrays *a) { (void)s, (void)a; return (peer){0}; }
static void peer_run(peer *p) { (void)p; }
static void peer_free(peer *p) { (void)p; }
#endif

/* ---- judging ------------------------------------------------------------------------------------------------------------ */

typedef struct sum { double value, size; } sum;

static void add(sum *t, double x, double y)
{
	t->value += x * y;
	t->size += fabs(x * y);
}

static sum at_result(const shape *s, const arrays *a, size_t e)
{
	sum t = {0};
	int f = (int)(e % (size_t)s->f), w = (int)(e / (size_t)s->f) % s->o, h = (int)(e / (size_t)s->f / (size_t)s->o) % s->o;
	int n = (int)(e / (size_t)s->f / (size_t)(s->o * s->o));
	for (int i = 0; i < s->k; i++)
		for (int j = 0; j < s->k; j++) {
			int y = s->s * h + i - s->k / 2, x = s->s * w + j - s->k / 2;
			for (int c = 0; y >= 0 && y < s->h && x >= 0 && x < s->h && c < s->c; c++)
				add(&t, a->x[place(s, n, y, x, c, s->h, s->c)], a->w[weight(s, f, c, i, j)]);
		}
	if (s->kind == FUSED) {
		add(&t, 1, a->b[f]), add(&t, 1, a->r[e]);
		t.value = t.value > 0 ? t.value : 0;
	}
	return t;
}

static sum at_weight(const shape *s, const arrays *a, size_t e)
{
	sum t = {0};
	int c = (int)(e % (size_t)s->c), tap = (int)(e / (size_t)s->c) % (s->k * s->k), f = (int)(e / (size_t)s->c) / (s->k * s->k);
	for (int n = 0; n < s->n; n++)
		for (int h = 0; h < s->o; h++)
			for (int w = 0; w < s->o; w++) {
				int y = s->s * h + tap / s->k - s->k / 2, x = s->s * w + tap % s->k - s->k / 2;
				if (y >= 0 && y < s->h && x >= 0 && x < s->h)
					add(&t, a->x[place(s, n, y, x, c, s->h, s->c)], a->y[place(s, n, h, w, f, s->o, s->f)]);
			}
	return t;
}

static sum at_input(const shape *s, const arrays *a, size_t e)
{
	sum t = {0};
	int c = (int)(e % (size_t)s->c), x = (int)(e / (size_t)s->c) % s->h, y = (int)(e / (size_t)s->c / (size_t)s->h) % s->h;
	int n = (int)(e / (size_t)s->c / (size_t)(s->h * s->h));
	for (int i = 0; i < s->k; i++)
		for (int j = 0; j < s->k; j++) {
			int h = y - i + s->k / 2, w = x - j + s->k / 2;
			if (h < 0 || w < 0 || h % s->s || w % s->s || h / s->s >= s->o || w / s->s >= s->o)
				continue;
			for (int f = 0; f < s->f; f++)
				add(&t, a->y[place(s, n, h / s->s, w / s->s, f, s->o, s->f)], a->w[weight(s, f, c, i, j)]);
		}
	return t;
}

/* Some elements of the result as it is now. */
static double wrong(const shape *s, const arrays *a)
{
	const float *result = s->kind == WEIGHTS ? a->w : s->kind == INPUT ? a->x : a->y;
	size_t count = s->kind == WEIGHTS ? a->nw : s->kind == INPUT ? a->nx : a->ny;
	double worst = 0;
	for (size_t e = 0; e < count; e += count / 97 + 1) {
		sum t = s->kind == WEIGHTS ? at_weight(s, a, e) : s->kind == INPUT ? at_input(s, a, e) : at_result(s, a, e);
		worst = fmax(worst, fabs(t.value - (double)result[e]) / (t.size + 1e-30));
	}
	return worst;
}

/* ---- measuring ---------------------------------------------------------------------------------------------------------- */

/* A burst: the contender's data are in the caches from the second call on, as for every other one. */
static double burst(void *function, void *ctx, const shape *s, arrays *a, peer *p)
{
	double best = 1e9, begin = now();
	for (int i = 0; i < 2 || (i < 100 && now() - begin < 2e-3); i++) {
		double t = now();
		if (p)
			peer_run(p);
		else
			ours(function, ctx, s, a);
		best = fmin(best, now() - t);
	}
	return best;
}

static void measure(const shape *s, void *function, void *ctx, double seconds)
{
	arrays a = arrays_make(s);
	peer p = peer_make(s, &a);
	double own = 1e9, other = 1e9, peak = 0, begin = now();
	ours(function, ctx, s, &a);
	double error = wrong(s, &a);
	for (int round = 0; round < 3 || now() - begin < seconds; round++) {
		own = fmin(own, burst(function, ctx, s, &a, NULL));
		for (int i = 0; i < 3; i++)
			peak = fmax(peak, probe_peak());
		other = fmin(other, burst(NULL, NULL, s, NULL, &p));
	}
	printf("ours=%g peak=%g wrong=%g", own, peak, error);
#ifdef PEER
	printf(" oneDNN=%g", other);
#endif
	puts("");
	fflush(stdout);
	peer_free(&p);
	arrays_free(&a);
}

int main(int argc, char **argv)
{
	void *model = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *ctx = NULL;
	char name[200], function[100];
	if (!model) {
		fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "convolutions MODEL.so NAME");
		return 1;
	}
	snprintf(name, sizeof name, "%s_open", argv[2]);
	union { void *object; int (*f)(void **, void *); } open = {dlsym(model, name)};
	if (!open.object || open.f(&ctx, NULL))
		return 1;
	shape s;
	double seconds;
	while (scanf("%99s %d %d %d %d %d %d %d %lf", function, &s.kind, &s.n, &s.h, &s.c, &s.f, &s.k, &s.s, &seconds) == 9) {
		s.o = s.h / s.s;
		snprintf(name, sizeof name, "%s_%s", argv[2], function);
		void *f = dlsym(model, name);
		if (!f)
			return 1;
		measure(&s, f, ctx, seconds);
	}
	return 0;
}
