"""Tracebacks without the frames of namecheck."""

from __future__ import annotations

from types import TracebackType

from namecheck.runtime.core.call_sites import is_ours


def clean(error: BaseException) -> None:
    """Remove our frames from the tracebacks of an error, its causes and its contexts."""
    cleaned: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in cleaned:
            continue
        cleaned.add(id(each))
        each.__traceback__ = without_ours(each.__traceback__)
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A copy of a traceback without the frames of namecheck."""
    remaining: list[TracebackType] = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame.f_code):
            remaining.append(traceback)
        traceback = traceback.tb_next
    following: TracebackType | None = None
    for each in reversed(remaining):
        following = TracebackType(following, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return following
