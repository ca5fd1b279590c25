/* Cases of contract.c of few rows by a B of many columns that small caches do not hold: tiles of one block copy the next one's panels, where columns fill lines. */

static void early_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	static const char *const precs[] = { "f32", "f32", "f64", "i32" };
	bool runtime[MOST_TERMS] = { false };
	const char *prec = precs[draw(4)];
	int rows = 12 + (int)draw(draw(2) ? 24 : 50), columns = 128 + 32 * (int)draw(5) + (draw(6) == 0 ? 16 : 0), depth = 64 + (int)draw(50);
	int extent[] = { rows, columns, depth }, order[] = { 0, 1 };
	const char *c = tsr_format(a, "%%c%d[l0, l1]", id), *c_dims = tsr_format(a, "[%d, %d]", rows, columns);
	tsr_text_addf(decl, "buffer %%c%d : %s%s value\n", id, prec, c_dims);
	tsr_text_addf(decl, "buffer %%a%d : %s[%d, %d] param\nbuffer %%i%d : i32[1] param\n", id, prec, rows, depth, id);
	tsr_text_addf(decl, "buffer %%b%d : %s[%d, %d] param\nbuffer %%j%d : i32[1] param\n", id, prec, depth, columns, id);
	tsr_text use[3];
	for (int i = 0; i < 3; i++)
		tsr_text_init(&use[i], a);
	tail_operands(a, decl, use, c, c_dims, id, prec, 2, order, extent, runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_str(&use[i]);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	for (int i = 0; i < 2; i++)
		tsr_text_addf(units, "for l%d in 0..%d parallel {\n", i, extent[i]);
	tsr_text_addf(units, "let $0 : %s = %s%s\nfor l2 in 0..%d reduce {\n", prec, *prec == 'f' ? "0.0:" : "0:", prec, depth);
	tsr_text_addf(units, "set $0 = add.%s($0, mul.%s(%%a%d[l0, l2], %%b%d[l2, l1]))\n}\n", prec, prec, id, id);
	add_stores(a, units, c, use, prec, false, id);          /* in several blocks of K */
	tsr_text_addf(units, "}} } }\n");
}
