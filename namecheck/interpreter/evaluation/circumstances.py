"""What the outcome of a call depends on besides its arguments and the store: where it stands.

A call that is followed notes here what it asked of the calls and loops around it. Only what was
asked must be the same around another call, if that is to have the same outcome.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.dataclasses import dataclass, field
from namecheck.interpreter.evaluation.frames import Frame, Guard

# From so many loops around it on, each loop is followed alike (`evaluation.loops`).
DEEPEST_LOOP: Final = 2


@dataclass(slots=True)
class Circumstances:
    """What was asked of what stands around one call, while it was followed.

    `cut` are the functions that were not followed any more, as they stood too often among the
    calls already, or as the calls were too many (`is_cut`). In an `unrolled` one items of a loop
    were followed one by one, in a `guarded` one it was asked whether an error is expected. With
    `at_site` it speaks of the very place of the call.
    """

    node: object
    cut: set[ast.AST] = field(default_factory=set)
    is_cut: bool = False
    unrolled: bool = False
    guarded: bool = False
    at_site: bool = False

    def include(self, nested: Circumstances) -> None:
        """Note what a call within this one has asked."""
        self.cut |= nested.cut
        self.is_cut |= nested.is_cut
        self.unrolled |= nested.unrolled
        self.guarded |= nested.guarded

    def answers(self, frame: Frame) -> Answers:
        """What was asked, with what it is for a call in this frame."""
        return Answers(
            self.node if self.at_site else None,
            depth(frame) if self.is_cut else None,
            tuple((scope, times_entered(scope, frame)) for scope in self.cut),
            loops_around(frame) if self.unrolled else None,
            tuple(frame.deep_guards()) if self.guarded else None,
        )


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked of what stands around a call, and what that was there; None if not asked."""

    node: object
    depth: int | None
    entered: tuple[tuple[ast.AST, int], ...]
    loops: int | None
    guards: tuple[Guard, ...] | None

    def hold(self, call_node: object, frame: Frame) -> bool:
        """Whether they hold for another call.

        Where a call was cut, one that stands deeper would be cut earlier, and say less.
        """
        return (
            (self.node is None or self.node is call_node)
            and (self.depth is None or depth(frame) >= self.depth)
            and all(times_entered(scope, frame) >= times for scope, times in self.entered)
            and (self.loops is None or loops_around(frame) == self.loops)
            and (self.guards is None or tuple(frame.deep_guards()) == self.guards)
        )


def depth(frame: Frame) -> int:
    """How many calls lead to a frame; it counts itself."""
    return sum(1 for _ in frame.stack())


def times_entered(definition: ast.AST, frame: Frame) -> int:
    """How often a function is among the calls that lead to a frame."""
    return sum(entered.environment.scope is definition for entered in frame.stack())


def loops_around(frame: Frame) -> int:
    """How many loops are running where a frame is, those of its callers too, up to the deepest."""
    return min(sum(len(entered.breaks) for entered in frame.stack()), DEEPEST_LOOP)


def root(frame: Frame) -> int | None:
    """The environment of the run that a frame belongs to; None within a method of what was given.

    A call as from another file begins a run.
    """
    outermost = frame
    while outermost.caller is not None and outermost.site is not outermost.environment.scope:
        outermost = outermost.caller
    environment = outermost.environment
    return None if environment.cls is not None else environment.number
