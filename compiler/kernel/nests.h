/* What the emitters of statements and nests share. */
#ifndef TSR_KERNEL_NESTS_H
#define TSR_KERNEL_NESTS_H
#include "kernel.h"
#include "../opt/opt.h"

/* ---- stmt.c --------------------------------------------------------------------------------------------------------------- */
void tsr_emit_stmts(tsr_emit *e, const tsr_stmts *body);
/* The engine does what this one says together with the contraction behind it. */
bool tsr_emit_left_out(const tsr_stmts *body, uint32_t i);

/* ---- wide.c: loops in vectors written out ---------------------------------------------------------------------------------- */
/* The loop's iterations from .. to, side by side; false: not such a loop, nothing was emitted. */
bool tsr_emit_wide(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef from, LLVMValueRef to);
/* The statement of the loop stores or updates elements that lie side by side along it, from what does or is the same for all of it. */
bool tsr_emit_side_by_side(tsr_emit *e, const tsr_stmt *loop, const tsr_stmt *store);
/* The loop does nothing but reductions into locals, which vectors can take. */
bool tsr_emit_plain_sums(tsr_emit *e, const tsr_stmt *loop);
/* Lanes for the iterations that are left from `index` on. */
LLVMValueRef tsr_emit_lanes_left(tsr_emit *e, LLVMValueRef index, LLVMValueRef to, unsigned lanes);
bool tsr_emit_surely_none(LLVMValueRef from, LLVMValueRef to);
/* The emitter's names of what changes from row to row. */
typedef struct tsr_emit_view { LLVMValueRef *syms, *locals, *buffers; } tsr_emit_view;
static inline tsr_emit_view tsr_emit_view_now(const tsr_emit *e) { return (tsr_emit_view){e->syms, e->locals, e->buffers}; }
/* The same names, to be changed apart from these (stmt.c); its buffers stay the same array. */
LLVMValueRef *tsr_emit_names_copy(tsr_emit *e, LLVMValueRef *from, size_t n);
tsr_emit_view tsr_emit_view_copy(tsr_emit *e);
static inline void tsr_emit_enter(tsr_emit *e, const tsr_emit_view *v) { e->syms = v->syms, e->locals = v->locals, e->buffers = v->buffers; }
/* A walk of one row among those of others: how it goes alone. */
typedef struct tsr_emit_walk { const tsr_stmt *loop; tsr_emit_view view; } tsr_emit_walk;

/* ---- seam.c: the line in which a row that goes around the caches ends and the next one begins ------------------------------- */
/* Of rows that one thread computes in order: the walk and its store, the rows' loop, its first and last row, and what waits: so many elements, and where they belong. */
typedef struct tsr_seam { const tsr_stmt *walk, *store; uint32_t row; LLVMValueRef first, last, buffer, count, place; } tsr_seam;
/* Whether any of the walk's rows begin within a line, as the run knows; NULL: they do not follow each other, or do not go around the caches. */
LLVMValueRef tsr_seam_torn(tsr_emit *e, const tsr_stmt *rows, const tsr_stmt *walk);
/* Where that may be; false: NULL above. */
bool tsr_seam_make(tsr_emit *e, tsr_seam *s, const tsr_stmt *rows, const tsr_stmt *walk, LLVMValueRef from, LLVMValueRef to);
/* Of the rows that are being emitted; NULL: nothing waits between them. */
const tsr_seam *tsr_seam_of(const tsr_emit *e, const tsr_stmt *walk);
/* Around what computes a row from its first element to its first line, and from its last whole line, in lanes, to its end: `at` is where the store goes meanwhile. */
typedef struct tsr_seam_end { LLVMValueRef waiting, from, to; } tsr_seam_end;
tsr_seam_end tsr_seam_head(tsr_emit *e, const tsr_seam *s, LLVMValueRef from, LLVMValueRef start, tsr_stream *at);
void tsr_seam_head_end(tsr_emit *e, const tsr_seam *s, const tsr_seam_end *end);
tsr_seam_end tsr_seam_tail(const tsr_seam *s, LLVMValueRef from, LLVMValueRef to, tsr_stream *at);
void tsr_seam_tail_end(tsr_emit *e, const tsr_seam *s, const tsr_seam_end *end);
/* Walks of one extent, side by side, each in its own view; what is fetched soon is said of the first one's row. */
enum { TSR_MOST_WALKS = 4 };
void tsr_emit_wide_walks(tsr_emit *e, uint32_t n, const tsr_emit_walk *walks);
unsigned tsr_emit_wide_lanes(tsr_emit *e, const tsr_stmt *loop);
/* No cache holds the array. */
bool tsr_emit_large(const tsr_emit *e, tsr_buffer_id b);
/* Where lines are fetched to: the first cache, for which a core can wait for few lines at once, or the second. */
typedef enum tsr_fetch { TSR_FETCH_NEAR = 3, TSR_FETCH_FAR = 2 } tsr_fetch;
/* Has the lines fetched of what the lanes load so many lines behind `index`. */
void tsr_emit_fetch_lines(tsr_emit *e, const tsr_wide *w, const tsr_expr *load, LLVMValueRef index, int64_t lines, tsr_fetch to);
/* Has what the loop reads from memory, n loads, fetched in two steps: far ahead into the second cache, from there in time into the first. */
void tsr_emit_fetch_soon(tsr_emit *e, const tsr_wide *w, uint32_t n, const tsr_expr *const *loads, LLVMValueRef index);
/* Of loops in vectors that go together: so many lanes at a time, and what each loads side by side from arrays that no cache holds, one load of each array. */
enum { TSR_MOST_LARGE = 4 };
typedef struct tsr_fetched { const tsr_stmt *loop; unsigned lanes; uint32_t nlarge; const tsr_expr *const *large; tsr_emit_view view; } tsr_fetched;
/* What they read soon; where one of several says what is read in the next row, that, and for the first one what it reads of its own row. */
void tsr_fetch_walks(tsr_emit *e, uint32_t n, const tsr_fetched *walks, LLVMValueRef index);
/* Processors have the operation, or math.c writes it out, for vectors. */
bool tsr_emit_in_lanes(const tsr_emit *e, const tsr_expr *operation);
/* Of the loop that is being emitted: the greater or smaller of both, where lanes remember that they met a NaN; else NULL. */
LLVMValueRef tsr_emit_wide_pick(tsr_emit *e, tsr_local_id id, tsr_acc acc, LLVMValueRef element, LLVMValueRef value);
/* Of the loop that is being emitted: its store's lanes. */
void tsr_emit_wide_store(tsr_emit *e, const tsr_stmt *store, tsr_prec p, LLVMValueRef value, LLVMValueRef address);

/* ---- rotated.c: exponentials in two halves -------------------------------------------------------------------------------------- */
/* Of rows whose walks go together: the walks of the greatest of a value and of exponentials of it, less that, for which nobody asks until a row's end whether they
 * met a number whose exponential vanishes or NaN; and where that is said then. */
typedef struct tsr_hope { const tsr_stmt *greatest, *less; LLVMValueRef worst; } tsr_hope;
/* Whether a walk of the rows is the second of such; what comes before its end may be computed again. */
bool tsr_hope_in(const tsr_emit *e, const tsr_stmt *rows, const tsr_stmt *walk, tsr_hope *out);
/* Of a loop in vectors: the exponential that is computed so, or NULL, and its first half, where it is kept. */
typedef struct tsr_rotated { const tsr_expr *exp; const tsr_wide *wide; bool beside, at_once; LLVMValueRef sum, rest, last; tsr_hope *hope; } tsr_rotated;
/* Before the loop, whose vectors from `from` to `to` are whole ones. */
void tsr_rotated_begin(tsr_emit *e, tsr_rotated *r, const tsr_wide *w, LLVMValueRef from, LLVMValueRef to);
/* The statements of its vectors from `index` on, where there is such an exponential. */
void tsr_rotated_body(tsr_emit *e, const tsr_rotated *r, LLVMValueRef index);

/* ---- one_place.c: comparisons that hold in one iteration --------------------------------------------------------------------- */
/* The body of a loop without sums, for so many iterations side by side. */
void tsr_emit_places(tsr_emit *e, const tsr_stmt *loop, unsigned lanes);

/* ---- outer.c: loops around sums, in vectors -------------------------------------------------------------------------------- */
/* The loop's iterations from .. to, side by side; false: not such a loop, nothing was emitted. */
bool tsr_emit_outer(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef from, LLVMValueRef to);
/* A loop over groups (opt/groups.c): one that stands for it and the one over results, while it stands at 0 itself; NULL: it is none.  And lanes of such. */
typedef struct tsr_groups tsr_groups;
const tsr_stmt *tsr_emit_groups(const tsr_emit *e, const tsr_stmt *s, tsr_groups *groups);
void tsr_emit_group_lanes(tsr_wide *w, const tsr_groups *groups);
/* It is such a loop, of so many iterations at least; `groups`: it stands for these, or NULL. */
bool tsr_emit_outer_pays(tsr_emit *e, const tsr_stmt *loop, int64_t least, const tsr_groups *groups);
/* A guard within such a loop that mentions it; false: it does not, nothing was emitted. */
bool tsr_emit_outer_guard(tsr_emit *e, const tsr_stmt *guard);
/* A loop within such a loop, of a few iterations, that are written out; false: it is not, nothing was emitted. */
bool tsr_emit_outer_short(tsr_emit *e, const tsr_stmt *loop);

/* ---- records.c: few numbers of each iteration, which lie side by side ------------------------------------------------------------ */
/* The loop's iterations from .. to, side by side; false: not such a loop, nothing was emitted. */
bool tsr_emit_records(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef from, LLVMValueRef to);

/* ---- outer_rows.c: such loops for several iterations of the one around ------------------------------------------------------- */
/* All iterations of the loop around, or, where threads divide it, from .. to; false: not such a loop, nothing was emitted. */
bool tsr_emit_outer_rows(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef from, LLVMValueRef to);

/* ---- lane_tiles.c: products of matrices that lie side by side, element by element --------------------------------------------------- */
/* The iterations from .. to of the loop over rows, and all of those within; false: not such a nest, nothing was emitted. */
bool tsr_emit_lane_tiles(tsr_emit *e, const tsr_stmt *rows, LLVMValueRef from, LLVMValueRef to);

/* ---- plane.c: windows of rows and columns, several rows of results together ----------------------------------------------------- */
/* The iterations from .. to of the loop over rows; false: not such a nest, nothing was emitted. */
bool tsr_emit_plane(tsr_emit *e, const tsr_stmt *rows, LLVMValueRef from, LLVMValueRef to);

/* ---- window_sums.c: sums for each place of a window ------------------------------------------------------------------------------ */
/* All of the nest that begins with this loop; false: not such a nest, nothing was emitted. */
bool tsr_emit_window_sums(tsr_emit *e, const tsr_stmt *loop);

/* ---- window.c: short windows along lanes -------------------------------------------------------------------------------------- */
/* All positions of a loop within such a loop, which is written out; false: its loads are taken as they are, nothing was emitted. */
bool tsr_emit_window(tsr_emit *e, const tsr_stmt *loop);

/* ---- turned.c: squares of two loops, turned in registers --------------------------------------------------------------------- */
/* The iterations from .. to of the loop, and all of the one within; false: not such a nest, nothing was emitted. */
bool tsr_emit_turned(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef from, LLVMValueRef to);

/* ---- turned_joined.c ----------------------------------------------------------------------------------------------------------- */
/* The nest that begins with this loop, of which others were made one with the two that are turned, and stand at 0; NULL: none were. */
const tsr_stmt *tsr_emit_turned_joined(tsr_emit *e, const tsr_stmt *loop);

/* ---- group_rows.c: elements of groups that fill no vectors ------------------------------------------------------------------ */
/* All that is read lies side by side along both loops, the elements of a group one after the other and groups, too, or along one while the other repeats it; and so does what the statement stores. */
bool tsr_emit_in_groups(const tsr_emit *e, const tsr_stmt *group, const tsr_stmt *along, const tsr_expr *x);
bool tsr_emit_stores_groups(const tsr_emit *e, const tsr_stmt *group, const tsr_stmt *along, const tsr_stmt *s);
/* Elements of both loops, where they fill vectors, each of which holds whole groups; else 0. */
int64_t tsr_emit_group_columns(const tsr_emit *e, const tsr_stmt *group, const tsr_stmt *along);
/* The loop has only others in it, the two innermost of which are such; the two that this one heads; false: none of these, nothing was emitted. */
bool tsr_emit_around_groups(const tsr_emit *e, const tsr_stmt *loop);
bool tsr_emit_group_rows(tsr_emit *e, const tsr_stmt *loop);

/* ---- columns.c: sums of columns in registers ------------------------------------------------------------------------------- */
/* The loops over rows and columns that this one heads; false: none of these, nothing was emitted. */
bool tsr_emit_columns(tsr_emit *e, const tsr_stmt *loop);

/* ---- short_rows.c: sums of columns of which a register holds several rows ---------------------------------------------------- */
/* The loops over rows and columns that this one heads; false: none of these, nothing was emitted. */
bool tsr_emit_short_rows(tsr_emit *e, const tsr_stmt *loop);

/* ---- flat_window.c: windows over images of a few channels ---------------------------------------------------------------------- */
/* The nest with its innermost two parallel loops, of which the outer one stands at 0, as one; NULL: it is no such nest. */
const tsr_stmt *tsr_emit_flat_window(tsr_emit *e, const tsr_stmt *nest);

/* ---- sum_parts.c: sums of as many iterations as the run says ----------------------------------------------------------------------- */
/* A sum that opt/totals.c marks, in parts, of which each thread takes some; all of them know the whole then.  False: it is none. */
bool tsr_emit_sum_parts(tsr_emit *e, const tsr_stmt *s);

/* ---- one_row.c: products of one row ---------------------------------------------------------------------------------------- */
/* A contraction that the run may ask for one row, and that packs B for few; false: it is none such, and nothing is emitted. */
bool tsr_emit_one_row(tsr_emit *e, const tsr_stmt *loop);

/* ---- flat.c: short loops within others ---------------------------------------------------------------------------------------- */
/* The innermost of the parallel loops that begin with this one, with iterations for all of them, the others put to stand at 0; NULL: it is neither short
 * nor goes around the caches, or what they touch does not lie in a row. */
const tsr_stmt *tsr_emit_flat(tsr_emit *e, const tsr_stmt *loop);
/* All that the value touches lies in a row across these loops, the innermost last, of which all but the first have known extents, or is the same for all of them. */
bool tsr_emit_flat_value(const tsr_emit *e, uint32_t n, const tsr_stmt *const *loops, const tsr_expr *x);

/* ---- short_sums.c: sums over short rows that do not follow each other ---------------------------------------------------------- */
/* The sums that this loop heads; false: none of these, nothing was emitted. */
bool tsr_emit_short_sums(tsr_emit *e, const tsr_stmt *loop);

/* ---- scan.c: sums up to each position -------------------------------------------------------------------------------------------- */
/* All of a loop that combines elements in order and stores what they come to; false: not such a loop, nothing was emitted. */
bool tsr_emit_scan(tsr_emit *e, const tsr_stmt *loop);

/* ---- overlap.c: rows whose walks go together ------------------------------------------------------------------------------------ */
/* False: not such a loop, nothing was emitted. */
bool tsr_emit_overlap(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef from, LLVMValueRef to);

/* ---- stream.c: stores around the caches ----------------------------------------------------------------------------------- */
void tsr_emit_stream(tsr_emit *e, const tsr_stmt *loop, LLVMValueRef from, LLVMValueRef to);
/* Of a loop that streams: the store that does. */
const tsr_stmt *tsr_emit_around_of(const tsr_stmt *loop);
/* The loop's last store goes around the caches, here; and what it asks for meanwhile. */
static inline bool tsr_emit_streams(const tsr_emit *e, const tsr_stmt *loop) { return loop->loop.stream && !e->near; }
static inline const tsr_expr *tsr_emit_ahead(const tsr_emit *e, const tsr_stmt *loop) { return e->near ? NULL : loop->loop.ahead; }
/* How many elements at `address` lie before the next whole line. */
LLVMValueRef tsr_emit_to_line(tsr_emit *e, tsr_prec p, LLVMValueRef address);
/* Marks a store of (a part of) a line. */
void tsr_emit_around(tsr_emit *e, LLVMValueRef store);
/* Has the line of this element fetched. */
void tsr_emit_fetch(tsr_emit *e, const tsr_expr *load, tsr_fetch to);
/* Of these loops the one that the term stands for, or NULL. */
static inline const tsr_stmt *tsr_loop_among(const tsr_stmt *const *loop, uint32_t n, const tsr_lin_term *t)
{
	for (uint32_t i = 0; i < n; i++)
		if (t->kind == TSR_LSYM_LOOP && loop[i]->loop.sym == t->id)
			return loop[i];
	return NULL;
}
/* below.c: of windows over an image that comes from memory, `rows` and `columns` from one to the next, what those of the next iteration of the loop `down` have that none above them has; `window`: the
 * loop of its rows in a window; image NULL: nothing.  Of so many places from `at` on, in the lanes from `channel` on. */
typedef struct tsr_below { const tsr_expr *image; const tsr_stmt *row, *channel, *window; uint32_t down; int64_t rows, columns; } tsr_below;
void tsr_below_note(tsr_emit *e, tsr_below *b, const tsr_stmt *row, const tsr_stmt *channel, const tsr_stmt *const *inner, uint32_t n, const tsr_expr *load);
void tsr_below_ask(tsr_emit *e, const tsr_below *b, const tsr_stmt *const *inner, uint32_t n, LLVMValueRef at, uint32_t places, LLVMValueRef channel);
/* Where the first whole line of what goes around the caches begins, or `to`. */
LLVMValueRef tsr_emit_first_line(tsr_emit *e, const tsr_stmt *loop, const tsr_stmt *store, LLVMValueRef from, LLVMValueRef to);
/* Each row of what is stored begins at a line. */
bool tsr_emit_begins_on_lines(const tsr_emit *e, const tsr_stmt *store);
/* Where a row that goes around the caches ends within a line, that line is asked for while the row is computed: a store that misses holds up all behind it, also those that
 * go around. */
void tsr_emit_fetch_last_line(tsr_emit *e, const tsr_stmt *loop, const tsr_stmt *store, LLVMValueRef to);
/* Whatever is loaded so far is there before anything that follows begins; an x86 processor's. */
void tsr_emit_wait(tsr_emit *e);
/* Behind the last statement of a kernel. */
void tsr_emit_stream_end(tsr_emit *e, const tsr_stmts *kernel);

/* ---- repeat.c ---------------------------------------------------------------------------------------------------------------- */
/* Nothing reads what the statements store, so that iterations of theirs may be done twice. */
bool tsr_emit_may_repeat(const tsr_stmts *body);

/* ---- turns.c ----------------------------------------------------------------------------------------------------------------- */
/* A loop that says so, and those in it. */
void tsr_emit_turns(tsr_emit *e, const tsr_stmt *s);

/* ---- kernel.c ------------------------------------------------------------------------------------------------------------- */
/* Emits the kernel as a function of its own and its call here. */
void tsr_emit_kernel_call(tsr_emit *e, const tsr_stmt *kernel);
#endif
