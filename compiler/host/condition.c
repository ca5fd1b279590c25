/* What inference left to be tested when the sizes are known: that two sizes are equal, or one at least another; and how a
 * message says it, in the words of the program: whose axis has how many positions, and what needs something else.  Compiled
 * and interpreted programs test the same list, right after their files were read; an exported function its own, on entry. */
#include "host.h"
#include "../../runtime/tsr_abi.h"
#include "../base/text.h"
#include <string.h>

/* ---- who gives a size -------------------------------------------------------------------------------------------------- */

static tsr_owner join(tsr_owner a, tsr_owner b)
{
	return a == TSR_OWNER_PROGRAM ? b : b == TSR_OWNER_PROGRAM || a == b ? a : TSR_OWNER_MANY;
}

static tsr_owner owner_of_symbol(const tsr_graph *g, uint32_t symbol)
{
	if (symbol >= tsr_store_nsymbols(g->store))      /* a quotient that a pass made, which kernels alone may know */
		tsr_bug("the program level does not know size %u of %u", symbol, tsr_store_nsymbols(g->store));
	const tsr_symbol *y = tsr_store_symbol_get(g->store, symbol);
	if (y->solved)
		return tsr_host_owner(g, y->value);
	if (y->derived)
		return tsr_host_owner(g, y->dividend);
	for (uint32_t i = 0; y->exported && i < g->exports.n; i++)
		for (uint32_t k = 0; k < g->exports.at[i]->symbols.n; k++)
			if (g->exports.at[i]->symbols.at[k] == symbol)
				return i;
	return TSR_OWNER_PROGRAM;
}

tsr_owner tsr_host_owner(const tsr_graph *g, tsr_size s)
{
	tsr_owner o = TSR_OWNER_PROGRAM;
	for (uint32_t i = 0; i < s.nterms; i++)
		o = join(o, owner_of_symbol(g, s.terms[i].symbol));
	return o;
}

tsr_owner tsr_host_owner_of(const tsr_graph *g, uint32_t n, const tsr_size *sizes)
{
	tsr_owner o = TSR_OWNER_PROGRAM;
	for (uint32_t i = 0; i < n; i++)
		o = join(o, tsr_host_owner(g, sizes[i]));
	return o;
}

/* ---- wording ------------------------------------------------------------------------------------------------------------- */

typedef struct words {
	const tsr_graph *g;
	tsr_text t;
	uint32_t nvalues;
	tsr_size *values;            /* of the numbers in the text, in order */
} words;

static bool lone_symbol(tsr_size s) { return s.nterms == 1 && s.k == 0 && s.terms[0].coef == 1; }

static tsr_size symbol_size(const tsr_graph *g, uint32_t symbol)
{
	tsr_size_term *term = TSR_NEW(g->tc->arena, tsr_size_term);
	*term = (tsr_size_term){1, symbol};
	return (tsr_size){0, 1, term};
}

static void number(words *w, tsr_size s)
{
	tsr_size *values = TSR_NEW_N(w->g->tc->arena, tsr_size, w->nvalues + 1);
	if (w->nvalues)
		memcpy(values, w->values, w->nvalues * sizeof *values);
	values[w->nvalues++] = s;
	w->values = values;
	tsr_text_char(&w->t, TSR_MESSAGE_NUMBER);
}

/* An axis that gives the symbol: of an argument, or of a file. */
typedef struct axis { tsr_name name; tsr_kind kind; uint32_t at, of; } axis;

static bool has_axis(const tsr_graph *g, const tsr_tensor *t, uint32_t symbol, axis *out)
{
	static const tsr_kind order[] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	uint32_t n = 0;
	if (t->poison || (t->kind != TSR_TENSOR_INPUT && t->kind != TSR_TENSOR_FILE))
		return false;
	for (int k = 0; k < TSR_KINDS; k++) {
		const tsr_solved_row *row = &t->solved.row[order[k]];
		for (uint32_t i = 0; i < row->n; i++, n++) {
			tsr_size s = t->kind == TSR_TENSOR_FILE && n < t->file->rank ? t->file->dims[n] : row->axes[i].size;
			if (lone_symbol(s) && s.terms[0].symbol == symbol) {
				*out = (axis){t->kind == TSR_TENSOR_INPUT ? t->input.name : t->name, order[k], i + 1, row->n};
				return true;
			}
		}
	}
	(void)g;
	return false;
}

static bool find_axis(const tsr_graph *g, uint32_t symbol, axis *out)
{
	for (uint32_t i = 0; i < g->tensors.n; i++)
		if (has_axis(g, g->tensors.at[i], symbol, out))
			return true;
	return false;
}

static bool given(const tsr_graph *g, tsr_size s)
{
	return lone_symbol(s) && !tsr_store_symbol_get(g->store, s.terms[0].symbol)->derived;
}

static bool same_place(const axis *a, const axis *b) { return a->kind == b->kind && a->at == b->at && a->of == b->of; }

/* The symbols that a size is made of, looking into quotients; each once. */
static void roots(words *w, tsr_size s, bool *seen, const char **before)
{
	for (uint32_t i = 0; i < s.nterms; i++) {
		uint32_t id = s.terms[i].symbol;
		const tsr_symbol *y = tsr_store_symbol_get(w->g->store, id);
		if (seen[id])
			continue;
		seen[id] = true;
		if (y->derived || y->solved) {
			roots(w, y->derived ? y->dividend : y->value, seen, before);
			continue;
		}
		tsr_text_addf(&w->t, "%s?%s is ", *before, y->name);
		number(w, symbol_size(w->g, id));
		*before = ", ";
	}
}

/* "x has 5 batch positions (?n)", after it "y has 7 (?m)"; or "?n-2 is 0 (?n is 2)". */
static void value(words *w, tsr_size s, axis *last)
{
	static const char *const kinds[TSR_KINDS] = {[TSR_BATCH] = "batch", [TSR_OUTPUT] = "output", [TSR_INPUT] = "input"};
	axis a;
	if (given(w->g, s) && find_axis(w->g, s.terms[0].symbol, &a)) {
		tsr_text_addf(&w->t, "%s has ", a.name);
		number(w, s);
		if (last->name && same_place(last, &a))
			;
		else if (a.of > 1)
			tsr_text_addf(&w->t, " position%c on %s axis %u", TSR_MESSAGE_PLURAL, kinds[a.kind], a.at);
		else
			tsr_text_addf(&w->t, " %s position%c", kinds[a.kind], TSR_MESSAGE_PLURAL);
		tsr_text_addf(&w->t, " (?%s)", tsr_store_symbol_get(w->g->store, s.terms[0].symbol)->name);
		*last = a;
		return;
	}
	tsr_text_addf(&w->t, "%s is ", tsr_size_str(w->g->store, s));
	number(w, s);
	if (!given(w->g, s)) {
		const char *before = " (";
		roots(w, s, TSR_NEW_N(w->g->tc->arena, bool, tsr_store_nsymbols(w->g->store) + 1), &before);
		tsr_text_add(&w->t, before[0] == ',' ? ")" : "");
	}
}

/* left = by * quotient of left: the axis must come out even. */
static bool is_multiple(const tsr_graph *g, tsr_size left, tsr_size right, int64_t *by)
{
	if (right.nterms != 1 || right.k != 0)
		return false;
	const tsr_symbol *q = tsr_store_symbol_get(g->store, right.terms[0].symbol);
	*by = right.terms[0].coef;
	return q->derived && q->divisor == *by && tsr_size_equal(tsr_store_size(g->store, q->dividend), left);
}

static const char *need(const tsr_graph *g, const tsr_host_condition *c)
{
	int64_t by;
	if (!c->at_least && is_multiple(g, c->left, c->right, &by))
		return tsr_format(g->tc->arena, "a multiple of %lld", (long long)by);
	if (c->at_least)
		return tsr_format(g->tc->arena, "at least %s", tsr_size_str(g->store, c->right));
	return tsr_size_is_const(c->right) ? tsr_size_str(g->store, c->right) : "them equal";
}

static const char *fact(const tsr_graph *g, const tsr_host_condition *c)
{
	const char *left = tsr_size_str(g->store, c->left);
	int64_t by;
	if (!c->at_least && is_multiple(g, c->left, c->right, &by))
		return tsr_format(g->tc->arena, "%s is a multiple of %lld", left, (long long)by);
	return tsr_format(g->tc->arena, c->at_least ? "%s is at least %s" : "%s = %s", left, tsr_size_str(g->store, c->right));
}

static void put_words(const tsr_graph *g, tsr_host_condition *c, const char *who)
{
	words w = {.g = g};
	axis last = {0};
	tsr_text_init(&w.t, g->tc->arena);
	value(&w, c->left, &last);
	if (!tsr_size_is_const(c->right) && !strcmp(need(g, c), "them equal")) {
		tsr_text_add(&w.t, " and ");
		value(&w, c->right, &last);
	}
	c->who = who;
	tsr_text_addf(&w.t, ", and %s needs %s", who, need(g, c));
	if (c->at_least && !tsr_size_is_const(c->right)) {
		tsr_text_add(&w.t, ", which is ");
		number(&w, c->right);
	}
	c->text = tsr_strdup(g->tc->arena, tsr_text_str(&w.t));
	c->fact = fact(g, c);
	c->nvalues = w.nvalues;
	c->values = w.values;
}

/* ---- where ----------------------------------------------------------------------------------------------------------------- */

/* The text of the operation where it is short and stands in one line, else its name; in the library, the function's. */
static const char *operation(const tsr_graph *g, const tsr_why *why, const tsr_within *in)
{
	enum { SHORT = 48 };
	tsr_span s = why->whole;
	const tsr_source *src = s.file ? tsr_source_get(g->tc, s.file) : NULL;
	if (in)
		return in->name ? tsr_format(g->tc->arena, "`%s`", in->name) : "the function";
	if (src && s.end <= src->size && s.end - s.start <= SHORT && !memchr(src->text + s.start, '\n', s.end - s.start))
		return tsr_format(g->tc->arena, "`%.*s`", (int)(s.end - s.start), src->text + s.start);
	return why->what ? why->what : "the program";
}

/* The place in the program itself: the innermost application there, or the operation. */
static tsr_span place(const tsr_graph *g, const tsr_why *why, const tsr_within **in)
{
	*in = NULL;
	if (!g->file || why->span.file == g->file)
		return why->span;
	*in = why->within;
	while (*in && (*in)->site.file != g->file)
		*in = (*in)->up;
	return *in ? (*in)->site : why->span;
}

static tsr_size plus(const tsr_graph *g, tsr_size s, int64_t k) { return tsr_size_add(g->tc->arena, s, tsr_size_const(k)); }

/* One form for conditions that say the same, and one that names an axis where there is one: a number stands on the right,
 * quotients without a rest; ?n - 2 >= 1 is ?n >= 3, and what a quotient must reach, its dividend must. */
static void settle(const tsr_graph *g, tsr_host_condition *c)
{
	if (tsr_size_is_const(c->left) && !c->at_least) {
		tsr_size left = c->left;
		c->left = c->right;
		c->right = left;
	}
	const tsr_symbol *q = c->right.nterms == 1 ? tsr_store_symbol_get(g->store, c->right.terms[0].symbol) : NULL;
	if (!c->at_least && q && q->derived && c->right.k) {
		c->left = plus(g, c->left, -c->right.k);
		c->right = plus(g, c->right, -c->right.k);
	}
	while (c->at_least && tsr_size_is_const(c->right) && c->left.nterms == 1 && c->left.terms[0].coef > 0) {
		int64_t coef = c->left.terms[0].coef, rest = c->right.k - c->left.k;
		uint32_t symbol = c->left.terms[0].symbol;
		q = tsr_store_symbol_get(g->store, symbol);
		c->left = symbol_size(g, symbol);
		c->right = tsr_size_const(rest > 0 ? (rest + coef - 1) / coef : rest / coef);
		if (!q->derived)
			return;
		c->left = tsr_store_size(g->store, q->dividend);
		c->right = tsr_size_const(c->right.k * q->divisor);
	}
}

static bool listed(const tsr_host_condition *all, uint32_t n, const tsr_host_condition *c)
{
	for (uint32_t i = 0; i < n; i++)
		if (all[i].at_least == c->at_least && tsr_size_equal(all[i].left, c->left) && tsr_size_equal(all[i].right, c->right))
			return true;
	return false;
}

/* What a caller gives is at least 1, so some sizes are large enough anyway. */
static bool holds_anyway(const tsr_graph *g, const tsr_host_condition *c)
{
	int64_t least = c->left.k - c->right.k;
	if (!c->at_least || !tsr_size_is_const(c->right) || c->owner == TSR_OWNER_PROGRAM)
		return false;
	for (uint32_t i = 0; i < c->left.nterms; i++) {
		if (c->left.terms[i].coef < 0 || !tsr_store_symbol_get(g->store, c->left.terms[i].symbol)->exported)
			return false;
		least += c->left.terms[i].coef;
	}
	return least >= 0;
}

uint32_t tsr_host_conditions(const tsr_graph *g, tsr_owner owner, tsr_host_condition **out)
{
	uint32_t n = tsr_store_nconditions(g->store), used = 0;
	*out = TSR_NEW_N(g->tc->arena, tsr_host_condition, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const tsr_condition *c = tsr_store_condition(g->store, i);
		const tsr_within *in;
		tsr_host_condition to = {.left = tsr_store_size(g->store, c->left), .right = tsr_store_size(g->store, c->right),
			.at_least = c->kind == TSR_CONDITION_AT_LEAST};
		to.owner = join(tsr_host_owner(g, to.left), tsr_host_owner(g, to.right));
		settle(g, &to);
		if ((tsr_size_is_const(to.left) && tsr_size_is_const(to.right)) || to.owner != owner || holds_anyway(g, &to) || listed(*out, used, &to))
			continue;
		to.span = place(g, &c->why, &in);
		put_words(g, &to, operation(g, &c->why, in));
		(*out)[used++] = to;
	}
	return used;
}

tsr_host_condition tsr_host_solved_condition(const tsr_graph *g, uint32_t symbol)
{
	const tsr_symbol *y = tsr_store_symbol_get(g->store, symbol);
	tsr_host_condition c = {.span = y->span, .left = symbol_size(g, symbol), .right = tsr_store_size(g->store, y->value)};
	put_words(g, &c, "the program");
	return c;
}

/* ---- the table of buffers ---------------------------------------------------------------------------------------------------- */

int64_t tsr_host_table_dim(const tsr_graph *g, const tsr_buffer *b, uint32_t i)
{
	tsr_size s = tsr_buffer_shape(b)[i];
	if (!tsr_size_is_const(s) && !given(g, s) && b->kind == TSR_BUFFER_FILE) {
		const tsr_data_file *f = tsr_tensor_get(g, b->tensor)->file;
		s = i < f->rank ? f->dims[i] : s;
	}
	if (tsr_size_is_const(s))
		return s.k;
	return lone_symbol(s) ? -1 - (int64_t)s.terms[0].symbol : 0;
}

bool tsr_host_checked_symbol(const tsr_graph *g, const tsr_loops *l, uint32_t symbol)
{
	const tsr_symbol *y = tsr_store_symbol_get(g->store, symbol);
	if (!y->solved || y->derived || tsr_size_is_const(y->value) || given(g, y->value))
		return false;
	for (uint32_t i = 0; i < l->buffers.n; i++)
		for (uint32_t k = 0; l->buffers.at[i]->kind == TSR_BUFFER_FILE && k < l->buffers.at[i]->rank; k++)
			if (tsr_host_table_dim(g, l->buffers.at[i], k) == -1 - (int64_t)symbol)
				return true;
	return false;
}
