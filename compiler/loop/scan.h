/* Words of the textual loop IR: scan.c cuts the text into tokens, read.c makes sense of them.  Private to loop/. */
#ifndef TSR_LOOP_SCAN_H
#define TSR_LOOP_SCAN_H
#include "loop.h"

typedef enum {
	TSR_TOKEN_END, TSR_TOKEN_NAME, TSR_TOKEN_BUFFER, TSR_TOKEN_LOCAL, TSR_TOKEN_NUMBER, TSR_TOKEN_SYMBOL, TSR_TOKEN_INT, TSR_TOKEN_FLOAT,
	TSR_TOKEN_STRING, TSR_TOKEN_PUNCT
} tsr_loop_token_kind;

typedef struct tsr_loop_token {
	tsr_loop_token_kind kind;
	uint32_t start, end;
	tsr_name text;               /* names (without sigil), strings, punctuation */
	double d;
	int64_t i;
} tsr_loop_token;

typedef struct tsr_loop_scanner {
	tsr_compiler *tc;
	uint32_t file;
	const char *text;
	uint32_t at;
	tsr_loop_token now;
	bool failed;                 /* the first mistake was reported; nothing is accepted from then on */
} tsr_loop_scanner;

void tsr_loop_next(tsr_loop_scanner *s);
/* Reports that something else is expected at the current token; only the first time. */
void tsr_loop_expected(tsr_loop_scanner *s, const char *expected);
bool tsr_loop_is(const tsr_loop_scanner *s, tsr_loop_token_kind kind, const char *text);
bool tsr_loop_accept(tsr_loop_scanner *s, tsr_loop_token_kind kind, const char *text);
void tsr_loop_expect(tsr_loop_scanner *s, const char *punctuation);
/* The text of a token of that kind; "" after a report. */
tsr_name tsr_loop_expect_name(tsr_loop_scanner *s, tsr_loop_token_kind kind, const char *what);
#endif
