/* The layout of buffers in the arena: programs run with every buffer in memory of its own and, statement by statement, in the
 * arena, where all bytes that nobody should still need are set to 0xFF: before a unit begins, where a life begins and where it
 * ends.  What the program level sees must be the same, bit for bit.  Random loops, and every program of the run tests and
 * examples whose sizes are known (its parameters, files and state filled with random contents). */
#include "random_loops.h"
#include "../../compiler/elab/elab.h"
#include "../../compiler/host/host.h"
#include "../../compiler/loop/memory.h"
#include <glob.h>

enum { PROGRAMS = 600, MOST_STEPS = 4000000 };

static tsr_target target;
static uint32_t laid, overlaid;

static void *own_memory(tsr_arena *a, const tsr_buffer *b)
{
	int64_t n = tsr_buffer_bytes(b), elements = n / tsr_prec_bytes(b->prec);
	if (b->kind == TSR_BUFFER_LITERAL && b->data.at)
		return tsr_loops_literal(a, b);
	unsigned char *at = tsr_alloc(a, (size_t)n + 64);
	uint64_t seed = b->id * 7 + 3;
	for (int64_t i = 0; i < elements; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		tsr_scalar x = tsr_scalar_of(b->prec, tsr_prec_is_float(b->prec) ? (double)(seed >> 59) / 16 - 1 : (double)(seed >> 63));
		tsr_loop_element_set(at, i, x);
	}
	return at;
}

typedef struct memory { void **at; char *arena; uint64_t *drawn; int64_t *numbers; } memory;

static memory memory_new(tsr_arena *a, const tsr_loops *l, bool overlay)
{
	memory m = { TSR_NEW_N(a, void *, l->buffers.n + 1), tsr_alloc(a, (size_t)l->arena_bytes + 64), TSR_NEW_N(a, uint64_t, l->buffers.n + 1),
		TSR_NEW_N(a, int64_t, l->numbers.n + 1) };
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		const tsr_buffer *b = l->buffers.at[i];
		if (overlay && b->home == TSR_HOME_ARENA)
			m.at[i] = m.arena + b->offset;
		else if (!overlay || b->home == TSR_HOME_OWN)
			m.at[i] = own_memory(a, b);
	}
	return m;
}

static void poison(const tsr_loops *l, const memory *m, const tsr_lives *lives, uint32_t unit, uint32_t at, bool first)
{
	for (uint32_t b = 0; b < l->buffers.n; b++)
		for (uint32_t i = 0; l->buffers.at[b]->home == TSR_HOME_ARENA && i < lives[b].v.n; i++)
			if (lives[b].v.at[i].unit == unit && (first ? lives[b].v.at[i].first : lives[b].v.at[i].last) == at)
				memset(m->at[b], 0xFF, (size_t)tsr_buffer_bytes(l->buffers.at[b]));
}

/* A unit one statement at a time; false when a check failed. */
static bool run_unit(tsr_loops *l, uint32_t unit, const memory *m, const tsr_lives *lives)
{
	tsr_loop_unit *u = l->units.at[unit], one = *u;
	tsr_machine machine = { .buffers = m->at, .numbers = m->numbers, .seed = 5, .random_counters = m->drawn };
	bool good = true;
	if (lives)
		memset(m->arena, 0xFF, (size_t)l->arena_bytes);
	l->units.at[unit] = &one;
	for (uint32_t i = 0; good && i < u->body.n; i++) {
		one.body = (tsr_stmts){ &u->body.at[i], 1, 1 };
		if (lives)
			poison(l, m, lives, unit, i, true);
		good = tsr_loops_run(l, unit, &machine);
		if (lives)
			poison(l, m, lives, unit, i, false);
	}
	l->units.at[unit] = u;
	return good;
}

static bool same(const tsr_loops *l, const memory *x, const memory *y)
{
	for (uint32_t i = 0; i < l->buffers.n; i++)
		if (l->buffers.at[i]->observed && memcmp(x->at[i], y->at[i], (size_t)tsr_buffer_bytes(l->buffers.at[i]))) {
			printf("%s differs\n", l->buffers.at[i]->name);
			return false;
		}
	return true;
}

/* No two buffers that are alive together share a byte. */
static bool apart(const tsr_loops *l, const tsr_lives *lives)
{
	for (uint32_t x = 0; x < l->buffers.n; x++)
		for (uint32_t y = 0; y < x; y++) {
			const tsr_buffer *b = l->buffers.at[x], *c = l->buffers.at[y];
			if (b->home != TSR_HOME_ARENA || c->home != TSR_HOME_ARENA || b->offset >= c->offset + tsr_buffer_bytes(c)
				|| c->offset >= b->offset + tsr_buffer_bytes(b))
				continue;
			overlaid++;
			for (uint32_t i = 0; i < lives[x].v.n; i++)
				for (uint32_t j = 0; j < lives[y].v.n; j++)
					if (lives[x].v.at[i].unit == lives[y].v.at[j].unit && lives[x].v.at[i].first <= lives[y].v.at[j].last
						&& lives[y].v.at[j].first <= lives[x].v.at[i].last)
						return false;
		}
	return true;
}

/* Each unit in turn, twice. */
static bool overlay_holds(tsr_loops *l)
{
	tsr_arena *a = tsr_arena_new();
	tsr_lives *lives = tsr_lives_of(l, a);
	memory x = memory_new(a, l, false), y = memory_new(a, l, true);
	bool good = apart(l, lives);
	for (uint32_t i = 0; i < l->buffers.n; i++)
		laid += l->buffers.at[i]->home == TSR_HOME_ARENA;
	for (uint32_t step = 0; good && step < 2 * l->units.n; step++) {
		bool ran = run_unit(l, step % l->units.n, &x, NULL);
		good = run_unit(l, step % l->units.n, &y, lives) == ran && same(l, &x, &y);
	}
	tsr_arena_free(a);
	return good;
}

static void random_programs(void)
{
	static const char *const chosen[] = { "buffers", "simplify,buffers", "reduce,fuse,buffers", "fuse,rows,buffers", NULL };
	for (int n = 0; n < PROGRAMS; n++) {
		tsr_compiler *tc = tsr_compiler_new();
		state = 50000 + (uint64_t)n;
		const char *text = program(tc->arena);
		uint32_t file = tsr_source_add(tc, "random.loop", text, strlen(text));
		for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
			tsr_loops *l = tsr_loops_read(tc, file);
			tsr_opt_options options = { .level = 2, .fuse = true, .passes = chosen[i] };
			if (!CHECK(l && tsr_opt_run(l, &target, &options)))
				return;
			if (!CHECK(overlay_holds(l))) {
				printf("program %d after %s:\n%s", n, chosen[i] ? chosen[i] : "the pipeline", text);
				tsr_loops_print(l, stdout);
				tsr_opt_print_memory(l, stdout);
				return;
			}
		}
		tsr_compiler_free(tc);
	}
}

/* ---- where a buffer belongs --------------------------------------------------------------------------------------------- */

/* %x is written and read by these units; its home, and its bytes. */
static const struct { const char *what, *units; tsr_home home; int64_t bytes; } belongs[] = {
	{ "stored, then read", "unit u { kernel a { for i in 0..4 { for j in 0..3 { store %x[i, j] = %in[i, j] } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[3 - i, 2 - j] } } } }", TSR_HOME_ARENA, 48 },
	{ "read before it is stored", "unit u { kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } }"
		" kernel a { for i in 0..4 { for j in 0..3 { store %x[i, j] = %in[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "read by another unit", "unit v { kernel a { for i in 0..4 { for j in 0..3 { store %x[i, j] = %in[i, j] } } } }"
		" unit u { kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "its own row in a joined nest", "unit u { kernel a { for i in 0..4 { for j in 0..3 { store %x[i, j] = %in[i, j] }"
		" for k in 0..3 { store %out[i, k] = %x[i, 2 - k] } } } }", TSR_HOME_ARENA, 48 },
	{ "another row in a joined nest", "unit u { kernel a { for i in 0..4 { for j in 0..3 { store %x[i, j] = %in[i, j] }"
		" for k in 0..3 { store %out[i, k] = %x[3 - i, k] } } } }", TSR_HOME_OWN, 48 },
	{ "one row used again and again", "unit u { kernel a { for i in 0..4 { for j in 0..3 { store %x[0, j] = %in[i, j] }"
		" for k in 0..3 { store %out[i, k] = %x[0, 2 - k] } } } }", TSR_HOME_ARENA, 12 },
	{ "updated from nothing", "unit u { kernel a { for i in 0..4 { for j in 0..3 { update %x[i, j] += %in[i, j] } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "parts of an axis in turn", "unit u { kernel a { for i in 0..1 { for j in 0..3 { store %x[i, j] = %in[i, j] } } }"
		" kernel c { for i in 0..3 { for j in 0..3 { store %x[i + 1, j] = %in[i, j] } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_ARENA, 48 },
	{ "parts with a gap", "unit u { kernel a { for i in 0..1 { for j in 0..3 { store %x[i, j] = %in[i, j] } } }"
		" kernel c { for i in 0..2 { for j in 0..3 { store %x[i + 2, j] = %in[i, j] } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "parts, the last missing", "unit u { kernel a { for i in 0..1 { for j in 0..3 { store %x[i, j] = %in[i, j] } } }"
		" kernel c { for i in 0..2 { for j in 0..3 { store %x[i + 1, j] = %in[i, j] } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "a diagonal", "unit u { kernel a { for i in 0..3 { store %x[i + 1, i] = %in[i, i] } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "stored on a condition", "unit u { kernel a { for i in 0..4 { for j in 0..3 { if i in 0..2 { store %x[i, j] = %in[i, j] } } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "stored in a loop that never runs", "unit u { kernel a { for n in 0..0 { for i in 0..4 { for j in 0..3 { store %x[i, j] = %in[i, j] } } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "running sums", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..3 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_ARENA, 48 },
	{ "running sums of other columns", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..3 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, 2 - j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_ARENA, 48 },
	{ "running sums, then more of each", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..3 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } for s in 0..3 serial { for j in 0..3 { store %x[s, j] = mul.f32(%x[s, j], 2.) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_ARENA, 48 },
	{ "running sums, one column after the other", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for j in 0..3 { for s in 0..3 serial { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_ARENA, 48 },
	{ "of the column after", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for j in 0..3 { for s in 0..3 serial { store %x[s + 1, j] = add.f32(%x[s, 2 - j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "running from the row that is stored", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..3 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s + 1, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "running from a row behind it", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..2 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s + 2, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "running behind a gap", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..2 serial { for j in 0..3 { store %x[s + 2, j] = add.f32(%x[s, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "running from nothing", "unit u { kernel a { for s in 0..3 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "running sums of some columns", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..3 serial { for j in 0..2 { store %x[s + 1, j] = add.f32(%x[s, j + 1], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "running sums on a condition", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..3 serial { for j in 0..3 { if s in 0..2 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } } }"
		" kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, 48 },
	{ "a row that a loop stores behind its reading of it", "unit u { kernel a { for i in 0..4 serial { for j in 0..3 { store %out[i, j] = %x[0, j] } for k in 0..3 { store %x[0, k] = %in[0, k] } } }"
		" }", TSR_HOME_OWN, 12 },
	{ "running sums of ?n rows", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..?n - 1 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..?n { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_SLOT, -1 },
	{ "of ?n rows the last missing", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..?n - 2 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..?n { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, -1 },
	{ "of ?n rows, begun in a loop that may not run", "unit u { kernel a { for o in 0..?n - 1 { for j in 0..3 { store %x[0, j] = %in[0, j] } } for s in 0..?n - 1 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } }"
		" kernel b { for i in 0..?n { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, -1 },
	{ "of ?n rows, in another loop that may not run", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for o in 0..?n - 1 { for s in 0..?n - 1 serial { for j in 0..3 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } } }"
		" kernel b { for i in 0..?n { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, -1 },
	{ "of ?n rows on a condition", "unit u { kernel a { for j in 0..3 { store %x[0, j] = %in[0, j] } for s in 0..?n - 1 serial { for j in 0..3 { if s in 0..2 { store %x[s + 1, j] = add.f32(%x[s, j], %in[s + 1, j]) } } } }"
		" kernel b { for i in 0..?n { for j in 0..3 { store %out[i, j] = %x[i, j] } } } }", TSR_HOME_OWN, -1 },
	{ "touched by nobody", "unit u { kernel b { for i in 0..4 { for j in 0..3 { store %out[i, j] = %in[i, j] } } } }", TSR_HOME_NONE, 48 },
};

static void homes(void)
{
	for (size_t i = 0; i < sizeof belongs / sizeof *belongs; i++) {
		tsr_compiler *tc = tsr_compiler_new();
		const char *rows = strstr(belongs[i].units, "?n") ? "?n" : "4";
		const char *text = tsr_format(tc->arena, "symbol ?n\nbuffer %%x : f32[%s, 3] value\nbuffer %%in : f32[%s, 3] param observed\n"
			"buffer %%out : f32[%s, 3] value observed\n%s\n", rows, rows, rows, belongs[i].units);
		tsr_loops *l = tsr_loops_read(tc, tsr_source_add(tc, "home.loop", text, strlen(text)));
		tsr_opt_options options = { .level = 2, .fuse = true, .passes = "narrow,buffers" };
		tsr_diags_render(tc, stdout, false);
		if (CHECK(l && tsr_opt_run(l, &target, &options))) {
			bool right = CHECK(belongs[i].bytes < 0 || overlay_holds(l)) & CHECK_INT(l->buffers.at[0]->home, belongs[i].home)
				& CHECK_INT(tsr_buffer_bytes(l->buffers.at[0]), belongs[i].bytes);
			if (!right)
				printf("%s\n", belongs[i].what);
		}
		tsr_compiler_free(tc);
	}
}

/* ---- programs ------------------------------------------------------------------------------------------------------------ */

static int64_t steps(const tsr_stmts *body)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < body->n; i++) {
		const tsr_stmt *s = body->at[i];
		n += s->kind == TSR_STMT_FOR ? s->loop.extent.k * steps(&s->loop.body) : s->kind == TSR_STMT_IF ? steps(&s->cond.body)
			: s->kind == TSR_STMT_KERNEL ? steps(&s->kernel.body) : 1;
	}
	return n;
}

/* All sizes are known, and interpreting it is a matter of seconds. */
static bool suits(const tsr_loops *l)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < l->units.n; i++)
		n += steps(&l->units.at[i]->body);
	return l->symbols.n == 0 && n <= MOST_STEPS;
}

static void source_program(const char *path, uint32_t *done)
{
	tsr_compiler *tc = tsr_compiler_new();
	tc->stdlib_dir = "stdlib";
	tsr_graph *g = tsr_elaborate(tc, path, TSR_SHARE_NONE);
	if (!tc->nerrors)
		tsr_graph_close(g);
	const tsr_host *host = tc->nerrors ? NULL : tsr_host_lower(g);
	tsr_code *code = tc->nerrors ? NULL : tsr_code_build(g);
	if (!tc->nerrors && code) {
		tsr_loops *l = tsr_loops_lower(code, host ? host->observed : NULL, NULL);
		tsr_opt_options options = { .level = 2, .fuse = true };
		if (suits(l) && tsr_opt_run(l, &target, &options)) {
			if (!CHECK(overlay_holds(l)))
				printf("%s\n", path);
			++*done;
		}
	}
	tsr_compiler_free(tc);
}

int main(void)
{
	target = *tsr_target_by_name("avx512");
	glob_t g;
	uint32_t done = 0;
	homes();
	random_programs();
	printf("%u buffers laid into arenas, %u pairs over each other\n", laid, overlaid);
	CHECK(laid > 1000 && overlaid > 100);
	CHECK(glob("tests/run/*.tsr", 0, NULL, &g) == 0);
	glob("examples/*.tsr", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc; i++)
		source_program(g.gl_pathv[i], &done);
	globfree(&g);
	printf("%u programs\n", done);
	CHECK(done > 20);
	return check_end("memory");
}
