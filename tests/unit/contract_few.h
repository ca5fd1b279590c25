/* Cases of contract.c of as many rows as the run says: few have a schedule of their own, with tiles of every height. */

static void few_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	static const char *const precs[] = { "f32", "f32", "f64", "i32" };
	bool far = draw(2), turned = !far && draw(4) == 0;
	const char *prec = precs[draw(4)];
	int columns = 8 + (int)draw(8) * 16 + (int)draw(3), depth = 40 + (int)draw(6) * 16 + (int)draw(2);
	product_case(a, decl, units, id, prec, NULL, (const int[]){ 0, columns, depth }, depth + (int)draw(2) * 3, turned, far);
}
