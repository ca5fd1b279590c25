/* A program that calls a function whose kernels are divided among threads: alone, then from each thread of its own team, in a
 * context each.  Prints one number that must be the same however it is linked. */
#include "symbolic.h"
#include <stdio.h>
#include <string.h>

enum { B = 3, M = 61, K = 70, C = 33, CALLS = 4 };

static float x[B * M * K], y[B * K * C];

static int product(float *out)
{
	tsr_context *ctx;
	int status = symbolic_open(&ctx, NULL);
	if (!status)
		status = symbolic_product(ctx, B, M, K, C, x, y, out);
	return tsr_close(ctx) || status;
}

int main(void)
{
	static float alone[B * M * C], many[CALLS][B * M * C];
	int failed = 0;
	unsigned sum = 0;
	for (int i = 0; i < B * M * K; i++)
		x[i] = (float)((i * 37) % 101) / 7;
	for (int i = 0; i < B * K * C; i++)
		y[i] = (float)((i * 53) % 97) / 11;
	failed |= product(alone);
#pragma omp parallel for reduction(| : failed)
	for (int i = 0; i < CALLS; i++)
		failed |= product(many[i]);
	for (int i = 0; i < CALLS; i++)
		failed |= memcmp(alone, many[i], sizeof alone) != 0;
	for (int i = 0; i < B * M * C; i++) {
		unsigned bits;
		memcpy(&bits, &alone[i], sizeof bits);
		sum = sum * 31 + bits;
	}
	printf("%u\n", sum);
	return failed;
}
