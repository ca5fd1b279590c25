/* shape/: the rules of rows: inequality by the operand's marker, flat equality, templates, word equations, ranks. */
#include "shape_text.h"

static const shape_case cases[] = {
	/* equality */
	{"flat equality of closed rows", "[a, b] = [3, 4]", "a=3; b=4"},
	{"equality ignores markers", "[3 . 4] = [. 3, 4]", ""},
	{"equality of different ranks", "[3, 4] = [3]", "E0403 mismatching number of axes"},
	{"open against closed binds the middle", "[3, ..r.., 4] = [3, 5, 6, 4]", "..r..=[5, 6]"},
	{"open against closed, nothing left", "[3, ..r.., 4] = [3, 4]", "..r..=[]"},
	{"open against closed, too short", "[3, ..r.., 4] = [3]", "E0403"},
	{"rows joined", "[..r..] = [..q..]\n[..q..] = [2, 3]", "..r..=[2, 3]"},
	{"surplus on one side binds", "[..r..] = [3, ..q.., 4]\n[..q..] = [5]", "..r..=[3, 5, 4]"},
	{"aligned conflict", "[..r.., 3] = [..r.., 5]", "E0401"},
	{"self reference of unequal rank", "[..r.., 3] = [..r.., 3, 4]", "E0406"},
	{"a rotation is closed to the empty row", "[3, ..r..] = [..r.., 3]", "..r..=[]"},
	{"a rotation that conflicts", "[3, ..r..] = [..r.., 5]", "E0401"},
	{"a rotation that is given", "[3, ..r..] = [..r.., 3]\n[..r..] = [3, 3]", "..r..=[3, 3]"},
	{"a rotation that is given and wrong", "[3, ..r..] = [..r.., 3]\n[..r..] = [4, 3]", "E0401"},
	{"cross surplus waits for a variable", "[..p.., 5] = [3, 5, ..q..]\n[..q..] = []", "..p..=[3]"},
	{"cross surplus, least rank", "[..p.., 5] = [3, ..q..]", "..p..=[3]; ..q..=[5]"},
	{"cross surplus overlaps where it may", "[..p.., 3] = [3, ..q..]", "..p..=[]; ..q..=[]"},
	/* inequality: the operand's marker */
	{"rank grows on the left", "[a, b] <= [3]", "b=3; a=1*"},
	{"rank grows at the marker", "[a, b, c] <= [3 . 4]", "a=3; c=4"},
	{"rank grows at the right edge", "[a, b] <= [3 .]", "a=3"},
	{"both markers add up", "[a, b] <= [4 . 5]\n[a, b] <= [. 4, 5]", "a=4; b=5"},
	{"only the operand's marker plays a part", "[a . b] <= [. 4, 5]", "a=4; b=5"},
	{"outer axes mismatch", "[5, 2, 4] <= [2, ..r.., 4]", "E0401"},
	{"too many axes in an operand", "[3] <= [2, 3]", "E0403 too many axes in an operand"},
	{"the empty row is above all", "[2, 3] <= []", ""},
	{"the empty row is not below one axis", "[] <= [1*]", "E0403"},
	{"one claim-free axis is above any", "[2, 3] <= [1*]", ""},
	{"interior goes to the operand's variable, a leaf", "[2, 3, 4, 5] <= [2, ..r.., 5]\nleaf [..r..]", "..r..=[3, 4]"},
	{"interior of an interior variable stays empty", "[2, 3, 4, 5] <= [2, ..r.., 5]", "..r..=[]"},
	{"a template grows the result", "[..r..] <= [2, 3]", "..r..=[2, 3]"},
	{"a template grows around the marker", "[..r..] <= [2 . 3]\n[..r..] <= [. 4, 7, 3]", "E0401"},
	{"two templates, the longer wins", "[..r..] <= [3]\n[..r..] <= [2, 3]", "..r..=[2, 3]"},
	{"result too short by one", "[a, ..r..] <= [2, 3]", "a=2; ..r..=[3]"},
	{"an alignment waits for the rank", "[..r.., a] <= [2, 3 .]\n[..r..] = [b]", "b=2; a=3"},
	{"an alignment waits, longer", "[..r.., a] <= [2, 3 .]\n[..r..] = [b, c]", "b=2; c=3; a=1*"},
	{"a chain of rows", "[..a..] <= [2, 3]\n[..b..] <= [..a..]\n[..c..] <= [..b..]", "..c..=[2, 3]; ..b..=[2, 3]"},
	{"candidates in a circle, wherever it is entered", "leaf [..p..]\n[a, ..r..] = [1, ..p..]\n[b, b, ..q..] <= [1*, ..r..]\n[..r.., 1] <= [..q..]",
		"..p..=[1*]; ..q..=[]"},
	{"bounds of rows along a chain", "[2, 3] <= [..a..]\n[..a..] <= [..b..]\nleaf [..b..]", "..b..=[2, 3]; ..a..=[2, 3]"},
	/* closing of rows */
	{"leaf row takes its bound", "[2, 3] <= [..r..]\nleaf [..r..]", "..r..=[2, 3]"},
	{"different ranks: the shorter", "[2, 3] <= [..r..]\n[3] <= [..r..]\nleaf [..r..]", "..r..=[3]"},
	{"conflicting sizes: claim-free", "[2, 3] <= [..r..]\n[2, 4] <= [..r..]\nleaf [..r..]", "..r..=[2, 1*]"},
	{"leaf row without a bound", "[..q..] <= [..r..]\nleaf [..r..]", "..r..=[]"},
	{"parameter row without a bound", "[..q..] <= [..r..]\nparam [..r..]", "E0407"},
	{"an input row used only pointwise closes", "[..q..] <= [..r..]\ninparam [..r..]", "..r..=[]"},
	{"bound through an open result", "[..c..] <= [2, 3]\n[..c..] <= [..b..]\nparam [..b..]", "..b..=[2, 3]; ..c..=[2, 3]"},
	{"leaf after leaf", "[4] <= [..x..]\n[..c..] <= [..x..]\n[..c..] <= [..b..]\nleaf [..x..]\nleaf [..b..]", "..x..=[4]; ..b..=[4]"},
	/* ranks */
	{"a row below itself and more", "[..r..] <= [..r.., 3]", "E0406"},
	{"a circle of two rows", "[..p..] <= [2, ..q..]\n[..q..] <= [3, ..p..]", "E0406"},
	{"a circle of three rows", "[..p..] <= [2, ..q..]\n[..q..] <= [..r..]\n[..r..] <= [..p.., 4]", "E0406"},
	{"a circle without growth", "[..p..] <= [..q..]\n[..q..] <= [..p..]\n[..p..] <= [3]", "..p..=[3]; ..q..=[3]"},
	{"ranks of either sign", "[2, ..p..] <= [..q..]\n[..q..] <= [..p..]\n[..p..] <= [3]", "..p..=[3]"},
	{"nine axes, one by one", "[..a..] <= [2, ..b..]\n[..b..] <= [2, ..c..]\n[..c..] <= [2, ..d..]\n[..d..] <= [2, ..e..]\n[..e..] <= [2, ..f..]\n"
		"[..f..] <= [2, ..g..]\n[..g..] <= [2, ..h..]\n[..h..] <= [2, ..i..]\n[..i..] <= [7]", "..a..=[2, 2, 2, 2, 2, 2, 2, 2, 7]"},
};

int main(void)
{
	check_cases(cases, sizeof cases / sizeof *cases);
	return check_end("shape_rows");
}
