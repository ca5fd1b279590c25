/* An interpreted program's beginning, in the order that compiled programs follow too: the context, the files (whose headers
 * give the sizes known only at run time), the sizes derived from them, then every buffer whose extent depends on those. */
#include "interp.h"
#include <string.h>

static const tsr_file_format *format_named(const char *name)
{
	if (!strcmp(name, "npy"))
		return &tsr_format_npy;
	if (!strcmp(name, "npz"))
		return &tsr_format_npz;
	if (!strcmp(name, "csv"))
		return &tsr_format_csv;
	if (!strcmp(name, "text"))
		return &tsr_format_text;
	return &tsr_format_any;
}

static void describe(tsr_interp *in, const tsr_buffer *b, tsr_buffer_info *info)
{
	int64_t *dims = TSR_NEW_N(in->arena, int64_t, b->rank + 1);
	info->bytes = tsr_prec_bytes(b->prec);
	for (uint32_t i = 0; i < b->rank; i++) {
		dims[i] = tsr_host_table_dim(in->host->graph, b, i);
		info->bytes = info->bytes < 0 || !tsr_size_is_const(b->dims[i]) ? -1 : info->bytes * dims[i];
	}
	info->name = b->name;
	info->dims = dims;
	info->rank = b->rank;
	info->prec = (int32_t)b->prec;
	info->kind = b->kind == TSR_BUFFER_PARAM ? TSR_ROLE_PARAM : b->kind == TSR_BUFFER_FILE ? TSR_ROLE_DATA : TSR_ROLE_TENSOR;
	if (b->data.at)
		info->init = tsr_loops_literal(in->arena, b);
}

const char *tsr_interp_place(tsr_interp *in, tsr_span span)
{
	tsr_position p = tsr_position_of(in->host->graph->tc, span);
	return tsr_format(in->arena, "%s:%u:%u", p.path, p.line, p.column);
}

static void load_file(tsr_interp *in, tsr_buffer_id id)
{
	const tsr_tensor *t = tsr_tensor_get(in->host->graph, in->loops->buffers.at[id]->tensor);
	const tsr_data_file *f = t->file;
	const char *where = tsr_interp_place(in, t->span), *path = f->path;
	if (f->argument) {
		const tsr_str *deflt = f->deflt ? tsr_str_new(in->ctx, f->deflt, (int64_t)strlen(f->deflt)) : NULL;
		path = tsr_arg_str(in->ctx, where, f->argument - 1, deflt)->bytes;
	}
	tsr_file_load(in->ctx, where, path, f->key, format_named(f->format), id);
}

static void check(tsr_interp *in, const tsr_host_condition *c, int64_t left, int64_t right)
{
	int64_t *values = TSR_NEW_N(in->arena, int64_t, c->nvalues + 1);
	for (uint32_t i = 0; i < c->nvalues; i++)
		values[i] = tsr_size_eval(c->values[i], tsr_syms(in->ctx));
	tsr_check_sizes(in->ctx, tsr_interp_place(in, c->span), c->text, c->at_least ? left >= right : left == right, c->nvalues, values);
}

static void derive_sizes(tsr_interp *in, tsr_owner owner)
{
	const tsr_graph *g = in->host->graph;
	int64_t *syms = tsr_syms(in->ctx);
	for (uint32_t i = 0; i < in->loops->quotients.n; i++) {
		const tsr_quotient *q = &in->loops->quotients.at[i];
		if (tsr_host_owner(g, q->of) == owner)
			syms[q->symbol] = tsr_quotient_eval(q, syms);
	}
	for (uint32_t i = 0; i < tsr_store_nsymbols(g->store); i++) {
		const tsr_symbol *y = tsr_store_symbol_get(g->store, i);
		if (!y->solved || tsr_host_owner(g, y->value) != owner)
			continue;
		int64_t value = tsr_size_eval(y->value, syms);
		if (tsr_host_checked_symbol(g, in->loops, i)) {
			tsr_host_condition c = tsr_host_solved_condition(g, i);
			check(in, &c, syms[i], value);
		}
		syms[i] = value;
	}
}

static void check_sizes(tsr_interp *in, tsr_owner owner)
{
	const int64_t *syms = tsr_syms(in->ctx);
	tsr_host_condition *all;
	uint32_t n = tsr_host_conditions(in->host->graph, owner, &all);
	for (uint32_t i = 0; i < n; i++)
		check(in, &all[i], tsr_size_eval(all[i].left, syms), tsr_size_eval(all[i].right, syms));
}

static bool is_const(const tsr_buffer *b)
{
	for (uint32_t i = 0; i < b->rank; i++)
		if (!tsr_size_is_const(b->dims[i]))
			return false;
	return true;
}

static int64_t elements(tsr_interp *in, const tsr_buffer *b)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		n *= tsr_size_eval(b->dims[i], tsr_syms(in->ctx));
	return n;
}

/* Files and arguments have their memory where they are read, and what is always equally large has it from the start. */
static void give_memory(tsr_interp *in, tsr_owner owner)
{
	for (uint32_t i = 0; i < in->loops->buffers.n; i++) {
		const tsr_buffer *b = in->loops->buffers.at[i];
		if (tsr_host_owner_of(in->host->graph, b->rank, b->dims) != owner)
			continue;
		if (in->spreads)
			in->spreads[i] = TSR_NEW_N(in->arena, tsr_spread, elements(in, b) + 1);
		if (!is_const(b) && b->kind != TSR_BUFFER_FILE && b->kind != TSR_BUFFER_INPUT)
			tsr_alloc_buffer(in->ctx, i, elements(in, b) * tsr_prec_bytes(b->prec));
	}
}

void tsr_interp_sizes(tsr_interp *in, tsr_owner owner)
{
	derive_sizes(in, owner);
	check_sizes(in, owner);
	give_memory(in, owner);
}

void tsr_interp_start(tsr_interp *in, int argc, char **argv)
{
	const tsr_loops *l = in->loops;
	tsr_buffer_info *infos = TSR_NEW_N(in->arena, tsr_buffer_info, l->buffers.n + 1);
	const char **syms = TSR_NEW_N(in->arena, const char *, l->symbols.n + 1);
	for (uint32_t i = 0; i < l->buffers.n; i++)
		describe(in, l->buffers.at[i], &infos[i]);
	for (uint32_t i = 0; i < l->symbols.n; i++)
		syms[i] = l->symbols.at[i];
	tsr_program *p = TSR_NEW(in->arena, tsr_program);
	p->name = argv[0];
	p->seed = in->seed;
	p->nbuffers = l->buffers.n;
	p->nsyms = l->symbols.n;
	p->nnums = in->host->graph->numbers.n;
	p->buffers = infos;
	p->syms = syms;
	in->ctx = tsr_start(argc, argv, p);
	in->random_counters = TSR_NEW_N(in->arena, uint64_t, l->buffers.n + 1);
	for (uint32_t i = 0; i < l->buffers.n; i++)
		if (l->buffers.at[i]->kind == TSR_BUFFER_FILE)
			load_file(in, i);
	tsr_interp_sizes(in, TSR_OWNER_PROGRAM);
}

static void fail(void *user, tsr_span span, const char *what, int64_t index, int64_t size)
{
	tsr_interp *in = user;
	tsr_fail_index(in->ctx, tsr_interp_place(in, span), what, index, size);
}

void tsr_interp_unit(tsr_interp *in, tsr_code_id code)
{
	if (code == TSR_NONE)
		return;
	tsr_machine m = {.buffers = tsr_buffers(in->ctx), .numbers = tsr_nums(in->ctx), .symbols = tsr_syms(in->ctx),
			 .seed = tsr_seed(in->ctx), .random_counters = in->random_counters, .spreads = in->spreads, .user = in, .fail = fail};
	tsr_loops_run(in->loops, code, &m);
}

/* Before the first unit has run, and of what no code stores: 0. */
static const double *bounds_of(tsr_interp *in, const tsr_buffer *b)
{
	int64_t n = elements(in, b);
	double *all = TSR_NEW_N(in->arena, double, n + 1);
	for (int64_t i = 0; i < n; i++)
		all[i] = tsr_spread_bound(in->spreads[b->id][i]);
	return all;
}

void tsr_interp_print(tsr_interp *in, tsr_tensor_id tensor, tsr_part part, tsr_name name)
{
	tsr_graph *g = in->host->graph;
	const tsr_tensor *t = tsr_tensor_get(g, tensor);
	tsr_buffer_id id = tsr_loops_buffer(in->loops, tensor, part);
	if (id == TSR_NONE)
		tsr_bug("an observed tensor has no buffer: %s", name);
	const tsr_buffer *b = in->loops->buffers.at[id];
	int64_t *dims = TSR_NEW_N(in->arena, int64_t, b->rank + 1);
	for (uint32_t i = 0; i < b->rank; i++)
		dims[i] = tsr_size_eval(tsr_buffer_shape(b)[i], tsr_syms(in->ctx));
	const void *data = in->spreads ? bounds_of(in, b) : tsr_buffers(in->ctx)[id];
	tsr_print_tensor(in->ctx, name, (int32_t)(in->spreads ? TSR_PREC_F64 : b->prec), t->solved.row[TSR_BATCH].n,
			 t->solved.row[TSR_OUTPUT].n, t->solved.row[TSR_INPUT].n, dims, tsr_solved_marked_str(g->store, &t->solved, TSR_SHAPE_SIZE), data);
}
