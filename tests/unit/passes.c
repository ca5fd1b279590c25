/* Every pass against the reference interpreter: random programs of several units that share buffers, run in turn, must leave in
 * what the program level sees the same numbers before and after each pass.  */
#include "random_loops.h"

enum { PROGRAMS = 400 };

/* Runs the units in turn, twice, and gives the memory. */
static float (*run(const tsr_loops *l))[12]
{
	uint32_t n = l->buffers.n;           /* a pass may have added some */
	float(*memory)[12] = calloc(n, sizeof *memory);
	void **buffers = calloc(n, sizeof *buffers);
	for (uint32_t b = 0; b < n; b++)
		for (uint32_t i = 0; i < 12; i++) {
			memory[b][i] = (float)((int)((b * 7 + i * 5) % 9) - 4) / 4;
			buffers[b] = memory[b];
		}
	const int32_t positions[] = { 2, -1, 0, 3 };
	memcpy(memory[IDS], positions, sizeof positions);
	tsr_machine m = { .buffers = buffers };
	for (uint32_t step = 0; step < 2 * UNITS; step++)
		tsr_loops_run(l, step % UNITS, &m);
	free(buffers);
	return memory;
}

static bool equal(const tsr_loops *l, float (*x)[12], float (*y)[12])
{
	for (uint32_t b = 0; b < BUFFERS; b++)
		for (int i = 0; l->buffers.at[b]->observed && i < 12; i++)
			if (!(x[b][i] == y[b][i] || (x[b][i] != x[b][i] && y[b][i] != y[b][i])))
				return false;
	return true;
}

static uint32_t kernels(const tsr_loops *l)
{
	uint32_t n = 0;
	for (uint32_t u = 0; u < l->units.n; u++)
		n += l->units.at[u]->body.n;
	return n;
}

/* Loops over which something is taken together. */
static uint32_t reductions(const tsr_stmts *body)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		if (s->kind == TSR_STMT_FOR)
			n += (s->loop.how == TSR_FOR_REDUCE) + reductions(&s->loop.body);
		else if (s->kind == TSR_STMT_KERNEL)
			n += reductions(&s->kernel.body);
	}
	return n;
}

static uint32_t all_reductions(const tsr_loops *l)
{
	uint32_t n = 0;
	for (uint32_t u = 0; u < l->units.n; u++)
		n += reductions(&l->units.at[u]->body);
	return n;
}

int main(void)
{
	static const char *const chosen[] = { "gather", "running", "reduce,virtual,gather,running", "simplify", "factor", "factor,reduce", "reduce", "virtual", "fuse", "reduce,fuse", "fuse,walks", "reduce,virtual,fuse,rows,walks", "reduce,virtual,fuse,rows,walks,held", "fuse,rows", "reduce,virtual,fuse,rows", "fuse,copies", "reduce,virtual,fuse,copies,rows,inplace", "reduce,virtual,simplify",
		"classify,schedule,threads,finite", "pull,reduce", "reduce,virtual,spread", "spread", "reduce,threads", "reduce,virtual,fuse,rows,turn,narrow,threads", "virtual,turn", "scaled", "reduce,virtual,scaled,classify,schedule,fuse,rows,reuse,threads", "remat", "reduce,virtual,fuse,rows,threads,remat", "soon", "reduce,virtual,fuse,rows,soon,threads,inplace", "deep", "reduce,deep,classify,schedule,threads", NULL };
	tsr_target target = *tsr_target_by_name("avx512");
	uint32_t before = 0, after = 0, split = 0, teams = 0, fewer[2] = {0}, again = 0;
	for (int n = 0; n < PROGRAMS; n++) {
		tsr_compiler *tc = tsr_compiler_new();
		state = 1000 + (uint64_t)n;
		const char *text = program(tc->arena);
		uint32_t file = tsr_source_add(tc, "random.loop", text, strlen(text));
		tsr_loops *l = tsr_loops_read(tc, file);
		tsr_diags_render(tc, stdout, false);
		if (!CHECK(l != NULL))
			return check_end("passes");
		float(*want)[12] = run(l);
		before += kernels(l);
		for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
			l = tsr_loops_read(tc, file);
			tsr_opt_options options = { .level = 2, .fuse = true, .threads = TSR_THREADS_ALL, .passes = chosen[i] };
			if (chosen[i] && strstr(chosen[i], "remat"))
				options.memory_limit = 1;    /* as little as goes */
			uint32_t summed = all_reductions(l);
			CHECK(tsr_opt_run(l, &target, &options));
			if (i < 2)                   /* gather, running */
				fewer[i] += summed - all_reductions(l);
			again += l->recomputed_bytes > 0;
			float(*got)[12] = run(l);
			if (!CHECK(equal(l, got, want))) {
				printf("program %d after %s:\n%s", n, chosen[i] ? chosen[i] : "the pipeline", text);
				tsr_loops_print(l, stdout);
				return check_end("passes");
			}
			free(got);
		}
		after += kernels(l);
		for (uint32_t i = 0; i < l->units.n; i++)
			for (uint32_t k = 0; k < l->units.at[i]->body.n; k++)
				teams += l->units.at[i]->body.at[k]->kind == TSR_STMT_KERNEL && l->units.at[i]->body.at[k]->kernel.team != NULL;
		split += l->buffers.n > BUFFERS + 1;
		free(want);
		tsr_compiler_free(tc);
	}
	printf("%u kernels became %u, %u of them divided among threads; products were split in %u of %d programs\n", before, after, teams, split, PROGRAMS);
	printf("%u sums were looked up or added up in place, %u run along\n", fewer[0], fewer[1]);
	printf("in %u runs something was computed again\n", again);
	CHECK(again > 0);
	CHECK(fewer[0] > PROGRAMS / 2 && fewer[1] > PROGRAMS / 4);
	CHECK(teams > after / 4);
	CHECK(after < before);
	CHECK(split > PROGRAMS / 4);
	return check_end("passes");
}
