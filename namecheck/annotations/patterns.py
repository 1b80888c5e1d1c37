"""The string of one tensor, ``"batch *spatial C=3"``, read into a `Pattern`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, TypeAlias

from namecheck.annotations import expressions
from namecheck.annotations.expressions import Expression, Operation, Term
from namecheck.core import sizes
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import (
    ANY_DIM,
    Dim,
    Dims,
    axis,
    merged,
    new_dim,
    own_size,
    with_occurrences,
)
from namecheck.core.names import UNKNOWN, Axis, Name, word


class AnnotationError(ValueError):
    """A string outside the annotation language; the message says what to write."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension: ``N``, ``4``, ``N=4``, ``h*w``, ``#N``; ``_`` has neither name nor size.

    `broadcast` is the mark ``#``: the dimension may also have the size 1.
    """

    name: str | None = None
    size: Expression | None = None
    broadcast: bool = False

    @property
    def fixed(self) -> int | None:
        """The size, where it is a number."""
        term = self.size.term if self.size else None
        return term if isinstance(term, int) else None

    @property
    def text(self) -> str:
        """The dimension in its source form."""
        parts = "=".join([*filter(None, [self.name]), *([self.size.text] if self.size else [])])
        return ("#" if self.broadcast else "") + (parts or "_")


@dataclass(frozen=True, slots=True)
class Several:
    """Any number of dimensions: ``*name``, ``*#name``; ``...`` has no name."""

    name: str | None = None
    broadcast: bool = False

    @property
    def text(self) -> str:
        """The dimensions in their source form."""
        if self.name is None:
            return "..."
        return f"*{'#' if self.broadcast else ''}{self.name}"


Item: TypeAlias = Dimension | Several
_NOTHING: Final[Mapping[str, Dim]] = {}


@dataclass(frozen=True, slots=True)
class Pattern:
    """The dimensions of one tensor: those before and those after the one `Several`."""

    before: tuple[Dimension, ...] = ()
    several: Several | None = None
    after: tuple[Dimension, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, in order."""
        return self.before + ((self.several,) if self.several else ()) + self.after

    @property
    def min_rank(self) -> int:
        """The minimal number of dimensions."""
        return len(self.before) + len(self.after)

    @property
    def text(self) -> str:
        """The pattern in its source form, with single spaces."""
        return " ".join(item.text for item in self.items)

    @property
    def axes(self) -> frozenset[str]:
        """The names of all its axes, those in expressions included."""
        axis_names: set[str] = set()
        for item in self.before + self.after:
            axis_names |= {item.name} if item.name else set()
            axis_names |= item.size.axes if item.size else set()
        return frozenset(axis_names)

    def dims(
        self,
        axes: Mapping[str, Dim] = _NOTHING,
        run: tuple[Dim, ...] | None = None,
    ) -> Dims:
        """The dims of a tensor with this declaration.

        A dimension has the name that `axes` maps it to, else it is an axis of its own size. `run`
        are the dims of ``*name``, if known. A dimension with ``#`` may be another dim of size 1, so
        its name is unknown.
        """
        before = tuple(_declared(item, axes) for item in self.before)
        after = tuple(_declared(item, axes) for item in self.after)
        if self.several and (run is None or self.several.broadcast):
            return with_occurrences(Dims(before, after, True))
        return with_occurrences(Dims(before + (run or ()) + after))

    @staticmethod
    def of(dims: Dims) -> Pattern:
        """The pattern that declares the dims of this tensor; a name without a size is an axis."""
        several = Several() if dims.open else None
        return Pattern(
            tuple(map(_dimension, dims.prefix)), several, tuple(map(_dimension, dims.suffix))
        )


def _declared(dimension: Dimension, axes: Mapping[str, Dim]) -> Dim:
    if dimension.broadcast or (dimension.name is None and dimension.size is None):
        return ANY_DIM
    if dimension.size is None:
        return _axis(str(dimension.name), axes)
    computed = _computed(dimension.size.term, axes)
    if dimension.name is None:
        return computed
    name = _axis(dimension.name, axes).name
    if isinstance(name, Axis) and word(name) == dimension.name:
        name = replace(name, size=dimension.fixed)  # unless part of a larger one
    return replace(computed, name=name)


def _axis(name: str, axes: Mapping[str, Dim]) -> Dim:
    return axes[name] if name in axes else axis(name)


def _computed(term: Term, axes: Mapping[str, Dim]) -> Dim:
    """The dim of a computed size; for a product it is the merged dim of its factors."""
    if term is None:
        return ANY_DIM
    if isinstance(term, str):
        return _axis(term, axes)
    if isinstance(term, Operation) and term.operator == "*":
        return merged([_computed(term.left, axes), _computed(term.right, axes)])
    return new_dim(expressions.symbolic(term, {name: dim.size for name, dim in axes.items()}))


def _dimension(dim: Dim) -> Dimension:
    if isinstance(dim.name, Axis) and dim.size == own_size(dim.name):
        return _called(dim.name, None)
    if isinstance(dim.size, sizes.Expression):
        return Dimension(
            dim.name if isinstance(dim.name, str) else None, expressions.read(str(dim.size))
        )
    return _called(dim.name, None if dim.size is UNKNOWN else expressions.read(str(dim.size)))


def _called(name: Name, expression: Expression | None) -> Dimension:
    text = word(name)
    if text is None or text.isidentifier():
        return Dimension(text, expression)
    return Dimension(None, expression or expressions.read(text))


_MARKS: Final = r"[#*?_]*"


@cache
def parse(text: str) -> Pattern:
    """Parse a pattern, ``""`` for a scalar; raises `AnnotationError`."""
    leading: list[Dimension] = []
    trailing: list[Dimension] = []
    several: Several | None = None
    for item in _items(text):
        if isinstance(item, Dimension):
            (trailing if several else leading).append(item)
        elif several is None:
            several = item
        else:
            raise AnnotationError(
                f"'{several.text}' and '{item.text}' in \"{text}\": only one item can stand for "
                "several dimensions"
            )
    return Pattern(tuple(leading), several, tuple(trailing))


def _items(text: str) -> Iterator[Item]:
    for item_text in text.split():
        try:
            yield _item(item_text)
        except (AnnotationError, SyntaxError) as error:
            reason = (
                error if isinstance(error, AnnotationError) else "no name, number or expression"
            )
            raise AnnotationError(f"'{item_text}' in \"{text}\": {reason}") from None


def _item(item_text: str) -> Item:
    if item_text == "...":
        return Several()
    if "," in item_text and "(" not in item_text:
        raise AnnotationError("dimensions are separated by spaces, not by commas")
    marks = re.match(_MARKS, item_text)
    assert marks is not None
    # A name may begin with an underscore only where it is ignored.
    mark, rest = marks[0], item_text[marks.end() :]
    if any(mark.count(each) > 1 for each in "#*?") or mark.count("_") > 1:
        raise AnnotationError("a mark is repeated")
    broadcast, anonymous = "#" in mark, "_" in mark or "?" in mark
    name, size = _name_and_size(rest) if rest else (None, None)
    if not rest and not anonymous:
        raise AnnotationError(f"a name has to follow '{mark}'")
    if "*" in mark:
        if size is not None:
            raise AnnotationError("several dimensions have no common size")
        return Several(None if anonymous else name, broadcast and not anonymous)
    if anonymous:
        return Dimension()
    return Dimension(name, size, broadcast)


def _name_and_size(item_text: str) -> tuple[str | None, Expression | None]:
    name, equals, size = item_text.partition("=")
    if not equals or size.startswith("="):
        if item_text.isidentifier():
            return item_text, None
        return None, _size(item_text)
    if not name.isidentifier():
        raise AnnotationError(f"'{name}' is no name")
    return name, _size(size)


def _size(item_text: str) -> Expression:
    if "{" in item_text:
        return Expression(item_text, None)  # jaxtyping fills it in from the arguments of the call
    return expressions.read(item_text)
