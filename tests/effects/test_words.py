"""The grammar of the columns, and mistakes in a cell: column, problem, allowed words."""

from __future__ import annotations

from typing import Final

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Many, Tensor
from namecheck.effects import columns, operands
from namecheck.effects.words import (
    Cell,
    Choice,
    Comparison,
    Condition,
    Literal,
    Message,
    Parameter,
    SignatureCell,
    Subject,
    Word,
    WordError,
    read_cell,
    read_items,
    read_message,
    read_refusals,
    read_signature,
    read_sizes,
    read_subject,
    read_word,
)


def test_words_stand_one_behind_the_other() -> None:
    assert read_items("first promotes(input,other) int64") == (
        Word("first"),
        Word("promotes", ("input", "other")),
        Word("int64"),
    )


def test_an_argument_chooses_a_word_by_its_value() -> None:
    words = (("True", Word("spectral")), ("False", Word("promotes", ("input", "window"))))
    text = "return_complex?True=spectral|False=promotes(input,window)"
    assert read_items(text) == (Choice("return_complex", words),)


def test_a_cell_has_a_kernel_or_messages() -> None:
    assert read_cell("bitwise_and_cpu: floating complex") == Cell(
        (Word("floating"), Word("complex")), (), "bitwise_and_cpu"
    )
    cell = read_cell("same; TypeError: one: {spoken[0]} | two")
    first, second = Message("TypeError", "one: {spoken[0]}"), Message("RuntimeError", "two")
    assert cell.messages == (first, second)
    assert [cell.message(place) for place in range(3)] == [first, second, second]
    assert read_cell("").message() is None


def test_a_message_tells_of_dtypes() -> None:
    message = read_message("IndexError: {0}, {spoken[0]} and {cpp[1]}")
    assert message.about("float32", "int64") == ("IndexError", "float32, Float and long int")
    assert read_message("max(): no").error == "RuntimeError"


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("input,weight", Subject(("input", "weight"))),
        ("target below input", Subject(("target",), "below", "input")),
        (
            "input if affine and 0 < p < 1 or mode = 'mean'",
            Subject(
                ("input",),
                "if",
                condition=Condition(
                    (
                        (
                            Comparison((Word("affine"),)),
                            Comparison((Literal(0), Word("p"), Literal(1)), ("<", "<")),
                        ),
                        (Comparison((Word("mode"), Literal("mean")), ("=",)),),
                    )
                ),
            ),
        ),
    ],
)
def test_a_subject_has_a_condition(text: str, subject: Subject) -> None:
    assert read_subject(text) == subject


def test_sizes_have_a_condition() -> None:
    assert read_sizes("out _ inner").sizes == ("out", "_", "inner")
    cell = read_sizes("out if bias")
    assert cell.condition is not None
    assert cell.sizes == ("out",)
    assert cell.condition.parameters == {"bias"}


def test_refusals_are_clauses_before_the_rule_and_after_it() -> None:
    cell = read_refusals("refuses(view(a, b); no_device()) then refuses(x.y_(c) if rank(d) = e)")
    assert [clause.kernel for clause in cell.before] == [
        Word("view", ("a", "b")),
        Word("no_device"),
    ]
    assert [clause.parameters for clause in cell.after] == [{"c", "d", "e"}]
    assert read_refusals("then refuses(x(c))").before == ()


def test_a_signature_has_kinds_defaults_and_how_parameters_are_passed() -> None:
    text = "[fm] input:tensor, end>other:dim | name=(-2, 1e-05), /, *size:ints, out=None, **rest"
    first = Parameter("input", frozenset({"tensor"}), positional_only=True)
    kinds = frozenset({"dim", "name"})
    second = Parameter("end", kinds, (-2, 1e-05), positional_only=True, role="other")
    size = Parameter("size", frozenset({"ints"}), variadic=True)
    out = Parameter("out", default=None, keyword_only=True)
    rest = Parameter("rest", keyword_only=True, mapping=True)
    assert read_signature(text) == SignatureCell("fm", (first, second, size, out, rest))
    mode = Parameter("mode", default="its", keyword_only=True)
    assert read_signature("*, mode='its'").signature == (mode,)
    assert read_signature("") == SignatureCell("", ())


@pytest.mark.parametrize(
    "text",
    ["[f", "a b", "a:", "a:tensor|", "a=", "a=b", "a=(1", "a=1 2", "1", "a.b", "*'x'", "a,,b"],
)
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(WordError):
        read_signature(text)


@pytest.mark.parametrize(
    "text",
    [
        "first(",
        "first(input",
        "first(,)",
        "a?b",
        "a?b=",
        "a?b=c|",
        "=c",
        "first)",
        "first!",
        "'first'",
        "first:",
    ],
)
def test_what_is_no_cell_is_refused(text: str) -> None:
    with pytest.raises(WordError):
        read_items(text)


@pytest.mark.parametrize("text", ["", "input beside other", "input like", "input like other more"])
def test_what_is_no_subject_is_refused(text: str) -> None:
    with pytest.raises(WordError):
        read_subject(text)


def test_two_words_are_not_one() -> None:
    assert read_word("") == Word("")
    with pytest.raises(WordError, match="'cpu cuda' is not a single word"):
        read_word("cpu cuda")


PARAMETERS: Final = {"input", "weight", "reduction"}


@pytest.mark.parametrize(
    ("column", "cell", "problem", "allowed"),
    [
        ("dtype", "promoted", "unknown word 'promoted'", "promotes"),
        ("dtype", "first(inptu)", "unknown parameter 'inptu'", "input"),
        ("dtype", "reductoin?mean=first", "unknown parameter 'reductoin'", "reduction"),
        ("dtype", "last(weight", "'last(weight' breaks off", None),
        ("dtype", "counts", "'counts' needs its parameters: there is neither", "input"),
        ("lacks", ["exp_cpu: integers"], "unknown word 'integers'", "integral"),
        ("lacks", "complex", "the kernel, or the error of torch, is missing", None),
        ("into", "casts", "unknown word 'casts'", "cast"),
        ("into", ["cast", "complex"], "the error of torch for other dtypes is missing", None),
        ("into", "cast if rnak(weight) = 1", "unknown measure 'rnak'", "rank"),
        ("into", "cast if rank(bias) = 1", "unknown parameter 'bias'", "weight"),
        ("lacks", ["exp_cpu: complex if rank(input) = 1"], "'=' is misplaced in", None),
        ("needs", {"input": "float; no"}, "unknown word 'float'", "floating"),
        ("needs", {"input": "floating"}, "the error of torch for other dtypes is missing", None),
        ("needs", {"input": "; no"}, "the dtypes are missing", "floating"),
        ("needs", {"input,bias": "alike; no"}, "unknown parameter 'bias'", "weight"),
        ("needs", {"input if affine": "negated"}, "unknown parameter 'affine'", "weight"),
        ("needs", {"input near weight": "negated"}, "unknown word 'near'", "below"),
        ("needs", {"input if rnak(weight) = 1": "negated"}, "unknown measure 'rnak'", "rank"),
        ("irregular", "rnak(input) = 0", "unknown measure 'rnak'", "rank"),
        ("irregular", "rank(inptu) = 0", "unknown parameter 'inptu'", "input"),
        ("irregular", "reductoin = 'sum'", "unknown parameter 'reductoin'", "reduction"),
        ("device", "gpu", "unknown word 'gpu'", "cuda"),
        ("device", "alike(input,bias)", "unknown parameter 'bias'", "weight"),
        ("memory", "keeps", "unknown word 'keeps'", "preserves"),
        ("memory", "formats(nhwc)", "unknown memory format 'nhwc'", "channels_last"),
        ("layout", "dense", "unknown word 'dense'", "strided"),
        ("refuses", {"sparse": "aten::exp"}, "unknown layout 'sparse'", "sparse_coo"),
        ("overlaps", "refused", "unknown word 'refused'", "taken"),
    ],
)
def test_a_fault_names_its_column_and_what_is_allowed(
    column: str, cell: columns.Cell, problem: str, allowed: str | None
) -> None:
    fault = columns.check(column, cell, PARAMETERS)
    assert fault is not None
    assert fault.column == column
    assert fault.problem.startswith(problem)
    assert str(fault).startswith(f"{column}: {problem}")
    assert allowed in fault.allowed if allowed else not fault.allowed
    assert all(word in str(fault) for word in fault.allowed)


def test_parameters_that_are_not_known_are_not_checked() -> None:
    assert columns.check("dtype", "first(inptu)", None) is None


def test_the_operands_of_a_call_are_walked_through_lists() -> None:
    one, other = Tensor(Dims.of("N")), Tensor(Dims.of("C"))
    arguments = {"tensors": [one, (None, [2, Many(other)])], "weight": None, "input": UNKNOWN}
    call = operands.walk(arguments, ("tensors", "weight", "input", "bias"))
    assert call.leaves == {
        "tensors": (one, 2, Many(other)),
        "weight": (),
        "input": (UNKNOWN,),
        "bias": (),
    }
    assert call.tensors(("tensors", "input")) == [one, other]
    assert call.single == {"input": UNKNOWN}
    assert operands.walk({"data": [one]}, ("data",)).single == {}
