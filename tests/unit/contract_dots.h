/* Cases of contract.c whose operands both lie side by side along what is summed, of few rows or few columns; few columns that lie across it; and such as are computed. */

/* c = x * y over the last of the three extents: y lies along it as x does, or, `far`, across it; rows of x are `pitch` apart, and
 * as many as the run says where their extent is 0.  y is computed of elements of the precision `of`, or (NULL) lies there as it is.  The sum takes several blocks if it is, or is `far`. */
static void product_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id, const char *prec, const char *of, const int *extent, int pitch, bool turned, bool far)
{
	bool runtime[MOST_TERMS] = { !extent[0] };
	int columns = extent[1], depth = extent[2], order[] = { turned, !turned };
	const char *count[] = { extent[0] ? tsr_format(a, "%d", extent[0]) : "?n", tsr_format(a, "%d", columns) };
	const char *c = tsr_format(a, turned ? "%%c%d[l1, l0]" : "%%c%d[l0, l1]", id), *c_dims = tsr_format(a, "[%s, %s]", count[order[0]], count[order[1]]);
	tsr_text_addf(decl, "buffer %%c%d : %s%s value\n", id, prec, c_dims);
	tsr_text_addf(decl, "buffer %%a%d : %s[%s, %d] param\nbuffer %%i%d : i32[1] param\n", id, prec, count[0], pitch, id);
	tsr_text_addf(decl, "buffer %%b%d : %s[%d, %d] param\nbuffer %%j%d : i32[1] param\n", id, of ? of : prec, far ? depth : columns, far ? columns : depth, id);
	tsr_text use[3];
	for (int i = 0; i < 3; i++)
		tsr_text_init(&use[i], a);
	tail_operands(a, decl, use, c, c_dims, id, prec, 2, order, extent, runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_str(&use[i]);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	for (int i = 0; i < 2; i++)
		tsr_text_addf(units, "for l%d in 0..%s parallel {\n", i, count[i]);
	tsr_text_addf(units, "let $0 : %s = %s%s\nfor l2 in 0..%d reduce {\n", prec, *prec == 'f' ? "0.0:" : "0:", prec, depth);
	const char *y = tsr_format(a, "%%b%d[%s]", id, far ? "l2, l1" : "l1, l2");
	if (of)
		y = tsr_format(a, draw(2) ? "convert.%s(%s)" : "mul.%s(convert.f32(%s), 0.5:f32)", prec, y);
	tsr_text_addf(units, "set $0 = %s.%s($0, mul.%s(%%a%d[l0, l2], %s))\n}\n", far || draw(4) ? "add" : "sub", prec, prec, id, y);
	add_stores(a, units, c, use, prec, !far && !of && draw(2), id);
	tsr_text_addf(units, "}} } }\n");
}

static void dots_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	static const char *const precs[] = { "f32", "f32", "f64", "i32" };
	bool tall = draw(3) == 0, turned = draw(3) == 0;
	const char *prec = precs[draw(4)];
	int rows = tall ? 20 + (int)draw(50) : 2 + (int)draw(12), columns = tall ? 2 + (int)draw(7) : 2 + (int)draw(60), depth = 64 + (int)draw(2) * 16 + (int)draw(40);
	int extent[] = { rows, columns, depth }, pitch = depth + (int)draw(2) * 3;
	product_case(a, decl, units, id, prec, NULL, extent, pitch, turned, false);
}

static void crossed_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	static const char *const precs[] = { "f32", "f32", "f64", "i32" };
	int extent[] = { 20 + (int)draw(50), 2 + (int)draw(3), 64 + (int)draw(40) };
	product_case(a, decl, units, id, precs[draw(4)], NULL, extent, extent[2] + (int)draw(2) * 3, draw(3) == 0, true);
}

static void computed_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	static const char *const of[] = { "i8", "u8", "bf16" };
	int extent[] = { 2 + (int)draw(20), 32 + (int)draw(60), 64 + (int)draw(2) * 16 + (int)draw(80) };
	product_case(a, decl, units, id, "f32", of[draw(3)], extent, extent[2] + (int)draw(2) * 3, draw(3) == 0, draw(4) == 0);
}
