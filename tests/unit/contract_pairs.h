/* Cases of contract.c whose operands are bf16 as they lie, which some targets multiply in pairs: either turned, rows that begin with even and with odd depths, batches, dot products. */

static void pairs_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	bool turned[2] = { draw(3) == 0, draw(3) == 0 }, deep = draw(3) == 0, batch = draw(4) == 0, low = draw(4) == 0, runtime[MOST_TERMS] = { false };
	int rows = 2 + (int)draw(40), columns = 4 + (int)draw(90), depth = deep ? 50 + (int)draw(60) : 8 + (int)draw(40), all = 1 + (int)draw(3);
	depth += draw(2) ? depth % 2 : 0;
	if (low)                         /* and both lie along K, of few rows */
		rows = 2 + (int)draw(5), depth = 64 + 2 * (int)draw(60), turned[0] = false, turned[1] = true;
	int extent[] = { rows, columns, depth, batch ? all : 1 }, order[] = { 3, 0, 1 }, pitch = depth + (int)draw(4) * (1 + low);
	const char *c = tsr_format(a, "%%c%d[l3, l0, l1]", id), *c_dims = tsr_format(a, "[%d, %d, %d]", extent[3], rows, columns);
	tsr_text_addf(decl, "buffer %%c%d : f32%s value\n", id, c_dims);
	tsr_text_addf(decl, "buffer %%a%d : bf16[%d, %d, %d] param\nbuffer %%i%d : i32[1] param\n", id, extent[3], turned[0] ? pitch : rows, turned[0] ? rows : pitch, id);
	tsr_text_addf(decl, "buffer %%b%d : bf16[%d, %d, %d] param\nbuffer %%j%d : i32[1] param\n", id, extent[3], turned[1] ? columns : depth, turned[1] ? depth : columns, id);
	tsr_text use[3];
	for (int i = 0; i < 3; i++)
		tsr_text_init(&use[i], a);
	tail_operands(a, decl, use, c, c_dims, id, "f32", 3, order, extent, runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_str(&use[i]);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	for (int i = 0; i < 3; i++)
		tsr_text_addf(units, "for l%d in 0..%d parallel {\n", order[i], extent[order[i]]);
	tsr_text_addf(units, "let $0 : f32 = 0.0:f32\nfor l2 in 0..%d reduce {\n", depth);
	tsr_text_addf(units, "set $0 = add.f32($0, mul.f32(convert.f32(%%a%d[l3, %s]), convert.f32(%%b%d[l3, %s])))\n}\n", id, turned[0] ? "l2, l0" : "l0, l2", id,
		turned[1] ? "l1, l2" : "l2, l1");
	add_stores(a, units, c, use, "f32", draw(2), id);
	tsr_text_addf(units, "}}} } }\n");
}
