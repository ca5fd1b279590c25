/* Exported functions called by the interpreter, as `--call="step x.npy y.npy 0.1"` asks: arrays are read from files, sizes are theirs,
 * and the results are printed.  Several calls share the context, so what lasts goes on from one to the next.  What a call tests,
 * and in which order, is what tsr_invoke and the code behind it do (runtime/embed.c, llvm/export.c). */
#include "interp.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef TSR_VEC(const char *) words;

static words words_of(tsr_interp *in, const char *call)
{
	words w = {0};
	for (const char *at = call + strspn(call, " "); *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		tsr_push(in->arena, &w, tsr_strndup(in->arena, at, n));
		at += n;
	}
	return w;
}

static tsr_owner named(tsr_interp *in, const char *name)
{
	for (tsr_owner i = 0; i < in->host->exports.n; i++)
		if (!strcmp(in->host->exports.at[i].x->name, name))
			return i;
	tsr_fail(in->ctx, NULL, "--call: there is no exported function `%s`", name);
}

static tsr_buffer_id buffer_of(tsr_interp *in, const tsr_c_arg *a)
{
	tsr_buffer_id id = tsr_loops_buffer(in->loops, a->of, a->part);
	if (id == TSR_NONE)
		tsr_bug("an argument or a result has no buffer: %s", a->name);
	return id;
}

/* What the run-time numbers hold: a whole number, or the bits of a float. */
static int64_t number(tsr_interp *in, const tsr_c_arg *a, const char *where, const char *text)
{
	char *end;
	int64_t bits;
	bool integer = in->host->graph->numbers.at[a->of]->integer;
	errno = 0;
	if (integer) {
		bits = strtoll(text, &end, 10);
	} else {
		double d = strtod(text, &end);
		memcpy(&bits, &d, sizeof bits);
	}
	if (!*text || *end || (integer && errno))
		tsr_fail(in->ctx, where, "%s is %s, and `%s` is no such number", a->name, integer ? "a whole number" : "a number", text);
	return bits;
}

static void check_named_sizes(tsr_interp *in, const tsr_export *x, const char *where)
{
	for (uint32_t i = 0; i < x->symbols.n; i++) {
		int64_t size = tsr_syms(in->ctx)[x->symbols.at[i]];
		if (size < 1)
			tsr_fail(in->ctx, where, "%s: the size ?%s is %lld, and an axis has at least one position", x->name,
				in->loops->symbols.at[x->symbols.at[i]], (long long)size);
	}
}

static void read_arguments(tsr_interp *in, const tsr_host_export *f, const char *where, const words *w)
{
	uint32_t next = 1, wanted = 1;
	for (uint32_t i = 0; i < f->args.n; i++)
		wanted += f->args.at[i].kind == TSR_C_INPUT || f->args.at[i].kind == TSR_C_NUMBER;
	if (w->n != wanted)
		tsr_fail(in->ctx, where, "%s takes %u argument%s, and --call gives %u", f->x->name, wanted - 1, wanted == 2 ? "" : "s", w->n - 1);
	for (uint32_t i = 0; i < f->x->symbols.n; i++)
		tsr_syms(in->ctx)[f->x->symbols.at[i]] = -1;
	for (uint32_t i = 0; i < f->args.n; i++) {
		const tsr_c_arg *a = &f->args.at[i];
		if (a->kind == TSR_C_INPUT)
			tsr_file_load(in->ctx, where, w->at[next++], NULL, &tsr_format_npy, buffer_of(in, a));
		else if (a->kind == TSR_C_NUMBER)
			tsr_nums(in->ctx)[a->of] = number(in, a, where, w->at[next++]);
	}
	check_named_sizes(in, f->x, where);
}

void tsr_interp_export(tsr_interp *in, const char *call)
{
	words w = words_of(in, call);
	if (!w.n)
		tsr_fail(in->ctx, NULL, "--call names no function");
	tsr_owner owner = named(in, w.at[0]);
	const tsr_host_export *f = &in->host->exports.at[owner];
	read_arguments(in, f, tsr_interp_place(in, f->x->at), &w);
	tsr_interp_sizes(in, owner);
	if (f->body)
		tsr_interp_statement(in, f->body);
	else
		tsr_interp_unit(in, f->x->code);
	for (uint32_t i = 0; i < f->args.n; i++) {
		const tsr_c_arg *a = &f->args.at[i];
		if (a->kind == TSR_C_RESULT)
			tsr_interp_print(in, a->of, a->part, f->x->results.n == 1 ? f->x->name : tsr_format(in->arena, "%s.%s", f->x->name, a->name));
	}
}
