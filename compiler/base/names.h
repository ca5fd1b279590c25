/* Interned strings: two names are the same name iff their pointers are equal.  A name is NUL-terminated. */
#ifndef TSR_BASE_NAMES_H
#define TSR_BASE_NAMES_H
#include "arena.h"

typedef const char *tsr_name;
typedef struct tsr_names tsr_names;

tsr_names *tsr_names_new(tsr_arena *a);
tsr_name tsr_intern(tsr_names *t, const char *s);
tsr_name tsr_intern_n(tsr_names *t, const char *s, size_t n);
#endif
