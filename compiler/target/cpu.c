/* Processors: vector units, register tiles that do not spill (accumulators + vectors of B + 1 fit the registers), caches of
 * one core.  The names are LLVM's, each with the table entry that its instructions allow. */
#include "cpu.h"

const tsr_target tsr_cpu_targets[] = {
	{.name = "avx512", .triple_arch = "x86_64", .vector_bytes = 64, .vector_registers = 32, .fma = true, .tile_m = 6, .tile_n = 4,
	 .l1 = 32 << 10, .l2 = 1 << 20, .l3 = 2 << 20},
	{.name = "avx2", .triple_arch = "x86_64", .vector_bytes = 32, .vector_registers = 16, .fma = true, .tile_m = 6, .tile_n = 2,
	 .l1 = 32 << 10, .l2 = 512 << 10, .l3 = 2 << 20},
	{.name = "sse", .triple_arch = "x86_64", .vector_bytes = 16, .vector_registers = 16, .fma = false, .tile_m = 4, .tile_n = 2,
	 .l1 = 32 << 10, .l2 = 256 << 10, .l3 = 2 << 20},
	{.name = "neon", .triple_arch = "aarch64", .vector_bytes = 16, .vector_registers = 32, .fma = true, .tile_m = 6, .tile_n = 4,
	 .l1 = 64 << 10, .l2 = 1 << 20, .l3 = 2 << 20},
	{.name = "generic", .triple_arch = "", .vector_bytes = 16, .vector_registers = 16, .fma = false, .tile_m = 4, .tile_n = 2,
	 .l1 = 32 << 10, .l2 = 256 << 10, .l3 = 1 << 20},
	{.name = NULL},
};

const tsr_cpu_name tsr_cpu_names[] = {
	{"x86_64", "x86-64", "sse"},
	{"x86_64", "x86-64-v2", "sse"},
	{"x86_64", "x86-64-v3", "avx2"},
	{"x86_64", "x86-64-v4", "avx512"},
	{"x86_64", "nehalem", "sse"},
	{"x86_64", "haswell", "avx2"},
	{"x86_64", "broadwell", "avx2"},
	{"x86_64", "skylake", "avx2"},
	{"x86_64", "alderlake", "avx2"},
	{"x86_64", "skylake-avx512", "avx512"},
	{"x86_64", "cascadelake", "avx512"},
	{"x86_64", "cooperlake", "avx512"},
	{"x86_64", "icelake-server", "avx512"},
	{"x86_64", "sapphirerapids", "avx512"},
	{"x86_64", "graniterapids", "avx512"},
	{"x86_64", "znver1", "avx2"},
	{"x86_64", "znver2", "avx2"},
	{"x86_64", "znver3", "avx2"},
	{"x86_64", "znver4", "avx512"},
	{"x86_64", "znver5", "avx512"},
	{"aarch64", "generic", "neon"},
	{"aarch64", "cortex-a53", "neon"},
	{"aarch64", "cortex-a72", "neon"},
	{"aarch64", "cortex-a76", "neon"},
	{"aarch64", "neoverse-n1", "neon"},
	{"aarch64", "neoverse-v1", "neon"},
	{"aarch64", "neoverse-v2", "neon"},
	{"aarch64", "apple-m1", "neon"},
	{NULL, NULL, NULL},
};
