"""The recorded results of native torch: how they are read, written and compared."""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest

from namecheck.core.dims import OPEN, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Constant, Many, Tensor
from tests import conformance
from tests.conformance import ConformanceError, Report
from tests.conformance.__main__ import main
from tests.conformance.cases import Case, Raised, parse, read
from tests.conformance.deviations import DeviationsError, load
from tests.conformance.program import write
from tests.conformance.verdicts import Seen, Verdict, about_names, judge

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
EVERYDAY: Final = FIXTURES / "oracle" / "golden.jsonl.gz"
FULL: Final = FIXTURES / "oracle" / "golden_full.jsonl.gz"
DEVIATIONS: Final = FIXTURES / "deviations.toml"

NC: Final = Tensor(Dims.of("N", "C", sizes=(2, 3)), "float32")
NOT_FOUND: Final = "Name 'X' not found in Tensor['N', 'C']."
OUT_OF_RANGE: Final = "Dimension out of range (expected to be in range of [-2, 1], but got 5)"


def record(**fields: Any) -> str:
    """One line of a file of recorded calls; by default ``x.abs()`` of a tensor N=2 C=3."""
    named = {"names": ["N", "C"], "shape": [2, 3], "dtype": "float32"}
    line: dict[str, Any] = {
        "id": "c0",
        "op": "abs",
        "kind": "method",
        "inputs": [named],
        "args": [],
    }
    line |= {"kwargs": {}, "result": named}
    return json.dumps(line | fields)


def case(**fields: Any) -> Case:
    return parse(record(**fields))


def source(**fields: Any) -> list[str]:
    """The lines that make the call, without those that make the inputs."""
    program = write([case(**fields)])
    (call,) = program.calls
    ast.parse(program.text)
    return program.text.splitlines()[call.call_line - 1 : call.end_line - 1]


@pytest.fixture(scope="module")
def native() -> Report:
    return conformance.run(EVERYDAY, semantics=Semantics.NATIVE)


@pytest.fixture(scope="module")
def ours() -> Report:
    return conformance.run(EVERYDAY, deviations=DEVIATIONS)


def test_native_semantics_agrees_with_native_torch(native: Report) -> None:
    assert native.cases == 9933
    assert native.to_json()["disagree"] == []


def test_native_semantics_leaves_little_unknown(native: Report) -> None:
    assert len(native.unknown) < 0.02 * native.cases


def test_every_difference_of_our_semantics_is_listed(ours: Report) -> None:
    assert ours.to_json()["disagree"] == []


def test_every_listed_difference_is_shown(ours: Report) -> None:
    for entry in load(DEVIATIONS):
        shown = entry.shown_by in ours.explained.get(entry.name, ())
        assert shown or (FIXTURES / entry.shown_by).is_file(), f"[{entry.name}]: {entry.shown_by}"


def test_the_report_in_json_has_the_agreed_form(native: Report) -> None:
    counts = native.to_json()
    assert list(counts) == [
        "side",
        "semantics",
        "cases",
        "agree",
        "deviations",
        "unknown",
        "disagree",
    ]
    told = counts["agree"] + counts["deviations"] + counts["unknown"] + len(counts["disagree"])
    assert told == counts["cases"]
    assert json.dumps(counts)


# The command


OTHER: Final = {"names": ["N", "D"], "shape": [2, 3], "dtype": "float32"}


def test_the_command_prints_the_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{record()}\n{record(id='c1', result=OTHER)}\n")
    assert main([str(path), "--semantics", "torch-2.12", "--output-format", "json"]) == 1
    counts = json.loads(capsys.readouterr().out)
    assert (counts["agree"], [one["id"] for one in counts["disagree"]]) == (1, ["c1"])
    path.write_text(f"{record()}\n")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.startswith(
        "1 recorded calls, side static, semantics namecheck\n"
    )


def test_the_command_says_what_cannot_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl: No such file" in capsys.readouterr().err


# Reading

MALFORMED: Final = {
    "{": "not a JSON object",
    "[]": "not a JSON object",
    "{}": "the field 'kind' is missing",
    record(kind="spell"): "unknown kind 'spell'",
    record(args=[{"$": "dragon"}]): "unknown tag 'dragon'",
    record(args=[{"x": 1}]): "unknown tag None",
    record(args=[{"$": "slice", "v": [1]}]): "malformed object of tag 'slice'",
    record(args=[{"$": "T", "i": 7}]): "there is no input 7",
    record(args=[{"$": "T"}]): "malformed object of tag 'T'",
    record(inputs=[]): "needs an input",
    record(inputs=[{"names": ["N"], "shape": [], "dtype": "float32"}]): "0 dims has 1 names",
    record(inputs=[{"names": [1], "shape": [2], "dtype": "float32"}]): "a name is a string or null",
    record(inputs=[3]): "a tensor is an object",
    record(result={}): "a result has",
    record(result=3): "the field 'result' is a int",
    record(result=[3]): "a result is an object",
    record(after=[]): "'after' does not tell of every input",
}


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_line_is_told_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{record()}\n\n{line}\n", "utf-8")
    with pytest.raises(ConformanceError) as raised:
        conformance.run(path)
    assert str(raised.value).startswith(f"{path}:3: ")
    assert MALFORMED[line] in str(raised.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConformanceError, match=r"none\.jsonl: No such file"):
        conformance.run(tmp_path / "none.jsonl")


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConformanceError, match=r"cases\.jsonl:1: "):
        conformance.run(path)


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: b"plain"])
def test_a_damaged_archive_is_told(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "cases.jsonl.gz"
    path.write_bytes(damage(gzip.compress(f"{record()}\n".encode() * 50)))
    with pytest.raises(ConformanceError, match=r"cases\.jsonl\.gz"):
        conformance.run(path)


def test_a_side_that_is_not_there_is_told() -> None:
    with pytest.raises(ConformanceError, match="the sides are static, runtime, native"):
        conformance.run(EVERYDAY, "other")


def test_the_native_side_has_its_own_semantics() -> None:
    with pytest.raises(ConformanceError, match=r"use --semantics torch-2\.12"):
        conformance.run(EVERYDAY, "native")


# Writing


def test_inputs_are_made_as_recorded() -> None:
    inputs = [
        {"names": ["N", None], "shape": [2, 3], "dtype": "float32"},
        {"names": [], "shape": [], "dtype": "int64"},
        {"names": [None], "shape": [4], "dtype": "float32", "requires_grad": True},
    ]
    assert write([case(inputs=inputs)]).text.splitlines()[3:6] == [
        "x0_0 = torch.zeros(2, 3, names=('N', None))",
        "x0_1 = torch.zeros((), dtype=torch.int64)",
        "x0_2 = torch.zeros(4, requires_grad=True)",
    ]


REF: Final = {"$": "T", "i": 0}
ITEMS: Final = {"$": "tuple", "v": [{"$": "ellipsis"}, {"$": "slice", "v": [None, 2, None]}]}
EMPTY: Final = {"$": "tuple", "v": []}
PAIRS: Final = [["A", 2]]
WRITTEN: Final[list[tuple[dict[str, Any], list[str]]]] = [
    (
        {"op": "sum", "args": ["N"], "kwargs": {"keepdim": True}},
        ["r0 = x0_0.sum('N', keepdim=True)"],
    ),
    ({"op": "rename", "kwargs": {"if": None}}, ["r0 = x0_0.rename(**{'if': None})"]),
    ({"op": "torch.sum", "kind": "function", "args": [REF]}, ["r0 = torch.sum(x0_0)"]),
    ({"op": "T", "kind": "attr"}, ["r0 = x0_0.T"]),
    ({"op": "names", "kind": "setattr", "args": [["A"]]}, ["x0_0.names = ['A']"]),
    ({"op": "sub", "kind": "operator", "args": [-1, REF]}, ["r0 = (-1) - x0_0"]),
    ({"op": "imul", "kind": "operator", "args": [REF, REF]}, ["x0_0 *= x0_0", "r0 = x0_0"]),
    ({"op": "isub", "kind": "operator", "args": [2, REF]}, ["r0 = 2", "r0 -= x0_0"]),
    ({"op": "invert", "kind": "operator", "args": [REF]}, ["r0 = ~x0_0"]),
    ({"op": "index", "kind": "operator", "args": [REF]}, ["r0 = operator.index(x0_0)"]),
    ({"op": "getitem", "kind": "operator", "args": [REF, ITEMS]}, ["r0 = x0_0[..., :2]"]),
    (
        {"op": "getitem", "kind": "operator", "args": [REF, {"$": "tuple", "v": []}]},
        ["r0 = x0_0[()]"],
    ),
    ({"op": "setitem", "kind": "operator", "args": [REF, 0, 1.5]}, ["x0_0[0] = 1.5"]),
    (
        {"op": "torch.nn.Linear", "kind": "module", "ctor": [3, 4], "args": [REF]},
        ["r0_module = torch.nn.Linear(3, 4)", "r0 = r0_module(x0_0)"],
    ),
    (
        {"op": "unflatten", "args": ["F", {"$": "OrderedDict", "v": PAIRS}]},
        ["r0 = x0_0.unflatten('F', collections.OrderedDict([('A', 2)]))"],
    ),
    ({"op": "take", "args": [{"$": "dict", "v": PAIRS}]}, ["r0 = x0_0.take({'A': 2})"]),
    ({"op": "clamp", "args": [{"$": "float", "v": "-inf"}]}, ["r0 = x0_0.clamp(float('-inf'))"]),
    (
        {"op": "to", "args": [{"$": "device", "v": "cpu"}, {"$": "dtype", "v": "torch.bool"}]},
        ["r0 = x0_0.to(torch.device('cpu'), torch.bool)"],
    ),
]


@pytest.mark.parametrize(("fields", "lines"), WRITTEN, ids=[lines[-1] for _, lines in WRITTEN])
def test_a_call_is_written_as_a_user_would(fields: dict[str, Any], lines: list[str]) -> None:
    assert source(**fields) == lines


def test_every_recorded_call_can_be_written() -> None:
    ast.parse(write(list(read(FULL))).text)


# Comparing


def found(error: str, message: str) -> Seen:
    """An error was found; the inputs are unchanged."""
    return Seen(raised=Raised(error, message), inputs=(NC,))


RAISES: Final = {"result": {"error_type": "RuntimeError", "error": NOT_FOUND}}
REFUSES: Final = {"result": {"error_type": "TypeError", "error": "f() takes 1 positional argument"}}
CASTS: Final = {"result": {"error_type": "TypeError", "error": "can't be cast to Bool"}}
EXCEEDS: Final = {"result": {"error_type": "IndexError", "error": OUT_OF_RANGE}}
TWO: Final = {"result": [{"names": ["N"], "shape": [2], "dtype": "float32"}] * 2}
N: Final = Tensor(Dims.of("N"))
SHAPE: Final = {"result": {"value": {"$": "Size", "v": [2, 3]}}}
DTYPE: Final = {"result": {"value": {"$": "dtype", "v": "torch.float32"}}}
TYPE: Final = {"result": {"value_type": "int"}}
JUDGED: Final[list[tuple[str, dict[str, Any], Seen, Verdict]]] = [
    ("names", {}, Seen(NC, (NC,)), Verdict.AGREE),
    ("nothing known", {}, Seen(UNKNOWN, (NC,)), Verdict.UNKNOWN),
    ("some known", {}, Seen(Tensor(Dims.of("N", UNKNOWN)), (NC,)), Verdict.UNKNOWN),
    ("rank unknown", {}, Seen(Tensor(OPEN), (NC,)), Verdict.UNKNOWN),
    ("other names", {}, Seen(Tensor(Dims.of("N", "H")), (NC,)), Verdict.DISAGREE),
    ("another size", {}, Seen(Tensor(Dims.of("N", "C", sizes=(2, 4))), (NC,)), Verdict.DISAGREE),
    ("another dtype", {}, Seen(Tensor(NC.dims, "int64"), (NC,)), Verdict.DISAGREE),
    (
        "a false error",
        {},
        found("RuntimeError", NOT_FOUND),
        Verdict.DISAGREE,
    ),
    ("inputs changed", {}, Seen(NC, (Tensor(Dims.of("A", "B")),)), Verdict.DISAGREE),
    ("inputs unknown", {}, Seen(NC, (UNKNOWN,)), Verdict.UNKNOWN),
    ("no tuple", {}, Seen((NC,), (NC,)), Verdict.DISAGREE),
    ("an early error", {}, Seen(NC, (NC,), early=Raised("TypeError", "")), Verdict.DISAGREE),
    ("a fault", {}, Seen(NC, (NC,), fault="boom"), Verdict.DISAGREE),
    (
        "an error",
        RAISES,
        found("RuntimeError", NOT_FOUND),
        Verdict.AGREE,
    ),
    (
        "another text",
        RAISES,
        found("RuntimeError", "?"),
        Verdict.DISAGREE,
    ),
    (
        "another type",
        RAISES,
        found("IndexError", NOT_FOUND),
        Verdict.DISAGREE,
    ),
    ("a missed error", RAISES, Seen(NC, (NC,)), Verdict.DISAGREE),
    ("an unseen error", RAISES, Seen(UNKNOWN, (NC,)), Verdict.UNKNOWN),
    (
        "a parser's error",
        REFUSES,
        found("TypeError", "other"),
        Verdict.AGREE,
    ),
    ("a missed parser's error", REFUSES, Seen(NC, (NC,)), Verdict.DISAGREE),
    (
        "a plain error",
        EXCEEDS,
        found("IndexError", "other"),
        Verdict.AGREE,
    ),
    ("a missed plain error", EXCEEDS, Seen(NC, (NC,)), Verdict.UNKNOWN),
    ("a tuple", TWO, Seen((N, N), (NC,)), Verdict.AGREE),
    ("a longer tuple", TWO, Seen((N, N, N), (NC,)), Verdict.DISAGREE),
    ("another part", TWO, Seen((N, NC), (NC,)), Verdict.DISAGREE),
    ("many alike", TWO, Seen(Many(N), (NC,)), Verdict.UNKNOWN),
    ("many others", TWO, Seen(Many(NC), (NC,)), Verdict.DISAGREE),
    ("a value", SHAPE, Seen((2, 3), (NC,)), Verdict.AGREE),
    ("another value", SHAPE, Seen((2, 4), (NC,)), Verdict.DISAGREE),
    ("a value in part", SHAPE, Seen((2, UNKNOWN), (NC,)), Verdict.AGREE),
    ("no value", SHAPE, Seen(UNKNOWN, (NC,)), Verdict.AGREE),
    ("a tensor for a value", SHAPE, Seen(NC, (NC,)), Verdict.DISAGREE),
    ("a constant", DTYPE, Seen(Constant("dtype", "float32"), (NC,)), Verdict.AGREE),
    ("a truth for an int", {"result": {"value": 1}}, Seen(True, (NC,)), Verdict.DISAGREE),
    ("a type", TYPE, Seen(3, (NC,)), Verdict.AGREE),
    ("a tensor for a type", TYPE, Seen(NC, (NC,)), Verdict.DISAGREE),
]


@pytest.mark.parametrize(
    ("fields", "seen", "verdict"),
    [judged[1:] for judged in JUDGED],
    ids=[judged[0] for judged in JUDGED],
)
def test_an_answer_is_judged(fields: dict[str, Any], seen: Seen, verdict: Verdict) -> None:
    assert judge(case(**fields), seen).verdict is verdict


@pytest.mark.parametrize(
    ("message", "about"),
    [
        (NOT_FOUND, True),
        (OUT_OF_RANGE, False),
        ("aten::view is not yet supported with named tensors. Please drop names", True),
        ("Misaligned dims when attempting to broadcast dims ['N'] and dims ['N', None]: …", True),
        ("The size of tensor a (2) must match the size of tensor b (3) at …", False),
        ("expected tensor [2] and src [3] to have the same number of elements", False),
    ],
)
def test_errors_are_about_names_or_not(message: str, about: bool) -> None:
    assert about_names(message) is about


# Deviations

ENTRY: Final = """
[squeeze-drops-names]
operators = ["squeeze"]
native_answer = "^\\\\[None"
shown_by = "c0"
native = "It drops all names."
ours = "It keeps them."
why = "The documents."
"""


def deviation(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "deviations.toml"
    path.write_text(text, "utf-8")
    return path


UNUSABLE: Final = {
    "= 3": "Invalid statement",
    "x = 3": r"\[x\] is no table",
    ENTRY + "because = 1": "unknown field 'because'",
    ENTRY.replace('why = "The documents."', ""): "the field 'why' is missing",
    ENTRY.replace('"c0"', '""'): "the field 'shown_by' is missing",
    ENTRY.replace('["squeeze"]', "[]"): "'operators' is a list",
    ENTRY.replace("None", "(None"): "'native_answer' is no regular expression",
}


@pytest.mark.parametrize("text", UNUSABLE)
def test_an_entry_that_cannot_be_used_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(DeviationsError, match=UNUSABLE[text]):
        load(deviation(tmp_path, text))


def test_an_entry_covers_its_operators_and_answers(tmp_path: Path) -> None:
    (entry,) = load(deviation(tmp_path, ENTRY))
    dropped = {"names": [None, None], "shape": [2, 3], "dtype": "float32"}
    seen = Seen(NC, (NC,))
    assert entry.covers(judge(case(op="squeeze", result=dropped), seen))
    assert entry.covers(judge(case(op="torch.squeeze", result=dropped), seen))
    assert not entry.covers(judge(case(op="squeeze_", result=dropped), seen))
    assert not entry.covers(judge(case(op="squeeze"), seen))
