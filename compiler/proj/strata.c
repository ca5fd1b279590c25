/* Second stratum: loops for the classes of a space, then affine and concatenated axes in terms of them.
 *
 * A concatenation couples its components: those that are connected through concatenated axes form a factor, of which
 * exactly one component is live at a time.  A piece is one choice per factor (and, where the live component stands several
 * times on one axis, one choice among these places).  A slot is live in a piece when each of its axes is: an axis that is a
 * component of a factor, when it is the chosen one; a concatenated axis, when it holds the chosen one.
 *
 * Loops are made in the order in which the live slots mention them, the result's axes first, in memory order; a size-one
 * class makes none. */
#include "space.h"
#include <string.h>

typedef struct concat_axis { const tsr_derived *derived; uint32_t factor, occurrence, noccurrences; } concat_axis;
typedef struct factor { TSR_VEC(uint32_t) symbols; uint32_t chosen; } factor;     /* symbols: class representatives */

typedef struct strata {
	tsr_space *s;
	TSR_VEC(concat_axis) axes;
	TSR_VEC(factor) factors;
	uint32_t *factor_of;             /* per representative: its factor, or TSR_NO_NODE */
	uint32_t *loop_of;               /* per representative, in the piece being made */
	TSR_VEC(tsr_loop_axis) loops;
	bool failed;
} strata;

static uint32_t find(const strata *t, uint32_t node)
{
	return tsr_forest_find(t->s->forest, node);
}

static bool is_size(const tsr_node *c, int64_t n)
{
	return c->sized && tsr_size_is_const(c->size) && c->size.k == n;
}

/* ---- factors ------------------------------------------------------------------------------------------------------- */

/* Puts the symbols of `from` into `into`; `from` stays empty. */
static void merge(strata *t, uint32_t into, uint32_t from)
{
	for (uint32_t i = 0; i < t->factors.at[from].symbols.n; i++) {
		uint32_t symbol = t->factors.at[from].symbols.at[i];
		t->factor_of[symbol] = into;
		tsr_push(t->s->arena, &t->factors.at[into].symbols, symbol);
	}
	t->factors.at[from].symbols.n = 0;
}

static void add_concat(strata *t, const tsr_derived *derived)
{
	tsr_arena *a = t->s->arena;
	uint32_t f = t->factors.n;
	tsr_push(a, &t->factors, ((factor){0}));
	for (uint32_t i = 0; i < derived->concat.n; i++) {
		uint32_t symbol = find(t, derived->concat.at[i]);
		if (t->factor_of[symbol] == TSR_NO_NODE) {
			t->factor_of[symbol] = f;
			tsr_push(a, &t->factors.at[f].symbols, symbol);
		} else if (t->factor_of[symbol] != f) {
			merge(t, f, t->factor_of[symbol]);
		}
	}
	tsr_push(a, &t->axes, ((concat_axis){.derived = derived}));
}

static void find_factors(strata *t)
{
	uint32_t n = t->s->nodes.n;
	t->factor_of = TSR_NEW_N(t->s->arena, uint32_t, n + 1);
	t->loop_of = TSR_NEW_N(t->s->arena, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		t->factor_of[i] = TSR_NO_NODE;
	for (uint32_t i = 0; i < t->s->nslots; i++)
		for (uint32_t j = 0; j < t->s->slots[i].n; j++) {
			const tsr_derived *d = tsr_space_class(t->s, t->s->slots[i].nodes[j])->derived;
			if (d && d->kind == TSR_DERIVED_CONCAT)
				add_concat(t, d);
		}
	for (uint32_t i = 0; i < t->axes.n; i++)
		t->axes.at[i].factor = t->factor_of[find(t, t->axes.at[i].derived->concat.at[0])];
}

static bool chosen(const strata *t, uint32_t symbol)
{
	const factor *f = &t->factors.at[t->factor_of[symbol]];
	return f->symbols.at[f->chosen] == symbol;
}

static uint32_t occurrences(const strata *t, const concat_axis *x)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->derived->concat.n; i++)
		n += chosen(t, find(t, x->derived->concat.at[i]));
	return n;
}

/* The next combination, as an odometer: places on the axes run fastest. False when all were made. */
static bool advance(strata *t)
{
	for (uint32_t i = t->axes.n; i-- > 0;) {
		concat_axis *x = &t->axes.at[i];
		if (x->occurrence + 1 < x->noccurrences) {
			x->occurrence++;
			return true;
		}
		x->occurrence = 0;
	}
	for (uint32_t i = t->factors.n; i-- > 0;) {
		factor *f = &t->factors.at[i];
		if (f->symbols.n == 0)
			continue;
		if (++f->chosen < f->symbols.n)
			return true;
		f->chosen = 0;
	}
	return false;
}

/* ---- indices ------------------------------------------------------------------------------------------------------- */

static tsr_index constant(int64_t offset)
{
	return (tsr_index){.offset = offset};
}

static void add_term(strata *t, tsr_index *x, int64_t coef, tsr_sym sym)
{
	tsr_index_term *terms = TSR_NEW_N(t->s->arena, tsr_index_term, x->n + 1);
	for (uint32_t i = 0; i < x->n; i++)
		terms[i] = x->terms[i];
	x->terms = terms;
	for (uint32_t i = 0; i < x->n; i++)
		if (terms[i].sym.kind == sym.kind && terms[i].sym.id == sym.id) {
			terms[i].coef += coef;
			return;
		}
	if (coef)
		terms[x->n++] = (tsr_index_term){coef, sym};
}

static void add_index(strata *t, tsr_index *x, int64_t coef, tsr_index y)
{
	x->offset += coef * y.offset;
	x->base = tsr_size_add(t->s->arena, x->base, tsr_size_scale(t->s->arena, y.base, coef));
	for (uint32_t i = 0; i < y.n; i++)
		add_term(t, x, coef * y.terms[i].coef, y.terms[i].sym);
	x->guarded |= y.guarded;
	x->checked |= y.checked;
}

static tsr_index loop_index(strata *t, uint32_t symbol)
{
	const tsr_node *c = &t->s->nodes.at[symbol];
	tsr_index x = constant(0);
	if (is_size(c, 1))
		return x;
	if (t->loop_of[symbol] == TSR_NO_NODE) {
		if (!c->sized)
			tsr_bug("the label %s has no size", c->label ? c->label : "of an axis");
		t->loop_of[symbol] = t->loops.n;
		tsr_push(t->s->arena, &t->loops, ((tsr_loop_axis){c->size, c->label}));
	}
	add_term(t, &x, 1, (tsr_sym){TSR_SYM_LOOP, t->loop_of[symbol]});
	return x;
}

static tsr_index index_of(strata *t, uint32_t node);

/* A size that the index needs while compiling; %s is the label. */
static void refuse_symbolic(strata *t, const tsr_derived *d, const tsr_node *size, tsr_diag_code code, const char *text, const char *hint)
{
	const char *label = size->label ? tsr_format(t->s->arena, " `%s`", size->label) : "";
	tsr_compiler *tc = t->s->g->tc;
	tsr_hint(tc, tsr_report(tc, code, d->span, text, label), "%s", hint);
	t->failed = true;
}

/* stride*over + dilation*kernel + offset + number, less the left margin floor(span / 2) of a padded axis. */
static tsr_index affine_index(strata *t, const tsr_derived *d)
{
	tsr_index x = constant(d->affine.offset);
	if (d->affine.over != TSR_NO_NODE)
		add_index(t, &x, d->affine.stride, index_of(t, d->affine.over));
	if (d->affine.kernel != TSR_NO_NODE) {
		const tsr_node *kernel = tsr_space_class(t->s, d->affine.kernel);
		add_index(t, &x, d->affine.dilation, index_of(t, d->affine.kernel));
		if (d->affine.pad == TSR_PAD_SAME) {
			if (!kernel->sized || !tsr_size_is_const(kernel->size)) {
				refuse_symbolic(t, d, kernel, TSR_E_SYMBOLIC_WINDOW, "the window%s of a padded axis has a size known only when the program runs",
					"`<+` in place of `=+` needs no margin, and takes such a window");
				return x;
			}
			x.offset -= ((TSR_PLANTED(15) ? 0 : 1) + (kernel->size.k - 1) * d->affine.dilation) / 2;   /* the window is one shorter */
			x.guarded = true;
		}
	}
	if (d->affine.number != TSR_NONE) {
		add_term(t, &x, d->affine.number_coef, (tsr_sym){TSR_SYM_NUMBER, d->affine.number});
		x.checked = true;
	}
	return x;
}

/* The live component's index, behind the sizes of the components before it. */
static tsr_index concat_index(strata *t, const tsr_derived *d)
{
	uint32_t skip = 0;
	for (uint32_t i = 0; i < t->axes.n; i++)
		if (t->axes.at[i].derived == d)
			skip = t->axes.at[i].occurrence;
	tsr_index x = constant(0);
	for (uint32_t i = 0; i < d->concat.n; i++) {
		uint32_t symbol = find(t, d->concat.at[i]);
		if (chosen(t, symbol) && skip-- == 0) {
			add_index(t, &x, 1, loop_index(t, symbol));
			break;
		}
		const tsr_node *c = &t->s->nodes.at[symbol];
		if (!c->sized)
			tsr_bug("the component %s has no size", c->label ? c->label : "of a concatenation");
		if (!TSR_PLANTED(16))                          /* components over each other */
			x.base = tsr_size_add(t->s->arena, x.base, c->size);
	}
	x.offset += x.base.k;
	x.base.k = 0;
	return x;
}

/* Row-major: each part times the sizes of those behind it. */
static tsr_index joint_index(strata *t, const tsr_derived *d)
{
	tsr_index x = constant(0);
	int64_t *strides = TSR_NEW_N(t->s->arena, int64_t, d->concat.n + 1);
	int64_t stride = 1;
	for (uint32_t i = d->concat.n; i-- > 0;) {
		const tsr_node *c = tsr_space_class(t->s, d->concat.at[i]);
		strides[i] = stride;
		if (i && (!c->sized || !tsr_size_is_const(c->size))) {
			refuse_symbolic(t, d, c, TSR_E_SYMBOLIC_JOINT, "the axis%s is joined to the ones before it, and has a size known only when the program runs",
				"the first of the joined axes may have such a size");
			return x;
		}
		stride *= c->size.k;
	}
	for (uint32_t i = 0; i < d->concat.n; i++)
		add_index(t, &x, strides[i], index_of(t, d->concat.at[i]));
	return x;
}

static tsr_index index_of(strata *t, uint32_t node)
{
	const tsr_node *c = tsr_space_class(t->s, node);
	if (c->pinned)
		return constant(c->pin);
	if (c->derived)
		switch (c->derived->kind) {
		case TSR_DERIVED_AFFINE: return affine_index(t, c->derived);
		case TSR_DERIVED_CONCAT: return concat_index(t, c->derived);
		case TSR_DERIVED_JOINT: return joint_index(t, c->derived);
		}
	return loop_index(t, find(t, node));
}

/* ---- pieces -------------------------------------------------------------------------------------------------------- */

static bool node_live(const strata *t, uint32_t node)
{
	uint32_t rep = find(t, node);
	const tsr_node *c = &t->s->nodes.at[rep];
	if (t->factor_of[rep] != TSR_NO_NODE)
		return chosen(t, rep);
	if (!c->derived)
		return true;
	if (c->derived->kind == TSR_DERIVED_AFFINE)
		return (c->derived->affine.over == TSR_NO_NODE || node_live(t, c->derived->affine.over))
			&& (c->derived->affine.kernel == TSR_NO_NODE || node_live(t, c->derived->affine.kernel));
	for (uint32_t i = 0; i < c->derived->concat.n; i++)
		if (c->derived->kind == TSR_DERIVED_JOINT ? !node_live(t, c->derived->concat.at[i]) : chosen(t, find(t, c->derived->concat.at[i])))
			return c->derived->kind == TSR_DERIVED_CONCAT;
	return c->derived->kind == TSR_DERIVED_JOINT;
}

/* A guard that can be seen to hold everywhere is none. */
static void drop_guards(strata *t, const tsr_piece *p, const tsr_slot_axes *slot, tsr_map_axes *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (!m->axes[i].guarded || m->axes[i].checked)
			continue;
		tsr_interval range = tsr_index_interval(t->s->arena, p, &m->axes[i]);
		if (tsr_size_exceeds(t->s->arena, range.low, tsr_size_const(0), 0) && tsr_size_exceeds(t->s->arena, slot->sizes[i], range.high, 1))
			m->axes[i].guarded = false;
	}
}

/* Pieces are compared with each other. */
enum { MOST_PIECES = 1024 };

static void refuse(strata *t, const char *what)
{
	const tsr_record *r = t->s->record;
	t->failed = true;
	tsr_report(t->s->g->tc, TSR_E_SPACE_SIZE, r->rule.why.span, "%s%sthe iteration space has %s", r->rule.why.what ? r->rule.why.what : "",
		r->rule.why.what ? ": " : "", what);
}

static tsr_piece make_piece(strata *t)
{
	tsr_arena *a = t->s->arena;
	tsr_piece p = {.maps = TSR_NEW_N(a, tsr_map_axes, t->s->nslots), .live = TSR_NEW_N(a, bool, t->s->nslots)};
	for (uint32_t i = 0; i < t->s->nodes.n; i++)
		t->loop_of[i] = TSR_NO_NODE;
	memset(&t->loops, 0, sizeof t->loops);
	for (uint32_t i = 0; i < t->s->nslots; i++) {
		const tsr_slot_axes *slot = &t->s->slots[i];
		p.live[i] = true;
		for (uint32_t j = 0; j < slot->n; j++)
			p.live[i] &= node_live(t, slot->nodes[j]);
		p.maps[i].n = slot->n;
		p.maps[i].axes = TSR_NEW_N(a, tsr_index, slot->n + 1);
		for (uint32_t j = 0; p.live[i] && j < slot->n; j++)
			p.maps[i].axes[j] = index_of(t, slot->nodes[j]);
	}
	p.nloops = t->loops.n;
	p.loops = t->loops.at;
	if (p.nloops > TSR_MOST_SPACE_LOOPS) {
		t->failed = true;
		tsr_report(t->s->g->tc, TSR_E_BAD_SPEC, t->s->record->site, "an operation runs over at most %u different axes; this one has %u",
			TSR_MOST_SPACE_LOOPS, p.nloops);
		return p;
	}
	for (uint32_t i = 0; i < t->s->nslots; i++)
		if (p.live[i])
			drop_guards(t, &p, &t->s->slots[i], &p.maps[i]);
	return p;
}

/* Components that were discarded are empty, and choosing one gives no piece. */
static bool empty_choice(const strata *t)
{
	for (uint32_t i = 0; i < t->factors.n; i++) {
		const factor *f = &t->factors.at[i];
		if (f->symbols.n && is_size(&t->s->nodes.at[f->symbols.at[f->chosen]], 0))
			return true;
	}
	return false;
}

tsr_proj *tsr_space_solve(tsr_space *s)
{
	strata t = {.s = s};
	find_factors(&t);
	TSR_VEC(tsr_piece) pieces = {0};
	do {
		for (uint32_t i = 0; i < t.axes.n; i++)
			t.axes.at[i].noccurrences = occurrences(&t, &t.axes.at[i]);
		if (empty_choice(&t))
			continue;
		tsr_piece p = make_piece(&t);
		tsr_push(s->arena, &pieces, p);
		if (pieces.n > MOST_PIECES)
			refuse(&t, tsr_format(s->arena, "more than %d parts, one for each choice among the components of its concatenated axes", MOST_PIECES));
	} while (!t.failed && advance(&t));
	if (t.failed)
		return NULL;
	tsr_proj *proj = TSR_NEW(s->arena, tsr_proj);
	*proj = (tsr_proj){s->record->id, pieces.n, pieces.at};
	return proj;
}

tsr_proj *tsr_proj_derive(tsr_graph *g, tsr_record_id record)
{
	tsr_space *s = tsr_space_derive(g, g->records.at[record]);
	return s ? tsr_space_solve(s) : NULL;
}
