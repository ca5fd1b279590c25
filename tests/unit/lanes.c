/* Loops that the emitter writes out in vectors, against the reference interpreter, at each vector width that this machine runs: windows of
 * which an outer loop is computed side by side, padded and not (kernel/outer.c), transpositions (kernel/turned.c), sums of columns
 * (kernel/columns.c, kernel/short_rows.c), over short rows (kernel/short_sums.c, kernel/flat.c) and up to each position (kernel/scan.c).  Random shapes around the number of lanes.  All numbers are small whole numbers, so that no order of
 * summation can excuse a difference. */
#include "../../compiler/base/text.h"
#include "check.h"
#include "draw.h"
#include "emit_kit.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

enum { CASES = 400, EACH = 3, N = 37 };               /* buffers of a case: x, k and the result y; what `?n` stands for */

static const char *one_of(uint32_t n, const char *const *all) { return all[draw(n)]; }

static int extent(void)
{
	static const int all[] = { 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 64, 65, 80, 128, 129, 144 };
	return all[draw(sizeof all / sizeof *all)];
}

/* What a kernel asks of ?n when it runs: nothing, or what holds, or what does not. */
static const char *asking(void) { return one_of(3, (const char *const[]){ "", " large 37 of 1(?n)", " large 2 of 2, 40 of 1(?n) + 2" }); }

/* ---- windows --------------------------------------------------------------------------------------------------------------- */

/* Over rows, along which the lanes go too unless there are channels. */
static void window(tsr_text *decl, tsr_text *units, int id)
{
	bool image = draw(3) == 0;                   /* padded in both directions, of channels */
	bool channels = image || draw(2), padded = image || draw(2), rows = image || draw(2), symbolic = !image && draw(5) == 0;
	int w = extent() + 4, c = image && draw(2) ? 128 + 16 * (int)draw(3) : extent(), kw = 1 + (int)draw(4), stride = channels && !image ? 1 + (int)draw(2) : 1, h = rows ? 3 : 1;
	tsr_arena *a = decl->arena;
	const char *prec = one_of(3, (const char *const[]){ "f32", "i32", "f16" });
	const char *last = symbolic ? "?n" : tsr_format(a, "%d", channels ? c : w), *width = channels ? tsr_format(a, "%d", w) : last;
	int out = (w - (padded ? 1 : kw)) / stride + 1;
	const char *outs = channels ? tsr_format(a, "%d", out) : padded ? width : tsr_format(a, symbolic ? "?n - %d" : "%d", symbolic ? kw - 1 : out);
	const char *at = tsr_format(a, "%s + kw.4%s", stride == 2 ? "2*ow.1" : "ow.1", padded ? " - 1" : ""), *c_of = channels ? ", c.2" : "";
	tsr_text_addf(decl, "buffer %%x%d : %s[%d, %s%s] param\n", id, prec, h, width, channels ? tsr_format(a, ", %s", last) : "");
	tsr_text_addf(decl, "buffer %%k%d : %s[%d, %d%s] param\n", id, prec, h, kw, channels && id % 2 ? tsr_format(a, ", %s", last) : "");
	tsr_text_addf(decl, "buffer %%y%d : %s[%d, %s%s] input\n", id, prec, h, outs, channels ? tsr_format(a, ", %s", last) : "");
	const char *sum = one_of(2, (const char *const[]){ "add", "max" });
	tsr_text nest;
	tsr_text_init(&nest, a);
	tsr_text_addf(&nest, "for b.0 in 0..%d parallel {\nfor ow.1 in 0..%s parallel {\n", h, outs);
	if (channels)
		tsr_text_addf(&nest, "for c.2 in 0..%s parallel {\n", last);
	tsr_text_addf(&nest, "let $0 : %s = convert.%s(%s:i32)\nlet $1 : %s = convert.%s(1:i32)\n", prec, prec, *sum == 'a' ? "0" : "-100", prec, prec);
	tsr_text_addf(&nest, "for kh.3 in 0..%d reduce {\nfor kw.4 in 0..%d %s {\n", h, kw, one_of(2, (const char *const[]){ "reduce", "serial" }));
	const char *row = image || (rows && padded && draw(2)) ? "b.0 + kh.3 - 1" : "kh.3";
	if (padded)
		tsr_text_addf(&nest, "if %s in 0..%d, %s in 0..%s {\n", row, h, at, width);
	tsr_text_addf(&nest, "set $0 = %s.%s($0, mul.%s(%%x%d[%s, %s%s], %%k%d[kh.3, kw.4%s]))\n", sum, prec, prec, id, row, at, c_of, id, channels && id % 2 ? ", c.2" : "");
	if (draw(3) == 0)
		tsr_text_addf(&nest, "set $1 = %%x%d[%s, %s%s]\n", id, row, at, c_of);
	tsr_text_addf(&nest, "%s}\n}\n", padded ? "}\n" : "");
	const char *target = tsr_format(a, "%%y%d[b.0, ow.1%s]", id, c_of);
	if (image || draw(2))
		tsr_text_addf(&nest, "store %s = sub.%s($0, $1)\n", target, prec);
	else
		tsr_text_addf(&nest, "update %s %s add.%s($0, $1)\n", target, one_of(2, (const char *const[]){ "+=", "@^=" }), prec);
	tsr_text_addf(&nest, "}\n}\n%s", channels ? "}\n" : "");
	tsr_text_addf(units, "unit u%d { kernel k {\n%s%s}\n}\n", id, tsr_text_str(&nest), draw(3) ? "" : tsr_text_str(&nest));      /* twice, of the same locals */
}

/* Over images whose channels come first: lanes are places of a row, each or every second one, and rows go together.  Windows have gaps or none, their guards stand in one place or in
 * two, and what is stored may be more than the sum. */
static void plane(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	int stride = 1 + (int)draw(2), kh = 1 + (int)draw(7), kw = 1 + (int)draw(7), gap = 1 + (draw(4) == 0), h = 4 + (int)draw(30) + gap * kh, w = 4 + (int)draw(70) + gap * kw;
	bool padded = draw(3) > 0, own = draw(2), apart = padded && draw(3) == 0, tail = draw(3) == 0, kept = draw(3) == 0;      /* kept: what is stored is read before, into a local */
	int oh = padded ? (h + stride - 1) / stride : (h - gap * (kh - 1) - 1) / stride + 1, ow = padded ? (w + stride - 1) / stride : (w - gap * (kw - 1) - 1) / stride + 1;
	const char *prec = one_of(3, (const char *const[]){ "f32", "i32", "f16" }), *sum = one_of(2, (const char *const[]){ "add", "max" }), *how = one_of(2, (const char *const[]){ "reduce", "serial" });
	const char *row = tsr_format(a, "%d*h.1 + %d*i.3%s", stride, gap, padded ? tsr_format(a, " - %d", gap * (kh - 1) / 2) : "");
	const char *column = tsr_format(a, "%d*w.2 + %d*j.4%s", stride, gap, padded ? tsr_format(a, " - %d", gap * (kw - 1) / 2) : "");
	int into = draw(4) ? 1 : 2 + (int)draw(4), off = into > 1 ? (int)draw(3) : 0;      /* every so many places of a row of results are written */
	const char *result = tsr_format(a, "%%y%d[c.0, h.1, %d*w.2 + %d]", id, into, off);
	tsr_text_addf(decl, "buffer %%x%d : %s[3, %d, %d] param\nbuffer %%k%d : %s[3, %d, %d] param\nbuffer %%y%d : %s[3, %d, %d] input\n", id, prec, h, w, id, prec, kh, kw, id, prec, oh,
				  (ow - 1) * into + off + 1);
	tsr_text_addf(units, "unit u%d { kernel k {\nfor c.0 in 0..3 parallel {\nfor h.1 in 0..%d parallel {\nfor w.2 in 0..%d parallel {\n", id, oh, ow);
	if (kept)
		tsr_text_addf(units, "let $1 : %s = %s\n", prec, result);
	tsr_text_addf(units, "let $0 : %s = convert.%s(%s:i32)\nfor i.3 in 0..%d %s {\n", prec, prec, *sum == 'a' ? "0" : "-100", kh, how);
	const char *rows = tsr_format(a, "%s in 0..%d", row, h), *columns = tsr_format(a, "%s in 0..%d", column, w);
	tsr_text_addf(units, "%sfor j.4 in 0..%d %s {\n", apart ? tsr_format(a, "if %s {\n", rows) : "", kw, how);
	if (padded)
		tsr_text_addf(units, "if %s%s {\n", apart ? "" : tsr_format(a, "%s, ", rows), columns);
	const char *element = tsr_format(a, "%%x%d[c.0, %s, %s]", id, row, column);
	tsr_text_addf(units, "set $0 = %s.%s($0, %s)\n%s}\n}\n", sum, prec, own ? tsr_format(a, "mul.%s(%s, %%k%d[c.0, i.3, j.4])", prec, element, id) : element, apart ? "}\n}\n" : padded ? "}\n" : "");
	tsr_text_addf(units, "store %s = %s\n}\n}\n}\n}\n}\n", result, tail ? tsr_format(a, "max.%s(sub.%s($0, %%k%d[c.0, 0, 0]), convert.%s(-7:i32))", prec, prec, id, prec) : kept ? tsr_format(a, "add.%s($0, $1)", prec) : "$0");
}

/* ---- transpositions ---------------------------------------------------------------------------------------------------------- */

static void transposition(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	bool symbolic = draw(5) == 0, lines = draw(3) == 0;      /* whole lines of every row, around the caches */
	bool runs = !lines && draw(2);                           /* rows that begin anywhere in a line, and several of them */
	int m = (lines || runs) && draw(2) ? (lines ? 512 : 256) + extent() : extent(), between = 1 + (int)draw(3);       /* more columns than are turned in one go */
	const char *prec = one_of(lines ? 4 : runs ? 2 : 5, (const char *const[]){ "f32", "i32", "f16", "f64", "u8" });
	const char *n = symbolic ? "?n" : tsr_format(a, "%d", lines ? 16 * (4 + (int)draw(8)) : runs ? 70 + (int)draw(160) : extent());
	bool along = !symbolic && draw(2);               /* the third loop is one with the one along the result, where both are alone; else with the one across */
	tsr_text_addf(decl, "buffer %%x%d : %s[%s, %d] param\n", id, prec, tsr_format(a, along ? "%2$d, %1$s" : "%1$s, %2$d", n, between), m);
	tsr_text_addf(decl, "buffer %%k%d : %s[%d, %s] param\n", id, prec, m, n);
	tsr_text_addf(decl, "buffer %%y%d : %s[%d, %d, %s] input\n", id, prec, along ? m : between, along ? between : m, n);
	const char *x = tsr_format(a, along ? "%%x%d[j.0, i.2, k.1]" : "%%x%d[i.2, j.0, k.1]", id), *k = tsr_format(a, "%%k%d[k.1, i.2]", id), *value = x;
	switch (lines || runs ? 2 + draw(2) : *prec == 'u' ? 1 + draw(3) : draw(4)) {         /* bytes do not add */
	case 0: value = tsr_format(a, "add.%s(%s, %s)", prec, x, k); break;
	case 1: value = tsr_format(a, "where.%s(lt.%s(%s, %s), %s, convert.%s(index.i32(k.1)))", prec, prec, k, x, k, prec); break;
	case 2: value = tsr_format(a, "max.%s(%s, convert.%s(index.i32(i.2)))", prec, x, prec); break;
	default: break;
	}
	tsr_text_addf(units, "unit u%d { kernel k%s {\nfor j.0 in 0..%d parallel {\nfor k.1 in 0..%d parallel {\nfor i.2 in 0..%s parallel %s{\n", id, symbolic ? asking() : "", between, m, n,
				  lines || runs || draw(2) ? "stream " : "");
	tsr_text_addf(units, "store %%y%d[%s, i.2] = %s\n}\n}\n}\n}\n}\n", id, along ? "k.1, j.0" : "j.0, k.1", value);
}

/* ---- sums of columns ----------------------------------------------------------------------------------------------------------- */

/* Of rows that are shorter than a register or fill some and a part of one, in one loop or two, each of a block for itself or all together. */
static void column_sums(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	bool symbolic = draw(4) == 0, blocks = draw(2), each = draw(2), weighed = draw(3) == 0;
	const char *prec = one_of(4, (const char *const[]){ "f32", "i32", "f64", "f32" }), *stored = *prec == 'i' && draw(2) ? "u8" : prec;
	int n = 2 + (int)draw(draw(2) ? 14 : 40), most = blocks ? 1 + (int)draw(4) : 1, apart = draw(5) ? 0 : 1;
	const char *rows = symbolic ? "?n" : tsr_format(a, "%d", draw(3) ? 30 + (int)draw(300) : extent());
	tsr_text_addf(decl, "buffer %%x%d : %s[%d, %s, %d] param\n", id, stored, most, rows, n + apart);
	tsr_text_addf(decl, "buffer %%k%d : %s[%d, %s, %d] param\n", id, prec, most, rows, n);
	tsr_text_addf(decl, "buffer %%y%d : %s[%d, %d] input\n", id, prec, most, n);
	const char *x = tsr_format(a, "%%x%d[b.0, r.1, c.2]", id);
	x = stored == prec ? x : tsr_format(a, "convert.%s(%s)", prec, x);
	const char *value = weighed ? tsr_format(a, "add.%s(%s, %%k%d[b.0, r.1, c.2])", prec, x, id) : x;
	const char *block = tsr_format(a, "for b.0 in 0..%d %s {\n", most, each ? "parallel" : "reduce"), *row = tsr_format(a, "for r.1 in 0..%s reduce {\n", rows);
	tsr_text_addf(units, "unit u%d { kernel k {\n%s%s", id, each ? row : block, each ? block : row);
	tsr_text_addf(units, "for c.2 in 0..%d parallel {\nupdate %%y%d[%s, c.2] %s %s\n}\n}\n}\n}\n}\n", n, id, each ? "b.0" : "0",
				  one_of(3, (const char *const[]){ "+=", "-=", "@^=" }), value);
}

/* ---- sums over short rows --------------------------------------------------------------------------------------------------------- */

/* Of columns, a part of each of which is one row of several that do not follow each other, or two that do. */
static void row_sums(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	const char *prec = one_of(3, (const char *const[]){ "f32", "i32", "f64" });
	const char *stored = *prec == 'f' && prec[1] == '3' && draw(2) ? one_of(2, (const char *const[]){ "f16", "bf16" }) : prec;
	int h = 1 + (int)draw(3), w = 1 + (int)draw(9), c = draw(2) ? 2 + (int)draw(30) : extent() + 1, parts = 1 + (int)draw(3);
	bool follow = draw(3) == 0, both = draw(3) == 0;
	const char *rows = draw(4) == 0 ? "?n" : tsr_format(a, "%d", w);
	tsr_text_addf(decl, "buffer %%x%d : %s[%d, %s, %d] param\n", id, stored, h, tsr_format(a, follow ? "%2$d, %1$s" : "%1$s, %2$d", rows, parts), c + (draw(2) ? (int)draw(5) : 0));
	tsr_text_addf(decl, "buffer %%k%d : %s[%d, %d] param\nbuffer %%y%d : %s[%d] input\n", id, prec, parts, c, id, prec, parts);
	const char *x = tsr_format(a, follow ? "%%x%d[h.1, p.0, w.2, c.3]" : "%%x%d[h.1, w.2, p.0, c.3]", id), *value;
	value = x = stored == prec ? x : tsr_format(a, "convert.%s(%s)", prec, x);
	switch (draw(4)) {
	case 0: value = tsr_format(a, "mul.%s(%s, %%k%d[p.0, c.3])", prec, x, id); break;
	case 1: value = tsr_format(a, "sub.%s(%s, %%k%d[p.0, 0])", prec, x, id); break;
	case 2: value = tsr_format(a, "add.%s(%s, convert.%s(index.i32(c.3)))", prec, x, prec); break;
	default: break;
	}
	tsr_text_addf(units, "unit u%d { kernel k {\nfor p.0 in 0..%d parallel {\nlet $0 : %s = convert.%s(1:i32)\nlet $1 : %s = convert.%s(2:i32)\n", id, parts, prec, prec, prec, prec);
	tsr_text_addf(units, "for h.1 in 0..%d reduce {\nfor w.2 in 0..%s reduce {\nfor c.3 in 0..%d reduce {\n", h, rows, c);
	tsr_text_addf(units, "set $0 = %s.%s($0, %s)\n", one_of(3, (const char *const[]){ "add", "max", "min" }), prec, value);
	if (both)
		tsr_text_addf(units, "set $1 = add.%s($1, %s)\n", prec, x);
	tsr_text_addf(units, "}\n}\n}\nstore %%y%d[p.0] = sub.%s($0, $1)\n}\n}\n}\n", id, prec);
}

/* ---- sums up to each position ------------------------------------------------------------------------------------------------------ */

/* Stored before or behind what they come to, in place of what is summed or elsewhere. */
static void running(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	const char *prec = one_of(4, (const char *const[]){ "f32", "f32", "f64", "i32" }), *n = draw(5) == 0 ? "?n" : tsr_format(a, "%d", extent() + (int)draw(2) * 100);
	const char *value = one_of(3, (const char *const[]){ "%x", "%y", "mul" }), *how = one_of(3, (const char *const[]){ "add", "max", "min" });
	bool before = draw(2), behind = !before || draw(3) == 0;
	for (const char *name = "xky"; *name; name++)
		tsr_text_addf(decl, "buffer %%%c%d : %s[3, %s] %s\n", *name, id, prec, n, *name == 'y' ? "input" : "param");
	value = *value == '%' ? tsr_format(a, "%s%d[b.0, s.1]", value, id) : tsr_format(a, "mul.%s(%%x%d[b.0, s.1], %%k%d[0, s.1])", prec, id, id);
	tsr_text_addf(units, "unit u%d { kernel k {\nfor b.0 in 0..3 parallel {\nlet $0 : %s = convert.%s(2:i32)\nfor s.1 in 0..%s serial {\n", id, prec, prec, n);
	if (before && !behind)
		tsr_text_addf(units, "store %%y%d[b.0, s.1] = sub.%s($0, %%x%d[b.0, s.1])\n", id, prec, id);
	tsr_text_addf(units, "set $0 = %s.%s($0, %s)\n", how, prec, value);
	if (behind)
		tsr_text_addf(units, "store %%y%d[b.0, s.1] = sub.%s($0, %%k%d[b.0, s.1])\n", id, prec, id);
	tsr_text_addf(units, "}\nstore %%y%d[b.0, 0] = $0\n}\n}\n}\n", id);
}

/* ---- axes of one place --------------------------------------------------------------------------------------------------------- */

/* What is read lies a few elements apart, along its last axis or because that is another loop's; the last element is the last of the array. */
static void strided(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	const char *prec = one_of(6, (const char *const[]){ "f32", "f32", "i32", "f16", "u8", "f64" });
	int step = 2 + (int)draw(4), n = extent() + (int)draw(2) * 50, off = (int)draw((uint32_t)step);
	bool channels = draw(2), adds = draw(2) && *prec != 'u';
	const char *rows = draw(5) == 0 ? "?n" : tsr_format(a, "%d", 1 + (int)draw(4));
	const char *of_row = channels ? tsr_format(a, "%d, %d", n, step) : tsr_format(a, "%d", (n - 1) * step + off + 1);
	tsr_text_addf(decl, "buffer %%x%d : %s[%s, %s] param\n", id, prec, rows, of_row);
	tsr_text_addf(decl, "buffer %%k%d : %s[%d] param\n", id, prec, n);
	tsr_text_addf(decl, "buffer %%y%d : %s[%s, %d, %d] input\n", id, prec, rows, channels ? step : 1, n);
	const char *x = channels ? tsr_format(a, "%%x%d[p.0, j.2, c.1]", id) : tsr_format(a, "%%x%d[p.0, %d*j.2 + %d]", id, step, off);
	const char *value = adds ? tsr_format(a, "add.%s(%s, %%k%d[j.2])", prec, x, id) : x;
	tsr_text_addf(units, "unit u%d { kernel k%s {\nfor p.0 in 0..%s parallel {\nfor c.1 in 0..%d parallel {\nfor j.2 in 0..%d parallel %s{\n", id, *rows == '?' ? asking() : "", rows, channels ? step : 1, n,
				  draw(3) == 0 ? "stream " : "");
	tsr_text_addf(units, "store %%y%d[p.0, c.1, j.2] = %s\n}\n}\n}\n}\n}\n", id, value);
}

/* Few results of each of many groups, for several places: what the results of a group share lies in rows, or one behind the other, and what is their own in any order, some of it the
 * same for all groups; windows reach over edges or none does. */
static void grouped(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	const char *prec = one_of(3, (const char *const[]){ "f32", "f32", "i32" }), *sum = one_of(2, (const char *const[]){ "add", "max" });
	int f = 2 << draw(3), g = draw(2) ? 16 / f * (1 + (int)draw(5)) : 2 + (int)draw(12), c = draw(2) ? f : 1 + (int)draw(9), w = 1 + (int)draw(21), kw = 1 + (int)draw(3);
	bool padded = draw(2), adds = draw(3) == 0;
	enum { ORDERS = 6 };
	uint32_t order = draw(ORDERS);
	static const char *const places[] = { "j.3, c.4, g.1, f.2", "j.3, g.1, c.4, f.2", "g.1, j.3, c.4, f.2", "g.1, f.2, j.3, c.4", "j.3, g.1, f.2, c.4", "j.3, c.4, f.2, 0" };
	bool alone = draw(4) == 0;                   /* the groups' numbers lie beside each other, one for each */
	tsr_text_addf(decl, "buffer %%x%d : %s[2, %d, %s] param\n", id, prec, w + (padded ? 0 : kw - 1), tsr_format(a, alone ? "%2$d, %1$d" : "%1$d, %2$d", g, c));
	int extents[ORDERS][4] = { { kw, c, g, f }, { kw, g, c, f }, { g, kw, c, f }, { g, f, kw, c }, { kw, g, f, c }, { kw, c, f, 1 } }, *k = extents[order];
	tsr_text_addf(decl, "buffer %%k%d : %s[%d, %d, %d, %d] param\nbuffer %%y%d : %s[2, %d, %d, %d] input\n", id, prec, k[0], k[1], k[2], k[3], id, prec, w, g, f);
	tsr_text_addf(units, "unit u%d { kernel k {\nfor b.5 in 0..2 parallel {\nfor w.0 in 0..%d parallel {\nfor g.1 in 0..%d parallel {\nfor f.2 in 0..%d parallel {\n", id, w, g, f);
	const char *loops[2] = { tsr_format(a, "for j.3 in 0..%d reduce {\n", kw), tsr_format(a, "for c.4 in 0..%d reduce {\n", c) };
	uint32_t first = draw(2);
	tsr_text_addf(units, "let $0 : %s = %s\n%s%s", prec, adds ? tsr_format(a, "%%y%d[b.5, w.0, g.1, f.2]", id) : tsr_format(a, "convert.%s(-3:i32)", prec), loops[first], loops[1 - first]);
	const char *at = tsr_format(a, "w.0 + j.3%s", padded ? " - 1" : "");
	if (padded)
		tsr_text_addf(units, "if %s in 0..%d {\n", at, w);
	tsr_text_addf(units, "set $0 = %s.%s($0, mul.%s(%%x%d[b.5, %s, %s], %%k%d[%s]))\n", sum, prec, prec, id, at, alone ? "c.4, g.1" : "g.1, c.4", id, places[order]);
	tsr_text_addf(units, "%s}\n}\nstore %%y%d[b.5, w.0, g.1, f.2] = $0\n}\n}\n}\n}\n}\n}\n", padded ? "}\n" : "", id);
}

/* Sums for each place of a window over images, as the gradients of weights are: channels come last or first, each is alone or few share a group, windows reach over edges, or lie two apart; the loops over
 * results stand in any order. */
static void places(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	const char *prec = one_of(4, (const char *const[]){ "f32", "f32", "f32", "i32" });
	bool first = draw(2), padded = draw(3) > 0, apart = draw(4) == 0, weighed = draw(6) == 0;
	int stride = 1 + (draw(3) == 0), ki = 1 + (int)draw(5), kj = 1 + (int)draw(draw(4) ? 4 : 8), h = 1 + (int)draw(7), w = draw(2) ? 5 + (int)draw(30) : 16 * (1 + (int)draw(3)) * (1 + (int)draw(4)), b = 1 + (int)draw(2);
	int c = draw(2) ? 1 : 1 + (int)draw(4), f = draw(2) ? 1 : 1 << draw(4), g = draw(2) ? 16 / (f > 1 ? 2 : 1) * (1 + (int)draw(2)) : 1 + (int)draw(24);
	w = first ? w : 1 + w / 4;
	int hs = padded ? stride * h : stride * (h - 1) + ki, ws = padded ? stride * w : stride * (w - 1) + kj;
	const char *row = tsr_format(a, "%d*h.6 + i.3%s", stride, padded ? tsr_format(a, " - %d", ki / 2) : ""), *column = tsr_format(a, "%d*w.7 + j.4%s", stride, padded ? tsr_format(a, " - %d", kj / 2) : "");
	tsr_text_addf(decl, "buffer %%x%d : %s[%d, %s] param\n", id, prec, b, first ? tsr_format(a, "%d, %d, %d, %d", g, c, hs, ws) : tsr_format(a, "%d, %d, %d, %d", hs, ws, g, c));
	tsr_text_addf(decl, "buffer %%k%d : %s[%d, %s] param\n", id, prec, b, first ? tsr_format(a, "%d, %d, %d, %d", g, f, h, w) : tsr_format(a, "%d, %d, %d, %d", h, w, g, f));
	static const char *const order[] = { "i.3, j.4, g.0, c.1, f.2", "g.0, f.2, i.3, j.4, c.1", "g.0, f.2, c.1, i.3, j.4", "c.1, g.0, i.3, j.4, f.2" };
	uint32_t which = draw(sizeof order / sizeof *order);
	int size[5];
	const char *at = order[which];
	for (int i = 0; i < 5; i++, at += 5)
		size[i] = *at == 'i' ? ki : *at == 'j' ? kj : *at == 'g' ? g : *at == 'c' ? c : f;
	tsr_text_addf(decl, "buffer %%y%d : %s[%d, %d, %d, %d, %d] input\n", id, prec, size[0], size[1], size[2], size[3], size[4]);
	tsr_text_addf(units, "unit u%d { kernel k {\n", id);
	at = order[apart ? draw(sizeof order / sizeof *order) : which];
	for (int i = 0; i < 5; i++, at += 5)
		tsr_text_addf(units, "for %.3s in 0..%d parallel {\n", at, *at == 'i' ? ki : *at == 'j' ? kj : *at == 'g' ? g : *at == 'c' ? c : f);
	tsr_text_addf(units, "let $0 : %s = %s\nfor b.5 in 0..%d reduce {\nfor h.6 in 0..%d reduce {\nfor w.7 in 0..%d reduce {\n", prec, *prec == 'f' ? "3." : "3:i32", b, h, w);
	if (padded)
		tsr_text_addf(units, "if %s in 0..%d, %s in 0..%d {\n", row, hs, column, ws);
	const char *x = first ? tsr_format(a, "%%x%d[b.5, g.0, c.1, %s, %s]", id, row, column) : tsr_format(a, "%%x%d[b.5, %s, %s, g.0, c.1]", id, row, column);
	const char *y = tsr_format(a, first ? "%%k%d[b.5, g.0, f.2, h.6, w.7]" : "%%k%d[b.5, h.6, w.7, g.0, f.2]", id);
	y = weighed ? tsr_format(a, "add.%s(%s, %s)", prec, y, *prec == 'f' ? "2." : "2:i32") : y;
	tsr_text_addf(units, "set $0 = add.%s($0, mul.%s(%s, %s))\n%s}\n}\n}\nstore %%y%d[%s] = $0\n}\n}\n}\n}\n}\n}\n}\n", prec, prec, x, y, padded ? "}\n" : "", id, order[which]);
}

/* A few results for each place of an image, of windows over channels. */
static void few(tsr_text *decl, tsr_text *units, int id)
{
	tsr_arena *a = decl->arena;
	const char *prec = one_of(4, (const char *const[]){ "f32", "f32", "f32", "i32" });
	int ki = 1 + (int)draw(3), kj = 1 + (int)draw(3), h = 1 + (int)draw(9), w = 1 + (int)draw(13), f = 1 + (int)draw(4), c = draw(2) ? 16 * (1 + (int)draw(4)) : 5 + (int)draw(60);
	bool padded = draw(2), last = draw(2);               /* last: results beside each other in the kernel, else behind each other */
	const char *row = tsr_format(a, "h.1 + i.4%s", padded ? " - 1" : ""), *column = tsr_format(a, "w.2 + j.5%s", padded ? " - 1" : "");
	int hs = h + (padded ? 0 : ki - 1), ws = w + (padded ? 0 : kj - 1);
	tsr_text_addf(decl, "buffer %%x%d : %s[2, %d, %d, %d] param\nbuffer %%k%d : %s[%s] param\nbuffer %%y%d : %s[2, %d, %d, %d] input\n", id, prec, hs, ws, c, id, prec,
				  last ? tsr_format(a, "%d, %d, %d, %d", ki, kj, c, f) : tsr_format(a, "%d, %d, %d, %d", f, ki, kj, c), id, prec, h, w, f);
	tsr_text_addf(units, "unit u%d { kernel k {\nfor b.0 in 0..2 parallel {\nfor h.1 in 0..%d parallel {\nfor w.2 in 0..%d parallel {\nfor f.3 in 0..%d parallel {\nlet $0 : %s = %s\n", id, h, w, f, prec,
				  *prec == 'f' ? "1." : "1:i32");
	tsr_text_addf(units, "for i.4 in 0..%d reduce {\nfor j.5 in 0..%d reduce {\nfor c.6 in 0..%d reduce {\n", ki, kj, c);
	if (padded)
		tsr_text_addf(units, "if %s in 0..%d, %s in 0..%d {\n", row, hs, column, ws);
	tsr_text_addf(units, "set $0 = add.%s($0, mul.%s(%%x%d[b.0, %s, %s, c.6], %%k%d[%s]))\n%s}\n}\n}\nstore %%y%d[b.0, h.1, w.2, f.3] = $0\n}\n}\n}\n}\n}\n}\n", prec, prec, id, row, column, id,
				  last ? "i.4, j.5, c.6, f.3" : "f.3, i.4, j.5, c.6", padded ? "}\n" : "", id);
}

/* Every array gets one more axis, as a number in an expression adds one. */
static void with_place(tsr_text *to, const char *from, const char *place)
{
	for (; *from; from++)
		tsr_text_addf(to, *from == ']' ? ", %s%c" : "%.0s%c", place, *from);
}

static void drawn(tsr_text *decl, tsr_text *units, int id)
{
	tsr_text here[2];
	bool place = draw(4) == 0;
	tsr_text_init(&here[0], decl->arena), tsr_text_init(&here[1], decl->arena);
	(draw(8) == 0 ? running : draw(8) == 0 ? strided : draw(8) == 0 ? grouped : draw(7) == 0 ? places : draw(10) == 0 ? few : draw(5) == 0 ? row_sums : draw(4) == 0 ? plane : draw(3) == 0 ? column_sums : draw(2) ? window : transposition)(&here[0], &here[1], id);
	for (int i = 0; i < 2; i++)
		if (place)
			with_place(i ? units : decl, tsr_text_str(&here[i]), i ? "0" : "1");
		else
			tsr_text_add(i ? units : decl, tsr_text_str(&here[i]));
}

/* ---- running ----------------------------------------------------------------------------------------------------------------- */

static size_t fill(const tsr_buffer *b, int64_t n, void **out)
{
	int64_t count = 1;
	for (uint32_t i = 0; i < b->rank; i++)
		count *= tsr_size_eval(b->dims[i], &n);
	size_t each = (size_t)tsr_prec_bytes(b->prec), bytes = (size_t)count * each;
	*out = aligned_alloc(64, (bytes / 64 + 2) * 64);
	for (int64_t i = 0; i < count; i++) {
		static const uint16_t half[] = { 0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700 };     /* 0 to 7 in f16 */
		static const uint16_t brain[] = { 0, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0, 0x40E0 };
		uint32_t x = draw(8);
		switch ((int)b->prec) {
		case TSR_PREC_F16: ((uint16_t *)*out)[i] = half[x]; break;
		case TSR_PREC_BF16: ((uint16_t *)*out)[i] = brain[x]; break;
		case TSR_PREC_F32: ((float *)*out)[i] = (float)x; break;
		case TSR_PREC_F64: ((double *)*out)[i] = x; break;
		case TSR_PREC_U8: ((uint8_t *)*out)[i] = (uint8_t)x; break;
		default: ((uint32_t *)*out)[i] = x; break;
		}
	}
	return bytes;
}

/* The result begins `off` bytes behind a line. */
static bool same(const kit *k, uint32_t u, int64_t n, size_t off)
{
	void **memory = calloc(k->loops->buffers.n, sizeof *memory), *want = NULL;
	size_t bytes = 0;
	for (uint32_t i = 0; i < EACH; i++)
		bytes = fill(k->loops->buffers.at[EACH * u + i], n, &memory[EACH * u + i]);
	want = memory[EACH * u + EACH - 1];
	char *block = aligned_alloc(64, (bytes / 64 + 4) * 64), *got = block + 64 + off;
	memset(block, 0x5A, (bytes / 64 + 4) * 64);
	memcpy(got, want, bytes);
	memory[EACH * u + EACH - 1] = got;
	kit_find(k, tsr_format(k->tc->arena, "u%u", u))(NULL, memory, &n, NULL);
	memory[EACH * u + EACH - 1] = want;
	tsr_machine m = { .buffers = memory, .symbols = &n };
	bool ok = tsr_loops_run(k->loops, u, &m) && !memcmp(got, want, bytes);
	for (size_t i = 0; i < 64; i++)
		ok &= got[bytes + i] == 0x5A && got[-1 - (long)i] == 0x5A;
	for (uint32_t i = 0; i < EACH; i++)
		free(memory[EACH * u + i]);
	free(block);
	free(memory);
	return ok;
}

int main(void)
{
	state = 5;
	static const struct { const char *cpu, *feature; } levels[] = { { "znver5", "+avx512vp2intersect" }, { "znver4", "+avx512bf16" }, { "skylake-avx512", "+avx512vl" }, { "haswell", "+avx2" }, { "x86-64-v2", "+sse4.2" } };
	tsr_arena *a = tsr_arena_new();
	tsr_text text, units;
	tsr_text_init(&text, a), tsr_text_init(&units, a);
	tsr_text_addf(&text, "symbol ?n\n");
	for (int i = 0; i < CASES; i++)
		drawn(&text, &units, i);
	tsr_text_add(&text, tsr_text_str(&units));
	char *features = LLVMGetHostCPUFeatures();
	for (size_t v = 0; v < sizeof levels / sizeof *levels; v++) {
		if (!strstr(features, levels[v].feature))
			continue;
		kit k = kit_compile(tsr_text_str(&text), 2, levels[v].cpu);
		for (uint32_t u = 0; u < CASES; u++)
			if (!CHECK(same(&k, u, N, 0) && same(&k, u, 5, 8) && same(&k, u, 64, 16))) {
				printf("%s:\n", levels[v].cpu);
				tsr_loops_print_unit(k.loops, u, stdout);
			}
		kit_free(&k);
	}
	LLVMDisposeMessage(features);
	tsr_arena_free(a);
	return check_end("lanes");
}
