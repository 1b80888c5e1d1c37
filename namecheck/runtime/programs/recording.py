"""Records the names of a running program, expression by expression.

Inside of `recording` every operator of torch infers names, and every call from the watched files
is noted at its expression, which the position of the running instruction gives. Contradictions
are noted and not raised, except those that the program itself would catch: the program runs as
under `namecheck.install`.
"""

from __future__ import annotations

import ast
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
from namecheck.runtime.programs.activations import Activations
from namecheck.runtime.programs.exception_handlers import ExceptionHandlers
from namecheck.runtime.programs.instructions import (
    Expression,
    Instructions,
    is_call_of,
    is_value_of,
    position_of,
)

# A file name, as code objects have it, and a position in that file.
Place: TypeAlias = tuple[str, Position]

# The number of different values that are kept for one expression.
_MOST_VALUES: Final = 64

# The attributes with which a program reads names.
_READS: Final = frozenset({"names", "has_names"})

# Methods that return no tensor and have no names, but may raise an error.
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

# Whether all names of the operands of the running call are known.
_operands_known: ContextVar[bool] = ContextVar("namecheck_operands_known", default=True)


@dataclass(slots=True)
class Seen:
    """The observations of a run about one expression.

    `values` are the different values with known names, as `Tensor`s and tuples of these, `findings`
    the contradictions between known names, `errors` the other exceptions. `clean` is True once an
    operator had operands with known names and no contradiction.
    """

    values: dict[Any, None] = field(default_factory=dict)
    findings: dict[Finding, None] = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)
    clean: bool = False
    contradictions: int = 0
    keys: set[Hashable] = field(default_factory=set)


class Recording:
    """The observations about the expressions of the watched files.

    After a contradiction names are unknown. If the program reads such names it may take another
    path than it otherwise would; recording then ends, and `lost` is that position.
    """

    def __init__(self) -> None:
        self.watch({})

    def watch(self, sources: Mapping[str, Source]) -> None:
        """Watch these files from now on; their names are those of their code objects.

        More files than are listed may be among them, which are parsed when they are looked at.
        """
        self._sources = sources
        self.seen: dict[str, dict[Position, Seen]] = {name: {} for name in sources}
        self._instructions = Instructions(sources)
        self.activations = Activations(sources.__contains__, self._running_call)
        self._handlers = ExceptionHandlers(sources)
        self.lost: Place | None = None
        self._noted: set[Finding] = set()
        self._last: BaseException | None = None

    def _of(self, frame: FrameType, expression: Expression) -> Seen:
        by_position = self.seen.setdefault(frame.f_code.co_filename, {})
        return by_position.setdefault(position(expression), Seen())

    def _running_call(self, frame: FrameType) -> Position | None:
        """The call that a frame is running."""
        node = self._instructions.running(frame)
        return position(node) if isinstance(node, ast.Call) else None

    # Calls

    def observing(self, attribute: str, callee: Callable[..., Any]) -> Callable[..., Any]:
        """A wrapper of a callable of torch that notes its calls from the watched files."""

        def observed(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if self.lost or frame.f_code.co_filename not in self._sources:
                return callee(*args, **kwargs)
            if attribute in _READS and self._noted and not _has_known_names(args):
                self._lose(frame)
            return self._call(
                frame,
                callee,
                args,
                kwargs,
                lambda node: is_value_of(node, attribute, observed, frame),
            )

        return functools.update_wrapper(observed, callee)

    def observing_modules(self, callee: Callable[..., Any]) -> Callable[..., Any]:
        """A wrapper of ``nn.Module.__call__`` that notes its calls from the watched files."""

        def observed(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if self.lost or frame.f_code.co_filename not in self._sources:
                return callee(*args, **kwargs)
            return self._call(
                frame, callee, args, kwargs, lambda node: is_call_of(node, args[0], frame)
            )

        return functools.update_wrapper(observed, callee)

    def _call(
        self,
        frame: FrameType,
        callee: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        gives_value: Callable[[Expression], bool],
    ) -> Any:
        node = self._instructions.running(frame)
        if node is None:
            return callee(*args, **kwargs)
        seen = self._of(frame, node)
        operands_known = _has_known_names((*args, *kwargs.values()))
        before = seen.contradictions
        token = _operands_known.set(operands_known)
        try:
            result = callee(*args, **kwargs)
        except Exception as error:
            self._failed(error, seen)
            raise
        finally:
            _operands_known.reset(token)
        if self.lost:
            return result
        # The names of the result of a contradiction are unknown, also where it has no dims.
        if seen.contradictions == before:
            seen.clean |= operands_known
            if gives_value(node):
                _note_value(seen, result)
                is_plain = isinstance(result, torch.Tensor) and not result.is_nested
                shape = tuple(map(int, result.shape)) if is_plain else None
                self.activations.note(frame, position(node), shape)
        return result

    def _lose(self, frame: FrameType) -> None:
        self.lost = self._place(frame.f_code, frame.f_lasti, frame.f_lineno)

    def _place(self, code: CodeType, offset: int, line: int) -> Place:
        """The place of an instruction: its expression, else the position that Python has."""
        node = self._instructions.at(code, offset)
        if node is not None:
            return code.co_filename, position(node)
        return code.co_filename, position_of(code, offset) or Position(line, 0, line, 0)

    def _failed(self, error: BaseException, seen: Seen) -> None:
        """Note an error at the innermost expression that it passes through."""
        if error is self._last or self.lost:
            return
        self._last = error
        if not isinstance(error, Contradicted):
            _note_error(seen, error)
        elif error.finding not in self._noted:
            self._note_finding(error.finding, seen)

    # Contradictions

    def contradicted(self, finding: Finding) -> None:
        """Note a contradiction, and raise it if the program would catch it."""
        frame = self.note(finding)
        error = error_of(finding)
        if frame is not None and self._handlers.catches(frame, type(error)):
            raise error

    def note(self, finding: Finding) -> FrameType | None:
        """Note a contradiction; the frame of the program in which it occurred."""
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
        if _operands_known.get():
            seen.findings[finding] = None
        else:
            _note_error(seen, error_of(finding))

    def ended(self, error: BaseException) -> Place | None:
        """Note an error that ended the program at the innermost expression; its place."""
        innermost = None
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename in self._sources:
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


class _ForwardingRecord(Record):
    """A record that forwards every contradiction to a recording."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def add(self, finding: Finding) -> bool:
        """Count a finding; True if its position and message are new."""
        first = super().add(finding)
        self._recording.contradicted(finding)
        return first

    def observe(self, finding: Finding) -> None:
        """Note a finding that goes to a record of the program itself."""
        self._recording.note(finding)


def _note_error(seen: Seen, error: BaseException) -> None:
    seen.errors[f"{type(error).__name__}: {error}"] = None


def _note_value(seen: Seen, value: Any) -> None:
    if not _holds_tensor(value) or len(seen.values) >= _MOST_VALUES:
        return
    key = tensor_attributes.key_of(value)
    if key not in seen.keys and _has_known_names(value):
        seen.keys.add(key)
        seen.values[tensor_attributes.abstract_value(value)] = None


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, (tuple, list)) and any(map(_holds_tensor, value))


def _has_known_names(value: Any) -> bool:
    """Whether all names of all tensors in a value are known."""
    if isinstance(value, torch.Tensor):
        names = tensor_names.names_of(value)
        return names is not None and tensor_names.UNKNOWN_NAME not in names
    return all(map(_has_known_names, value)) if isinstance(value, (tuple, list)) else True


@contextmanager
def recording(semantics: Semantics) -> Iterator[Recording]:
    """Infer the names of all tensors in a block, and record the calls of the watched files.

    Raises `shim.InstallError` if torch is patched already.
    """
    if TABLE.applied:
        raise shim.InstallError(
            "a recording needs a process without patches: uninstall namecheck first"
        )
    recorded = Recording()
    forwarding = _ForwardingRecord(recorded)
    with TABLE.lock:
        try:
            TABLE.apply(_observed(recorded, shim.patches(semantics, recording=True)))
        except BaseException:
            TABLE.restore()
            raise
        TABLE.holders, TABLE.semantics, TABLE.installed = 1, semantics, True
        TABLE.default, TABLE.record = "record", forwarding
    entry = modes.enter("record", forwarding)
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
    """Patches that observe their callables, and those of `_QUESTIONS` and of modules."""
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
            observed = recorded.observing(name, getattr(torch.Tensor, name))
            yield Patch(torch.Tensor, name, observed)
    module_call = recorded.observing_modules(torch.nn.Module.__call__)
    yield Patch(torch.nn.Module, "__call__", module_call)
    for name in ("install", "uninstall"):  # the program may call these: they have no effect
        yield Patch(namecheck.runtime, name, _nothing)


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing: the patches stay as they are."""


def _is_operators(patch: Patch) -> bool:
    """Whether a patch is of an operator; others only keep names in conversions."""
    owner = patch.owner
    in_torch = isinstance(owner, ModuleType) and owner.__name__.startswith("torch")
    is_class = isinstance(owner, type) and issubclass(owner, (torch.Tensor, torch.nn.Module))
    return (in_torch or is_class) and patch.attribute != "__repr__"


def _read(recorded: Recording, patch: Patch, accessor: Any) -> Any:
    if accessor is None:
        return None
    return recorded.observing(patch.attribute, accessor)
