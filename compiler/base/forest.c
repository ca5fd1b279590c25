/* Union-find with reasons.  Two forests over the same nodes: `parent` answers "which class" and is flattened by path
 * halving; `proof` answers "why" and is never flattened: its edges are exactly the unions that were made, so the path
 * between two nodes of a class is unique and is the explanation. */
#include "forest.h"

tsr_forest *tsr_forest_new(tsr_arena *a)
{
	tsr_forest *f = TSR_NEW(a, tsr_forest);
	f->arena = a;
	return f;
}

uint32_t tsr_forest_add(tsr_forest *f)
{
	uint32_t x = f->nodes.n;
	tsr_push(f->arena, &f->nodes, ((tsr_forest_node){.parent = x, .proof = x, .size = 1}));
	return x;
}

uint32_t tsr_forest_size(const tsr_forest *f)
{
	return f->nodes.n;
}

/* Turns the proof edges between x and its root around, so that x becomes the root of its proof tree. */
static void reroot(tsr_forest_node *at, uint32_t x)
{
	uint32_t below = x, reason = 0;
	for (;;) {
		uint32_t above = at[x].proof, its_reason = at[x].reason;
		at[x].proof = below;
		at[x].reason = reason;
		if (above == x)
			return;
		below = x;
		reason = its_reason;
		x = above;
	}
}

bool tsr_forest_union(tsr_forest *f, uint32_t a, uint32_t b, uint32_t reason)
{
	uint32_t ra = tsr_forest_find(f, a), rb = tsr_forest_find(f, b);
	if (ra == rb)
		return false;
	tsr_forest_node *at = f->nodes.at;
	uint32_t child = at[ra].size < at[rb].size ? a : b;     /* the smaller side is turned: n log n in all */
	reroot(at, child);
	at[child].proof = child == a ? b : a;
	at[child].reason = reason;
	at[rb].parent = ra;
	at[ra].size += at[rb].size;
	return true;
}

struct tsr_forest_state { uint32_t from, n; tsr_forest_node *nodes; };

tsr_forest_state *tsr_forest_keep(const tsr_forest *f, uint32_t from, uint32_t to, tsr_arena *a)
{
	tsr_forest_state *s = TSR_NEW(a, tsr_forest_state);
	*s = (tsr_forest_state){from, to - from, TSR_NEW_N(a, tsr_forest_node, to - from + 1)};
	for (uint32_t i = from; i < to; i++)
		s->nodes[i - from] = f->nodes.at[i];
	return s;
}

void tsr_forest_repeat(tsr_forest *f, const tsr_forest_state *s, uint32_t reasons)
{
	uint32_t by = f->nodes.n - s->from;
	for (uint32_t i = 0; i < s->n; i++) {
		const tsr_forest_node *x = &s->nodes[i];
		tsr_push(f->arena, &f->nodes, ((tsr_forest_node){x->parent + by, x->proof + by, x->reason + reasons, x->size}));
	}
}

static uint32_t kept_root(const tsr_forest_state *s, uint32_t x)
{
	while (s->nodes[x - s->from].parent != x)
		x = s->nodes[x - s->from].parent;
	return x;
}

/* Paths may have been halved since; classes have not been joined. */
bool tsr_forest_unchanged(const tsr_forest *f, const tsr_forest_state *s, uint32_t from)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t x = from + i;
		while (f->nodes.at[x].parent != x)
			x = f->nodes.at[x].parent;
		if (x - from != kept_root(s, s->from + i) - s->from || f->nodes.at[x].size != s->nodes[x - from].size)
			return false;
	}
	return true;
}

static uint32_t depth_of(const tsr_forest_node *at, uint32_t x)
{
	uint32_t depth = 0;
	for (; at[x].proof != x; x = at[x].proof)
		depth++;
	return depth;
}

uint32_t tsr_forest_explain(tsr_forest *f, uint32_t a, uint32_t b, tsr_arena *out_arena, uint32_t **out)
{
	*out = NULL;
	if (a == b || tsr_forest_find(f, a) != tsr_forest_find(f, b))
		return 0;
	const tsr_forest_node *at = f->nodes.at;
	uint32_t da = depth_of(at, a), db = depth_of(at, b);
	uint32_t total = da + db;
	uint32_t *path = TSR_NEW_N(out_arena, uint32_t, total);
	uint32_t up = 0, down = total;           /* filled from both ends: a's steps, and b's steps backwards */
	while (a != b) {
		if (da >= db) {
			path[up++] = at[a].reason;
			a = at[a].proof;
			da--;
		} else {
			path[--down] = at[b].reason;
			b = at[b].proof;
			db--;
		}
	}
	while (down < total)                     /* the steps above the common ancestor were not taken: close the gap */
		path[up++] = path[down++];
	*out = path;
	return up;
}
