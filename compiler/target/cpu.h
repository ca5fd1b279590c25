/* The tables of cpu.c, for target.c. */
#ifndef TSR_TARGET_CPU_H
#define TSR_TARGET_CPU_H
#include "target.h"

extern const tsr_target tsr_cpu_targets[];                   /* ends with a NULL name */
typedef struct tsr_cpu_name { const char *arch, *cpu, *target; } tsr_cpu_name;
extern const tsr_cpu_name tsr_cpu_names[];                   /* ends with a NULL cpu */
#endif
