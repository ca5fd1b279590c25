/* Specs: what each means (printed back in identifier mode, which reads back as itself), and where the caret of each
 * mistake stands. */
#include "check.h"
#include "../../compiler/syntax/ast.h"

typedef enum { OPERATION, ANNOTATION } how;

static tsr_spec *parse(tsr_compiler *tc, how h, const char *text)
{
	uint32_t file = tsr_source_add(tc, "spec", text, strlen(text));
	tsr_span span = {file, 0, (uint32_t)strlen(text)};
	return h == OPERATION ? tsr_spec_parse(tc, text, span) : tsr_annotation_parse(tc, text, span);
}

static void means(how h, const char *text, const char *canonical)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_spec *s = parse(tc, h, text);
	CHECK_STR(s ? tsr_spec_str(tc->arena, s) : "(refused)", canonical);
	tsr_spec *again = parse(tc, h, canonical);
	CHECK_STR(again ? tsr_spec_str(tc->arena, again) : "(refused)", canonical);
	tsr_compiler_free(tc);
}

/* The report points at byte `at` and contains `words`. */
static void refused(how h, const char *text, uint32_t at, const char *words)
{
	tsr_compiler *tc = tsr_compiler_new();
	tsr_spec *s = parse(tc, h, text);
	if (CHECK(!s) && CHECK_INT(tc->diags.n, 1)) {
		const tsr_diag *d = tc->diags.at[0];
		if (!CHECK(d->code == TSR_E_BAD_SPEC && d->span.start == at && (strstr(d->text, words) || (d->hint && strstr(d->hint, words)))))
			printf("  in \"%s\": at %u: %s\n", text, d->span.start, d->text);
	}
	tsr_compiler_free(tc);
}

static void modes(void)
{
	means(OPERATION, "ij;jk=>ik", "i, j; j, k => i, k");
	means(OPERATION, "i => i0", "i => i, 0");
	means(OPERATION, "i12 => i", "i, 12 => i");
	means(OPERATION, "abc => abc,", "abc, => abc");
	means(OPERATION, "abc => c", "a, b, c => c");
	means(OPERATION, "in, out => out", "in, out => out");
	means(OPERATION, "ab,=>", "ab, =>");
	means(OPERATION, "... s | h d; ... t | h d => ... s | t -> h", "..., s | h, d; ..., t | h, d => ..., s | t -> h");
	means(OPERATION, "ab..row..c => c..row..", "a, b, ..row.., c => c, ..row..");
	means(OPERATION, "..long.., x; x => ..long..", "..long.., x; x => ..long..");
	means(OPERATION, " a b|c -> d  =>  ", "a, b | c -> d =>");
}

static void rows(void)
{
	means(OPERATION, "=>", "=>");
	means(OPERATION, "ii =>", "i, i =>");
	means(OPERATION, "i;;i=>", "i;; i =>");
	means(OPERATION, "| -> => i", "=> i");
	means(OPERATION, "...b|...i->...o => ...i|...o->...b", "..., b | ..., i -> ..., o => ..., i | ..., o -> ..., b");
	means(OPERATION, "a...c => ...", "a, ..., c => ...");
	means(OPERATION, "_, _, a => _", "_, _, a => _");
	means(OPERATION, "1|2->3 => ", "1 | 2 -> 3 =>");
	means(OPERATION, "..output.. => ...", "... => ...");
	means(OPERATION, "batch, ... => ...", "batch, ... => ...");
	tsr_compiler *tc = tsr_compiler_new();
	tsr_spec *s = parse(tc, OPERATION, "a ... b | ..x.. -> c => ...");
	if (CHECK(s != NULL)) {
		CHECK_INT(s->noperands, 1);
		CHECK_INT(s->operands[0].row[TSR_BATCH].nlead, 1);
		CHECK_INT(s->operands[0].row[TSR_BATCH].ntrail, 1);
		CHECK_STR(s->operands[0].row[TSR_BATCH].var, "batch");
		CHECK_STR(s->operands[0].row[TSR_INPUT].var, "x");
		CHECK(s->operands[0].row[TSR_OUTPUT].var == NULL);
		CHECK_STR(s->result.row[TSR_OUTPUT].var, "output");
	}
	tsr_compiler_free(tc);
}

static void affine_axes(void)
{
	means(OPERATION, "2*o<+3*k; k => o", "2*o<+3*k; k => o");
	means(OPERATION, "o =+ k; k => o", "o=+k; k => o");
	means(OPERATION, "2*o<+1+3*k => o", "2*o<+3*k + 1 => o");
	means(OPERATION, "1 + 2*o <+ k + 3 => o", "2*o<+k + 4 => o");
	means(OPERATION, "i+1 => i", "i + 1 => i");
	means(OPERATION, "1 + i*2 => i", "2*i + 1 => i");
	means(OPERATION, "stride*o<+k => o", "stride*o<+k => o");
	means(OPERATION, "size*@i + j | => j |", "j + size*@i | => j |");
	means(OPERATION, "@i, j => j", "@i, j => j");
	means(OPERATION, "1*ab + 0 => ", "ab, =>");
	means(OPERATION, "i + !from => i", "i + !from => i");
	means(OPERATION, "2 + 3 => ", "5 =>");
	tsr_compiler *tc = tsr_compiler_new();
	tsr_spec *s = parse(tc, OPERATION, "size*@i + 3*j + 2 => j");
	if (CHECK(s != NULL)) {
		const tsr_axis *x = &s->operands[0].row[TSR_OUTPUT].trail[0];
		CHECK_INT(x->kind, TSR_AXIS_AFFINE);
		CHECK_STR(x->affine.over.label, "j");
		CHECK_INT(x->affine.over.coef, 3);
		CHECK(x->affine.kernel.label == NULL);
		CHECK_STR(x->affine.runtime.label, "i");
		CHECK(x->affine.runtime.runtime);
		CHECK_STR(x->affine.runtime.coef_name, "size");
		CHECK_INT(x->affine.offset, 2);
		CHECK_INT(x->affine.pad, TSR_PAD_NONE);
	}
	tsr_compiler_free(tc);
	refused(OPERATION, "o + 2*k; k => o", 2, "`o<+2*k` stays inside, `o=+2*k` pads");
	refused(OPERATION, "from + j => j", 5, "`!name`");
	refused(OPERATION, "o<+k<+j => o", 4, "one `<+` or `=+` is enough");
	refused(OPERATION, "o<+k+j => o", 5, "two axes");
	refused(OPERATION, "i<+1 => i", 1, "one axis only");
	refused(OPERATION, "0*i => i", 0, "coefficient of 0");
	refused(OPERATION, "2*3 => i", 0, "coefficient");
	refused(OPERATION, "a*b*c => i", 3, "`*` does not fit");
	refused(OPERATION, "99999999999 => i", 0, "larger than any axis");
	refused(OPERATION, "a - 1 => a", 2, "offset");
}

static void concatenations(void)
{
	means(OPERATION, "a; b; c => a^b^c", "a; b; c => a^b^c");
	means(OPERATION, "3^a^5 => a", "3^a^5 => a");
	means(OPERATION, "1^h^1, w => h, w", "1^h^1, w => h, w");
	refused(OPERATION, "a^_ => a", 2, "does not fit");
	refused(OPERATION, "a^2*b => a", 3, "does not fit");
	refused(ANNOTATION, "a^b", 0, "belongs to an operation");
}

static void annotations(void)
{
	means(ANNOTATION, "?n | 64", "?n | 64");
	means(ANNOTATION, "?n, ?len |", "?n, ?len |");
	means(ANNOTATION, "b | i -> o", "b | i -> o");
	means(ANNOTATION, "(3 : rgb)", "(3 : rgb)");
	means(ANNOTATION, "(1 : bcast_if_1) | (?n : time)", "(1 : bcast_if_1) | (?n : time)");
	means(ANNOTATION, "", "");
	means(ANNOTATION, "..., !n", "..., !n");
	refused(ANNOTATION, "i; j", 1, "one tensor");
	refused(ANNOTATION, "i => j", 2, "one tensor");
	refused(ANNOTATION, "2*i", 0, "sizes and names");
	refused(OPERATION, "?n => n", 0, "size of the run");
	refused(OPERATION, "(3 : rgb) => i", 0, "basis");
}

static void mistakes(void)
{
	refused(OPERATION, "i", 1, "without `=>`");
	refused(OPERATION, "", 0, "without `=>`");
	refused(OPERATION, "i -> b | o => i", 7, "batch axes come first");
	refused(OPERATION, "a | b | c => a", 6, "a second `|`");
	refused(OPERATION, "a -> b -> c => a", 7, "a second `->`");
	refused(OPERATION, "i => i; j", 6, "one result");
	refused(OPERATION, "x, y z => x", 5, "comma is missing");
	refused(OPERATION, "x,,y => x", 2, "no axis stands before");
	refused(OPERATION, ",x => x", 0, "no axis stands before");
	refused(OPERATION, "...a... => a", 4, "one row variable");
	refused(OPERATION, "..a.. a => a", 6, "name of an axis here and of a row");
	refused(OPERATION, "a & b => a", 2, "no meaning");
	refused(OPERATION, "a.b => a", 1, "`..name..`");
	refused(OPERATION, "o<k => o", 1, "`2*o<+k`");
	refused(OPERATION, "\xc3\xa9 => i", 0, "no meaning");
}

int main(void)
{
	modes();
	rows();
	affine_axes();
	concatenations();
	annotations();
	mistakes();
	return check_end("specs");
}
