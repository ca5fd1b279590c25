/* `tsrc --tune PROGRAM.tsr --schedules FILE`: each form of contraction in the program is computed in other ways than the model's, on this
 * machine, and the fastest goes into the file.
 *
 * What is timed is the whole kernel around the contraction, compiled by itself, with one unit for each candidate, over memory of its
 * own, by one thread; one that takes long finds nothing of that in the caches, as after the other kernels of a program (of schedules found with all of it near, whole steps of a
 * GPT were up to 3 % slower).  Candidates are tried one question at a time, each from the best answer so far: the register tile, what is packed, the
 * depth of a block, its rows and columns, all by vectors; and then, where there are matrix registers, whether and in which blocks these compute it in thirds.  All candidates of a question take turns, so that what else the machine does meets them
 * alike, and the least time of each counts; what is far behind after a few rounds is left out of the others.  In the end the winner meets the model's choice once more, in all rounds, since a busy neighbour may have slowed all first ones of either: less than
 * two hundredths is no win.  The file is written after each form, so that who stops the command keeps what it has found. */
#include "private.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CANDIDATES = 32, ROUNDS = 15, MOST_ROUNDS = 60, FIRST_ROUNDS = 3, LAST_CACHE = 32 << 20 };

#define SHORTEST 200e-6              /* seconds that one timing takes at least */
#define SLOT 0.06                    /* and that a candidate gets in all, unless it needs more for ROUNDS */
#define WIN 0.99
#define LAST_WIN 0.98
#define BEHIND 1.15                  /* times the least: no candidate that more rounds would help */

typedef struct job { const tsr_loop_unit *unit; tsr_stmt *kernel; tsr_contraction *c; tsr_schedule model; } job;

typedef struct tuner {
	tsr_drive_state *d;
	const tsr_target *target;
	void **buffers;
	int64_t *numbers, *symbols;
	char *others;                /* memory that stands for what a program's other kernels touch: as much as all caches have */
	size_t other_bytes;
	bool registers;              /* matrix registers may be used */
	TSR_VEC(job) jobs;
} tuner;

typedef struct candidates { uint32_t n; tsr_schedule at[MOST_CANDIDATES]; double seconds[MOST_CANDIDATES]; } candidates;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- which contractions -------------------------------------------------------------------------------------------------- */

static void collect(tuner *t, const tsr_loop_unit *u, tsr_stmt *kernel, const tsr_stmts *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		tsr_stmt *s = body->at[i];
		tsr_contraction *c = s->kind == TSR_STMT_FOR ? s->loop.contraction : NULL;
		if (s->kind == TSR_STMT_IF)
			collect(t, u, kernel, &s->cond.body);
		else if (s->kind == TSR_STMT_FOR && !(c && c->schedule.mr))
			collect(t, u, kernel, &s->loop.body);
		bool new = c && c->schedule.mr && c->schedule.form;
		for (uint32_t j = 0; new && j < t->jobs.n; j++)
			new = t->jobs.at[j].c->schedule.form != c->schedule.form;
		if (new)
			tsr_push(t->d->tc->arena, &t->jobs, ((job){u, kernel, c, c->schedule}));
	}
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------- */

/* Between -1 and 1, with all its digits, as a program's numbers have: where those are few, some units multiply faster. */
static double number(int64_t i) { return (double)(int32_t)((uint32_t)i * 0x9e3779b1u) * 0x1p-31; }

/* Its sign and digits, and the exponent of 1 / 2. */
static uint16_t half(int64_t i, uint16_t exponent, uint16_t digits) { return (uint16_t)(((uint32_t)i * 0x9e3779b1u >> 16 & (0x8000u | digits)) | exponent); }

/* Numbers; indices of data are 0, which every axis has. */
static void *filled(const tsr_buffer *b, int64_t bytes)
{
	size_t size = ((size_t)bytes + 127) / 64 * 64;
	char *data = aligned_alloc(64, size);
	if (!data)
		return NULL;
	memset(data, 0, size);
	for (int64_t i = 0; b->prec == TSR_PREC_F32 && i < bytes / 4; i++)
		((float *)(void *)data)[i] = (float)number(i);
	for (int64_t i = 0; b->prec == TSR_PREC_F64 && i < bytes / 8; i++)
		((double *)(void *)data)[i] = number(i);
	bool bf16 = b->prec == TSR_PREC_BF16;
	for (int64_t i = 0; (bf16 || b->prec == TSR_PREC_F16) && i < bytes / 2; i++)
		((uint16_t *)(void *)data)[i] = half(i, bf16 ? 0x3f00 : 0x3800, bf16 ? 0x7f : 0x3ff);
	return data;
}

static void allocate(tuner *t)
{
	const tsr_loops *l = t->d->loops;
	t->buffers = TSR_NEW_N(t->d->tc->arena, void *, l->buffers.n + 1);
	t->numbers = TSR_NEW_N(t->d->tc->arena, int64_t, l->numbers.n + 1);
	t->symbols = TSR_NEW_N(t->d->tc->arena, int64_t, l->symbols.n + 1);
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		int64_t bytes = tsr_buffer_bytes(l->buffers.at[i]);
		if (bytes > 0 && l->buffers.at[i]->home != TSR_HOME_NONE)
			t->buffers[i] = filled(l->buffers.at[i], bytes);
	}
}

/* ---- code ------------------------------------------------------------------------------------------------------------------------ */

/* The statement with another schedule for c: copied as far down as c is. */
static tsr_stmt *scheduled(tuner *t, const tsr_stmt *s, const tsr_contraction *c, const tsr_schedule *schedule)
{
	tsr_arena *a = t->d->tc->arena;
	tsr_stmt *out = TSR_NEW(a, tsr_stmt);
	*out = *s;
	tsr_stmts *body = s->kind == TSR_STMT_KERNEL ? &out->kernel.body : s->kind == TSR_STMT_FOR ? &out->loop.body
		: s->kind == TSR_STMT_IF ? &out->cond.body : NULL;
	if (s->kind == TSR_STMT_FOR && s->loop.contraction == c) {
		out->loop.contraction = TSR_NEW(a, tsr_contraction);
		*out->loop.contraction = *c;
		out->loop.contraction->schedule = *schedule;
		return out;
	}
	tsr_stmts old = body ? *body : (tsr_stmts){0};
	if (body)
		*body = (tsr_stmts){0};
	for (uint32_t i = 0; body && i < old.n; i++)
		tsr_push(a, body, scheduled(t, old.at[i], c, schedule));
	return out;
}

/* A library with a function s0, s1 .. for each candidate; NULL: reported. */
static void *compiled(tuner *t, const job *j, const candidates *c)
{
	tsr_drive_state *d = t->d;
	tsr_loops l = *d->loops;
	memset(&l.units, 0, sizeof l.units);
	for (uint32_t i = 0; i < c->n; i++) {
		tsr_loop_unit *u = TSR_NEW(d->tc->arena, tsr_loop_unit);
		*u = *j->unit;
		u->name = tsr_intern(d->tc->names, tsr_format(d->tc->arena, "s%u", i));
		memset(&u->body, 0, sizeof u->body);
		tsr_push(d->tc->arena, &u->body, scheduled(t, j->kernel, j->c, &c->at[i]));
		tsr_push(d->tc->arena, &l.units, u);
	}
	tsr_llvm_options options = {.level = d->options->level, .program = "tune", .cpu = tsr_drive_cpu(d)};
	tsr_llvm *m = tsr_llvm_open(d->tc, &options);
	if (!m)
		return NULL;
	tsr_llvm_emit(m, &l, NULL);
	tsr_llvm_optimise(m);
	const char *object = tsr_drive_temporary(d, ".o"), *library = object ? tsr_format(d->tc->arena, "%s.so", object) : NULL;
	bool ok = object && tsr_llvm_write(m, TSR_CODE_OBJECT, object) && tsr_drive_link_library(d, object, library);
	tsr_llvm_close(m);
	void *handle = ok ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (ok && !handle)
		tsr_report(d->tc, TSR_E_LINK, TSR_NOWHERE, "%s", dlerror());
	if (object) {
		unlink(object);
		unlink(library);
	}
	return handle;
}

/* ---- time -------------------------------------------------------------------------------------------------------------------------- */

typedef void kernel_function(void *ctx, void **buffers, const int64_t *symbols, int64_t *numbers);

static double once(const tuner *t, kernel_function *f, uint32_t times)
{
	double from = now();
	for (uint32_t i = 0; i < times; i++)
		f(NULL, t->buffers, t->symbols, t->numbers);
	return (now() - from) / times;
}

static double least_of(const candidates *c)
{
	double least = c->seconds[0];
	for (uint32_t i = 1; i < c->n; i++)
		least = c->seconds[i] < least ? c->seconds[i] : least;
	return least;
}

/* So many calls, or one that begins with memory. */
static double timed(const tuner *t, kernel_function *f, uint32_t times, uint32_t round)
{
	if (!times)
		memset(t->others, (int)round, t->other_bytes);
	return once(t, f, times ? times : 1);
}

/* How many calls are timed at once; 0: one, which begins with memory.  All candidates do the same, by the fastest: one whose first call
 * was interrupted would meet memory where the others are timed with all of it near. */
static void calls(const candidates *c, bool far, uint32_t *times)
{
	far &= least_of(c) >= SHORTEST;
	for (uint32_t i = 0; i < c->n; i++)
		times[i] = far ? 0 : (uint32_t)(SHORTEST / (c->seconds[i] + 1e-8)) + 1;
}

/* False where this machine cannot run what is compiled (reported): another process tries. */
static bool runs(const tuner *t, kernel_function *f)
{
	int status = 0;
	pid_t other = fork();
	if (!other) {
		once(t, f, 1);
		_exit(0);
	}
	bool ended = other > 0 && waitpid(other, &status, 0) == other && WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
	if (ended)
		tsr_report(t->d->tc, TSR_E_TARGET, TSR_NOWHERE, "--tune: this machine lacks instructions of --cpu=%s", tsr_drive_cpu(t->d));
	return !ended;
}

/* False where it could not be compiled, or does not run (reported). */
static bool measure(tuner *t, const job *j, candidates *c)
{
	void *handle = compiled(t, j, c);
	uint32_t times[MOST_CANDIDATES], rounds = ROUNDS;
	kernel_function *f[MOST_CANDIDATES];
	if (!handle)
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		void *found = dlsym(handle, tsr_format(t->d->tc->arena, "s%u", i));
		*(void **)&f[i] = found;
		TSR_ASSERT(found);
	}
	if (!runs(t, f[0])) {
		dlclose(handle);
		return false;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		once(t, f[i], 1);
		c->seconds[i] = once(t, f[i], 1);
	}
	calls(c, t->others, times);
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t more = (uint32_t)(SLOT / (c->seconds[i] * (times[i] ? times[i] : 1) + 1e-8));
		rounds = more > rounds ? more < MOST_ROUNDS ? more : MOST_ROUNDS : rounds;
		c->seconds[i] = timed(t, f[i], times[i], i);
	}
	for (uint32_t r = 0; r < rounds; r++) {
		double least = least_of(c);
		for (uint32_t i = 0; i < c->n; i++) {
			if (c->n > 2 && r >= FIRST_ROUNDS && c->seconds[i] > BEHIND * least)
				continue;
			double s = timed(t, f[i], times[i], r);
			c->seconds[i] = s < c->seconds[i] ? s : c->seconds[i];
		}
	}
	dlclose(handle);
	return true;
}

/* ---- candidates ---------------------------------------------------------------------------------------------------------------------- */

static bool same(const tsr_schedule *a, const tsr_schedule *b)
{
	const tsr_blocks *x = &a->named_blocks, *y = &b->named_blocks;
	if (a->blocks_named != b->blocks_named || x->m != y->m || x->n != y->n || x->k != y->k)
		return false;
	return a->mr == b->mr && a->nr == b->nr && a->mc == b->mc && a->nc == b->nc && a->kc == b->kc && a->pack_a == b->pack_a && a->pack_b == b->pack_b;
}

static int64_t whole(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

/* Blocks become whole tiles, and all else what the file's schedule would be; what cannot be, or is there, is left out. */
static void offer(const tuner *t, const job *j, candidates *c, tsr_schedule s)
{
	s.mc = whole(s.mc, s.mr);
	s.nc = j->model.cols ? j->model.nc : whole(s.nc, s.nr);
	tsr_schedule_follow(&s, &j->model);
	bool there = c->n == MOST_CANDIDATES;
	for (uint32_t i = 0; i < c->n; i++)
		there |= same(&c->at[i], &s);
	if (!there && !tsr_schedule_unfit(&s, &j->model, t->target, tsr_prec_bytes(t->d->loops->buffers.at[j->c->c]->prec)))
		c->at[c->n++] = s;
}

typedef enum { ASK_TILE, ASK_PACKING, ASK_DEPTH, ASK_BLOCKS, ASK_THIRDS, QUESTIONS } question;

/* The runtime of what is compiled leaves matrix registers alone, or does not; what the user has set stays. */
static void use_registers(bool use)
{
	if (use)
		unsetenv("TSR_CPU");
	else
		setenv("TSR_CPU", "x86-64-v4", 0);
}

/* Blocks of numbers in thirds, of which both together are in the second cache or in the third. */
static void ask_thirds(const tuner *t, const job *j, const tsr_schedule *best, candidates *c)
{
	enum { EACH = 6 };
	static const int64_t depths[] = {256, 512, 1024}, bytes_a[] = {128 << 10, 256 << 10, 512 << 10}, bytes_b[] = {512 << 10, 1 << 20, 4 << 20};
	int64_t unit = 2 * t->target->matrix;
	for (int d = 0; d < 3; d++)
		for (int a = 0; a < 3; a++)
			for (int b = 0; b < 3; b++) {
				tsr_schedule s = *best;
				int64_t m = bytes_a[a] / EACH / depths[d] / unit * unit, n = bytes_b[b] / EACH / depths[d] / unit * unit;
				s.named_blocks = (tsr_blocks){m > unit ? m : unit, n, depths[d]};
				offer(t, j, c, s);
			}
}

static void ask(const tuner *t, const job *j, question q, const tsr_schedule *best, candidates *c)
{
	static const int64_t depths[] = {96, 128, 192, 256, 384, 512, 768, 1024};
	uint32_t lanes = t->target->vector_bytes / tsr_prec_bytes(t->d->loops->buffers.at[j->c->c]->prec);
	c->n = 0;
	offer(t, j, c, *best);
	if (q == ASK_THIRDS)
		ask_thirds(t, j, best, c);
	for (uint32_t v = 4; q == ASK_TILE && v > 0; v--)
		for (uint32_t rows = (t->target->vector_registers - 1) / v; rows > 1; rows--) {
			tsr_schedule s = *best;
			bool full = 3 * (rows * v + v + 1) > 2 * t->target->vector_registers;      /* others lose to latency */
			s.mr = rows;
			s.nr = v * lanes;
			s.pack_b |= best->dots;      /* whose tile is the only one of its kind */
			if (full || rows == best->mr)
				offer(t, j, c, s);
		}
	for (int p = 0; q == ASK_PACKING && p < 4; p++) {
		tsr_schedule s = *best;
		s.pack_a = p & 1;
		s.pack_b = p & 2;
		offer(t, j, c, s);
	}
	for (size_t i = 0; q == ASK_DEPTH && i < sizeof depths / sizeof *depths; i++) {
		tsr_schedule s = *best;
		s.kc = depths[i];
		offer(t, j, c, s);
	}
	for (int m = -2; q == ASK_BLOCKS && m <= 2; m++)
		for (int n = -2; n <= 2; n += 2) {
			tsr_schedule s = *best;
			s.mc = m < 0 ? s.mc >> -m : s.mc << m;
			s.nc = n < 0 ? s.nc >> -n : s.nc << n;
			if (s.mc > 0 && s.nc > 0)
				offer(t, j, c, s);
		}
}

static bool fastest(tuner *t, const job *j, candidates *c, uint32_t *best)
{
	*best = 0;
	if (c->n < 2)
		return true;
	if (!measure(t, j, c))
		return false;
	for (uint32_t i = 1; i < c->n; i++)
		if (c->seconds[i] < WIN * c->seconds[*best])
			*best = i;
	return true;
}

/* ---- the command ------------------------------------------------------------------------------------------------------------------------ */

/* The model's time over the tuned one; 0 where something failed (reported). */
static double tune(tuner *t, const job *j, tsr_schedules *out)
{
	candidates c;
	tsr_schedule best = j->model;
	uint32_t at;
	bool thirds = t->registers && tsr_contract_thirds(t->d->loops, j->c, t->target);
	best.blocks_named = thirds;
	best.named_blocks = (tsr_blocks){0};
	for (question q = 0; q < (thirds ? QUESTIONS : ASK_THIRDS); q++) {
		use_registers(q == ASK_THIRDS);
		ask(t, j, q, &best, &c);
		if (!fastest(t, j, &c, &at))
			return 0;
		best = c.at[at];
	}
	c = (candidates){.n = 2, .at = {j->model, best}};
	if (!measure(t, j, &c))
		return 0;
	at = !same(&c.at[0], &c.at[1]) && c.seconds[1] < LAST_WIN * c.seconds[0];
	double off = c.seconds[0] / c.seconds[at];
	const tsr_schedule *s = &c.at[at];
	const char *what = tsr_format(t->d->tc->arena, "%.2f us; %.2f us by the model", 1e6 * c.seconds[at], 1e6 * c.seconds[0]);
	tsr_schedules_set(out, j->model.form, s, what);
	printf("%s\n  %s, %s: tile %u x %u, blocks m %lld n %lld k %lld, pack %s%s%s%s\n", j->model.form, j->kernel->kernel.name, what, s->mr, s->nr, (long long)s->mc,
		(long long)s->nc, (long long)s->kc, s->pack_a ? "A" : "", s->pack_b ? "B" : "", s->pack_a || s->pack_b ? "" : "nothing",
		tsr_schedule_thirds(t->d->tc->arena, s));
	if (off > 1.05)
		printf("  the model is %.0f %% off\n", 100 * (off - 1));
	fflush(stdout);
	return off;
}

int tsr_drive_tune(tsr_drive_state *d, const tsr_target *target)
{
	tuner t = {.d = d, .target = target, .registers = !getenv("TSR_CPU")};
	const char *path = d->options->schedules;
	tsr_schedules *out = access(path, F_OK) ? tsr_schedules_new(d->tc, path) : tsr_schedules_read(d->tc, path);
	double product = 1;
	uint32_t off = 0;
	if (!tsr_drive_runs_here(d))
		tsr_report(d->tc, TSR_E_TARGET, TSR_NOWHERE, "--tune: code for %s is not timed here", d->options->triple);
	if (!out || d->tc->nerrors)
		return TSR_EXIT_MISTAKE;
	for (uint32_t u = 0; u < d->loops->units.n; u++)
		for (uint32_t i = 0; i < d->loops->units.at[u]->body.n; i++) {
			tsr_stmt *s = d->loops->units.at[u]->body.at[i];
			if (s->kind == TSR_STMT_KERNEL)
				collect(&t, d->loops->units.at[u], s, &s->kernel.body);
		}
	allocate(&t);
	t.other_bytes = (size_t)(target->last ? target->last : LAST_CACHE);
	t.others = malloc(t.other_bytes);
	for (uint32_t i = 0; i < t.jobs.n; i++) {
		double ratio = tune(&t, &t.jobs.at[i], out);
		if (ratio == 0 || !tsr_schedules_write(out))
			return TSR_EXIT_MISTAKE;
		product *= ratio;
		off += ratio > 1.05;
	}
	for (uint32_t i = 0; i < d->loops->buffers.n; i++)
		free(t.buffers[i]);
	free(t.others);
	printf("%u forms of contractions; the model is more than 5 %% off in %u of them, %.1f %% in the geometric mean\n", t.jobs.n, off,
		t.jobs.n ? 100 * (pow(product, 1. / t.jobs.n) - 1) : 0.);
	return tsr_schedules_write(out) ? TSR_EXIT_OK : TSR_EXIT_MISTAKE;
}
