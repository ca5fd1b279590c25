/* The tokens of specs.  In letter mode each letter is a name of its own; row variables, sizes of the run and bases are
 * long names in both modes.  What is no token is a code below zero, which compiler/syntax/spec.c words. */
#include "syntax/spec_build.h"
#include "spec.h"

int tsr_spec_scan(tsr_scanner *s, bool long_names)
{
	const char *YYCURSOR = s->cursor, *YYMARKER = YYCURSOR;
	int code;
again:
	s->start = YYCURSOR;
	/*!re2c
	re2c:define:YYCTYPE = "unsigned char";
	re2c:yyfill:enable = 0;
	re2c:indent:string = "\t";
	re2c:flags:case-ranges = 0;

	name  = [A-Za-z_] [A-Za-z0-9_]*;
	blank = [ \t\r\n];

	blank+                  { goto again; }
	"\x00"                  { s->cursor = s->start; return s->start >= s->limit ? TSR_SCAN_END : TSR_SCAN_BAD; }
	"..."                   { code = SPEC_DOTS; goto done; }
	".." blank* name blank* ".."   { code = SPEC_ROW; goto done; }
	"?" name                { code = SPEC_SYMBOL; goto done; }
	"@" name                { code = SPEC_RUNTIME; goto done; }
	"!" name                { code = SPEC_VALUE; goto done; }
	[0-9]+                  { code = SPEC_INT; goto done; }
	"_"                     { code = SPEC_WILD; goto done; }
	name                    { if (!long_names) YYCURSOR = s->start + 1; code = SPEC_NAME; goto done; }
	","                     { code = SPEC_COMMA; goto done; }
	";"                     { code = SPEC_SEMI; goto done; }
	"|"                     { code = SPEC_BAR; goto done; }
	"->"                    { code = SPEC_ARROW; goto done; }
	"=>"                    { code = SPEC_GIVES; goto done; }
	"<+"                    { code = SPEC_VALID; goto done; }
	"=+"                    { code = SPEC_SAME; goto done; }
	"+"                     { code = SPEC_PLUS; goto done; }
	"*"                     { code = SPEC_TIMES; goto done; }
	"^"                     { code = SPEC_CONCAT; goto done; }
	"("                     { code = SPEC_LPAREN; goto done; }
	")"                     { code = SPEC_RPAREN; goto done; }
	":"                     { code = SPEC_COLON; goto done; }
	[\xc0-\xff] [\x80-\xbf]*    { code = TSR_SCAN_BAD; goto done; }
	*                       { code = TSR_SCAN_BAD; goto done; }
	*/
done:
	s->cursor = YYCURSOR;
	return code;
}
