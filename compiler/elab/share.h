/* Inside elab/: what the files that let applications share their constraints have in common.  follow.c writes down and follows what
 * an application asks of the store, likeness.c finds an earlier application that saw the like, generic.c makes schemes of what was
 * written down, share.c applies functions and decides afterwards whether its guesses were right. */
#ifndef TSR_ELAB_SHARE_H
#define TSR_ELAB_SHARE_H
#include "state.h"

/* ---- what is written down (follow.c) ---------------------------------------------------------------------------------------- */

typedef enum { TSR_ASKED_FRESH, TSR_ASKED_LEAF, TSR_ASKED_RULE, TSR_ASKED_EQUAL, TSR_ASKED_LABEL } tsr_asked_kind;

/* Something that an application asked of the store. */
typedef struct tsr_asked {
	tsr_asked_kind kind;
	tsr_shape shape;                 /* what came of it; EQUAL: the left side; RULE: the result */
	tsr_tensor_id tensor;            /* whose shape that is; TSR_NONE where it is not known (FRESH, LABEL) */
	tsr_tensor_id leaf;              /* LEAF: that of the first application, where this one was found to be the same */
	uint32_t n;
	const tsr_shape *shapes;         /* operands; EQUAL: the right side */
	const tsr_tensor_id *tensors;    /* whose shapes those are */
	const uint32_t *who;             /* in a scheme: which tensors of an instance those are, the result's first (tsr_who) */
	const tsr_rule *rule;
	tsr_share_fact fact;             /* LABEL */
	tsr_label a, b;
	const tsr_label *at_a, *at_b;    /* where those stand: in the rule that captured them */
	int64_t number;
	uint32_t mint;                   /* asked while a parameter was made: number of that in tsr_share.mints + 1, or 0 */
	bool stated[TSR_KINDS];          /* LEAF: rows that are written; the others were asked for just before */
	bool sized;                      /* in a scheme: the leaf's sizes, the number are those of each application; */
	tsr_dim size;                    /* LABEL: what stands for the number */
	uint32_t from, to;               /* its constraints; to == 0: up to the next one's. In a scheme: of those that are left */
} tsr_asked;

typedef TSR_VEC(tsr_asked) tsr_asked_list;

/* A tensor that a scheme mentions: that of something asked for, by its number; an argument, by its number and this; or what has no more
 * than its shape. */
#define TSR_WHO_ARGUMENT 0x80000000u
#define TSR_WHO_SHAPE    UINT32_MAX
typedef TSR_VEC(const tsr_region *) tsr_regions;

typedef struct tsr_body tsr_body;

/* A parameter: the nth that this declaration gave to this instance. */
typedef struct tsr_mint { tsr_instance *instance; const tsr_ast *declaration; uint32_t nth; tsr_tensor_id tensor; } tsr_mint;
typedef TSR_VEC(tsr_mint) tsr_mints;
typedef TSR_VEC(uint32_t) tsr_mint_ids;

/* An application that was written down, or a scheme that was made of one. */
typedef struct tsr_application {
	const tsr_ast *body;
	const tsr_env *env;
	uint32_t round;                  /* which application of its instance; */
	bool declares;                   /* which matters: it has parameters of instances that it did not make */
	uint32_t instances;              /* how many there were before it */
	uint32_t decides, decided;       /* what numbers of the configuration decided in it (tsr_trace_decisions) */
	const tsr_asked_list *asked;     /* [first, last) of it */
	uint32_t first, last;
	uint32_t first_tensor;
	tsr_region *region;
	bool closed;                     /* nothing outside is mentioned: it can be copied */
	bool again;                      /* one like it was there before */
	tsr_body *all;                /* of its function */
	tsr_again why;                   /* it was solved */
	bool shared;                     /* followed as the same, at least once */
	tsr_regions onto;                /* what parameters of later applications were folded onto */
	TSR_VEC(tsr_tensor_id) results;
	bool hidden;                     /* nothing else that it made is seen from outside, but for leaves and labels */
	TSR_VEC(struct tsr_application *) uses;  /* shared applications inside of it */
	TSR_VEC(tsr_shape) given;        /* arguments from outside, as the instances in it have them */
	tsr_map applied;                 /* tensors that it was applied to, of all applications */
	tsr_row_list links;
} tsr_application;

typedef TSR_VEC(const tsr_value *) tsr_places;

/* A region that is a scheme, and the next larger one. */
typedef struct tsr_owner { const tsr_region *region; struct tsr_owner *around; } tsr_owner;

/* A scheme of an application (generic.c): `as` is what is followed, solved in a store of its own. */
typedef struct tsr_generic {
	tsr_application as;
	const tsr_application *of;       /* what it was made of */
	tsr_scheme *scheme;
	TSR_VEC(tsr_tensor_id) arguments;    /* of the application that it was made of */
	tsr_places numbers;             /* of the configuration, that may be others */
	tsr_mint_ids made, found;       /* parameters (mints) that an instance makes, and those that were there */
} tsr_generic;

typedef TSR_VEC(tsr_application *) tsr_applications;

/* All applications of one body. */
struct tsr_body {
	tsr_applications written;
	TSR_VEC(tsr_generic *) generic;
	uint32_t refused;                /* schemes that came to nothing */
	uint32_t solved;                 /* applications */
};

struct tsr_share {
	tsr_share_level level;
	bool broken;                     /* something did not follow, */
	bool misled;                     /* which a scheme for other numbers had promised */
	tsr_asked_list asked;
	tsr_applications all;
	tsr_map by_body;                 /* body -> tsr_body */
	tsr_applications open;           /* being written down, innermost last */
	const tsr_application *following;
	const tsr_region *copy;          /* of the region that is followed, or NULL */
	const tsr_generic *instance;     /* what is followed is one of this scheme, or NULL; neither: the same */
	const tsr_scheme_copy *made;     /* the instance, */
	const tsr_tensor_id *given;      /* its arguments, */
	TSR_VEC(tsr_tensor_id) mine;     /* its tensors, for each thing asked for, */
	tsr_shape fresh;                 /* and the shape that was asked for last */
	uint32_t cursor, depth, tensor;
	TSR_VEC(tsr_owner *) owner_of;   /* tensor -> what can be copied, or is a copy, and made it; or NULL */
	uint64_t kept;                   /* size of what was kept before it was repeated */
	tsr_mints mints;
	tsr_map mint_of;                 /* parameter -> its number in mints + 1 */
	uint32_t minting;                /* the parameter that is being made, + 1, or 0; not those that its initialisation makes */
	tsr_map canonical;               /* leaf of an application that was shared -> that of the first */
	tsr_share_stats stats;
	tsr_again why;                   /* no application was found to follow */
};

static inline bool tsr_share_failed(const tsr_elab *el) { return el->tc->nerrors || tsr_store_failed(el->g->store); }
static inline void tsr_share_not(tsr_elab *el, tsr_again why) { el->share->why = why > el->share->why ? why : el->share->why; }
/* follow.c: the three rows are now known to be the same. */
bool tsr_shapes_one(tsr_elab *el, const tsr_shape *a, const tsr_shape *b);
bool tsr_labels_one(tsr_elab *el, const tsr_label *a, const tsr_label *b);
/* The same index form, numbers of the configuration put in. */
bool tsr_specs_one(tsr_elab *el, const tsr_spec *a, const tsr_spec *b);

/* ---- which application an application is like (likeness.c) ----------------------------------------------------------------- */

typedef struct tsr_pair { tsr_tensor_id a, b; } tsr_pair;
typedef struct tsr_instances { tsr_instance *a, *b; } tsr_instances;
typedef struct tsr_fold { const tsr_region *r, *onto; } tsr_fold;

/* How an application compares with an earlier one; a: a tensor of this one, b: of the earlier. */
typedef struct tsr_likeness {
	tsr_elab *el;
	bool loose;                      /* whatever the shapes, and (level SIZES) the numbers */
	tsr_places numbers;             /* of the earlier one's, those that differ */
	TSR_VEC(tsr_pair) pairs;         /* tensors that correspond and are not the same */
	TSR_VEC(tsr_fold) folds;
	TSR_VEC(tsr_pair) links;
	TSR_VEC(tsr_instances) instances;    /* that correspond and are not the same */
} tsr_likeness;

bool tsr_envs_like(tsr_elab *el, const tsr_env *env, const tsr_env *earlier, bool loose, tsr_likeness *c);
/* The same for an application that is at hand. */
bool tsr_application_like(tsr_elab *el, const tsr_application *t, const tsr_env *env, bool loose, tsr_likeness *c);
/* The latest that is the same, but for what folding and linking make the same; NULL. */
tsr_application *tsr_application_same(tsr_elab *el, const tsr_body *all, const tsr_env *env, tsr_likeness *c);
/* They asked for the same but for sizes that the configuration gave. */
bool tsr_applications_alike(tsr_elab *el, const tsr_application *t, const tsr_application *u);
bool tsr_places_within(const tsr_places *some, const tsr_places *all);
uint32_t tsr_round_of(const tsr_env *env);
const tsr_owner *tsr_owner_of(const tsr_elab *el, tsr_tensor_id id);

/* minted.c: what the application at hand has for the parameter that a mint of the earlier one made, TSR_NONE where it has none yet; false
 * where each application makes one of its own. */
bool tsr_mint_lasts(const tsr_application *t, const tsr_mint *m);
tsr_tensor_id tsr_minted_now(const tsr_likeness *c, const tsr_mint *m);
const tsr_mint *tsr_mint_of(const tsr_elab *el, tsr_tensor_id id);

/* ---- schemes (generic.c) ----------------------------------------------------------------------------------------------------- */

/* A scheme that this application is an instance of, and what it gives for the arguments; NULL where there is none. */
const tsr_generic *tsr_generic_for(tsr_elab *el, tsr_body *all, const tsr_env *env, const tsr_tensor_id **given);
tsr_shape *tsr_shapes_of(tsr_elab *el, uint32_t n, const tsr_tensor_id *tensors);
#endif
