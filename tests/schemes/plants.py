"""Operators as a library would have them, and one mistake for each plant: (name, code, wrong, right).

`right` stands once in the function; the planted program has `wrong` in its place. Nothing is called anywhere."""

FUNCTIONS = {
    "attention": '''
let%op attention ~d_k () ~mask x =
  let q = { w_q } * x in
  let k = { w_k } * x in
  let v = { w_v; o = [4; 8] } * x in
  let scores = (q +* k "... s | h d; ... t | h d => ... s | t -> h" [h; d]) /. sqrt (dim d) in
  let weights = Nn.softmax ~over:"... | t -> ..." (where mask scores (-1e9)) in
  let mixed = weights +* v "... s | t -> h; ... t | h e => ... s | h e" [e] in
  set_dim h 4; set_dim d d_k; set_dim e 8;
  { w_o; i = [4; 8] } * mixed
''',
    "linear": '''
let%op linear ~out () x = { w; o = [out] } * x + { b = 0.; o = [out] }
''',
    "feed_forward": '''
let%op feed_forward ~hid ~out () x =
  let inner = relu ({ w_1; o = [hid] } * x) in
  { w_2; i = [hid]; o = [out] } * inner + { b = 0.; o = [out] }
''',
    "normalise": '''
let%op normalise ?(epsilon = 1e-5) x =
  let total = x ++ "... | ..d.. => ... | 0" [d] in
  let mean = total /. dim d in
  let spread = (x - mean) *. (x - mean) ++ "... | ..d.. => ... | 0" in
  (x - mean) /. sqrt (spread /. dim d + epsilon)
''',
    "conv": '''
let%op conv ~filters ?(padded = true) () x =
  let y =
    if padded then x +* { kernel } "... | o =+ k, c; k, c -> f => ... | o, f" [k; f]
    else x +* { narrow; i = [3; 2] } "... | o <+ k, c; k, c -> f => ... | o, f" [k; f] in
  set_dim k 3; set_dim f filters;
  y + { bias = 0.; o = [filters] }
''',
    "tiles": '''
let%op tiles x =
  let pieces = x ++ "... | n => ... | n" [n] in
  let windows = pieces ++ "... | 2*o<+k => ... | o, k" [k] in
  set_dim n 9; set_dim k 3;
  windows
''',
    "halves": '''
let%op halves a b =
  let both = (a, b) ++^ "... | i; ... | j => ... | i^j" [i; j] in
  let whole = both ++ "... | n => ... | n" [n] in
  set_dim i 2; set_dim j 3; set_dim n 5;
  whole
''',
    "colours": '''
let%op colours x =
  let weighted = x *. ([0.2; 0.7; 0.1] : rgb) in
  weighted + ([0.; 0.; 0.] : rgb)
''',
    "rotate": '''
let%op rotate () x =
  let turned = { r; i = [3]; o = [4] } * x in
  transpose { s; i = [4]; o = [5] } * { t; o = [5] } + turned
''',
    "score": '''
let%op score () x = (transpose { keys; i = [4]; o = [5] } * { query; o = [5] }) *. x
''',
    "split": '''
let%op split () x =
  let first = { both; o = [5] } ++^ "i^3 => i" in
  first *. x
''',
    "trace": '''
let%op trace () x =
  let m = { m; i = [3]; o = [3] } in
  (m ++ "i -> i => i") *. x
''',
    "move": '''
let%op move x = x ++ "..b.. | n, ..r.. => ..b.. | ..r.., n"
''',
    "third": '''
let%op third () x = ({ table; o = [3] } ++ "2 => 0") *. x
''',
    "grow": '''
let%op grow x =
  let longer = x ++ "..b.. | ..d.. => ..b.. | 0, ..d.." in
  longer +* x "..b.. | n, ..d..; ..b.. | ..d.. => ..b.. | ..d.."
''',
    "count": '''
let%op count () x =
  let t = { grid; o = [3; 5] } in
  let all = t ++ "..d.. => 0" [d] in
  set_dim d 15;
  x /. all
''',
    "pair": '''
let%op pair x y =
  let a = x ++ "... | n => ... | n" [n] in
  let b = y ++ "... | m => ... | m" [m] in
  set_dim n 6; set_dim m 6; set_equal n m;
  a + b
''',
    "loss": '''
let%op loss ~logits ~target =
  let total = exp logits ++ "... | c => ... |" in
  let right = logits *. target ++ "... | c => ... |" in
  log total - right ++ "... | => ... | 0"
''',
    "heads": '''
let%op heads () x =
  let y = { w; o = [32] } * x + { b; o = [32] } in
  let split = y ++ "... | 4*h<+d => ... | h, d" [d] in
  set_dim d 4;
  split
''',
    "closure": '''
let%op closure ~hid () =
  let inner = { w_in; o = [hid] } in
  fun x -> { w_out; i = [hid] } * (inner * x)
''',
    "stack": '''
let%op stack layers x =
  let mixed y = y +* { inner; i = [4]; o = [4] } "... | c; c -> c => ... | c" in
  let deep = List.fold_left (fun y layer -> layer (mixed y)) x layers in
  let bias = { bias; o = [7] } in
  let scale = { scale; i = [7]; o = [7] } in
  scale * bias *. deep
''',
    "momentum": '''
let%cd momentum p ~rate =
  { velocity; o = [3] } =: rate *. velocity + [0.1; 0.2; 0.3];
  p =- velocity
''',
    "bilinear": '''
let%op bilinear () x y =
  (x, { w; i = [6; 4]; o = [5] }, y) +* "... | i; i, j -> o; ... | j => ... | o"
''',
    "table": '''
let%op table () = [ (1., 2., 3.); (4., 5., 6.) ] * { column; o = [3] }
''',
    "embed": '''
let%op embed ~vocabulary () ids =
  let codes = one_hot vocabulary ids in
  { table; i = [vocabulary]; o = [16] } * codes
''',
    "gate": '''
let%op gate ~size () x =
  let both = { w; o = [size + size] } * x in
  let parts = both ++ "... | n => ... | n" [n] in
  set_dim n (2 * size);
  parts
''',
    "recurrence": '''
let%op recurrence ~hid () x =
  let rec steps n h = if n = 0 then h else steps (n - 1) (tanh ({ w; i = [hid]; o = [hid] } * h + x)) in
  steps 2 ({ start; o = [hid] })
''',
}

# (what, function, right, wrong, code)
PLANTS = [
    ("letters of a spec in the wrong order (which two sizes contradict)", "attention", "... t | h e => ... s | h e", "... t | e h => ... s | h e", "E0401"),
    ("a letter for another", "bilinear", "i, j -> o", "i, i -> o", "E0401"),
    ("a kind left out of a slot", "attention", "... s | t -> h; ... t", "... s | t; ... t", "E0403"),
    ("one axis too few in a slot", "attention", "... t | h e => ... s | h e", "... t | e => ... s | h e", "E0403"),
    ("one slot too few", "attention", "... s | h d; ... t | h d => ... s | t -> h", "... s | h d => ... s | h", "E0110"),
    ("a capture that the spec does not have", "attention", "=> ... s | h e\" [e]", "=> ... s | h e\" [f]", "E0201"),
    ("a capture set to two numbers", "attention", "set_dim d d_k", "set_dim h 8", "E0401"),
    ("a size by name and the same plus one", "attention", "set_dim d d_k", "set_dim d d_k; set_dim d (d_k + 1)", "E0401"),
    ("axes of a parameter in the wrong order", "attention", "i = [4; 8]", "i = [8; 4]", "E0401"),
    ("a bias of another length", "linear", "b = 0.; o = [out]", "b = 0.; o = [out + 1]", "E0401"),
    ("layers whose sizes do not meet", "feed_forward", "i = [hid]; o = [out]", "i = [hid + 1]; o = [out]", "E0401"),
    ("a mean with the axis left out", "normalise", "let mean = total /. dim d in", "let mean = total ++ \"... | n, m => ... |\" in", "E0403"),
    ("a mistake in the branch that is not the default", "conv", "i = [3; 2]", "i = [3]", "E0403"),
    ("a kernel of another size in one branch", "conv", "i = [3; 2]", "i = [5; 2]", "E0401"),
    ("windows that do not tile", "tiles", "set_dim n 9", "set_dim n 8", "E0405"),
    ("a window larger than its axis", "tiles", "set_dim k 3", "set_dim k 11", "E0405"),
    ("halves that do not add up", "halves", "set_dim n 5", "set_dim n 6", "E0401"),
    ("seams that do not add up", "split", "i^3 => i", "i^6 => i", "E0409"),
    ("two bases on one axis", "colours", "[0.; 0.; 0.] : rgb", "[0.; 0.; 0.] : yuv", "E0402"),
    ("one colour too few", "colours", "[0.; 0.; 0.] : rgb", "[0.; 0.] : rgb", "E0401"),
    ("a transposition too many", "rotate", "let turned = { r; i = [3]; o = [4] } * x in", "let turned = transpose { r; i = [3]; o = [4] } * x in", "E0401"),
    ("a transposition too few", "score", "transpose { keys; i = [4]; o = [5] } *", "{ keys; i = [4]; o = [5] } *", "E0401"),
    ("the diagonal of what is not square", "trace", "i = [3]; o = [3]", "i = [3]; o = [4]", "E0401"),
    ("a row variable twice in one row", "move", "n, ..r.. => ..b.. | ..r.., n", "..r.., n, ..r.. => ..b.. | ..r.., n", "E0110"),
    ("a position past the end", "third", "\"2 => 0\"", "\"3 => 0\"", "E0410"),
    ("a row that would have to be longer than itself", "grow", "..b.. | n, ..d..; ..b.. | ..d.. =>", "..b.. | ..d..; ..b.. | ..d.. =>", "E0406"),
    ("a number of elements that does not fit", "count", "set_dim d 15", "set_dim d 16", "E0408"),
    ("two captures tied that have two sizes", "pair", "set_dim m 6", "set_dim m 7", "E0401"),
    ("an axis that a reduction has taken away", "loss", "log total - right ++ \"... | => ... | 0\"", "right ++ \"... | c => ... | 0\"", "E0403"),
    ("heads that do not divide the width", "heads", "set_dim d 4", "set_dim d 5", "E0405"),
    ("sizes that do not meet inside a closure", "closure", "i = [hid] } * (inner", "i = [hid + 2] } * (inner", "E0401"),
    ("a mistake beside a list of layers", "stack", "bias; o = [7]", "bias; o = [8]", "E0401"),
    ("a mistake in a function that goes over a list", "stack", "inner; i = [4]; o = [4]", "inner; i = [4]; o = [5]", "E0401"),
    ("code that assigns another shape", "momentum", "[0.1; 0.2; 0.3]", "[0.1; 0.2]", "E0401"),
    ("a parameter with an axis too few", "bilinear", "i = [6; 4]", "i = [6]", "E0403"),
    ("a ragged literal", "table", "(4., 5., 6.)", "(4., 5.)", "E0310"),
    ("a literal and a parameter that do not meet", "table", "column; o = [3]", "column; o = [2]", "E0401"),
    ("a table of another vocabulary", "embed", "i = [vocabulary]", "i = [vocabulary + 2]", "E0401"),
    ("twice a size and one more", "gate", "set_dim n (2 * size)", "set_dim n (2 * size + 1)", "E0401"),
    ("a state that a step does not keep", "recurrence", "o = [hid] } * h", "o = [hid + 1] } * h", "E0401"),
]
