/* target/: finding machines by feature string and by processor, and what a register tile may be. */
#include "../../compiler/target/target.h"
#include "check.h"

static void test_find(void)
{
	CHECK_STR(tsr_target_find("x86_64", "", "+sse4.2,+avx,+avx2,+fma")->name, "avx2");
	CHECK_STR(tsr_target_find("x86_64", "", "+avx2,-fma")->name, "sse");
	CHECK_STR(tsr_target_find("x86_64", "", "+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "avx512");
	CHECK_STR(tsr_target_find("x86_64", "", "+amx-bf16,+amx-tile,+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "amx");
	CHECK_STR(tsr_target_find("x86_64", "", "+amx-tile,+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "avx512");
	CHECK_STR(tsr_target_find("x86_64", "", "+avx512f,+avx2,+fma")->name, "avx2");
	CHECK_STR(tsr_target_find("x86_64", "sapphirerapids", NULL)->name, "amx");
	CHECK_STR(tsr_target_find("x86_64", "x86-64-v4", NULL)->name, "avx512");
	CHECK_STR(tsr_target_find("x86_64", "", "")->name, "sse");
	CHECK_STR(tsr_target_find("x86_64", "znver4", NULL)->name, "zen4");
	CHECK_STR(tsr_target_find("x86_64", "x86-64-v2", NULL)->name, "sse");
	CHECK_STR(tsr_target_find("x86_64", "znver5", NULL)->name, "zen5");
	CHECK_STR(tsr_target_find("x86_64", "znver5", "+avx512bf16,+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "zen5");
	CHECK_STR(tsr_target_find("x86_64", "znver5", "+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "avx512");
	CHECK_STR(tsr_target_find("x86_64", "znver5", "+avx2,+fma")->name, "avx2");
	CHECK_STR(tsr_target_find("x86_64", "znver4", "+avx512bf16,+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "zen4");
	CHECK_STR(tsr_target_find("x86_64", "znver4", "+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "avx512");
	CHECK_STR(tsr_target_find("x86_64", "sapphirerapids", "+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "xeon");
	CHECK_STR(tsr_target_find("x86_64", "sapphirerapids", "+amx-bf16,+amx-tile,+avx512f,+avx512vl,+avx512dq,+avx2,+fma")->name, "amx");
	CHECK_STR(tsr_target_find("x86_64", "sapphirerapids", "+avx2,+fma")->name, "avx2");
	CHECK_STR(tsr_target_find("x86_64", "icelake-server", NULL)->name, "xeon");
	CHECK_STR(tsr_target_find("aarch64", "neoverse-n1", NULL)->name, "neon");
	CHECK_STR(tsr_target_find("aarch64", "", "+neon")->name, "neon");
	CHECK_STR(tsr_target_find("riscv64", "", "")->name, "generic");
	CHECK(!tsr_target_by_name("nothing"));
	CHECK(tsr_target_known_cpu("x86_64", "skylake-avx512"));
	CHECK(!tsr_target_known_cpu("aarch64", "skylake-avx512"));
	CHECK(tsr_target_known_cpu("x86_64", tsr_target_baseline_cpu("x86_64")));
	CHECK(tsr_target_known_cpu("aarch64", tsr_target_baseline_cpu("aarch64")));
}

/* Accumulators, one row of B and one element of A stay in registers. */
static void test_tiles(void)
{
	static const char *const names[] = {"amx", "avx512", "xeon", "zen4", "zen5", "avx2", "sse", "neon", "generic"};
	for (int i = 0; i < 9; i++) {
		const tsr_target *t = tsr_target_by_name(names[i]);
		if (!CHECK(t && t->tile_m * t->tile_n + t->tile_n + 1 <= t->vector_registers))
			printf("  %s\n", names[i]);
		CHECK(t && t->l1 < t->l2 && t->l2 <= t->l3);
	}
}

int main(void)
{
	test_find();
	test_tiles();
	return check_end("target");
}
