"""Where in the user's program a call stands: the span that is running in a frame."""

from __future__ import annotations

import linecache
import os
import sys
from itertools import islice
from types import CodeType, FrameType
from typing import Final

import torch

from namecheck.findings import Span

_OURS: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TORCH: Final = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_MODULES: Final = _TORCH + os.path.join("nn", "modules") + os.sep


def caller() -> FrameType | None:
    """The innermost frame that is not namecheck's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return frame


def is_ours(code: CodeType) -> bool:
    """Whether code is of namecheck, its files' or written by it."""
    return code.co_filename.startswith((_OURS, "<namecheck"))


def user_frame() -> FrameType | None:
    """The innermost frame that is neither namecheck's nor torch's."""
    frame = caller()
    while frame is not None and frame.f_code.co_filename.startswith(_TORCH):
        frame = frame.f_back
    return frame


def inside_torch() -> bool:
    """Whether the running call was made by torch's own code, on its own account.

    A method of one of torch's modules calls the operator that the user means; elsewhere a named
    tensor has got into code that was never written for names.
    """
    frame = caller()
    return (
        frame is not None and frame.f_code.co_filename.startswith(_TORCH) and not _hands_on(frame)
    )


def _hands_on(frame: FrameType) -> bool:
    """Whether a frame of torch only hands the user's call on: what goes wrong is the user's."""
    module = isinstance(frame.f_locals.get("self"), torch.nn.Module)
    return module and frame.f_code.co_filename.startswith(_MODULES)


def span_of(frame: FrameType) -> Span:
    """The expression that a frame is running; the whole line where Python does not tell."""
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    line, end_line, start, end = positions or (None, None, None, None)
    if line is None or end_line is None or start is None or end is None:
        return Span(frame.f_lineno, 1, frame.f_lineno, 1)
    filename = frame.f_code.co_filename
    return Span(
        line,
        _characters(filename, line, start, frame) + 1,
        end_line,
        _characters(filename, end_line, end, frame) + 1,
    )


def _characters(filename: str, line: int, offset: int, frame: FrameType) -> int:
    """Python counts columns in bytes of UTF-8, a `Span` in characters."""
    text = linecache.getline(filename, line, frame.f_globals)
    if not text or text.isascii():
        return offset
    return len(text.encode()[:offset].decode(errors="ignore"))
