"""Circumstances: what the outcome of a call depends on besides its arguments and the store.

While a call is run, it notes here which properties of the frames around it have been used. Another
call has the same outcome only if it has the same values of these properties; the others may differ.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.dataclasses import dataclass, field
from namecheck.interpreter.evaluation.frames import Frame, Guard

# Loops in so many other loops or more are all run in the same way (`evaluation.loops`).
DEEPEST_LOOP: Final = 2


@dataclass(slots=True)
class Circumstances:
    """The properties of the surrounding frames that were used while one call was run.

    `cut` are the functions whose bodies were not run, as they had too many frames already; with
    `is_cut` a body was not run because the call stack was too deep, with `is_handed_on` because
    unknown code would have called it within other functions that it calls. In an `unrolled` call
    a loop was run item by item, which depends on the loops around it. In a `guarded` one a guard
    was looked up. With `at_site` the outcome depends on the node of the call, with `heard` on
    whether findings are reported: a call of None ends the path if not. `rounds` are the numbers of
    the rounds of loops that the outcome depends on.
    """

    node: object
    cut: set[ast.AST] = field(default_factory=set)
    is_cut: bool = False
    is_handed_on: bool = False
    unrolled: bool = False
    guarded: bool = False
    at_site: bool = False
    heard: bool = False
    rounds: set[int] = field(default_factory=set)

    def include(self, nested: Circumstances) -> None:
        """Add the properties that a call within this one has used."""
        self.cut |= nested.cut
        self.is_cut |= nested.is_cut
        self.is_handed_on |= nested.is_handed_on
        self.unrolled |= nested.unrolled
        self.guarded |= nested.guarded
        self.heard |= nested.heard
        self.rounds |= nested.rounds

    def answers(self, frame: Frame) -> Answers:
        """The values, for a call in this frame, of the properties that were used."""
        return Answers(
            self.node if self.at_site else None,
            depth(frame) if self.is_cut else None,
            handed_on(frame) if self.is_handed_on else None,
            tuple((scope, times_entered(scope, frame)) for scope in self.cut),
            loops_around(frame) if self.unrolled else None,
            tuple(frame.deep_guards()) if self.guarded else None,
        )


@dataclass(frozen=True, slots=True)
class Answers:
    """The values of the properties that a call has used; None for one that it has not."""

    node: object
    depth: int | None
    handed_on: int | None
    entered: tuple[tuple[ast.AST, int], ...]
    loops: int | None
    guards: tuple[Guard, ...] | None

    def hold(self, call_node: object, frame: Frame) -> bool:
        """Whether another call has the same values.

        Where a body was not run, a deeper call suffices: it would run no more bodies than this one.
        """
        return (
            (self.node is None or self.node is call_node)
            and (self.depth is None or depth(frame) >= self.depth)
            and (self.handed_on is None or handed_on(frame) >= self.handed_on)
            and all(times_entered(scope, frame) >= times for scope, times in self.entered)
            and (self.loops is None or loops_around(frame) == self.loops)
            and (self.guards is None or tuple(frame.deep_guards()) == self.guards)
        )


def depth(frame: Frame) -> int:
    """The number of frames on the call stack of a frame, itself included."""
    return sum(1 for _ in frame.stack())


def times_entered(definition: ast.AST, frame: Frame) -> int:
    """How many frames of a function are on the call stack of a frame."""
    return sum(entered.environment.scope is definition for entered in frame.stack())


def handed_on(frame: Frame) -> int:
    """How many frames on the call stack are of calls by unknown code, entry points included.

    Such a call has the definition of the function as its site.
    """
    return sum(entered.site is entered.environment.scope for entered in frame.stack())


def loops_around(frame: Frame) -> int:
    """How many loops are running in a frame and its callers, at most `DEEPEST_LOOP`."""
    return min(sum(len(entered.breaks) for entered in frame.stack()), DEEPEST_LOOP)


def root(frame: Frame) -> int | None:
    """The environment of the entry point or top level that led to a frame; None for a method's.

    The call of an entry point has the definition of the function as its site.
    """
    outermost = frame
    while outermost.caller is not None and outermost.site is not outermost.environment.scope:
        outermost = outermost.caller
    environment = outermost.environment
    return None if environment.cls is not None else environment.number
