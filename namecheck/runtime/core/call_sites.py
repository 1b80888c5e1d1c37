"""Where in the user's program a call stands: the expression that is running.

While torch.compile traces a function, Python's own frames are those of the tracer; then the
expressions that it is tracing stand in their place.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import torch

from namecheck.core.findings import Span

# First and last line, first and last column in bytes; None where Python does not tell.
Positions: TypeAlias = tuple[int | None, int | None, int | None, int | None]

# The folder of namecheck.runtime, which holds every frame that the shim adds to a traceback.
OUR_FOLDER: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS: Final = OUR_FOLDER + os.sep
_TORCH: Final = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_MODULES: Final = _TORCH + os.path.join("nn", "modules") + os.sep
_COMPILER: Final = _TORCH + "_dynamo" + os.sep
# The code of a torch.fx graph. One that torch.compile runs is made of calls judged while tracing.
_GRAPH: Final = "<eval_with_key>"


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression that is running: its file and positions, and the globals of its code.

    `of_module` tells that it stands in a method of a module.
    """

    filename: str
    line: int
    positions: Positions
    space: dict[str, Any] = field(repr=False)
    of_module: bool

    @property
    def of_torch(self) -> bool:
        """Whether torch's own code stands there, or a graph that torch has made."""
        return self.filename.startswith((_TORCH, _GRAPH))

    @property
    def hands_on(self) -> bool:
        """Whether it only hands the user's call on: what goes wrong there is the user's."""
        return self.of_module and self.filename.startswith(_MODULES)


@dataclass(slots=True)
class Traced:
    """What is being traced, the innermost first; whether a contradiction in it was passed over."""

    expressions: tuple[Expression, ...]
    passed_over: bool = False


_traced: ContextVar[Traced | None] = ContextVar("namecheck_traced", default=None)


@contextmanager
def tracing(expressions: tuple[Expression, ...]) -> Iterator[Traced]:
    """For a block, these expressions are what is running."""
    traced = Traced(expressions)
    token = _traced.set(traced)
    try:
        yield traced
    finally:
        _traced.reset(token)


def pass_over() -> None:
    """Note that a contradiction is not raised, if the call is one that is traced."""
    if traced := _traced.get():
        traced.passed_over = True


def running() -> Iterator[Expression]:
    """The expressions that are running, namecheck's own left out, the innermost first."""
    traced = _traced.get()
    return iter(traced.expressions) if traced else _executing()


def _executing() -> Iterator[Expression]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_ours(frame.f_code):
            yield _of_frame(frame)
        frame = frame.f_back


def is_ours(code: CodeType) -> bool:
    """Whether code is of namecheck, its files' or written by it."""
    return code.co_filename.startswith((_OURS, "<namecheck"))


def _of_frame(frame: FrameType) -> Expression:
    code = frame.f_code
    nowhere: Positions = (None, None, None, None)
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), nowhere)
    of_module = isinstance(frame.f_locals.get("self"), torch.nn.Module)
    return Expression(code.co_filename, frame.f_lineno, positions, frame.f_globals, of_module)


def users() -> Expression | None:
    """The innermost expression that is not torch's; where all are torch's, the innermost."""
    first: Expression | None = None
    for expression in running():
        if not expression.of_torch:
            return expression
        first = first or expression
    return first


def user_frame() -> FrameType | None:
    """The innermost frame that is neither namecheck's nor torch's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_ours(frame.f_code) and not frame.f_code.co_filename.startswith(_TORCH):
            return frame
        frame = frame.f_back
    return None


def inside_torch() -> bool:
    """Whether the running call was made by torch's own code, on its own account.

    A method of one of torch's modules calls the operator that the user means, and so does the
    tracer for the expression that it traces; elsewhere a named tensor has got into code that was
    never written for names.
    """
    expressions = _executing()
    expression = next(expressions, None)
    if expression is None:
        return False
    if traced := _traced.get():
        if not traced.expressions or not expression.filename.startswith(_COMPILER):
            return True
        expression = traced.expressions[0]
    elif expression.filename.startswith(_GRAPH):
        return any(outer.filename.startswith(_COMPILER) for outer in expressions)
    return expression.filename.startswith(_TORCH) and not expression.hands_on


def span_of(expression: Expression) -> Span:
    """The part of the source that is running; the whole line where Python does not tell."""
    line, end_line, start, end = expression.positions
    if line is None or end_line is None or start is None or end is None:
        return Span(expression.line, 1, expression.line, 1)
    return Span(
        line,
        _characters(expression, line, start) + 1,
        end_line,
        _characters(expression, end_line, end) + 1,
    )


def _characters(expression: Expression, line: int, offset: int) -> int:
    """Python counts columns in bytes of UTF-8, a `Span` in characters."""
    text = linecache.getline(expression.filename, line, expression.space)
    if not text or text.isascii():
        return offset
    return len(text.encode()[:offset].decode(errors="ignore"))
