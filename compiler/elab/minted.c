/* Parameters, as applications that share see them: an application makes those of an instance that has none yet, and finds those that are
 * there.  So a function with parameters asks for more the first time than later; but for that it asks for the same, and an earlier
 * application, of this instance or of another, made what this one finds. */
#include "share.h"

uint32_t tsr_share_mint(tsr_elab *el, tsr_instance *instance, const tsr_ast *declaration, uint32_t nth)
{
	tsr_share *s = el->share;
	if (!s)
		return 0;
	uint32_t around = s->minting;
	tsr_push(el->arena, &s->mints, ((tsr_mint){instance, declaration, nth, TSR_NONE}));
	s->minting = around ? around : s->mints.n;
	return around;
}

void tsr_share_minted(tsr_elab *el, uint32_t around, const tsr_instance *instance, tsr_tensor_id id)
{
	tsr_share *s = el->share;
	if (!s)
		return;
	s->minting = around;
	for (uint32_t i = s->mints.n; i-- > 0;) {
		tsr_mint *m = &s->mints.at[i];
		if (m->instance != instance || m->tensor != TSR_NONE)
			continue;
		m->tensor = id;
		tsr_map_put(&s->mint_of, id)->value.i = i + 1;
		return;
	}
}

void tsr_share_declares(tsr_elab *el, const tsr_instance *instance)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; s && i < s->open.n; i++)
		s->open.at[i]->declares |= instance->number <= s->open.at[i]->instances;
}

const tsr_mint *tsr_mint_of(const tsr_elab *el, tsr_tensor_id id)
{
	tsr_map_entry *e = id == TSR_NONE ? NULL : tsr_map_find(&el->share->mint_of, id);
	return e ? &el->share->mints.at[e->value.i - 1] : NULL;
}

bool tsr_mint_lasts(const tsr_application *t, const tsr_mint *m) { return m->instance->number <= t->instances; }

tsr_tensor_id tsr_minted_now(const tsr_likeness *c, const tsr_mint *m)
{
	const tsr_instance *now = m->instance;
	for (uint32_t i = 0; i < c->instances.n; i++)
		if (c->instances.at[i].b == m->instance)
			now = c->instances.at[i].a;
	tsr_map_entry *e = tsr_map_find(&now->made, tsr_key(m->declaration));
	const tsr_minted *minted = e ? e->value.p : NULL;
	return minted && m->nth < minted->made.n ? minted->made.at[m->nth] : TSR_NONE;
}
