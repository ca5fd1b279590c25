/* proj/ to loop/: random specs with windows, strides, fixed positions and concatenations, against an enumeration that knows
 * only what a spec means.
 *
 * A valuation gives each label a position or nothing.  Labels that stand on no concatenated axis have a position; of those
 * that concatenations connect, exactly one has.  A valuation contributes when each slot has a place: every axis has a
 * position, inside the axis.  What it contributes is y += a b, and to the gradients ga += g b, gb += a g. */
#include "graph_kit.h"

enum { LABELS = 7, AXES = 3, PARTS = 3 };

typedef enum { PLAIN, FIXED, AFFINE, CONCAT } axis_kind;
typedef struct axis {
	axis_kind kind;
	int label, kernel;                       /* PLAIN, AFFINE; kernel -1: none */
	int stride, dilation, offset, left;
	bool padded;
	int n, parts[PARTS];                     /* CONCAT: labels, or -size for a constant part */
	int position;                            /* FIXED */
	int size;
} axis;

typedef struct space {
	int naxes[3];
	axis axes[3][AXES];
	int size[LABELS], group[LABELS];         /* group: connected by concatenations; -1: none */
	int nconstants, constant_group[8], constant_size[8];
} space;

static uint64_t state = 88172645463325252u;

static int below(int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int)(state % (uint64_t)n);
}

/* ---- making specs -------------------------------------------------------------------------------------------------- */

static void make_concat(const space *s, axis *x)
{
	x->kind = CONCAT;
	x->n = 2 + below(2);
	for (int i = 0; i < x->n; i++) {
		x->parts[i] = below(5) == 0 ? -1 - below(2) : 4 + below(3);
		for (int j = 0; j < i; j++)
			if (x->parts[j] == x->parts[i] && x->parts[i] >= 0)
				x->parts[i] = -1;
	}
	for (int i = 0; i < x->n; i++)
		x->size += x->parts[i] < 0 ? -x->parts[i] : s->size[x->parts[i]];
}

static void make_axis(const space *s, int slot, axis *x)
{
	*x = (axis){.kernel = -1};
	int pick = below(10);
	if (pick == 0) {
		x->kind = FIXED;
		x->size = 1 + below(3);
		x->position = below(x->size);
	} else if (pick < 4) {
		x->kind = AFFINE;
		x->label = below(2);
		x->stride = 1 + below(2);
		x->dilation = 1 + below(2);
		if (below(3)) {
			x->kernel = 2 + below(2);
			x->padded = below(2) && slot > 0;
		}
		x->offset = x->padded ? 0 : below(2);
		if (x->padded) {
			x->left = (1 + (s->size[x->kernel] - 1) * x->dilation) / 2;
			x->size = x->stride * s->size[x->label];
		} else {
			x->size = x->stride * (s->size[x->label] - 1) + 1 + x->offset + (x->kernel < 0 ? x->stride > 1 && below(2) : (s->size[x->kernel] - 1) * x->dilation);
		}
	} else if (pick < 7) {
		make_concat(s, x);
	} else {
		x->label = below(LABELS);
		x->size = s->size[x->label];
	}
}

/* Labels that one concatenated axis names belong together, transitively; so do its constant parts. */
static void find_groups(space *s)
{
	for (int i = 0; i < LABELS; i++)
		s->group[i] = -1;
	int ngroups = 0;
	s->nconstants = 0;
	for (int slot = 0; slot < 3; slot++)
		for (int i = 0; i < s->naxes[slot]; i++) {
			axis *x = &s->axes[slot][i];
			if (x->kind != CONCAT)
				continue;
			int group = ngroups++;
			for (int j = 0; j < x->n; j++) {
				if (x->parts[j] < 0) {
					s->constant_group[s->nconstants] = group;
					s->constant_size[s->nconstants] = -x->parts[j];
					s->nconstants++;
					continue;
				}
				int old = s->group[x->parts[j]];
				s->group[x->parts[j]] = group;
				for (int k = 0; old >= 0 && k < LABELS; k++)
					s->group[k] = s->group[k] == old ? group : s->group[k];
				for (int k = 0; old >= 0 && k < s->nconstants; k++)
					s->constant_group[k] = s->constant_group[k] == old ? group : s->constant_group[k];
			}
		}
}

static void make(space *s)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < LABELS; i++)
		s->size[i] = 1 + below(3);
	for (int slot = 0; slot < 3; slot++) {
		s->naxes[slot] = below(AXES + (slot > 0));
		for (int i = 0; i < s->naxes[slot]; i++)
			make_axis(s, slot, &s->axes[slot][i]);
	}
	find_groups(s);
}

static void axis_text(const axis *x, char *out)
{
	switch (x->kind) {
	case PLAIN:
		sprintf(out, "x%d", x->label);
		return;
	case FIXED:
		sprintf(out, "%d", x->position);
		return;
	case AFFINE:
		sprintf(out, "%d*x%d", x->stride, x->label);
		if (x->kernel >= 0)
			sprintf(out + strlen(out), "%s%d*x%d", x->padded ? "=+" : "<+", x->dilation, x->kernel);
		if (x->offset)
			sprintf(out + strlen(out), "+%d", x->offset);
		return;
	case CONCAT:
		out[0] = 0;
		for (int i = 0; i < x->n; i++)
			sprintf(out + strlen(out), x->parts[i] < 0 ? "%s%d" : "%sx%d", i ? "^" : "", abs(x->parts[i]));
		return;
	}
}

static void slot_text(const space *s, int slot, char *spec, char *shape)
{
	shape[0] = 0;
	for (int i = 0; i < s->naxes[slot]; i++) {
		if (i)
			strcat(spec, ", ");
		axis_text(&s->axes[slot][i], spec + strlen(spec));
		sprintf(shape + strlen(shape), "%d ", s->axes[slot][i].size);
	}
}

/* ---- meaning ------------------------------------------------------------------------------------------------------- */

typedef struct arrays { double *v[3], *g[3]; const space *s; uint64_t points; } arrays;

/* The positions that an axis has in a valuation (-1 in `at`: nothing); a constant part's is its first one. */
static int axis_positions(const arrays *a, const axis *x, const int *at, const bool *constant_live, int first_constant, int *out)
{
	int n = 0, base = 0, constant = first_constant;
	switch (x->kind) {
	case PLAIN:
		if (at[x->label] >= 0)
			out[n++] = at[x->label];
		return n;
	case FIXED:
		out[n++] = x->position;
		return n;
	case AFFINE: {
		if (at[x->label] < 0 || (x->kernel >= 0 && at[x->kernel] < 0))
			return 0;
		int p = x->stride * at[x->label] + (x->kernel >= 0 ? x->dilation * at[x->kernel] : 0) + x->offset - x->left;
		if (p >= 0 && p < x->size)
			out[n++] = p;
		return n;
	}
	case CONCAT:
		for (int i = 0; i < x->n; i++) {
			if (x->parts[i] >= 0) {
				if (at[x->parts[i]] >= 0)
					out[n++] = base + at[x->parts[i]];
				base += a->s->size[x->parts[i]];
			} else {
				if (constant_live[constant])
					out[n++] = base;
				base += -x->parts[i];
				constant++;
			}
		}
		return n;
	}
	return 0;
}

static int constants_before(const space *s, int slot, int index)
{
	int n = 0;
	for (int t = 0; t <= slot; t++)
		for (int i = 0; i < (t < slot ? s->naxes[t] : index); i++)
			for (int j = 0; s->axes[t][i].kind == CONCAT && j < s->axes[t][i].n; j++)
				n += s->axes[t][i].parts[j] < 0;
	return n;
}

/* One place per slot for this valuation, or false. Constant parts carry their own position. */
static bool places(const arrays *a, const int *at, const bool *constant_live, const int *constant_at, int64_t *place)
{
	for (int slot = 0; slot < 3; slot++) {
		place[slot] = 0;
		for (int i = 0; i < a->s->naxes[slot]; i++) {
			const axis *x = &a->s->axes[slot][i];
			int out[PARTS], first = constants_before(a->s, slot, i);
			int n = axis_positions(a, x, at, constant_live, first, out);
			if (n != 1)
				return false;
			for (int j = 0, c = first; x->kind == CONCAT && j < x->n; j++)
				if (x->parts[j] < 0) {
					out[0] += constant_live[c] ? constant_at[c] : 0;
					c++;
				}
			place[slot] = place[slot] * x->size + out[0];
		}
	}
	return true;
}

static void visit(arrays *a, const int *at, const bool *constant_live, const int *constant_at)
{
	int64_t p[3];
	if (!places(a, at, constant_live, constant_at, p))
		return;
	a->points++;
	a->v[0][p[0]] += a->v[1][p[1]] * a->v[2][p[2]];
	a->g[1][p[1]] += a->g[0][p[0]] * a->v[2][p[2]];
	a->g[2][p[2]] += a->v[1][p[1]] * a->g[0][p[0]];
}

static bool label_used(const space *s, int label)
{
	for (int slot = 0; slot < 3; slot++)
		for (int i = 0; i < s->naxes[slot]; i++) {
			const axis *x = &s->axes[slot][i];
			if ((x->kind == PLAIN && x->label == label) || (x->kind == AFFINE && (x->label == label || x->kernel == label)))
				return true;
			for (int j = 0; x->kind == CONCAT && j < x->n; j++)
				if (x->parts[j] == label)
					return true;
		}
	return false;
}

/* All valuations: labels one after the other, then constant parts; a group is full when one of its members is live. */
static void enumerate(arrays *a, int next, int *at, bool *group_full, bool *constant_live, int *constant_at)
{
	const space *s = a->s;
	if (next < LABELS) {
		int g = s->group[next];
		if (!label_used(s, next)) {
			at[next] = 0;
			enumerate(a, next + 1, at, group_full, constant_live, constant_at);
			return;
		}
		if (g >= 0) {
			at[next] = -1;
			enumerate(a, next + 1, at, group_full, constant_live, constant_at);
			if (group_full[g])
				return;
			group_full[g] = true;
		}
		for (at[next] = 0; at[next] < s->size[next]; at[next]++)
			enumerate(a, next + 1, at, group_full, constant_live, constant_at);
		if (g >= 0)
			group_full[g] = false;
		return;
	}
	int c = next - LABELS;
	if (c < s->nconstants) {
		int g = s->constant_group[c];
		constant_live[c] = false;
		enumerate(a, next + 1, at, group_full, constant_live, constant_at);
		if (group_full[g])
			return;
		group_full[g] = constant_live[c] = true;
		for (constant_at[c] = 0; constant_at[c] < s->constant_size[c]; constant_at[c]++)
			enumerate(a, next + 1, at, group_full, constant_live, constant_at);
		group_full[g] = constant_live[c] = false;
		return;
	}
	for (int i = 0; i < LABELS; i++)
		if (s->group[i] >= 0 && !group_full[s->group[i]])
			return;
	for (int i = 0; i < s->nconstants; i++)
		if (!group_full[s->constant_group[i]])
			return;
	visit(a, at, constant_live, constant_at);
}

/* ---- the comparison ------------------------------------------------------------------------------------------------ */

static uint64_t count(const space *s, int slot)
{
	uint64_t n = 1;
	for (int i = 0; i < s->naxes[slot]; i++)
		n *= (uint64_t)s->axes[slot][i].size;
	return n;
}

static bool same(const double *want, const double *got, uint64_t n)
{
	for (uint64_t i = 0; got && i < n; i++)
		if (want[i] != got[i])
			return false;
	return true;
}

static tsr_assign product(kit *k, tsr_record_id r, tsr_tensor *const *t, int slot, kit_clear clear)
{
	int x = slot == 1 ? 0 : 1, y = slot == 2 ? 0 : 2;
	tsr_part part = slot ? TSR_PART_GRAD : TSR_PART_VALUE;
	return kit_assign(r, t[slot], part, slot, TSR_ACC_ADD, clear, kit_op(k, TSR_OP_MUL, kit_read(k, t[x], x ? TSR_PART_VALUE : TSR_PART_GRAD, x),
		kit_read(k, t[y], y ? TSR_PART_VALUE : TSR_PART_GRAD, y), NULL));
}

static bool one_round(unsigned *full_rounds)
{
	space s;
	char spec[512] = "", shape[3][64];
	make(&s);
	slot_text(&s, 1, spec, shape[1]);
	strcat(spec, "; ");
	slot_text(&s, 2, spec, shape[2]);
	strcat(spec, " => ");
	slot_text(&s, 0, spec, shape[0]);
	if (!strpbrk(spec, ",*^+"))
		return true;                         /* would be read letter by letter */
	kit k = kit_new();
	tsr_tensor *t[3] = {kit_tensor(&k, TSR_TENSOR_STATE, "y", shape[0]), kit_tensor(&k, TSR_TENSOR_PARAM, "a", shape[1]),
		kit_tensor(&k, TSR_TENSOR_PARAM, "b", shape[2])};
	tsr_record_id r = kit_record(&k, TSR_LOGIC_SPEC, spec, 3, t);
	for (int i = 0; i < LABELS; i++) {
		char name[16];
		sprintf(name, "x%d", i);
		kit_label(&k, r, name, s.size[i]);
	}
	for (int slot = 0; slot < 3; slot++)
		kit_code(&k, "code", kit_assign_tree(&k, product(&k, r, t, slot, below(2) ? KIT_CLEAR : KIT_KEEP)));
	tsr_loops *l = kit_lower(&k);
	if (!l) {
		tsr_diags_render(k.tc, stdout, false);
		return false;
	}
	kit_memory *m = kit_memory_new(&k, l);
	arrays a = {.s = &s};
	double *got[3];
	for (int slot = 0; slot < 3; slot++) {
		a.v[slot] = calloc(count(&s, slot), 8);
		a.g[slot] = calloc(count(&s, slot), 8);
		double *value = kit_data(m, l, t[slot], TSR_PART_VALUE), *grad = kit_data(m, l, t[slot], TSR_PART_GRAD);
		got[slot] = slot ? grad : value;
		bool clear = k.g->codes.at[slot]->tree->assign.clear;
		for (uint64_t i = 0; i < count(&s, slot); i++) {
			double start = below(9) - 4;
			if (slot) {
				value[i] = a.v[slot][i] = below(9) - 4;
				a.g[slot][i] = clear ? 0 : start;
			} else {
				a.v[0][i] = clear ? 0 : start;
				a.g[0][i] = below(9) - 4;
				if (grad)
					grad[i] = a.g[0][i];
			}
			if (got[slot])
				got[slot][i] = start;
		}
	}
	int at[LABELS], constant_at[8] = {0};
	bool full[16] = {0}, live[8] = {0};
	enumerate(&a, 0, at, full, live, constant_at);
	*full_rounds += a.points > 1;
	bool good = true;
	for (uint32_t u = 0; u < 3; u++)
		good &= tsr_loops_run(l, u, &m->m);
	good = good && same(a.v[0], got[0], count(&s, 0)) && same(a.g[1], got[1], count(&s, 1)) && same(a.g[2], got[2], count(&s, 2));
	if (!good) {
		printf("    %s with %s; %s => %s\n", spec, shape[1], shape[2], shape[0]);
		printf("%s", kit_proj_text(&k, r));
	}
	for (int slot = 0; slot < 3; slot++) {
		free(a.v[slot]);
		free(a.g[slot]);
	}
	tsr_compiler_free(k.tc);
	return good;
}

int main(void)
{
	unsigned wrong = 0, full_rounds = 0;
	for (int round = 0; round < 1500 && wrong < 5; round++)
		wrong += !CHECK(one_round(&full_rounds));
	CHECK(full_rounds > 500);                /* rounds with points to sum over */
	return check_end("spaces");
}
