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
LINE10 = np.arange(10)


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


FRAMED = np.array([[-1] * 5, [0, 1, 2, 3, 0], [0, 4, 5, 6, 0], [1] * 5])
TROPICAL = tropical(np.array([[1, 5], [2, 2]]), np.array([[4, 0], [4, 3]]))
PAIRS = np.add.outer([100, 200], [10, 20])[None, :, :, None] + iota(2, 2, 2, 3)
EDGES = e("if,jf->ijf", A32, AB)
ALL = np.array([[[100 * b + 10 * o + i for i in range(3)] for o in range(2)] for b in range(2)])
PLANE = np.add.outer(np.arange(3) ** 2, np.arange(4) ** 2)

NUMBERS = {
    # 000
    "a-number-fits-any-shape": {"vector": [1, 2, 3], "matrix": [1, 2, 3, 4], "batch": [1, 2]},
    "a-unit-that-claims-nothing-stretches": {"free": [6, 7, 8], "written": [7], "named": [9]},
    "a-written-unit-decides-an-unknown-size": {"y": [6, 6]},
    "a-leaf-used-at-two-sizes-claims-neither": {"three": 11 + np.arange(3), "five": 11 + np.arange(5), "seven": 11 + np.arange(7)},
    "a-rate-used-at-many-ranks-is-one-number": {"a": [1, 2, 3], "b": [1, 2, 3, 4], "c": [1, 2, 3]},
    "rank-grows-at-the-marker": {"large": SMALL34[:, None] + iota(3, 5, 4), "tinted": SMALL34[:, None] + np.full((3, 2, 4), 0.5),
                                 "deep": SMALL34[:, None, None] + np.full((3, 2, 1, 4), 0.5)},
    "flanks-are-not-compared-with-flanks": {"both": 11 * A23},
    "an-empty-row-is-not-a-row-of-one": {"trace": [5], "vector": [15, 25], "number": [6], "both": [10]},
    "what-fills-an-ellipsis-goes-between-its-flanks": {
        "framed": 100 * A23, "sum": 100 * A23[None, :, None, :, None] + iota(2, 2, 2, 3, 2)},
    "one-operator-at-any-rank": {"vector": [-1, 0, 1], "matrix": [-1, 0, 1, -10, 0, 10], "batch": [-1, -1, 1, 1, -1, -1.5, 1, 1.5]},
    "a-parameter-takes-its-shape-from-its-use": {
        "error": np.array([[6], [1], [1], [6]]) + 1 - np.array([[7, 6], [2, 2], [2, 3], [7, 7]])},
    "the-interior-of-a-larger-row-goes-to-the-variable": {"y": np.full(36, 101)},
    "an-open-row-grows-to-meet-its-operand": {"y": [21, 21]},
    "leaves-close-down-and-interiors-up": {"y": [6], "z": [2, 3, 4], "alone": [2], "grown": np.ones(6), "six": A23 + 1},
    "one-batch-axis-is-named-and-all-else-is-left-open": {"rows": [4, 6], "groups": [3, 7], "matrices": [11, 22, 33, 44]},
    "composition-contracts-inputs-with-outputs": {
        "fg": A23 @ B32, "one": A23 @ B32 @ [1, 10], "many": np.array([[1, 10], [0, 1]]) @ (A23 @ B32).T},
    "a-captured-size-scales-a-product": {"scored.1.1": [15, 50], "scored.1.3": [2]},
    "parameters-are-made-once-at-the-unit": {"shared": [9], "apart": [9], "one": [3], "two": [1], "three": [2]},
    # 001
    "sizes-that-are-known-broadcast": {
        "one": [10], "exact": [11, 22], "stretched": [6, 7, 8, 9], "same": [11, 12, 13, 14],
        "grown": 1000 * np.arange(1, 5) + iota(2, 3, 4), "mixed": [7, 0],
        "several": [1, 2] + 10 * np.arange(1, 4)[:, None] + 1000 * np.arange(2)[:, None, None]},
    "results-are-annotated-and-compared": {"known": [1, 2, 3, 4], "unranked": [1, 2], "given": [3, 3]},
    "sizes-of-files-that-agree": {"both": 2 * np.arange(5), "stretched": 10 + np.arange(5)},
    # 002
    "a-matrix-product-in-both-notations": {"table": A23 @ B32, "spelt": A23 @ B32, "wordless": A23 @ B32},
    "an-outer-product-is-two-claims": {"table": outer([1, 2, 3], [10, 20])},
    "a-column-meets-a-row": {"table": np.add.outer([1, 2, 3], [10, 20])},
    "padding-is-a-concatenation-on-two-axes": {"framed": np.pad(A23, 1), "by_sum": np.pad(A23, 1), "inside": A23, "x.grad": 2 * A23},
    "nine-regions-of-a-padded-matrix-by-name": {
        "framed": FRAMED, "inside": A23, "corner": [-1], "lower": [1] * 5, "x.grad": 2 * A23, "above.grad": [0] * 3},
    "blocks-of-a-matrix": {
        "corners": [1, 2, 5, 3, 4, 6, 7, 8, 9], "diagonal": [1, 2, 0, 3, 4, 0, 0, 0, 9], "spread": np.diag([1, 2, 3])},
    "every-node-meets-every-node-of-a-graph": {"messages": EDGES, "scores": EDGES.sum(2)},
    "one-graph-or-a-batch-of-graphs": {
        "one": EDGES, "many": e("gif,gjf->gijf", np.arange(1, 9).reshape(2, 2, 2), np.array([[[1, 10]], [[2, 20]]]))},
    "pairs-are-added-to-features-of-a-batch": {"spelt": PAIRS, "placed": PAIRS},
    "a-graph-is-merged-and-split": {"merged": [1, 2, 3, 4, 5], "first": [1, 2], "second": [3, 4, 5], "a.grad": [1, 2], "b.grad": [3, 4, 5]},
    "front-centre-and-back-come-together-and-apart": {
        "all": [1, 2, 3, 4, 5, 6], "middle": [2, 3, 4], "taken": [2, 3, 4], "outer": [1, 5, 6], "turned": [5, 6, 2, 3, 4, 1]},
    "an-empty-part-changes-nothing": {"all": [1, 2, 3], "nothing_else": [1, 2, 3], "one": [1], "times": [1, 2, 3]},
    "a-stencil-is-a-window": {
        "inside": windows(np.arange(5) ** 2, [1, -2, 1]), "padded": windows(np.arange(5) ** 2, [1, -2, 1], padded=True),
        "laplacian": PLANE[:-2, 1:-1] + PLANE[2:, 1:-1] + PLANE[1:-1, :-2] + PLANE[1:-1, 2:] - 4 * PLANE[1:-1, 1:-1]},
    "a-window-finds-whichever-size-is-missing": {"output": [6, 12, 18], "from_input": [3, 3, 3], "by_kernel": [6, 12, 18]},
    "an-element-count-is-solved-both-ways": {"bytes": np.array([1, 256, 65536], dtype="<u4").view(np.uint8), "same": [1]},
    "one-operator-at-several-shapes-has-one-scheme": {"vector": [43], "batch": [321, 654]},
    "a-size-of-the-run-that-must-be-a-multiple": {"sums": [1, 5]},
    # 003
    "a-contraction-and-its-gradients-share-one-record": {
        "c": A23 @ A32, "a.grad": np.ones((2, 2)) @ A32.T, "b.grad": A23.T @ np.ones((2, 2))},
    "a-scalar-is-severed-from-the-loops": {"r": 2 * A23, "s.grad": [21]},
    "a-vector-of-ones-sums-an-axis-and-is-never-stored": {"r": [6, 15], "composed": [6, 15]},
    "what-nothing-writes-is-neutral-after-a-colon": {
        "a": [1, 0, 2, 0, 3, 0], "b": [11, 10, 12, 10, 13, 10], "c": [-np.inf, 1, -np.inf, 2, -np.inf, 3]},
    "what-is-written-often-is-accumulated": {"total": [9, 30], "largest": [5, 20], "running": [18, 60], "same": [3, 4]},
    "an-axis-of-one-has-no-loop": {"y": A32 ** 2, "z": A32 @ A32.T},
    "an-axis-without-a-partner-is-visited": {"t": [7] * 6, "q": np.arange(6)},
    "sizes-that-agree-elsewhere-do-not-share-a-loop": {"dot": [32], "table": outer([1, 2, 3], [4, 5, 6]), "all": [6 * 15]},
    "a-tensor-that-is-read-twice-has-two-maps": {"table": A32 @ A32.T, "x.grad": 2 * np.tile(A32.sum(0), (3, 1))},
    "positions-that-come-from-outside-have-no-loop": {
        "third": [3, 6, 9, 12], "second": [4, 5, 6], "lines": [7, 8, 9, 10, 11, 12, *(np.arange(1, 13).reshape(4, 3) @ [1, 2, 3])]},
    "a-winner-is-marked-in-the-shape-of-the-operand": {"y": [5, 2, 9], "x.grad": [0, 10, 10, 10, 30, 0]},
    "the-tropical-product-and-its-ties": {"y": TROPICAL[0], "a.grad": TROPICAL[1], "b.grad": TROPICAL[2]},
    "assignments-say-how-their-axes-meet": {
        "added": A22 + 10, "scaled": [0, 2, 3, 0], "composed": A22 @ [[0, 1], [1, 0]], "turned": A22.T, "summed": [3, 7],
        "accumulated": A22 @ [[0, 1], [1, 0]] + np.multiply(2, [[0, 1], [1, 0]])},
    "a-step-of-gradient-descent-spelt-out": {
        "sgd_delta": [10, -10, 7.5, -7.5], "sgd_momentum": [10, -10, 16.5, -16.5], "p": [3, -3, 2.25, -2.25], "q": [3, -3, 2.25, -2.25]},
    "sum-diagonal-and-trace-are-one-operation": {"trace": [5], "diagonal": [1, 4], "rows": [3, 7], "turned": A22.T},
    # 004
    "shapes-in-every-notation": {
        "output": [1, 2], "batch": [1, 2], "matrix": [1, 2], "all": ALL, "letters": ALL, "names": ALL, "order": np.arange(12), "none": [ALL.sum()]},
    "a-basis-says-what-an-axis-means": {"brighter": A23 + 1, "turned": A23.T, "grey": [6, 15], "four": [1, 2, 3, 4]},
    "a-window-in-every-reading": {
        "inside": windows(LINE10, [1, 10, 100]), "apart": windows(LINE10, [1, 10, 100], 7), "dilated": windows(LINE10, [1, 10, 100], 1, 2),
        "padded": windows(LINE10, [1, 10, 100], padded=True), "halved": windows(LINE10, [1, 10, 100], 2, padded=True),
        "even": windows(LINE10, [1, 10], padded=True), "wide": windows(LINE10, [1, 10, 100], 1, 2, padded=True),
        "every_second": LINE10[::2], "others": LINE10[1::2]},
    "a-strided-dilated-window": {
        "y": windows(np.arange(1, 10), [1, 10, 100], 2, 2), "same": windows(np.arange(1, 10), [1, 10, 100], padded=True),
        "signal.grad": [1, 0, 11, 0, 111, 0, 110, 0, 100], "kernel.grad": [1 + 3 + 5, 3 + 5 + 7, 5 + 7 + 9]},
    "interleaving-writes-every-second-place": {"even": [1, 0, 2, 0, 3, 0], "odd": [0, 4, 0, 5, 0, 6], "both": [1, 4, 2, 5, 3, 6]},
    "two-kernels-pad-one-tensor": {
        "three": windows(range(1, 5), [1] * 3, padded=True), "five": windows(range(1, 5), [1] * 5, padded=True),
        "line.grad": np.add([2, 3, 3, 2], [3, 4, 4, 3])},
    "transposing-exchanges-inputs-and-outputs": {"turned": A23.T, "by_spec": A23.T},
    "a-batch-slice-takes-the-first-batch-axis-off": {"known": [9, 10, 11, 12], "lines": [5, 6, 7, 8, 5, 6]},
    "operations-of-three-operands": {
        "chosen": A23 * [1, 0, 1], "added": A23 * [10, 100, 1000] + 0.5, "composed": A22 @ [1, 10] + [0.5, 0.25]},
    "labels-need-not-stand-on-two-sides": {"everywhere": A22 ** 2, "alone": A22.sum(1) * 110, "new_axis": [10, 100] * 3},
    "an-input-row-equal-to-the-output-row": {"y": A23},
    "a-total-decides-what-is-left-open": {
        "square": np.arange(12), "line": np.arange(12), "thirds": np.arange(12).reshape(3, 2, 2).transpose(1, 0, 2),
        "weighted": 2 * np.arange(12).reshape(2, 6).sum(1)},
    "a-position-asks-for-enough-places": {"few": [7] * 4, "fourth": [7], "second": [7], "five": [35]},
    "a-new-axis-at-position-zero-claims-nothing": {
        "column": [1, 2, 3], "wide": np.add([[10, 20], [30, 40], [50, 60]], [[1], [2], [3]]), "back": [1, 2, 3]},
    "axes-between-a-leading-and-a-trailing-one": {"both": [11, 22]},
}
