/* Elements a few apart in memory, as the places of a window that moves by two are, into the lanes of a vector: vectors that lie side by side are loaded, the last of which ends with the last
 * lane's element so that nothing behind it is read, and shuffles leave out what lies between.
 *
 * What a row has for all places of a window is read once for each of them, from the first cache; turned in registers (turn.c), sixteen rows of a few numbers each took four times as long. */
#include "kit.h"

int64_t tsr_apart_at(const tsr_kit *k, uint32_t apart, uint32_t part)
{
	int64_t lanes = k->lanes;
	return part + 1 < apart ? part * lanes : (lanes - 1) * (int64_t)apart + 1 - lanes;
}

LLVMValueRef tsr_apart_mask(tsr_kit *k, uint32_t apart, uint32_t part, LLVMValueRef lower, LLVMValueRef upper)
{
	LLVMValueRef at = tsr_kit_int(k, tsr_apart_at(k, apart, part)), each = tsr_kit_int(k, apart), between = tsr_kit_int(k, (int64_t)apart - 1);
	LLVMValueRef from = LLVMBuildNSWSub(k->b, tsr_kit_mul(k, lower, each), at, "");
	LLVMValueRef to = LLVMBuildNSWSub(k->b, LLVMBuildNSWSub(k->b, tsr_kit_mul(k, upper, each), between, ""), at, "");
	return LLVMBuildAnd(k->b, tsr_kit_mask(k, to, 0), LLVMBuildNot(k->b, tsr_kit_mask(k, from, 0), ""), "");
}

/* Lane j's element is in the first part that has it. */
LLVMValueRef tsr_apart_lanes(tsr_kit *k, uint32_t apart, const LLVMValueRef *part)
{
	int64_t lanes = k->lanes;
	LLVMValueRef all = part[0], pick[64];
	for (uint32_t i = 1; i < apart; i++) {
		int64_t at = tsr_apart_at(k, apart, i);
		for (int64_t j = 0; j < lanes; j++) {
			int64_t element = j * apart, had = i * lanes;        /* in the parts before */
			pick[j] = LLVMConstInt(k->i32, (uint64_t)(element >= had ? lanes + (element - at) % lanes : i == 1 ? element : j), false);
		}
		all = LLVMBuildShuffleVector(k->b, all, part[i], LLVMConstVector(pick, k->lanes), "");
	}
	return all;
}
