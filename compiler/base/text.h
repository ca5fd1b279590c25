/* A string builder on an arena, and number formatting that reads back exactly. */
#ifndef TSR_BASE_TEXT_H
#define TSR_BASE_TEXT_H
#include "arena.h"

typedef struct tsr_text { tsr_arena *arena; char *at; size_t n, cap; } tsr_text;

void tsr_text_init(tsr_text *t, tsr_arena *a);
void tsr_text_add(tsr_text *t, const char *s);
void tsr_text_add_n(tsr_text *t, const char *s, size_t n);
void tsr_text_char(tsr_text *t, char c);
void tsr_text_addf(tsr_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The shortest decimal text that reads back as `x`, always with a '.' or an exponent, or inf / -inf / nan. */
void tsr_text_float(tsr_text *t, double x);
/* `s` as a JSON string with its quotes: escaped as JSON requires, bytes that are no UTF-8 as U+FFFD. */
void tsr_text_json(tsr_text *t, const char *s);
/* Bytes of the UTF-8 character at p (p < end), or 0 where there is none: a stray or missing byte, an overlong form. */
size_t tsr_utf8_length(const char *p, const char *end);
/* NUL-terminated contents; valid until the next add. */
const char *tsr_text_str(tsr_text *t);
#endif
