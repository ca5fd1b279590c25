/* The contraction engine against the reference interpreter: random classes, permutations, strides and sizes around tile
 * edges, at every vector width that this machine runs.  All floats are small multiples of a power of two, so sums are
 * exact in any order and results must be equal; whole numbers wrap. */
#include "../../compiler/engine/engine.h"
#include "../../compiler/opt/opt.h"
#include "../../compiler/base/text.h"
#include "../../runtime/tsr_abi.h"
#include "check.h"
#include "draw.h"
#include <dlfcn.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLASSES = 4, CASES = 180, COLUMNS = 16, NARROW = 40, DOTS = 24, FIRST = 12, PAIRS = 60, ORDERS = 40, EARLY = 16, CROSSED = 12, FEW = 24, COMPUTED = 24, FAR = 15, APART = 40, LATER = 16,
	   BEFORE = CASES + COLUMNS + NARROW + DOTS + FIRST + PAIRS + ORDERS + EARLY, LATEST = BEFORE + CROSSED + FEW + COMPUTED + FAR + APART, ALL = LATEST + LATER, MOST_TERMS = 12, EACH = 8 };         /* buffers of a case: c, a, b, numbers that a and b look up, i and j, and of its tail r, s, y */

/* Nothing is written in front of a result or of a work area, nor behind. */
enum { BEHIND = 4096, UNWRITTEN = 0x5a };

#include "contract_area.h"
#include "contract_random.h"
#include "contract_windows.h"
#include "contract_columns.h"
#include "contract_dots.h"
#include "contract_pairs.h"
#include "contract_orders.h"
#include "contract_early.h"
#include "contract_few.h"
#include "contract_far.h"
#include "contract_apart.h"

/* ---- compiling ------------------------------------------------------------------------------------------------------ */

/* A target of the table with other caches, which the cases fill, and perhaps without looking ahead by itself; `thirds`: sums of f32 by matrix registers wherever that is possible;
 * `other`: another level takes the same ways through the compiler, so that a sanitizer would see nothing new, and LLVM makes code as fast as it can. */
typedef struct level { const char *name; int64_t l1, l2; bool streams; const char *cpu, *feature; bool thirds, other; } level;

/* The cases as compiled for a level. */
typedef struct built { const level *v; tsr_target target; void *handle; bool made[ALL]; area areas[ALL]; } built;

/* A sanitizer watches the compiler, not the code it makes: none is made then, and nothing runs. */
#if defined(__SANITIZE_ADDRESS__)
static const bool watched = true;
#else
static const bool watched = false;
#endif

static void attribute(tsr_emit *e, const char *name, const char *value)
{
	LLVMAddAttributeAtIndex(e->function, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

/* void uN(void **buffers, i64 n) for each unit; units whose contraction keeps plain loops stay empty. */
static void emit_unit(tsr_emit *e, const tsr_loops *l, uint32_t u, const char *cpu, bool *made)
{
	LLVMTypeRef params[2] = { e->ptr, e->i64 };
	e->function = LLVMAddFunction(e->module, l->units.at[u]->name, LLVMFunctionType(e->none, params, 2, false));
	attribute(e, "target-cpu", cpu);
	attribute(e, "prefer-vector-width", "512");
	attribute(e, "min-legal-vector-width", "512");
	LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, e->function, "entry"));
	LLVMValueRef n = LLVMGetParam(e->function, 1);
	e->symbols = &n;
	for (uint32_t i = 0; i < l->buffers.n; i++) {
		LLVMValueRef at = LLVMConstInt(e->i64, i, false);
		if (i / EACH == u)
			e->buffers[l->buffers.at[i]->id] = LLVMBuildLoad2(e->builder, e->ptr,
				LLVMBuildInBoundsGEP2(e->builder, e->ptr, LLVMGetParam(e->function, 0), &at, 1, ""), "");
	}
	*made = tsr_emit_contraction(e, l->units.at[u]->body.at[0]->kernel.body.at[0]);
	LLVMBuildRetVoid(e->builder);
}

/* Results go around the caches wherever each element is stored once; the pass that decides wants them large. */
static void written_once(tsr_stmt *loop)
{
	const tsr_contraction *k = loop->loop.contraction;
	loop->loop.stream = k && tsr_contract_one_block(k);
}

/* Tiles of rows that the model would not choose: panels of every width are turned in their own way. */
static void other_height(tsr_contraction *c, const tsr_target *t, uint32_t u)
{
	tsr_schedule *s = &c->schedule;
	if (!s->mr || !s->pack_a || s->rows || s->turn || s->join || s->knit)
		return;
	uint32_t lanes = s->lanes ? s->lanes : t->vector_bytes / (uint32_t)tsr_prec_bytes(c->prec), vecs = s->nr / lanes, most = (t->vector_registers - 1 - vecs) / vecs;
	s->mr = 1 + u % (most > 24 ? 24 : most);
	s->mc = (s->mc + s->mr - 1) / s->mr * s->mr;
}

/* Pairs of bf16 in several blocks of K, and rows of A packed that could be read in place. */
static void other_depth(tsr_contraction *c, uint32_t u)
{
	tsr_schedule *s = &c->schedule;
	if (!s->mr || !s->pairs || s->rows || (c->tail && c->tail->passing))
		return;
	s->kc = u % 3 ? 2 + 2 * (u % 16) : s->kc;
	s->pack_a |= u % 4 == 1;
}

/* Tiles column by column where the model, of products as small as these, has them row by row. */
static void other_order(tsr_schedule *s, uint32_t u)
{
	s->panels |= s->mr && s->pack_b && !s->pack_a && u % 4 == 1;
}

/* All positions of a batch for some rows at a time, which the model has where they are many and lie within a row. */
static void other_rows(tsr_contraction *c, uint32_t u)
{
	tsr_schedule *s = &c->schedule;
	bool batch = false;
	for (uint32_t i = 0; i < c->nloops; i++)
		batch |= c->loops[i].cls == TSR_CLASS_BATCH;
	if (batch && s->mr && u % 2 && !s->early && !s->turn && !s->join && !s->aside)
		s->together = s->mr * (1 + (int64_t)(u / 2) % 4);
}

/* What the code asks the runtime. */
static void answer(tsr_emit *e)
{
	LLVMValueRef asked = LLVMGetNamedFunction(e->module, "tsr_matrix_unit");
	if (!asked)
		return;
	LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, asked, "entry"));
	LLVMBuildRet(e->builder, LLVMConstInt(e->i32, (unsigned)tsr_matrix_unit(), false));
}

static void *compile(tsr_loops *l, built *out)
{
	const tsr_target *target = &out->target;
	const level *v = out->v;
	const char *cpu = v->cpu;
	tsr_opt_options options = { .level = 2, .fuse = true, .passes = "classify,schedule,passing" };
	CHECK(tsr_opt_run(l, target, &options));
	for (uint32_t u = 0; u < l->units.n; u++) {
		if (l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction)
			other_depth(l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction, u);
		written_once(l->units.at[u]->body.at[0]->kernel.body.at[0]);
		if (l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction)
			other_order(&l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction->schedule, u);
		if (u % 4 == 0 && l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction)
			other_height(l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction, target, u / 4);
		if (l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction)
			other_rows(l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction, u);
		if (l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction)
			l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction->schedule.asked = v->thirds;
	}
	tsr_emit e = { .tc = l->tc, .loops = l, .target = target, .context = LLVMContextCreate() };
	e.module = LLVMModuleCreateWithNameInContext("contract", e.context);
	e.builder = LLVMCreateBuilderInContext(e.context);
	e.none = LLVMVoidTypeInContext(e.context);
	e.ptr = LLVMPointerTypeInContext(e.context, 0);
	e.i1 = LLVMInt1TypeInContext(e.context);
	e.i8 = LLVMInt8TypeInContext(e.context);
	e.i16 = LLVMInt16TypeInContext(e.context);
	e.i32 = LLVMInt32TypeInContext(e.context);
	e.i64 = LLVMInt64TypeInContext(e.context);
	e.f32 = LLVMFloatTypeInContext(e.context);
	e.f64 = LLVMDoubleTypeInContext(e.context);
	e.syms = TSR_NEW_N(l->tc->arena, LLVMValueRef, 2 * MOST_TERMS);      /* loops, and what is looked up */
	tsr_map_init(&e.tails, l->tc->arena);
	e.buffers = TSR_NEW_N(l->tc->arena, LLVMValueRef, l->buffers.n);
	char *triple = LLVMGetDefaultTargetTriple(), *error = NULL;
	LLVMTargetRef t;
	LLVMGetTargetFromTriple(triple, &t, &error);
	LLVMTargetMachineRef machine = LLVMCreateTargetMachine(t, triple, cpu, "", v->other ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
	LLVMSetTarget(e.module, triple);
	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
	LLVMSetModuleDataLayout(e.module, layout);
	for (uint32_t u = 0; u < l->units.n; u++) {
		emit_unit(&e, l, u, cpu, &out->made[u]);
		out->areas[u].bytes = area_apart(&e, tsr_format(l->tc->arena, "area_%s", l->units.at[u]->name));
	}
	answer(&e);
	bool broken = LLVMVerifyModule(e.module, LLVMPrintMessageAction, &error);
	LLVMDisposeMessage(error);
	char object[] = "/tmp/contract-XXXXXX", *command;
	int fd = mkstemp(object);
	void *handle = NULL;
	if (CHECK(!broken) && !watched && CHECK(!LLVMTargetMachineEmitToFile(machine, e.module, object, LLVMObjectFile, &error))) {
		command = tsr_format(l->tc->arena, "cc -shared -o %s.so %s", object, object);
		CHECK(system(command) == 0);
		handle = dlopen(tsr_format(l->tc->arena, "%s.so", object), RTLD_NOW);
		unlink(tsr_format(l->tc->arena, "%s.so", object));
	}
	close(fd);
	unlink(object);
	LLVMDisposeBuilder(e.builder);
	LLVMDisposeModule(e.module);
	LLVMDisposeTargetData(layout);
	LLVMDisposeTargetMachine(machine);
	LLVMDisposeMessage(triple);
	LLVMContextDispose(e.context);
	return handle;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Where inputs begin: as a caller's allocator leaves them, so many bytes behind a line. */
static size_t behind(const tsr_buffer *b) { return b->kind == TSR_BUFFER_INPUT ? 16 : 0; }

/* Of a number that it holds. */
static uint16_t of_bf16(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return (uint16_t)(bits >> 16);
}

static size_t fill(const tsr_buffer *b, int64_t n, void **out)
{
	int64_t count = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		count *= tsr_size_eval(b->dims[i], &n);
	size_t bytes = (size_t)count * tsr_prec_bytes(b->prec);
	*out = (char *)aligned_alloc(64, (bytes / 64 + 2) * 64) + behind(b);
	for (int64_t i = 0; i < count; i++) {
		int whole = (int)draw(17) - 8;
		double x = whole / 8.;
		if (*b->name == 'i' || *b->name == 'j')
			((int32_t *)*out)[i] = (int)draw(draw(2) ? 8 : 140) - 2;
		else if (b->prec == TSR_PREC_BOOL)
			((uint8_t *)*out)[i] = whole > 0;
		else if (b->prec == TSR_PREC_I64)
			((int64_t *)*out)[i] = (int64_t)whole * 1000000007;
		else if (tsr_prec_bytes(b->prec) == 1)
			((int8_t *)*out)[i] = (int8_t)whole;
		else if (!tsr_prec_is_float(b->prec))
			((int32_t *)*out)[i] = whole * 100003;
		else if (b->prec == TSR_PREC_F64)
			((double *)*out)[i] = x;
		else if (b->prec == TSR_PREC_BF16 && (*b->name == 'a' || *b->name == 'b'))
			((uint16_t *)*out)[i] = of_bf16((float)x);
		else if (b->prec != TSR_PREC_F32)
			((uint16_t *)*out)[i] = 0;       /* the second result */
		else
			((float *)*out)[i] = (float)x;
	}
	return bytes;
}

/* Number by number: of a maximum of zeros it does not matter which. */
static bool equal(const tsr_buffer *b, const void *x, const void *y, size_t bytes)
{
	if (!tsr_prec_is_float(b->prec))
		return memcmp(x, y, bytes) == 0;
	for (size_t i = 0; tsr_prec_bytes(b->prec) == 2 && i < bytes / 2; i++) {
		uint16_t p = ((const uint16_t *)x)[i], q = ((const uint16_t *)y)[i];
		if (p != q && ((p | q) & 0x7fff))
			return false;
	}
	for (size_t i = 0; tsr_prec_bytes(b->prec) > 2 && i < bytes / tsr_prec_bytes(b->prec); i++)
		if (b->prec == TSR_PREC_F64 ? ((const double *)x)[i] != ((const double *)y)[i] : ((const float *)x)[i] != ((const float *)y)[i])
			return false;
	return true;
}

/* c and y are written, and compared: the first of the levels whose code leaves there what the interpreter does not; NULL: none. */
static const built *differing(const tsr_loops *l, uint32_t u, const built *all, size_t levels, int64_t n)
{
	static const uint32_t written[2] = { 0, EACH - 1 };
	void **memory = calloc(l->buffers.n, sizeof *memory), *given[2], *want[2];
	size_t bytes[2];
	for (uint32_t i = 0; i < EACH; i++) {
		size_t size = fill(l->buffers.at[EACH * u + i], n, &memory[EACH * u + i]);
		bytes[i == EACH - 1] = i == 0 || i == EACH - 1 ? size : bytes[0];
	}
	for (int w = 0; w < 2; w++) {
		void **at = &memory[EACH * u + written[w]];
		given[w] = *at;
		want[w] = *at = aligned_alloc(64, (bytes[w] / 64 + 1) * 64);
		memcpy(want[w], given[w], bytes[w]);
	}
	tsr_machine m = { .buffers = memory, .symbols = &n };
	CHECK(tsr_loops_run(l, u, &m));
	const built *wrong = NULL;
	for (const built *b = all; b < all + levels && !wrong; b++) {
		void *got[2];
		if (!b->handle || !b->made[u])
			continue;
		for (int w = 0; w < 2; w++) {
			got[w] = aligned_alloc(64, (bytes[w] / 64 + 1) * 64 + 2 * BEHIND);
			memset(got[w], UNWRITTEN, bytes[w] + 2 * BEHIND);
			memcpy(memory[EACH * u + written[w]] = (char *)got[w] + BEHIND, given[w], bytes[w]);
		}
		surround(&b->areas[u]);
		union { void *p; void (*call)(void **, int64_t); } f = { dlsym(b->handle, l->units.at[u]->name) };
		f.call(memory, n);
		for (int w = 0; w < 2; w++) {
			char *at = (char *)got[w] + BEHIND;
			if (!equal(l->buffers.at[EACH * u + written[w]], at, want[w], bytes[w]) || any_written(got[w], BEHIND) || any_written(at + bytes[w], BEHIND))
				wrong = b;
			free(got[w]);
		}
		if (!is_surrounded(&b->areas[u]))
			wrong = b;
	}
	for (int w = 0; w < 2; w++) {
		memory[EACH * u + written[w]] = given[w];
		free(want[w]);
	}
	for (uint32_t i = 0; i < EACH; i++)
		free((char *)memory[EACH * u + i] - behind(l->buffers.at[EACH * u + i]));
	free(memory);
	return wrong;
}

static bool runs_here(const char *feature)
{
	char *features = LLVMGetHostCPUFeatures();
	bool yes = strstr(features, feature) != NULL;
	LLVMDisposeMessage(features);
	return yes;
}

static tsr_loops *all_cases(tsr_compiler *tc)
{
	tsr_text decl, units;
	tsr_text_init(&decl, tc->arena), tsr_text_init(&units, tc->arena);
	state = 11;
	tsr_text_addf(&decl, "symbol ?n\n");
	for (int i = 0; i < ALL; i++)
		if (i < CASES && i % 3 == 1 && i % 2)
			window_case(tc->arena, &decl, &units, i, draw_window);
		else if (i >= CASES && i < CASES + COLUMNS)
			columns_case(tc->arena, &decl, &units, i);
		else if (i >= LATEST)
			window_case(tc->arena, &decl, &units, i, draw_later);
		else if (i >= LATEST - APART)
			apart_case(tc->arena, &decl, &units, i);
		else if (i >= LATEST - APART - FAR)
			far_case(tc->arena, &decl, &units, i);
		else if (i >= LATEST - APART - FAR - COMPUTED)
			computed_case(tc->arena, &decl, &units, i);
		else if (i >= BEFORE + CROSSED)
			few_case(tc->arena, &decl, &units, i);
		else if (i >= BEFORE)
			crossed_case(tc->arena, &decl, &units, i);
		else if (i >= BEFORE - EARLY)
			early_case(tc->arena, &decl, &units, i);
		else if (i >= BEFORE - EARLY - ORDERS)
			orders_case(tc->arena, &decl, &units, i, i % 3 == 0);
		else if (i >= BEFORE - EARLY - ORDERS - PAIRS && i % 3 == 0)
			window_case(tc->arena, &decl, &units, i, draw_paired);
		else if (i >= BEFORE - EARLY - ORDERS - PAIRS)
			pairs_case(tc->arena, &decl, &units, i);
		else if (i >= BEFORE - EARLY - ORDERS - PAIRS - FIRST)
			window_case(tc->arena, &decl, &units, i, draw_first);
		else if (i >= BEFORE - EARLY - ORDERS - PAIRS - FIRST - DOTS)
			dots_case(tc->arena, &decl, &units, i);
		else
			make_case(tc->arena, &decl, &units, i, i % 3 ? 0 : 29);
	tsr_text_add(&decl, tsr_text_str(&units));
	const char *text = tsr_text_str(&decl);
	tsr_loops *l = tsr_loops_read(tc, tsr_source_add(tc, "random.loop", text, strlen(text)));
	tsr_diags_render(tc, stdout, false);
	return l;
}

/* Of how many cases the engine took, and of how many in which way. */
typedef struct counts {
	int all, whole, in_place, joined, tails, turned, rows, knit, as_it_lies, copied, looked, pointed, passing, apart, streams, aside, matrix, planes, pairs, pairs_in_place, pairs_dots, pairs_rows, dots, crossed, computed, panels, early, few, half, together, spread;
} counts;

static void count(counts *n, const tsr_loops *l, uint32_t u, const tsr_contraction *c, const tsr_target *target)
{
	const tsr_schedule *s = &c->schedule;
	bool columns = u >= CASES && u < CASES + COLUMNS, a = c->a_value->kind == TSR_EXPR_LOOKUP, b = c->b_value->kind == TSR_EXPR_LOOKUP;
	tsr_contraction as, few[TSR_FEW];
	n->all++;
	n->whole += !tsr_prec_is_float(l->buffers.at[EACH * u]->prec);
	n->in_place += s->rows;
	n->joined += c->run.n > 1 || c->across.n > 1;
	n->tails += c->tail != NULL;
	n->passing += c->tail && c->tail->passing;
	n->apart += columns && c->loops[0].cls == TSR_CLASS_BATCH;
	n->streams += columns && u % 2 && s->pack_a && !s->pack_b;
	n->aside += s->aside;
	n->spread += s->spread;
	n->dots += s->dots;
	n->crossed += s->dots && s->pack_b && !s->must_b;
	n->computed += s->dots && s->pack_b && s->must_b;
	n->panels += s->panels && !s->rows && !s->turn && !s->cols;
	n->early += s->early;
	n->half += s->lanes != 0;
	n->together += s->together != 0;
	n->few += tsr_contract_few(l, c, target, few) > 0;
	bool by_matrix = tsr_contract_matrix(l, c, target, &as);
	n->matrix += by_matrix;
	n->planes += by_matrix && as.schedule.planes;
	n->pairs += s->pairs;
	n->pairs_in_place += s->pairs && !s->pack_a;
	n->pairs_dots += s->pairs && s->dots;
	n->pairs_rows += s->pairs && s->rows;
	n->copied += s->dense;
	n->turned += s->turn != 0;
	n->as_it_lies += s->turn && !s->pack_b;
	n->rows += s->join != 0;
	n->knit += s->knit != 0;
	n->looked += a + b;
	n->pointed += (a && s->rows) + (b && s->cols);
}

static void build(tsr_loops *l, const level *v, built *out)
{
	*out = (built){ .v = v, .target = *tsr_target_by_name(v->name) };
	tsr_target *target = &out->target;
	target->l1 = v->l1, target->l2 = v->l2, target->l3 = 32 << 10;
	target->streams = v->streams ? target->streams : 0;
	out->handle = compile(l, out);
	for (uint32_t u = 0; out->handle && u < l->units.n; u++)
		out->areas[u].place = (union { void *p; char *(*call)(void); }){ dlsym(out->handle, tsr_format(l->tc->arena, "area_%s", l->units.at[u]->name)) }.call;
	bool wide = target->vector_bytes >= 32, small = v->l2 <= 8 << 10;
	counts n = { 0 };
	for (uint32_t u = 0; u < l->units.n; u++)
		if (out->made[u])
			count(&n, l, u, l->units.at[u]->body.at[0]->kernel.body.at[0]->loop.contraction, target);
	CHECK(n.all > CASES / 2 && n.whole > CASES / 10);
	CHECK(n.in_place > CASES / 30 && n.joined > CASES / 30);
	CHECK(n.tails > CASES / 20 && n.passing > CASES / 60);
	CHECK(n.turned > n.as_it_lies && n.rows > 0 && n.copied > 0);
	CHECK(n.as_it_lies > 0 || !wide);
	CHECK(n.knit > 0 || !wide);          /* 20 and 24 columns are no tile of four short vectors */
	CHECK(n.looked > CASES / 6 && n.pointed > CASES / 30);
	CHECK(n.apart > COLUMNS / 8 && n.dots > DOTS / 4);
	CHECK((n.aside > 0 && (n.streams > COLUMNS / 8 || target->streams)) || !small);
	CHECK(n.panels > 0);
	CHECK(!target->streams || !tsr_target_few_registers(target) || small || n.early > EARLY / 16);
	CHECK(!target->streams || tsr_target_few_registers(target) || (n.early > (target->panels_ahead ? 0 : EARLY / 4) && n.crossed > CROSSED / 2));
	CHECK(!target->streams || n.computed > COMPUTED / 4);
	CHECK(n.few > FEW / 2);
	CHECK(!target->spread || n.spread > FAR / 5);
	CHECK(n.together > 0 && (n.half > 0 || target->masks != TSR_MASKS_LOADS));
	CHECK(!target->matrix || n.matrix > (v->thirds ? CASES / 8 : NARROW / 8));
	CHECK(!target->matrix || !v->thirds || n.planes > CASES / 18);
	CHECK(!target->pairs || (n.pairs > PAIRS / 2 && n.pairs_in_place > PAIRS / 8 && n.pairs_dots > PAIRS / 20 && n.pairs_rows > PAIRS / 20));
	printf("%s: %d of %d, matrix registers %d (%d from planes), pairs %d (A in place %d, dot products %d, by pointers %d), in place %d, tails %d, turned %d (B in place %d), rows joined %d, knit %d, copied %d, looked up %d, of these in place %d, sums that pass by %d, parted columns %d, streams %d, sums aside %d, dot products %d (columns turned %d, computed %d), panels that pass %d, blocks packed early %d, few rows %d, half vectors %d, batches together %d, rows of B spread %d\n",
		v->name, n.all, ALL, n.matrix, n.planes, n.pairs, n.pairs_in_place, n.pairs_dots, n.pairs_rows, n.in_place, n.tails, n.turned, n.as_it_lies, n.rows, n.knit, n.copied, n.looked, n.pointed, n.passing, n.apart, n.streams, n.aside,
		n.dots, n.crossed, n.computed, n.panels, n.early, n.few, n.half, n.together, n.spread);
}

/* Interpreted once for all levels.  The run-time size is 29; in every third case, and under windows as wide as it says, three more; in those of few rows all that tiles tell apart. */
static void check_unit(const tsr_loops *l, uint32_t u, const built *all, size_t levels)
{
	static const int64_t sizes[] = { 29, 1, 0, 97, 2, 3, 4, 5, 6, 7, 9, 16, 17, 33 };
	size_t n = u >= BEFORE + CROSSED && u < LATEST - APART - FAR ? sizeof sizes / sizeof *sizes : u % 3 && u < LATEST ? 1 : 4;
	bool anywhere = false;
	for (size_t v = 0; v < levels; v++)
		anywhere |= all[v].handle && all[v].made[u];
	for (size_t i = 0; anywhere && i < n; i++) {
		const built *wrong = differing(l, u, all, levels, sizes[i]);
		if (!CHECK(!wrong)) {
			printf("%s:\n", wrong->v->name);
			tsr_loops_print_unit(l, u, stdout);
			return;
		}
	}
}

int main(void)
{
	static const level levels[] = {
		{ "amx", 48 << 10, 1 << 20, false, "sapphirerapids", "+amx-bf16", false, false },
		{ "amx", 48 << 10, 1 << 20, false, "sapphirerapids", "+amx-bf16", true, false },
		{ "avx512", 48 << 10, 1 << 20, false, "skylake-avx512", "+avx512vl", false, true },
		{ "zen4", 32 << 10, 1 << 20, false, "znver4", "+avx512bf16", false, true },
		{ "zen4", 6 << 10, 16 << 10, true, "znver4", "+avx512bf16", false, false },
		{ "zen5", 48 << 10, 1 << 20, false, "znver5", "+avx512vp2intersect", false, true },
		{ "zen5", 6 << 10, 16 << 10, true, "znver5", "+avx512vp2intersect", false, false },
		{ "avx2", 32 << 10, 256 << 10, false, "haswell", "+avx2", false, true },
		{ "avx2", 32 << 10, 32 << 10, true, "haswell", "+avx2", false, false },
		{ "avx2", 2 << 10, 8 << 10, true, "haswell", "+avx2", false, false },
		{ "sse", 32 << 10, 32 << 10, true, "x86-64-v2", "+sse4.2", false, true },
		{ "sse", 2 << 10, 8 << 10, false, "x86-64-v2", "+sse4.2", false, false },
	};
	LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC(), LLVMInitializeX86AsmPrinter();
	tsr_compiler *tc = tsr_compiler_new();
	tsr_loops *l = all_cases(tc);
	built all[sizeof levels / sizeof *levels];
	size_t n = 0;
	for (size_t v = 0; l && v < sizeof levels / sizeof *levels; v++)
		if (watched ? !levels[v].other : runs_here(levels[v].feature))
			build(l, &levels[v], &all[n++]);
	for (uint32_t u = 0; l && u < l->units.n; u++)
		check_unit(l, u, all, n);
	for (size_t v = 0; v < n; v++)
		if (all[v].handle)
			dlclose(all[v].handle);
	CHECK(l != NULL);
	tsr_compiler_free(tc);
	return check_end("contract");
}
