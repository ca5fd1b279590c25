/* Random programs of contract.c: classes, permutations, strides and sizes around tile edges. */

typedef struct axis_text { char index[64], size[32]; int64_t extent; } axis_text;

/* The operand is looked up along an axis: by numbers, of which some are none of its places, that depend on this loop and perhaps on another one,
 * which the operand may have for itself, too. */
static const char *looked_up(tsr_arena *a, tsr_text *numbers, const char *name, const char *prec, const char *use, int x, int other, const int *extent)
{
	const char *none = *prec == 'f' ? tsr_format(a, "0.0:%s", prec) : *prec == 'b' ? "false" : tsr_format(a, "0:%s", prec);
	const char *at = other < 0 ? tsr_format(a, "%%%s[l%d]", name, x) : tsr_format(a, "%%%s[l%d, l%d]", name, other, x);
	if (other < 0)
		tsr_text_addf(numbers, "buffer %%%s : i32[%d] param\n", name, extent[x]);
	else
		tsr_text_addf(numbers, "buffer %%%s : i32[%d, %d] param\n", name, extent[other], extent[x]);
	return tsr_format(a, "lookup(%s.%d = %s; select(%s.%d in 0..%d; %s; %s))", *name == 'i' ? "t" : "u", MOST_TERMS + (*name == 'j'),
		draw(2) ? at : tsr_format(a, "convert.i64(%s)", at), *name == 'i' ? "t" : "u", MOST_TERMS + (*name == 'j'), extent[x] + 3, use, none);
}

/* An operand over these loops: axes mostly shuffled, some strided, some joined as i + 3 k, some as i + k - 1 under a guard, as padding
 * makes them (`guards` NULL: neither). */
static bool in_order;            /* axes are not shuffled */
static int operand(tsr_text *decl, tsr_text *use, tsr_text *guards, const char *name, const char *prec, const char *kind, int n,
					const int *loops, const int *extent, const bool *runtime)
{
	bool plain = !guards;
	int looked = -1;             /* the loop whose axis is looked up */
	int order[MOST_TERMS];
	for (int i = 0; i < n; i++)
		order[i] = loops[i];
	bool orderly = draw(3) == 0 || in_order;     /* what is summed lies innermost */
	for (int i = n - 1; i > 0 && !orderly; i--) {
		int j = (int)draw((uint32_t)i + 1), t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	tsr_text_addf(decl, "buffer %%%s : %s[", name, prec);
	tsr_text_addf(use, "%%%s[", name);
	for (int i = 0; i < n; i++) {
		const char *comma = i ? ", " : "";
		int x = order[i], way = plain || runtime[x] ? 0 : (int)draw(10);
		if (way == 1) {
			tsr_text_addf(use, "%s2*l%d + 1", comma, x);
			tsr_text_addf(decl, "%s%d", comma, 2 * extent[x] + 1);
		} else if (way == 2 && i + 1 < n && !runtime[order[i + 1]]) {
			tsr_text_addf(use, "%sl%d + 3*l%d", comma, x, order[i + 1]);
			tsr_text_addf(decl, "%s%d", comma, extent[x] + 3 * extent[order[i + 1]]);
			i++;
		} else if (way == 3 && i + 1 < n && !runtime[order[i + 1]]) {
			tsr_text_addf(guards, "%sl%d + l%d - 1 in 0..%d", *tsr_text_str(guards) ? ", " : "", x, order[i + 1], extent[x]);
			tsr_text_addf(use, "%sl%d + l%d - 1", comma, x, order[i + 1]);
			tsr_text_addf(decl, "%s%d", comma, extent[x]);
			i++;
		} else if (way >= 4 && way < 7 && looked < 0) {
			looked = x;
			tsr_text_addf(use, "%s%s.%d", comma, *name == 'a' ? "t" : "u", MOST_TERMS + (*name == 'b'));
			tsr_text_addf(decl, "%s%d", comma, extent[x] + 3);
		} else {
			tsr_text_addf(use, "%sl%d", comma, x);
			if (runtime[x])
				tsr_text_addf(decl, "%s?n", comma);
			else
				tsr_text_addf(decl, "%s%d", comma, extent[x]);
		}
	}
	tsr_text_addf(decl, "] %s\n", kind);
	tsr_text_addf(use, "]");
	return looked;
}

/* One that may be looked up, which always declares the numbers. */
static void factor(tsr_arena *a, tsr_text *decl, tsr_text *use, tsr_text *guards, const char *name, const char *prec, int n, const int *loops,
				   const int *extent, const bool *runtime)
{
	int looked = operand(decl, use, guards, name, prec, atoi(name + 1) % 2 ? "input" : "param", n, loops, extent, runtime), other = n ? loops[draw((uint32_t)n)] : -1;
	const char *numbers = tsr_format(a, "%c%s", *name == 'a' ? 'i' : 'j', name + 1);
	if (looked < 0) {
		tsr_text_addf(decl, "buffer %%%s : i32[1] param\n", numbers);
		return;
	}
	if (other == looked || runtime[other] || draw(2))
		other = -1;
	const char *text = looked_up(a, decl, numbers, prec, tsr_format(a, "%s", tsr_text_str(use)), looked, other, extent);
	tsr_text_init(use, a);
	tsr_text_addf(use, "%s", text);
}

/* Likewise of whole numbers and of bools. */
static const char *dressed_whole(tsr_arena *a, const char *text, const char *prec, int loop)
{
	if (!strcmp(prec, "bool"))
		return draw(4) ? text : tsr_format(a, "not.bool(%s)", text);
	switch (draw(8)) {
	case 0: return tsr_format(a, "max.%s(%s, 1:%s)", prec, text, prec);
	case 1: return tsr_format(a, "mul.%s(%s, 65537:%s)", prec, text, prec);
	case 2: return tsr_format(a, "convert.%s(convert.i16(%s))", prec, text);
	case 3: return loop < 0 ? text : tsr_format(a, "add.%s(%s, index.%s(l%d))", prec, text, prec, loop);
	default: return text;
	}
}

/* The operand as it stands in the product: mostly itself, else an expression that packing has to evaluate. */
static const char *dressed(tsr_arena *a, tsr_text *x, const char *prec, int loop)
{
	const char *text = tsr_text_str(x);
	if (*prec != 'f')
		return dressed_whole(a, text, prec, loop);
	switch (draw(8)) {
	case 0: return tsr_format(a, "max.%s(%s, 0.0:%s)", prec, text, prec);
	case 1: return tsr_format(a, "mul.%s(%s, 0.5:%s)", prec, text, prec);
	case 2: return tsr_format(a, "where.%s(lt.%s(%s, 0.25:%s), %s, 1.0:%s)", prec, prec, text, prec, text, prec);
	case 3: return tsr_format(a, "convert.%s(convert.i32(%s))", prec, text);
	case 4: return loop < 0 ? text : tsr_format(a, "add.%s(%s, index.%s(l%d))", prec, text, prec, loop);
	default: return text;
	}
}

/* What collects, what it combines, and what stands for nothing: mostly sums of products. */
typedef struct semiring { const char *update, *collect, *combine, *neutral; } semiring;

static const semiring *draw_semiring(bool guarded, const char *prec)
{
	static const semiring bools[] = { { "||=", "or", "and", "false" }, { "&&=", "and", "or", "true" } };
	static const semiring whole[] = {
		{ "+=", "add", "mul", "0" }, { "@^=", "max", "min", "-inf" }, { "@-=", "min", "max", "inf" }, { "@^=", "max", "mul", "-inf" },
	};
	if (*prec == 'b')
		return &bools[draw(2)];
	if (*prec != 'f')
		return &whole[guarded || draw(3) ? 0 : draw(4)];
	static const semiring all[] = {
		{ "+=", "add", "mul", "0.0" }, { "@^=", "max", "add", "-inf" }, { "@-=", "min", "add", "inf" },
		{ "@^=", "max", "mul", "-inf" }, { "@-=", "min", "max", "inf" }, { "@^=", "max", "min", "-inf" },
	};
	return draw(3) ? &all[0] : &all[draw(guarded ? 3 : 6)];
}

/* What stands for nothing, as a number of this precision. */
static const char *nothing(tsr_arena *a, const semiring *r, const char *prec)
{
	if (*prec == 'b')
		return r->neutral;
	bool whole = *prec != 'f', large = !strcmp(r->neutral, "inf"), small = !strcmp(r->neutral, "-inf");
	if (!whole || (!large && !small))
		return tsr_format(a, "%s:%s", r->neutral, prec);
	if (*prec == 'u')
		return large ? "4294967295:u32" : "0:u32";
	return !strcmp(prec, "i32") ? (large ? "2147483647:i32" : "-2147483648:i32")
								: (large ? "9223372036854775807:i64" : "-9223372036854775808:i64");
}

/* Of the second result, by the case's number. */
static const char *const narrow[] = { "f32", "f16", "bf16", "f16" };

/* What the tail reads and writes: r mostly lies like c, s has some of its loops. */
static void tail_operands(tsr_arena *a, tsr_text *decl, tsr_text *use, const char *c, const char *c_dims, int id, const char *prec, int nc,
						  const int *in_c, const int *extent, const bool *runtime)
{
	int some[MOST_TERMS], n = 0;
	for (int i = 0; i < nc; i++)
		if (draw(2))
			some[n++] = in_c[i];
	if (draw(3)) {
		tsr_text_addf(&use[0], "%%r%d%s", id, strchr(c, '['));
		tsr_text_addf(decl, "buffer %%r%d : %s%s param\n", id, prec, c_dims);
	} else
		operand(decl, &use[0], NULL, tsr_format(a, "r%d", id), prec, "param", nc, in_c, extent, runtime);
	operand(decl, &use[1], NULL, tsr_format(a, "s%d", id), prec, "param", n, some, extent, runtime);
	tsr_text_addf(&use[2], "%%y%d%s", id, strchr(c, '['));
	tsr_text_addf(decl, "buffer %%y%d : %s%s value\n", id, narrow[id % 4], c_dims);
}

/* One of what a sum may become: of bools, of whole numbers, of floats. */
static const char *becomes(tsr_arena *a, const char *r, const char *s, const char *prec)
{
	uint32_t ways = *prec == 'b' ? 2 : *prec != 'f' ? 3 : 5;
	if (*prec == 'b')
		return draw(ways) ? tsr_format(a, "or.bool($0, %s)", s) : tsr_format(a, "and.bool(or.bool($0, %s), %s)", s, r);
	switch (draw(ways)) {
	case 0: return tsr_format(a, "add.%s($0, %s)", prec, s);
	case 1: return tsr_format(a, "max.%s(add.%s(add.%s($0, %s), %s), %s)", prec, prec, prec, s, r, s);
	case 2: return tsr_format(a, "where.%s(gt.%s(%s, %s), $0, %s)", prec, prec, s, r, s);
	case 3: return tsr_format(a, "sub.%s(mul.%s(%s, 0.5:%s), convert.%s(convert.i32(max.%s($0, %s))))", prec, prec, r, prec, prec, prec, s);
	default: return tsr_format(a, "mul.%s($0, 2.0:%s)", prec, prec);
	}
}

/* The stores behind a sum: mostly itself. */
static void add_stores(tsr_arena *a, tsr_text *units, const char *c, const tsr_text *use, const char *prec, bool tails, int id)
{
	const char *r = use[0].at, *s = use[1].at, *y = use[2].at, *value = tails && draw(4) ? becomes(a, r, s, prec) : "$0";
	const char *up = *prec == 'b' ? "or" : "max", *down = *prec == 'b' ? "and" : "min";
	for (uint32_t longer = tails ? draw(3) * draw(8) : 0; longer > 0; longer--)
		value = tsr_format(a, "%s.%s(%s.%s(%s, %s), %s)", up, prec, down, prec, value, draw(2) ? r : s, s);
	bool both = tails && draw(3) == 0, named = tails && draw(3) == 0;
	if (named)
		tsr_text_addf(units, "let $1 : %s = %s\n", prec, value);
	tsr_text_addf(units, "store %s = %s\n", c, named ? "$1" : value);
	const char *second = tsr_format(a, "%s.%s(%s, %s)", up, prec, named && draw(2) ? "$1" : "$0", draw(2) ? r : s);
	if (*prec != 'b' && draw(2))     /* an update: of what is there already */
		second = tsr_format(a, "add.%s(convert.%s(%s), %s)", prec, prec, y, second);
	if (both)
		tsr_text_addf(units, "store %s = convert.%s(%s)\n", y, narrow[id % 4], second);
}

/* The loops of a case, and which of them C, A and B go over. */
typedef struct space {
	int id;
	bool lines;                      /* rows of C are whole lines, which can go around the caches */
	bool few;                        /* few rows of sums, which are turned where B's columns lie otherwise than C's */
	bool rows;                       /* rows of C fill lines only together */
	int n, nc, na, nb, extent[MOST_TERMS], in_c[MOST_TERMS], in_a[MOST_TERMS], in_b[MOST_TERMS];
	bool runtime[MOST_TERMS];
} space;

static int draw_count(const space *s, int cls)
{
	if (s->rows)
		return (int[CLASSES]){ 0, 2, 2, 1 }[cls];
	if (s->few)
		return (int[CLASSES]){ (int)draw(4) / 3, 1, 2, 1 }[cls];
	return cls == 0 ? (int)draw(4) / 2 : 1 + (int)draw(8) / 5 + (int)(draw(12) == 0) - (int)(draw(12) == 0);
}

/* Of the i-th loop of a class. */
static int draw_extent(const space *s, int cls, int i)
{
	static const int sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 130 };
	static const int more[] = { 1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 72, 128 };
	static const int wide[] = { 16, 20, 24, 32 }, fewer[CLASSES] = { 1, 5, 0, 24 };
	int extent = s->lines ? 16 * (1 + (int)draw(4)) : s->id >= CASES ? sizes[7 + draw(11)] : sizes[draw(sizeof sizes / sizeof *sizes)];
	if (cls == 0)
		extent = 1 + (int)draw(4);
	else if (i > 0)                  /* stretches of all lengths, and long ones, which are parted */
		extent = s->lines ? 16 : more[draw(sizeof more / sizeof *more)];
	if (s->few)
		extent = cls == 2 ? wide[draw(s->lines ? 1 : 4)] : fewer[cls] - (int)draw(3) * (cls > 0);
	if (s->rows)
		extent = cls == 1 ? (i ? 8 : 3) : cls == 2 ? (i ? 20 + 4 * (int)draw(2) : 16) : 2 + (int)draw(14);
	return extent;
}

/* K's loops come last in the numbering. */
static void draw_space(space *s, int symbol_value)
{
	int64_t work = 1, most = 1;      /* `most`: with the largest run-time size */
	for (int cls = 0; cls < CLASSES; cls++) {
		int count = draw_count(s, cls);
		for (int i = 0; i < count; i++, s->n++) {
			int *extent = &s->extent[s->n];
			*extent = draw_extent(s, cls, i);
			bool runtime = symbol_value && !s->few && !s->rows && cls > 0 && draw(3) == 0 && most * 97 < 1000000;
			s->runtime[s->n] = runtime;
			if (runtime)
				*extent = symbol_value;
			while (work * *extent > 150000 && !runtime && *extent > 1)
				*extent = (*extent + 1) / 2;
			work *= *extent;
			most *= runtime ? 97 : *extent;
			if (cls != 3)
				s->in_c[s->nc++] = s->n;
			if (cls != 2)
				s->in_a[s->na++] = s->n;
			if (cls != 1)
				s->in_b[s->nb++] = s->n;
		}
	}
	if (s->rows)
		s->in_c[1] = 2, s->in_c[2] = 1;  /* rows, columns, rows, columns */
}

static void open_loop(tsr_text *units, const space *s, int i, bool summed)
{
	const char *how = summed ? "reduce" : "parallel";
	if (s->runtime[i])
		tsr_text_addf(units, "for l%d in 0..?n %s {\n", i, how);
	else
		tsr_text_addf(units, "for l%d in 0..%d %s {\n", i, s->extent[i], how);
}

static void close_loops(tsr_text *units, int n)
{
	for (int i = 0; i < n; i++)
		tsr_text_addf(units, "}");
}

/* One step of the sum: C's element, A's and B's, and under what it is taken. */
typedef struct step { const char *c, *a, *b, *open, *close, *prec; const semiring *r; } step;

/* Added to C where the loops stand in any order. */
static void sum_in_place(tsr_text *units, const space *s, const step *x)
{
	for (int i = 0; i < s->n; i++) {
		bool summed = true;
		for (int j = 0; j < s->nc; j++)
			summed &= s->in_c[j] != i;
		open_loop(units, s, i, summed);
	}
	tsr_text_addf(units, "%supdate %s %s %s.%s(%s, %s)\n%s", x->open, x->c, *x->r->update == '+' && !draw(3) ? "-=" : x->r->update, x->r->combine, x->prec,
		x->a, x->b, x->close);
	close_loops(units, s->n);
}

/* Collected in a local under the loops of C, and then added or stored. */
static void sum_in_local(tsr_arena *a, tsr_text *units, const space *s, const step *x, int form, const tsr_text *use)
{
	for (int i = 0; i < s->nc; i++)
		open_loop(units, s, i, false);
	tsr_text_addf(units, "let $0 : %s = %s\n", x->prec, form == 3 && s->nc ? x->c : nothing(a, x->r, x->prec));
	for (int i = s->nc; i < s->n; i++)
		open_loop(units, s, i, true);
	tsr_text_addf(units, "%sset $0 = %s.%s($0, %s.%s(%s, %s))\n%s", x->open, x->r->collect, x->prec, x->r->combine, x->prec, x->a, x->b, x->close);
	close_loops(units, s->n - s->nc);
	if (form == 1)
		tsr_text_addf(units, "update %s %s $0\n", x->c, x->r->update);
	else
		add_stores(a, units, x->c, use, x->prec, form == 2, s->id);
	close_loops(units, s->nc);
}

static void make_case(tsr_arena *a, tsr_text *decl, tsr_text *units, int id, int symbol_value)
{
	static const char *const precs[] = { "f32", "f32", "f32", "f32", "f32", "f32", "f64", "f64", "i32", "u32", "i64", "bool" };
	space s = { .id = id };
	s.lines = draw(4) == 0;
	s.few = draw(6) == 0;
	s.rows = !s.few && draw(6) == 0;
	draw_space(&s, symbol_value);
	step sum = { .open = "", .close = "", .prec = id < CASES ? precs[draw(sizeof precs / sizeof *precs)] : "f32" };
	tsr_text c, x, y, guards, use[3];
	tsr_text_init(&c, a), tsr_text_init(&x, a), tsr_text_init(&y, a), tsr_text_init(&guards, a);
	size_t before = decl->n;
	in_order = s.rows;
	operand(decl, &c, NULL, tsr_format(a, "c%d", id), sum.prec, id / 4 % 2 ? "value" : "state", s.nc, s.in_c, s.extent, s.runtime);
	in_order = false;
	const char *dims = tsr_format(a, "%s", strchr(tsr_text_str(decl) + before, '['));
	dims = tsr_format(a, "%.*s", (int)strcspn(dims, "]") + 1, dims);
	factor(a, decl, &x, &guards, tsr_format(a, "a%d", id), sum.prec, s.na, s.in_a, s.extent, s.runtime);
	factor(a, decl, &y, s.few ? NULL : &guards, tsr_format(a, "b%d", id), sum.prec, s.nb, s.in_b, s.extent, s.runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_init(&use[i], a);
	sum.c = tsr_text_str(&c);
	tail_operands(a, decl, use, sum.c, dims, id, sum.prec, s.nc, s.in_c, s.extent, s.runtime);
	for (int i = 0; i < 3; i++)
		tsr_text_str(&use[i]);
	int form = s.few || s.rows ? 4 : (int)draw(4);
	bool guard = *tsr_text_str(&guards);
	sum.r = draw_semiring(id >= CASES || guard, sum.prec);
	sum.a = dressed(a, &x, sum.prec, s.na ? s.in_a[0] : -1);
	sum.b = s.few ? tsr_text_str(&y) : dressed(a, &y, sum.prec, -1);
	if (id >= CASES) {               /* matrix registers multiply them */
		sum.a = tsr_format(a, "convert.f32(convert.bf16(%s))", sum.a);
		sum.b = tsr_format(a, "convert.f32(convert.bf16(%s))", sum.b);
	}
	if (guard)
		sum.open = tsr_format(a, "if %s {\n", tsr_text_str(&guards)), sum.close = "}\n";
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	if (form == 0)
		sum_in_place(units, &s, &sum);
	else
		sum_in_local(a, units, &s, &sum, form, use);
	tsr_text_addf(units, "} }\n");
}
