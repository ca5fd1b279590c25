/* Cases of contract.c of few rows by a B of many columns that small caches do not hold: tiles of one block copy the next one's panels, where columns fill lines.  Of each four one is large
 * enough for targets of few registers, which take several rows of B in turn where the depth is whole fours. */

static void early_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	static const char *const precs[] = { "f32", "f32", "f64", "i32" };
	const char *prec = precs[draw(4)];
	int rows = 12 + (int)draw(draw(2) ? 24 : 50), columns = 128 + 32 * (int)draw(5) + (draw(6) == 0 ? 16 : 0), depth = 64 + (int)draw(50);
	if (id % 4 == 0)
		rows = 9 + (int)draw(12), columns = 512 + 16 * (int)draw(3), depth = 128 + (int)draw(3) * (draw(2) ? 4 : 3);
	product_case(a, decl, units, id, prec, NULL, (const int[]){ rows, columns, depth }, depth, false, true);
}
