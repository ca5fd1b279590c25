/* Unsolved shapes in spec notation, each variable with a name: the one that a spec gave it, else a letter.
 *
 * An axis that stands beside the same row variable wherever either occurs, and that nobody named, is part of what the variable
 * stands for: it is not written. A size that one term defines and nobody named is written as the term. */
#include "store.h"
#include <string.h>

typedef struct named_row {
	uint32_t root, n;            /* occurrences */
	tsr_kind kind;               /* of the first */
	tsr_row first;
	uint32_t lead, trail;        /* axes beside the variable that all occurrences share */
	tsr_name name;
} named_row;

typedef struct named_dim { uint32_t root, n; tsr_name name; } named_dim;

struct tsr_namer {
	tsr_store *s;
	tsr_map dim_at, row_at;      /* root -> index + 1 */
	TSR_VEC(named_dim) dims;
	TSR_VEC(named_row) rows;
	tsr_map taken;               /* names of axes; of rows with .. before */
	tsr_map told;                /* conditions that are written in place */
};

tsr_namer *tsr_namer_new(tsr_store *s)
{
	tsr_namer *n = TSR_NEW(s->arena, tsr_namer);
	n->s = s;
	tsr_map_init(&n->dim_at, s->arena);
	tsr_map_init(&n->row_at, s->arena);
	tsr_map_init(&n->taken, s->arena);
	tsr_map_init(&n->told, s->arena);
	return n;
}

/* ---- occurrences ------------------------------------------------------------------------------------------------------------------ */

static const tsr_cstr *term_of(tsr_namer *n, uint32_t root);

static named_dim *dim_of(tsr_namer *n, uint32_t root)
{
	tsr_map_entry *e = tsr_map_put(&n->dim_at, root);
	if (!e->value.i) {
		tsr_push(n->s->arena, &n->dims, ((named_dim){.root = root}));
		e->value.i = n->dims.n;
	}
	return &n->dims.at[e->value.i - 1];
}

static void announce_dim(tsr_namer *n, tsr_dim d)
{
	d = tsr_dim_find(n->s, d);
	if (!tsr_dim_is_var(d))
		return;
	const tsr_cstr *term = term_of(n, d.var);
	if (dim_of(n, d.var)->n++ || !term)
		return;
	if (term->kind == TSR_C_AFFINE) {
		announce_dim(n, term->affine.term->over);
		if (term->affine.term->has_kernel)
			announce_dim(n, term->affine.term->kernel);
	}
	for (uint32_t i = 0; term->kind == TSR_C_CONCAT && i < term->concat.n; i++)
		announce_dim(n, term->concat.at[i]);
}

static bool same_axis(tsr_namer *n, tsr_dim a, tsr_dim b)
{
	a = tsr_dim_find(n->s, a);
	b = tsr_dim_find(n->s, b);
	return tsr_dim_is_var(a) && tsr_dim_is_var(b) && a.var == b.var;
}

static void announce_row(tsr_namer *n, tsr_row r, tsr_kind kind)
{
	bool poison = false;
	r = tsr_row_find(n->s, r, &poison);
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
		announce_dim(n, tsr_row_axis(r, i));
	if (!tsr_row_open(r))
		return;
	tsr_map_entry *e = tsr_map_put(&n->row_at, r.var);
	if (!e->value.i) {
		tsr_push(n->s->arena, &n->rows, ((named_row){.root = r.var, .n = 1, .kind = kind, .first = r, .lead = r.nlead, .trail = r.ntrail}));
		e->value.i = n->rows.n;
		return;
	}
	named_row *v = &n->rows.at[e->value.i - 1];
	uint32_t lead = 0, trail = 0;
	while (lead < v->lead && lead < r.nlead && same_axis(n, r.lead[r.nlead - 1 - lead], v->first.lead[v->first.nlead - 1 - lead]))
		lead++;
	while (trail < v->trail && trail < r.ntrail && same_axis(n, r.trail[trail], v->first.trail[trail]))
		trail++;
	v->lead = lead;
	v->trail = trail;
	v->n++;
}

void tsr_namer_announce(tsr_namer *n, const tsr_shape *shape)
{
	for (uint32_t k = 0; k < TSR_KINDS; k++)
		announce_row(n, shape->row[k], (tsr_kind)k);
}

static bool is_seen(tsr_namer *n, tsr_dim d)
{
	d = tsr_dim_find(n->s, d);
	return tsr_dim_is_var(d) && tsr_map_find(&n->dim_at, d.var);
}

static bool row_seen(tsr_namer *n, tsr_row r)
{
	bool poison = false;
	r = tsr_row_find(n->s, r, &poison);
	bool seen = tsr_row_open(r) && tsr_map_find(&n->row_at, r.var);
	for (uint32_t i = 0; i < tsr_row_flanks(r); i++)
		seen |= is_seen(n, tsr_row_axis(r, i));
	return seen;
}

/* ---- names ------------------------------------------------------------------------------------------------------------------------- */

static bool claim(tsr_namer *n, tsr_name name)
{
	tsr_map_entry *e = tsr_map_put(&n->taken, tsr_key(name));
	return e->value.i++ == 0;
}

static tsr_name intern(tsr_namer *n, const char *text) { return tsr_intern(n->s->tc->names, text); }

/* `first` in words, or it with a number behind. */
static tsr_name free_name(tsr_namer *n, const char *format, const char *first)
{
	tsr_name name = intern(n, tsr_format(n->s->arena, format, first));
	for (uint32_t turn = 2; !claim(n, name); turn++)
		name = intern(n, tsr_format(n->s->arena, format, tsr_format(n->s->arena, "%s%u", first, turn)));
	return name;
}

/* The letters of an axis that nobody named. */
static tsr_name letter(tsr_namer *n)
{
	static const char letters[] = "nmkpqruvwxyzabcdefghijlost";
	for (const char *c = letters; *c; c++) {
		tsr_name name = intern(n, tsr_format(n->s->arena, "%c", *c));
		if (claim(n, name))
			return name;
	}
	return free_name(n, "%s", "n");
}

/* Names that were written come before letters. Sizes by name are taken too. */
static void settle_names(tsr_namer *n)
{
	for (uint32_t i = 0; i < n->s->symbols.n; i++)
		claim(n, n->s->symbols.at[i].name);
	for (uint32_t i = 0; i < n->dims.n; i++) {
		named_dim *d = &n->dims.at[i];
		if (!d->name && n->s->dims.at[d->root].label)
			d->name = free_name(n, "%s", n->s->dims.at[d->root].label);
	}
}

static const char *dim_name(tsr_namer *n, uint32_t root)
{
	settle_names(n);
	named_dim *d = dim_of(n, root);
	if (!d->name)
		d->name = letter(n);
	return d->name;
}

static const char *row_name(tsr_namer *n, uint32_t root, tsr_kind kind)
{
	static const char *const plain[] = {"batch", "input", "output"}, *const short_name[] = {"b", "i", "o"};
	tsr_map_entry *e = tsr_map_put(&n->row_at, root);
	if (!e->value.i) {
		tsr_push(n->s->arena, &n->rows, ((named_row){.root = root, .kind = kind}));
		e->value.i = n->rows.n;
	}
	named_row *v = &n->rows.at[e->value.i - 1];
	tsr_name label = n->s->rows.at[root].label;
	bool plainly = !label;
	for (uint32_t k = 0; k < TSR_KINDS && !plainly; k++)
		plainly = strcmp(label, plain[k]) == 0;
	if (plainly)
		label = short_name[v->kind];
	if (!v->name)
		v->name = free_name(n, "..%s..", label);
	return v->name;
}

/* ---- text -------------------------------------------------------------------------------------------------------------------------- */

/* The one condition that defines a size which nobody named. */
static const tsr_cstr *term_of(tsr_namer *n, uint32_t root)
{
	const tsr_dim_var *v = &n->s->dims.at[root];
	const tsr_cstr *only = NULL;
	TSR_EACH(n->s, i, &v->defs) {
		const tsr_cstr *c = tsr_cell_cstr(n->s, i);
		if (only && !c->done)
			return NULL;
		only = c->done ? only : c;
	}
	return v->label ? NULL : only;
}

static void dim_text(void *ctx, tsr_text *t, tsr_dim d);

static void term_text(tsr_namer *n, tsr_text *t, const tsr_cstr *c)
{
	if (c->kind == TSR_C_AFFINE)
		tsr_affine_text(t, c->affine.term, dim_text, n);
	for (uint32_t i = 0; c->kind == TSR_C_CONCAT && i < c->concat.n; i++) {
		tsr_text_add(t, i ? "^" : "");
		dim_text(n, t, c->concat.at[i]);
	}
}

static void dim_text(void *ctx, tsr_text *t, tsr_dim d)
{
	tsr_namer *n = ctx;
	d = tsr_dim_find(n->s, d);
	const tsr_cstr *term = tsr_dim_is_var(d) ? term_of(n, d.var) : NULL;
	if (term) {
		tsr_map_put(&n->told, term->id)->value.i = 1;
		term_text(n, t, term);
	} else if (tsr_dim_is_var(d)) {
		tsr_text_add(t, dim_name(n, d.var));
	} else {
		tsr_dim_text(n->s, t, d);
	}
}

/* The axis is written with the row variable that it always stands beside. */
static bool folds(tsr_namer *n, const named_row *v, tsr_dim d)
{
	d = tsr_dim_find(n->s, d);
	if (!v || !tsr_dim_is_var(d) || n->s->dims.at[d.var].label || n->s->dims.at[d.var].defs.n)
		return false;
	return dim_of(n, d.var)->n == v->n;
}

static void row_text(tsr_namer *n, tsr_text *t, tsr_row r, tsr_kind kind)
{
	bool poison = false;
	const char *comma = "";
	r = tsr_row_find(n->s, r, &poison);
	tsr_map_entry *e = tsr_row_open(r) ? tsr_map_find(&n->row_at, r.var) : NULL;
	const named_row *v = e && e->value.i ? &n->rows.at[e->value.i - 1] : NULL;
	uint32_t lead = 0, trail = 0;
	while (v && lead < v->lead && lead < r.nlead && folds(n, v, r.lead[r.nlead - 1 - lead]))
		lead++;
	while (v && trail < v->trail && trail < r.ntrail && folds(n, v, r.trail[trail]))
		trail++;
	for (uint32_t i = 0; i + lead < r.nlead; i++, comma = ", ") {
		tsr_text_add(t, comma);
		dim_text(n, t, r.lead[i]);
	}
	if (tsr_row_open(r)) {
		tsr_text_addf(t, "%s%s", comma, row_name(n, r.var, kind));
		comma = ", ";
	}
	for (uint32_t i = trail; i < r.ntrail; i++, comma = ", ") {
		tsr_text_add(t, comma);
		dim_text(n, t, r.trail[i]);
	}
}

const char *tsr_namer_shape(tsr_namer *n, const tsr_shape *shape)
{
	const char *parts[TSR_KINDS];
	for (uint32_t k = 0; k < TSR_KINDS; k++) {
		tsr_text t;
		tsr_text_init(&t, n->s->arena);
		row_text(n, &t, shape->row[k], (tsr_kind)k);
		parts[k] = tsr_text_str(&t);
	}
	return tsr_shape_parts_str(n->s, parts);
}

/* ---- what else holds ----------------------------------------------------------------------------------------------------------------- */

/* Begins another clause. */
static void clause(tsr_text *t) { tsr_text_add(t, t->n ? ", " : ""); }

static void rows_clause(tsr_namer *n, tsr_text *t, const tsr_cstr *c, tsr_row a, tsr_row b, const char *sign)
{
	bool poison = false;
	bool open = tsr_row_open(tsr_row_find(n->s, a, &poison)) && !row_seen(n, a);
	if (open || poison || !row_seen(n, b))
		return;
	clause(t);
	row_text(n, t, a, c->kind_a == TSR_KINDS ? TSR_OUTPUT : c->kind_a);
	tsr_text_add(t, sign);
	row_text(n, t, b, c->kind_b == TSR_KINDS ? TSR_OUTPUT : c->kind_b);
}

static void dims_clause(tsr_namer *n, tsr_text *t, tsr_dim a, tsr_dim b, const char *sign)
{
	if (!is_seen(n, b) || (tsr_dim_is_var(tsr_dim_find(n->s, a)) && !is_seen(n, a)))
		return;
	clause(t);
	dim_text(n, t, a);
	tsr_text_add(t, sign);
	dim_text(n, t, b);
}

static void total_clause(tsr_namer *n, tsr_text *t, const tsr_cstr *c)
{
	bool seen = false;
	for (uint32_t i = 0; i < c->total.n; i++)
		seen |= row_seen(n, c->total.rows[i]);
	if (!seen)
		return;
	clause(t);
	tsr_text_add(t, "elements of ");
	for (uint32_t i = 0; i < c->total.n; i++) {
		tsr_text_add(t, i ? " and " : "");
		row_text(n, t, c->total.rows[i], TSR_OUTPUT);
	}
	tsr_text_add(t, " = ");
	if (c->total.has_dim) {
		if (c->total.coef != 1)
			tsr_text_addf(t, "%lld*", (long long)c->total.coef);
		dim_text(n, t, c->total.d);
	} else {
		tsr_size_text(n->s, t, c->total.size);
	}
}

/* A term that no axis is written as: it defines an axis that has a name. */
static void term_clause(tsr_namer *n, tsr_text *t, const tsr_cstr *c)
{
	tsr_dim d = c->kind == TSR_C_AFFINE ? c->affine.d : c->concat.d;
	if (tsr_map_find(&n->told, c->id) || !is_seen(n, d))
		return;
	clause(t);
	dim_text(n, t, d);
	tsr_text_add(t, " = ");
	term_text(n, t, c);
}

/* What is looked up along the first of its batch axes, or along its input axis where it has none. */
static void lookup_clause(tsr_namer *n, tsr_text *t, const tsr_cstr *c)
{
	if (!row_seen(n, c->lookup.batch) && !row_seen(n, c->lookup.input))
		return;
	clause(t);
	dim_text(n, t, c->lookup.d);
	tsr_text_add(t, " the first of ");
	row_text(n, t, c->lookup.batch, TSR_BATCH);
	tsr_text_add(t, " or all of ");
	row_text(n, t, c->lookup.input, TSR_INPUT);
}

static void join_clause(tsr_namer *n, tsr_text *t, const tsr_cstr *c)
{
	if (!row_seen(n, c->join.whole))
		return;
	clause(t);
	row_text(n, t, c->join.whole, TSR_OUTPUT);
	tsr_text_add(t, " = ");
	row_text(n, t, c->join.front, TSR_OUTPUT);
	tsr_text_add(t, ", then ");
	row_text(n, t, c->join.back, TSR_OUTPUT);
}

static void condition_clause(tsr_namer *n, tsr_text *t, const tsr_condition *c)
{
	bool equal = c->kind == TSR_CONDITION_EQUAL;
	if (!equal && tsr_size_is_const(c->right) && c->right.k <= 1)
		return;
	clause(t);
	tsr_size_text(n->s, t, c->left);
	tsr_text_add(t, equal ? " = " : " >= ");
	tsr_size_text(n->s, t, c->right);
}

const char *tsr_namer_where(tsr_namer *n)
{
	tsr_text t;
	tsr_text_init(&t, n->s->arena);
	for (uint32_t i = 0; i < n->s->cstrs.n; i++) {
		const tsr_cstr *c = n->s->cstrs.at[i];
		if (c->done)
			continue;
		switch (c->kind) {
		case TSR_C_DIM_BELOW: dims_clause(n, &t, c->dim.a, c->dim.b, " <= "); break;
		case TSR_C_DIM_EQUAL: dims_clause(n, &t, c->dim.a, c->dim.b, " = "); break;
		case TSR_C_ROW_BELOW: rows_clause(n, &t, c, c->row.a, c->row.b, " <= "); break;
		case TSR_C_ROW_EQUAL: rows_clause(n, &t, c, c->row.rest[0], c->row.rest[1], " = "); break;
		case TSR_C_AT_LEAST:
			if (c->at_least.n > 1 && is_seen(n, c->at_least.d)) {
				clause(&t);
				dim_text(n, &t, c->at_least.d);
				tsr_text_addf(&t, " >= %lld", (long long)c->at_least.n);
			}
			break;
		case TSR_C_TOTAL: total_clause(n, &t, c); break;
		case TSR_C_AFFINE: case TSR_C_CONCAT: term_clause(n, &t, c); break;
		case TSR_C_LOOKUP: lookup_clause(n, &t, c); break;
		case TSR_C_JOIN: join_clause(n, &t, c); break;
		case TSR_C_SOURCE: break;
		}
	}
	for (uint32_t i = 0; i < n->s->conditions.n; i++)
		condition_clause(n, &t, &n->s->conditions.at[i]);
	return tsr_text_str(&t);
}
