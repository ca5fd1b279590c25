/* What the machine can do at this moment, with as many threads as OpenMP is told: multiply-adds, and bytes moved. */
#ifndef TSR_BENCH_PROBES_H
#define TSR_BENCH_PROBES_H
#include <stdbool.h>
#include <stddef.h>

double now(void);                                      /* seconds */
double probe_peak(void);                               /* f32 GFLOP/s of fused multiply-adds, one sample of about 70 us */
double probe_peak_of(double flop);                     /* the same over a sample of so many operations, all threads together */
float *probe_array(size_t n);                          /* large pages, written once by the threads that will read it */
void probe_free(float *a);

/* Passes over n floats, divided among the threads in stretches; `stream`: with stores that go around the caches. */
float probe_read(const float *a, size_t n);
void probe_write(float *d, size_t n, bool stream);
void probe_copy(float *d, const float *a, size_t n, bool stream);
void probe_triad(float *d, const float *a, const float *b, size_t n, bool stream);
void probe_update(float *p, float *m, float *v, const float *g, size_t n); /* three arrays in place, one read */

/* A runtime's allocator that counts: the configuration's `memory`, and the most bytes held at once since the last call. */
void *probe_memory(void *user, void *memory, size_t size);
size_t probe_memory_most(void);
#endif
