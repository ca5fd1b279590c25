/* shape/: operations. Pointwise, compose, transpose and specs between tensors, with literals, parameters and labels;
 * the shape cases of the conformance table; and the worked examples. `leaf:` has the shape written, `?` leaves a row open. */
#include "shape_text.h"

static const shape_case cases[] = {
	/* pointwise */
	{"equal shapes", "leaf: X b[2] i[3] o[4]\nleaf: Y b[2] i[3] o[4]\nC = X . Y", "C=2 | 3 -> 4"},
	{"a number has one axis", "leaf: X\nleaf: Y o[1*]\nC = X . Y", "C=1*"},
	{"claim-free one stretches", "leaf: X o[3, 1*]\nleaf: Y o[3, 5]\nC = X . Y", "C=3, 5"},
	{"three operands", "leaf: X o[2, 3]\nleaf: Y o[3]\nleaf: Z o[1*]\nC = X . Y . Z", "C=2, 3"},
	{"rank grows on the left", "leaf: X o[3]\nleaf: Y o[2, 3]\nC = X . Y", "C=2, 3"},
	{"sizes clash", "leaf: X o[3]\nleaf: Y o[4]\nC = X . Y", "E0401 the last output axis is 3 in `X` and 4 in `Y`"},
	{"bases clash", "leaf: X o[rgb:3]\nleaf: Y o[3]\nC = X . Y", "E0402"},
	{"one axis written 1", "leaf: X o[3, 1]\nleaf: Y o[3, 5]\nC = X . Y", "E0401"},
	{"markers: four by five", "tensor X o[4 .]\ntensor Y o[5]\nC = X . Y\nleaf: D o[4, 5]\nC = D", "C=4, 5"},
	{"kinds are separate", "leaf: X b[2]\nleaf: Y o[3]\nC = X . Y", "C=2 | 3"},
	{"result is longer than its operands need", "leaf: X o[3]\ntensor C o[a, b]\nC = X", "C=1*, 3"},
	{"result too short", "leaf: X o[2, 3]\ntensor C o[a]\nC = X", "E0403"},
	/* compose */
	{"matrix by vector", "leaf: X i[3] o[2]\nleaf: Y o[3]\nC = X * Y", "C=2"},
	{"matrix by matrix", "leaf: X i[3] o[2]\nleaf: Y i[5] o[3]\nC = X * Y", "C=5 -> 2"},
	{"inner sizes clash", "leaf: X i[3] o[2]\nleaf: Y o[4]\nC = X * Y", "E0401"},
	{"fewer output axes broadcast into the input", "leaf: X i[2, 3] o[2]\nleaf: Y o[3]\nC = X * Y", "C=2"},
	{"more output axes than input axes", "leaf: X i[3] o[2]\nleaf: Y o[2, 3]\nC = X * Y", "E0403 too many axes in an operand"},
	{"claim-free output broadcasts", "leaf: X i[3] o[2]\nleaf: Y o[1*]\nC = X * Y", "C=2"},
	{"batches go along", "leaf: X b[7] i[3] o[2]\nleaf: Y b[7] o[3]\nC = X * Y", "C=7 | 2"},
	{"compose-accumulate", "leaf: X i[3] o[2]\nleaf: Y o[3]\nleaf: Z o[2]\nC = X * Y + Z", "C=2"},
	{"a weight's input from use", "leaf: X o[3]\nparam: W i? o[4]\nC = W * X", "W=3 -> 4; C=4"},
	{"a basis flows into a weight", "leaf: X o[rgb:3]\nparam: W i? o[2]\nC = W * X", "W=rgb:3 -> 2"},
	{"a weight's hidden output", "leaf: X o[3]\nparam: W i? o?\nC = W * X", "E0407"},
	{"a weight's output from its bias", "leaf: X o[3]\nparam: W i? o?\nC = W * X\nparam: B o[10]\nD = B . C", "W=3 -> 10; C=10"},
	{"a bias takes its use", "leaf: X o[3]\nparam: W i? o[5]\nC = W * X\nparam: B o?\nD = C . B", "B=5; D=5"},
	{"a weight into a result that is known", "leaf: X o[3]\nparam: W i? o?\ntensor C o[5]\nC = W * X", "W=3 -> 5"},
	{"two layers", "leaf: X b[50] o[64]\nparam: W i? o[16]\nH = W * X\nparam: V i? o[10]\nY = V * H", "W=64 -> 16; V=16 -> 10; Y=50 | 10"},
	{"a lone parameter used pointwise, output open", "param: W i? o?\nC = W", "E0407"},
	/* transpose */
	{"transpose", "leaf: X i[2, 3] o[2]\nC = transpose X", "C=2 -> 2, 3"},
	{"transpose keeps batches", "leaf: X b[7] o[2]\nC = transpose X", "C=7 | 2 ->"},
	/* lookups */
	{"a batch axis is looked up", "leaf: T b[3, 5] o[2]\nleaf: I b[7] o[4]\nC = gather T . I . P", "C=7, 5 | 4, 2; P=3"},
	{"else the input axis is", "leaf: T i[3] o[2]\nleaf: I b[7] i[4]\nC = gather T . I . P", "C=7 | 4 -> 2; P=3"},
	{"the input stays beside a batch axis", "leaf: T b[3] i[5] o[2]\nleaf: I i[7]\nC = gather T . I . P", "C=7, 5 -> 2"},
	{"a parameter has no batch axes", "param: T i? o[2]\nleaf: I b[7]\nleaf: P o[9]\nC = gather T . I . P", "T=9 -> 2; C=7 | 2"},
	{"a lookup needs one input axis", "leaf: T i[3, 2] o[2]\nleaf: I b[7]\nC = gather T . I . P", "E0403"},
	{"a lookup in numbers without axes", "leaf: T o[3]\nleaf: I b[7]\nC = gather T . I . P", "E0403"},
	{"a result of known shape gives the table's", "leaf: I b[7]\ntensor C b[7] o[4]\nparam: T i? o?\nleaf: P o[9]\nC = gather T . I . P", "T=9 -> 4"},
	{"a lookup in a result of a lookup", "leaf: T b[3, 5] o[2]\nleaf: I b[7]\nC = gather T . I . P\nD = gather C . I . Q", "D=7, 5 | 2; Q=7"},
	{"what nothing gives a batch axis has none", "param: W i[3] o[2]\nV = W . W\nleaf: I b[7]\nC = gather V . I . P", "C=7 | 2; P=3"},
	/* specs */
	{"fixed position in the input", "leaf: X b[2] i[3] o[4]\nC = X \"...|1->... => ...|...\"", "C=2 | 4"},
	{"scatter to position 2", "leaf: X o[4]\nC = X \"...|... => ...|..., 2\"", "C=4, 3"},
	{"scatter to position 0", "leaf: X o[4]\nC = X \"i=>i,0\"", "C=4, 1*"},
	{"six axes permuted", "leaf: X b[2, 3] i[4, 5] o[6, 7]\nC = X \"a,b|c,d->e,f => c,f|a,e->d,b\"", "C=4, 7 | 2, 6 -> 5, 3"},
	{"three ellipses permuted", "leaf: X b[2, 3] i[1, 2] o[2, 2]\nC = X \"...,b|...,i->...,o => ...,i|...,o->...,b\"", "C=2, 2 | 1, 2 -> 2, 3"},
	{"row variable in the middle", "leaf: X o[3, 4, 5]\nC = X \"a,..r..,b => b,..r..,a\"", "C=5, 4, 3"},
	{"row variable in the middle, two", "leaf: X o[2, 3, 2, 2]\nC = X \"a,..r..,b => b,..r..,a\"", "C=2, 3, 2, 2"},
	{"row variable in the middle, none", "leaf: X o[3, 5]\nC = X \"a,..r..,b => b,..r..,a\"", "C=5, 3"},
	{"reduce outputs", "leaf: X b[2] i[3] o[4]\nC = X \"b|i->o => b|i\"", "C=2 | 3"},
	{"slice of batches to output", "leaf: X b[3, 2] o[4]\nC = X \"2,..v..|... => ..v..\"", "C=2"},
	{"row variable across kinds", "leaf: X b[2] o[2, 3, 2, 2]\nC = X \"..v..|...,i,j,k => ..v..,k,j,i\"", "C=2, 2, 2, 3"},
	{"a kind left out is empty", "leaf: X b[2] i[1] o[2, 3]\nC = X \"..v..|...,i,j,k => ..v..,k,j,i\"", "E0403"},
	{"reduce to position 0", "leaf: X b[2] o[3, 2]\nC = X \"...|... => ...|0\"", "C=2 | 1*"},
	{"reduce all but the last", "leaf: X o[3, 4]\nC = X \"...|...->...,o => o\"", "C=4"},
	{"three axes to one", "leaf: X o[2, 3, 2]\nC = X \"a,b,c => c\"", "C=2"},
	{"three ellipses reduced", "leaf: X b[2, 3] i[4, 5] o[6, 7]\nC = X \"...,b|...,i->...,o => i|o->b\"", "C=5 | 7 -> 3"},
	{"global pooling", "leaf: X b[2] o[2, 3, 2]\nC = X \"... | h, w, ..c.. => ... | 0, 0, ..c..\"", "C=2 | 1*, 1*, 2"},
	{"strided, even", "leaf: X o[6]\nC = X \"2*i => i\"", "C=3"},
	{"strided, odd", "leaf: X o[6]\nC = X \"2*i+1 => i\"", "C=3"},
	{"each wildcard is its own axis", "leaf: X o[2, 3]\nC = X \"_, _ => 0\"", "C=1*"},
	{"a diagonal", "leaf: X o[3, 3]\nC = X \"i, i => i\"", "C=3"},
	{"a diagonal of what is not square", "leaf: X o[3, 4]\nC = X \"i, i => i\"", "E0401 axis `i`"},
	{"position outside", "leaf: X o[3]\nC = X \"5 => \"", "E0410"},
	{"independent batches", "leaf: X b[2] i[3] o[4]\nleaf: Y b[2] i[4] o[5]\nC = X ; Y \"a|i->h; b|h->o => i->o\"", "C=3 -> 5"},
	{"outer product", "leaf: X o[3]\nleaf: Y o[4]\nC = X ; Y \"i; j => i->j\"", "C=3 -> 4"},
	{"outer product of all kinds", "leaf: X b[2] i[3] o[4]\nleaf: Y b[5] i[6] o[7]\nC = X ; Y \"i|j->k; l|m->n => i,l|j,m->k,n\"", "C=2, 5 | 3, 6 -> 4, 7"},
	{"matrix product", "leaf: X o[2, 3]\nleaf: Y o[3, 4]\nC = X ; Y \"i,j;j,k=>i,k\"", "C=2, 4"},
	{"contracted bases differ", "leaf: X o[2, rgb:3]\nleaf: Y o[xyz:3, 2]\nC = X ; Y \"i,j;j,k=>i,k\"", "E0402"},
	{"bases kept", "leaf: X o[2, rgb:3]\nleaf: Y o[rgb:3, ch:2]\nC = X ; Y \"i,j;j,k=>i,k\"", "C=2, ch:2"},
	{"batched product", "leaf: X b[2] i[4] o[5]\nleaf: Y b[2] i[3] o[4]\nC = X ; Y \"b|h->o; b|i->h => b|i->o\"", "C=2 | 3 -> 5"},
	{"no broadcasting of a written 1", "leaf: X o[3]\nleaf: Y o[1]\nC = X ; Y \"i;i=>i\"", "E0401"},
	{"no broadcasting of ranks", "leaf: X o[3]\nleaf: Y o[2, 3]\nC = X ; Y \"i;i=>i\"", "E0403"},
	{"no broadcasting of the unit", "leaf: X o[3]\nleaf: Y o[1*]\nC = X ; Y \"i;i=>i\"", "E0404"},
	{"attention scores", "leaf: X b[2, 3] o[2, 2]\nleaf: Y b[2, 3] o[2, 2]\nC = X ; Y \"... , s | h, d; ..., t | h, d => ..., s | t -> h\"", "C=2, 3 | 3 -> 2"},
	{"attention with any number of batch axes", "leaf: X b[7, 2, 3] o[4, 5]\nleaf: Y b[7, 2, 6] o[4, 5]\nC = X ; Y \"..., s | h, d; ..., t | h, d => ..., s | t -> h\"", "C=7, 2, 3 | 6 -> 4"},
	{"three operands", "leaf: X o[4]\nleaf: Y o[4]\nleaf: Z o[4]\nC = X ; Y ; Z \"i;i;i=>i\"", "C=4"},
	{"product of a captured row", "leaf: X o[2, 3, 4]\nleaf: Y o[3, 4, 5]\nC = X ; Y \"a,..r..;..r..,b=>a,b\"", "C=2, 5; r=12"},
	{"labels can be read", "leaf: X o[2, 3]\nleaf: Y o[3, 4]\nC = X ; Y \"i,j;j,k=>i,k\"", "i=2; j=3; k=4"},
	{"labels set parameters", "param: X o?\nparam: Y o?\nC = X ; Y \"i,j;j,k=>i,k\"\nset i 3\nset j 4\nset k 5", "X=3, 4; Y=4, 5; C=3, 5"},
	{"a label that nothing sets", "param: X o?\nparam: Y o?\nC = X ; Y \"i,j;j,k=>i,k\"\nset i 3\nset j 4", "E0407 `k`"},
	{"a row equal to an axis, violated", "leaf: X o[2, 4, 9]\nC = X \"..mix.., n => n, ..mix..\"\nequal ..mix.. n", "E0408"},
	{"a row equal to an axis", "leaf: X o[2, 4, 8]\nC = X \"..mix.., n => n, ..mix..\"\nequal ..mix.. n", "C=8, 2, 4"},
	{"a captured row's total", "leaf: X o[2, 4, 8]\nC = X \"..mix.., n => n, ..mix..\"\nset ..mix.. 9", "E0408"},
	{"valid and dilated", "leaf: X o[8]\nleaf: K o[3]\nC = X ; K \"o<+2*kk; kk => o\"", "C=4; kk=3"},
	{"valid, strided and dilated", "leaf: X o[9]\nleaf: K o[2]\nC = X ; K \"3*o<+2*kk; kk => o\"", "C=3"},
	{"windows without a kernel tensor", "leaf: X b[5] o[8, 8, 3]\nC = X \"... | 2*oh<+wh, 2*ow<+ww, c => ... | oh, ow, c\"\nset wh 2\nset ww 2", "C=5 | 4, 4, 3"},
	{"pooling with channels", "leaf: X o[7, 7, 2]\nleaf: K o[3, 3]\nC = X ; K \"... | 2*oh<+wh, 2*ow<+ww, ..c..; wh, ww => ... | oh, ow, ..c..\"\nset wh 3\nset ww 3", "C=3, 3, 2"},
	{"pooling to one", "leaf: X o[3, 3, 1]\nleaf: K o[3, 3]\nC = X ; K \"... | 2*oh<+wh, 2*ow<+ww, ..c..; wh, ww => ... | oh, ow, ..c..\"", "C=1, 1, 1"},
	{"convolution without channels", "leaf: X o[4, 4, 1]\nparam: K i? o?\nC = X ; K \"... | oh=+kh, ow=+kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..\"\nset kh 3\nset kw 3", "E0407"},
	{"padded kernel of one", "leaf: X o[4]\nleaf: K o[1]\nC = X ; K \"o=+k; k => o\"", "C=4"},
	{"a minibatch", "leaf: X b[1797] o[64]\nC = X \"50*@i+j | ... => j | ...\"\nset j 50", "C=50 | 64"},
	{"a slice from a row on", "leaf: X b[1797] o[64]\nC = X \"j+1500 | ... => j | ...\"", "C=297 | 64"},
	/* concatenation */
	{"three components", "leaf: X o[2]\nleaf: Y o[1]\nleaf: Z o[3]\nC = X ; Y ; Z \"a; b; c => a^b^c\"", "C=6"},
	{"batches concatenated", "leaf: X b[1] o[2]\nleaf: Y b[2] o[2]\nC = X ; Y \"a,...|...->...; b,...|...->... => a^b,...|...->...\"", "C=3 | 2"},
	{"a trailing axis", "leaf: X o[2, 1]\nleaf: Y o[2, 3]\nC = X ; Y \"..., x; ..., y => ..., x^y\"", "C=2, 4"},
	{"bases of components differ", "leaf: X o[x:2]\nleaf: Y o[y:3]\nC = X ; Y \"a; b => a^b\"", "E0402"},
	{"a prefix, result given", "leaf: X o[5]\ntensor C o[3]\nC = X \"a^b => a\"", "b=2"},
	{"a prefix, result open", "leaf: X o[3]\nC = X \"a => a^b\"", "C=3"},
	{"the middle", "leaf: X o[6]\nC = X \"a^b^c => b\"\nset a 1\nset c 2", "C=3"},
	{"a shift", "leaf: X o[4]\nC = X \"1^i => i\"", "C=3"},
	{"padding by constants", "leaf: X o[4]\nC = X \"i => 2^i^1\"", "C=7"},
	{"a residual component", "leaf: X o[2]\nleaf: Y o[3]\nparam: Z o?\nK = X ; Y ; Z \"ii; jj; kk => ii^jj^kk\"\nleaf: F o[7]\nC = K . F", "Z=2; C=7"},
	{"stacked on a new output axis", "leaf: X o[3]\nleaf: Y o[3]\nU = X \"...|...->... => ...|...->0,...\"\nV = Y \"...|...->... => ...|...->0,...\"\n"
		"C = U ; V \"...|...-> p,...; ...|...-> q,... => ...|...-> p^q,...\"", "U=1*, 3; V=1*, 3; C=2, 3"},
	{"a weight over a stack", "leaf: X o[3]\nleaf: Y o[3]\nU = X \"...|...->... => ...|...->0,...\"\nV = Y \"...|...->... => ...|...->0,...\"\n"
		"S = U ; V \"...|...-> p,...; ...|...-> q,... => ...|...-> p^q,...\"\nparam: W i? o[4]\nC = W * S", "W=2, 3 -> 4; C=4"},
	/* programs */
	{"two uses that agree", "leaf: P o[5]\nleaf: Q o[5]\nparam: B o?\nY = P . B\nZ = Q . B", "B=5"},
	{"two uses of different rank", "leaf: P o[2, 3]\nleaf: Q o[3]\nparam: B o?\nY = P . B\nZ = Q . B", "B=3; Y=2, 3; Z=3"},
	{"two uses that clash broadcast", "leaf: P o[4]\nleaf: Q o[5]\nparam: B o?\nY = P . B\nZ = Q . B", "B=1*; Y=4; Z=5"},
	{"a bias takes the full shape", "leaf: X b[5] o[2, 3]\nparam: B i? o?\nY = X . B", "B=2, 3; Y=5 | 2, 3"},
	{"an unknown leaf takes its bound", "leaf: T b? i? o?\nleaf: P o[4]\nY = T . P", "T=4; Y=4"},
	{"an unknown leaf without bounds", "leaf: T b? i? o?\nY = T", "T=(); Y=()"},
	{"position 0 of a leaf with a bound", "leaf: T b? i? o?\nY = T \"0,i => i\"\nleaf: Q o[3, 4]\nZ = T . Q", "T=3, 4; Y=4"},
	{"an identity by comparison", "leaf: R o[3]\nA = R \"i=>i,0\"\nB = R \"j=>0,j\"\nE = A . B", "A=3, 1*; B=1*, 3; E=3, 3"},
	{"a permutation of what is known", "leaf: X o[3, 5, 3]\nP = X \"a,b,..r.. => ..r..,b,a\"\nY = X . P", "P=3, 5, 3; Y=3, 5, 3"},
	{"truncation", "leaf: A o[5]\nleaf: I o[5]\nleaf: J o[3]\nR = I \"i=>i,0\"\nS = J \"j=>0,j\"\nM = R . S\nY = A ; M \"i; i, o => o\"", "M=5, 3; Y=3"},
	{"the marker of a prefix", "in order\nleaf: X o[3]\nC = X \"..r.. => ..r..\"\nD = C \"i, ... => i, ...\"\nleaf: Y o[3, 5]\nE = Y . C", "E0401"},
	{"the marker after a leading axis", "tensor C o[3 .]\nleaf: Y o[3, 5]\nE = C . Y", "E=3, 5; @Co=1"},
	{"the marker of a spec without an ellipsis", "leaf: X o[3]\nC = X \"i => i\"\nleaf: Y o[5, 3]\nZ = C . Y", "@Co=0; Z=5, 3"},
	{"the marker of a spec with one", "leaf: X o[3, 4]\nC = X \"i, j => i, ..., j\"", "@Co=1"},
	{"the marker of a result", "leaf: X o[3]\nC = X", "@Co=0"},
	{"flattening by comparison", "leaf: A o[2, 3]\nleaf: P o[2, 3]\nleaf: K o[6]\nG = P \"i, j => i, j, 0\"\nH = K \"k => 0, 0, k\"\nM = G . H\n"
		"Y = A ; M \"i, j; i, j, k => k\"", "G=2, 3, 1*; H=1*, 1*, 6; M=2, 3, 6; Y=6"},
	{"a position beyond its use", "leaf: T o[4]\nleaf: Q o[3, 4]\nS = T \"i => 5, i\"\nZ = S . Q", "E0410"},
	{"an attention block", "in order\nleaf: X b[2, 3] o[8]\nparam: WQ i? o?\nparam: WK i? o?\nparam: WV i? o?\nparam: WO i? o?\nQ = WQ * X\nK = WK * X\nV = WV * X\n"
		"S = Q ; K \"..., s | h, d; ..., t | h, d => ..., s | t -> h\"\nset h 2\nset d 4\n"
		"A = S ; V \"..., s | t -> h; ..., t | h, e => ..., s | h, e\"\nset e 5\nO = WO * A\nY = X . O",
		"WQ=8 -> 2, 4; WK=8 -> 2, 4; WV=8 -> 2, 5; WO=2, 5 -> 8; S=2, 3 | 3 -> 2; A=2, 3 | 2, 5; O=2, 3 | 8; Y=2, 3 | 8"},
	{"running sums", "leaf: A o[4]\nleaf: I o[4]\nleaf: J o[4]\nR = I \"i=>i,0\"\nC = J \"j=>0,j\"\nL = C . R\nT = L\nY = A ; T \"i; i, o => o\"", "R=4, 1*; C=1*, 4; L=4, 4; T=4, 4; Y=4"},
	{"a flip", "leaf: A o[4]\nleaf: I o[4]\nleaf: J o[4]\nleaf: N o[1*]\nR = I \"i=>i,0\"\nC = J \"j=>0,j\"\nS = R . C\nM = S . N\nY = A ; M \"i; i, o => o\"", "S=4, 4; M=4, 4; Y=4"},
	{"evenly spaced numbers", "leaf: R o[5]\nleaf: S o[1*]\nleaf: L o[1*]\nM = R . S\nY = M . L", "M=5; Y=5; S=1*"},
	{"nested stacks, outputs", "leaf: A o[2]\nleaf: B o[2]\n"
		"P0 = A \"...|...->... => ...|...->0,...\"\nP1 = B \"...|...->... => ...|...->0,...\"\nP = P0 ; P1 \"...|...-> p,...; ...|...-> q,... => ...|...-> p^q,...\"\n"
		"Q0 = B \"...|...->... => ...|...->0,...\"\nQ1 = A \"...|...->... => ...|...->0,...\"\nQ = Q0 ; Q1 \"...|...-> p,...; ...|...-> q,... => ...|...-> p^q,...\"\n"
		"S0 = P \"...|...->... => ...|...->0,...\"\nS1 = Q \"...|...->... => ...|...->0,...\"\nS = S0 ; S1 \"...|...-> p,...; ...|...-> q,... => ...|...-> p^q,...\"", "P=2, 2; P0=1*, 2; S0=1*, 2, 2; S=2, 2, 2"},
	{"nested stacks, inputs inside", "leaf: A o[2]\nleaf: B o[2]\n"
		"P0 = A \"...|...->... => ...|0,...->...\"\nP1 = B \"...|...->... => ...|0,...->...\"\nP = P0 ; P1 \"...|p,...->...; ...|q,...->... => ...|p^q,...->...\"\n"
		"Q0 = B \"...|...->... => ...|0,...->...\"\nQ1 = A \"...|...->... => ...|0,...->...\"\nQ = Q0 ; Q1 \"...|p,...->...; ...|q,...->... => ...|p^q,...->...\"\n"
		"S0 = P \"...|...->... => ...|...->0,...\"\nS1 = Q \"...|...->... => ...|...->0,...\"\nS = S0 ; S1 \"...|...-> p,...; ...|...-> q,... => ...|...-> p^q,...\"", "P=2 -> 2; P0=1* -> 2; S0=2 -> 1*, 2; S=2 -> 2, 2"},
	{"stacked batches", "leaf: A o[2]\nleaf: B o[2]\nU = A \"...|...->... => 0,...|...->...\"\nV = B \"...|...->... => 0,...|...->...\"\n"
		"S = U ; V \"p,...|...->...; q,...|...->... => p^q,...|...->...\"", "U=1* | 2; S=2 | 2"},
	{"a window over a parameter, and a loss", "param: X o[4, 4, 1]\nparam: K o[2, 2]\nY = X ; K \"... | 2*oh<+wh, 2*ow<+ww, ..c..; wh, ww => ... | oh, ow, ..c..\"\nL = Y \"...|...->... => 0\"", "Y=2, 2, 1; L=1*"},
	{"a scalar by use", "leaf: X o[3]\nleaf: Y o[4]\nleaf: R\nC = X . R\nD = Y . R", "C=3; D=4"},
	/* the inference and verification tables of the Broadcastable trait: static 1 is claim-free, ? is symbolic */
	{"static with static", "leaf: X o[1*]\nleaf: Y o[1*]\nC = X . Y", "C=1*"},
	{"static 1 with static n", "leaf: X o[1*]\nleaf: Y o[3]\nC = X . Y", "C=3"},
	{"static 1 with unknown", "leaf: X o[1*]\nleaf: Y o[?n]\nC = X . Y", "C=?n"},
	{"unknown with itself", "leaf: X o[?n]\nleaf: Y o[?n]\nC = X . Y", "C=?n"},
	{"local unknown with static n", "leaf: X o[?n]\nleaf: Y o[3]\nC = X . Y", "C=3; X=3"},
	{"exported unknown with static n", "leaf: X o[!n]\nleaf: Y o[3]\nC = X . Y", ""},
	{"two ranks with unknowns", "leaf: X o[?n, 1*]\nleaf: Y o[4]\nC = X . Y", "C=?n, 4"},
	{"three operands, ranks 1 to 3", "leaf: X o[1*, 2]\nleaf: Y o[3, 1*, 1*]\nleaf: Z o[2]\nC = X . Y . Z", "C=3, 1*, 2"},
	{"static sizes that differ", "leaf: X o[2, 3]\nleaf: Y o[3, 3]\nC = X . Y", "E0401"},
	{"result smaller than broadcast", "leaf: X o[1*, 2]\nleaf: Y o[3, 2]\ntensor C o[1*, 2]\nC = X . Y", "E0404"},
	{"result of lower rank", "leaf: X o[2, 2]\ntensor C o[2]\nC = X", "E0403"},
	{"result of another size", "leaf: X o[2]\ntensor C o[3]\nC = X", "E0401"},
	{"a symbol solved too small for a position", "leaf: X o[?n]\nC = X \"4 => \"\nleaf: Y o[3]\nD = X . Y", "E0410"},
	{"a symbol solved against its quotient", "leaf: X o[?n]\nC = X \"2*i => i\"\nleaf: Y o[5]\nD = X . Y", "E040"},
	/* several mistakes, each once */
	{"poison is reported once", "in order\nleaf: X o[3]\nleaf: Y o[4]\nC = X . Y\nD = C . X\nE = D . Y\nparam: B o?\nF = E . B", "E0401"},
};

static const char *all_errors(const char *text, uint32_t *n)
{
	static char out[2000];
	problem p;
	uint32_t starts[MOST_LINES], order[MOST_LINES], lines = split(text, starts);
	for (uint32_t i = 0; i < lines; i++)
		order[i] = i;
	run_lines(&p, text, lines, starts, order);
	*n = p.tc->diags.n;
	char *rendered = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&rendered, &size);
	tsr_diags_render(p.tc, f, false);
	fclose(f);
	snprintf(out, sizeof out, "%s", rendered);
	free(rendered);
	tsr_compiler_free(p.tc);
	return out;
}

static void test_messages(void)
{
	uint32_t n;
	const char *text = all_errors("leaf: X i[3] o[2]\nleaf: Y o[4]\nC = X * Y", &n);
	CHECK_INT(n, 1);
	CHECK(strstr(text, "t.tsr:3:1"));                 /* the operation */
	CHECK(strstr(text, "t.tsr:1:1") && strstr(text, "t.tsr:2:1"));   /* both sources */
	all_errors("leaf: X o[3]\nleaf: Y o[4]\nC = X . Y\nparam: W i? o?\nD = W * X", &n);
	CHECK_INT(n, 2);                                  /* two faults, both reported */
	text = all_errors("leaf: X o[3]\nA = X \"i => i\"\nB = A \"j => j\"\nC = B . B\nleaf: Y o[4]\nD = C . Y", &n);
	CHECK_INT(n, 1);
	for (int line = 1; line <= 6; line++) {           /* every step between the sources and the clash */
		char place[32];
		snprintf(place, sizeof place, "t.tsr:%d:1", line);
		if (!CHECK(strstr(text, place)))
			printf("  %s\n", text);
	}
}

/* What cannot be decided while compiling is left as a condition for the run, once. */
static void test_conditions(void)
{
	static const struct { const char *text; uint32_t n; const char *printed; } rows[] = {
		{"leaf: X o[!n]\nleaf: Y o[3]\nC = X . Y\nD = C . X", 1, "at run time ?n = 3"},
		{"leaf: X o[?n]\nleaf: Y o[3]\nC = X . Y", 0, ""},
		{"leaf: X o[!n]\nC = X \"4 => \"", 1, "at run time ?n >= 5"},
		{"leaf: X o[?n]\nC = X \"o<+k => o\"\nset k 3", 1, "at run time ?n-2 >= 1"},
		{"leaf: X o[?n]\nC = X \"2*i => i\"", 1, "at run time ?n = 2*(?n/2)"},
		{"leaf: X b[?n] o[3]\nC = X \"5*@i+j | ... => j | ...\"\nset j 5", 1, "at run time ?n >= 5"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		problem p;
		uint32_t starts[MOST_LINES], order[MOST_LINES], lines = split(rows[i].text, starts);
		for (uint32_t j = 0; j < lines; j++)
			order[j] = j;
		run_lines(&p, rows[i].text, lines, starts, order);
		CHECK_INT(p.tc->diags.n, 0);
		CHECK_INT(tsr_store_nconditions(p.s), rows[i].n);
		char *text = NULL;
		size_t size = 0;
		FILE *f = open_memstream(&text, &size);
		tsr_store_print(p.s, f);
		fclose(f);
		if (!CHECK(strstr(text, rows[i].printed)))
			printf("  %s\n", text);
		free(text);
		tsr_compiler_free(p.tc);
	}
}

/* A chain of n operations takes a bounded number of visits per operation. */
static void test_linear(void)
{
	double per_op[2];
	for (int round = 0; round < 2; round++) {
		uint32_t n = round ? 10000 : 1000;
		tsr_compiler *tc = tsr_compiler_new();
		tsr_store *s = tsr_store_new(tc);
		tsr_why why = {.what = "`relu`"};
		tsr_shape b = tsr_shape_fresh(s), x = tsr_shape_fresh(s), last = x;
		tsr_dim axes[2] = {tsr_dim_atom(3, NULL), tsr_dim_atom(4, NULL)};
		tsr_store_leaf(s, &b, TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
		tsr_store_leaf(s, &x, TSR_LEAF_PLAIN, NULL, TSR_NOWHERE);
		for (uint32_t i = 0; i < n; i++) {
			tsr_shape c = tsr_shape_fresh(s), operands[2] = {last, b};
			tsr_rule rule = {.logic = TSR_LOGIC_POINTWISE, .noperands = 2, .why = why};
			tsr_emit_rule(s, &rule, &c, operands);
			last = c;
		}
		tsr_emit_row_equal(s, last.row[TSR_OUTPUT], tsr_row_closed(s, 2, axes), why);
		CHECK(tsr_store_close(s));
		tsr_store_check(s);
		tsr_solved out;
		CHECK(tsr_store_solved(s, &x, &out));
		CHECK_STR(tsr_solved_str(s, &out), "3, 4");
		per_op[round] = (double)tsr_store_statistics(s).steps / n;
		tsr_compiler_free(tc);
	}
	CHECK(per_op[1] < 40);
	CHECK(per_op[1] < per_op[0] * 1.2);
	if (per_op[1] >= 40)
		printf("  %.1f and %.1f visits per operation\n", per_op[0], per_op[1]);
}

int main(void)
{
	check_cases(cases, sizeof cases / sizeof *cases);
	test_messages();
	test_conditions();
	test_linear();
	return check_end("shape_rules");
}
