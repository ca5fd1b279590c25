/* Line tables: every instruction of a kernel names the line of the assignment that it computes. */
#include "emit.h"
#include <string.h>

static LLVMMetadataRef debug_file(tsr_emit *e, const char *path)
{
	tsr_map_entry *known = tsr_map_put(&e->debug_files, tsr_key(tsr_intern(e->tc->names, path)));
	if (!known->value.p) {
		const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
		known->value.p = LLVMDIBuilderCreateFile(e->debug, name, strlen(name), slash ? path : ".", slash ? (size_t)(slash - path) : 1);
	}
	return known->value.p;
}

static void module_flag(tsr_emit *e, const char *name, unsigned value)
{
	LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, name, strlen(name),
		LLVMValueAsMetadata(LLVMConstInt(e->i32, value, false)));
}

void tsr_emit_debug_begin(tsr_emit *e)
{
	if (!e->options->debug)
		return;
	tsr_map_init(&e->debug_files, e->tc->arena);
	e->debug = LLVMCreateDIBuilder(e->module);
	module_flag(e, "Debug Info Version", LLVMDebugMetadataVersion());
	module_flag(e, "Dwarf Version", 4);
	const char *main = e->tc->sources.n > 1 ? e->tc->sources.at[1]->path : e->options->program;
	e->debug_unit = LLVMDIBuilderCreateCompileUnit(e->debug, LLVMDWARFSourceLanguageC99, debug_file(e, main), "tsrc", 4,
		e->options->level > 0, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false, false, "", 0, "", 0);
}

void tsr_emit_debug_function(tsr_emit *e, LLVMValueRef f, tsr_span span)
{
	LLVMSetCurrentDebugLocation2(e->builder, NULL);
	e->scope = NULL;
	if (!e->debug)
		return;
	const char *main = e->tc->sources.n > 1 ? e->tc->sources.at[1]->path : e->options->program;
	tsr_position p = span.file ? tsr_position_of(e->tc, span) : (tsr_position){main, 1, 1};
	LLVMMetadataRef file = debug_file(e, p.path), type = LLVMDIBuilderCreateSubroutineType(e->debug, file, NULL, 0, LLVMDIFlagZero);
	const char *name = LLVMGetValueName(f);
	e->scope = LLVMDIBuilderCreateFunction(e->debug, file, name, strlen(name), name, strlen(name), file, p.line, type,
		LLVMGetLinkage(f) == LLVMInternalLinkage, true, p.line, LLVMDIFlagZero, e->options->level > 0);
	LLVMSetSubprogram(f, e->scope);
	LLVMSetCurrentDebugLocation2(e->builder, LLVMDIBuilderCreateDebugLocation(e->context, p.line, p.column, e->scope, NULL));
}

void tsr_emit_position_of(tsr_emit *e, tsr_span span)
{
	if (!e->debug || !e->scope)
		return;
	tsr_position p = span.file ? tsr_position_of(e->tc, span) : (tsr_position){NULL, 0, 0};
	LLVMSetCurrentDebugLocation2(e->builder, LLVMDIBuilderCreateDebugLocation(e->context, p.line, p.column, e->scope, NULL));
}

void tsr_emit_debug_end(tsr_emit *e)
{
	if (e->debug)
		LLVMDIBuilderFinalize(e->debug);
}
