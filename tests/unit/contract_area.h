/* The work area of each case by itself, with bytes around it that nothing may write: next to it, elsewhere, lies what others allocated. */

/* `bytes` 0: it needs none. */
typedef struct area { char *(*place)(void); int64_t bytes; } area;

/* One of these bytes is no more what it was. */
static bool any_written(const char *at, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (at[i] != UNWRITTEN)
			return true;
	return false;
}

static void surround(const area *a)
{
	if (!a->bytes)
		return;
	memset(a->place(), UNWRITTEN, BEHIND);
	memset(a->place() + BEHIND + a->bytes, UNWRITTEN, BEHIND);
}

static bool is_surrounded(const area *a)
{
	return !a->bytes || (!any_written(a->place(), BEHIND) && !any_written(a->place() + BEHIND + a->bytes, BEHIND));
}

/* What the unit just emitted asks for: it gets more, begins behind the first bytes, and a function `name` says where that is.  Its bytes, or 0. */
static int64_t area_apart(tsr_emit *e, const char *name)
{
	LLVMValueRef asked = LLVMGetNamedGlobal(e->module, TSR_PANELS), first = LLVMConstInt(e->i64, BEHIND, false);
	if (!asked)
		return 0;
	uint64_t bytes = LLVMGetArrayLength2(LLVMGlobalGetValueType(asked));
	for (LLVMUseRef use = LLVMGetFirstUse(asked); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef call = LLVMGetUser(use);
		LLVMPositionBuilderBefore(e->builder, LLVMGetNextInstruction(call));
		LLVMValueRef behind = LLVMBuildInBoundsGEP2(e->builder, e->i8, call, &first, 1, "");
		LLVMReplaceAllUsesWith(call, behind);
		LLVMSetOperand(behind, 0, call);
	}
	LLVMSetValueName2(asked, "", 0);
	LLVMValueRef made = tsr_emit_zeros(e->module, TSR_PANELS, bytes + 2 * BEHIND, 4096, true);
	LLVMReplaceAllUsesWith(asked, made);
	LLVMDeleteGlobal(asked);
	LLVMValueRef place = LLVMAddFunction(e->module, name, LLVMFunctionType(e->ptr, NULL, 0, false));
	LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, place, "entry"));
	LLVMBuildRet(e->builder, tsr_emit_work_area(e, bytes));
	LLVMSetValueName2(made, "", 0);      /* the next unit has its own */
	return (int64_t)bytes;
}
