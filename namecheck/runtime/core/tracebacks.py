"""Tracebacks as they would be without namecheck: the frames of its own code are left out."""

from __future__ import annotations

from types import TracebackType

from namecheck.runtime.core.call_sites import is_ours


def clean(error: BaseException) -> None:
    """Leave our frames out of the traceback of an error, and of those that it came from."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = without_ours(each.__traceback__)
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of our code."""
    kept: list[TracebackType] = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame.f_code):
            kept.append(traceback)
        traceback = traceback.tb_next
    following: TracebackType | None = None
    for each in reversed(kept):
        following = TracebackType(following, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return following
