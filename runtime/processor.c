/* Which processor this is, for programs that hold code for several. */
#include "tsr_abi.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef __x86_64__
/* The levels of the System V psABI for x86-64. Those of its instructions that no test here names came with the ones that do. */
static int32_t found(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("ssse3") || !__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
		return 1;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
		return 2;
	bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
		&& __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
	return wide ? 4 : 3;
}

/* TSR_CPU=x86-64-v3: at most that. */
static int32_t wanted(int32_t level)
{
	static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
	const char *said = getenv("TSR_CPU");
	for (int32_t i = 1; said && i < level; i++)
		if (!strcmp(said, names[i - 1]))
			return i;
	return level;
}
#else
static int32_t found(void)
{
	return 1;
}

static int32_t wanted(int32_t level)
{
	return level;
}
#endif

int32_t tsr_cpu_level(void)
{
	static _Atomic int32_t level;    /* threads that ask at once all find the same */
	if (!level)
		level = wanted(found());
	return level;
}

#if defined(__x86_64__) && defined(__linux__)
/* The processor has the registers and multiplies bf16 with them, and the system keeps them for this process and all its threads, which is to be asked for
 * since they are 8 KiB more of each. */
static bool matrix_unit(void)
{
	enum { FEATURES = 7, BF16 = 1 << 22, TILES = 1 << 24, ASK = 0x1023, TILE_DATA = 18 };
	unsigned a, b, c, d;
	if (!__get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) || !(d & BF16) || !(d & TILES) || getenv("TSR_CPU"))
		return false;
	return syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
}
#else
static bool matrix_unit(void)
{
	return false;
}
#endif

int32_t tsr_matrix_unit(void)
{
	enum { UNKNOWN, NO, YES };
	static _Atomic int32_t known;
	if (known == UNKNOWN)
		known = matrix_unit() ? YES : NO;
	return known == YES;
}
