"""The shapes of the expressions of each activation: of one run of one function.

Within it a size that is read has one value, so that two shapes can be compared.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Final, TypeAlias

import torch

from namecheck.core.syntax import Position

Shape: TypeAlias = tuple[int, ...]
# The different shapes of each expression, in the order of their first evaluation.
Shapes: TypeAlias = Mapping[Position, tuple[Shape, ...]]
# The expression that a frame is running, where it is known.
FindRunning: TypeAlias = Callable[[FrameType], Position | None]

# How many activations of one function are kept.
_MOST: Final = 64
# Between a call and the function that it runs there may be frames of these, and no others.
_NN: Final = os.path.join(os.path.dirname(torch.__file__), "nn", "modules", "")
_HANDING_ON: Final = (
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep,
    *[_NN + file for file in ("module.py", "container.py")],
    os.path.join(os.path.dirname(torch.__file__), "utils", "_contextlib.py"),
)
_TOP_LEVEL: Final = "<module>"
# Frames of these run parts of the function around them; Python 3.12 has no frames of lists.
_PARTS: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


@dataclass(slots=True, eq=False)
class Activation:
    """One run of a function of a file, or of the top level.

    `site` is the expression of `caller` that called it; None if other code did, or if that is
    unknown.
    """

    filename: str
    is_top_level: bool
    caller: Activation | None = None
    site: Position | None = None
    shapes: dict[Position, tuple[Shape, ...]] = field(default_factory=dict)


class Activations:
    """The activations of the functions of some files, as they are noted.

    A frame is held until the next function begins after its end: another one that Python makes in
    its place would be taken for the same.
    """

    def __init__(
        self,
        is_watched: Callable[[str], bool] = lambda filename: True,
        running: FindRunning = lambda frame: None,
    ) -> None:
        self.each: list[Activation] = []
        self._is_watched = is_watched
        self._running = running
        self._live: dict[int, tuple[FrameType, Activation]] = {}
        self._begun: Counter[CodeType] = Counter()

    def note(self, frame: FrameType, position: Position, shape: Shape | None) -> None:
        """Note the shape of an expression that a frame has evaluated; None if it has none."""
        activation = self._of(frame)
        if activation is None:
            return
        shapes = activation.shapes.setdefault(position, ())
        if shape is not None and shape not in shapes:
            activation.shapes[position] = (*shapes, shape)

    def _of(self, frame: FrameType) -> Activation | None:
        """The activation of a frame; None where too many of its function are known."""
        live = self._live.get(id(frame))
        if live is not None:
            return live[1]
        stack = frozenset(map(id, _stack(frame)))
        self._live = {number: live for number, live in self._live.items() if number in stack}
        around = frame.f_back
        if around is not None and _is_part(frame.f_code, around.f_code):
            return self._of(around)
        self._begun[frame.f_code] += 1
        if self._begun[frame.f_code] > _MOST:
            return None
        activation = self._begin(frame)
        self._live[id(frame)] = frame, activation
        self.each.append(activation)
        return activation

    def _begin(self, frame: FrameType) -> Activation:
        """A new activation, with that of its caller if this is in the files, too."""
        filename = frame.f_code.co_filename
        if frame.f_code.co_name == _TOP_LEVEL:
            return Activation(filename, True)
        for around in _stack(frame.f_back):
            if self._is_watched(around.f_code.co_filename):
                caller = self._of(around)
                site = None if caller is None else self._running(around)
                return Activation(filename, False, caller, site)
            if not around.f_code.co_filename.startswith(_HANDING_ON):
                break
        return Activation(filename, False)

    def ended(self) -> list[Activation]:
        """All activations; all frames are let go."""
        self._live = {}
        return self.each


def _is_part(code: CodeType, code_around: CodeType) -> bool:
    """Whether a code object is that of a comprehension in another one."""
    return code.co_name in _PARTS and code in code_around.co_consts


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that wait for it."""
    while frame is not None:
        yield frame
        frame = frame.f_back
