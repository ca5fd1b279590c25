/* Cases of contract.c whose columns lie side by side in B and C only in stretches, which become a batch with one A, and few rows by a B that small
 * caches do not hold. */

static void columns_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	bool apart = id % 2 == 0;
	const char *prec = draw(4) ? "f32" : "i32";
	int outer = apart ? 2 + (int)draw(3) : 1, rows = 2 + (int)draw(apart ? 20 : 6), depth = apart ? 3 + (int)draw(18) : 20 + (int)draw(80);
	int within = apart ? 64 + 16 * (int)draw(5) - (int)draw(3) : 260 + (int)draw(30), extent[] = { outer, rows, within, depth }, order[] = { 0, 1, 2 };
	bool first = draw(2), turned = draw(2), runtime[MOST_TERMS] = { false };
	const char *c = tsr_format(a, first ? "%%c%d[l0, l1, l2]" : "%%c%d[l1, l0, l2]", id), *x = tsr_format(a, turned ? "%%a%d[l3, l1]" : "%%a%d[l1, l3]", id);
	const char *c_dims = tsr_format(a, "[%d, %d, %d]", first ? outer : rows, first ? rows : outer, within);
	tsr_text_addf(decl, "buffer %%c%d : %s%s value\n", id, prec, c_dims);
	tsr_text_addf(decl, "buffer %%a%d : %s[%d, %d] param\nbuffer %%i%d : i32[1] param\n", id, prec, turned ? depth : rows, turned ? rows : depth, id);
	tsr_text_addf(decl, "buffer %%b%d : %s[%d, %d, %d] param\nbuffer %%j%d : i32[1] param\n", id, prec, outer, depth, within, id);
	tsr_text use[3];
	for (int i = 0; i < 3; i++)
		tsr_text_init(&use[i], a);
	tail_operands(a, decl, use, c, c_dims, id, prec, 3, order, extent, runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_str(&use[i]);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	for (int i = 0; i < 3; i++)
		tsr_text_addf(units, "for l%d in 0..%d parallel {\n", i, extent[i]);
	tsr_text_addf(units, "let $0 : %s = %s\nfor l3 in 0..%d reduce {\n", prec, *prec == 'f' ? "0.0:f32" : "0:i32", depth);
	tsr_text_addf(units, "set $0 = add.%s($0, mul.%s(%s, %%b%d[l0, l3, l2]))\n}\n", prec, prec, x, id);
	/* one level's passes find what the last one's have left: sums that pass by there may take several blocks here */
	add_stores(a, units, c, use, prec, apart && draw(2), id);
	tsr_text_addf(units, "}}} } }\n");
}
