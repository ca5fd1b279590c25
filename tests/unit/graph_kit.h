/* Tensor graphs made by hand, with shapes as they come out of inference: for the tests of the stages behind it. */
#ifndef TSR_TESTS_GRAPH_KIT_H
#define TSR_TESTS_GRAPH_KIT_H
#include "../../compiler/loop/loop.h"
#include "check.h"
#include <ctype.h>
#include <stdlib.h>

typedef struct kit { tsr_compiler *tc; tsr_graph *g; } kit;

static inline kit kit_new(void)
{
	kit k = {.tc = tsr_compiler_new()};
	k.g = TSR_NEW(k.tc->arena, tsr_graph);
	k.g->tc = k.tc;
	k.g->init = TSR_NONE;
	return k;
}

/* "2 3 | 4 -> 1* 5": sizes by kind, 1* the claim-free unit, '^' the marker (else it stands first). */
static inline void kit_shape(kit *k, const char *text, tsr_solved *out)
{
	const char *bar = strchr(text, '|'), *arrow = strstr(text, "->");
	tsr_kind kind = bar ? TSR_BATCH : arrow ? TSR_INPUT : TSR_OUTPUT;
	memset(out, 0, sizeof *out);
	for (const char *s = text; *s; s++) {
		tsr_solved_row *r = &out->row[kind];
		if (*s == '|') {
			kind = arrow ? TSR_INPUT : TSR_OUTPUT;
		} else if (*s == '-') {
			kind = TSR_OUTPUT;
		} else if (*s == '^') {
			r->marker = r->n;
		} else if (isdigit((unsigned char)*s)) {
			tsr_solved_axis *axes = TSR_NEW_N(k->tc->arena, tsr_solved_axis, r->n + 1);
			if (r->n)
				memcpy(axes, r->axes, r->n * sizeof *axes);
			char *end;
			axes[r->n].size = tsr_size_const(strtol(s, &end, 10));
			axes[r->n].unit = *end == '*';
			r->axes = axes;
			r->n++;
			s = end - (*end != '*');
		}
	}
}

static inline tsr_tensor *kit_tensor(kit *k, tsr_tensor_kind kind, const char *name, const char *shape)
{
	tsr_tensor *t = TSR_NEW(k->tc->arena, tsr_tensor);
	t->id = k->g->tensors.n;
	t->name = tsr_intern(k->tc->names, name);
	t->kind = kind;
	t->prec = TSR_PREC_F64;
	kit_shape(k, shape, &t->solved);
	if (kind == TSR_TENSOR_OP)
		t->op.record = TSR_NONE;
	tsr_push(k->tc->arena, &k->g->tensors, t);
	return t;
}

static inline tsr_record_id kit_record(kit *k, tsr_logic logic, const char *spec, uint32_t n, tsr_tensor *const *slots)
{
	tsr_record *r = TSR_NEW(k->tc->arena, tsr_record);
	r->id = k->g->records.n;
	r->rule.logic = logic;
	r->rule.noperands = n - 1;
	if (spec) {
		uint32_t file = tsr_source_add(k->tc, "spec", spec, strlen(spec));
		r->rule.spec = tsr_spec_parse(k->tc, spec, (tsr_span){file, 0, (uint32_t)strlen(spec)});
		if (!r->rule.spec) {
			tsr_diags_render(k->tc, stdout, false);
			exit(1);
		}
	}
	r->nnumbers = k->g->numbers.n;       /* a spec may mention any of them by its name */
	r->numbers = tsr_alloc(k->tc->arena, sizeof *r->numbers * (r->nnumbers + 1));
	for (uint32_t i = 0; i < r->nnumbers; i++) {
		r->numbers[i].name = k->g->numbers.at[i]->name;
		r->numbers[i].number = i;
	}
	r->slots = TSR_NEW_N(k->tc->arena, tsr_tensor_id, n);
	for (uint32_t i = 0; i < n; i++)
		r->slots[i] = slots[i]->id;
	tsr_push(k->tc->arena, &k->g->records, r);
	return r->id;
}

/* The size of a label that no axis gives. */
static inline void kit_label(kit *k, tsr_record_id record, const char *name, int64_t size)
{
	tsr_rule *r = &k->g->records.at[record]->rule;
	tsr_label *labels = TSR_NEW_N(k->tc->arena, tsr_label, r->nlabels + 1);
	for (uint32_t i = 0; i < r->nlabels; i++)
		labels[i] = r->labels[i];
	labels[r->nlabels].name = tsr_intern(k->tc->names, name);
	labels[r->nlabels].dim.kind = TSR_DIM_ATOM;
	labels[r->nlabels].dim.atom.size = tsr_size_const(size);
	r->labels = labels;
	r->nlabels++;
}

static inline tsr_rhs *kit_read(kit *k, const tsr_tensor *t, tsr_part part, int slot)
{
	tsr_rhs *r = TSR_NEW(k->tc->arena, tsr_rhs);
	r->kind = TSR_RHS_OPERAND;
	r->operand = (tsr_operand){t->id, part, slot, TSR_NOWHERE};
	r->prec = t->prec;
	return r;
}

static inline tsr_rhs *kit_const(kit *k, double value)
{
	tsr_rhs *r = TSR_NEW(k->tc->arena, tsr_rhs);
	r->kind = TSR_RHS_CONST;
	r->value = tsr_number_real(value);
	return r;
}

static inline tsr_rhs *kit_op(kit *k, tsr_op op, tsr_rhs *x, tsr_rhs *y, tsr_rhs *z)
{
	tsr_rhs *r = TSR_NEW(k->tc->arena, tsr_rhs);
	r->kind = TSR_RHS_OP;
	r->op.op = op;
	r->op.args[0] = x;
	r->op.args[1] = y;
	r->op.args[2] = z;
	return r;
}

typedef enum { KIT_KEEP, KIT_CLEAR } kit_clear;

static inline tsr_assign kit_assign(tsr_record_id record, const tsr_tensor *t, tsr_part part, int slot, tsr_acc acc, kit_clear clear, tsr_rhs *rhs)
{
	return (tsr_assign){.target = {t->id, part, slot, TSR_NOWHERE}, .acc = acc, .clear = clear == KIT_CLEAR, .rhs = rhs, .record = record};
}

static inline tsr_codetree *kit_tree(kit *k, tsr_code_kind kind, tsr_tensor_id t)
{
	tsr_codetree *c = TSR_NEW(k->tc->arena, tsr_codetree);
	c->kind = kind;
	if (kind != TSR_CODE_SEQ)
		c->tensor = t;
	return c;
}

static inline tsr_codetree *kit_assign_tree(kit *k, tsr_assign a)
{
	tsr_codetree *c = TSR_NEW(k->tc->arena, tsr_codetree);
	c->kind = TSR_CODE_ASSIGN;
	c->assign = a;
	return c;
}

static inline void kit_code(kit *k, const char *name, tsr_codetree *tree)
{
	tsr_codedef *d = TSR_NEW(k->tc->arena, tsr_codedef);
	d->id = k->g->codes.n;
	d->name = tsr_intern(k->tc->names, name);
	d->tree = tree;
	tsr_push(k->tc->arena, &k->g->codes, d);
}

static inline tsr_number_id kit_number(kit *k, const char *name)
{
	tsr_number *n = TSR_NEW(k->tc->arena, tsr_number);
	n->id = k->g->numbers.n;
	n->name = tsr_intern(k->tc->names, name);
	n->integer = true;
	tsr_push(k->tc->arena, &k->g->numbers, n);
	return n->id;
}

/* All codes lowered and checked; NULL when something was reported. */
static inline tsr_loops *kit_lower(kit *k)
{
	tsr_code *code = tsr_code_build(k->g);
	if (!code)
		return NULL;
	tsr_code_check(code);
	tsr_loops *l = tsr_loops_lower(code, NULL, NULL);
	tsr_loops_check(l, "lowering");
	return l;
}

typedef struct kit_memory { tsr_machine m; double **at; const char *failed; } kit_memory;

static inline void kit_failed(void *user, tsr_span span, const char *what, int64_t index, int64_t size)
{
	(void)span, (void)index, (void)size;
	((kit_memory *)user)->failed = what;
}

static inline uint64_t kit_count(const tsr_buffer *b)
{
	uint64_t n = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		n *= (uint64_t)b->dims[i].k;
	return n;
}

/* Zeroed memory for every buffer (f64 and u32 alike take eight bytes an element here). */
static inline kit_memory *kit_memory_new(kit *k, const tsr_loops *l)
{
	kit_memory *m = TSR_NEW(k->tc->arena, kit_memory);
	m->at = TSR_NEW_N(k->tc->arena, double *, l->buffers.n + 1);
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		m->at[i] = TSR_NEW_N(k->tc->arena, double, kit_count(l->buffers.at[i]) + 1);
		for (uint64_t j = 0; l->buffers.at[i]->data.at && j < l->buffers.at[i]->count; j++)
			m->at[i][j] = tsr_number_double(tsr_numbers_get(l->buffers.at[i]->data, j));
	}
	m->m = (tsr_machine){.buffers = (void **)m->at, .user = m, .fail = kit_failed,
		.random_counters = TSR_NEW_N(k->tc->arena, uint64_t, l->buffers.n + 1)};
	return m;
}

static inline double *kit_data(kit_memory *m, const tsr_loops *l, const tsr_tensor *t, tsr_part part)
{
	tsr_buffer_id b = tsr_loops_buffer(l, t->id, part);
	return b == TSR_NONE ? NULL : m->at[b];
}

static inline const char *kit_proj_text(kit *k, tsr_record_id record)
{
	tsr_proj *p = tsr_proj_derive(k->g, record);
	if (!p)
		return "(none)";
	tsr_proj_check(k->g, p);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	tsr_proj_print(k->g, p, out);
	fclose(out);
	char *copy = tsr_strdup(k->tc->arena, text);
	free(text);
	return copy;
}
#endif
