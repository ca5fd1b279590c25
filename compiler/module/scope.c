/* Names to definitions.  A later definition hides an earlier one, whether it was written in the module or came with an
 * `open`; an opened module gives its own definitions, not what it opened itself. */
#include "module.h"

bool tsr_pat_binds(const tsr_pat *p, tsr_name name, tsr_span *where)
{
	if (p->kind == TSR_PAT_NAME && p->name == name) {
		*where = p->span;
		return true;
	}
	for (uint32_t i = 0; i < p->items.n; i++)
		if (tsr_pat_binds(p->items.at[i], name, where))
			return true;
	return false;
}

static bool defines(const tsr_module *m, uint32_t item, tsr_name name, tsr_definition *out)
{
	const tsr_ast *e = m->ast->items.at[item];
	tsr_span where;
	bool found = false;
	if (e->kind == TSR_AST_LET) {
		found = tsr_pat_binds(e->let.pat, name, &where);
	} else if (e->kind == TSR_AST_EXPORT && e->export.name == name) {
		found = true;
		where = e->at;
	}
	if (found)
		*out = (tsr_definition){m, item, where};
	return found;
}

/* The last of the module's own. */
static bool own(const tsr_module *m, tsr_name name, tsr_definition *out)
{
	for (uint32_t i = m->ast->items.n; i-- > 0;)
		if (defines(m, i, name, out))
			return true;
	return false;
}

bool tsr_scope_find(const tsr_modules *all, const tsr_module *m, uint32_t before, tsr_name qualifier, tsr_name name, tsr_definition *out)
{
	const tsr_module *other;
	if (qualifier) {
		other = tsr_modules_find(all, qualifier);
		return other && own(other, name, out);
	}
	for (uint32_t i = before; i-- > 0;) {
		if (defines(m, i, name, out))
			return true;
		const tsr_ast *e = m->ast->items.at[i];
		if (e->kind != TSR_AST_OPEN)
			continue;
		other = tsr_modules_find(all, e->open.module);
		if (other && own(other, name, out))
			return true;
	}
	for (uint32_t i = m->prelude.n; i-- > 0;)
		if (own(m->prelude.at[i], name, out))
			return true;
	return false;
}
