/* Tokens.  The scanner (grammar/tessera.re) finds and classifies them; lex.c turns a source into an array of tokens and
 * knows what their text is worth.  Private to syntax/. */
#ifndef TSR_SYNTAX_LEX_H
#define TSR_SYNTAX_LEX_H
#include "ast.h"

typedef struct tsr_token {
	int code;                /* TK_* of build/gen/tessera.h; 0 is the end of the text */
	bool bol;                /* the first character of a line: where recovery may resume */
	const char *text;        /* into the source */
	tsr_span span;
} tsr_token;

typedef TSR_VEC(tsr_token) tsr_tokens;

typedef struct tsr_scanner { const char *start, *cursor, *limit; } tsr_scanner;

enum {
	TSR_SCAN_END = 0,
	TSR_SCAN_BAD = -1,
	TSR_SCAN_BAD_NUMBER = -2,
	TSR_SCAN_BAD_LEVEL = -3,
	TSR_SCAN_OPEN_STRING = -4,
	TSR_SCAN_OPEN_COMMENT = -5
};
/* The next token's code, or one of the above; its text is [start, cursor). The text is NUL-terminated at `limit`. */
int tsr_scan(tsr_scanner *s);

/* All tokens of a text that stands at `base` of a file, an end token last; what is not a token is reported and left out. */
tsr_tokens tsr_lex(tsr_compiler *tc, const char *text, size_t size, tsr_span base);

const char *tsr_token_kind(int code);                   /* "NAME", as in the grammar */
size_t tsr_token_size(const tsr_token *t);
bool tsr_token_is(const tsr_token *t, const char *text);

/* The value of an INT token; too large a number is reported. */
int64_t tsr_token_int(tsr_compiler *tc, const tsr_token *t);
double tsr_token_float(tsr_compiler *tc, const tsr_token *t);
/* The decoded contents of a STRING token; bad escapes are reported. `inside` is the place of the text between the quotes. */
const char *tsr_token_string(tsr_compiler *tc, const tsr_token *t, size_t *size, tsr_span *inside);
#endif
