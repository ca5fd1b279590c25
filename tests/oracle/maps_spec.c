/* Random specs, and what an assignment with a spec does, by definition: every label has a position, a fixed axis its number; an
 * affine axis stands at stride*over + dilation*kernel + offset, less half the window where it is padded; the symbols that
 * concatenations connect are alternatives, of which one is live, at one of its places on each axis. */
#include "maps.h"
#include <string.h>

enum { KINDS = 3, ROW_AXES = 3, MAX_SYMBOLS_HERE = MAPS_LABELS + MAPS_SLOTS * ROW_AXES * MAX_PARTS, ROW_VAR = 2 };
typedef enum { X_LABEL, X_WILD, X_FIXED, X_AFFINE, X_CONCAT, X_ROW } axis_kind;

/* Symbols are labels 0 to 3, the numbers of concatenations, wild axes, and the axes that the row variable stands for. */
typedef struct axis {
	axis_kind kind;
	int8_t symbol, kernel, stride, dilation, offset, padded;   /* LABEL, WILD, ROW: symbol; AFFINE: symbol, kernel (-1: none) */
	int8_t nparts, part[MAX_PARTS], fixed, size, factor;
} axis;

typedef struct record {
	int nslots, nsymbols, size[MAX_SYMBOLS_HERE + 8], factor[MAX_SYMBOLS_HERE + 8];      /* factor -1: no concatenation names it */
	int nrow, row[ROW_VAR];
	bool marked[MAPS_SLOTS];                                   /* the slot's row of kind `marked_kind` has ..r.. at marked_at */
	int marked_kind[MAPS_SLOTS], marked_at[MAPS_SLOTS];
	int n[MAPS_SLOTS][KINDS];
	axis at[MAPS_SLOTS][KINDS][ROW_AXES];
} record;

/* ---- random specs ------------------------------------------------------------------------------------------------ */

static int new_symbol(record *r, int size)
{
	r->size[r->nsymbols] = size;
	r->factor[r->nsymbols] = -1;
	return r->nsymbols++;
}

static int floor_div(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static void affine_axis(uint64_t *seed, record *r, axis *x)
{
	x->symbol = (int8_t)pick(seed, MAPS_LABELS);
	x->stride = (int8_t)(1 + pick(seed, 3));
	x->kernel = (int8_t)(pick(seed, 3) ? pick(seed, MAPS_LABELS) : -1);
	x->dilation = (int8_t)(1 + pick(seed, 2));
	x->padded = (int8_t)(x->kernel >= 0 && pick(seed, 2));
	x->offset = (int8_t)(x->padded ? 0 : pick(seed, x->stride));
	int over = r->size[x->symbol], window = x->kernel < 0 ? 0 : (r->size[x->kernel] - 1) * x->dilation;
	x->size = (int8_t)(x->kernel < 0 ? x->stride * (over + floor_div(x->offset, x->stride)) : x->padded ? x->stride * over
		: x->stride * (over - 1) + 1 + window + x->offset);
}

static void concat_axis(uint64_t *seed, record *r, axis *x)
{
	x->nparts = (int8_t)(2 + pick(seed, MAX_PARTS - 1));
	for (int i = 0; i < x->nparts; i++) {
		x->part[i] = (int8_t)(pick(seed, 4) ? pick(seed, MAPS_LABELS) : new_symbol(r, 1 + pick(seed, 2)));
		x->size = (int8_t)(x->size + r->size[x->part[i]]);
	}
}

static axis some_axis(uint64_t *seed, record *r, bool result)
{
	int kind = pick(seed, 10);
	axis x = {.kind = kind < 5 ? X_LABEL : kind < 6 ? X_WILD : kind < 7 ? X_FIXED : kind < 8 ? X_AFFINE : X_CONCAT};
	if (x.kind == X_WILD && result)
		x.kind = X_LABEL;
	switch (x.kind) {
	case X_LABEL:
		x.symbol = (int8_t)pick(seed, MAPS_LABELS);
		x.size = (int8_t)r->size[x.symbol];
		break;
	case X_WILD:
		x.symbol = (int8_t)new_symbol(r, 1 + pick(seed, 3));
		x.size = (int8_t)r->size[x.symbol];
		break;
	case X_FIXED:
		x.fixed = (int8_t)pick(seed, 3);
		x.size = (int8_t)(x.fixed + 1 + pick(seed, 2));
		break;
	case X_AFFINE: affine_axis(seed, r, &x); break;
	case X_CONCAT: concat_axis(seed, r, &x); break;
	case X_ROW: break;
	}
	return x;
}

/* Symbols that concatenated axes connect are of one factor. */
static void couple(record *r, const axis *x)
{
	for (int i = 0; i < x->nparts; i++) {
		int from = r->factor[x->part[i]], to = r->factor[x->part[0]] < 0 ? x->part[0] : r->factor[x->part[0]];
		r->factor[x->part[i]] = r->factor[x->part[i]] < 0 ? to : r->factor[x->part[i]];
		for (int s = 0; s < r->nsymbols && from >= 0; s++)
			if (r->factor[s] == from)
				r->factor[s] = to;
	}
}

static void some_record(uint64_t *seed, record *r)
{
	memset(r, 0, sizeof *r);
	r->nslots = 2 + pick(seed, 3);
	for (int i = 0; i < MAPS_LABELS; i++)
		new_symbol(r, 1 + pick(seed, 3));
	r->nrow = pick(seed, ROW_VAR + 1);
	for (int i = 0; i < r->nrow; i++)
		r->row[i] = new_symbol(r, 1 + pick(seed, 3));
	for (int s = 0; s < r->nslots; s++) {
		r->marked[s] = pick(seed, 3) == 0;
		r->marked_kind[s] = pick(seed, 3) ? 1 : pick(seed, KINDS);
		int axes = pick(seed, 4);
		for (int i = 0; i < axes; i++) {
			int kind = pick(seed, 3) ? 1 : pick(seed, KINDS);
			r->at[s][kind][r->n[s][kind]++] = some_axis(seed, r, s == 0);
		}
		r->marked_at[s] = pick(seed, r->n[s][r->marked_kind[s]] + 1);
	}
	for (int s = 0; s < r->nslots; s++)
		for (int k = 0; k < KINDS; k++)
			for (int i = 0; i < r->n[s][k]; i++)
				if (r->at[s][k][i].kind == X_CONCAT)
					couple(r, &r->at[s][k][i]);
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

static void say_axis(const axis *x, char *out, size_t size, const record *r)
{
	char text[64], part[16];
	switch (x->kind) {
	case X_LABEL: snprintf(text, sizeof text, "%c", 'a' + x->symbol); break;
	case X_WILD: snprintf(text, sizeof text, "_"); break;
	case X_FIXED: snprintf(text, sizeof text, "%d", x->fixed); break;
	case X_AFFINE:
		snprintf(text, sizeof text, "%d*%c", x->stride, 'a' + x->symbol);
		snprintf(part, sizeof part, "%s%d*%c", x->padded ? "=+" : "<+", x->dilation, 'a' + x->kernel);
		words_add(text, sizeof text, x->kernel < 0 ? "" : part);
		snprintf(part, sizeof part, "+%d", x->offset);
		words_add(text, sizeof text, x->offset ? part : "");
		break;
	case X_CONCAT:
		text[0] = 0;
		for (int i = 0; i < x->nparts; i++) {
			bool label = x->part[i] < MAPS_LABELS;
			snprintf(part, sizeof part, label ? "%s%c" : "%s%d", i ? "^" : "", label ? 'a' + x->part[i] : r->size[x->part[i]]);
			words_add(text, sizeof text, part);
		}
		break;
	case X_ROW: return;
	}
	words_add(out, size, text);
}

/* One slot's rows, `batch | input -> output`: of the spec, or of the shape. */
static void say_slot(const record *r, int s, bool shape, char *out, size_t size)
{
	static const int order[KINDS] = {0, 2, 1};           /* kinds here are in memory order: batch, output, input */
	static const char *const after[KINDS] = {" | ", "", " -> "};
	char text[16];
	for (int o = 0; o < KINDS; o++) {
		int k = order[o];
		bool marked = r->marked[s] && r->marked_kind[s] == k;
		if (k != 1 && r->n[s][k] == 0 && !marked)
			continue;
		const char *sep = "";
		for (int i = 0; i <= r->n[s][k]; i++) {
			for (int j = 0; marked && i == r->marked_at[s] && j < (shape ? r->nrow : 1); j++, sep = shape ? " " : ", ") {
				snprintf(text, sizeof text, "%d", r->size[r->row[j]]);
				words_add(out, size, sep);
				words_add(out, size, shape ? text : "..r..");
			}
			if (i == r->n[s][k])
				break;
			words_add(out, size, sep);
			snprintf(text, sizeof text, "%d", r->at[s][k][i].size);
			if (shape)
				words_add(out, size, text);
			else
				say_axis(&r->at[s][k][i], out, size, r);
			sep = shape ? " " : ", ";
		}
		words_add(out, size, after[k]);
	}
}

static maps_question question_of(const record *r)
{
	maps_question q = {.logic = BY_SPEC, .nslots = r->nslots};
	for (int s = 1; s < r->nslots; s++) {
		words_add(q.spec, sizeof q.spec, s > 1 ? "; " : "");
		say_slot(r, s, false, q.spec, sizeof q.spec);
	}
	words_add(q.spec, sizeof q.spec, " => ");
	say_slot(r, 0, false, q.spec, sizeof q.spec);
	for (int s = 0; s < r->nslots; s++)
		say_slot(r, s, true, q.shape[s], sizeof q.shape[s]);
	for (int i = 0; i < MAPS_LABELS; i++)
		q.label_size[i] = r->size[i];
	return q;
}

/* ---- the definition ---------------------------------------------------------------------------------------------- */

typedef struct choice {
	const record *r;
	int chosen[MAX_SYMBOLS_HERE + 8];                          /* per factor (a symbol's number): the live symbol */
	int place[MAPS_SLOTS][KINDS][ROW_AXES];                    /* of the live symbol on a concatenated axis */
	bool live[MAPS_SLOTS], mentioned[MAX_SYMBOLS_HERE + 8];
	int position[MAX_SYMBOLS_HERE + 8];
	points *out;
} choice;

static bool symbol_live(const choice *c, int symbol) { return c->r->factor[symbol] < 0 || c->chosen[c->r->factor[symbol]] == symbol; }

static int places(const choice *c, const axis *x)
{
	int n = 0;
	for (int i = 0; i < x->nparts; i++)
		n += symbol_live(c, x->part[i]);
	return n;
}

static bool axis_live(const choice *c, const axis *x)
{
	switch (x->kind) {
	case X_LABEL: case X_WILD: case X_ROW: return symbol_live(c, x->symbol);
	case X_FIXED: return true;
	case X_AFFINE: return symbol_live(c, x->symbol) && (x->kernel < 0 || symbol_live(c, x->kernel));
	case X_CONCAT: return places(c, x) > 0;
	}
	return true;
}

/* Where the axis is read; and in `mention`, the symbols that this names. */
static int axis_position(choice *c, const axis *x, int place, bool mention)
{
	int at = 0, seen = 0;
	switch (x->kind) {
	case X_FIXED: return x->fixed;
	case X_LABEL: case X_WILD: case X_ROW:
		c->mentioned[x->symbol] |= mention;
		return c->position[x->symbol];
	case X_AFFINE:
		c->mentioned[x->symbol] |= mention;
		if (x->kernel < 0)
			return x->stride * c->position[x->symbol] + x->offset;
		c->mentioned[x->kernel] |= mention;
		at = x->stride * c->position[x->symbol] + x->dilation * c->position[x->kernel] + x->offset;
		return at - (x->padded ? (1 + (c->r->size[x->kernel] - 1) * x->dilation) / 2 : 0);
	case X_CONCAT:
		for (int i = 0; i < x->nparts; i++) {
			if (symbol_live(c, x->part[i]) && seen++ == place) {
				c->mentioned[x->part[i]] |= mention;
				return at + c->position[x->part[i]];
			}
			at += c->r->size[x->part[i]];
		}
	}
	return at;
}

/* Fills a slot's cell; false where a padded axis is read outside. */
static bool slot_cell(choice *c, int s, bool mention, int8_t *cell)
{
	const record *r = c->r;
	int at = 0;
	bool inside = true;
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i <= r->n[s][k]; i++) {
			for (int j = 0; r->marked[s] && r->marked_kind[s] == k && i == r->marked_at[s] && j < r->nrow; j++) {
				c->mentioned[r->row[j]] |= mention;
				cell[at++] = (int8_t)c->position[r->row[j]];
			}
			if (i == r->n[s][k])
				break;
			int x = axis_position(c, &r->at[s][k][i], c->place[s][k][i], mention);
			inside &= x >= 0 && x < r->at[s][k][i].size;
			cell[at++] = (int8_t)x;
		}
	return inside;
}

static void positions(choice *c, int symbol)
{
	point x;
	if (symbol == c->r->nsymbols) {
		memset(&x, 0, sizeof x);
		for (int s = 0; s < c->r->nslots; s++) {
			if (!c->live[s])
				x.at[s][0] = DEAD;
			else if (!slot_cell(c, s, false, x.at[s]))
				return;
		}
		points_add(c->out, &x);
		return;
	}
	int n = c->mentioned[symbol] ? c->r->size[symbol] : 1;
	for (c->position[symbol] = 0; c->position[symbol] < n && !c->out->too_many; c->position[symbol]++)
		positions(c, symbol + 1);
	c->position[symbol] = 0;
}

static void one_choice(choice *c)
{
	int8_t cell[MAPS_AXES + ROW_VAR];
	bool any = false;
	memset(c->mentioned, 0, sizeof c->mentioned);
	for (int s = 0; s < c->r->nslots; s++) {
		c->live[s] = true;
		for (int k = 0; k < KINDS; k++)
			for (int i = 0; i < c->r->n[s][k]; i++)
				c->live[s] &= axis_live(c, &c->r->at[s][k][i]);
		if (c->live[s])
			slot_cell(c, s, true, cell);
		any |= c->live[s];
	}
	if (any)
		positions(c, 0);
}

static void choose_places(choice *c, int s, int k, int i)
{
	if (s == c->r->nslots) {
		one_choice(c);
	} else if (k == KINDS) {
		choose_places(c, s + 1, 0, 0);
	} else if (i == c->r->n[s][k]) {
		choose_places(c, s, k + 1, 0);
	} else {
		int n = c->r->at[s][k][i].kind == X_CONCAT ? places(c, &c->r->at[s][k][i]) : 0;
		for (int place = 0; place < (n ? n : 1); place++) {
			c->place[s][k][i] = place;
			choose_places(c, s, k, i + 1);
		}
	}
}

static void choose(choice *c, int factor)
{
	if (factor == c->r->nsymbols) {
		choose_places(c, 0, 0, 0);
		return;
	}
	bool any = false;
	for (int s = 0; s < c->r->nsymbols; s++)
		if (c->r->factor[s] == factor) {
			any = true;
			c->chosen[factor] = s;
			choose(c, factor + 1);
		}
	if (!any)
		choose(c, factor + 1);
}

/* Every factor stands on an axis of the result, each of its symbols once. */
static bool result_tells(const record *r)
{
	for (int f = 0; f < r->nsymbols; f++) {
		bool factor = false, told = false;
		for (int s = 0; s < r->nsymbols; s++)
			factor |= r->factor[s] == f;
		for (int k = 0; k < KINDS; k++)
			for (int i = 0; i < r->n[0][k]; i++) {
				const axis *x = &r->at[0][k][i];
				bool once = x->kind == X_CONCAT && r->factor[x->part[0]] == f;
				for (int a = 0; a < x->nparts; a++)
					for (int b = 0; b < a; b++)
						once &= x->part[a] != x->part[b];
				told |= once;
			}
		if (factor && !told)
			return false;
	}
	return true;
}

static bool fits(const record *r)
{
	for (int s = 0; s < r->nslots; s++) {
		int n = r->marked[s] ? r->nrow : 0;
		for (int k = 0; k < KINDS; k++)
			n += r->n[s][k];
		if (n > MAPS_AXES)
			return false;
	}
	return true;
}

bool maps_spec(uint64_t *seed, maps_question *q, points *want)
{
	record r;
	do
		some_record(seed, &r);
	while (!fits(&r));
	*q = question_of(&r);
	choice c = {.r = &r, .out = want};
	choose(&c, 0);
	return result_tells(&r);
}
