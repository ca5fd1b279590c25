/* For contract.c: products under windows as loops, forward and the gradient of the weights, with few channels (windows by channels make one
 * stretch) and many, with and without padding, strides and a tail; of bf16; and over images as wide as the run says. */
typedef struct window { int n, o, f, k, c, step, pad, size, more; bool forward, cut, looked, apart, later; const char *prec, *given; } window;
typedef window draw_case(void);

/* A first layer's: images of several blocks of rows, the ends of whose rows lie inside of tiles. */
static window draw_first(void)
{
	window w = { .n = 1 + (int)draw(2), .o = 8 + (int)draw(24), .k = 3 + (int)draw(5), .c = 1 + (int)draw(4), .step = 1 + (int)draw(2), .pad = 1 + (int)draw(3), .forward = true, .cut = true, .prec = "f32", .given = "f32" };
	w.f = w.o * w.o * w.k * w.k * w.c < 20000 ? 16 : 4;
	w.size = w.step * (w.o - 1) + w.k - w.pad - (int)draw(3);
	return w;
}

static window draw_window(void)
{
	static const int channels[] = { 1, 2, 3, 3, 3, 4, 5, 7, 8, 17, 32 }, filters[] = { 1, 3, 4, 16, 20, 33, 64, 70 };
	window w = { .n = 1 + (int)draw(2), .o = 2 + (int)draw(14), .f = filters[draw(8)], .k = 1 + (int)draw(7), .c = channels[draw(11)],
				 .step = 1 + (int)draw(2), .pad = (int)draw(4), .forward = draw(2) };
	while (w.o > 2 && w.n * w.o * w.o * w.f * w.k * w.k * w.c > 150000)
		w.o--;
	while (w.f > 1 && w.n * w.o * w.o * w.f * w.k * w.k * w.c > 300000)
		w.f /= 2;
	/* an image smaller than what the windows reach is cut on the far side */
	w.size = w.step * (w.o - 1) + w.k - w.pad - (int)draw(3);
	w.size = w.size < 1 ? 1 : w.size;
	w.cut = w.pad > 0 || w.size < w.step * (w.o - 1) + w.k;
	w.prec = w.given = draw(4) ? "f32" : "f64";
	w.looked = draw(4) == 0;         /* images by their numbers, among some more */
	w.apart = draw(2);               /* weights lie by channels first, as the gradient of an input reads them */
	return w;
}

/* Stretches of whole pairs, and of one more. */
static window draw_paired(void)
{
	static const int channels[] = { 32, 33, 34, 40, 64 };
	window w = { .n = 1 + (int)draw(2), .o = 3 + (int)draw(14), .f = 5 + (int)draw(60), .k = 1 + (int)draw(3), .c = channels[draw(5)], .step = 1 + (int)draw(2), .pad = (int)draw(3),
				 .forward = draw(4), .prec = "f32", .given = "bf16" };
	while (w.n * w.o * w.o * w.f * w.k * w.k * w.c > 300000 && w.o > 3)
		w.o--;
	while (w.n * w.o * w.o * w.f * w.k * w.k * w.c > 300000 && w.f > 4)
		w.f /= 2;
	w.size = w.step * (w.o - 1) + w.k - w.pad;
	w.cut = w.pad > 0;
	w.apart = draw(2);
	return w;
}

/* Channels are whole steps of matrix registers; ?n places in a row, whose image is `more` wider. */
static window draw_later(void)
{
	window w = { .n = 1 + (int)draw(3), .o = 1 + (int)draw(5), .f = draw(2) ? 16 : 7, .k = 2 + (int)draw(2), .c = 32, .step = 1 + (int)draw(2), .pad = (int)draw(3), .more = 1 + (int)draw(3), .forward = true, .cut = true, .later = true, .prec = "f32", .given = "f32" };
	while (w.n * w.o * w.f * w.k * w.k * w.c > 20000 && w.o > 1)
		w.o--;
	w.size = w.step * (w.o - 1) + w.k - w.pad - (int)draw(2);
	w.size = w.size < 1 ? 1 : w.size;
	w.apart = draw(2);
	return w;
}

/* Loops l0 n, l1 l2 places, l3 filter, l4 l5 window, l6 channel. */
static void window_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id, draw_case *one)
{
	window w = one();
	int extent[] = { w.n, w.o, w.o, w.f, w.k, w.k, w.c }, forward[] = { 0, 1, 2, 3, 4, 5, 6 }, weights[] = { 3, 4, 5, 6, 0, 1, 2 };
	const int *order = w.forward ? forward : weights;
	bool runtime[MOST_TERMS] = { [2] = w.later };
	const char *y = tsr_format(a, "%%%c%d[l0, l1, l2, l3]", w.forward ? 'c' : 'a', id), *c = w.forward ? y : tsr_format(a, "%%c%d[l3, l4, l5, l6]", id);
	const char *h = tsr_format(a, "%d*l1 + l4 - %d", w.step, w.pad), *v = tsr_format(a, "%d*l2 + l5 - %d", w.step, w.pad);
	const char *numbers = tsr_format(a, "%c%d", w.forward ? 'i' : 'j', id), *image = w.forward ? "t.12" : "u.13";
	const char *x = tsr_format(a, "%%%c%d[%s, %s, %s, l6]", w.forward ? 'a' : 'b', id, w.looked ? image : "l0", h, v);
	tsr_text looked;
	tsr_text_init(&looked, a);
	if (w.looked)
		x = looked_up(a, &looked, numbers, w.prec, x, 0, -1, extent);
	else
		tsr_text_addf(&looked, "buffer %%%s : i32[1] param\n", numbers);
	const char *other = !w.forward ? y : tsr_format(a, w.apart ? "%%b%d[l6, l4, l5, l3]" : "%%b%d[l4, l5, l6, l3]", id);
	int weights_dims[] = { w.apart ? w.c : w.k, w.k, w.apart ? w.k : w.c, w.f };
	const char *places = w.later ? "?n" : tsr_format(a, "%d", w.o), *wide = tsr_format(a, w.later ? "%d*?n + %d" : "%d", w.later ? w.step : w.size, w.more);
	const char *y_dims = tsr_format(a, "[%d, %d, %s, %d]", w.n, w.o, places, w.f), *x_dims = tsr_format(a, "[%d, %d, %s, %d]", w.n + 3 * w.looked, w.size, wide, w.c);
	const char *c_dims = w.forward ? y_dims : tsr_format(a, "[%d, %d, %d, %d]", w.f, w.k, w.k, w.c);
	tsr_text_addf(decl, "buffer %%c%d : %s%s value\n", id, w.prec, c_dims);
	tsr_text_addf(decl, "buffer %%a%d : %s%s param\n", id, w.given, w.forward ? x_dims : y_dims);
	if (w.forward)
		tsr_text_addf(decl, "%sbuffer %%b%d : %s[%d, %d, %d, %d] param\nbuffer %%j%d : i32[1] param\n", tsr_text_str(&looked), id, w.given,
			weights_dims[0], weights_dims[1], weights_dims[2], weights_dims[3], id);
	else
		tsr_text_addf(decl, "buffer %%i%d : i32[1] param\nbuffer %%b%d : %s%s param\n%s", id, id, w.given, x_dims, tsr_text_str(&looked));
	tsr_text use[3];
	for (int i = 0; i < 3; i++)
		tsr_text_init(&use[i], a);
	tail_operands(a, decl, use, c, c_dims, id, w.prec, 4, order, extent, runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_str(&use[i]);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	int in_c = 4;
	for (int i = 0; i < 7; i++) {
		if (i == in_c)
			tsr_text_addf(units, "let $0 : %s = 0.0:%s\n", w.prec, w.prec);
		tsr_text_addf(units, "for l%d in 0..%s %s {\n", order[i], order[i] == 2 ? places : tsr_format(a, "%d", extent[order[i]]), i < in_c ? "parallel" : "reduce");
	}
	const char *first = w.forward ? x : other, *second = w.forward ? other : x;
	if (w.given != w.prec)
		first = tsr_format(a, "convert.%s(%s)", w.prec, first), second = tsr_format(a, "convert.%s(%s)", w.prec, second);
	if (w.cut)
		tsr_text_addf(units, "if %s in 0..%d, %s in 0..%s {\n", h, w.size, v, wide);
	tsr_text_addf(units, "set $0 = add.%s($0, mul.%s(%s, %s))\n%s}}}", w.prec, w.prec, first, second, w.cut ? "}" : "");
	add_stores(a, units, c, use, w.prec, draw(2), id);
	tsr_text_addf(units, "}}}} } }\n");
}
