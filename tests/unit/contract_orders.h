/* Cases of contract.c with two axes of each class, in any order in each operand: packing finds stretches of whole vectors, of halves and of others, along the
 * positions of a panel, across panels or along the depths. */

/* `last`: so many of the loops stay where they are, innermost. */
static const char *in_any_order(tsr_arena *a, tsr_text *decl, const char *name, int id, const char *prec, const char *kind, const int *loops, int last, const int *extent)
{
	int order[4], n = 4 - last;
	memcpy(order, loops, sizeof order);
	for (int i = n - 1; i > 0; i--) {
		int j = (int)draw((uint32_t)i + 1), t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	tsr_text_addf(decl, "buffer %%%s%d : %s[%d, %d, %d, %d] %s\n", name, id, prec, extent[order[0]], extent[order[1]], extent[order[2]], extent[order[3]], kind);
	return tsr_format(a, "%%%s%d[l%d, l%d, l%d, l%d]", name, id, order[0], order[1], order[2], order[3]);
}

/* `crossed`: B lies side by side in short stretches along columns that are far apart in C, and goes on with a loop of depths. */
static void orders_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id, bool crossed)
{
	static const int stretches[] = { 8, 8, 16, 16, 24, 32, 12 }, deep[] = { 4, 8, 16, 20 };
	static const int of_c[] = { 0, 1, 2, 3 }, of_a[] = { 0, 1, 4, 5 }, of_b[] = { 4, 5, 2, 3 }, of_crossed[] = { 5, 3, 4, 2 };
	const char *prec = draw(5) ? "f32" : "i32";
	int extent[6];
	for (int cls = 0; cls < 2; cls++) {          /* some 60 to 130 positions */
		int stretch = stretches[draw(sizeof stretches / sizeof *stretches)], some = (60 + (int)draw(40)) / stretch + 1;
		bool inner = draw(2);
		extent[2 * cls] = inner ? some : stretch, extent[2 * cls + 1] = inner ? stretch : some;
	}
	extent[4] = deep[draw(4)], extent[5] = extent[4] > 8 ? 2 : deep[1 + draw(3)];
	if (crossed)
		extent[2] = 4 << draw(2), extent[3] = 16 << draw(2);
	const char *c = in_any_order(a, decl, "c", id, prec, "value", of_c, crossed, extent), *x = in_any_order(a, decl, "a", id, prec, "param", of_a, 0, extent);
	tsr_text_addf(decl, "buffer %%i%d : i32[1] param\n", id);
	const char *y = in_any_order(a, decl, "b", id, prec, "param", crossed ? of_crossed : of_b, 2 * crossed, extent);
	tsr_text_addf(decl, "buffer %%j%d : i32[1] param\nbuffer %%r%d : %s[1] param\nbuffer %%s%d : %s[1] param\nbuffer %%y%d : f32[1] value\n", id, id, prec, id, prec, id);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	for (int i = 0; i < 4; i++)
		tsr_text_addf(units, "for l%d in 0..%d parallel {\n", i, extent[i]);
	tsr_text_addf(units, "let $0 : %s = %s\nfor l4 in 0..%d reduce {\nfor l5 in 0..%d reduce {\n", prec, *prec == 'f' ? "0.0:f32" : "0:i32", extent[4], extent[5]);
	tsr_text_addf(units, "set $0 = add.%s($0, mul.%s(%s, %s))\n}}\nstore %s = $0\n}}}}\n} }\n", prec, prec, x, y, c);
}
