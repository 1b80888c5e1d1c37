"""What can put a finding right, by its code: each function proposes, and trials decide.

A function gives the fixes of one kind. Where more than one of a kind holds, none is offered, as it
cannot be told which is meant; the kinds are tried in their order here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from namecheck.core.findings import Finding, Fix
from namecheck.editing.sites import Site
from namecheck.fixes import (
    alignments,
    casts,
    dims,
    indices,
    installations,
    keepdims,
    memory_formats,
    placements,
    refinements,
    spellings,
    suppressions,
    transposes,
    views,
)

Maker: TypeAlias = Callable[[Finding, Site], Iterator[Fix]]

FIXES: Final[Mapping[str, tuple[Maker, ...]]] = {
    "NC010": (suppressions.without,),
    "NC101": (
        spellings.of_two,
        transposes.of_products,
        keepdims.kept,
        alignments.aligned,
        alignments.reordered,
        transposes.of_sums,
        dims.another,
    ),
    "NC102": (keepdims.kept, alignments.aligned, alignments.reordered, transposes.of_sums),
    "NC103": (spellings.of_dims,),
    "NC108": (spellings.of_alignments,),
    "NC109": (refinements.completed,),
    "NC110": (refinements.refined,),
    "NC112": (spellings.of_two, dims.another, dims.of_equations, transposes.of_arguments),
    "NC114": (indices.in_place_of_names,),
    "NC115": (views.transposed_behind, views.transposed_before),
    "NC201": (keepdims.kept, alignments.reordered),
    "NC207": (alignments.extended,),
    "NC305": (casts.cast,),
    "NC306": (spellings.of_dtypes,),
    "NC401": (placements.made, placements.moved),
    "NC402": (spellings.of_devices,),
    "NC403": (placements.to_host,),
    "NC501": (views.reshaped,),
    "NC502": (memory_formats.of_rank,),
    "NC504": (spellings.of_layouts,),
    "NC601": (dims.another,),
    "NC602": (keepdims.kept,),
    "NC701": (installations.installed,),
}
"""The kinds of fixes for each code, in the order in which they are tried."""

FIRST: Final[frozenset[Maker]] = frozenset(
    {
        dims.another,
        dims.of_equations,
        transposes.of_arguments,
        views.transposed_before,
        views.transposed_behind,
    }
)
"""Kinds that try many ways: they mend what was found, never what shows when something is gone."""


def described(code: str) -> tuple[str, ...]:
    """What the fixes of a code do, a sentence each."""
    return tuple(_sentence(maker) for maker in FIXES.get(code, ()))


def _sentence(maker: Maker) -> str:
    first = (maker.__doc__ or "").split("\n\n")[0]
    return " ".join(first.split()).replace("``", "`")
