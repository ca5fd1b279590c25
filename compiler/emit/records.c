/* Numbers that lie in records: `n` registers hold as many records of n numbers as a register has lanes, one behind the other, and one register for each number has
 * it of all these records.
 *
 * A prime n takes n - 1 permutations of two registers for each of its n.  Of n = p q numbers, q a prime, each record is p records of q: those are taken apart first, chunk by
 * chunk, and then for each of the q numbers what is left is records of p: n (p - 1 + q - 1) permutations rather than n (n - 1). */
#include "emit.h"

static unsigned prime_in(unsigned n)
{
	unsigned q = 2;
	while (q * q <= n && n % q)
		q++;
	return q * q <= n ? q : n;
}

static void at_once(tsr_emit *e, unsigned lanes, unsigned n, LLVMValueRef *value, bool apart)
{
	unsigned of[64], at[64];
	LLVMValueRef out[TSR_MOST_RECORD];
	for (unsigned k = 0; k < n; k++) {
		for (unsigned i = 0; i < lanes; i++) {
			unsigned element = apart ? i * n + k : k * lanes + i;
			of[i] = apart ? element / lanes : element % n, at[i] = apart ? element % lanes : element / n;
		}
		out[k] = tsr_emit_of_parts(e, lanes, n, value, of, at);
	}
	for (unsigned k = 0; k < n; k++)
		value[k] = out[k];
}

void tsr_emit_records_apart(tsr_emit *e, unsigned lanes, unsigned n, LLVMValueRef *value)
{
	unsigned q = prime_in(n), p = n / q;
	LLVMValueRef column[TSR_MOST_RECORD], out[TSR_MOST_RECORD];
	if (n == 1)
		return;
	for (unsigned chunk = 0; chunk < p; chunk++)
		at_once(e, lanes, q, value + chunk * q, true);
	for (unsigned b = 0; b < q; b++) {
		for (unsigned chunk = 0; chunk < p; chunk++)
			column[chunk] = value[chunk * q + b];
		tsr_emit_records_apart(e, lanes, p, column);
		for (unsigned a = 0; a < p; a++)
			out[a * q + b] = column[a];
	}
	for (unsigned k = 0; k < n; k++)
		value[k] = out[k];
}

void tsr_emit_records_together(tsr_emit *e, unsigned lanes, unsigned n, LLVMValueRef *value)
{
	unsigned q = prime_in(n), p = n / q;
	LLVMValueRef column[TSR_MOST_RECORD], chunks[TSR_MOST_RECORD];
	if (n == 1)
		return;
	for (unsigned b = 0; b < q; b++) {
		for (unsigned a = 0; a < p; a++)
			column[a] = value[a * q + b];
		tsr_emit_records_together(e, lanes, p, column);
		for (unsigned chunk = 0; chunk < p; chunk++)
			chunks[chunk * q + b] = column[chunk];
	}
	for (unsigned chunk = 0; chunk < p; chunk++)
		at_once(e, lanes, q, chunks + chunk * q, false);
	for (unsigned k = 0; k < n; k++)
		value[k] = chunks[k];
}
