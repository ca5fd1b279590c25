/* Contractions that stay nests, since these have lanes of their own that are full where tiles would be mostly empty: groups, sums for each place of a window, and sums of a few products for
 * each of many places. */
#include "pass.h"

static tsr_loop_class class_of(const tsr_contraction *k, uint32_t sym)
{
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].sym == sym)
			return k->loops[i].cls;
	return TSR_CLASSES;
}

/* Its innermost parallel loops fill registers better by themselves: those over a batch of groups and few results of each, or over rows and columns of small matrices. */
static bool of_groups(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *s, bool turning)
{
	enum { MOST = 4 };
	tsr_groups g;
	bool batch = false;
	for (uint32_t i = 0; i < k->nloops; i++)
		batch |= k->loops[i].cls == TSR_CLASS_BATCH;
	return tsr_groups_within(p->l, p->target, s, turning, &g) && (class_of(k, g.group->loop.sym) == TSR_CLASS_BATCH || (batch && g.count * 4 <= MOST * (int64_t)p->target->vector_bytes));
}

static int64_t class_count(const tsr_contraction *k, tsr_loop_class cls)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < k->nloops; i++)
		if (k->loops[i].cls == cls)
			n *= tsr_size_is_const(k->loops[i].extent) ? k->loops[i].extent.k : INT32_MAX;
	return n;
}

/* Sums for each place of a window that are added up in one walk (window_sums.c): a batch of few by few channels, or of rows that fill registers and so few channels that packing
 * what windows read of them costs more than the products; or so few results for each place of an image, or so few that share what windows
 * read, that tiles would be mostly empty. */
static bool of_windows(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *s)
{
	enum { MOST = 16, MOST_FEW = 8, FEW_CHANNELS = 3, FEW_RESULTS = 3 };         /* where registers are few, or windows lie along what is summed */
	tsr_window_sums w;
	if (!tsr_window_sums_of(p->l, p->target, s, &w))
		return false;
	if (!w.image)
		return class_count(k, TSR_CLASS_N) <= FEW_RESULTS;
	if (!w.along && class_count(k, TSR_CLASS_M) <= FEW_RESULTS)
		return true;
	int64_t most = w.along || tsr_target_few_registers(p->target) ? MOST_FEW : MOST;
	bool few = class_count(k, TSR_CLASS_BATCH) > 1;
	for (uint32_t i = 0; i < k->nloops; i++)
		few &= k->loops[i].cls == TSR_CLASS_K || k->loops[i].cls == TSR_CLASS_BATCH || k->loops[i].extent.k <= most;
	return few || (w.along && w.lane->loop.extent.k * 4 % p->target->vector_bytes == 0 && tsr_window_sums_channels(&w) <= FEW_CHANNELS);
}

/* Sums of a few products for each of many places, whose few numbers lie side by side, as grey values of pixels are: lanes are places, of which every second to fourth number is read
 * (kernel/outer.c).  A dot product for each would have nearly empty registers. */
static bool of_places(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *s)
{
	enum { FEW = 4, MANY = 64 };
	const tsr_stmt *lane = NULL;
	int64_t near, few = 1;
	bool apart = false;
	if (k->prec != TSR_PREC_F32 || k->acc != TSR_ACC_ADD || p->target->masks == TSR_MASKS_NONE || class_count(k, TSR_CLASS_K) > FEW)
		return false;
	for (; s->kind == TSR_STMT_FOR && s->loop.how == TSR_FOR_PARALLEL; s = s->loop.body.at[0]) {
		if (!tsr_size_is_const(s->loop.extent))
			return false;
		if (s->loop.extent.k > FEW)
			lane = s, few = 1;
		few *= s->loop.extent.k > FEW ? 1 : s->loop.extent.k;
		if (s->loop.body.n != 1)
			break;
	}
	tsr_accesses x = { .a = p->arena };
	tsr_stmt_accesses(lane ? lane : s, &x);
	for (uint32_t i = 0; lane && i < x.v.n; i++) {
		const tsr_buffer *b = p->l->buffers.at[x.v.at[i].buffer];
		if (!tsr_index_stride(b, x.v.at[i].index, lane->loop.sym, &near) || near < (x.v.at[i].write ? 1 : 0) || near > TSR_MOST_STRIDE
			|| (x.v.at[i].write && near > 1 && !k->clear))        /* what is added to, there, lanes would not store (outer.c) */
			return false;
		apart |= near > 1;
	}
	return lane && lane->loop.extent.k >= MANY && few <= FEW && apart;
}

bool tsr_contract_stays(const tsr_pass *p, const tsr_contraction *k, const tsr_stmt *nest, bool turning)
{
	return of_groups(p, k, nest, turning) || of_windows(p, k, nest) || of_places(p, k, nest);
}
