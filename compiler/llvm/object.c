/* The machine to compile for, and files. */
#include "private.h"
#include "../diag/output.h"
#include <llvm-c/Support.h>
#include <string.h>

/* What LLVM knows as options of the process only, and takes once.  A sanitizer's checks as calls: in line, the register tiles become so long that
 * compiling them takes most of a minute.  No products of several statements as one vector, which default<O3> would make: then they are not fused with
 * their sums, but in a loop's vectors they are, and where threads' shares end decides which iterations are left over for no vector. */
static void say_to_process(void)
{
	static const char *const words[] = {"tsrc", "-vectorize-slp=false", "-asan-instrumentation-with-call-threshold=0"};
	LLVMParseCommandLineOptions(sizeof words / sizeof *words, words, NULL);
}

/* Only what the triple needs is initialised: each machine costs start-up time.  The first machine of a process is where LLVM takes its options. */
static void initialise(const char *triple)
{
	bool none_yet = !LLVMGetFirstTarget();
	if (!strncmp(triple, "aarch64", 7) || !strncmp(triple, "arm64", 5)) {
		LLVMInitializeAArch64TargetInfo();
		LLVMInitializeAArch64Target();
		LLVMInitializeAArch64TargetMC();
		LLVMInitializeAArch64AsmPrinter();
	} else if (!strncmp(triple, "x86_64", 6)) {
		LLVMInitializeX86TargetInfo();
		LLVMInitializeX86Target();
		LLVMInitializeX86TargetMC();
		LLVMInitializeX86AsmPrinter();
	}
	if (none_yet && LLVMGetFirstTarget())
		say_to_process();
}

/* The levels of code generation, by -O. */
LLVMCodeGenOptLevel tsr_llvm_codegen_level(int level)
{
	static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
		LLVMCodeGenLevelDefault};
	return levels[level];
}

static bool known_cpu(tsr_compiler *tc, const char *arch, const char *cpu)
{
	if (!cpu || tsr_target_known_cpu(arch, cpu))
		return true;
	tsr_report(tc, TSR_E_TARGET, TSR_NOWHERE, "tsrc knows no processor %s of %s", cpu, arch);
	return false;
}

bool tsr_llvm_find_machine(tsr_llvm *l)
{
	tsr_compiler *tc = l->emit.tc;
	const tsr_llvm_options *o = &l->options;
	char *own = LLVMGetDefaultTargetTriple(), *why = NULL;
	l->triple = LLVMNormalizeTargetTriple(o->triple ? o->triple : own);
	const char *arch = tsr_format(tc->arena, "%.*s", (int)strcspn(l->triple, "-"), l->triple);
	bool native = !strncmp(own, l->triple, strlen(arch)) && (!o->cpu || !strcmp(o->cpu, "native"));
	LLVMDisposeMessage(own);
	LLVMTargetRef target;
	initialise(l->triple);
	if (LLVMGetTargetFromTriple(l->triple, &target, &why)) {
		tsr_report(tc, TSR_E_TARGET, TSR_NOWHERE, "tsrc does not compile for %s", l->triple);
		LLVMDisposeMessage(why);
		return false;
	}
	const char *named = o->cpu && strcmp(o->cpu, "baseline") ? o->cpu : tsr_target_baseline_cpu(arch);
	if (!native && !known_cpu(tc, arch, named))
		return false;
	char *cpu = native ? LLVMGetHostCPUName() : LLVMCreateMessage(named);
	l->cpu = tsr_strdup(tc->arena, cpu);
	char *features = native ? LLVMGetHostCPUFeatures() : LLVMCreateMessage("");
	l->target = tsr_target_find(arch, cpu, native ? features : NULL);
	l->machine = LLVMCreateTargetMachine(target, l->triple, cpu, features, tsr_llvm_codegen_level(o->level), LLVMRelocPIC, LLVMCodeModelDefault);
	LLVMDisposeMessage(cpu);
	LLVMDisposeMessage(features);
	return true;
}

LLVMMemoryBufferRef tsr_llvm_code(LLVMModuleRef m, LLVMTargetMachineRef machine, LLVMCodeGenFileType type)
{
	char *why = NULL;
	LLVMMemoryBufferRef code = NULL;
	if (LLVMTargetMachineEmitToMemoryBuffer(machine, m, type, &why, &code))
		tsr_bug("LLVM: %s", why);
	return code;
}

/* To memory, since LLVM ends the process where a file cannot take what it writes. */
bool tsr_llvm_save(tsr_llvm *l, LLVMMemoryBufferRef code, const char *path)
{
	bool ok = tsr_output_write(l->emit.tc, path, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
	LLVMDisposeMemoryBuffer(code);
	return ok;
}

bool tsr_llvm_write(tsr_llvm *l, tsr_code_form form, const char *path)
{
	tsr_output o;
	if (form != TSR_CODE_LLVM)
		return tsr_llvm_save(l, tsr_llvm_code(l->emit.module, l->machine, form == TSR_CODE_OBJECT ? LLVMObjectFile : LLVMAssemblyFile), path);
	tsr_output_open(&o);
	tsr_llvm_print(l, o.to);
	return tsr_output_close(l->emit.tc, &o, path);
}

void tsr_llvm_print_assembly(tsr_llvm *l, FILE *out)
{
	LLVMMemoryBufferRef text = tsr_llvm_code(l->emit.module, l->machine, LLVMAssemblyFile);
	fwrite(LLVMGetBufferStart(text), 1, LLVMGetBufferSize(text), out);
	LLVMDisposeMemoryBuffer(text);
}
