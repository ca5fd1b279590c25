/* Whatever the bytes, the parser ends, reports or gives a tree that holds its schema, and prints.  Programs are cut,
 * shuffled and sprinkled with words of the language; a fixed seed, so that a failure can be looked at. */
#include "check.h"
#include "../../compiler/syntax/ast.h"
#include <stdlib.h>

static const char *const programs[] = {
	"open Nn\nlet%op classifier ~hid () =\n  let hidden = mlp_layer ~hid_dim:hid () in\n"
	"  fun x -> { w } * hidden (x /. 16) + { b = 0; o = [10] }\nlet net = classifier ~hid:64 ()\n",
	"let%main () =\n  for epoch = 1 to 20 do\n    let total = ref 0. in\n    run step ~i;\n    total := !total + loss.(0);\n"
	"    print \"epoch {epoch:2}  loss {!total / 30.:.4}\"\n  done;\n  t.(i, j) <- if a then 1 else 2\n",
	"let tropical ~spec =\n  binop ~spec\n    ~forward:(fun%cd t t1 t2 -> t =:@^ t1 + t2)\n    ~grad:(fun%cd t t1 t2 ->\n"
	"      { won_all } =: (t1 + t2 = t);\n      g1 =+ where won_all g 0 ~logic:\"@\")\n",
	"let%op a = (q +* k \"... s | h d; ... t | h d => ... s | t -> h\" [h; d]) /. sqrt (dim d)\n"
	"let%op b = (x, y) ++^ \"a; b => a^b\" (* note (* \"*)\" *) *)\nlet rec f = function [] -> 0 | a :: b -> a + f b\n",
	"let%export predict (x : \"?n | 64\") = softmax ~over:\"... | c\" (net x)\n"
	"let c = match x with Some (a, _) | None when a -> b | \"t\" -> [| 1; 2.5e3; 0x1F |]\n",
};

static const char *const words[] = {
	"(", ")", "[", "]", "[|", "|]", "{", "}", "let ", "let%op ", "let%cd ", "\nlet ", "in ", "fun ", "-> ", "| ", "match ", "with ",
	"if ", "then ", "else ", "begin ", "end ", "for ", "to ", "do ", "done ", "while ", "open ", "~x:", "~x ", "?x ", "?(", "~(", "=",
	"=:", "=+", "=-", " -", "+* ", "++ ", "\"i => i\"", "\"", "(*", "*)", ";", ";;", ",", ".", ".(", "::", "<-", ":=", "!", "!.", "~~(",
	"1", "2.5", "x", "Nn", "Nn.", "Some ", "None", "_", "let%main () =", "let%export f ", "rec ", "\\", "'", "\xc3\xa9", "{w}", "() ",
	"function ", "^", "99999999999999999999", "\n"
};

static const char *const parts[] = {
	"...", "..r..", ",", ";", "|", "->", "=>", "*", "+", "^", "<+", "=+", "@i", "?n", "!n", "_", "1", "0", "a", "ab", " ", "(3 : rgb)",
	"(", ")", ":", "&", "-", ".", "=", "<", "9999999999"
};

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { ROOM = 8192 };

static uint32_t random_below(uint64_t *state, size_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % n);
}

static size_t mutate(uint64_t *r, char *text, size_t n)
{
	size_t at = n ? random_below(r, n) : 0, len;
	const char *word;
	switch (random_below(r, 4)) {
	case 0:
		if (n)
			text[at] = (char)random_below(r, 256);
		return n;
	case 1:
		len = random_below(r, 20);
		len = at + len > n ? n - at : len;
		memmove(text + at, text + at + len, n - at - len);
		return n - len;
	case 2:
		word = words[random_below(r, COUNT(words))];
		len = strlen(word);
		memmove(text + at + len, text + at, n - at);
		memcpy(text + at, word, len);
		return n + len;
	default:
		len = random_below(r, 100);
		len = at + len > n ? n - at : len;
		memmove(text + n, text + at, len);
		return n + len;
	}
}

static void one_program(uint64_t *r, FILE *out)
{
	char text[ROOM];
	const char *from = programs[random_below(r, COUNT(programs))];
	size_t n = strlen(from);
	memcpy(text, from, n);
	for (uint32_t k = 1 + random_below(r, 6); k > 0; k--)
		n = mutate(r, text, n);
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t file = tsr_source_add(tc, "random.tsr", text, n);
	tsr_module_ast *m = tsr_parse(tc, file);
	tsr_ast_check(tc, m);
	tsr_ast_print(tc, m, out);
	size_t half = n / 2, size = n - half < 40 ? n - half : 40;
	tsr_parse_expr(tc, text + half, size, (tsr_span){file, (uint32_t)half, (uint32_t)(half + size)});
	tsr_diags_render(tc, out, false);
	tsr_compiler_free(tc);
}

static void one_spec(uint64_t *r)
{
	char text[256] = "";
	for (uint32_t k = random_below(r, 12); k > 0; k--)
		strcat(text, parts[random_below(r, COUNT(parts))]);
	bool operation = random_below(r, 2);
	tsr_compiler *tc = tsr_compiler_new();
	uint32_t file = tsr_source_add(tc, "spec", text, strlen(text));
	tsr_span span = {file, 0, (uint32_t)strlen(text)};
	tsr_spec *s = operation ? tsr_spec_parse(tc, text, span) : tsr_annotation_parse(tc, text, span);
	if ((s == NULL) != (tc->nerrors > 0))
		CHECK_STR(text, "a report exactly where there is no spec");
	if (s) {
		const char *once = tsr_spec_str(tc->arena, s);
		tsr_spec *again = operation ? tsr_spec_parse(tc, once, span) : tsr_annotation_parse(tc, once, span);
		CHECK_STR(again ? tsr_spec_str(tc->arena, again) : text, once);
	}
	tsr_compiler_free(tc);
}

static void repeated(const char *before, const char *piece, const char *after, size_t times, bool refused)
{
	size_t n = strlen(piece);
	char *text = malloc(strlen(before) + n * times + strlen(after) + 1), *to = text;
	to += sprintf(to, "%s", before);
	for (size_t i = 0; i < times; i++, to += n)
		memcpy(to, piece, n);
	strcpy(to, after);
	tsr_compiler *tc = tsr_compiler_new();
	tsr_module_ast *m = tsr_parse(tc, tsr_source_add(tc, "deep.tsr", text, strlen(text)));
	tsr_ast_check(tc, m);
	if (!CHECK((tc->nerrors > 0) == refused) || (refused && !CHECK(tc->diags.at[0]->code == TSR_E_TOO_DEEP)))
		printf("  %s%s.. x %zu\n", before, piece, times);
	tsr_compiler_free(tc);
	free(text);
}

/* A thousand levels are read, more are refused, and very many do not exhaust the stack. */
static void depth(void)
{
	static const struct { const char *before, *piece, *after; } nests[] = {
		{"let x = ", "- ", "1"}, {"let x = ", "let y = 1 in ", "1"}, {"let x = 1", " + 1", ""}, {"let x = 1", " :: 1", ""},
		{"let x = ", "if a then ", "1"}, {"let x = ", "fun a -> ", "1"}, {"let x = a", ".b", ""}, {"let x = ", "!", "y"},
		{"let f = match x with ", "a :: ", "x -> 1"}, {"let f = match x with a ", "| a ", "-> 1"},
	};
	for (size_t i = 0; i < COUNT(nests); i++) {
		repeated(nests[i].before, nests[i].piece, nests[i].after, 900, false);
		repeated(nests[i].before, nests[i].piece, nests[i].after, 1100, true);
		repeated(nests[i].before, nests[i].piece, nests[i].after, 50000, true);
	}
	repeated("let x = ", "(", "", 50000, true);
	repeated("let x = ", "[", "", 50000, true);
	repeated("let f = fun ", "(", "", 50000, true);
	repeated("let x = [", "1; ", "]", 50000, false);
	repeated("let x = (", "a; ", "a)", 50000, false);
}

int main(void)
{
	uint64_t r = 20;
	FILE *out = fopen("/dev/null", "w");
	for (int i = 0; i < 3000; i++) {
		one_program(&r, out);
		one_spec(&r);
	}
	fclose(out);
	CHECK(true);
	depth();
	return check_end("syntax_random");
}
