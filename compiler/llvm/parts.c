/* One program as several objects, compiled at the same time.
 *
 * Kernels and register tiles are functions that are never inlined, so each may lie in an object of its own; they are dealt out to parts by
 * their size, which depends on the module alone: the objects are the same however many threads there are.  A part is a copy of the whole
 * module in a context of its own, in which only its functions keep their bodies; those are visible to the other parts, and hidden from
 * everyone else once linked.  Part 0 also has all that is no kernel: units, the program level, data.  Register tiles, whose vectors are
 * written out, have parts of their own and a lighter list of passes.
 *
 * A thread touches nothing of the compiler's but its part: no arena, no diagnostics. */
#include "private.h"
#include "../engine/engine.h"
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PARTS = 6, MOST_THREADS = 8, ENOUGH = 1500 };       /* instructions that are worth a part */

typedef struct share { uint32_t part; uint64_t size; bool tile; } share;

struct tsr_parts {
	uint32_t n;                  /* at least one */
	uint32_t first_tiles;        /* parts from here on hold tiles */
	uint32_t nshares;
	share *of;                   /* of the functions that are dealt out, in the order of the module */
};

typedef struct job {
	const tsr_llvm *l;
	const char *bytes;
	size_t size;
	LLVMMemoryBufferRef code[MOST_PARTS];
	atomic_uint next;
} job;

/* ---- dealing out ------------------------------------------------------------------------------------------------------------- */

static uint64_t size_of(LLVMValueRef f)
{
	uint64_t n = 0;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			n++;
	return n;
}

/* The largest first, each to the part of [first, end) that has least. */
static void deal(tsr_parts *p, bool tiles, uint32_t first, uint32_t end)
{
	uint64_t load[MOST_PARTS] = {0};
	for (;;) {
		share *most = NULL;
		uint32_t least = first;
		for (uint32_t i = 0; i < p->nshares; i++)
			if (p->of[i].tile == tiles && p->of[i].part == MOST_PARTS && (!most || p->of[i].size > most->size))
				most = &p->of[i];
		if (!most)
			return;
		for (uint32_t k = first; k < end; k++)
			if (load[k] < load[least])
				least = k;
		most->part = least;
		load[least] += most->size;
	}
}

static uint32_t parts_for(uint64_t size, uint32_t most)
{
	uint64_t n = (size + ENOUGH - 1) / ENOUGH;
	return n > most ? most : (uint32_t)n;
}

uint32_t tsr_llvm_parts(tsr_llvm *l, bool whole)
{
	tsr_arena *a = l->emit.tc->arena;
	tsr_parts *p = l->parts = TSR_NEW(a, tsr_parts);
	uint64_t tiles = 0, others = 0;
	uint32_t n = 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(l->emit.module); f; f = LLVMGetNextFunction(f))
		n += tsr_llvm_is_apart(f);
	p->of = TSR_NEW_N(a, share, n + 1);
	for (LLVMValueRef f = LLVMGetFirstFunction(l->emit.module); f; f = LLVMGetNextFunction(f)) {
		if (!tsr_llvm_is_apart(f))
			continue;
		share *s = &p->of[p->nshares++];
		*s = (share){MOST_PARTS, size_of(f), tsr_llvm_is_tile(f)};
		*(s->tile ? &tiles : &others) += s->size;
	}
	p->n = 1;
	if (whole || l->options.sanitize || l->options.debug || tiles + others < 2 * ENOUGH)
		return 1;
	p->first_tiles = 1 + parts_for(others, MOST_PARTS / 2);
	p->n = p->first_tiles + parts_for(tiles, MOST_PARTS - p->first_tiles);
	deal(p, false, 1, p->first_tiles);
	deal(p, true, p->first_tiles, p->n);
	return p->n;
}

/* ---- one part ------------------------------------------------------------------------------------------------------------------- */

static void give(LLVMValueRef f, bool ours)
{
	LLVMSetLinkage(f, ours ? LLVMExternalLinkage : LLVMAvailableExternallyLinkage);
	LLVMSetVisibility(f, LLVMHiddenVisibility);
}

/* Leaves bodies only to what belongs to the part; what is internal and unused then goes by itself. */
static void keep_part(const tsr_parts *p, LLVMModuleRef m, uint32_t part)
{
	uint32_t at = 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
		if (tsr_llvm_is_apart(f))
			give(f, p->of[at++].part == part);
		else if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage && part)
			LLVMSetLinkage(f, LLVMAvailableExternallyLinkage);
	}
	LLVMValueRef panels = LLVMGetNamedGlobal(m, TSR_PANELS);
	if (panels)
		give(panels, part == 0);
}

static LLVMTargetMachineRef machine_like(LLVMTargetMachineRef of, int level)
{
	char *triple = LLVMGetTargetMachineTriple(of), *cpu = LLVMGetTargetMachineCPU(of), *features = LLVMGetTargetMachineFeatureString(of);
	LLVMTargetMachineRef m = LLVMCreateTargetMachine(LLVMGetTargetMachineTarget(of), triple, cpu, features, tsr_llvm_codegen_level(level),
		LLVMRelocPIC, LLVMCodeModelDefault);
	LLVMDisposeMessage(triple);
	LLVMDisposeMessage(cpu);
	LLVMDisposeMessage(features);
	return m;
}

static void compile(job *j, uint32_t part)
{
	const tsr_llvm *l = j->l;
	LLVMContextRef context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(context, tsr_llvm_diagnosed, NULL);
	LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRange(j->bytes, j->size, "module", false);
	LLVMTargetMachineRef machine = machine_like(l->machine, l->options.level);
	LLVMModuleRef m;
	if (LLVMParseBitcodeInContext2(context, bytes, &m))
		tsr_bug("LLVM does not read what it has written");
	keep_part(l->parts, m, part);
	tsr_llvm_passes(m, machine, "elim-avail-extern,globaldce");
	const char *passes = tsr_llvm_pipeline(l->options.level, part >= l->parts->first_tiles);
	if (passes)
		tsr_llvm_passes(m, machine, passes);
	tsr_llvm_widen_halves(l, m);
	j->code[part] = tsr_llvm_code(m, machine, LLVMObjectFile);
	LLVMDisposeModule(m);
	LLVMDisposeMemoryBuffer(bytes);
	LLVMDisposeTargetMachine(machine);
	LLVMContextDispose(context);
}

static void *work(void *user)
{
	job *j = user;
	for (uint32_t part = atomic_fetch_add(&j->next, 1); part < j->l->parts->n; part = atomic_fetch_add(&j->next, 1))
		compile(j, part);
	return NULL;
}

bool tsr_llvm_write_parts(tsr_llvm *l, const char *const *paths)
{
	pthread_t threads[MOST_THREADS];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t nthreads = 0, most = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (uint32_t)cores;
	if (l->parts->n == 1) {
		tsr_llvm_optimise(l);
		return tsr_llvm_write(l, TSR_CODE_OBJECT, paths[0]);
	}
	LLVMMemoryBufferRef all = LLVMWriteBitcodeToMemoryBuffer(l->emit.module);
	job j = {.l = l, .bytes = LLVMGetBufferStart(all), .size = LLVMGetBufferSize(all)};
	while (nthreads + 1 < most && nthreads + 1 < l->parts->n && !pthread_create(&threads[nthreads], NULL, work, &j))
		nthreads++;
	work(&j);                        /* without any thread it does everything */
	for (uint32_t i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	LLVMDisposeMemoryBuffer(all);
	bool ok = true;
	for (uint32_t i = 0; i < l->parts->n; i++)
		ok &= tsr_llvm_save(l, j.code[i], paths[i]);
	return ok;
}
