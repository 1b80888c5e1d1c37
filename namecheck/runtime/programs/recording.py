"""What a running program makes of its tensors' names, expression by expression.

Inside of `recording` every operator of torch takes its names through the rules, and every call of
one from the files that are watched is noted at the expression that makes it, found by the
position of the running instruction. Contradictions are noted and not raised, but for those that
the program itself would catch: it goes on as it would under `namecheck.install`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias

import torch

import namecheck.runtime
from namecheck.core.findings import Finding
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Position, Source, position
from namecheck.runtime import shim
from namecheck.runtime.core import call_sites, modes, tensor_attributes, tensor_names
from namecheck.runtime.core.errors import Contradicted, error_of
from namecheck.runtime.core.modes import Record
from namecheck.runtime.core.patch_table import TABLE, Deferred, Patch
from namecheck.runtime.programs.exception_handlers import Catching
from namecheck.runtime.programs.instructions import (
    Expression,
    Instructions,
    is_call_of,
    is_value_of,
    position_of,
)

# A file by the name that its code objects have, and where in it.
Place: TypeAlias = tuple[str, Position]

# How many different values of one expression are kept.
_KINDS: Final = 64

# What tells names to the program.
_READS: Final = frozenset({"names", "has_names"})

# What gives no tensor and has no names of its own, but may refuse a tensor.
_QUESTIONS: Final = (
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "__len__",
    "__iter__",
    "item",
    "tolist",
)


# Whether the names of all operands are known to the call that is being made.
_informed: ContextVar[bool] = ContextVar("namecheck_informed", default=True)


@dataclass(slots=True)
class Seen:
    """What a run saw of one expression.

    `values` are the different values of which all names were known, as `Tensor`s and tuples of
    these; `findings` the contradictions between known names, `errors` what else was raised. It was
    `clean` if once an operator knew the names of all its operands and did not contradict them.
    """

    values: dict[Any, None] = field(default_factory=dict)
    findings: dict[Finding, None] = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)
    clean: bool = False
    contradictions: int = 0
    keys: set[Hashable] = field(default_factory=set)


class Recording:
    """What is seen of the expressions of the files that are watched.

    Behind a contradiction names are unknown. Where a program reads such names (`lost`) it may go
    another way than it would have gone, and nothing is noted any more.
    """

    def __init__(self) -> None:
        self.watch({})

    def watch(self, sources: Mapping[str, Source]) -> None:
        """Watch these files from here on, by the names that their code objects have."""
        self.seen: dict[str, dict[Position, Seen]] = {name: {} for name in sources}
        self._instructions = Instructions(sources)
        self._catching = Catching(sources)
        self.lost: Place | None = None
        self._noted: set[Finding] = set()
        self._last: BaseException | None = None

    def _of(self, frame: FrameType, node: Expression) -> Seen:
        return self.seen[frame.f_code.co_filename].setdefault(position(node), Seen())

    # Calls

    def observing(self, attribute: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A callable of torch whose calls from the watched files are noted."""

        def observed(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if self.lost or frame.f_code.co_filename not in self.seen:
                return function(*args, **kwargs)
            if attribute in _READS and self._noted and not _is_known(args):
                self._lose(frame)
            return self._call(
                frame,
                function,
                args,
                kwargs,
                lambda node: is_value_of(node, attribute, observed, frame),
            )

        return functools.update_wrapper(observed, function)

    def observing_modules(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``nn.Module.__call__``, noted likewise."""

        def observed(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if self.lost or frame.f_code.co_filename not in self.seen:
                return function(*args, **kwargs)
            return self._call(
                frame, function, args, kwargs, lambda node: is_call_of(node, args[0], frame)
            )

        return functools.update_wrapper(observed, function)

    def _call(
        self,
        frame: FrameType,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        gives_value: Callable[[Expression], bool],
    ) -> Any:
        node = self._instructions.running(frame)
        if node is None:
            return function(*args, **kwargs)
        seen = self._of(frame, node)
        informed = _is_known((*args, *kwargs.values()))
        before = seen.contradictions
        token = _informed.set(informed)
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            self._failed(error, seen)
            raise
        finally:
            _informed.reset(token)
        if self.lost:
            return result
        if informed and seen.contradictions == before:
            seen.clean = True
        if gives_value(node):
            _note_value(seen, result)
        return result

    def _lose(self, frame: FrameType) -> None:
        self.lost = self._place(frame.f_code, frame.f_lasti, frame.f_lineno)

    def _place(self, code: CodeType, offset: int, line: int) -> Place:
        """Where an instruction stands: its expression, else what Python tells of it."""
        node = self._instructions.at(code, offset)
        if node is not None:
            return code.co_filename, position(node)
        return code.co_filename, position_of(code, offset) or Position(line, 0, line, 0)

    def _failed(self, error: BaseException, seen: Seen) -> None:
        """An error passes through an expression: it belongs to the innermost one."""
        if error is self._last or self.lost:
            return
        self._last = error
        if not isinstance(error, Contradicted):
            _note_error(seen, error)
        elif error.finding not in self._noted:
            self._note_finding(error.finding, seen)

    # Contradictions

    def contradicted(self, finding: Finding) -> None:
        """A contradiction was met; raises it where the program would catch it."""
        frame = self.note(finding)
        error = error_of(finding)
        if frame is not None and self._catching.catches(frame, type(error)):
            raise error

    def note(self, finding: Finding) -> FrameType | None:
        """A contradiction was met, and is noted; the frame of the program that it was met in."""
        frame = call_sites.user_frame()
        if frame is None:
            return None
        node = self._instructions.running(frame)
        if node is not None and not self.lost:
            self._note_finding(finding, self._of(frame, node))
        return frame

    def _note_finding(self, finding: Finding, seen: Seen) -> None:
        self._noted.add(finding)
        seen.contradictions += 1
        if _informed.get():
            seen.findings[finding] = None
        else:
            _note_error(seen, error_of(finding))

    def ended(self, error: BaseException) -> Place | None:
        """The program ended with an error: note it at the innermost expression, and tell where."""
        innermost = None
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename in self.seen:
                innermost = traceback
            traceback = traceback.tb_next
        if innermost is None:
            return None
        frame = innermost.tb_frame
        node = self._instructions.at(frame.f_code, innermost.tb_lasti)
        if node is not None:
            self._failed(error, self._of(frame, node))
        self._last = None
        return self._place(frame.f_code, innermost.tb_lasti, innermost.tb_lineno)


class _Met(Record):
    """Hands every contradiction on to a recording."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def add(self, finding: Finding) -> bool:
        """Enter a finding; whether it is the first of its kind at its place."""
        first = super().add(finding)
        self._recording.contradicted(finding)
        return first

    def observe(self, finding: Finding) -> None:
        """Hear of a finding that the program itself takes, in a block of its own."""
        self._recording.note(finding)


def _note_error(seen: Seen, error: BaseException) -> None:
    seen.errors[f"{type(error).__name__}: {error}"] = None


def _note_value(seen: Seen, value: Any) -> None:
    if not _holds_tensor(value) or len(seen.values) >= _KINDS:
        return
    key = tensor_attributes.key_of(value)
    if key not in seen.keys and _is_known(value):
        seen.keys.add(key)
        seen.values[tensor_attributes.abstract_value(value)] = None


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, (tuple, list)) and any(map(_holds_tensor, value))


def _is_known(value: Any) -> bool:
    """Whether all names of all tensors in a real value are known."""
    if isinstance(value, torch.Tensor):
        names = tensor_names.names_of(value)
        return names is not None and tensor_names.UNKNOWN_NAME not in names
    return all(map(_is_known, value)) if isinstance(value, (tuple, list)) else True


@contextmanager
def recording(semantics: Semantics) -> Iterator[Recording]:
    """Let the names of all tensors be inferred, and what watched files do with them be noted.

    Raises `shim.InstallError` where the names are on torch already.
    """
    if TABLE.applied:
        raise shim.InstallError("a program is recorded in a process of its own: uninstall first")
    recorded = Recording()
    met = _Met(recorded)
    with TABLE.lock:
        try:
            TABLE.apply(_observed(recorded, shim.patches(semantics, recording=True)))
        except BaseException:
            TABLE.restore()
            raise
        TABLE.holders, TABLE.semantics, TABLE.installed = 1, semantics, True
        TABLE.default, TABLE.record = "record", met
    entry = modes.enter("record", met)
    try:
        yield recorded
    finally:
        modes.leave(entry)
        with TABLE.lock:
            TABLE.restore()
            TABLE.holders, TABLE.semantics, TABLE.installed = 0, Semantics.NAMECHECK, False
            TABLE.default, TABLE.record = "off", Record()


def _observed(
    recorded: Recording, patches: Iterable[Patch | Deferred]
) -> Iterator[Patch | Deferred]:
    """Patches whose callables are observed; those of questions and of modules besides."""
    patched = set()
    for patch in patches:
        if isinstance(patch, Deferred):
            yield patch
            continue
        new = patch.replacement
        if isinstance(new, property):
            new = property(_read(recorded, patch, new.fget), _read(recorded, patch, new.fset))
        elif isinstance(new, FunctionType) and _is_operators(patch):
            new = recorded.observing(patch.attribute, new)
        patched.add((id(patch.owner), patch.attribute))
        yield Patch(patch.owner, patch.attribute, new)
    for name in _QUESTIONS:
        if (id(torch.Tensor), name) not in patched:
            asked = recorded.observing(name, getattr(torch.Tensor, name))
            yield Patch(torch.Tensor, name, asked)
    called = recorded.observing_modules(torch.nn.Module.__call__)
    yield Patch(torch.nn.Module, "__call__", called)
    for name in ("install", "uninstall"):  # a program may do this itself, and then it is done
        yield Patch(namecheck.runtime, name, _nothing)


def _nothing(*_: Any, **__: Any) -> None:
    """Names are there, and stay."""


def _is_operators(patch: Patch) -> bool:
    """Whether a function may be an operator: the names are to survive in other places as well."""
    owner = patch.owner
    homes = isinstance(owner, ModuleType) and owner.__name__.startswith("torch")
    is_class = isinstance(owner, type) and issubclass(owner, (torch.Tensor, torch.nn.Module))
    return (homes or is_class) and patch.attribute != "__repr__"


def _read(recorded: Recording, patch: Patch, accessor: Any) -> Any:
    if accessor is None:
        return None
    return recorded.observing(patch.attribute, accessor)
