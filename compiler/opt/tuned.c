/* Schedules that were measured, kept as text: `tsrc --tune` writes them, `--schedules` reads them.
 *
 *     tessera schedules 1
 *     avx512 f32 + mul set | m 128:384,384,0 | n 384:1,0,1 | k 384:0,1,384 | a plain | b plain = tile 6 64 blocks 128 384 384 pack b
 *
 * Left of the `=` stands the contraction as the engine sees it: target, precision, accumulator and what it combines, whether C is cleared,
 * then for each class of loops the extents with their strides in C, A and B, and how the operands are read.  No name and no
 * place takes part, so a line holds for every contraction of that form in any program.  Right of it: rows and columns of the register tile,
 * blocks of M, N and K, and which operands are packed; then, where there are matrix registers, `thirds` and the blocks in which they compute it (engine/thirds.c),
 * or `thirds none`; without that the model decides.  Lines that begin with # are remarks. */
#include "schedule.h"
#include "../diag/output.h"
#include "../base/map.h"
#include "../base/text.h"
#include <errno.h>
#include <string.h>

#define HEAD "tessera schedules 1"

enum { MOST_LINE = 4096, MOST_DEPTH = 2048, MOST_BLOCK = 1 << 24, MOST_SIDE = 1 << 13 };

typedef struct row { tsr_schedule schedule; uint32_t line; char *remark; } row;

struct tsr_schedules {
	tsr_compiler *tc;
	const char *path;
	tsr_map rows;                /* by key */
	TSR_VEC(const char *) keys;
};

/* ---- the key ---------------------------------------------------------------------------------------------------------------- */

static bool walks_text(tsr_text *t, const char *name, const tsr_walks *x)
{
	tsr_text_addf(t, " | %s", name);
	for (uint32_t i = 0; i < x->n; i++) {
		if (!x->at[i].known || !tsr_size_is_const(x->at[i].extent))
			return false;
		tsr_text_addf(t, " %lld:%lld,%lld,%lld", (long long)x->at[i].extent.k, (long long)x->at[i].stride[TSR_SIDE_C],
			(long long)x->at[i].stride[TSR_SIDE_A], (long long)x->at[i].stride[TSR_SIDE_B]);
	}
	return true;
}

const char *tsr_schedule_key(const tsr_loops *l, const tsr_contraction *k, const tsr_target *target)
{
	static const char *const names[TSR_CLASSES] = { "batch", "m", "n", "k" };
	tsr_contract_view v;
	tsr_text t;
	tsr_contract_view_make(l, k, &v);
	tsr_text_init(&t, l->tc->arena);
	tsr_text_addf(&t, "%s %s %s %s %s", target->name, tsr_prec_name(k->prec), tsr_acc_get(k->acc)->text,
		tsr_op_get(k->combine)->name, k->clear ? "set" : "add");
	for (int cls = 0; cls < TSR_CLASSES; cls++)
		if (!walks_text(&t, names[cls], &v.cls[cls]))
			return NULL;
	if (k->schedule.pairs) {
		tsr_text_addf(&t, " | a %s | b pairs", k->schedule.rows ? "rows of pairs" : k->schedule.must_a ? "packed pairs" : "pairs");
		return tsr_intern(l->tc->names, tsr_text_str(&t));
	}
	tsr_text_addf(&t, " | a %s | b %s", k->schedule.rows ? "rows" : tsr_contract_plain(l, k, TSR_SIDE_A) ? "plain" : "computed",
		k->schedule.cols ? "rows" : tsr_contract_plain(l, k, TSR_SIDE_B) ? "plain" : "computed");
	return tsr_intern(l->tc->names, tsr_text_str(&t));
}

/* ---- what a schedule may be ------------------------------------------------------------------------------------------------------ */

const char *tsr_schedule_unfit(const tsr_schedule *s, const tsr_schedule *model, const tsr_target *target, uint32_t elem_bytes)
{
	uint32_t lanes = model->lanes ? model->lanes : target->vector_bytes / elem_bytes, vecs = lanes ? s->nr / lanes : 0;
	uint32_t most = s->mr == model->mr ? model->mr : model->rows ? 12 : TSR_MOST_ROWS;        /* what the model has can be computed */
	if (!lanes || s->mr < 1 || s->mr > most || s->nr % lanes || vecs < 1 || vecs > TSR_MOST_VECS)
		return "the tile is none of this target";
	if (s->mr * vecs + vecs + 1 > target->vector_registers)
		return "the tile does not fit the registers";
	if (s->mc < 1 || s->mc % s->mr || s->nc < 1 || (!model->cols && s->nc % s->nr) || s->kc < 1 || s->kc > MOST_DEPTH || s->mc > MOST_BLOCK || s->nc > MOST_BLOCK)
		return "the blocks are not whole tiles of a sensible number";
	if ((model->must_a && !s->pack_a) || (model->must_b && !s->pack_b && (!model->dots || model->pack_b)))
		return "an operand that cannot be read in place is not packed";
	if (model->dots && !model->pack_b && !s->pack_b && (s->pack_a || s->nr != model->nr || s->mr > model->mr))
		return "tiles of dot products are one vector wide and of few rows";
	if (model->rows && (s->pack_a || s->kc != model->kc || s->mc > model->mc + s->mr))
		return "rows that are read in place allow no packing of A and no other depth";
	if ((model->turn && model->turn % s->nr) || (model->join && (model->join % s->nr || s->nc % model->join || s->mc != model->mc || s->mc % s->mr)))
		return "what waits for each other on its way to C is no whole tiles";
	if (model->pairs && s->kc % 2)
		return "a block of pairs has an even depth";
	if (model->knit && (s->nr != model->nr || s->mr % model->mr || s->kc != model->kc))
		return "lines that tiles put together are those of whole tiles";
	if (model->turn && !s->pack_b && s->nr != model->nr)
		return "tiles that read B as it lies are within its stretches";
	if (model->cols && (s->pack_b || s->nc != model->nc))
		return "rows of B that are read in place allow no packing of it and no other columns";
	const tsr_blocks *b = &s->named_blocks;
	uint32_t unit = 2 * target->matrix;
	if (s->blocks_named && b->k && (!unit || b->m % unit || b->n % unit || b->k % unit || b->m > MOST_SIDE || b->n > MOST_SIDE || b->k > MOST_DEPTH))
		return "the blocks in thirds are not whole tiles of a sensible number";
	return NULL;
}

/* ---- the file -------------------------------------------------------------------------------------------------------------------- */

static tsr_diag *bad(tsr_schedules *s, uint32_t line, const char *why)
{
	tsr_diag *g = tsr_report(s->tc, TSR_E_SCHEDULES, TSR_NOWHERE, "%s:%u: %s", s->path, line, why);
	tsr_hint(s->tc, g, "remove the line, or the file: tsrc --tune PROGRAM.tsr --schedules %s writes it anew", s->path);
	return g;
}

/* What follows a schedule: nothing, or blocks for matrix registers, or that there are none. */
static bool parse_thirds(const char *text, tsr_schedule *out)
{
	long long m = 0, n = 0, k = 0;
	int end = 0;
	out->blocks_named = *text != 0;
	if (!*text || !strcmp(text, "thirds none"))
		return true;
	bool some = sscanf(text, "thirds %12lld %12lld %12lld%n", &m, &n, &k, &end) == 3 && !text[end] && m > 0 && n > 0 && k > 0;
	out->named_blocks = (tsr_blocks){ m, n, k };
	return some;
}

static bool parse_row(const char *text, tsr_schedule *out)
{
	char pack[8];
	long long mc, nc, kc;
	int end = 0;
	if (sscanf(text, "tile %5u %5u blocks %12lld %12lld %12lld pack %4s %n", &out->mr, &out->nr, &mc, &nc, &kc, pack, &end) != 6 || !parse_thirds(text + end, out))
		return false;
	out->mc = mc, out->nc = nc, out->kc = kc;
	out->pack_a = strchr(pack, 'a') != NULL;
	out->pack_b = strchr(pack, 'b') != NULL;
	return !strcmp(pack, "ab") || !strcmp(pack, "a") || !strcmp(pack, "b") || !strcmp(pack, "none");
}

static row *row_of(tsr_schedules *s, const char *key)
{
	tsr_map_entry *e = tsr_map_put(&s->rows, tsr_key(key));
	if (!e->value.p) {
		e->value.p = TSR_NEW(s->tc->arena, row);
		tsr_push(s->tc->arena, &s->keys, key);
	}
	return e->value.p;
}

static bool read_line(tsr_schedules *s, uint32_t line, char *text)
{
	size_t n = strlen(text);
	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
		text[--n] = 0;
	if (line == 1) {
		if (strcmp(text, HEAD))
			bad(s, line, "this is no file of schedules: it begins otherwise than `" HEAD "`");
		return !strcmp(text, HEAD);
	}
	if (!n || *text == '#')
		return true;
	char *equals = strstr(text, " = ");
	tsr_schedule made = { 0 };
	if (!equals || !parse_row(equals + 3, &made)) {
		bad(s, line, "a line says `CONTRACTION = tile M N blocks M N K pack WHAT`, and perhaps `thirds M N K` or `thirds none`");
		return false;
	}
	*equals = 0;
	*row_of(s, tsr_intern(s->tc->names, text)) = (row){ .schedule = made, .line = line };
	return true;
}

tsr_schedules *tsr_schedules_new(tsr_compiler *tc, const char *path)
{
	tsr_schedules *s = TSR_NEW(tc->arena, tsr_schedules);
	s->tc = tc;
	s->path = path;
	tsr_map_init(&s->rows, tc->arena);
	return s;
}

tsr_schedules *tsr_schedules_read(tsr_compiler *tc, const char *path)
{
	tsr_schedules *s = tsr_schedules_new(tc, path);
	FILE *f = fopen(path, "r");
	char *text = tsr_alloc(tc->arena, MOST_LINE);
	if (!f) {
		tsr_report(tc, TSR_E_NO_FILE, TSR_NOWHERE, "%s: %s", path, strerror(errno));
		return NULL;
	}
	uint32_t line = 0;
	bool ok = true;
	while (ok && fgets(text, MOST_LINE, f)) {
		line++;
		if (!strchr(text, '\n') && !feof(f)) {
			bad(s, line, "the line is too long, or no text");
			ok = false;
		} else {
			ok = read_line(s, line, text);
		}
	}
	if (ok && line == 0) {
		bad(s, 1, "the file is empty");
		ok = false;
	}
	fclose(f);
	return ok ? s : NULL;
}

void tsr_schedules_suit(const tsr_schedules *s, const tsr_target *target)
{
	size_t n = strlen(target->name);
	for (uint32_t i = 0; i < s->keys.n; i++)
		if (!strncmp(s->keys.at[i], target->name, n) && s->keys.at[i][n] == ' ')
			return;
	if (!s->keys.n)
		return;
	tsr_diag *g = tsr_report(s->tc, TSR_W_SCHEDULES, TSR_NOWHERE, "%s: schedules of %.*s, and none of %s, which is compiled for: nothing in it is used", s->path,
		(int)strcspn(s->keys.at[0], " "), s->keys.at[0], target->name);
	tsr_hint(s->tc, g, "--tune and what uses its file name the same --cpu; `native` is the machine that tsrc runs on");
}

const char *tsr_schedule_thirds(tsr_arena *a, const tsr_schedule *s)
{
	const tsr_blocks *b = &s->named_blocks;
	return !s->blocks_named ? "" : b->k ? tsr_format(a, " thirds %lld %lld %lld", (long long)b->m, (long long)b->n, (long long)b->k) : " thirds none";
}

bool tsr_schedules_write(const tsr_schedules *s)
{
	tsr_output o;
	tsr_output_open(&o);
	fprintf(o.to, HEAD "\n");
	for (uint32_t i = 0; i < s->keys.n; i++) {
		const row *r = tsr_map_find(&s->rows, tsr_key(s->keys.at[i]))->value.p;
		const tsr_schedule *x = &r->schedule;
		if (r->remark)
			fprintf(o.to, "# %s\n", r->remark);
		fprintf(o.to, "%s = tile %u %u blocks %lld %lld %lld pack %s%s\n", s->keys.at[i], x->mr, x->nr, (long long)x->mc, (long long)x->nc,
			(long long)x->kc, x->pack_a && x->pack_b ? "ab" : x->pack_a ? "a" : x->pack_b ? "b" : "none", tsr_schedule_thirds(s->tc->arena, x));
	}
	return tsr_output_close(s->tc, &o, s->path);
}

void tsr_schedules_set(tsr_schedules *s, const char *key, const tsr_schedule *schedule, const char *remark)
{
	row *r = row_of(s, key);
	r->schedule = *schedule;
	r->remark = tsr_strdup(s->tc->arena, remark);
}

void tsr_schedule_follow(tsr_schedule *s, const tsr_schedule *model)
{
	s->pairs = model->pairs;
	s->lanes = model->lanes;
	s->step = model->step && s->mr == model->mr;
	s->rows = model->rows, s->cols = model->cols, s->dense = model->dense;
	s->spread = model->spread && !s->pack_a && !s->pack_b && s->kc == model->kc;
	s->aside = model->aside && !s->pack_b && model->mc <= s->mc;
	s->dots = model->dots && s->pack_b == model->pack_b && (!s->pack_b || (!s->pack_a && s->nr == model->nr && s->mr <= model->mr));
	s->early = model->early && s->pack_b && s->nr == model->nr;
	s->panels = model->panels && s->pack_b && (!s->pack_a || s->early);
	s->must_a = model->must_a, s->must_b = model->must_b, s->crowded = model->crowded;
	s->turn = model->turn, s->join = model->join, s->knit = model->knit;
}

bool tsr_schedules_apply(tsr_schedules *s, const tsr_loops *l, tsr_contraction *k, const tsr_target *target)
{
	const char *key = tsr_schedule_key(l, k, target);
	tsr_map_entry *e = key ? tsr_map_find(&s->rows, tsr_key(key)) : NULL;
	k->schedule.form = key;
	if (!e)
		return true;
	const row *r = e->value.p;
	const char *why = tsr_schedule_unfit(&r->schedule, &k->schedule, target, tsr_prec_bytes(k->prec));
	if (why) {
		tsr_diag *g = bad(s, r->line, why);
		tsr_hint(s->tc, g, "the contraction is %s", key);
		return false;
	}
	tsr_schedule made = r->schedule;
	made.form = key;
	made.named = true;
	tsr_schedule_follow(&made, &k->schedule);
	made.reason = tsr_format(s->tc->arena, "tuned: %s", tsr_schedule_words(&made));
	k->schedule = made;
	return true;
}
