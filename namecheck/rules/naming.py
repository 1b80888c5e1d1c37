"""Names read and written: ``names``, ``has_names``, ``rename``, ``refine_names``.

Sources: named_tensor.rst, "Naming dimensions"; torch's own checks, in their order (recorded).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dim, Dims, of_rank
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules import dim_map
from namecheck.rules.registry import Writes, rule


@rule
def names_of(input: Tensor) -> tuple[Name, ...] | Unknown:
    """``x.names``; unknown where the rank is. A dim that an annotation names may have no label."""
    if input.dims.open:
        return UNKNOWN
    return tuple(UNKNOWN if isinstance(name, Axis) else name for name in input.dims.names)


@rule(memory="same")
def set_names(input: Tensor, value: Any) -> Writes:
    """``x.names = value``: None clears, a list or tuple names every dim (recorded: names)."""
    if isinstance(value, Unknown):
        return Writes(None, {"input": input.dims.rename([UNKNOWN] * input.dims.min_rank)})
    if value is None:
        return Writes(None, {"input": input.dims.unnamed()})
    if not isinstance(value, (list, tuple)) or (value and not _may_be_name(value[0])):
        raise Contradiction(
            "NC114",
            "names must either be None or a tuple of dim names",
            help="Give a list or tuple with one name, or None, for each dimension.",
        )
    return Writes(None, {"input": named(input.dims, [naming.read_name(item) for item in value])})


def _may_be_name(obj: object) -> bool:
    return obj is None or isinstance(obj, (str, Unknown))


@rule
def has_names(input: Tensor) -> bool | Unknown:
    """Whether any dim has a name (named_tensor.rst, ``has_names``); an axis may have no label."""
    if any(isinstance(name, str) for name in input.dims.names):
        return True
    return False if input.dims.named() is Answer.NO else UNKNOWN


@rule(memory="same")
def rename(input: Tensor, names: Sequence[Any], rename_map: Mapping[str, Any]) -> Dims:
    """Rename all dims by position, or some by their old names (named_tensor.rst)."""
    return _rename(input.dims, names, rename_map, "rename")


@rule(memory="same")
def rename_(input: Tensor, names: Sequence[Any], rename_map: Mapping[str, Any]) -> Dims:
    """As `rename`, in place: its error messages name ``rename_`` (named_tensor.rst)."""
    return _rename(input.dims, names, rename_map, "rename_")


def _rename(dims: Dims, names: Sequence[Any], rename_map: Mapping[str, Any], call: str) -> Dims:
    if names and rename_map:
        raise Contradiction(
            "NC106",
            f"{call}: This function takes either positional args or keyword args, but not both. "
            f"Use tensor.{call}(*names) to name dims and tensor.{call}(**rename_map) to rename "
            "dims.",
            help="Name all dims by position, or some by keyword.",
        )
    if rename_map:
        return _rename_by_map(dims, rename_map, call)
    if len(names) == 1 and names[0] is None:
        return dims.unnamed()
    if len(names) == 1 and isinstance(names[0], Unknown):
        return dims.rename([UNKNOWN] * dims.min_rank)  # None leaves a tensor of any rank unnamed
    new_names = resolve(dims, names, call)
    if new_names.rest:
        return _overlaid(dims, new_names)
    return named(dims, new_names.front)


def _rename_by_map(dims: Dims, rename_map: Mapping[str, Any], call: str) -> Dims:
    certain = not dims.open and all(name is not UNKNOWN for name in dims.names)
    present = [naming.word(name) for name in dims.names]
    fresh: list[Any] = list(dims.names)
    for old, new in rename_map.items():
        if old in present:
            fresh[present.index(old)] = new
        elif certain:
            raise Contradiction(
                "NC103",
                f"{call}: Tried to rename dim '{old}' to dim {_shown(new)} in "
                f"Tensor[{show_tuple(dims.names)}] but dim '{old}' does not exist",
                names=[old],
                help=f"The tensor's names are {dims.show()}.",
            )
    renamed = dims.rename(_read(fresh, call))
    naming.check_distinct(renamed.names)
    return renamed


def _shown(obj: Any) -> str:
    return "?" if obj is UNKNOWN else str(obj)


def show_tuple(names: Sequence[Name]) -> str:
    """Names as Python prints a tuple of them: ``('N', None)``."""
    words = [naming.show_name(name) for name in names]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


@dataclass(frozen=True, slots=True)
class TargetNames:
    """The names that a caller passes; with `rest`, dims left out in the middle keep theirs."""

    front: tuple[Name, ...]
    back: tuple[Name, ...] = ()
    rest: bool = False

    def show(self) -> str:
        """The names as torch prints them, left-out dims as ``...``."""
        words = [naming.show_name(name) for name in self.front]
        if self.rest:
            words += ["...", *map(naming.show_name, self.back)]
        return "[" + ", ".join(words) + "]"


def is_ellipsis(obj: object) -> bool:
    """Whether an item of a list of names is an Ellipsis, or the string that torch treats as one."""
    return obj is ... or (isinstance(obj, str) and obj == "...")


def ellipsis_index(names: Sequence[Any], call: str) -> int | None:
    """Where the Ellipsis stands in a list of names; raises `Contradiction` if there are two."""
    places = [index for index, item in enumerate(names) if is_ellipsis(item)]
    if len(places) > 1:
        shown = ", ".join(map(repr, names))
        raise Contradiction(
            "NC106",
            f"{call}: More than one Ellipsis ('...') found in names (({shown})). "
            "This function supports up to one Ellipsis.",
            help="Leave one Ellipsis.",
        )
    return places[0] if places else None


def resolve(dims: Dims, names: Sequence[Any], call: str) -> TargetNames:
    """The requested names, with the Ellipsis replaced where the rank is known."""
    place = ellipsis_index(names, call)
    if place is None:
        return TargetNames(_read(names, call))
    front, back = tuple(names[:place]), tuple(names[place + 1 :])
    if dims.open:
        read = _read([*front, *back], call)
        return TargetNames(read[:place], read[place:], rest=True)
    kept = dims.names[len(front) : len(dims.names) - len(back)]
    return TargetNames(_read([*front, *kept, *back], call))


def _read(names: Sequence[Any], call: str) -> tuple[Name, ...]:
    if names and not (_may_be_name(names[0]) or isinstance(names[0], Axis)):
        raise Contradiction(
            "NC114",
            f"{call}(): argument 'names' (position 1) must be tuple of names, but found element of "
            f"type {type(names[0]).__name__} at pos 0",
            error="TypeError",
            help="Give the names one by one, as strings or None.",
        )
    return tuple(map(naming.read_name, names))


def named(dims: Dims, names: Sequence[Name]) -> Dims:
    """The dims with these names, one for each; raises `Contradiction` where that is impossible."""
    dim_map.check_name_count(dims, names)
    closed = of_rank(dims, len(names))
    if closed is None:
        raise Contradiction(
            "NC106",
            f"Number of names ({len(names)}) and number of dimensions in tensor "
            f"({dim_map.show_rank(dims)}) do not match. Attempted to create a tensor with names "
            f"{naming.show(names)}",
            names=naming.words(names),
            help=f"Give {dim_map.show_rank(dims)} names, or an Ellipsis for those that stay.",
        )
    naming.check_distinct(names)
    return closed.rename(names)


def _overlaid(dims: Dims, new_names: TargetNames) -> Dims:
    """Dims of unknown rank whose first and last few are renamed."""
    front = _facing(dim_map.first(dims, len(new_names.front)), new_names.front)
    back = _facing(dim_map.last(dims, len(new_names.back)), new_names.back)
    middle = dim_map.without_left(
        dim_map.without_right(dims, len(new_names.back)), len(new_names.front)
    )
    result = dim_map.joined(front, middle, back)
    naming.check_distinct(result.names)
    return result


def _facing(dims: Dims, names: Sequence[Name]) -> Dims:
    return Dims(
        tuple(replace(dim, name=name) for dim, name in zip(dims.prefix, names, strict=True))
    )


@rule(memory="same")
def refine_names(input: Tensor, names: Sequence[Any]) -> Dims:
    """Unnamed dims take names, named dims keep theirs (named_tensor.rst, ``refine_names``)."""
    dims = input.dims
    target_names = resolve(dims, names, "refine_names")
    if target_names.rest:
        naming.check_distinct([*target_names.front, *target_names.back])
        front = dim_map.first(dims, len(target_names.front))
        back = dim_map.last(dims, len(target_names.back))
        refined = TargetNames(
            _refined(dims, target_names, front.prefix, target_names.front, 0),
            _refined(dims, target_names, back.prefix, target_names.back, -len(target_names.back)),
            rest=True,
        )
        return _overlaid(dims, refined)
    closed = of_rank(dims, len(target_names.front))
    if closed is None:
        raise _coercion(
            dims,
            target_names,
            "NC106",
            f"they have a different number of dims ({dim_map.show_rank(dims)} and "
            f"{len(target_names.front)} respectively).",
        )
    naming.check_distinct(target_names.front)
    return closed.rename(_refined(dims, target_names, closed.prefix, target_names.front, 0))


def _refined(
    dims: Dims,
    target_names: TargetNames,
    dims_before: Sequence[Dim],
    new_names: Sequence[Name],
    start: int,
) -> tuple[Name, ...]:
    return tuple(
        _refine(dims, target_names, dim.name, name, index)
        for index, (dim, name) in enumerate(zip(dims_before, new_names, strict=True), start)
    )


def _refine(
    dims: Dims, target_names: TargetNames, old_name: Name, new_name: Name, index: int
) -> Name:
    if old_name is None or old_name is UNKNOWN or naming.word(old_name) == naming.word(new_name):
        return new_name
    if new_name is UNKNOWN:
        return old_name
    relation = "more specific than" if new_name is None else "different from"
    raise _coercion(
        dims,
        target_names,
        "NC107",
        f"{naming.show_name(old_name)} is {relation} {naming.show_name(new_name)} at index {index}",
        naming.words([old_name, new_name]),
    )


def _coercion(
    dims: Dims, target_names: TargetNames, code: str, reason: str, words: Sequence[str] = ()
) -> Contradiction:
    return Contradiction(
        code,
        f"refine_names: cannot coerce Tensor{dims.show()} to Tensor{target_names.show()} because "
        f"{reason}",
        names=words,
        help=(
            "`refine_names` only names unnamed dims; use `rename` to change a name, "
            "`align_to` to change the order."
        ),
    )
