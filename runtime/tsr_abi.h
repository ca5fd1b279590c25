/* What compiled programs and the compiler's interpreter call: the private interface of the runtime.
 *
 * LLVM code reaches these functions by name, so every signature uses only i32 (int32_t), i64, double and pointers.  No
 * function here returns after a failure unless its comment says so: it reports through tsr_fail, which ends the program
 * with exit status 1 and one line, "where: error: message".
 *
 *   where     "examples/x.tsr:3:14", a constant of the compiled program
 *   prec      a number of prec.def: BOOL is 1
 *   dims      sizes in memory order: batch, output, input; the last one varies fastest
 *   a symbol  a size known only at run time, an index into tsr_syms(ctx); written -1 - s where a size may stand
 *
 * Every function lives in a file of its own concern, and an executable is linked with --gc-sections: what a program does
 * not call, it does not contain.  File formats are objects (tsr_format_npy ...) so that only named ones are linked. */
#ifndef TSR_ABI_H
#define TSR_ABI_H
#include "tsr.h"

typedef tsr_context tsr_ctx;

enum { TSR_MAX_RANK = 32, TSR_MAX_RESULTS = 16 };
#define TSR_MAX_SIZE ((int64_t)1 << 40) /* positions of an axis that a caller gives: sums of sizes cannot overflow */

/* Bytes between a buffer and the next one in memory that they share, in the compiler's arena and in the runtime's blocks.  Arrays of whole pages that are walked together
 * would meet in the same sets of the cache; where one that is written begins one to five lines further into its pages than one that is read, each load of what comes next
 * waits for a store 4 KiB away (on Zen 4 a layer norm took 1.5 times as long); and powers of two from 128 MiB on are as many rows of the same banks of memory (an update of
 * four arrays took 3 times as long). */
enum { TSR_PAGE = 4096, TSR_APART = 512 }; /* and rows that are walked together lie so far off whole pages from each other */
static inline int64_t tsr_gap(int64_t bytes)
{
	enum { LINE = 64, NEAR = 3 * LINE, SOME_PAGES = 1 << 16, BANKS = 1 << 25 };
	return bytes < TSR_PAGE ? 0 : bytes < SOME_PAGES ? NEAR : bytes < BANKS ? TSR_APART : TSR_PAGE + TSR_APART;
}

/* ------------------------------------------------------------------------------------------------ the program */

typedef enum tsr_buffer_role {
	TSR_ROLE_TENSOR, /* computed; zero at the start */
	TSR_ROLE_PARAM,  /* a parameter: kept by checkpoints */
	TSR_ROLE_DATA,   /* read from a file when the program starts */
	TSR_ROLE_CONST   /* `init` itself is the buffer: read-only data of the executable */
} tsr_buffer_role;

/* One buffer.  LLVM type { ptr, ptr, ptr, i64, i64, i32, i32 }. */
typedef struct tsr_buffer_info {
	const char *name;    /* binding path, "net.hidden.w" */
	const int64_t *dims; /* `rank` of them; negative: a symbol */
	const void *init;    /* first contents (`bytes` long), or NULL for zero */
	int64_t bytes;       /* size, or -1 when it depends on a symbol: the program then calls tsr_alloc_buffer itself */
	int64_t rank;
	int32_t prec;
	int32_t kind; /* tsr_buffer_role */
} tsr_buffer_info;

/* The compiled program as constants.  LLVM type { ptr, ptr, i64, i64, i64, i64, ptr, ptr }. */
typedef struct tsr_program {
	const char *name;  /* of the program, for --help and messages: "digits" */
	const char *usage; /* what --help says after the options, or NULL */
	uint64_t seed;     /* unless --seed is given */
	int64_t nbuffers;
	int64_t nsyms; /* run-time sizes */
	int64_t nnums; /* runtime numbers: the indices that `run code ~i` passes */
	const tsr_buffer_info *buffers;
	const char *const *syms; /* names of the run-time sizes, for messages; may be NULL */
} tsr_program;

/* The level of this machine's processor, from 1 on, 2 for x86-64-v2; at most the one that TSR_CPU in the environment names. */
int32_t tsr_cpu_level(void);
/* 1: this process may use the processor's matrix registers, for bf16; the first call asks the system.  Not where TSR_CPU is set. */
int32_t tsr_matrix_unit(void);

/* Begins: reads --data DIR, --seed N and --help (which ends the program) wherever they stand before a `--`; what remains
 * are the program's arguments.  Allocates every buffer of known size, zeroed or copied from `init`.  Symbols are -1
 * (unknown), numbers 0. */
tsr_ctx *tsr_start(int32_t argc, char **argv, const tsr_program *program);
/* The same inside another process, with callbacks; `config` may be NULL.  The interpreter and C programs use this. */
tsr_ctx *tsr_start_with(int32_t argc, char **argv, const tsr_program *program, const tsr_config *config);
/* Ends: flushes the output, frees everything.  The exit status of the program: 0, or 1 when the output failed. */
int32_t tsr_finish(tsr_ctx *ctx);

/* ---- what C calls: the functions of a generated header are thin wrappers of these ---- */

/* An exported function as constants.  LLVM type { ptr, ptr, ptr, [4 x i64], [4 x ptr], ptr, ptr, i64 }. */
typedef struct tsr_function {
	const char *name;           /* "predict" */
	const char *where;          /* of its definition */
	const tsr_program *program; /* whose contexts it takes */
	int64_t nsizes, ninputs, nnumbers, nresults;
	const int64_t *sizes;   /* symbols */
	const int64_t *inputs;  /* buffers, which a call lends; the caller's memory is only read */
	const int64_t *numbers; /* runtime numbers */
	const int64_t *results; /* buffers, copied out when the call is done or computed where the caller wants them */
	const char *const *input_names;
	/* With sizes, inputs and numbers in the tables: tests the sizes, gives memory to what depends on them, computes, and says
	 * how long each result is. */
	void (*run)(tsr_ctx *ctx, int64_t *result_bytes);
	int64_t placed; /* bit i: result i is computed where the caller wants it */
} tsr_function;

/* Inside a call, when all is known of its sizes: gives each `placed` result its memory, the caller's, or some of its own where the
 * caller wants none or where it would overlap an input or another result. */
void tsr_place_results(tsr_ctx *ctx, const int64_t *result_bytes, const int64_t *input_bytes);

/* A context inside another process: `start` reads files and initialises parameters.  *ctx is set also after a failure, so that
 * tsr_last_error works, and is the caller's to tsr_close; NULL only when there was no memory for it. */
int32_t tsr_open(tsr_ctx **ctx, const tsr_program *program, const tsr_config *config, void (*start)(tsr_ctx *ctx));
/* A call: a tsr_status.  No failure leaves it in another way, and the context stays usable.  An input must not be NULL; a result
 * may, and is then not copied. */
int32_t tsr_invoke(tsr_ctx *ctx, const tsr_function *f, const int64_t *sizes, const void *const *inputs, const int64_t *numbers,
				 void *const *results);
/* Memory for a buffer whose size is known by now: what it has, where that is enough, else a new block.  `zero`: all 0, as a new
 * block is.  Returns it. */
void *tsr_reserve_buffer(tsr_ctx *ctx, int64_t buf, int64_t bytes, int32_t zero);
/* The product of an array's sizes; -1 when one is not 1 .. 2^40, or the product is above 2^62. */
int64_t tsr_elements(int64_t rank, const int64_t *dims);

/* Tables that live as long as the context; their addresses never change, so they may be loaded once. */
void **tsr_buffers(tsr_ctx *ctx);
int64_t *tsr_syms(tsr_ctx *ctx);
int64_t *tsr_nums(tsr_ctx *ctx);
uint64_t tsr_seed(tsr_ctx *ctx);

/* Gives buffer `buf` `bytes` zeroed bytes at a 64-byte boundary (a former block of it is freed) and returns them. */
void *tsr_alloc_buffer(tsr_ctx *ctx, int64_t buf, int64_t bytes);
/* Memory outside the table, with the same properties, for work space; freed by tsr_release_block or with the context. */
void *tsr_alloc_block(tsr_ctx *ctx, int64_t bytes);
void tsr_release_block(tsr_ctx *ctx, void *block);
/* Bytes of an array: fails when the product of `dims` (symbols looked up) overflows or a symbol is unknown. */
int64_t tsr_array_bytes(tsr_ctx *ctx, const char *where, int32_t prec, int64_t rank, const int64_t *dims);

/* A kernel that threads compute together: thread 0 .. threads - 1 of a team runs it with `data`, memory that all share and memory
 * of its own, at 64-byte boundaries; their contents are not kept from call to call. */
typedef void tsr_stint(void *data, int64_t thread, int64_t threads, void *shared, void *own);
/* Runs it with as many threads as OpenMP's settings allow, at most `worth`, and returns when all are done.  One thread where there
 * is no OpenMP runtime (inside another process: where none is linked), and for a thread that belongs to a team already. */
void tsr_parallel(tsr_ctx *ctx, tsr_stint *part, void *data, int64_t worth, int64_t shared_bytes, int64_t own_bytes, int64_t queues);
/* Numbered parts of the work that the threads of a team take in turns: each of a kernel's queues has as many lanes as there are threads, of which
 * it may use some.  Returns the next part of this lane, from 0 on; that a thread takes one says that it has done those that it took before. */
int64_t tsr_take(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t thread, int64_t threads);
/* The same before the thread has done `mine`, which it took last: that it asks says that it has done those before. */
int64_t tsr_take_ahead(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t thread, int64_t threads, int64_t mine);
/* Waits until this part, which was taken before the caller's own of that lane, has been done. */
void tsr_behind(tsr_ctx *ctx, int64_t queue, int64_t lane, int64_t threads, int64_t part);
/* Called by every thread of a team of `threads`: waits until all are here. */
void tsr_wait(tsr_ctx *ctx, int64_t threads);
/* The same, for the `turn`-th time since the team began; returns whether one of them says other than 0. */
int64_t tsr_agree(tsr_ctx *ctx, int64_t threads, int64_t thread, int64_t turn, int64_t says);

/* Around each kernel of a program compiled with --profile; the end of the program prints what they took.  `name`: another address for
 * each place that calls a kernel. */
void tsr_profile_begin(tsr_ctx *ctx);
void tsr_profile_end(tsr_ctx *ctx, const char *name);

/* Seconds since tsr_start. */
double tsr_time(tsr_ctx *ctx);
/* A loop's progress, to be called once per step: a bar on a terminal, plain lines elsewhere, on standard error. */
void tsr_progress(tsr_ctx *ctx, const char *what, int64_t done, int64_t total);

/* -------------------------------------------------------------------------------------------------- failures */

/* Flushes the output, reports "where: error: message" (just "error: message" when `where` is NULL or ""), and stops with
 * status 1. */
_Noreturn void tsr_fail(tsr_ctx *ctx, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "index 7 is outside `what`, which has 5 positions" */
_Noreturn void tsr_fail_index(tsr_ctx *ctx, const char *where, const char *what, int64_t index, int64_t limit);
/* "`what` is 7 here, and 5 is needed" */
_Noreturn void tsr_fail_size(tsr_ctx *ctx, const char *where, const char *what, int64_t got, int64_t wanted);
/* Nothing where `holds`; else a failure with `text`, in which each TSR_MESSAGE_NUMBER stands for the next one of the `n` values and
 * a TSR_MESSAGE_PLURAL for an s, unless the number before it was 1. */
enum { TSR_MESSAGE_NUMBER = 1, TSR_MESSAGE_PLURAL = 2 };
void tsr_check_sizes(tsr_ctx *ctx, const char *where, const char *text, int32_t holds, int64_t n, const int64_t *values);
/* Ends the program as it is: flushes, frees, exits with `status`. */
_Noreturn void tsr_exit(tsr_ctx *ctx, int32_t status);

/* ---------------------------------------------------------------------------------------------------- strings */

/* A string of the program level: LLVM type { i64, [n x i8] }, the bytes followed by a NUL that `length` does not count, so
 * `s + 8` is also a C string.  Literals are constants of the program; the others live in the context until
 * tsr_str_release. */
typedef struct tsr_str {
	int64_t length;
	char bytes[];
} tsr_str;

const tsr_str *tsr_str_new(tsr_ctx *ctx, const char *bytes, int64_t length);
const tsr_str *tsr_str_concat(tsr_ctx *ctx, const tsr_str *a, const tsr_str *b);
/* Numbers as printed by tsr_print_i64, _f64 and _f32; padding as by tsr_print_string. */
const tsr_str *tsr_str_of_i64(tsr_ctx *ctx, int64_t value, int64_t width, int32_t style);
const tsr_str *tsr_str_of_f64(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style);
const tsr_str *tsr_str_of_f32(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style);
const tsr_str *tsr_str_of_byte(tsr_ctx *ctx, const char *where, int64_t byte);
const tsr_str *tsr_str_pad(tsr_ctx *ctx, const tsr_str *s, int64_t width);
/* -1, 0 or 1: bytewise order, a prefix before what it begins. */
int32_t tsr_str_compare(const tsr_str *a, const tsr_str *b);
int64_t tsr_str_length(const tsr_str *s);
/* Byte 0 .. length - 1 as a number of 0 .. 255; `length` bytes from `from`.  Outside: a failure at `where`. */
int64_t tsr_str_byte(tsr_ctx *ctx, const char *where, const tsr_str *s, int64_t at);
const tsr_str *tsr_str_sub(tsr_ctx *ctx, const char *where, const tsr_str *s, int64_t from, int64_t length);
/* Position of `part` in `s` at or after `from`, or -1. */
int64_t tsr_str_find(const tsr_str *s, const tsr_str *part, int64_t from);
int64_t tsr_str_to_i64(tsr_ctx *ctx, const char *where, const tsr_str *s);
double tsr_str_to_f64(tsr_ctx *ctx, const char *where, const tsr_str *s);
/* Strings made after a mark are forgotten by its release: a loop that keeps none of its strings stays small. */
int64_t tsr_str_mark(tsr_ctx *ctx);
void tsr_str_release(tsr_ctx *ctx, int64_t mark);

/* --------------------------------------------------------------------------------------------------- arguments */

int64_t tsr_arg_count(tsr_ctx *ctx);
/* Argument n = 0, 1 ...; a missing one is `fallback`, or, where that is NULL, a failure that says which is missing. */
const tsr_str *tsr_arg_str(tsr_ctx *ctx, const char *where, int64_t n, const tsr_str *fallback);
/* The same as a number.  `has_fallback` 0: a missing argument is a failure; a malformed one always is. */
int64_t tsr_arg_i64(tsr_ctx *ctx, const char *where, int64_t n, int32_t has_fallback, int64_t fallback);
double tsr_arg_f64(tsr_ctx *ctx, const char *where, int64_t n, int32_t has_fallback, double fallback);

/* ---------------------------------------------------------------------------------------------------- printing */

/* How numbers are written.  `width`: at least so many columns, to the right; negative: to the left; 0: as it comes.
 * `precision`: digits after the point; -1: the shortest text that reads back as the same number, OCaml-like ("7.", "0.1",
 * "1e20").  `style`: one letter or 0, plus flags. */
enum {
	TSR_STYLE_PLAIN = 0,
	TSR_STYLE_FIXED = 'f',
	TSR_STYLE_EXPONENT = 'e',
	TSR_STYLE_GENERAL = 'g',
	TSR_STYLE_HEX = 'x',   /* integers only */
	TSR_STYLE_ZEROS = 256, /* pad with zeros */
	TSR_STYLE_SIGN = 512   /* a sign also where positive */
};

void tsr_print_str(tsr_ctx *ctx, const char *bytes, int64_t length);
void tsr_print_string(tsr_ctx *ctx, const tsr_str *s, int64_t width);
void tsr_print_i64(tsr_ctx *ctx, int64_t value, int64_t width, int32_t style);
void tsr_print_f64(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style);
/* An f32 widened to double: the shortest text is the one that reads back as that f32. */
void tsr_print_f32(tsr_ctx *ctx, double value, int64_t width, int64_t precision, int32_t style);
void tsr_print_bool(tsr_ctx *ctx, int32_t value);
/* "y : 2  [0. 7.5]\n", or for rank 2 and more the rows on lines of their own.  nb + no + ni sizes in `dims`, in memory
 * order; `shape` is the shape in spec notation ("" is left out, with its colon), where TSR_SHAPE_SIZE and 'A' + k stand for
 * dims[k].  Everything up to 1,000 elements; beyond, the three first and last positions of each axis. */
enum { TSR_SHAPE_SIZE = 1 };
void tsr_print_tensor(tsr_ctx *ctx, const char *name, int32_t prec, int64_t nb, int64_t no, int64_t ni,
					  const int64_t *dims, const char *shape, const void *data);
/* Hands buffered text to the outside; done at the end, before a failure's message, and by tsr_progress. */
void tsr_flush(tsr_ctx *ctx);

/* -------------------------------------------------------------------------------------------------- elements */

/* Element `at` of an array, widened; and written with the rounding that the language prescribes (integers wrap, floats to
 * nearest even, bool is `value != 0`).  For the interpreter and for rare paths: compiled code does its own. */
double tsr_element_f64(const void *data, int32_t prec, int64_t at);
int64_t tsr_element_i64(const void *data, int32_t prec, int64_t at);
void tsr_element_set_f64(void *data, int32_t prec, int64_t at, double value);
void tsr_element_set_i64(void *data, int32_t prec, int64_t at, int64_t value);

/* ------------------------------------------------------------------------------------------------- data files */

/* What a file's header says of one array.  Memory order is C order: a file in Fortran order is transposed on reading. */
typedef struct tsr_header {
	int32_t prec;
	int32_t rank;
	int64_t dims[TSR_MAX_RANK];
} tsr_header;

/* A file format.  Opaque outside the runtime; naming one links it.
 *   npy          one array, versions 1 to 3
 *   npz          several; the key names one (and may be left out where there is only one)
 *   csv          numbers, with or without a header line: rows | columns, i32 if all are such integers, else i64 or f32; a key
 *                picks one column by its name or number ("label", "64": rank 1) or a range of numbers ("0..63": rank 2)
 *   text         any file as u8 bytes
 *   any          by the name's ending (.npy .npz .csv, else text): links all of them */
typedef struct tsr_file_format tsr_file_format;
extern const tsr_file_format tsr_format_npy, tsr_format_npz, tsr_format_csv, tsr_format_text, tsr_format_any;

/* The format that tsr_format_any chooses for a path. */
const tsr_file_format *tsr_format_of_path(const char *path);
/* Its symbol, "tsr_format_npz", for the compiler to reference. */
const char *tsr_format_symbol(const tsr_file_format *format);

/* Reads only a header, without a context: for the compiler.  `path` is opened as it is; `key` may be NULL.  0, or -1 with a
 * message of one line in `error` (without the path). */
int32_t tsr_header_read(const char *path, const char *key, const tsr_file_format *format, tsr_header *header,
						char *error, size_t error_size);
/* The same for the whole array (embed): gives a malloc'd block of C-ordered elements, to be freed by the caller. */
int32_t tsr_array_read(const char *path, const char *key, const tsr_file_format *format, tsr_header *header,
					   void **data, char *error, size_t error_size);

typedef struct tsr_file tsr_file;

/* Opens one array of a file.  The path: absolute, else in the --data directory, else in the working directory, else in the
 * directory of the executable.  Flushes the output first. */
tsr_file *tsr_file_open(tsr_ctx *ctx, const char *where, const char *path, const char *key,
						const tsr_file_format *format);
const tsr_header *tsr_file_header(const tsr_file *file);
int32_t tsr_file_prec(const tsr_file *file);
int64_t tsr_file_rank(const tsr_file *file);
int64_t tsr_file_dim(const tsr_file *file, int64_t axis);
/* Compares with what the program was compiled for; a symbol takes the file's size when it is unknown yet and must agree
 * when it is known.  The failure names the file, the key, both precisions and both shapes. */
void tsr_file_check(tsr_ctx *ctx, tsr_file *file, int32_t prec, int64_t rank, const int64_t *dims);
/* Reads the elements: exactly `bytes`, which must be what the header promises. */
void tsr_file_read(tsr_ctx *ctx, tsr_file *file, void *data, int64_t bytes);
void tsr_file_close(tsr_ctx *ctx, tsr_file *file);
/* All of it for one buffer of the table: open, check against its description, allocate when its size was symbolic, read,
 * close. */
void tsr_file_load(tsr_ctx *ctx, const char *where, const char *path, const char *key, const tsr_file_format *format,
				   int64_t buf);

/* Saving.  The new file appears under its name only when it is complete and on the disk: until tsr_save_close an old file of
 * that name stays as it was, whatever happens.  npz stores its arrays uncompressed, npy takes exactly one (its key is
 * not stored). */
typedef struct tsr_save_format tsr_save_format;
extern const tsr_save_format tsr_save_npy, tsr_save_npz;
typedef struct tsr_save tsr_save;
tsr_save *tsr_save_open(tsr_ctx *ctx, const char *where, const char *path, const tsr_save_format *format);
void tsr_save_add(tsr_ctx *ctx, tsr_save *save, const char *key, int32_t prec, int64_t rank, const int64_t *dims,
				  const void *data);
void tsr_save_close(tsr_ctx *ctx, tsr_save *save);

/* ----------------------------------------------------------------------------------------------------- random */

/* Every random number of a program is a word of a stream, and a stream is a key:
 *
 *   key(name, seed) = threefry(counter = { low(seed), high(seed), 0, 0 }, key = FNV-1a-128(name), lowest word first)
 *   word j of it    = lane j mod 4 of threefry(counter = { low(j / 4), high(j / 4), 0, 0 }, key)
 *
 * with Threefry-4x32-20 of Random123.  So any word can be computed on its own, in any order, by any number of threads. */
void tsr_threefry(const uint32_t counter[4], const uint32_t key[4], uint32_t out[4]);
void tsr_random_key(const char *name, uint64_t seed, uint32_t key[4]);
/* Words first .. first + n - 1 of a stream. */
void tsr_random_words(uint32_t *words, int64_t n, const uint32_t key[4], uint64_t first);

/* Draws of the program level: successive words of the stream named "main". */
double tsr_draw_uniform(tsr_ctx *ctx);                            /* a multiple of 2^-53 in [0, 1) */
int64_t tsr_draw_int(tsr_ctx *ctx, const char *where, int64_t n); /* of 0 .. n - 1, each equally often */
double tsr_draw_normal(tsr_ctx *ctx);
/* A position with probability in proportion to its weight; fails on a negative, infinite or NaN weight, or none above 0. */
int64_t tsr_draw_choice(tsr_ctx *ctx, const char *where, const float *weights, int64_t n);
#endif
