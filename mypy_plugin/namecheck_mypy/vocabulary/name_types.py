"""The types of names in mypy, and the types of torch's stubs widened by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy.types import (
    AnyType,
    Instance,
    NoneType,
    Type,
    TypeOfAny,
    UnionType,
    flatten_nested_unions,
    get_proper_type,
)

from namecheck.effects.words import Parameter

Named = Callable[[str, list[Type]], Type]
"""Returns the type of a class, given its full name and type arguments."""

# The classes for several indices in torch's stubs.
_SEVERAL: Final = frozenset({"builtins.list", "builtins.tuple", "torch._C.Size", "typing.Sequence"})


def widened(stub_type: Type, several: bool, named: Named) -> Type:
    """The declared type of an index, or of indices, in a union with the types of names.

    A name is allowed where an int is, a sequence of names where ints are if `several`.
    """
    union = flatten_nested_unions([stub_type])
    classes = {
        item.type.fullname for item in map(get_proper_type, union) if isinstance(item, Instance)
    }
    name_types: list[Type] = []
    if "builtins.int" in classes:
        name_types.append(name(named))
    if several and classes & _SEVERAL:
        name_types.append(sequence(name(named), named))
    return UnionType([*union, *name_types]) if name_types else stub_type


def of_parameter(parameter: Parameter, named: Named) -> Type:
    """The type of a parameter that torch's stubs do not have.

    One without kinds takes one name for each dim, and ``...`` for some of them; a mapping takes new
    names with the old ones as keys.
    """
    if "any" in parameter.kinds:
        return AnyType(TypeOfAny.explicit)
    if not parameter.kinds:
        several = [] if parameter.mapping else [named("types.EllipsisType", [])]
        return UnionType([name(named), *several, NoneType()])
    items: list[Type] = []
    if parameter.kinds & {"dim", "int"}:
        items.append(named("builtins.int", []))
    if parameter.kinds & {"dim", "name"}:
        items.append(name(named))
    if "names" in parameter.kinds:
        items.append(new_names(named))
    if "none" in parameter.kinds or parameter.default is None:
        items.append(NoneType())
    return UnionType.make_union(items) if items else AnyType(TypeOfAny.explicit)


def name(named: Named) -> Type:
    """The type of a name that is looked up."""
    return named("builtins.str", [])


def new_names(named: Named) -> Type:
    """The type of new names for all dims; None leaves a dim unnamed."""
    return sequence(UnionType([name(named), NoneType()]), named)


def names_of_a_tensor(named: Named) -> Type:
    """The type of names that are read; Any saves programs a check of each name for None."""
    return named("builtins.tuple", [UnionType([name(named), AnyType(TypeOfAny.explicit)])])


def sequence(item_type: Type, named: Named) -> Type:
    """The type of a list or a tuple of items of one type."""
    return named("typing.Sequence", [item_type])
