/* The logics without a spec, by definition: all cells of all slots such that the axes that an inequality aligns, by the operand's
 * marker, have one position, or the operand's is 0 where it is claim-free. */
#include "maps.h"

enum { KINDS = 3 };

/* A row of a slot by itself: kinds in memory order. `unit`: claim-free. */
typedef struct solid { int n, marker, size[2]; bool unit[2]; } solid;
typedef struct plain { int nslots; solid row[MAPS_SLOTS][KINDS]; } plain;
typedef struct below { int result, result_kind, operand, operand_kind; } below;
enum { BATCH, OUTPUT, INPUT };

static solid some_solid(uint64_t *seed)
{
	solid r = {.n = pick(seed, 3)};
	r.marker = pick(seed, r.n + 1);
	for (int i = 0; i < r.n; i++) {
		r.size[i] = 1 + pick(seed, 3);
		r.unit[i] = r.size[i] == 1 && pick(seed, 2);
	}
	return r;
}

/* A row that lies above: shorter, or with claim-free units. */
static solid some_above(uint64_t *seed, const solid *res)
{
	solid op = {.n = pick(seed, res->n + 1)};
	op.marker = pick(seed, op.n + 1);
	for (int i = 0; i < op.n; i++) {
		int at = i < op.marker ? i : i + res->n - op.n;
		op.unit[i] = res->unit[at] || pick(seed, 3) == 0;
		op.size[i] = op.unit[i] ? 1 : res->size[at];
	}
	return op;
}

static int relations_of(maps_logic logic, int nslots, below *out)
{
	static const below composes[] = {{1, INPUT, 2, OUTPUT}, {0, BATCH, 1, BATCH}, {0, BATCH, 2, BATCH}, {0, INPUT, 2, INPUT}, {0, OUTPUT, 1, OUTPUT}};
	static const below transposes[] = {{0, BATCH, 1, BATCH}, {0, INPUT, 1, OUTPUT}, {0, OUTPUT, 1, INPUT}};
	int n = 0, first = logic == BY_POINTWISE ? 1 : logic == BY_COMPOSE_ACC ? 3 : nslots;
	if (logic == BY_COMPOSE || logic == BY_COMPOSE_ACC)
		for (; n < 5; n++)
			out[n] = composes[n];
	for (; logic == BY_TRANSPOSE && n < 3; n++)
		out[n] = transposes[n];
	for (int s = first; s < nslots; s++)
		for (int k = 0; k < KINDS; k++)
			out[n++] = (below){0, k, s, k};
	return n;
}

static maps_question some_plain(uint64_t *seed, plain *p)
{
	static const int counts[] = {2, 3, 4, 2}, order[KINDS] = {BATCH, INPUT, OUTPUT};
	below rel[MAPS_SLOTS * KINDS];
	char text[16];
	maps_question q = {.logic = (maps_logic)pick(seed, BY_SPEC)};
	q.nslots = p->nslots = counts[q.logic] + (q.logic == BY_POINTWISE ? pick(seed, 3) : 0);
	for (int s = 0; s < p->nslots; s++)
		for (int k = 0; k < KINDS; k++)
			p->row[s][k] = some_solid(seed);
	int n = relations_of(q.logic, p->nslots, rel);
	for (int i = 0; i < n; i++)
		p->row[rel[i].operand][rel[i].operand_kind] = some_above(seed, &p->row[rel[i].result][rel[i].result_kind]);
	if (q.logic == BY_COMPOSE || q.logic == BY_COMPOSE_ACC)        /* the summed row was an operand's before the result's was known */
		p->row[2][OUTPUT] = some_above(seed, &p->row[1][INPUT]);
	for (int s = 0; s < p->nslots; s++)
		for (int o = 0; o < KINDS; o++) {
			const solid *r = &p->row[s][order[o]];
			for (int i = 0; i <= r->n; i++) {
				words_add(q.shape[s], sizeof q.shape[s], i == r->marker ? "^ " : "");
				snprintf(text, sizeof text, "%d%s ", i < r->n ? r->size[i] : 0, i < r->n && r->unit[i] ? "*" : "");
				words_add(q.shape[s], sizeof q.shape[s], i < r->n ? text : "");
			}
			words_add(q.shape[s], sizeof q.shape[s], o == 0 ? "| " : o == 1 ? "-> " : "");
		}
	return q;
}

typedef struct cells { const plain *p; maps_logic logic; point x; int at[MAPS_SLOTS][KINDS][2]; points *out; } cells;

static bool cells_agree(const cells *c, int slot)
{
	below rel[MAPS_SLOTS * KINDS];
	int n = relations_of(c->logic, c->p->nslots, rel);
	for (int i = 0; i < n; i++) {
		const solid *res = &c->p->row[rel[i].result][rel[i].result_kind], *op = &c->p->row[rel[i].operand][rel[i].operand_kind];
		if (rel[i].operand > slot || rel[i].result > slot)
			continue;
		for (int j = 0; j < op->n; j++) {
			int at = c->at[rel[i].operand][rel[i].operand_kind][j];
			if (!op->unit[j] && at != c->at[rel[i].result][rel[i].result_kind][j < op->marker ? j : j + res->n - op->n])
				return false;
		}
	}
	return true;
}

static void all_cells(cells *c, int s, int k, int i, int at)
{
	if (c->out->too_many)
		return;
	if (k == KINDS) {
		if (!cells_agree(c, s))
			return;
		if (s + 1 == c->p->nslots)
			points_add(c->out, &c->x);
		else
			all_cells(c, s + 1, 0, 0, 0);
	} else if (i == c->p->row[s][k].n) {
		all_cells(c, s, k + 1, 0, at);
	} else {
		for (int x = 0; x < c->p->row[s][k].size[i]; x++) {
			c->at[s][k][i] = x;
			c->x.at[s][at] = (int8_t)x;
			all_cells(c, s, k, i + 1, at + 1);
		}
		c->x.at[s][at] = 0;
	}
}

void maps_plain(uint64_t *seed, maps_question *q, points *want)
{
	plain p;
	*q = some_plain(seed, &p);
	cells c = {.p = &p, .logic = q->logic, .out = want};
	all_cells(&c, 0, 0, 0, 0);
}
