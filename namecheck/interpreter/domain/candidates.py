"""What a value may be, as its declaration and the tests of it leave it: constants, members, types.

They are the content of `cells.CandidatesOf`: one of them, the value itself or its type, is meant.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.interpreter.domain import class_lookup
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    ClassValue,
    Const,
    External,
    Instance,
    TupleValue,
    Value,
)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Any value of a type."""

    kind: Value


Candidate: TypeAlias = Value | AnyOf


# The types whose values members of an enum equal, if it derives from one.
_EQUALLED: Final = frozenset(
    {"builtins.float", "builtins.int", "builtins.str", "enum.IntEnum", "enum.StrEnum"}
)


def admits(possible: Sequence[Candidate], value: Value, store: Store) -> bool:
    """Whether a value may be one of the candidates, or equal to one."""
    return any(equals(candidate, value, store) is not False for candidate in possible)


def equals(candidate: Candidate, value: Value, store: Store) -> bool | None:
    """Whether a candidate equals a value; None where that is unknown."""
    if candidate == value:
        return True
    if isinstance(candidate, AnyOf):
        return False if is_of(value, candidate.kind) is False else None
    if not isinstance(candidate, Instance) or not isinstance(value, Const) or value == NONE:
        return False
    if class_lookup.attribute(candidate.cls, "__eq__", store) is not None:
        return None
    bases = class_lookup.mro(candidate.cls)
    if not any(isinstance(base, External) and base.path in _EQUALLED for base in bases):
        return False
    raw = store.get((candidate.address, "value"))
    return raw == value if isinstance(raw, Const) else None


def parts(
    possible: Sequence[Candidate], attribute: str, store: Store
) -> tuple[Candidate, ...] | None:
    """What ``mode.value`` or ``mode.name`` may be of one of these members; None where unknown."""
    found = [
        part
        for member in possible
        if isinstance(member, Instance)
        if isinstance(part := store.get((member.address, attribute)), Const)
    ]
    return tuple(found) if len(found) == len(possible) else None


def is_of(candidate: Candidate, kind_value: object) -> bool | None:
    """Whether a candidate is of a type, or of one in a tuple; None where that is unknown."""
    if isinstance(kind_value, TupleValue):
        return _any([is_of(candidate, each) for each in kind_value.items])
    if isinstance(candidate, AnyOf):
        return _derives(candidate.kind, kind_value)
    if isinstance(candidate, Instance):
        return True if kind_value in class_lookup.mro(candidate.cls) else None
    if isinstance(candidate, Const) and isinstance(kind_value, External):
        if candidate == NONE and kind_value.path == "types.NoneType":
            return True
        tested = _built_in(kind_value)
        return None if tested is None else isinstance(candidate.value, tested)
    return False if isinstance(candidate, Const) and isinstance(kind_value, ClassValue) else None


def _any(part_matches: Sequence[bool | None]) -> bool | None:
    return True if True in part_matches else None if None in part_matches else False


def _derives(candidate_kind: Value, kind_value: object) -> bool | None:
    if candidate_kind == kind_value:
        return True
    if isinstance(candidate_kind, ClassValue) and kind_value in class_lookup.mro(candidate_kind):
        return True
    one, tested = _built_in(candidate_kind), _built_in(kind_value)
    if one is None or tested is None:
        return None
    if issubclass(one, tested):
        return True
    return None if issubclass(tested, one) else False


def _built_in(kind_value: object) -> type | None:
    """The type of this name that Python has; None for any other, but for that of tensors."""
    if not isinstance(kind_value, External):
        return None
    if kind_value.path == "torch.Tensor":
        return _Tensor
    module, _, name = kind_value.path.rpartition(".")
    kind = getattr(builtins, name, None) if module == "builtins" else None
    return kind if isinstance(kind, type) else None


class _Tensor:
    """Stands for tensors among the types that Python has: it derives from none of them."""


def answer(possible: Sequence[Candidate], kind_value: object) -> bool | None:
    """Whether a value with these candidates is of a type; None where that is unknown."""
    answers = {is_of(candidate, kind_value) for candidate in possible}
    return answers.pop() if len(answers) == 1 else None


def of_type(
    possible: Sequence[Candidate], kind_value: object, *, is_of_it: bool
) -> tuple[Candidate, ...]:
    """The candidates that may be of a type, or those that may not be."""
    return tuple(c for c in possible if is_of(c, kind_value) in (is_of_it, None))


def of_truth(possible: Sequence[Candidate], *, truth: bool) -> tuple[Candidate, ...]:
    """The candidates that may be true, or those that may be false."""
    return tuple(c for c in possible if not isinstance(c, Const) or bool(c.value) is truth)


def joined(of_paths: Sequence[tuple[Candidate, ...] | None]) -> tuple[Candidate, ...] | None:
    """The candidates where paths meet: those of all of them; None where one may be anything."""
    united: dict[Candidate, None] = {}
    for content in of_paths:
        if content is None:
            return None
        united.update(dict.fromkeys(content))
    return tuple(united)
