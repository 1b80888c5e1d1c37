"""The annotation language: its syntax, its bindings, and its messages for contradictions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namecheck.annotations import AnnotationError, Bindings, bind, parse, settle
from namecheck.annotations.bindings import bind_number
from namecheck.annotations.declarations import (
    ANYTHING,
    DTYPES,
    NO_TENSOR,
    NOTHING,
    Declaration,
    Every,
    Items,
    OneOf,
    meet,
    read,
)
from namecheck.annotations.patterns import Pattern
from namecheck.core.dims import OPEN, Dim, Dims, Size, axis, merged
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown, scoped
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Tensor

RECORDED: Final = Path(__file__).parents[2] / "fixtures" / "annotations" / "jaxtyping.jsonl"

Given = tuple[str, Dims]


def dims(*sizes: Size, names: tuple[Name, ...] = ()) -> Dims:
    """The dims of a shape, with these names or without any."""
    return Dims.of(*(names or (None,) * len(sizes)), sizes=sizes)


def labelled(names: str, *sizes: Size) -> Dims:
    """Named dims: ``labelled("N C", 2, 3)``, where ``_`` has no name and ``?`` an unknown one."""
    special: dict[str, Name] = {"_": None, "?": UNKNOWN}
    read = tuple(special.get(name, name) for name in names.split())
    return Dims.of(*read, sizes=sizes or (UNKNOWN,) * len(read))


def called(*arguments: Given, result: Given | None = None) -> Bindings:
    """The bindings after a call of ``f`` with arguments ``a``, ``b``, …; raises Contradiction."""
    bindings = Bindings("f")
    for name, (pattern, passed) in zip("abcdef", arguments, strict=False):
        bindings = bind(parse(pattern), passed, bindings, name)
    bindings = settle(bindings)
    if result is not None:
        pattern, passed = result
        bindings = settle(bind(parse(pattern), passed, bindings, "result", returned=True))
    return bindings


def refused(*arguments: Given, result: Given | None = None) -> Contradiction:
    """The contradiction in a call."""
    with pytest.raises(Contradiction) as raised:
        called(*arguments, result=result)
    return raised.value


# Syntax.


@pytest.mark.parametrize(
    "text",
    [
        *("", "N", "N C H W", "3", "N=4", "_", "#N", "#3", "...", "*batch", "*#batch d", "a ... b"),
        *("2*d", "h*w", "d+1", "t+s", "d//2", "-1+d", "N=h*w", "#2*d", "2**n", "b *spatial C=3 _"),
    ],
)
def test_what_is_written_is_read_and_written_alike(text: str) -> None:
    assert parse(text).text == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [("#*batch", "*#batch"), ("  N   C ", "N C"), ("_batch", "_"), ("*_batch", "..."), ("?N", "_")],
)
def test_other_spellings_of_one_pattern(text: str, plain: str) -> None:
    assert parse(text) == parse(plain)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("N,C", "'N,C' in \"N,C\": dimensions are separated by spaces, not by commas"),
        ("t + s", "'+' in \"t + s\": no name, number or expression"),
        ("N C=", "'C=' in \"N C=\": no name, number or expression"),
        ("1x", "'1x' in \"1x\": no name, number or expression"),
        ("=4", "'=4' in \"=4\": '' is no name"),
        ("#", "'#' in \"#\": a name has to follow '#'"),
        ("**a", "'**a' in \"**a\": a mark is repeated"),
        ("*4", "'*4' in \"*4\": several dimensions have no common size"),
        ("*a b ...", "'*a' and '...' in \"*a b ...\": only one item can stand for several"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, told: str) -> None:
    with pytest.raises(AnnotationError) as raised:
        parse(text)
    assert str(raised.value).startswith(told)


def test_a_pattern_as_what_is_known_of_a_tensor() -> None:
    assert parse("t t C=3 4 _ h*w #n").dims() == Dims(
        (
            Dim(Axis("t", 1), symbol("t")),
            Dim(Axis("t", 2), symbol("t")),
            Dim(Axis("C", size=3), 3),
            Dim(None, 4),
            Dim(UNKNOWN),
            Dim(Axis("h*w"), symbol("h") * symbol("w")),
            Dim(UNKNOWN),
        )
    )
    assert parse("n ... c").dims() == Dims((axis("n"),), (axis("c"),), True)
    assert parse("w*h t-1 2*d t+s k//2").dims() == Dims(
        (
            Dim(Axis("w*h"), symbol("h") * symbol("w")),
            Dim(Axis("t"), symbol("t") - 1),
            Dim(Axis("d"), 2 * symbol("d")),
            Dim(Axis("s+t"), symbol("s") + symbol("t")),
            Dim(Axis("k"), symbol("k") // 2),
        )
    )
    assert parse("").dims() == Dims()


@pytest.mark.parametrize(
    "text", ["", "N C", "N C=3 _", "4 N", "N ... C", "...", "h*w d", "t-1 N=2"]
)
def test_what_is_known_of_a_tensor_as_a_pattern(text: str) -> None:
    assert Pattern.of(parse(text).dims()).text == text


# Bindings.


def test_axes_bind_to_sizes_over_all_arguments_and_the_result() -> None:
    feats = ("batch feat", dims(3, 5))
    found = called(feats, ("feat hidden", dims(5, 7)), result=("batch hidden", dims(3, 7)))
    assert found.sizes == {"batch": 3, "feat": 5, "hidden": 7}
    assert found.answer is Answer.YES


def test_names_need_not_agree() -> None:
    found = called(("N C", labelled("batch chan", 2, 3)), ("N", labelled("batch", 2)))
    assert found.axes["N"].name == "batch"


def test_one_name_may_stand_for_several_axes() -> None:
    """Self-attention by a function for two sequences."""
    same = labelled("b t d", 2, 5, 3)
    called(("b q d", same), ("b k d", same))
    called(("b t d", same), ("b s d", same))


def test_an_unnamed_dim_agrees_with_every_name() -> None:
    called(("N C", labelled("batch _", 2, 3)), ("N C", labelled("_ chan", 2, 3)))


def test_the_result_may_have_the_names_of_the_annotation() -> None:
    argument = ("N C", labelled("batch chan", 2, 3))
    called(argument, result=("N C", labelled("N C", 2, 3)))
    called(argument, result=("N C", labelled("batch C", 2, 3)))


def test_an_axis_twice_in_one_tensor_compares_sizes_only() -> None:
    """Labels cannot repeat in a tensor, so scores always have the names ('q', 'k')."""
    called(("b t t", labelled("b q k", 2, 5, 5)), ("b t", labelled("b t", 2, 5)))
    assert refused(("t t", dims(3, 4))).message == (
        "f(): axis 't' has size 4 at dimension 1 of argument 'a', but 3 at dimension 0\n"
        'a: "t t" got (3, 4)'
    )


def test_axes_of_the_caller_are_compared_too() -> None:
    """As in the linter: the caller's dims are axes of its own annotations."""
    called(("time d", dims(UNKNOWN, UNKNOWN, names=(Axis("seq"), Axis("dim")))))
    called(("a b", dims(UNKNOWN, UNKNOWN, names=(Axis("b"), Axis("a")))))
    square = dims(UNKNOWN, UNKNOWN, names=(Axis("t"), Axis("t", 1)))
    called(("t t", square))
    mixed = Dims((axis("q"), axis("k")))
    assert refused(("t t", mixed)).code == "NC112"
    called(("t t", mixed.sizeless()))  # parts of two axes may have the same size


def test_a_computed_axis_is_that_of_its_factors() -> None:
    heads = merged([axis("h"), axis("d")])
    assert called(("heads*dim", Dims((heads,)))).axes["dim"].name == Axis("d")
    called(("heads dim", Dims((axis("h"), axis("d")))), result=("heads*dim", Dims((heads,))))
    turned = merged([axis("d"), axis("h")])
    wrong = refused(
        ("heads dim", Dims((axis("h"), axis("d")))), result=("heads*dim", Dims((turned,)))
    )
    assert wrong.message.splitlines()[0] == (
        "f(): dimension 0 of the result is 'd*h', but 'heads*dim (h*d)' is declared"
    )


def test_a_computed_size_is_held_against_symbols() -> None:
    seq = axis("seq")
    shorter = replace(seq, size=symbol("seq") - 1)
    called(("seq", Dims((seq,))), result=("seq-1", Dims((shorter,))))
    wrong = refused(("seq", Dims((seq,))), result=("seq-1", Dims((seq,))))
    assert wrong.message.splitlines()[0] == (
        "f(): dimension 0 of the result has size seq, but 'seq-1' is declared"
    )


def test_a_number_is_the_size_of_an_axis() -> None:
    bindings = bind_number(Bindings("f"), "d", 4, "d")
    with pytest.raises(Contradiction, match="axis 'd' has size 3 in argument 'x', but 4 in arg"):
        bind(parse("n d"), dims(2, 3), bindings, "x")
    bindings = bind_number(Bindings("f"), "d", symbol("k"), "d")
    with pytest.raises(Contradiction, match="axis 'd' is dimension 'n' in argument 'x', but 'k'"):
        bind(parse("d"), Dims((axis("n"),)), bindings, "x")


def test_a_lost_dimension_is_told_in_a_result() -> None:
    kept = Dims((axis("n"), Dim(None, 1, purposeful=True)))
    given = ("n c", Dims((axis("n"), axis("c"))))
    wrong = refused(given, result=("n c", kept))
    assert wrong.message.splitlines()[0] == (
        "f(): dimension 1 of the result has size 1, but 'c' is declared"
    )
    called(given, result=("n #c", kept))
    called(given, result=("n 1", kept))


def test_what_a_caller_gets_is_called_as_it_calls_it() -> None:
    bindings = called(("batch dim", Dims((axis("n"), Dim(None, 5)))))
    assert bindings.dims_of(parse("dim batch 3"), 7) == Dims(
        (Dim(Axis(scoped("dim", 7)), 5), axis("n"), Dim(None, 3))
    )
    assert replace(bindings, for_result=True).dims_of(parse("dim"), 7) == Dims((Dim(None, 5),))
    assert bindings.dims_of(parse("new"), 7) == Dims((axis(scoped("new", 7)),))
    assert bindings.dims_of(parse("new")) == Dims((axis("new"),))


def test_broadcast_dims_may_be_one() -> None:
    called(("N", dims(3)), ("#N", dims(1)), ("#N", dims(3)))
    assert called(("#N", dims(1)), ("N", dims(3))).sizes == {"N": 3}
    assert refused(("N", dims(3)), ("#N", dims(2))).code == "NC210"
    called(("#4", dims(1)))
    assert refused(("#4", dims(2))).code == "NC210"


def test_several_dims_bind_as_one() -> None:
    called(("*batch d", dims(2, 3, 5)), ("*batch", dims(2, 3)), result=("d *batch", dims(5, 2, 3)))
    assert refused(("*batch d", dims(2, 3, 5)), ("*batch", dims(2, 4))).message == (
        "f(): '*batch' is (2, 4) in argument 'b', but (2, 3) in argument 'a'\n"
        'a: "*batch d" got (2, 3, 5)\n'
        'b: "*batch"   got (2, 4)'
    )
    named = ("*batch d", labelled("n m d", 2, 2, 5))
    assert refused(named, ("*batch", labelled("m n", 2, 2))).code == "NC112"


def test_several_dims_that_broadcast() -> None:
    one, other = ("*#batch t", dims(3, 1, 7)), ("*#batch s", dims(1, 5, 7))
    called(one, other, result=("*batch", dims(3, 5)))
    called(("*#batch", dims(5)), ("*#batch", dims(3, 5)), result=("*batch", dims(3, 5)))
    assert refused(one, other, result=("*batch", dims(3, 4))).code == "NC210"
    assert refused(("*batch", dims(5)), ("*#batch", dims(3, 5))).code == "NC210"


def test_sizes_are_computed() -> None:
    joined = [("batch t d", dims(3, 5, 7)), ("batch s d", dims(3, 6, 7))]
    called(*joined, result=("batch t+s d", dims(3, 11, 7)))
    wrong = refused(*joined, result=("batch t+s d", dims(3, 12, 7)))
    assert wrong.message == (
        "f(): dimension 1 of the result has size 12, but t+s is 11\n"
        '     b: "batch s d"   got (3, 6, 7)\n'
        '     a: "batch t d"   got (3, 5, 7)\n'
        'result: "batch t+s d" got (3, 12, 7)'
    )
    assert wrong.help == "'s' is 6 in argument 'b'; 't' is 5 in argument 'a'."


def test_an_expression_may_stand_before_its_axes() -> None:
    called(("h*w", dims(6)), ("h", dims(2)), ("w", dims(3)))
    assert refused(("h*w", dims(6)), ("h", dims(2)), ("w", dims(2))).code == "NC210"


def test_an_expression_with_one_open_axis_binds_it() -> None:
    gated = ("b 2*d", dims(3, 10))
    assert called(gated).sizes == {"b": 3, "d": 5}
    assert refused(gated, result=("b d", dims(3, 4))).code == "NC210"
    assert refused(("b 2*d", dims(3, 9))).message == (
        "f(): dimension 1 of argument 'a' has size 9, which is 2*d for no size of 'd'\n"
        'a: "b 2*d" got (3, 9)'
    )
    assert refused(("n+4", dims(3))).code == "NC210"


def test_an_expression_that_cannot_be_computed_says_nothing() -> None:
    for text in ("h*w", "d//2", "n%0", "min(a,b)", "{size}", "2**-n", "n*n"):
        assert called((text, dims(7))).answer is Answer.MAYBE
    assert called(("n", dims(0)), ("6//n", dims(3))).answer is Answer.MAYBE


# Contradictions, and their messages.


def test_a_name_that_stands_elsewhere_in_the_annotation() -> None:
    wrong = refused(("C N", labelled("N C", 2, 3)))
    assert wrong.code == "NC112"
    assert wrong.message == (
        "f(): dimension 0 of argument 'a' is called 'N', but 'N' is declared at dimension 1\n"
        'a: "C N" got (N=2, C=3)'
    )
    assert wrong.help == "Bring it into the declared order: a.align_to('C', 'N')."
    assert refused(("C h w", labelled("N H C", 2, 3, 4))).help == (
        "Transpose it, or give the annotation the order of the tensor."
    )
    assert refused(("*batch c", labelled("c h w", 2, 3, 4))).code == "NC112"
    assert refused(("_ N", labelled("N C", 2, 3))).code == "NC112"


def test_a_name_that_stands_elsewhere_in_the_result() -> None:
    argument = ("N C", dims(2, 3))
    wrong = refused(argument, result=("N C", labelled("C N", 2, 3)))
    assert wrong.help == "Bring it into the declared order with align_to('N', 'C')."


def test_an_axis_that_is_two_names() -> None:
    wrong = refused(("N C", labelled("batch chan", 2, 3)), ("N", labelled("seq", 2)))
    assert wrong.message == (
        "f(): axis 'N' is dimension 'seq' in argument 'b', but 'batch' in argument 'a'\n"
        'a: "N C" got (batch=2, chan=3)\n'
        'b: "N"   got (seq=2,)'
    )
    assert wrong.names == ("seq", "batch")
    assert wrong.help == (
        "One axis is one dimension: pass 'batch' at both places, or declare two axes."
    )
    swapped = refused(
        ("N C", labelled("batch chan", 2, 2)), result=("N C", labelled("chan batch", 2, 2))
    )
    assert swapped.code == "NC112"


def test_an_axis_that_is_two_sizes() -> None:
    wrong = refused(("batch feat", dims(3, 5)), ("feat hidden", dims(6, 7)))
    assert wrong.code == "NC210"
    assert wrong.message == (
        "f(): axis 'feat' has size 6 in argument 'b', but 5 in argument 'a'\n"
        'a: "batch feat"  got (3, 5)\n'
        'b: "feat hidden" got (6, 7)'
    )


def test_names_come_before_sizes() -> None:
    assert refused(("C N", labelled("N C", 2, 3)), ("C", dims(5))).code == "NC112"


def test_a_size_that_is_written() -> None:
    assert refused(("N C=3", dims(2, 1))).message == (
        "f(): dimension 1 of argument 'a' has size 1, but 3 is declared\na: \"N C=3\" got (2, 1)"
    )
    assert refused(("C=3", dims(3)), ("C", dims(4))).code == "NC210"


@pytest.mark.parametrize(
    ("pattern", "shape", "told"),
    [
        ("N C", (2, 3, 4), "argument 'a' has 3 dimensions, but 2 are declared"),
        ("N", (), "argument 'a' has 0 dimensions, but 1 is declared"),
        ("", (2,), "argument 'a' has 1 dimension, but 0 are declared"),
        ("N ... C", (2,), "argument 'a' has 1 dimension, but at least 2 are declared"),
    ],
)
def test_a_rank_that_is_not_declared(pattern: str, shape: tuple[int, ...], told: str) -> None:
    wrong = refused((pattern, dims(*shape)))
    assert wrong.code == "NC211"
    assert wrong.message.startswith(f"f(): {told}\n")


def test_an_open_tensor_with_too_many_dims() -> None:
    passed = Dims((Dim("N"), Dim("C")), (Dim("W"),), True)
    assert refused(("N C", passed)).message.startswith(
        "f(): argument 'a' has at least 3 dimensions, but 2 are declared\n"
    )


# Unknown facts.


def test_what_is_not_known_leaves_the_answer_open() -> None:
    assert called(("N C", OPEN)).answer is Answer.MAYBE
    assert called(("N C", labelled("N C"))).answer is Answer.MAYBE
    assert called(("N C", labelled("? ?", 2, 3))).answer is Answer.MAYBE
    assert called(("*batch", OPEN), ("*batch", dims(2))).answer is Answer.MAYBE


def test_what_is_known_of_an_open_tensor_is_compared() -> None:
    passed = Dims((Dim("N"),), (Dim("W", 4),), True)
    found = called(("N C W", passed))
    assert (found.sizes, found.axes["N"].name) == ({"W": 4}, "N")
    assert refused(("W C N", passed)).code == "NC112"
    assert refused(("N ... W", passed), ("W", dims(3))).code == "NC210"


# Whole annotations.

FLOAT_BD = Declaration(parse("b d"), DTYPES["Float"], "Float")
PLAIN_NC = Declaration(parse("N C"))


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("Annotated[Tensor, 'N C']", PLAIN_NC),
        ("t.Annotated[torch.Tensor, 'N C', 'more']", PLAIN_NC),
        ("'Annotated[Tensor, \"N C\"]'", PLAIN_NC),
        ("Annotated[Tensor | None, 'N C']", OneOf((PLAIN_NC, NOTHING))),
        (
            "Annotated[Tensor, 'N C', torch.float32]",
            Declaration(parse("N C"), frozenset({"float32"}), "torch.float32"),
        ),
        ("Float[Tensor, 'b d']", FLOAT_BD),
        ("jt.Float[torch.Tensor, 'b d'] | None", OneOf((FLOAT_BD, NOTHING))),
        ("Optional['Float[Tensor, \"b d\"]']", OneOf((FLOAT_BD, NOTHING))),
        ("Union[Float[Tensor, 'b d'], int, None]", OneOf((FLOAT_BD, NO_TENSOR, NOTHING))),
        ("tuple[Float[Tensor, 'b d'], Tensor]", Items((FLOAT_BD, ANYTHING))),
        ("tuple[Float[Tensor, 'b d'], ...]", Every(FLOAT_BD)),
        ("list[Float[Tensor, 'b d']]", Every(FLOAT_BD, "list")),
        ("Dict[str, Float[Tensor, 'b d']]", Every(FLOAT_BD, "mapping")),
        ("Batch", FLOAT_BD),
        ("list[Batch] | None", OneOf((Every(FLOAT_BD, "list"), NOTHING))),
        ("Annotated[T, 'N C']", PLAIN_NC),
        ("Annotated[Tensor, 'of size (N, C).']", ANYTHING),
        ("Annotated[int, 'N C']", ANYTHING),
        ("Annotated[Batch, Doc('more')]", FLOAT_BD),
        ("Callable[[Float[Tensor, 'b']], int]", ANYTHING),
        ("Tensor", ANYTHING),
        ("int", NO_TENSOR),
        ("Loop", ANYTHING),
        ("not an annotation", ANYTHING),
    ],
)
def test_annotations_are_read_as_source(text: str, declared: object) -> None:
    import ast

    aliases = {"Batch": "jt.Float[Tensor, 'b d']", "T": "torch.Tensor", "Loop": "Loop | Loop"}

    def resolve(name: str) -> ast.expr | None:
        return ast.parse(aliases[name], mode="eval").body if name in aliases else None

    assert read(text, resolve) == declared


def test_a_union_is_met_by_the_option_that_fits() -> None:
    declared = read("Float[Tensor, 'n'] | Float[Tensor, 'n m'] | float")
    found = meet(declared, Tensor(dims(2, 3), "float32"), Bindings("f"), "x")
    assert found.sizes == {"n": 2, "m": 3}
    for other in (None, UNKNOWN, (UNKNOWN,)):
        meet(declared, other, Bindings("f"), "x")
    with pytest.raises(Contradiction, match="has 3 dimensions, but 2 are declared"):
        meet(declared, Tensor(dims(2, 3, 4), "float32"), Bindings("f"), "x")


def test_two_options_that_fit_bind_nothing() -> None:
    declared = read("Float[Tensor, 'n d'] | Float[Tensor, 'd n']")
    assert meet(declared, Tensor(dims(2, 3)), Bindings("f"), "x").sizes == {}


def test_parts_are_told_by_their_index_or_key() -> None:
    declared, bindings = read("tuple[Float[Tensor, 'n'], Float[Tensor, 'n']]"), Bindings("f")
    with pytest.raises(Contradiction, match=r"in argument 'x\[1\]', but 2 in argument 'x\[0\]'"):
        meet(declared, (Tensor(dims(2)), Tensor(dims(3))), bindings, "x")
    every = read("dict[str, Float[Tensor, 'n']]")
    with pytest.raises(Contradiction, match=r"argument 'x\['b'\]'"):
        meet(every, {"a": Tensor(dims(2)), "b": Tensor(dims(3))}, bindings, "x")
    meet(declared, (Tensor(dims(2)),), bindings, "x")


def test_dtypes() -> None:
    declared = read("Int[Tensor, 'n']")
    meet(declared, Tensor(dims(2), "int64"), Bindings("f"), "x")
    meet(declared, Tensor(dims(2)), Bindings("f"), "x")
    with pytest.raises(Contradiction) as raised:
        meet(declared, Tensor(dims(2), "float32"), Bindings("f"), "x")
    assert raised.value.code == "NC301"
    assert raised.value.message == ("f(): argument 'x' is of dtype float32, but Int is declared")


@pytest.mark.parametrize(
    ("written", "device", "fits"),
    [
        ("torch.device('cuda')", "cuda:1", True),
        ("torch.device('cuda')", "cuda", True),
        ("torch.device('cuda')", "cpu", False),
        ("torch.device('cuda', 0)", "cuda:0", True),
        ("torch.device('cuda:0')", "cuda", True),
        ("torch.device('cuda:0')", "cuda:1", False),
        ("torch.device('cuda')", UNKNOWN, True),
    ],
)
def test_devices(written: str, device: str | Unknown, fits: bool) -> None:
    declared = read(f"Annotated[Tensor, 'n', torch.float32, {written}]")
    value = Tensor(dims(2), "float32", device)
    if fits:
        meet(declared, value, Bindings("f"), "x")
        return
    with pytest.raises(Contradiction, match=f"argument 'x' is on {device}, but cuda") as raised:
        meet(declared, value, Bindings("f"), "x")
    assert raised.value.code == "NC410"


def test_dtypes_under_their_other_words() -> None:
    declared = read("Annotated[Tensor, 'n', torch.long]")
    meet(declared, Tensor(dims(2), "int64"), Bindings("f"), "x")
    with pytest.raises(Contradiction, match=r"of dtype int32, but torch\.long is declared"):
        meet(declared, Tensor(dims(2), "int32"), Bindings("f"), "x")


# Laws, and the recorded results of jaxtyping.

_ITEMS: Final = ["a", "b", "c", "2", "1", "_", "#a", "#b", "a+b", "2*a", "a*b", "b-1", "c=2"]
_SEVERAL: Final = ["...", "*s", "*#s"]
_NAMES: Final[list[Name]] = ["a", "b", "c", "x", None]
_Argument = tuple[str, tuple[Name, ...], tuple[int, ...]]


@st.composite
def calls(draw: st.DrawFn) -> list[_Argument]:
    """The arguments of a call: each its pattern, its names and its sizes."""
    arguments: list[_Argument] = []
    for _ in range(draw(st.integers(1, 3))):
        items = draw(st.lists(st.sampled_from(_ITEMS), max_size=3))
        if draw(st.booleans()):
            items.insert(draw(st.integers(0, len(items))), draw(st.sampled_from(_SEVERAL)))
        rank = max(0, len(items) + draw(st.integers(-1, 1)))
        names = draw(st.permutations(_NAMES))[:rank]
        sizes = draw(st.lists(st.sampled_from([1, 2, 2, 3]), min_size=rank, max_size=rank))
        arguments.append((" ".join(items), tuple(names), tuple(sizes)))
    return arguments


@given(calls(), st.data())
def test_what_is_forgotten_makes_no_contradiction(
    arguments: list[_Argument], data: st.DataObject
) -> None:
    """Sound forgetting: less knowledge about the arguments never refuses more calls."""
    known = [(pattern, Dims.of(*names, sizes=sizes)) for pattern, names, sizes in arguments]
    try:
        called(*known)
    except Contradiction:
        return
    called(*((pattern, data.draw(forgotten(passed))) for pattern, passed in known))


@st.composite
def forgotten(draw: st.DrawFn, known: Dims) -> Dims:
    """Dims that cover these: with unknown names and sizes, and perhaps an open middle."""
    dims = [
        Dim(
            dim.name if draw(st.booleans()) else UNKNOWN,
            dim.size if draw(st.booleans()) else UNKNOWN,
        )
        for dim in known.prefix
    ]
    if not draw(st.booleans()):
        return Dims(tuple(dims))
    front = draw(st.integers(0, len(dims)))
    back = draw(st.integers(front, len(dims)))
    return Dims(tuple(dims[:front]), tuple(dims[back:]), True)


@given(calls())
def test_patterns_are_read_back(
    arguments: list[_Argument],
) -> None:
    for pattern, _, _ in arguments:
        assert parse(parse(pattern).text) == parse(pattern)


def test_sizes_are_judged_as_jaxtyping_judges_them() -> None:
    """Recorded by ``python -m tests.annotation_recorder``."""
    cases = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    assert len(cases) > 500
    wrong = []
    for case in cases:
        try:
            called(*((pattern, dims(*shape)) for pattern, shape in case["arguments"]))
            fits = True
        except Contradiction:
            fits = False
        if fits is not case["fits"]:
            wrong.append(case)
    assert wrong == []
