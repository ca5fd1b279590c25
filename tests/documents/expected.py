"""What the programs of tests/run/documents print: name -> {tensor: numbers}.  A tensor that is printed several times has all of
them in order; `lines` are the numbers of lines that hold nothing else."""
import numpy as np

e, outer, iota = np.einsum, np.outer, lambda *shape: np.arange(np.prod(shape, dtype=int)).reshape(shape)
A23 = np.array([[1, 2, 3], [4, 5, 6]])
A22 = np.array([[1, 2], [3, 4]])
A32 = np.array([[1, 2], [3, 4], [5, 6]])
B32 = np.array([[1, 0], [0, 1], [1, 1]])
AB = np.array([[1, 10], [0, 1]])
SMALL34 = np.add.outer(1000 * np.arange(1, 4), 100 * np.arange(1, 5))
LINE10, LINE5 = np.arange(10), np.arange(5)
SWAP = np.array([[0, 1], [1, 0]])
QUERIES = np.array([[[1, 0], [2, 1]], [[0, 1], [3, 0]]])


def windows(x, kernel, stride=1, dilation=1, padded=False):
    """The definition: the sum of x [stride * o + dilation * k - left] * kernel [k] over the points inside."""
    span = 1 + (len(kernel) - 1) * dilation
    left, places = (span // 2, len(x) // stride) if padded else (0, (len(x) - span) // stride + 1)
    at = lambda o, k: stride * o + dilation * k - left
    return [sum(x[at(o, k)] * w for k, w in enumerate(kernel) if 0 <= at(o, k) < len(x)) for o in range(places)]


def tropical(a, b):
    """Values, and the gradients of their sum: each pair that reaches the largest has all of it."""
    s = a[:, :, None] + b[None]
    won = s == s.max(1)[:, None]
    return s.max(1), won.sum(2), won.sum(0)


def attend(x):
    """Each row's weights over all rows, by their scalar products, times the rows."""
    scores = np.exp(x @ np.swapaxes(x, -1, -2))
    return scores / scores.sum(-1, keepdims=True) @ x


FRAMED = np.array([[-1] * 5, [0, 1, 2, 3, 0], [0, 4, 5, 6, 0], [1] * 5])
TROPICAL = tropical(np.array([[1, 5], [2, 2]]), np.array([[4, 0], [4, 3]]))
PAIRS = np.add.outer([100, 200], [10, 20])[None, :, :, None] + iota(2, 2, 2, 3)
EDGES = e("if,jf->ijf", A32, AB)
ALL = np.array([[[100 * b + 10 * o + i for i in range(3)] for o in range(2)] for b in range(2)])
PLANE = np.add.outer(np.arange(3) ** 2, np.arange(4) ** 2)

NUMBERS = {
    # 000
    "a-unit-that-claims-nothing-stretches": {"y": [6, 7, 8]},
    "units-that-claim-meet-their-like": {"written": [7], "named": [9]},
    "rank-grows-at-the-marker": {"y": SMALL34[:, None] + iota(3, 5, 4)},
    "what-meets-the-marker-has-any-size-and-basis": {
        "tinted": A22[:, None] + np.full((2, 2, 2), 0.5), "deep": A22[:, None, None] + np.full((2, 2, 1, 2), 0.5)},
    "an-empty-row-is-below-a-row-of-one": {"y": [6]},
    "an-empty-row-is-not-a-row-of-one": {"both": [10], "number": [3], "vector": [15, 25], "other": [13, 23]},
    "the-same-attention-at-any-batch-rank": {"none": attend(QUERIES[0]), "one": attend(QUERIES), "two": attend(QUERIES[None])},
    "a-label-takes-size-and-basis": {"grey": A23 @ [2, 2, 2], "w": [2, 2, 2]},
    "a-lower-bound-is-an-equation": {"sum": [2, 3, 4], "y": [12, 13, 14]},
    "an-upper-bound-waits": {"first": [11, 12, 13], "second": [14, 15, 16], "b": [10, 10, 10]},
    "a-leaf-used-at-two-sizes-claims-neither": {"three": 11 + np.arange(3), "five": 11 + np.arange(5)},
    "a-leaf-takes-the-size-of-its-use": {"y": [6], "ones": [1, 1, 1]},
    "an-interior-that-nothing-forces-claims-nothing": {
        "axis": [1, 2], "row": [1, 2], "y": [1, 2] + 10 * A32, "z": 10 * A23 + [[1], [2]]},
    "a-leaf-that-nothing-uses-is-one-number": {"alone": [2]},
    "closing-a-leaf-tells-more-of-others": {"used": [3, 4, 5], "kept": [3, 3, 3]},
    "a-constant-with-one-use-grows-larger-than-it-must": {"grown": np.ones(6), "six": A23 + 1},
    "a-number-fits-any-shape": {"vector": [1, 2, 3], "matrix": [1, 2, 3, 4], "batch": [1, 2]},
    "a-written-unit-decides-an-unknown-size": {"y": [6, 6]},
    "a-rate-used-at-many-ranks-is-one-number": {"a": [1, 2, 3], "b": [1, 2, 3, 4], "c": [1, 2, 3]},
    "flanks-are-not-compared-with-flanks": {"both": 11 * A23},
    "what-fills-an-ellipsis-goes-between-its-flanks": {
        "framed": 100 * A23, "sum": 100 * A23[None, :, None, :, None] + iota(2, 2, 2, 3, 2)},
    "one-operator-at-any-rank": {"vector": [-1, 0, 1], "matrix": [-1, 0, 1, -10, 0, 10], "batch": [-1, -1, 1, 1, -1, -1.5, 1, 1.5]},
    "a-parameter-takes-its-shape-from-its-use": {
        "error": np.array([[6], [1], [1], [6]]) + 1 - np.array([[7, 6], [2, 2], [2, 3], [7, 7]])},
    "the-interior-of-a-larger-row-goes-to-the-variable": {"y": np.full(36, 101)},
    "an-open-row-grows-to-meet-its-operand": {"y": [21, 21]},
    "one-batch-axis-is-named-and-all-else-is-left-open": {"rows": [4, 6], "groups": [3, 7], "matrices": [11, 22, 33, 44]},
    "composition-contracts-inputs-with-outputs": {
        "fg": A23 @ B32, "one": A23 @ B32 @ [1, 10], "many": np.array([[1, 10], [0, 1]]) @ (A23 @ B32).T},
    "a-captured-size-scales-a-product": {"scored.1.1": [15, 50], "scored.1.3": [2]},
    "parameters-are-made-once-at-the-unit": {"shared": [9], "apart": [9], "one": [3], "two": [1], "three": [2]},
    # 001
    "two-run-time-sizes-are-one": {"y": LINE5 ** 2},
    "a-static-one-meets-a-run-time-size": {"y": LINE5 + 10},
    "a-known-size-meets-a-run-time-size": {"y": LINE5 + [10, 20, 30, 40, 50]},
    "two-static-ones-are-one": {"y": [5 + 6]},
    "a-static-one-stretches-to-a-known-size": {"y": [5, 10, 15]},
    "a-known-size-meets-itself": {"y": [11, 22, 33]},
    "three-operands-are-taken-in-pairs": {"y": [1, 2] + 10 * np.arange(1, 4)[:, None] + 1000 * np.arange(2)[:, None, None]},
    "an-operand-without-a-shape-is-passed-over": {"y": [6, 7, 8]},
    "a-single-operand-gives-its-shape": {"y": -A22},
    "a-run-time-size-annotated-as-one": {"y": LINE5 + 1},
    "an-annotation-that-the-run-confirms": {"y": np.arange(4) + 1},
    "a-known-size-annotated-as-a-run-time-size": {"y": [11, 22, 33]},
    "a-known-size-annotated-with-itself": {"y": [11, 22, 33]},
    "an-exact-match-of-static-sizes": {"y": [11, 22]},
    "dynamic-sizes-match": {"y": 2 * LINE5},
    "one-element-is-broadcast-to-four": {"y": [6, 7, 8, 9]},
    "a-known-result-may-be-called-dynamic": {"y": [-1, -2, -3, -4]},
    "one-axis-is-expanded-to-three": {"y": 1000 * np.arange(1, 5) + iota(2, 3, 4)},
    "element-types-are-no-matter-of-shapes": {"y": [8, 8]},
    "an-unranked-result-needs-no-verification": {"y": [-1, -2]},
    "operands-without-shapes-leave-it-to-the-annotation": {"y": [3, 3]},
    # 002
    "blocks-of-a-matrix": {"y": [1, 2, 5, 3, 4, 6, 7, 8, 9]},
    "blocks-along-the-diagonal": {"y": [1, 2, 0, 3, 4, 0, 0, 0, 9], "spread": np.diag([1, 2, 3])},
    "a-concatenation-has-an-offset-per-part": {"y": [1, 2, 3, 4, 5]},
    "an-empty-part-changes-nothing": {"written": [1, 2, 3], "inferred": [1, 2, 3]},
    "a-tensor-without-axes-is-the-unit-of-the-product": {"one": [1], "y": [1, 2, 3]},
    "three-sizes-between-one-top-and-one-bottom": {"three": 11 + np.arange(3), "five": 11 + np.arange(5), "seven": 11 + np.arange(7)},
    "a-size-of-one-is-promoted-to-any": {"left": [6, 7, 8], "right": [6, 7, 8], "both": np.add.outer([1, 2], [10, 20, 30])},
    "a-shape-that-is-omitted-is-the-meet-of-the-operands": {"y": np.add.outer([1, 2], np.add.outer([10, 20, 30], [100, 200]))},
    "a-matrix-product-in-both-notations": {"table": A23 @ B32, "spelt": A23 @ B32, "wordless": A23 @ B32},
    "an-outer-product-is-two-claims": {"table": outer([1, 2, 3], [10, 20])},
    "a-column-meets-a-row": {"table": np.add.outer([1, 2, 3], [10, 20])},
    "padding-is-a-concatenation-on-two-axes": {"framed": np.pad(A23, 1), "by_sum": np.pad(A23, 1), "inside": A23, "x.grad": 2 * A23},
    "nine-regions-of-a-padded-matrix-by-name": {
        "framed": FRAMED, "inside": A23, "corner": [-1], "lower": [1] * 5, "x.grad": 2 * A23, "above.grad": [0] * 3},
    "every-node-meets-every-node-of-a-graph": {"messages": EDGES, "scores": EDGES.sum(2)},
    "one-graph-or-a-batch-of-graphs": {
        "one": EDGES, "many": e("gif,gjf->gijf", np.arange(1, 9).reshape(2, 2, 2), np.array([[[1, 10]], [[2, 20]]]))},
    "pairs-are-added-to-features-of-a-batch": {"spelt": PAIRS, "placed": PAIRS},
    "a-graph-is-merged-and-split": {"merged": [1, 2, 3, 4, 5], "first": [1, 2], "second": [3, 4, 5], "a.grad": [1, 2], "b.grad": [3, 4, 5]},
    "front-centre-and-back-come-together-and-apart": {
        "all": [1, 2, 3, 4, 5, 6], "middle": [2, 3, 4], "taken": [2, 3, 4], "outer": [1, 5, 6], "turned": [5, 6, 2, 3, 4, 1]},
    "a-stencil-is-a-window": {
        "inside": windows(np.arange(5) ** 2, [1, -2, 1]), "padded": windows(np.arange(5) ** 2, [1, -2, 1], padded=True),
        "laplacian": PLANE[:-2, 1:-1] + PLANE[2:, 1:-1] + PLANE[1:-1, :-2] + PLANE[1:-1, 2:] - 4 * PLANE[1:-1, 1:-1]},
    "a-window-finds-whichever-size-is-missing": {"output": [6, 12, 18], "from_input": [3, 3, 3], "by_kernel": [6, 12, 18]},
    "an-element-count-is-solved-both-ways": {"bytes": np.array([1, 256, 65536], dtype="<u4").view(np.uint8), "same": [1]},
    "one-operator-at-several-shapes-has-one-scheme": {"vector": [43], "batch": [321, 654]},
    "a-size-of-the-run-that-must-be-a-multiple": {"sums": [1, 5]},
    # 003
    "an-axis-that-broadcasts-is-severed": {"y": [10, 20, 30, 80, 100, 120]},
    "equal-axes-of-a-sum-share-a-loop": {"y": 11 * A23},
    "rows-that-are-equal-pair-their-axes": {"y": [91]},
    "axes-that-one-operand-lacks-iterate-alone": {"y": 100 * A22[:, None] + iota(2, 3, 2) + 1},
    "a-position-in-a-spec-has-no-loop": {"y": [3, 6]},
    "a-slice-by-a-number-of-the-configuration-has-no-loop": {"y": [4, 5, 6]},
    "a-slice-by-a-number-of-the-run-has-no-loop": {"lines": [7, 8, 9, 1, 2, 3]},
    "a-pin-beats-a-loop": {"lines": A32 @ A32[0]},
    "what-nothing-writes-is-neutral-after-a-colon": {"a": [1, 0, 2, 0, 3, 0], "b": [-np.inf, 1, -np.inf, 2, -np.inf, 3]},
    "what-was-there-stays-without-a-colon": {"a": [11, 10, 12, 10, 13, 10]},
    "what-is-written-often-is-accumulated": {"total": [9, 30], "largest": [5, 20]},
    "what-is-written-once-is-not-read-back": {"turned": [1, 3, 5, 20, 4, 6]},
    "a-running-total-has-no-colon": {"running": [18, 60]},
    "a-parameter-that-two-uses-share-adds-their-gradients": {"w.grad": [2 + 3 * 10, 2 + 3 * 20]},
    "a-sum-is-a-label-that-the-result-leaves-out": {"y": [3, 7]},
    "a-diagonal-is-a-label-that-repeats": {"y": [1, 4]},
    "a-trace-is-a-diagonal-that-is-left-out": {"y": [5]},
    "pointwise-is-what-an-assignment-is": {"told": A22 + 10, "silent": A22 + 10},
    "an-assignment-may-compose": {"composed": A22 @ SWAP},
    "an-assignment-may-transpose": {"turned": A23.T},
    "an-assignment-may-have-a-spec": {"summed": A23.sum(1)},
    "an-inline-definition-takes-its-shape-from-its-assignment": {"total": ((A23 - 1) ** 2).sum(0)},
    "a-step-of-gradient-descent-spelt-out": {"p": [3, -3, 2.25, -2.25], "remembered": [10, -10, 16.5, -16.5]},
    "a-step-written-as-a-product-of-two-operands": {"p": [3.2, -3.2, 2.56, -2.56]},
    "a-contraction-and-its-gradients-share-one-record": {
        "c": A23 @ A32, "a.grad": np.ones((2, 2)) @ A32.T, "b.grad": A23.T @ np.ones((2, 2))},
    "a-scalar-is-severed-from-the-loops": {"r": 2 * A23, "s.grad": [21]},
    "a-vector-of-ones-sums-an-axis-and-is-never-stored": {"r": [6, 15], "composed": [6, 15]},
    "an-axis-of-one-has-no-loop": {"y": A32 ** 2, "z": A32 @ A32.T},
    "an-axis-without-a-partner-is-visited": {"t": [7] * 6, "q": np.arange(6)},
    "sizes-that-agree-elsewhere-do-not-share-a-loop": {"dot": [32], "table": outer([1, 2, 3], [4, 5, 6]), "all": [6 * 15]},
    "a-tensor-that-is-read-twice-has-two-maps": {"table": A32 @ A32.T, "x.grad": 2 * np.tile(A32.sum(0), (3, 1))},
    "a-winner-is-marked-in-the-shape-of-the-operand": {"y": [5, 2, 9], "x.grad": [0, 10, 10, 10, 30, 0]},
    "the-tropical-product-and-its-ties": {"y": TROPICAL[0], "a.grad": TROPICAL[1], "b.grad": TROPICAL[2]},
    # 004
    "a-shape-is-its-output-alone": {"y": [1, 2]},
    "a-shape-of-batch-and-output": {"y": [1, 2]},
    "a-shape-of-input-and-output": {"y": [1, 2]},
    "a-shape-of-all-three-rows": {"y": ALL},
    "axes-are-letters-or-names": {"letters": A23.T, "commas": A23.T, "blanks": A23.T},
    "memory-holds-batch-then-output-then-input": {"y": np.arange(12)},
    "a-tensor-without-axes-has-one-element": {"y": [66]},
    "a-basis-says-what-an-axis-means": {"brighter": A23 + 1, "turned": A23.T, "grey": [6, 15]},
    "one-basis-may-have-two-sizes-on-axes-that-never-meet": {"three": [1, 2, 3], "four": [1, 2, 3, 4]},
    "a-window-stays-inside-its-input": {"y": windows(LINE10, [1, 10, 100])},
    "windows-may-stand-apart": {"y": windows(LINE10, [1, 10, 100], 7)},
    "a-window-may-be-dilated": {"y": windows(LINE10, [1, 10, 100], 1, 2)},
    "a-padded-window-keeps-the-size": {
        "three": windows(LINE10, [1, 10, 100], padded=True), "even": windows(LINE10, [1, 10], padded=True),
        "wide": windows(LINE10, [1, 10, 100], 1, 2, padded=True)},
    "a-padded-window-with-a-stride-divides-the-size": {"y": windows(LINE10, [1, 10, 100], 2, padded=True)},
    "a-stride-without-a-kernel": {"even": LINE10[::2], "odd": LINE10[1::2]},
    "a-sum-matches-batch-input-and-output": {"y": A23 + np.array([[10, 20], [30, 40]])[:, :, None]},
    "a-function-of-each-element-keeps-the-shape": {"y": np.maximum([1, -2, 3, -4, 5, -6], 0)},
    "a-permutation-is-a-spec-of-one-operand": {"y": iota(2, 4, 3).transpose(2, 0, 1)},
    "transposing-exchanges-inputs-and-outputs": {"y": A23.T},
    "a-choice-is-pointwise-in-three-operands": {"y": A23 * [1, 0, 1]},
    "a-product-with-a-sum-is-pointwise-in-three-operands": {"y": A23 * [10, 100, 1000] + 0.5},
    "a-product-with-a-sum-may-compose": {"y": A22 @ SWAP + 2 * SWAP},
    "data-give-a-leaf-its-shape": {"y": A23 @ [1, 10, 100]},
    "what-is-filled-in-tells-no-shape": {"y": iota(2, 3) * A23},
    "an-unknown-row-may-have-more-axes-than-what-it-meets": {"y": [[11, 12, 13], [22, 24, 26]], "w": [10] * 6},
    "a-total-divides-into-the-axis-that-is-missing": {"y": np.arange(12).reshape(3, 2, 2).transpose(1, 0, 2)},
    "a-total-fills-an-open-row-with-one-axis": {"y": np.arange(12)},
    "a-total-that-is-reached-adds-no-axis": {"y": np.arange(12)},
    "a-total-reaches-a-parameter-beside-it": {"y": 2 * np.arange(12).reshape(2, 6).sum(1)},
    "a-position-asks-for-enough-places": {"few": [7] * 4, "fourth": [7]},
    "a-use-tells-more-than-a-position": {"second": [7], "five": [35]},
    "a-label-may-stand-in-all-places": {"y": A22 ** 2},
    "a-label-may-stand-in-one-operand-alone": {"y": A22.sum(1) * 110},
    "a-label-may-stand-in-the-result-alone": {"y": [10, 100] * 3},
    "a-strided-dilated-window": {
        "y": windows(np.arange(1, 10), [1, 10, 100], 2, 2), "same": windows(np.arange(1, 10), [1, 10, 100], padded=True),
        "signal.grad": [1, 0, 11, 0, 111, 0, 110, 0, 100], "kernel.grad": [1 + 3 + 5, 3 + 5 + 7, 5 + 7 + 9]},
    "interleaving-writes-every-second-place": {"even": [1, 0, 2, 0, 3, 0], "odd": [0, 4, 0, 5, 0, 6], "both": [1, 4, 2, 5, 3, 6]},
    "two-kernels-pad-one-tensor": {
        "three": windows(range(1, 5), [1] * 3, padded=True), "five": windows(range(1, 5), [1] * 5, padded=True),
        "line.grad": np.add([2, 3, 3, 2], [3, 4, 4, 3])},
    "a-batch-slice-takes-the-first-batch-axis-off": {"known": [9, 10, 11, 12], "lines": [5, 6, 7, 8, 5, 6]},
    "an-input-row-equal-to-the-output-row": {"y": A23},
    "a-new-axis-at-position-zero-claims-nothing": {
        "column": [1, 2, 3], "wide": np.add([[10, 20], [30, 40], [50, 60]], [[1], [2], [3]]), "back": [1, 2, 3]},
    "axes-between-a-leading-and-a-trailing-one": {"both": [11, 22]},
}
