/* Precisions of tensor elements by number, inside the runtime.  prec.def is the list, which the compiler expands for
 * itself; this header is private so that the two enumerations never meet. */
#ifndef TSR_RUNTIME_PREC_H
#define TSR_RUNTIME_PREC_H
#include <stddef.h>

enum tsr_rt_prec {
	TSR_NO_PREC,
#define TSR_PREC(NAME, text, bytes, family) TSR_##NAME,
#include "prec.def"
#undef TSR_PREC
	TSR_PREC_END
};

enum tsr_rt_family { TSR_FAMILY_NONE, TSR_FAMILY_BOOL, TSR_FAMILY_INT, TSR_FAMILY_FLOAT };

/* Facts of one precision of the list. */
static inline const char *tsr_rt_prec_name(int prec)
{
	static const char *const names[] = {
		"none",
#define TSR_PREC(NAME, text, bytes, family) text,
#include "prec.def"
#undef TSR_PREC
	};
	return names[prec];
}

static inline size_t tsr_rt_prec_bytes(int prec)
{
	static const unsigned char sizes[] = {
		0,
#define TSR_PREC(NAME, text, bytes, family) bytes,
#include "prec.def"
#undef TSR_PREC
	};
	return sizes[prec];
}

static inline enum tsr_rt_family tsr_rt_prec_family(int prec)
{
	static const unsigned char families[] = {
		TSR_FAMILY_NONE,
#define TSR_PREC(NAME, text, bytes, family) TSR_FAMILY_##family,
#include "prec.def"
#undef TSR_PREC
	};
	return (enum tsr_rt_family)families[prec];
}
#endif
