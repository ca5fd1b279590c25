/* One program for several processors: `--cpu=x86-64-v2,x86-64-v4`.
 *
 * From the loops on it is compiled once for each, by its own schedules and tiles; the code for the lowest holds the functions that are called
 * from outside, and they choose (llvm/choose.c).  Each is an object of its own, in which nothing else can be seen, so that the names
 * of kernels may be the same in all. */
#include "private.h"
#include <string.h>
#include <unistd.h>

static bool suits(tsr_drive_state *d)
{
	const tsr_options *o = d->options;
	bool code = o->kind == TSR_OUTPUT_EXECUTABLE || o->kind == TSR_OUTPUT_OBJECT, rising = true;
	for (uint32_t i = 0; i < d->cpus.n; i++)
		rising &= tsr_target_level(d->cpus.at[i]) > (i ? tsr_target_level(d->cpus.at[i - 1]) : 0);
	if (!rising) {
		tsr_diag *g = tsr_report(d->tc, TSR_E_TARGET, TSR_NOWHERE, "--cpu=%s: several processors are named by their levels, the lowest first", o->cpu);
		tsr_hint(d->tc, g, "such as --cpu=x86-64-v2,x86-64-v3,x86-64-v4");
	} else if (!code || o->tune || o->dump < TSR_STAGES) {
		tsr_report(d->tc, TSR_E_TARGET, TSR_NOWHERE, "--cpu=%s: text, dumps and --tune are of one processor", o->cpu);
	}
	return d->tc->nerrors == 0;
}

bool tsr_drive_cpus(tsr_drive_state *d)
{
	for (const char *at = d->options->cpu; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		tsr_push(d->tc->arena, &d->cpus, tsr_strndup(d->tc->arena, at, strcspn(at, ",")));
	return d->cpus.n < 2 || suits(d);
}

bool tsr_drive_write_several(tsr_drive_state *d, tsr_put_together *together, const char *path)
{
	uint32_t n = d->cpus.n, made = 0;
	const char **objects = TSR_NEW_N(d->tc->arena, const char *, n);
	bool ok = tsr_drive_joins(d, path);
	if (!ok)
		tsr_report(d->tc, TSR_E_LINK, TSR_NOWHERE, "--cpu=%s: putting code for several processors together takes this machine's ld and objcopy, and a file",
			d->options->cpu);
	while (ok && made < n && (objects[made] = tsr_drive_temporary(d, ".o"))) {
		ok = made == d->which || tsr_drive_build(d, made);
		ok = ok && tsr_drive_write_parts(d, tsr_llvm_parts(d->llvm, false), tsr_drive_join, objects[made]);
		made++;
	}
	ok = ok && made == n && together(d, n, objects, path);
	for (uint32_t i = 0; i < made; i++)
		unlink(objects[i]);
	return ok;
}
