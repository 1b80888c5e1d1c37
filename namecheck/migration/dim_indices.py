"""The replacements of dim names without names: indices, permutations and new dims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dims import Dims
from namecheck.rules.naming import is_ellipsis


class Unsettled(Exception):
    """The replacement of a place varies, or is unknown; the message says why."""


def complete(dims: Dims) -> Dims:
    """The dims; raises `Unsettled` where not all of them are known."""
    if not dims.complete:
        raise Unsettled("the names are not known")
    return dims


def places(word: Any, dims: Dims) -> tuple[int | None, int | None]:
    """The position of a dim, from the left and from the right; for an index, itself."""
    if isinstance(word, int) and not isinstance(word, bool):
        rank = dims.rank
        if rank is None:
            return (word, None) if word >= 0 else (None, word)
        return (word, word - rank) if word >= 0 else (word + rank, word)
    if not isinstance(word, str):
        raise Unsettled("the name of the dim is not known")
    same = [
        (part, index)
        for part in ("prefix", "suffix")
        for index, dim in enumerate(getattr(dims, part))
        if naming.word(dim.name) == word
    ]
    if len(same) != 1:
        raise Unsettled(f"the position of '{word}' is not known")
    [(part, index)] = same
    if part == "suffix":
        return None, index - len(dims.suffix)
    return index, None if dims.open else index - len(dims.prefix)


def indices(value: Any, dims: Dims, *, unordered: bool) -> tuple[str, ...]:
    """The possible replacements of a name, an index, or a list; in any order if `unordered`."""
    if not isinstance(value, (tuple, list)):
        return tuple(str(index) for index in places(value, dims) if index is not None)
    pairs = [places(word, dims) for word in value]
    options = []
    for side in range(2):
        chosen = [index for pair in pairs if (index := pair[side]) is not None]
        if len(chosen) == len(pairs):
            options.append(_tuple(list(map(str, sorted(chosen) if unordered else chosen))))
    if not options:
        raise Unsettled("the rank is not known")
    return tuple(options)


def ends(flattened: Sequence[Any], dims: Dims, *, by_keyword: bool) -> Iterator[str]:
    """The possible replacements of a list of adjacent names: the first and the last of them."""
    pairs = [places(word, dims) for word in (flattened[0], flattened[-1])]
    for side in range(2):
        start, end = (pair[side] for pair in pairs)
        if start is not None and end is not None:
            yield f"start_dim={start}, end_dim={end}" if by_keyword else f"{start}, {end}"


def _tuple(numerals: Sequence[str]) -> str:
    return f"({numerals[0]},)" if len(numerals) == 1 else f"({', '.join(numerals)})"


def alignment(dims: Dims, layout: Sequence[Any]) -> str:
    """The methods that bring dims into an order of names, which may contain new ones."""
    place = next((i for i, word in enumerate(layout) if is_ellipsis(word)), None)
    if place is not None and _is_in_place(dims, layout[:place], layout[place + 1 :]):
        return ""
    dims = complete(dims)
    words = [naming.word(dim.name) for dim in dims.prefix]
    layout_names = [word for word in layout if not is_ellipsis(word)]
    if any(not isinstance(word, str) for word in layout_names):
        raise Unsettled("the names to align to are not known")
    rest = [index for index, word in enumerate(words) if word is None or word not in layout_names]
    order: list[int | None] = []
    for word in layout:
        if is_ellipsis(word):
            order += rest
        else:
            order.append(words.index(word) if word in words else None)
    old = [index for index in order if index is not None]
    moved = "" if old == sorted(old) else f".permute({', '.join(map(str, old))})"
    new = [index for index, from_ in enumerate(order) if from_ is None]
    return moved + "".join(f".unsqueeze({index})" for index in new)


def _is_in_place(dims: Dims, front: Sequence[Any], back: Sequence[Any]) -> bool:
    """Whether the dims named before and after an Ellipsis are already there."""
    last = dims.suffix if dims.open else dims.prefix
    first = [naming.word(dim.name) for dim in dims.prefix]
    words = [naming.word(dim.name) for dim in last]
    if not dims.open and len(front) + len(back) > len(first):
        return False
    return first[: len(front)] == [*front] and words[len(words) - len(back) :] == [*back]
