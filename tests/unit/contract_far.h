/* Cases of contract.c of an operand that comes from memory, of which no share of the last cache has an eighth: one row by each of several such, few rows by columns that lie along what is
 * summed, and rows of it by few columns. */

static void vectors_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	const char *prec = draw(3) ? "f32" : "f64";
	int batch = 2 + (int)draw(2), depth = 250 + (int)draw(20), columns = 270 + (int)draw(40);
	const char *at = draw(2) ? tsr_format(a, "add.%s($0, %%r%d[l1])", prec, id) : "$0";
	tsr_text_addf(decl, "buffer %%c%d : %s[%d, %d] value\nbuffer %%a%d : %s[%d, %d] param\nbuffer %%i%d : i32[1] param\n", id, prec, batch, columns, id, prec, batch, depth, id);
	tsr_text_addf(decl, "buffer %%b%d : %s[%d, %d, %d] param\nbuffer %%j%d : i32[1] param\n", id, prec, batch, depth, columns, id);
	tsr_text_addf(decl, "buffer %%r%d : %s[%d] param\nbuffer %%s%d : %s[1] param\nbuffer %%y%d : %s[1] value\n", id, prec, columns, id, prec, id, prec);
	tsr_text_addf(units, "unit u%d { kernel k {\nfor l0 in 0..%d parallel {\nfor l1 in 0..%d parallel {\nlet $0 : %s = 0.0:%s\n", id, batch, columns, prec, prec);
	tsr_text_addf(units, "for l2 in 0..%d reduce {\nset $0 = add.%s($0, mul.%s(%%a%d[l0, l2], %%b%d[l0, l2, l1]))\n}\n", depth, prec, prec, id, id);
	tsr_text_addf(units, "store %%c%d[l0, l1] = %s\n}} } }\n", id, at);
}

static void far_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	const char *prec = draw(3) ? "f32" : "f64";
	if (id % 3 == 0)
		vectors_case(a, decl, units, id);
	else if (id % 3 == 1)
		product_case(a, decl, units, id, prec, NULL, (const int[]){ 1 + (int)draw(19), 260 + (int)draw(20), 260 + (int)draw(20) }, 280, draw(2), false);
	else
		product_case(a, decl, units, id, prec, NULL, (const int[]){ 1100 + (int)draw(9), 2 + (int)draw(3), 64 + (int)draw(20) }, 84, false, true);
}
