/* The module: its machine, its functions in order, its verification.  A faulty module is a fault of ours and stops here. */
#include "private.h"
#include "host.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <string.h>

/* LLVM's remarks and warnings concern its own passes; an error is ours. */
void tsr_llvm_diagnosed(LLVMDiagnosticInfoRef info, void *unused)
{
	(void)unused;
	if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
		tsr_bug("LLVM: %s", LLVMGetDiagInfoDescription(info));
}

static void fatal(const char *reason)
{
	tsr_bug("LLVM: %s", reason);
}

static void fill_types(tsr_emit *e)
{
	e->i1 = LLVMInt1TypeInContext(e->context);
	e->i8 = LLVMInt8TypeInContext(e->context);
	e->i16 = LLVMInt16TypeInContext(e->context);
	e->i32 = LLVMInt32TypeInContext(e->context);
	e->i64 = LLVMInt64TypeInContext(e->context);
	e->f32 = LLVMFloatTypeInContext(e->context);
	e->f64 = LLVMDoubleTypeInContext(e->context);
	e->ptr = LLVMPointerTypeInContext(e->context, 0);
	e->none = LLVMVoidTypeInContext(e->context);
}

tsr_llvm *tsr_llvm_open(tsr_compiler *tc, const tsr_llvm_options *options)
{
	tsr_llvm *l = TSR_NEW(tc->arena, tsr_llvm);
	l->options = *options;
	l->emit.tc = tc;
	l->emit.options = &l->options;
	LLVMInstallFatalErrorHandler(fatal);
	if (!tsr_llvm_find_machine(l))
		return NULL;
	return l;
}

const tsr_target *tsr_llvm_target(const tsr_llvm *l)
{
	return l->target;
}

const char *tsr_llvm_cpu(const tsr_llvm *l)
{
	return l->cpu;
}

static void begin(tsr_llvm *l, const tsr_loops *loops, const tsr_host *host)
{
	tsr_emit *e = &l->emit;
	e->loops = loops;
	e->host = host;
	e->sanitize = l->options.sanitize;
	e->target = l->target;
	e->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(e->context, tsr_llvm_diagnosed, NULL);
	e->module = LLVMModuleCreateWithNameInContext(l->options.program, e->context);
	e->builder = LLVMCreateBuilderInContext(e->context);
	LLVMSetTarget(e->module, l->triple);
	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(l->machine);
	LLVMSetModuleDataLayout(e->module, layout);
	LLVMDisposeTargetData(layout);
	tsr_map_init(&e->strings, e->tc->arena);
	fill_types(e);
	tsr_emit_debug_begin(e);
}

static void verify(tsr_llvm *l)
{
	char *message = NULL;
	if (LLVMVerifyModule(l->emit.module, LLVMReturnStatusAction, &message)) {
		char *text = LLVMPrintModuleToString(l->emit.module);
		if (l->options.dump_faulty)
			fputs(text, stderr);
		tsr_bug("the emitted module is ill-formed: %s", message);
	}
	LLVMDisposeMessage(message);
}

void tsr_llvm_emit(tsr_llvm *l, const tsr_loops *loops, const tsr_host *host)
{
	begin(l, loops, host);
	tsr_emit_units(&l->emit);
	if (host && l->options.entry)
		tsr_emit_program(&l->emit);
	if (host && host->exports.n && l->options.exports)
		tsr_emit_exports(&l->emit);
	if (l->options.ncpus > 1)
		tsr_emit_choices(&l->emit);
	tsr_emit_debug_end(&l->emit);
	verify(l);
}

void tsr_llvm_print(tsr_llvm *l, FILE *out)
{
	char *text = LLVMPrintModuleToString(l->emit.module);
	fputs(text, out);
	LLVMDisposeMessage(text);
}

bool tsr_llvm_needs_formats(const tsr_llvm *l)
{
	return l->emit.needs_formats;
}

void tsr_llvm_close(tsr_llvm *l)
{
	tsr_emit *e = &l->emit;
	if (e->debug)
		LLVMDisposeDIBuilder(e->debug);
	if (e->builder)
		LLVMDisposeBuilder(e->builder);
	if (e->module)
		LLVMDisposeModule(e->module);
	if (e->context)
		LLVMContextDispose(e->context);
	LLVMDisposeTargetMachine(l->machine);
	LLVMDisposeMessage(l->triple);
	LLVMResetFatalErrorHandler();
}
