/* The syntax tree of a module: what was written, with its place.  One node type serves all four levels of the language
 * (configuration, tensor expressions, code, program), as they share one syntax. */
#ifndef TSR_SYNTAX_AST_H
#define TSR_SYNTAX_AST_H
#include "spec.h"

typedef enum {
#define TSR_AST(kind, name, doc) TSR_AST_##kind,
#include "ast.def"
#undef TSR_AST
	TSR_AST_KINDS
} tsr_ast_kind;

typedef enum { TSR_LEVEL_CONFIG, TSR_LEVEL_OP, TSR_LEVEL_CD, TSR_LEVEL_MAIN } tsr_level;

typedef struct tsr_ast tsr_ast;
typedef TSR_VEC(tsr_ast *) tsr_asts;

typedef enum {
	TSR_PAT_ANY, TSR_PAT_NAME, TSR_PAT_UNIT, TSR_PAT_INT, TSR_PAT_BOOL, TSR_PAT_STRING, TSR_PAT_TUPLE, TSR_PAT_LIST,
	TSR_PAT_CONS, TSR_PAT_NONE, TSR_PAT_SOME, TSR_PAT_OR
} tsr_pat_kind;

typedef struct tsr_pat tsr_pat;
struct tsr_pat {
	tsr_pat_kind kind;
	tsr_span span;
	tsr_name name;                       /* NAME (operators too: "+") */
	int64_t value;                       /* INT, BOOL */
	const char *text;                    /* STRING */
	TSR_VEC(tsr_pat *) items;            /* TUPLE, LIST; CONS head tail; SOME one; OR two */
};

typedef enum { TSR_ARG_PLAIN, TSR_ARG_LABEL, TSR_ARG_OPTION } tsr_arg_kind;    /* e,  ~x:e or ~x,  ?x:e or ?x */

typedef struct tsr_arg { tsr_arg_kind kind; tsr_name label; tsr_ast *value; tsr_span span; } tsr_arg;

/* A parameter: x, (a, b), _, (); ~x; ?x; ?(x = default); ~(x : ..) and in exports (x : "?n | 64") or (ids : "?n |" i32). */
typedef struct tsr_param {
	tsr_arg_kind kind;
	tsr_name label;                      /* LABEL, OPTION */
	tsr_pat *pat;
	tsr_ast *deflt;                      /* or NULL */
	const char *annotation;              /* or NULL */
	tsr_span annotation_span;
	tsr_name prec;                       /* or NULL */
	tsr_span span;
} tsr_param;

typedef struct tsr_case { tsr_pat *pat; tsr_ast *guard, *body; } tsr_case;

/* What may trail the right operand of an operator and belongs to the operator: "spec", [captures], ~logic:"..". */
typedef struct tsr_trail {
	const char *spec;                    /* decoded text, or NULL */
	tsr_span spec_span;                  /* of the text between the quotes, as tsr_spec_parse() wants it; so logic_span */
	tsr_ast *captures;                   /* LIST of NAME, or NULL */
	const char *logic;
	tsr_span logic_span;
} tsr_trail;

struct tsr_ast {
	tsr_ast_kind kind;
	tsr_span span;                       /* the whole node */
	tsr_span at;                         /* the operator, or the name: where a caret points; of a STRING, between the quotes */
	union {
		int64_t integer;             /* INT, BOOL */
		double real;                 /* FLOAT */
		struct { const char *text; size_t size; } string;
		struct { tsr_name qualifier, name; } name;
		tsr_asts items;              /* TUPLE LIST ARRAY SEQ */
		struct { tsr_ast *e; tsr_name tag; const char *annotation; } tagged;
		struct { tsr_ast *fn; TSR_VEC(tsr_arg) args; } apply;
		struct { tsr_name op; tsr_ast *left, *right; tsr_trail trail; } binary;   /* also a +* b "spec" [h] */
		struct { tsr_name op; tsr_ast *e; } unary;
		struct { tsr_name op; tsr_ast *e; tsr_trail trail; } specop;
		struct { tsr_level level; TSR_VEC(tsr_param) params; tsr_ast *body; } fun;
		struct {
			tsr_level level; bool rec; tsr_pat *pat; TSR_VEC(tsr_param) params;
			tsr_ast *value, *body;
		} let;
		struct { tsr_ast *cond, *then, *other; } iff;
		struct { tsr_ast *subject; TSR_VEC(tsr_case) cases; } match;
		struct {
			tsr_name name, prec; tsr_ast *init;
			tsr_ast *axes[TSR_KINDS];       /* LIST, or NULL where none is given */
		} decl;
		struct { tsr_ast *e; tsr_name field; } field;
		struct { tsr_ast *e; tsr_asts indices; } index;
		struct {
			tsr_name accum;                 /* ":" for plain =:, else the accumulator: "+" "-" "*" "/" "**" "@^" "@-" "&&" "||" */
			bool colon;                     /* =:acc : set to neutral first */
			tsr_ast *target, *value; tsr_trail trail;
		} assign;
		struct { tsr_ast *target, *value; } store;
		struct { tsr_ast *target, *value; } setref;
		struct { tsr_pat *pat; tsr_ast *from, *to, *list, *body; bool down; } loop;   /* FOR: list NULL or from/to NULL */
		struct { tsr_ast *cond, *body; } whil;
		struct { tsr_asts text; tsr_ast *code; } comment;
		struct { tsr_name module; } open;
		struct { tsr_name name; TSR_VEC(tsr_param) params; tsr_ast *body; } export;
	};
};

/* A parsed module: top-level items (LET, OPEN, EXPORT) in order. */
typedef struct tsr_module_ast { uint32_t file; tsr_asts items; } tsr_module_ast;

/* Parses a source; reports every syntax error it finds (resuming at the next top-level item) and never returns NULL. */
tsr_module_ast *tsr_parse(tsr_compiler *tc, uint32_t file);
/* Parses one expression that stands inside a string literal (interpolation); `span` is its place. */
tsr_ast *tsr_parse_expr(tsr_compiler *tc, const char *text, size_t size, tsr_span span);

/* --dump=tokens: one line per token, its kind, place and text. */
void tsr_tokens_print(tsr_compiler *tc, uint32_t file, FILE *out);
/* Calls `visit` on each child of a node that is there, in the order in which they were written; not on deeper ones. A visitor
 * may replace the child. Captures of a trail are no children: they name labels of the spec. */
typedef void tsr_ast_visit(void *ctx, tsr_ast **child);
void tsr_ast_children(tsr_ast *e, tsr_ast_visit *visit, void *ctx);

/* --dump=tokens: one token a line, with its place. */
void tsr_tokens_print(tsr_compiler *tc, uint32_t file, FILE *out);
/* --dump=ast, and the schema check (a fault of ours when it fails). */
void tsr_ast_print(tsr_compiler *tc, const tsr_module_ast *m, FILE *out);
void tsr_ast_check(tsr_compiler *tc, const tsr_module_ast *m);
#endif
