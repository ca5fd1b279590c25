/* Cases of contract.c of windows over images whose channels come first, so that places side by side lie as far apart as the window moves: one and two dimensions, steps of one to five, gaps,
 * with and without padding, stretches of places shorter and longer than a vector. */

static void apart_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id)
{
	const char *prec = draw(4) ? "f32" : "f64";
	int two = (int)draw(3), n = 1 + (int)draw(3), f = 1 + (int)draw(two ? 12 : 24), channels = 1 + (int)draw(9), k = 1 + (int)draw(7), step = 1 + (int)draw(5), gap = 1 + (int)(draw(4) == 0);
	int places = two ? 3 + (int)draw(16) : 10 + (int)draw(60), rows = two ? 2 + (int)draw(7) : 1, high = two ? k : 1, pad = draw(2) ? 1 + (int)draw(3) : 0, short_by = pad ? (int)draw(3) : -(int)draw(4);
	int width = step * (places - 1) + gap * (k - 1) + 1 - pad - short_by, height = two ? step * (rows - 1) + gap * (k - 1) + 1 - pad - short_by : 1;
	const char *h = two ? tsr_format(a, "%d*l2 + %d*l5 - %d", step, gap, pad) : "l2 + l5", *v = tsr_format(a, "%d*l3 + %d*l6 - %d", step, gap, pad);
	tsr_text_addf(decl, "buffer %%c%d : %s[%d, %d, %d, %d] value\nbuffer %%a%d : %s[%d, %d, %d, %d] param\nbuffer %%i%d : i32[1] param\n", id, prec, n, f, rows, places, id, prec, f, channels, high, k, id);
	tsr_text_addf(decl, "buffer %%b%d : %s[%d, %d, %d, %d] param\nbuffer %%j%d : i32[1] param\n", id, prec, n, channels, height < 1 ? 1 : height, width < 1 ? 1 : width, id);
	tsr_text_addf(decl, "buffer %%r%d : %s[1] param\nbuffer %%s%d : %s[1] param\nbuffer %%y%d : %s[1] value\n", id, prec, id, prec, id, prec);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	const int extent[] = { n, f, rows, places, channels, high, k };
	for (int i = 0; i < 7; i++) {
		if (i == 4)
			tsr_text_addf(units, "let $0 : %s = 0.0:%s\n", prec, prec);
		tsr_text_addf(units, "for l%d in 0..%d %s {\n", i, extent[i], i < 4 ? "parallel" : "reduce");
	}
	bool cut = pad > 0 || short_by > 0;
	if (cut)
		tsr_text_addf(units, "if %s in 0..%d, %s in 0..%d {\n", h, height < 1 ? 1 : height, v, width < 1 ? 1 : width);
	tsr_text_addf(units, "set $0 = add.%s($0, mul.%s(%%a%d[l1, l4, l5, l6], %%b%d[l0, l4, %s, %s]))\n%s}}}\n", prec, prec, id, id, h, v, cut ? "}" : "");
	tsr_text_addf(units, "store %%c%d[l0, l1, l2, l3] = $0\n}}}} } }\n", id);
}
