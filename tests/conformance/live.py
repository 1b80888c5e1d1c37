"""The sides that run: the recorded calls on real tensors, under the shim or natively."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from tests.conformance import program
from tests.conformance.cases import Case, Raised
from tests.conformance.program import Placed
from tests.conformance.verdicts import Seen


def shim(semantics: Semantics) -> AbstractContextManager[Any]:
    """Install names on torch; raises ImportError where there is no torch."""
    context: AbstractContextManager[Any] = importlib.import_module("namecheck.runtime").runtime(
        "error", semantics=semantics
    )
    return context


def is_native() -> bool:
    """Whether torch has names of its own; raises ImportError where there is no torch."""
    native: bool = importlib.import_module("namecheck.runtime.patching.native_names").IS_NATIVE
    return native


def see(cases: Sequence[Case], *, native: bool) -> list[Seen]:
    """The outcome of each of these calls on real tensors.

    With `native` on a torch that still has names, else inside of `shim`.
    """
    written = program.write(cases)
    lines = written.text.splitlines()
    return [_made(call, lines, native=native) for call in written.calls]


def _made(call: Placed, lines: list[str], *, native: bool) -> Seen:
    replay = importlib.import_module("tests.conformance.replay")
    called = [*program.PREAMBLE, *lines[call.call_line - 1 : call.end_line - 1]]
    made = map(replay.tensor, call.case.inputs, call.case.requires_grad)
    ended = replay.run("\n".join(called), dict(zip(call.inputs, made, strict=True)))

    def held(name: str | None) -> Any:
        if name is None:
            return None
        value = ended.variables.get(name, UNKNOWN)
        return value if value is UNKNOWN else replay.described(value, native=native)

    return Seen(
        result=UNKNOWN if ended.error is not None else held(call.result),
        inputs=tuple(map(held, call.inputs)),
        raised=None if ended.error is None else _raised(ended.error),
    )


def _raised(error: Exception) -> Raised:
    """An exception, by its base type in torch."""
    for kind in (TypeError, IndexError, ValueError, NotImplementedError, RuntimeError):
        if isinstance(error, kind):
            return Raised(kind.__name__, str(error))
    return Raised(type(error).__name__, str(error))
