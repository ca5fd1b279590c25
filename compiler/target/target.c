/* Looking machines up. */
#include "target.h"
#include "cpu.h"
#include <string.h>

/* `name` with a '+' before it, as a whole word of a comma-separated feature string. */
static bool has(const char *features, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = strchr(features, '+'); at; at = strchr(at + 1, '+'))
		if (!strncmp(at + 1, name, n) && (at[n + 1] == 0 || at[n + 1] == ','))
			return true;
	return false;
}

const tsr_target *tsr_target_by_name(const char *name)
{
	for (const tsr_target *t = tsr_cpu_targets; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static const tsr_cpu_name *cpu_by_name(const char *arch, const char *cpu)
{
	for (const tsr_cpu_name *c = tsr_cpu_names; c->cpu; c++)
		if (!strcmp(c->arch, arch) && !strcmp(c->cpu, cpu))
			return c;
	return NULL;
}

bool tsr_target_known_cpu(const char *arch, const char *cpu)
{
	return cpu_by_name(arch, cpu) != NULL;
}

int tsr_target_level(const char *cpu)
{
	static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
	for (int i = 0; i < 4; i++)
		if (!strcmp(cpu, levels[i]))
			return i + 1;
	return 0;
}

const char *tsr_target_baseline_cpu(const char *arch)
{
	return !strcmp(arch, "x86_64") ? "x86-64-v2" : "generic";
}

static const char *by_features(const char *arch, const char *features)
{
	if (!strcmp(arch, "aarch64"))
		return "neon";
	if (strcmp(arch, "x86_64"))
		return "generic";
	if (has(features, "avx512f") && has(features, "avx512vl") && has(features, "avx512dq") && has(features, "fma"))
		return has(features, "amx-tile") && has(features, "amx-bf16") ? "amx" : "avx512";
	return has(features, "avx2") && has(features, "fma") ? "avx2" : "sse";
}

const tsr_target *tsr_target_find(const char *arch, const char *cpu, const char *features)
{
	const tsr_cpu_name *c = cpu_by_name(arch, cpu);
	const tsr_target *own = c ? tsr_target_by_name(c->target) : NULL;
	if (own && !features)
		return own;
	const char *allowed = by_features(arch, features ? features : "");
	for (; own; own = own->without ? tsr_target_by_name(own->without) : NULL)
		if (own->refines && !strcmp(own->refines, allowed) && (!own->needs || has(features ? features : "", own->needs)))
			return own;
	return tsr_target_by_name(allowed);
}
