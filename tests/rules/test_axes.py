"""The laws of axes: which dims may share a position, and the result (docs/semantics.md)."""

from __future__ import annotations

import pytest

from namecheck.core import names as naming
from namecheck.core.dims import Dim, Dims, merged, named_by
from namecheck.core.names import UNKNOWN, Answer, Axis
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.annotated import HEADS, D, S, T, annotated, at_size, names, run, told

ADD = "add"


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("b t d", "d", "b t d"),
        ("b t d", "t", "NC101"),
        ("b t d", "t ~1", "b t d"),
        ("n c", "n", "NC101"),
        ("n 1", "n", "NC102"),
        ("n 3", "n", "NC102"),
        ("n ~1", "n", "n n"),
        ("n ~1", "~1 n", "n n"),
        ("n 1", "1 n", "n n"),
        ("b 1 d", "b t d", "b t d"),
        ("b t 1", "b t d", "b t d"),
        ("b t 3", "b t 3", "b t _=3"),
        ("b t _", "b", "b t b"),
        ("t t", "t", "t t"),
        ("t t", "t 1", "t t"),
        ("b t? d", "b s d", "b s d"),
        ("b t? d", "b t d", "b t d"),
        ("heads*d", "d*heads", "NC101"),
        ("heads*d", "heads*d", "heads*d"),
    ],
)
def test_what_broadcasts(left: str, right: str, result: str) -> None:
    assert run(ADD, f":{left}", f":{right}") == result
    assert run(ADD, f":{right}", f":{left}") == result


def test_a_size_of_one_kept_by_a_reduction_is_there_on_purpose() -> None:
    kept = infer("mean", annotated("b t d"), -1, keepdim=True).result
    assert kept.dims.brief() == "b t _=1"
    assert told(infer("sub", annotated("b t d"), kept)) == "b t d"
    column = infer("mean", annotated("n d"), -1, keepdim=True).result
    assert told(infer("sub", annotated("n"), column)) == "n n"


def test_a_size_of_one_put_in_is_there_on_purpose() -> None:
    column = infer("unsqueeze", annotated("n"), 1).result
    row = infer("unsqueeze", annotated("n"), 0).result
    assert told(infer("sub", column, row)) == "n n"
    assert told(infer("sub", column, annotated("n"))) == "n n"


def test_a_column_cut_out_is_no_purpose() -> None:
    first = infer("__getitem__", annotated("n d"), (slice(None), slice(0, 1))).result
    assert first.dims.sizes[1] == 1
    assert told(infer("sub", first, annotated("n"))) == "NC102"


def test_occurrences_are_told_apart() -> None:
    square = annotated("n n")
    assert square.names == (Axis("n", 1), Axis("n", 2))
    assert names(infer("sum", square, 0)) == (Axis("n", 2),)
    assert names(infer("mT", square)) == (Axis("n", 2), Axis("n", 1))
    scores = infer("matmul", annotated("b t d"), infer("mT", annotated("b t d")).result)
    assert names(scores) == (Axis("b"), Axis("t", 1), Axis("t", 2))


def test_occurrences_join_and_cover() -> None:
    first, second, lone = Axis("n", 1), Axis("n", 2), Axis("n")
    some = naming.join(first, second)
    assert some == Axis("n", naming.SOME)
    assert naming.covers(some, first)
    assert naming.covers(lone, first)
    assert not naming.covers(first, some)
    assert naming.with_occurrences([lone, "n", lone]) == (first, "n", second)
    assert naming.with_occurrences([second, first]) == (second, first)
    assert naming.with_occurrences([some, lone]) == (some, lone)
    assert naming.unify(UNKNOWN, first) == some


def test_factors_in_any_order_match_those_in_some() -> None:
    made, ordered = named_by(HEADS * D), Axis("heads*d")
    assert made == Axis("d*heads", ordered=False)
    assert naming.match(made, ordered) is Answer.YES
    assert naming.unify(made, ordered) == ordered
    assert naming.covers(naming.join(ordered, Axis("d*heads")), ordered)
    assert naming.covers(made, ordered)


def test_a_label_and_an_axis_are_compared_as_strings() -> None:
    labelled = Tensor(Dims.of("b", "t"))
    assert told(infer(ADD, annotated("b t"), labelled)) == "b t"
    assert told(infer(ADD, annotated("b s"), labelled)) == "NC101"


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("matmul", "b t d", "d h", "b t h"),
        ("matmul", "b t d", "h d", "NC101"),
        ("matmul", "b t d", "3 h", "b t h"),
        ("matmul", "b t d", "b s d", "NC101"),
        ("matmul", "b t d", "b d s", "b t s"),
        ("matmul", "b t d", "c d s", "NC101"),
        ("matmul", "b t d", "1 d s", "b t s"),
        ("matmul", "b t d", "d", "b t"),
        ("mm", "n d", "d n", "n n"),
        ("bmm", "b t d", "b d t", "b t t"),
        ("mv", "n d", "n", "NC101"),
        ("dot", "n", "m", "NC101"),
        ("outer", "n", "n", "n n"),
        ("nn.functional.linear", "b t d", "h d", "b t h"),
        ("nn.functional.linear", "b t d", "d h", "NC101"),
        ("inner", "n d", "m d", "n m"),
        ("tensordot", "n d", "n d", "NC101"),
    ],
)
def test_contractions(operator: str, left: str, right: str, result: str) -> None:
    more = (1,) if operator == "tensordot" else ()
    assert run(operator, f":{left}", f":{right}", *more) == result


@pytest.mark.parametrize(
    ("left", "right", "dim", "result"),
    [
        ("b t d", "b s d", 1, "b s+t d"),
        ("b t d", "b s d", -1, "NC101"),
        ("b t d", "b t d", 1, "b 2*t d"),
        ("b t d", "b 1 d", 1, "b t+1 d"),
        ("b t 1", "b t 3", 2, "b t _=4"),
        ("b t d", "b t? d", 1, "b t d"),
    ],
)
def test_cat_adds_up(left: str, right: str, dim: int, result: str) -> None:
    assert told(infer("cat", [annotated(left), annotated(right)], dim)) == result


def test_stacked_tensors_agree() -> None:
    assert told(infer("stack", [annotated("n d"), annotated("n d")])) == "_=2 n d"
    assert told(infer("stack", [annotated("n d"), annotated("n k")])) == "NC101"


@pytest.mark.parametrize(
    ("index", "result"),
    [
        (slice(1, None), "t-1 d"),
        (slice(None, -1), "t-1 d"),
        (slice(None, 3), "t=3 d"),
        (slice(None, None, 2), "(t+1)//2 d"),
        (slice(None, S), "s d"),
        (slice(None, UNKNOWN), "t d"),
        (slice(T - S, None), "s d"),
        (slice(-S, None), "s d"),
        (slice(S, None), "t-s d"),
        (0, "d"),
        (None, "_=1 t d"),
    ],
)
def test_slices(index: object, result: str) -> None:
    assert told(infer("__getitem__", annotated("t d"), index)) == result


def test_two_sizes_of_one_axis_do_not_broadcast() -> None:
    x = annotated("t d")
    later = infer("__getitem__", x, slice(1, None)).result
    earlier = infer("__getitem__", x, slice(None, -1)).result
    assert told(infer("sub", later, earlier)) == "t-1 d"
    assert told(infer("sub", later, x)) == "NC201"


def test_a_table_cut_to_the_length_of_another_axis_goes_with_it() -> None:
    table = infer("__getitem__", annotated("longest d"), slice(None, T)).result
    assert told(infer(ADD, annotated("b t d"), table)) == "b t d"


@pytest.mark.parametrize(
    ("operator", "args", "result"),
    [
        ("expand", (":b ~1 d", -1, T, -1), "b t d"),
        ("expand", (":t d", HEADS, -1, -1), "heads t d"),
        ("expand", (":t d", S, -1), "NC101"),
        ("expand", (":t d", -1, 3), "t d"),
        ("expand_as", (":b ~1 d", ":b t d"), "b t d"),
        ("expand_as", (":b t", ":b s"), "NC101"),
        ("repeat", (":t d", 2, 1), "2*t d"),
        ("repeat", (":t d", HEADS, 1, 1), "heads t d"),
        ("repeat", (":~1 d", T, 1), "t d"),
        ("repeat", (":t d", HEADS, 1), "heads*t d"),
        ("repeat_interleave", (":t d", HEADS, 0), "t*heads d"),
        ("chunk", (":b d", 2, -1), "b d//2 | b d//2"),
        ("split", (":b d", [S, D - S], -1), "b s | b d-s"),
        ("split", (":b d", [2, D], -1), "NC201"),
        ("narrow", (":b t", 1, 0, S), "b s"),
        ("diagonal", (":n n",), "n"),
        ("topk", (":b v", 5), "b v=5 | b v=5"),
        ("diff", (":b t",), "b t-1"),
        ("kron", (":m n", ":p q"), "m*p n*q"),
        ("flatten", (":b h w", 1), "b h*w"),
        ("flatten", (":b h 3 w", 1), "b 3*h*w"),
        ("zeros", (T, D), "t d"),
        ("zeros", (T, T), "t t"),
        ("ones", (2 * D,), "2*d"),
        ("arange", (T,), "t"),
        ("arange", (0, D, 2), "(d+1)//2"),
        ("eye", (T,), "t t"),
    ],
)
def test_what_becomes_of_axes(operator: str, args: tuple[object, ...], result: str) -> None:
    assert run(operator, *args) == result


def test_sizes_are_asked_for() -> None:
    x = annotated("b t 3")
    assert infer("shape", x).result[1:] == (T, 3)
    assert infer("size", x, 1).result == T
    assert infer("numel", annotated("t d")).result == T * D


def test_labels_and_axes_have_names_of_their_own() -> None:
    assert infer("has_names", annotated("b t")).result is UNKNOWN
    assert infer("names", annotated("b 3")).result == (UNKNOWN, None)


def test_merged_dims_tell_their_factors() -> None:
    h, w = Dim(Axis("h"), HEADS), Dim(Axis("w"), D)
    assert merged([h, w]).name == Axis("h*w")
    assert merged([h, Dim(None, 1)]) == h
    assert merged([h, Dim("W", 2)]).name is None
    assert merged([h, Dim()]).name is UNKNOWN
    assert merged([at_size("t", T - 1), w]) == Dim(Axis("t*w"), T * D - D)


def test_one_of_two_dims_of_an_axis_is_not_the_first_behind_an_unknown_one() -> None:
    first, second = Axis("n", 1), Axis("n", 2)
    settled = Tensor(Dims.of(first, second, "C"))
    assert infer("sum", settled, "n").result.dims.names == (second, "C")
    hidden = Tensor(Dims.of(UNKNOWN, second, "C"))
    assert infer("sum", hidden, "n").result.dims.names == (UNKNOWN, UNKNOWN)
    only = Tensor(Dims.of(UNKNOWN, Axis("n"), "C"))
    assert infer("sum", only, "n").result.dims.names == (UNKNOWN, "C")
