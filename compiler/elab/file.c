/* Data files.  The header is read while compiling, relative to the source, and gives sizes and precision; ~as gives each
 * axis a kind and may leave sizes to the run.  A file that an argument names needs ~as. */
#include "state.h"
#include "../../runtime/tsr_abi.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tsr_value bad(const tsr_call *c, uint32_t i, const char *what)
{
	return tsr_eval_type_error(c->ev, c->spans[i], what, *c->args[i]);
}

static const char *beside(tsr_elab *el, tsr_span site, const char *path)
{
	if (path[0] == '/')
		return path;
	const char *from = site.file ? tsr_source_get(el->tc, site.file)->path : "";
	const char *slash = strrchr(from, '/');
	const char *at = slash ? tsr_format(el->arena, "%.*s/%s", (int)(slash - from), from, path) : path;
	if (access(at, R_OK) == 0)
		return at;
	for (uint32_t i = 0; i < el->tc->include_dirs.n; i++) {
		const char *other = tsr_format(el->arena, "%s/%s", el->tc->include_dirs.at[i], path);
		if (access(other, R_OK) == 0)
			return other;
	}
	return access(path, R_OK) == 0 ? path : at;
}

static const char *format_of(const char *path)
{
	static const char *const known[] = {"npy", "npz", "csv"};
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
		if (strcmp(dot + 1, known[i]) == 0)
			return known[i];
	return "text";
}

static const tsr_file_format *reader_of(const char *format)
{
	return strcmp(format, "npy") == 0 ? &tsr_format_npy : strcmp(format, "npz") == 0 ? &tsr_format_npz
		: strcmp(format, "csv") == 0 ? &tsr_format_csv : &tsr_format_text;
}

typedef struct data { tsr_data_file *file; tsr_header header; bool known; const char *path; } data;

static bool read_header(const tsr_call *c, data *d)
{
	char error[256] = "";
	tsr_elab *el = tsr_elab_of(c->ev);
	d->path = beside(el, c->spans[0], d->file->path);
	if (tsr_header_read(d->path, d->file->key, reader_of(d->file->format), &d->header, error, sizeof error) != 0) {
		tsr_eval_report(c->ev, TSR_E_DATA_FILE, c->spans[0], "%s: %s", d->path, error);
		return false;
	}
	tsr_push(el->arena, &el->tc->data_files, d->path);
	d->known = true;
	return true;
}

/* Which file, in which form. */
static bool locate(const tsr_call *c, data *d)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	tsr_data_file *f = d->file = TSR_NEW(el->arena, tsr_data_file);
	tsr_value path = *c->args[0];
	if (c->args[1])
		f->key = tsr_elab_name(el, c->args[1]->string.text);
	if (path.kind == TSR_VALUE_STRING) {
		f->path = tsr_elab_name(el, path.string.text);
		f->format = c->args[3] ? c->args[3]->string.text : format_of(f->path);
		return read_header(c, d);
	}
	f->argument = path.argument.position;
	f->deflt = path.argument.deflt;
	f->format = c->args[3] ? c->args[3]->string.text : f->deflt ? format_of(f->deflt) : "text";
	if (!c->args[2]) {
		tsr_diag *g = tsr_eval_report(c->ev, TSR_E_DATA_SHAPE, c->site, "the shape of a file that an argument names is not known while compiling");
		tsr_hint(el->tc, g, "say it: ~as:\"?n |\"");
		return false;
	}
	return true;
}

static bool strings(const tsr_call *c)
{
	if (c->args[0]->kind != TSR_VALUE_STRING && c->args[0]->kind != TSR_VALUE_ARGUMENT) {
		bad(c, 0, "the path of a file");
		return false;
	}
	for (uint32_t i = 1; i < c->n; i++)
		if (c->args[i] && c->args[i]->kind != TSR_VALUE_STRING) {
			bad(c, i, "a string");
			return false;
		}
	return true;
}

/* The file's own axes: the first is batch, the rest output. */
static void natural_shape(tsr_elab *el, const tsr_header *h, tsr_shape *out)
{
	tsr_dim dims[TSR_MAX_RANK];
	for (int32_t i = 0; i < h->rank; i++)
		dims[i] = tsr_dim_atom(h->dims[i] ? h->dims[i] : 1, NULL);
	uint32_t nb = h->rank ? 1 : 0;
	out->row[TSR_BATCH] = tsr_row_closed(el->g->store, nb, dims);
	out->row[TSR_OUTPUT] = tsr_row_closed(el->g->store, (uint32_t)h->rank - nb, dims + nb);
	out->row[TSR_INPUT] = tsr_elab_row_empty(el);
}

static const char *header_text(tsr_elab *el, const tsr_header *h)
{
	tsr_text t;
	tsr_text_init(&t, el->arena);
	for (int32_t i = 0; i < h->rank; i++)
		tsr_text_addf(&t, "%s%lld", i ? " x " : "", (long long)h->dims[i]);
	tsr_text_addf(&t, "%s%s", h->rank ? " " : "one number, ", tsr_prec_name((tsr_prec)h->prec));
	return tsr_strdup(el->arena, tsr_text_str(&t));
}

static bool disagree(const tsr_call *c, const data *d, const char *what)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	tsr_diag *g = tsr_eval_report(c->ev, TSR_E_DATA_SHAPE, c->spans[2], "%s", what);
	tsr_note_at(el->tc, g, c->spans[0], "%s holds %s", d->path, header_text(el, &d->header));
	return false;
}

/* ~as: kinds and names for the axes; a name takes the file's size. */
static bool annotated_shape(const tsr_call *c, data *d, tsr_shape *out)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	tsr_annotated a;
	if (!tsr_template_annotation(el, *c->args[2], c->spans[2], TSR_SYMBOLS_FILE, &a))
		return false;
	if (d->known && a.rank != (uint32_t)d->header.rank)
		return disagree(c, d, tsr_format(el->arena, "~as has %u axes, the file %d", a.rank, d->header.rank));
	tsr_data_file *f = d->file;
	f->rank = a.rank;
	f->dims = TSR_NEW_N(el->arena, tsr_size, a.rank + 1);
	static const tsr_kind order[] = {TSR_BATCH, TSR_OUTPUT, TSR_INPUT};
	uint32_t i = 0;
	for (int k = 0; k < TSR_KINDS; k++) {
		tsr_row *row = &a.shape.row[order[k]];
		for (uint32_t j = 0; j < row->ntrail; j++, i++) {
			const tsr_axis *axis = a.axes[i];
			int64_t n = d->known ? d->header.dims[i] : 0;
			if (axis->kind == TSR_AXIS_SYMBOL) {
				tsr_size_term *term = TSR_NEW(el->arena, tsr_size_term);
				*term = (tsr_size_term){1, a.symbols[i]};
				f->dims[i] = (tsr_size){0, 1, term};
				continue;
			}
			if (axis->kind == TSR_AXIS_FIXED && d->known && axis->size != n)
				return disagree(c, d, tsr_format(el->arena, "~as says %lld for axis %u of the file, which has %lld", (long long)axis->size,
				                                 i + 1, (long long)n));
			if (axis->kind != TSR_AXIS_FIXED && !d->known) {
				tsr_diag *g = tsr_eval_report(c->ev, TSR_E_DATA_SHAPE, axis->span, "nothing gives the size of `%s` while compiling",
				                              axis->label ? axis->label : "_");
				tsr_hint(el->tc, g, "write ?%s for a size that is known when the program runs", axis->label ? axis->label : "n");
				return false;
			}
			if (axis->kind != TSR_AXIS_FIXED)
				row->trail[j] = tsr_dim_atom(n, axis->basis);
			f->dims[i] = tsr_size_const(axis->kind == TSR_AXIS_FIXED ? axis->size : n);
		}
	}
	*out = a.shape;
	return true;
}

static bool shape_of(const tsr_call *c, data *d, tsr_shape *out)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	for (int32_t i = 0; d->known && i < d->header.rank; i++)
		if (d->header.dims[i] < 1) {
			tsr_eval_report(c->ev, TSR_E_DATA_FILE, c->spans[0], "%s holds no elements: %s", d->path, header_text(el, &d->header));
			return false;
		}
	if (c->args[2])
		return annotated_shape(c, d, out);
	natural_shape(el, &d->header, out);
	d->file->rank = (uint32_t)d->header.rank;
	d->file->dims = TSR_NEW_N(el->arena, tsr_size, d->header.rank + 1);
	for (int32_t i = 0; i < d->header.rank; i++)
		d->file->dims[i] = tsr_size_const(d->header.dims[i]);
	return true;
}

static bool prec_of(const tsr_call *c, data *d)
{
	d->file->prec = d->known ? (tsr_prec)d->header.prec : strcmp(d->file->format, "text") == 0 ? TSR_PREC_U8 : TSR_PREC_F32;
	if (!c->args[4])
		return true;
	tsr_prec p;
	if (!tsr_prec_find(c->args[4]->string.text, &p)) {
		bad(c, 4, "a precision");
		return false;
	}
	if (d->known && p != d->file->prec)
		return disagree(c, d, tsr_format(tsr_elab_of(c->ev)->arena, "~prec says %s", tsr_prec_name(p)));
	d->file->prec = p;
	return true;
}

static tsr_value file(const tsr_call *c)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	data d = {0};
	tsr_shape shape;
	if (!strings(c) || !locate(c, &d) || !shape_of(c, &d, &shape) || !prec_of(c, &d))
		return TSR_POISON;
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_FILE, c->site);
	t->shape = shape;
	t->file = d.file;
	t->prec = d.file->prec;
	t->prec_fixed = true;
	tsr_tensor_leaf(el, t);
	return tsr_value_tensor(t->id);
}

/* The data itself, as a literal: nothing is read when the program runs. */
static tsr_value embed(const tsr_call *c)
{
	tsr_elab *el = tsr_elab_of(c->ev);
	data d = {0};
	tsr_shape shape;
	if (!strings(c))
		return TSR_POISON;
	if (c->args[0]->kind != TSR_VALUE_STRING)
		return bad(c, 0, "the path of a file that is there while compiling");
	if (!locate(c, &d) || !shape_of(c, &d, &shape) || !prec_of(c, &d))
		return TSR_POISON;
	char error[256] = "";
	void *raw = NULL;
	if (tsr_array_read(d.path, d.file->key, reader_of(d.file->format), &d.header, &raw, error, sizeof error) != 0) {
		tsr_eval_report(c->ev, TSR_E_DATA_FILE, c->spans[0], "%s: %s", d.path, error);
		return TSR_POISON;
	}
	uint64_t count = 1;
	for (int32_t i = 0; i < d.header.rank; i++)
		count *= (uint64_t)d.header.dims[i];
	tsr_cell *values = TSR_NEW_N(el->arena, tsr_cell, count + 1);
	bool whole = !tsr_prec_is_float((tsr_prec)d.header.prec);
	for (uint64_t i = 0; i < count; i++)
		values[i] = whole ? (tsr_cell){.i = tsr_element_i64(raw, d.header.prec, (int64_t)i)}
			: (tsr_cell){.d = tsr_element_f64(raw, d.header.prec, (int64_t)i)};
	free(raw);
	tsr_tensor *t = tsr_tensor_new(el, TSR_TENSOR_LITERAL, c->site);
	t->shape = shape;
	t->literal.data = (tsr_numbers){whole, values};
	t->literal.count = count;
	t->prec = (tsr_prec)d.header.prec;
	t->prec_fixed = true;
	tsr_tensor_leaf(el, t);
	return tsr_value_tensor(t->id);
}

const tsr_builtin tsr_file_builtins[] = {
	{"file", "path ?key ?as ?format ?prec", file},
	{"embed", "path ?key ?as ?format ?prec", embed},
};
const uint32_t tsr_file_nbuiltins = sizeof tsr_file_builtins / sizeof *tsr_file_builtins;
