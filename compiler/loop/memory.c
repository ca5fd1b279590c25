/* Elements and random words by way of the runtime's own functions, so that the interpreter sees memory as executables do. */
#include "memory.h"
#include "loop.h"
#include "../../runtime/tsr_abi.h"

tsr_scalar tsr_loop_element(const void *data, tsr_prec prec, int64_t at)
{
	tsr_scalar x = {.prec = prec};
	if (tsr_prec_is_float(prec))
		x.d = tsr_element_f64(data, prec, at);
	else
		x.i = tsr_element_i64(data, prec, at);
	return x;
}

void tsr_loop_element_set(void *data, int64_t at, tsr_scalar value)
{
	if (tsr_prec_is_float(value.prec))
		tsr_element_set_f64(data, value.prec, at, value.d);
	else
		tsr_element_set_i64(data, value.prec, at, value.i);
}

void *tsr_loops_literal(tsr_arena *a, const tsr_buffer *b)
{
	void *data = tsr_alloc(a, b->count * tsr_prec_bytes(b->prec) + 1);
	for (uint64_t i = 0; i < b->count; i++)
		tsr_loop_element_set(data, (int64_t)i, tsr_number_in(b->prec, tsr_numbers_get(b->data, i)));
	return data;
}

void tsr_loop_random(const char *key, uint64_t seed, uint64_t first, int64_t n, uint32_t *words)
{
	uint32_t k[4];
	tsr_random_key(key, seed, k);
	tsr_random_words(words, n, k, first);
}
