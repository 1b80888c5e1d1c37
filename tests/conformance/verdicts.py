"""Compares the outcome of one call with the recorded one."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from namecheck.core import dtypes
from namecheck.core.dims import covers_dims
from namecheck.core.names import UNKNOWN, Unknown, show_name
from namecheck.core.tensors import Constant, Many, Tensor
from tests.conformance.cases import Answer, Case, Pairs, Raised, Size, Value, ValueOf


class Verdict(enum.Enum):
    """The verdict on one outcome."""

    AGREE = "agree"
    UNKNOWN = "unknown"
    DISAGREE = "disagree"


@dataclass(frozen=True, slots=True)
class Seen:
    """The outcome of a call on one side.

    `raised` is the first error at the call, `early` one where the inputs are made, `result` and
    `inputs` are values (`Tensor`, tuples of them, plain values, UNKNOWN) after it.
    """

    result: Any = UNKNOWN
    inputs: tuple[Any, ...] = ()
    raised: Raised | None = None
    early: Raised | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one call, with both outcomes on one line and as JSON."""

    case: Case
    verdict: Verdict
    expected: Any
    got: Any
    expected_text: str
    got_text: str

    @property
    def differs(self) -> bool:
        """Whether our result differs, or there is no error where native torch raises one."""
        raises = isinstance(self.case.result, Raised)
        return self.verdict is Verdict.DISAGREE or (self.verdict is Verdict.UNKNOWN and raises)


def judge(case: Case, seen: Seen) -> Judgement:
    """Compare result, error and the inputs afterwards with the recording."""
    verdict = _compare(case, seen)
    expected, got = _plain(case.result), _plain(_said(case, seen))
    expected_text, got_text = _line(case.result), _line(_said(case, seen))
    if verdict is not Verdict.AGREE and _compare_answer(case, seen) is Verdict.AGREE:
        after = case.after or case.inputs
        expected = {"result": expected, "after": _plain(after)}
        got = {"result": got, "after": _plain(seen.inputs)}
        expected_text += f" after {_line(after)}"
        got_text += f" after {_line(seen.inputs)}"
    return Judgement(case, verdict, expected, got, expected_text, got_text)


def _said(case: Case, seen: Seen) -> Any:
    if seen.fault is not None:
        return Raised("InternalFault", seen.fault)
    if seen.raised or seen.early:
        return seen.raised or seen.early
    if seen.result is None and isinstance(case.result, Value):
        return Value(None)
    return seen.result


def _compare(case: Case, seen: Seen) -> Verdict:
    answer = _compare_answer(case, seen)
    if seen.fault is not None or seen.early is not None or _missed_error(case, seen):
        return answer
    return _worst([answer, _compare_inputs(case, seen)])


def _missed_error(case: Case, seen: Seen) -> bool:
    return isinstance(case.result, Raised) and seen.raised is None


def _compare_answer(case: Case, seen: Seen) -> Verdict:
    if seen.fault is not None or seen.early is not None:
        return Verdict.DISAGREE
    if isinstance(case.result, Raised):
        if seen.raised is not None:
            return _compare_errors(case.result, seen.raised)
        return _missed(case.result, seen.result)
    if seen.raised is not None:
        return Verdict.DISAGREE
    return _compare_results(case.result, seen.result)


def _compare_errors(expected: Raised, got: Raised) -> Verdict:
    """Errors of the argument parser and errors not about names need only be of the same type."""
    if expected.error != got.error:
        return Verdict.DISAGREE
    if expected.error == "TypeError" or not about_names(expected.message):
        return Verdict.AGREE
    return Verdict.AGREE if expected.message == got.message else Verdict.DISAGREE


def _missed(expected: Raised, result: Any) -> Verdict:
    """A call that raised natively, and on our side did not."""
    if not is_known(result):
        return Verdict.UNKNOWN
    seen_in_source = about_names(expected.message) or about_the_call(expected.message)
    return Verdict.DISAGREE if seen_in_source else Verdict.UNKNOWN


_ABOUT_NAMES: Final = re.compile(
    r"""
    \b(?:dim)?nam(?:e|es|ed)\b
    | Tensor\[[^]\d] | \(index\ \d+\ of | dims\ \[.*\]\ and\ dims\ \[
    | `align_tensors`
    """,
    re.VERBOSE | re.IGNORECASE,
)


def about_names(message: str) -> bool:
    """Whether a native error text is about names, not about sizes, dtypes or values alone."""
    return _ABOUT_NAMES.search(message) is not None


_ABOUT_THE_CALL: Final = re.compile(
    r"""
    \(\):?\ (?:argument\ '|received\ an\ invalid|got\ (?:an\ unexpected|multiple)|missing|takes)
    | ^expected\ (?:None\ or\ string|Tensor\ as\ element)
    """,
    re.VERBOSE,
)


def about_the_call(message: str) -> bool:
    """Whether the text of a native error is one of the argument parser."""
    return _ABOUT_THE_CALL.search(message) is not None


def is_known(result: Any) -> bool:
    """Whether all names in a result are known."""
    if isinstance(result, Tensor):
        return result.dims.complete
    if isinstance(result, (tuple, list)):
        return all(map(is_known, result))
    return not isinstance(result, (Unknown, Many))


def _compare_results(expected: Answer, got: Any) -> Verdict:
    if isinstance(expected, (Value, ValueOf)):
        return _compare_values(expected, got)
    if isinstance(got, Unknown):
        return Verdict.UNKNOWN
    if isinstance(expected, Tensor):
        return _compare_tensors(expected, got)
    assert isinstance(expected, tuple)
    if isinstance(got, Many):
        parts = [_compare_results(part, got.each) for part in expected]
        return _worst([*parts, Verdict.UNKNOWN])
    if not isinstance(got, (tuple, list)) or len(got) != len(expected):
        return Verdict.DISAGREE
    return _worst([_compare_results(part, item) for part, item in zip(expected, got, strict=True)])


def _compare_tensors(expected: Tensor, got: Any) -> Verdict:
    """Compare names, sizes and dtypes: device and memory order were not recorded."""
    if not isinstance(got, Tensor) or not covers_dims(got.dims, expected.dims):
        return Verdict.DISAGREE
    if not dtypes.covers(got.dtype, expected.dtype):
        return Verdict.DISAGREE
    return Verdict.AGREE if got.dims.complete else Verdict.UNKNOWN


def _compare_values(expected: Value | ValueOf, got: Any) -> Verdict:
    """Compare results that are no tensors: only another known value, or a tensor, is wrong."""
    if isinstance(got, Unknown):
        return Verdict.AGREE
    if isinstance(expected, ValueOf):
        wrong = isinstance(got, (Tensor, Many))
    else:
        wrong = not _same(expected.value, got)
    return Verdict.DISAGREE if wrong else Verdict.AGREE


def _same(expected: Any, got: Any) -> bool:
    if isinstance(got, Unknown):
        return True
    if isinstance(expected, Size):
        expected = expected.sizes
    if isinstance(expected, (tuple, list)):
        if not isinstance(got, type(expected)) or len(got) != len(expected):
            return False
        return all(map(_same, expected, got))
    return type(expected) is type(got) and bool(expected == got)


def _compare_inputs(case: Case, seen: Seen) -> Verdict:
    """Compare the inputs afterwards; after an error only certain facts count."""
    after = case.after or case.inputs
    if not isinstance(case.result, Raised):
        return _worst(list(map(_compare_results, after, seen.inputs)))
    told = [(past, held) for past, held in zip(after, seen.inputs, strict=False) if _tells(held)]
    verdicts = [_compare_results(past, held) for past, held in told]
    return _worst([verdict for verdict in verdicts if verdict is not Verdict.UNKNOWN])


def _tells(held: Any) -> bool:
    """Whether any name of the inputs of a call that raised is known after it."""
    if not isinstance(held, Tensor):
        return True
    return held.dims.rank == 0 or any(name is not UNKNOWN for name in held.names)


_ORDER: Final = (Verdict.AGREE, Verdict.UNKNOWN, Verdict.DISAGREE)


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=_ORDER.index, default=Verdict.AGREE)


def _plain(answer: Any) -> Any:
    """A result as JSON, in the recorded form; an unknown part is ``"?"``."""
    if isinstance(answer, Raised):
        return {"error_type": answer.error, "error": answer.message}
    if isinstance(answer, Value):
        return {"value": _plain(answer.value)}
    if isinstance(answer, ValueOf):
        return {"value_type": answer.type}
    if isinstance(answer, Tensor):
        return {"names": _names(answer), "shape": [_mark(size) for size in answer.dims.sizes]}
    if isinstance(answer, Many):
        return {"many": _plain(answer.each)}
    if isinstance(answer, (tuple, list)):
        return [_plain(part) for part in answer]
    if answer is None or isinstance(answer, (bool, int, float, str)):
        return answer
    return _mark(answer)


def _names(tensor: Tensor) -> list[Any]:
    words = [None if name is None else show_name(name).strip("'") for name in tensor.names]
    if tensor.dims.open:
        words.insert(len(tensor.dims.prefix), "...")
    return words


def _mark(item: Any) -> Any:
    if isinstance(item, Unknown):
        return "?"
    if isinstance(item, Constant):
        return f"torch.{item.name}"
    if isinstance(item, Size):
        return list(item.sizes)
    if isinstance(item, Pairs):
        return [[_plain(key), _plain(value)] for key, value in item.items]
    return item if isinstance(item, int) else repr(item)


def _line(answer: Any) -> str:
    """A result on one line, against which the patterns of a deviation are matched."""
    if isinstance(answer, Raised):
        return f"{answer.error}: {answer.message}"
    if isinstance(answer, Tensor):
        return answer.dims.show()
    if isinstance(answer, Many):
        return f"({_line(answer.each)}, ...)"
    if isinstance(answer, (tuple, list)):
        return "(" + ", ".join(map(_line, answer)) + ")"
    return f"value {_plain(answer)}"
