/* Less memory for a little more work: a value that lies unused over the fullest moment is given up, and computed again before it is next
 * read.
 *
 * The fullest statement of a unit is where most bytes of the arena are alive.  A candidate X is alive there without being touched; the
 * kernels that have stored it before may run again: what they read for it, or have stored beside it, is unchanged until X is next read, and is there at
 * that time or cheaper to keep than X (remat_part.c), or can be computed sooner than it is, and there once more.  Each step leaves less alive at that
 * statement and nowhere as much as was alive there, so it ends.
 *
 * Always what is cheap is computed again, the values with most bytes for a nanosecond first: layer norms, activations, the scores of attention, and
 * then products, as long as all of it takes no more than a share of the time that the unit is thought to take, and each saves a share of the memory that
 * the program needs then that is so much larger than what it takes of that time; first those that lower every moment that is nearly as full.  Under
 * --memory-limit one value after the other, until the layout of opt/buffers.c fits, whatever it takes.  All results keep their bits.
 *
 * Runs after the passes that form kernels and divide them among threads: what is computed again is divided as it was.  The limit is on all that is laid out
 * when compiling: the arena and the buffers with memory of their own. */
#include "remat.h"
#include <stdlib.h>

enum { LEAST = 256, NEARLY = 64 };   /* of the bytes alive */
/* By how much the share that a value is of the memory which is needed then has to be larger than that which computing it again is of the unit's time: fitted, not derived.  Three of the widest products
 * of GPT's step stand at 2.95 to 3.24 (2.76 with AVX2), one in ResNet-18's, which takes 2 % of its time, at 2.62 to 2.66. */
#define WORTH 2.7
/* Shares of the unit's time: all together; and what anything may be given up for, beyond which each value lowers every moment that is nearly as full and is at least one of so many parts of the memory (a
 * GPT of 1 x 1024 positions that gave up q, k and v of its blocks, too, took 1.05 times as long, in 96 MB instead of 119; one more of its widest products lowered one moment by 0.3 MB). */
#define MOST_SHARE .103
#define MOST_SHARE_BY_MATRIX .12     /* where products take half as long as they are thought to: GPT's step needs 6 MB less, and takes as long */
#define SHARE (1. / 18)
enum { WIDE = 60 };

typedef tsr_remat_kept kept;
typedef tsr_remat_candidate candidate;
typedef tsr_remat_fullest fullest;

/* ---- looking ------------------------------------------------------------------------------------------------------------------ */

fullest tsr_remat_look(tsr_remat *r, uint32_t unit)
{
	fullest most = { -1, 0 };
	r->unit = unit;
	r->uses = &r->units[unit];
	uint32_t n = r->uses->body->n;
	r->of = TSR_NEW_N(r->step, tsr_touches, r->room);
	int64_t *begin = TSR_NEW_N(r->step, int64_t, n + 2), *after = TSR_NEW_N(r->step, int64_t, n + 2);
	r->alive = TSR_NEW_N(r->step, int64_t, n + 1), r->across = TSR_NEW_N(r->step, int64_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < r->uses->at[i].v.n; j++) {
			tsr_use use = r->uses->at[i].v.at[j];
			tsr_push(r->step, &r->of[use.buffer].v, ((tsr_touch){ i, tsr_use_writes(use) }));
		}
	for (uint32_t b = 0; b < r->l->buffers.n; b++)
		if (r->of[b].v.n && tsr_remat_shares(r, b)) {
			begin[tsr_remat_first(r, b)] += tsr_remat_bytes(r, b);
			after[tsr_remat_last(r, b)] += tsr_remat_bytes(r, b);
		}
	for (uint32_t i = 0; i < n; i++) {
		r->across[i] = i ? r->alive[i - 1] - after[i - 1] : 0;
		r->alive[i] = r->across[i] + begin[i];
		if (r->alive[i] > most.bytes)
			most = (fullest){ r->alive[i], i };
	}
	return most;
}

static uint32_t most_locals(const tsr_loops *l)
{
	uint32_t n = 0;
	for (uint32_t u = 0; u < l->units.n; u++)
		n = l->units.at[u]->nlocals > n ? l->units.at[u]->nlocals : n;
	return n;
}

tsr_remat tsr_remat_begin(tsr_pass *p)
{
	tsr_remat r = { .p = p, .l = p->l, .a = tsr_arena_new(), .room = p->l->buffers.n + 1 };
	r.exposed = tsr_exposed_of(p->l, r.a);
	r.units = TSR_NEW_N(r.a, tsr_body_uses, p->l->units.n + 1);
	for (uint32_t u = 0; u < p->l->units.n; u++)
		tsr_body_uses_make(&r.units[u], r.a, &p->l->units.at[u]->body);
	r.fresh = TSR_NEW_N(r.a, tsr_buffer_id, r.room);
	r.origin = TSR_NEW_N(r.a, tsr_buffer_id, r.room);
	r.is_fresh = TSR_NEW_N(r.a, bool, r.room);
	r.makers = TSR_NEW_N(r.a, uint32_t, r.room);
	for (uint32_t b = 0; b < r.room; b++)
		r.fresh[b] = r.origin[b] = TSR_NONE;
	r.slot = TSR_NEW_N(r.a, uint32_t, r.room);
	r.local = TSR_NEW_N(r.a, uint32_t, most_locals(p->l) + 1);
	return r;
}

/* ---- candidates ------------------------------------------------------------------------------------------------------------------ */

static bool changed_between(const tsr_remat *r, tsr_buffer_id b, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < r->of[b].v.n; i++)
		if (r->of[b].v.at[i].writes && r->of[b].v.at[i].at > from && r->of[b].v.at[i].at < to)
			return true;
	return false;
}

static bool keeps(candidate *c, kept k)
{
	for (uint32_t i = 0; i < c->nkept; i++)
		if (c->kept[i].b == k.b)
			return true;
	if (c->nkept == TSR_REMAT_KEPT)
		return false;
	c->kept[c->nkept++] = k;
	return true;
}

static bool comes_sooner(const tsr_remat *r, candidate *c, tsr_buffer_id b);

/* The kernel at `from`, one of those that compute f again, could run before c->at already. */
static bool runs_sooner(const tsr_remat *r, candidate *c, tsr_buffer_id f, uint32_t from)
{
	for (uint32_t i = 0; i < r->uses->at[from].v.n; i++) {
		tsr_use use = r->uses->at[from].v.at[i];
		uint32_t first = tsr_remat_first(r, use.buffer);
		bool later = r->is_fresh[use.buffer] && first >= c->at;
		if (use.buffer == f)
			continue;
		if (use.buffer == c->x)
			return false;
		if (tsr_use_writes(use) ? first < from : changed_between(r, use.buffer, later ? first : c->at - 1, from))
			return false;
		if (!tsr_use_writes(use) && later && (r->origin[use.buffer] == TSR_NONE || !comes_sooner(r, c, r->origin[use.buffer])))
			return false;
	}
	return true;
}

/* The kernels that compute b again could do so before c->at already, if those come sooner, too, that make what they read. */
static bool comes_sooner(const tsr_remat *r, candidate *c, tsr_buffer_id b)
{
	tsr_buffer_id f = r->fresh[b];
	if (f == TSR_NONE || !r->of[f].v.n || tsr_remat_first(r, f) < c->at)
		return false;
	for (uint32_t i = 0; i < r->makers[f]; i++)
		if (!runs_sooner(r, c, f, r->of[f].v.at[i].at))
			return false;
	return keeps(c, (kept){ b, c->at, tsr_remat_first(r, f), tsr_remat_bytes(r, b), true });
}

/* What a kernel of c reads of b is there before c->at, if it is kept for longer. */
static bool is_kept(const tsr_remat *r, candidate *c, tsr_buffer_id b)
{
	tsr_buffer_id y = tsr_remat_version(r, b, c->at);
	if (changed_between(r, y, y == b ? c->kernels[0] : tsr_remat_first(r, y), c->at))
		return false;
	if (!tsr_remat_shares(r, y) || tsr_remat_last(r, y) >= c->at)
		return true;
	uint32_t before = c->nkept;
	if (y == b && comes_sooner(r, c, b))
		return true;
	c->nkept = before;
	return keeps(c, (kept){ b, tsr_remat_last(r, y) + 1, c->at, tsr_remat_bytes(r, b), false });
}

/* The kernels that have stored X, and what they need. */
static bool parts_of(tsr_remat *r, candidate *c)
{
	tsr_repeat q;
	for (uint32_t i = 0; i < r->of[c->x].v.n && r->of[c->x].v.at[i].at < c->at; i++) {
		if (!r->of[c->x].v.at[i].writes)
			continue;
		if (c->n == TSR_REMAT_KERNELS)
			return false;
		c->kernels[c->n++] = r->of[c->x].v.at[i].at;
	}
	for (uint32_t k = 0; k < c->n; k++) {
		if (!tsr_remat_part(r, c->kernels[k], c->x, c->at, &q))
			return false;
		c->time += tsr_remat_part_time(&q);
		for (uint32_t i = 0; i < q.uses->v.n; i++) {
			tsr_buffer_id b = q.uses->v.at[i].buffer;
			c->fresh += q.needed[i] && !tsr_remat_of_thread(r, b) && (b != c->x || k == 0) ? tsr_remat_bytes(r, b) : 0;
			if (b != c->x && q.read[i] && !q.needed[i] && !is_kept(r, c, b))
				return false;
		}
	}
	return true;
}

/* ---- what comes twice ------------------------------------------------------------------------------------------------------------ */

static bool loads(const tsr_remat *r, uint32_t at, tsr_buffer_id b) { return tsr_uses_of(&r->uses->at[at], b).loads; }

/* Kept value number k of c is read for number `by` of those behind it, or for X. */
static bool serves(const tsr_remat *r, const candidate *c, uint32_t k, uint32_t by)
{
	bool any = false;
	tsr_buffer_id f = by < c->nkept ? r->fresh[c->kept[by].b] : TSR_NONE;
	for (uint32_t i = 0; by == c->nkept && i < c->n; i++)
		any |= loads(r, c->kernels[i], c->kept[k].b);
	for (uint32_t i = 0; by < c->nkept && c->kept[by].sooner && i < r->makers[f]; i++)
		any |= loads(r, r->of[f].v.at[i].at, r->fresh[c->kept[k].b]);
	return any;
}

/* Bytes of what is computed sooner, one after the other, each until what it serves is there, and of what is stored for X. */
static int64_t most_of_chain(const tsr_remat *r, const candidate *c)
{
	int64_t most = 0;
	for (uint32_t by = 0; by <= c->nkept; by++) {
		int64_t here = by < c->nkept ? 0 : c->fresh;
		for (uint32_t k = 0; k < c->nkept && k <= by; k++) {
			bool needed = k == by;
			for (uint32_t later = by; later <= c->nkept; later++)
				needed |= serves(r, c, k, later);
			here += c->kept[k].sooner && needed ? c->kept[k].bytes : 0;
		}
		most = here > most ? here : most;
	}
	return most;
}

static bool dies(const candidate *c, uint32_t k) { return c->twice && c->kept[k].sooner; }

/* Takes the time for it. */
static bool comes_twice(const tsr_remat *r, candidate *c)
{
	for (uint32_t k = 0; k < c->nkept; k++)
		for (uint32_t i = 0; c->kept[k].sooner && i < r->makers[r->fresh[c->kept[k].b]]; i++) {
			uint32_t at = r->of[r->fresh[c->kept[k].b]].v.at[i].at;
			c->time += tsr_remat_time(r, r->uses->body->at[at], &r->uses->at[at]);
			c->twice = true;
		}
	return c->twice;
}

/* What has come sooner is given up until it is read where it was. */
static void once_more(tsr_remat *r, tsr_buffer_id f)
{
	tsr_remat_look(r, r->unit);
	const tsr_touches *t = &r->of[f];
	uint32_t widest = 0, i = 0;
	for (uint32_t j = 0; j + 1 < t->v.n; j++)
		if (t->v.at[j + 1].at - t->v.at[j].at > widest) {
			widest = t->v.at[j + 1].at - t->v.at[j].at;
			i = j;
		}
	candidate c;
	if (widest > 1 && tsr_remat_candidate_of(r, f, (fullest){ INT64_MAX, t->v.at[i].at + 1 }, &c))
		tsr_remat_do(r, &c);
}

/* ---- candidates of a moment -------------------------------------------------------------------------------------------------------- */

/* Once c is done nowhere is as much alive as at `full` now: not where inputs live longer, and not at the new kernels. */
static bool lowers(const tsr_remat *r, const candidate *c, fullest full)
{
	int64_t here = r->across[c->at] - c->bytes + (c->twice ? most_of_chain(r, c) : c->fresh);
	uint32_t from = c->at, to = c->at;
	for (uint32_t k = 0; k < c->nkept; k++) {
		if (dies(c, k))
			continue;
		here += c->kept[k].bytes;
		from = c->kept[k].from < from ? c->kept[k].from : from;
		to = c->kept[k].to > to ? c->kept[k].to : to;
	}
	if (here >= full.bytes)
		return false;
	for (uint32_t i = from; i < to; i++) {
		int64_t more = i > c->from && i < c->at ? -c->bytes : 0;
		for (uint32_t k = 0; k < c->nkept; k++)
			more += !dies(c, k) && i >= c->kept[k].from && i < c->kept[k].to ? c->kept[k].bytes : 0;
		if ((more > 0 || i == full.at) && r->alive[i] + more >= full.bytes)
			return false;
	}
	return true;
}

/* X around the fullest statement: where it is touched before, and after. */
bool tsr_remat_candidate_of(tsr_remat *r, tsr_buffer_id x, fullest full, candidate *c)
{
	const tsr_touches *t = &r->of[x];
	uint32_t i = 0;
	if (t->v.n < 2 || r->fresh[x] != TSR_NONE || !tsr_remat_shares(r, x) || !t->v.at[0].writes)
		return false;
	while (i + 1 < t->v.n && t->v.at[i + 1].at < full.at)
		i++;
	if (i + 1 == t->v.n || t->v.at[i].at >= full.at || t->v.at[i + 1].at <= full.at)
		return false;
	*c = (candidate){ .x = x, .from = t->v.at[i].at, .at = t->v.at[i + 1].at, .bytes = tsr_remat_bytes(r, x) };
	if (!parts_of(r, c) || !(lowers(r, c, full) || (r->twice && comes_twice(r, c) && lowers(r, c, full))))
		return false;
	c->net = c->bytes;
	for (uint32_t k = 0; k < c->nkept; k++)
		c->net -= full.at >= c->kept[k].from && full.at < c->kept[k].to ? c->kept[k].bytes : 0;
	return true;
}

static int by_worth(const void *x, const void *y)
{
	const candidate *a = x, *b = y;
	double u = (double)a->net * b->time, v = (double)b->net * a->time;
	return u > v ? -1 : u < v ? 1 : a->x < b->x ? -1 : a->x > b->x;
}

static int by_place(const void *x, const void *y)
{
	const candidate *a = x, *b = y;
	return a->at > b->at ? -1 : a->at < b->at ? 1 : a->x < b->x ? -1 : a->x > b->x;
}

/* Those that lower the fullest moment, the one that is worth most first. */
static uint32_t candidates(tsr_remat *r, fullest full, int64_t least, candidate **out)
{
	TSR_VEC(candidate) all = { 0 };
	candidate c;
	for (uint32_t x = 0; x < r->l->buffers.n; x++)
		if (r->of[x].v.n && tsr_remat_bytes(r, x) >= least && tsr_remat_candidate_of(r, x, full, &c))
			tsr_push(r->step, &all, c);
	if (all.n)
		qsort(all.at, all.n, sizeof c, by_worth);
	*out = all.at;
	return all.n;
}

static const char *name_of(const tsr_stmt *s) { return s->kind == TSR_STMT_KERNEL && s->kernel.name ? s->kernel.name : "a check"; }

void tsr_remat_do(tsr_remat *r, const candidate *c)
{
	tsr_pass_note(r->p, "%s: %s is computed again before %s, for %lld bytes and %.0f us%s", r->l->units.at[r->unit]->name,
		r->l->buffers.at[c->x]->name, name_of(r->uses->body->at[c->at]), (long long)c->bytes, c->time / 1e3, c->twice ? ", with what it needs twice" : "");
	uint32_t moved = 0;
	for (uint32_t k = 0; k < c->nkept; k++)
		if (c->kept[k].sooner)
			moved += tsr_remat_sooner(r, c->kept[k].b, c->at, c->at + moved);
	tsr_remat_again(r, c->x, c->n, c->kernels, c->at, c->at + moved);
	for (uint32_t k = c->nkept; c->twice && k-- > 0;)
		if (c->kept[k].sooner)
			once_more(r, r->fresh[c->kept[k].b]);
}

/* ---- what is cheap ----------------------------------------------------------------------------------------------------------------- */

/* c neither needs what is given up in this round, nor is needed for that. */
static bool independent(tsr_remat *r, const candidate *c, bool *given_up, bool *needed)
{
	bool alone = !needed[c->x];
	for (uint32_t k = 0; k < c->n; k++)
		for (uint32_t i = 0; i < r->uses->at[c->kernels[k]].v.n; i++)
			alone &= !given_up[r->uses->at[c->kernels[k]].v.at[i].buffer];
	for (uint32_t k = 0; alone && k < c->n; k++)
		for (uint32_t i = 0; i < r->uses->at[c->kernels[k]].v.n; i++)
			needed[r->uses->at[c->kernels[k]].v.at[i].buffer] = true;
	given_up[c->x] |= alone;
	return alone;
}

/* What a unit takes without anything computed again, and what that takes so far and may take at most. */
typedef struct account { double whole, spent, most; } account;

static bool pays(const account *t, const candidate *c, int64_t memory, bool everywhere)
{
	double all = t->spent + c->time;
	bool wide = all <= t->whole * SHARE || (everywhere && c->net * WIDE >= memory);
	return all <= t->most && wide && (double)c->net * t->whole >= WORTH * c->time * (double)memory;
}

/* X lies unused wherever nearly as much is alive.  One that lowers some of these moments alone saves no more than they differ by until others have lowered the rest. */
static bool lowers_all(const tsr_remat *r, const candidate *c, fullest full)
{
	for (uint32_t i = 0; i < r->uses->body->n; i++)
		if ((i <= c->from || i >= c->at) && r->alive[i] >= full.bytes - full.bytes / NEARLY)
			return false;
	return true;
}

/* As many as pay and do not hang together, the last in the unit first, so that places stay what they are.  What others have to be kept for
 * comes alone, and before all that is worth less.  `everywhere`: of those alone that lower all moments that are nearly as full. */
static bool cheap_round(tsr_remat *r, fullest full, account *t, int64_t memory, bool everywhere)
{
	candidate *all;
	uint32_t n = candidates(r, full, full.bytes / LEAST, &all), chosen = 0;
	bool *given_up = TSR_NEW_N(r->step, bool, r->l->buffers.n + 1), *needed = TSR_NEW_N(r->step, bool, r->l->buffers.n + 1);
	for (uint32_t i = 0; i < n; i++) {
		if ((everywhere && !lowers_all(r, &all[i], full)) || !pays(t, &all[i], memory, everywhere) || !independent(r, &all[i], given_up, needed))
			continue;
		if (chosen && all[i].nkept)
			break;
		t->spent += all[i].time;
		all[chosen++] = all[i];
		if (all[chosen - 1].nkept)
			break;
	}
	if (chosen)
		qsort(all, chosen, sizeof *all, by_place);
	for (uint32_t i = 0; i < chosen; i++)
		tsr_remat_do(r, &all[i]);
	return chosen > 0;
}

static double unit_time(tsr_remat *r, uint32_t unit)
{
	double t = 0;
	for (uint32_t i = 0; i < r->units[unit].body->n; i++)
		t += tsr_remat_time(r, r->units[unit].body->at[i], &r->units[unit].at[i]);
	return t;
}

/* The unit and statement where most is alive. */
static fullest fullest_of_all(tsr_remat *r)
{
	fullest most = { -1, 0 };
	uint32_t unit = 0;
	for (uint32_t u = 0; u < r->l->units.n; u++) {
		fullest f = tsr_remat_look(r, u);
		if (f.bytes > most.bytes) {
			most = f;
			unit = u;
		}
	}
	if (most.bytes >= 0)
		tsr_remat_look(r, unit);
	return most;
}

/* Bytes of what does not lie in the arena. */
static int64_t lasting(const tsr_remat *r)
{
	int64_t bytes = 0;
	for (uint32_t b = 0; b < r->l->buffers.n; b++)
		bytes += !tsr_remat_shares(r, b) && !tsr_remat_of_thread(r, b) && tsr_remat_bytes(r, b) > 0 ? tsr_remat_bytes(r, b) : 0;
	return bytes;
}

static void cheap(tsr_remat *r)
{
	account *of = TSR_NEW_N(r->a, account, r->l->units.n + 1);
	int64_t memory = lasting(r);
	r->twice = true;
	double share = r->p->target->matrix ? MOST_SHARE_BY_MATRIX : MOST_SHARE;
	for (uint32_t u = 0; u < r->l->units.n; u++) {
		double whole = unit_time(r, u);
		of[u] = (account){ whole, 0, whole * share };
	}
	for (bool more = true; more;) {
		r->step = tsr_arena_new();
		fullest full = fullest_of_all(r);
		more = full.bytes > 0 && (cheap_round(r, full, &of[r->unit], full.bytes + memory, true) || cheap_round(r, full, &of[r->unit], full.bytes + memory, false));
		tsr_arena_free(r->step);
	}
	r->twice = false;
}

/* ---- under a limit ------------------------------------------------------------------------------------------------------------------- */

/* Of the layout as it would be now. */
static int64_t memory_needed(tsr_remat *r)
{
	uint32_t changes = r->p->changes;
	int64_t bytes = 0;
	tsr_pass_buffers(r->p);
	r->p->changes = changes;
	for (uint32_t i = 0; i < r->l->buffers.n; i++)
		if (r->l->buffers.at[i]->home == TSR_HOME_OWN && tsr_remat_bytes(r, i) > 0)
			bytes += tsr_remat_bytes(r, i);
	return bytes + r->l->arena_bytes;
}

static void cannot(tsr_remat *r, int64_t limit, int64_t least, int64_t lasting, fullest full)
{
	tsr_diag *g = tsr_report(r->l->tc, TSR_E_MEMORY, TSR_NOWHERE, "%lld bytes of memory are not enough: at least %lld are needed", (long long)limit,
		(long long)least);
	if (full.bytes > 0)
		tsr_hint(r->l->tc, g, "most is alive in %s of %s: %lld bytes, besides %lld for parameters and all that lasts; --dump=memory without the limit "
			"lists what", name_of(r->uses->body->at[full.at]), r->l->units.at[r->unit]->name, (long long)full.bytes, (long long)lasting);
}

static bool limited_step(tsr_remat *r, int64_t limit, int64_t *least)
{
	int64_t needed = memory_needed(r);
	*least = needed < *least ? needed : *least;      /* less may be alive, and lie less well */
	if (needed <= limit)
		return false;
	candidate *all;
	fullest full = fullest_of_all(r);
	bool better = full.bytes > 0 && (candidates(r, full, full.bytes / LEAST, &all) > 0 || candidates(r, full, 1, &all) > 0);
	if (better)
		tsr_remat_do(r, &all[0]);
	else
		cannot(r, limit, *least, needed - r->l->arena_bytes, full);
	return better;
}

void tsr_pass_remat(tsr_pass *p)
{
	int64_t limit = p->options->memory_limit, least = INT64_MAX;
	if (p->options->sanitize && limit <= 0)          /* nothing is shared then */
		return;
	tsr_remat r = tsr_remat_begin(p);
	if (!p->options->keep && p->options->fuse)
		cheap(&r);
	for (bool more = limit > 0; more;) {
		r.step = tsr_arena_new();
		more = limited_step(&r, limit, &least);
		tsr_arena_free(r.step);
	}
	tsr_arena_free(r.a);
}
