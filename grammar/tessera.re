/* The tokens of the language.  The scanner classifies and nothing else: values of numbers and strings, names and
 * lines are the business of compiler/syntax/lex.c.  The longest match wins, so `=-` is an assignment operator.
 *
 * Token codes come from grammar/tessera.y.  Operators of one precedence share a code; the text tells them apart. */
#include "syntax/lex.h"
#include "tessera.h"

/* Skips a comment whose opening has been read; false when the text ends first.  Comments nest, and a string inside
 * one hides whatever looks like an end of it. */
static bool skip_comment(tsr_scanner *s)
{
	const char *YYCURSOR = s->cursor, *YYMARKER = YYCURSOR;
	unsigned depth = 1;
	while (depth) {
		if (YYCURSOR >= s->limit)
			return false;
		/*!re2c
		re2c:define:YYCTYPE = "unsigned char";
		re2c:yyfill:enable = 0;
		re2c:indent:string = "\t";
		re2c:flags:case-ranges = 0;

		"(*"                              { depth++; continue; }
		"*)"                              { depth--; continue; }
		["] ([^"\\\x00] | [\\][^\x00])* ["]   { continue; }
		*                                 { continue; }
		*/
	}
	s->cursor = YYCURSOR;
	return true;
}

int tsr_scan(tsr_scanner *s)
{
	const char *YYCURSOR = s->cursor, *YYMARKER = YYCURSOR;
	int code;
again:
	s->start = YYCURSOR;
	/*!re2c
	digits  = [0-9] [0-9_]*;
	hex     = "0" [xX] [0-9a-fA-F] [0-9a-fA-F_]*;
	exp     = [eE] [+-]? digits;
	float   = digits "." [0-9_]* exp? | digits exp;
	tail    = [A-Za-z0-9_'];
	lower   = [a-z_] tail*;
	upper   = [A-Z] tail*;

	[ \t\r\n\f]+            { goto again; }
	"(*"                    { s->cursor = YYCURSOR; if (!skip_comment(s)) { s->cursor = s->limit; return TSR_SCAN_OPEN_COMMENT; }
	                          YYCURSOR = s->cursor; goto again; }
	"\x00"                  { if (s->start >= s->limit) { s->cursor = s->start; return TSR_SCAN_END; } code = TSR_SCAN_BAD; goto done; }

	hex | digits            { code = TK_INT; goto done; }
	float                   { code = TK_FLOAT; goto done; }
	(hex | digits | float) [A-Za-z_] tail*   { code = TSR_SCAN_BAD_NUMBER; goto done; }
	["] ([^"\\\x00] | [\\][^\x00])* ["]      { code = TK_STRING; goto done; }
	["]                     { code = TSR_SCAN_OPEN_STRING; goto done; }

	"true" | "false"        { code = TK_BOOL; goto done; }
	"let"                   { code = TK_LET; goto done; }
	"let%op" | "let%cd" | "let%main"   { code = TK_LET; goto done; }
	"let%export"            { code = TK_LET_EXPORT; goto done; }
	"rec"                   { code = TK_REC; goto done; }
	"in"                    { code = TK_IN; goto done; }
	"fun" | "fun%op" | "fun%cd"        { code = TK_FUN; goto done; }
	("let" | "fun") "%" lower?         { code = TSR_SCAN_BAD_LEVEL; goto done; }
	"function"              { code = TK_FUNCTION; goto done; }
	"match"                 { code = TK_MATCH; goto done; }
	"with"                  { code = TK_WITH; goto done; }
	"when"                  { code = TK_WHEN; goto done; }
	"if"                    { code = TK_IF; goto done; }
	"then"                  { code = TK_THEN; goto done; }
	"else"                  { code = TK_ELSE; goto done; }
	"begin"                 { code = TK_BEGIN; goto done; }
	"end"                   { code = TK_END; goto done; }
	"for"                   { code = TK_FOR; goto done; }
	"to" | "downto"         { code = TK_TO; goto done; }
	"do"                    { code = TK_DO; goto done; }
	"done"                  { code = TK_DONE; goto done; }
	"while"                 { code = TK_WHILE; goto done; }
	"open"                  { code = TK_OPEN; goto done; }
	"and"                   { code = TK_ALIEN; goto done; }
	"Some"                  { code = TK_SOME; goto done; }
	"None"                  { code = TK_NONE; goto done; }
	"_"                     { code = TK_UNDERSCORE; goto done; }
	lower                   { code = TK_NAME; goto done; }
	upper                   { code = TK_MODULE; goto done; }

	"~" lower               { code = TK_LABEL; goto done; }
	"~" lower ":"           { code = TK_LABEL_COLON; goto done; }
	"?" lower               { code = TK_OPTION; goto done; }
	"?" lower ":"           { code = TK_OPTION_COLON; goto done; }
	"~"                     { code = TK_TILDE; goto done; }
	"?"                     { code = TK_QUESTION; goto done; }
	"~~"                    { code = TK_NOTE; goto done; }
	"~-" | "~-."            { code = TK_NEGATE; goto done; }

	"("                     { code = TK_LPAREN; goto done; }
	")"                     { code = TK_RPAREN; goto done; }
	"["                     { code = TK_LBRACKET; goto done; }
	"]"                     { code = TK_RBRACKET; goto done; }
	"[|"                    { code = TK_LARRAY; goto done; }
	"|]"                    { code = TK_RARRAY; goto done; }
	"{"                     { code = TK_LBRACE; goto done; }
	"}"                     { code = TK_RBRACE; goto done; }
	";"                     { code = TK_SEMI; goto done; }
	";;"                    { code = TK_SEMISEMI; goto done; }
	","                     { code = TK_COMMA; goto done; }
	"."                     { code = TK_DOT; goto done; }
	":"                     { code = TK_COLON; goto done; }
	"::"                    { code = TK_CONS; goto done; }
	"|"                     { code = TK_BAR; goto done; }
	"->"                    { code = TK_ARROW; goto done; }
	"<-"                    { code = TK_STORE; goto done; }
	":="                    { code = TK_SETREF; goto done; }
	"="                     { code = TK_EQUAL; goto done; }
	"=" ":"? ("+" | "-" | "*" | "/" | "**" | "@^" | "@-" | "&&" | "||") | "=:"   { code = TK_ASSIGN; goto done; }

	"!"                     { code = TK_BANG; goto done; }
	"!." | "!.." | "!@"     { code = TK_EMBED; goto done; }
	"**" | "**."            { code = TK_POWER; goto done; }
	"*" | "*." | "/" | "/." | "%" | "@|"      { code = TK_TIMES; goto done; }
	"+" | "+." | "++" | "+++" | "+*" | "++^"  { code = TK_PLUS; goto done; }
	"-" | "-."              { code = TK_MINUS; goto done; }
	"@" | "^" | "@^^" | "@--" | "@^+" | "@>"  { code = TK_JOIN; goto done; }
	"<" | ">" | "<=" | ">=" | "<>" | "|>"     { code = TK_COMPARE; goto done; }
	"&&"                    { code = TK_AND; goto done; }
	"||"                    { code = TK_OR; goto done; }

	"==" | "!=" | "=>" | "&" | "@^" | "@-"    { code = TK_ALIEN; goto done; }
	[\xc0-\xff] [\x80-\xbf]*    { code = TSR_SCAN_BAD; goto done; }
	*                       { code = TSR_SCAN_BAD; goto done; }
	*/
done:
	s->cursor = YYCURSOR;
	return code;
}
