"""Alignment by name: ``align_to``, ``align_as``, ``align_tensors``.

Sources: named_tensor.rst, "Explicit alignment by names"; torch's own checks, in their order
(recorded: align_to, align_as).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import OPEN, Dim, Dims
from namecheck.core.names import UNKNOWN, Contradiction, Name
from namecheck.core.tensors import Many, Tensor
from namecheck.rules import dim_map
from namecheck.rules.naming import ellipsis_index, resolve
from namecheck.rules.registry import rule


@rule(memory="moves")
def align_to(input: Tensor, names: Sequence[Any]) -> Dims:
    """The dims in the order of `names`, new ones of size 1 (named_tensor.rst, ``align_to``)."""
    place = ellipsis_index(names, "align_to")
    target_names = resolve(OPEN, names, "align_to")
    if place is None:
        return _aligned(input.dims, Dims.of(*target_names.front))
    return _aligned_around(input.dims, target_names.front, target_names.back)


@rule(memory="moves")
def align_as(input: Tensor, other: Tensor) -> Dims:
    """The dims in the order of those of `other` (named_tensor.rst, ``align_as``)."""
    return _aligned(input.dims, other.dims.rename(other.dims.names))


@rule(memory="moves")
def align_tensors(tensors: Sequence[Tensor] | Many) -> tuple[Dims, ...] | Many:
    """All tensors in the order of the one with the most dims (named_tensor.rst, in its plans)."""
    if isinstance(tensors, Many):
        return Many(Tensor())
    ranks = [tensor.dims.rank for tensor in tensors]
    if None in ranks or not tensors:
        return tuple(OPEN for _ in tensors)
    longest = max(tensors, key=lambda tensor: len(tensor.dims.prefix))
    return tuple(_aligned(tensor.dims, longest.dims) for tensor in tensors)


def _aligned(dims: Dims, model: Dims) -> Dims:
    """The dims in the order of `model`; all must be named, and all names must be in `model`."""
    _check_all_found(dims, model)
    naming.check_distinct(model.names)
    complete = dims.complete
    fresh = tuple(_found(dims, dim.name, complete) for dim in model.known)
    cut = len(model.prefix)
    return Dims(fresh[:cut], fresh[cut:], model.open)


def _check_all_found(dims: Dims, model: Dims) -> None:
    for position, dim in dims.walk():
        if dim.name is None:
            raise Contradiction(
                "NC109",
                f"align_to: All input dims must be named. Found unnamed dim at index {position} "
                f"of Tensor{dims.show()}",
                help="Name it with `refine_names`, or leave it to an Ellipsis in `align_to`.",
            )
        if dim.name is not UNKNOWN and _surely_lacks(model, dim.name):
            raise Contradiction(
                "NC108",
                f"align_to: Cannot find dim {naming.show_name(dim.name)} from Tensor"
                f"{model.show()} in desired alignment {model.show()}.",
                names=naming.words([dim.name]),
                help=f"The tensor's names are {dims.show()}; each must be in the alignment.",
            )
    if _too_few_remain(dims, model):
        raise Contradiction(
            "NC108",
            f"align_to: Cannot find all dims of Tensor{dims.show()} in desired alignment "
            f"{model.show()}.",
            help="Each dim of the tensor must have one of the names.",
        )


def _too_few_remain(dims: Dims, model: Dims) -> bool:
    """Whether fewer names of `model` remain than there are dims of unknown names."""
    if model.open or UNKNOWN in model.names:
        return False
    present = set(naming.words(dims.names))
    remaining = set(naming.words(model.names)) - present
    return sum(name is UNKNOWN for name in dims.names) > len(remaining)


def _surely_lacks(model: Dims, name: Name) -> bool:
    if model.open or any(other is UNKNOWN for other in model.names):
        return False
    return naming.word(name) not in map(naming.word, model.names)


def _found(dims: Dims, name: Name, complete: bool) -> Dim:
    """The dim called `name`, under this name; a new dim where there certainly is none."""
    if name is UNKNOWN:
        return Dim()
    for dim in dims.known:
        if name is not None and naming.word(dim.name) == naming.word(name):
            return dim if dim.name == name else replace(dim, name=name)
    if complete or name is None:
        return Dim(name, 1, purposeful=True)
    return Dim(name)


def _aligned_around(dims: Dims, front: tuple[Name, ...], back: tuple[Name, ...]) -> Dims:
    """The dims that are not listed replace the Ellipsis, in their order."""
    target_names = (*front, *back)
    if None in target_names:
        raise Contradiction(
            "NC109",
            "align_to: the desired order of dimensions cannot contain a None name, got "
            f"{naming.show(target_names)}",
            help="Leave the unnamed dims to the Ellipsis.",
        )
    certain = not dims.open and UNKNOWN not in (*dims.names, *target_names)
    words = set(naming.words(target_names))
    if certain:
        middle = Dims(tuple(dim for dim in dims.prefix if naming.word(dim.name) not in words))
    else:
        middle = _rest(dims, words, unknown=UNKNOWN in target_names)
    result = dim_map.joined(
        Dims(tuple(_found(dims, name, certain) for name in front)),
        middle,
        Dims(tuple(_found(dims, name, certain) for name in back)),
    )
    naming.check_distinct(result.names)
    return result


def _rest(dims: Dims, label_set: set[str], *, unknown: bool) -> Dims:
    """The dims that certainly remain without some dims: both ends up to the first uncertain dim."""
    if not dims.open and unknown and not dims.known:
        return dims
    prefix = _until_doubt(dims.prefix, label_set, unknown=unknown)
    back = dims.suffix if dims.open else ()
    suffix = _until_doubt(back[::-1], label_set, unknown=unknown)
    return Dims(prefix, suffix[::-1], True)


def _until_doubt(dims: Sequence[Dim], words: set[str], *, unknown: bool) -> tuple[Dim, ...]:
    certain: list[Dim] = []
    for dim in dims:
        if dim.name is UNKNOWN or (unknown and dim.name is not None):
            break
        if naming.word(dim.name) not in words:
            certain.append(dim)
    return tuple(certain)
