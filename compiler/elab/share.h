/* Inside elab/: what the files that let applications share their constraints have in common.  asked.c writes down what a program asks of
 * the store, share.c goes through that when it is complete and decides for each application how it is solved, likeness.c
 * compares what two applications ask for, follow.c gives one what another has found, generic.c makes schemes, alone.c decides afterwards
 * whether the guesses were right. */
#ifndef TSR_ELAB_SHARE_H
#define TSR_ELAB_SHARE_H
#include "state.h"

/* ---- what is written down (asked.c) ---------------------------------------------------------------------------------------- */

typedef enum { TSR_ASKED_FRESH, TSR_ASKED_LEAF, TSR_ASKED_RULE, TSR_ASKED_EQUAL, TSR_ASKED_LABEL } tsr_asked_kind;

/* Something that an application asks of the store: written down with the tensors that it is about; what the store has to say of their shapes
 * is filled in when the application is solved, or follows another one. */
typedef struct tsr_asked {
	tsr_asked_kind kind;
	tsr_shape shape;                 /* FRESH, LEAF: what came of it, a LEAF's sizes before; EQUAL: the left side; RULE: the result */
	tsr_shape written;               /* LEAF: the rows that are; EQUAL: the right side, where that is an annotation */
	tsr_tensor_id tensor;            /* whose shape that is; TSR_NONE where it is no tensor's */
	tsr_tensor_id leaf;              /* LEAF: that of the first application, where this one was found to be the same */
	bool stated[TSR_KINDS];          /* LEAF: rows that are written; the others were asked for just before */
	bool param;                      /* LEAF */
	uint32_t n;
	const tsr_shape *shapes;         /* operands; EQUAL: the right side */
	const tsr_tensor_id *tensors;    /* whose shapes those are */
	tsr_rule *rule;
	tsr_share_fact fact;             /* LABEL */
	tsr_label a, b;
	const tsr_label *at_a, *at_b;    /* where those stand: in the rule that captured them */
	int64_t number;
	tsr_dim size;                    /* LABEL: the number, or what stands for it in a scheme */
	const tsr_within *within;        /* LEAF: the applications around it, */
	const char *called;              /* and what it is called */
	const tsr_why *why;              /* EQUAL, LABEL */
	uint32_t from, to;               /* its constraints; to == 0: up to the next one's. In a scheme: of those that are left */
} tsr_asked;

typedef TSR_VEC(tsr_asked) tsr_asked_list;
typedef TSR_VEC(const tsr_region *) tsr_regions;
typedef TSR_VEC(tsr_tensor_id) tsr_tensor_ids;

typedef TSR_VEC(uint32_t) tsr_places;

typedef struct tsr_body tsr_body;

/* An application. */
typedef struct tsr_application {
	tsr_body *all;                   /* of its function */
	tsr_why why;                     /* of what is emitted for it as a whole */
	const tsr_asked_list *asked;     /* [first, last) of it */
	uint32_t first, last;
	uint32_t first_tensor, last_tensor;
	tsr_tensor_ids results;
	bool hidden;                     /* nothing else that it made is seen from outside, but for leaves and labels */
	bool spoiled;                    /* it asks for something that no other application may have */
	bool apart;                      /* it is compared with no other one: too deep, or after a mistake */
	uint64_t key;                    /* those with other keys ask for something else */
	uint64_t outline;                /* how its arguments' rows were made when it was solved (tsr_shapes_outline) */
	tsr_region *region;
	bool closed;                     /* nothing outside is mentioned: it can be copied */
	bool again;                      /* one like it was there before */
	bool shared;                     /* followed as the same, at least once */
	tsr_regions onto;                /* what parameters of later applications were folded onto */
	TSR_VEC(struct tsr_application *) uses;  /* shared applications inside of it */
	TSR_VEC(tsr_shape) given;        /* arguments from outside, as the instances in it have them */
	tsr_map applied;                 /* tensors that it was applied to, of all applications */
	tsr_row_list links;
} tsr_application;

/* A region that is a scheme, and the next larger one. */
typedef struct tsr_owner { const tsr_region *region; struct tsr_owner *around; } tsr_owner;

/* What a scheme that is being solved has in the place of what is outside: label -> tsr_label; axis of an annotation -> that of its own + 1. */
typedef struct tsr_inside { tsr_map labels, axes; } tsr_inside;
typedef TSR_VEC(const tsr_label *) tsr_labels;

/* What an application gives a scheme: tensors, and labels as if a tensor had such an axis, or row; and sizes. */
typedef struct tsr_given { uint32_t n; tsr_tensor_id *tensors; tsr_shape *shapes; tsr_dim *sizes; } tsr_given;

/* A size that is each application's own: of a leaf, or stated of a label (`axis` 0). */
typedef struct tsr_sized { uint32_t at; tsr_kind kind; uint32_t axis; } tsr_sized;
typedef TSR_VEC(tsr_sized) tsr_sizes;

/* A scheme of an application (generic.c): `as` is what is followed, solved in a store of its own. */
typedef struct tsr_generic {
	tsr_application as;
	const tsr_application *of;       /* the first of its instances */
	tsr_scheme *scheme;
	tsr_asked_list asked;            /* in the terms of its store */
	TSR_VEC(struct tsr_generic *) others;    /* the same scheme with sizes apart (tsr_scheme_fitting) */
	tsr_tensor_ids arguments;        /* of that one, and the labels from outside */
	tsr_labels labels;
	tsr_sizes sizes;
} tsr_generic;

typedef TSR_VEC(tsr_application *) tsr_applications;

/* All applications of one body. */
struct tsr_body {
	tsr_map keys;                    /* key -> applications that have it, of those that are known */
	tsr_applications written;        /* that others can follow: in the program's store */
	tsr_applications solved;         /* that were not found to follow another: there or in a scheme's */
	TSR_VEC(tsr_generic *) generic;
	uint32_t refused;                /* schemes that came to nothing */
};

struct tsr_share {
	tsr_share_level level;
	tsr_asked_list asked;
	tsr_applications around;         /* applications that are being written down, innermost last */
	uint32_t emitted;                /* of `asked`: the others wait */
	tsr_applications written;        /* in the order in which they begin: those that wait */
	uint32_t next;                   /* of these, while they are solved */
	bool complete;                   /* these are all of the program */
	tsr_map alias_of;                /* tensor -> the one whose shape it has: those that wait */
	tsr_map label_at;                /* label of a rule -> what asked for it: place in `asked` */
	tsr_applications all;
	tsr_map by_body;                 /* body -> tsr_body */
	tsr_applications open;           /* being solved, innermost last */
	TSR_VEC(tsr_owner *) owner_of;   /* tensor -> what can be copied, or is a copy, and made it; or NULL */
	uint64_t compared;               /* size of what was compared with others */
	uint64_t kept;                   /* size of what was kept before it was repeated */
	tsr_inside *inside;              /* while a scheme is solved, or NULL */
	tsr_map canonical;               /* leaf of an application that was shared -> that of the first */
	tsr_share_stats stats;
	tsr_again why;                   /* no application was found to follow */
};

/* A row that nobody has asked the store for yet. */
#define TSR_ROW_PENDING (TSR_NO_ROW - 1)

static inline bool tsr_share_failed(const tsr_elab *el) { return el->tc->nerrors || tsr_store_failed(el->g->store); }
static inline void tsr_share_not(tsr_elab *el, tsr_again why) { el->share->why = why > el->share->why ? why : el->share->why; }
tsr_body *tsr_share_body(tsr_elab *el, const tsr_ast *body);
/* asked.c: emits what was asked for. */
void tsr_asked_emit(tsr_elab *el, tsr_asked *e);
/* The shapes of the slots of e->rule, of both sides, as they are now. */
void tsr_asked_shapes(tsr_elab *el, tsr_asked *e);
/* The label as the store knows it that is el->g->store now. */
tsr_label tsr_label_now(const tsr_elab *el, const tsr_label *l);
/* A label as a shape. */
tsr_shape tsr_label_shape(tsr_elab *el, const tsr_label *l);
/* The labels that `rule` has already are those of `from`, which are the same by name. */
void tsr_labels_take(tsr_rule *rule, uint32_t n, const tsr_label *from);
/* What t asks for, the applications in it among that, of the store that is el->g->store now. */
void tsr_share_emit(tsr_elab *el, const tsr_application *t);

/* ---- which application an application is like (likeness.c) ----------------------------------------------------------------- */

typedef struct tsr_pair { tsr_tensor_id a, b; } tsr_pair;
typedef struct tsr_fold { const tsr_region *r, *onto; } tsr_fold;

/* How an application compares with an earlier one; a: a tensor of this one, b: of the earlier. */
typedef struct tsr_likeness {
	const tsr_application *t, *earlier;
	bool strict;                     /* shapes and sizes are the same */
	tsr_map now;                     /* tensor of the earlier one -> that of this one */
	TSR_VEC(tsr_pair) pairs;         /* arguments that correspond, */
	tsr_labels labels, earlier_labels;   /* and labels from outside */
	tsr_places differ;               /* which of what is asked for has other numbers */
	TSR_VEC(tsr_fold) folds;
	TSR_VEC(tsr_pair) links;
	bool others;                     /* arguments are not the very same tensors */
} tsr_likeness;

/* They ask for the same, but for the shapes of arguments and for sizes. */
bool tsr_applications_like(tsr_elab *el, const tsr_application *t, const tsr_application *earlier, tsr_likeness *c);
/* The latest that is the same, but for what folding and linking make the same; NULL. */
tsr_application *tsr_application_same(tsr_elab *el, const tsr_application *t, tsr_likeness *c);
/* One that asked for the same of arguments whose rows are made alike. */
bool tsr_application_isomorphic(tsr_elab *el, const tsr_application *t);
uint64_t tsr_application_key(tsr_elab *el, const tsr_application *t);
uint64_t tsr_application_outline(tsr_elab *el, const tsr_application *t);
const tsr_owner *tsr_owner_of(const tsr_elab *el, tsr_tensor_id id);

/* ---- schemes (generic.c) ----------------------------------------------------------------------------------------------------- */

/* A scheme that this application is an instance of, and what it gives; NULL where there is none. */
const tsr_generic *tsr_generic_for(tsr_elab *el, const tsr_application *t, tsr_given *given);
/* One that is made of it; NULL where there can be none. */
const tsr_generic *tsr_generic_of(tsr_elab *el, tsr_application *t, tsr_given *given);

/* ---- follow.c -------------------------------------------------------------------------------------------------------------- */

/* What `of` has found is what `t` asks for, one for one: as it is; as it is in the copy of its region; as it is in the instance of the scheme. */
void tsr_follow(tsr_elab *el, tsr_application *t, const tsr_application *of, const tsr_region *copy, const tsr_generic *k,
                const tsr_scheme_copy *instance);

/* ---- alone.c ------------------------------------------------------------------------------------------------------------------ */

/* After closing: nothing outside decided anything in the shared application. */
bool tsr_application_alone(tsr_elab *el, const tsr_application *t);
#endif
