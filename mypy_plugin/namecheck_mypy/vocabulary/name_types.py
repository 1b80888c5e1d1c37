"""The types of names, as mypy has them, and how a type of torch's stubs is widened by them."""

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

from namecheck.operators.signatures import Parameter

Named = Callable[[str, list[Type]], Type]
"""Gives the type of a class, by its full name and type arguments."""

# The classes that hold several indices, in torch's stubs.
_SEVERAL: Final = frozenset({"builtins.list", "builtins.tuple", "torch._C.Size", "typing.Sequence"})


def widened(declared: Type, several: bool, named: Named) -> Type:
    """The declared type of an index, or of indices, with names beside it.

    A name goes where an int goes; a list of names where ints do, if the table takes several.
    """
    union = flatten_nested_unions([declared])
    classes = {
        item.type.fullname for item in map(get_proper_type, union) if isinstance(item, Instance)
    }
    more: list[Type] = []
    if "builtins.int" in classes:
        more.append(name(named))
    if several and classes & _SEVERAL:
        more.append(sequence(name(named), named))
    return UnionType([*union, *more]) if more else declared


def of_parameter(parameter: Parameter, named: Named) -> Type:
    """The type of a parameter that torch's stubs do not know.

    One without kinds takes the names of a tensor, one for each dim, and ``...`` for some of them;
    a mapping, new names by the old ones.
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
    """One name that is looked up."""
    return named("builtins.str", [])


def new_names(named: Named) -> Type:
    """Names that are given to all dims; None leaves one unnamed."""
    return sequence(UnionType([name(named), NoneType()]), named)


def names_of_a_tensor(named: Named) -> Type:
    """Names that are read: a program that knows they are there need not ask each for None."""
    return named("builtins.tuple", [UnionType([name(named), AnyType(TypeOfAny.explicit)])])


def sequence(item: Type, named: Named) -> Type:
    """Several of one type, in a list or in a tuple."""
    return named("typing.Sequence", [item])
