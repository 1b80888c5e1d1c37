"""The shapes of the expressions of each activation: of one run of one function.

Within it a size that is read has one value, so that two shapes can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Final, TypeAlias

from namecheck.core.syntax import Position

Shape: TypeAlias = tuple[int, ...]
# The different shapes of each expression, in the order of their first evaluation.
Activation: TypeAlias = Mapping[Position, tuple[Shape, ...]]

# How many activations of one function are kept.
_MOST: Final = 64


class Activations:
    """The activations of the functions of a program, as they are noted.

    A frame is held until the next function begins after its end: another one that Python makes in
    its place would be taken for the same.
    """

    def __init__(self) -> None:
        self._noted: dict[str, list[dict[Position, tuple[Shape, ...]]]] = {}
        self._live: dict[int, tuple[FrameType, dict[Position, tuple[Shape, ...]]]] = {}
        self._begun: Counter[CodeType] = Counter()

    def note(self, frame: FrameType, position: Position, shape: Shape) -> None:
        """Note the shape of an expression that a frame has evaluated."""
        live = self._live.get(id(frame))
        if live is None:
            live = self._begin(frame)
            if live is None:
                return
        _, activation = live
        shapes = activation.get(position, ())
        if shape not in shapes:
            activation[position] = (*shapes, shape)

    def _begin(
        self, frame: FrameType
    ) -> tuple[FrameType, dict[Position, tuple[Shape, ...]]] | None:
        running = frozenset(map(id, _stack(frame)))
        self._live = {number: live for number, live in self._live.items() if number in running}
        self._begun[frame.f_code] += 1
        if self._begun[frame.f_code] > _MOST:
            return None
        activation: dict[Position, tuple[Shape, ...]] = {}
        self._noted.setdefault(frame.f_code.co_filename, []).append(activation)
        live = self._live[id(frame)] = frame, activation
        return live

    def ended(self) -> Mapping[str, list[Activation]]:
        """The different activations, by file; all frames are let go."""
        self._live = {}
        return {
            file: [dict(each) for each in dict.fromkeys(tuple(one.items()) for one in noted)]
            for file, noted in self._noted.items()
        }


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that wait for it."""
    while frame is not None:
        yield frame
        frame = frame.f_back
