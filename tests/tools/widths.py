"""Programs that apply one block at many widths, for the cost of a further application: `program(kind, n)` has n of them, `program(kind, n,
False)` the same arguments without the blocks."""

KINDS = {
    "MLP block, widths from its argument": ("""
let%op block () =
  fun x ->
  let a = relu ({ w1; o = [7] } * x + { b1 }) in
  let b = relu ({ w2 } * a + { b2 }) in
  x + b *. { gain }
""", "{{ x{i}; o = [{w}] }}", "block () x{i}"),
    "MLP block, widths from the configuration": ("""
let%op block ~width () =
  fun x ->
  let a = relu ({ w1; o = [4 * width] } * x + { b1 }) in
  let b = relu ({ w2; o = [width] } * a + { b2 }) in
  x + b *. { gain }
""", "{{ x{i}; o = [{w}] }}", "block ~width:{w} () x{i}"),
    "ResNet block": ("""
let%op convolve ~filters ?(size = 3) ?(stride = 1) () x =
  let y = x +* { kernel } "... | stride*oh =+ kh, stride*ow =+ kw, c; kh, kw, c -> f => ... | oh, ow, f" [kh; kw; f] in
  set_dim kh size; set_dim kw size; set_dim f filters;
  y
let%op block ~filters ~stride () =
  let first = convolve ~filters ~stride () in
  let norm1 = batch_norm2d () in
  let second = convolve ~filters () in
  let norm2 = batch_norm2d () in
  let conv = convolve ~filters ~size:1 ~stride () in
  let norm3 = batch_norm2d () in
  fun ~train x -> relu (norm2 ~train (second (relu (norm1 ~train (first x)))) + norm3 ~train (conv x))
""", "{{ x{i}; o = [8; 8; {w}] }}", "block ~filters:{w} ~stride:2 () ~train:true x{i}"),
    "transformer block": ("""
let%op block ~heads ~width () =
  let attend = attention ~heads ~d_k:(width / heads) () in
  let norm1 = layer_norm () in
  let norm2 = layer_norm () in
  fun ~mask x ->
  let mid = x + attend ~mask (norm1 x) in
  mid + { w_down } * gelu ({ w_up; o = [4 * width] } * norm2 mid)
let%op mask = (positions () ++ "s | => s |") >= (positions () ++ "t -> => t ->")
""", "{{ x{i}; o = [{w}] }} * one_hot 16 (positions () ++ \"t | => t |\")", "block ~heads:4 ~width:{w} () ~mask x{i}"),
}


def program(kind, n, blocks=True):
    text, argument, application = KINDS[kind]
    text = "open Nn\n" + text
    for i in range(n):
        put = {"i": i, "w": 8 + 4 * i}
        text += f"let%op x{i} = {argument.format(**put)}\n" + (f"let%op y{i} = {application.format(**put)}\n" if blocks else "")
    return text
