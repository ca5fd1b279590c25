/* Was it right to solve applications once that are the same?  That they stay so is a guess: what the program says later might bear on one of
 * them alone.  See Note [Shared applications]. */
#include "share.h"

/* Applied to the leaf `one` of the first application: then to that of each. */
static bool covers(const tsr_elab *el, const tsr_application *u, tsr_tensor_id one)
{
	const tsr_map *others = &el->share->canonical;
	for (uint32_t i = 0; i < others->n; i++)
		if (others->entries[i].value.i == one && !tsr_map_find(&u->applied, others->entries[i].key))
			return false;
	return true;
}

static void add_friends(tsr_elab *el, const tsr_application *t, tsr_regions *out)
{
	for (uint32_t i = 0; i < out->n; i++)
		if (out->at[i] == t->region)
			return;
	tsr_push(el->arena, out, t->region);
	for (uint32_t i = 0; i < t->onto.n; i++)
		tsr_push(el->arena, out, t->onto.at[i]);
	for (uint32_t i = 0; i < t->uses.n; i++)
		add_friends(el, t->uses.at[i], out);
}

/* Applications to leaves of t, which count as part of it when each instance's leaf was given to one. */
static void add_covering(tsr_elab *el, const tsr_application *t, tsr_regions *out)
{
	tsr_share *s = el->share;
	for (uint32_t i = 0; i < s->all.n; i++) {
		const tsr_application *u = s->all.at[i];
		bool any = false, all = u->shared && u != t;
		for (uint32_t k = t->first; all && k < t->last; k++) {
			const tsr_asked *e = &t->asked->at[k];
			if (e->kind != TSR_ASKED_LEAF || !tsr_map_find(&u->applied, e->leaf))
				continue;
			any = true;
			all = covers(el, u, e->leaf);
		}
		if (any && all)
			add_friends(el, u, out);
	}
}

bool tsr_application_alone(tsr_elab *el, const tsr_application *t)
{
	tsr_regions friends = {0};
	TSR_VEC(tsr_shape) given = {0};
	for (uint32_t i = 0; i < t->given.n; i++)
		tsr_push(el->arena, &given, t->given.at[i]);
	add_friends(el, t, &friends);
	add_covering(el, t, &friends);
	for (uint32_t i = t->first; i < t->last; i++)
		for (uint32_t k = 0; k < t->asked->at[i].n; k++)
			if (!tsr_regions_made(friends.n, friends.at, &t->asked->at[i].shapes[k]))
				tsr_push(el->arena, &given, t->asked->at[i].shapes[k]);
	return tsr_region_alone(el->g->store, friends.n, friends.at, given.n, given.at, &t->links);
}

/* Note [Shared applications]
 * Let F be the constraints of the program with every application emitted, and Q what is emitted when applications that are the
 * same share their variables. Every solution of Q solves F: an application that was not emitted has the shapes of one that was,
 * and that one's constraints hold. So all that the rules of section 4 derive in F holds in the solution of Q, and what may
 * differ is policy: a leaf that took another bound, an interior that went up further.
 *
 * Suppose that in Q no variable of the shared application got its value, or its candidate, from a constraint outside of it,
 * except through the shapes that all applications were given alike. Then in F each of the applications, one after the other, is
 * solved by the same steps from the same shapes, and closes in the same way; a linked row, of which only what lies in front of
 * the known axes is open, closes to nothing in each because it does so in Q without any candidate. So the solutions agree.
 * tsr_application_alone decides whether that is so; where it is not, or where anything is wrong with the program, the driver
 * elaborates it again with every application emitted. Optimisers touch parameters from outside: such an application counts as
 * part of the shared one when it is itself shared and was applied to the parameter of every instance.
 *
 * An instance of a scheme is no guess (Note [Instances] in shape/instance.c), and may itself be what later applications are the same
 * as. What it stands on are variables of its own which are joined with those of its arguments: these count as given, too. */
