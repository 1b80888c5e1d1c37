"""Replacements of calls and attributes, as libcst nodes."""

from __future__ import annotations

from collections.abc import Mapping

import libcst

from namecheck.editing.trees import Change
from namecheck.migration.name_arguments import Key
from namecheck.migration.replacements import ArgumentChange, PlaceAmong, Replacement, Sizes


def change_of(replacement: Replacement) -> Change:
    """The change that replaces a call or an attribute."""

    def change(cst: libcst.BaseExpression) -> libcst.BaseExpression:
        if replacement.text is not None and replacement.beside:
            return _beside(cst, replacement.text)
        if replacement.text is not None:
            return libcst.parse_expression(replacement.text)
        assert isinstance(cst, libcst.Call)
        if replacement.alias:
            assert isinstance(cst.func, libcst.Attribute)
            return libcst.parse_expression("receiver[...]").with_changes(value=cst.func.value)
        if replacement.suffix is not None:
            assert isinstance(cst.func, libcst.Attribute)
            return _followed(cst.func, replacement.suffix)
        return with_arguments(cst, replacement.arguments)

    return change


def _beside(cst: libcst.BaseExpression, text: str) -> libcst.BaseExpression:
    """A value that replaces a call or an attribute whose receiver is still evaluated."""
    read = cst.func if isinstance(cst, libcst.Call) else cst
    assert isinstance(read, libcst.Attribute)
    return _in_place(f"(named, {text})[1]", read.value)


def _followed(lookup: libcst.Attribute, suffix: str) -> libcst.BaseExpression:
    """The receiver of a method, with other methods called on it instead."""
    if not suffix:
        return lookup.value
    return _put(libcst.parse_expression(f"receiver{suffix}"), lookup)


def _put(chain: libcst.BaseExpression, called: libcst.Attribute) -> libcst.BaseExpression:
    assert isinstance(chain, libcst.Call)
    assert isinstance(chain.func, libcst.Attribute)
    inner = chain.func.value
    if isinstance(inner, libcst.Call):
        function = chain.func.with_changes(value=_put(inner, called))
    else:
        function = called.with_changes(attr=chain.func.attr)
    return chain.with_changes(func=function)


def with_arguments(
    cst_call: libcst.Call, argument_changes: Mapping[Key, ArgumentChange | None]
) -> libcst.Call:
    """A call with some of its arguments replaced, or removed."""
    fresh: list[libcst.Arg] = []
    place = -1
    for argument in cst_call.args:
        place += argument.keyword is None and argument.star != "**"
        key: Key = place if argument.keyword is None else argument.keyword.value
        if argument.star == "**" or key not in argument_changes:
            fresh.append(argument)
            continue
        argument_change = argument_changes[key]
        if argument_change is Sizes.OF_PAIRS:
            fresh.append(argument.with_changes(value=_sizes(argument.value)))
        elif argument_change is Sizes.OF_DICT:
            sizes = _in_place("tuple(named.values())", argument.value)
            fresh.append(argument.with_changes(value=sizes))
        elif isinstance(argument_change, PlaceAmong):
            index = _in_place(f"{argument_change.names}.index(named)", argument.value)
            fresh.append(argument.with_changes(value=index))
        elif argument_change is not None:
            fresh += _in_place_of(argument, argument_change)
        elif fresh and argument is cst_call.args[-1]:
            fresh[-1] = fresh[-1].with_changes(comma=argument.comma)
    return cst_call.with_changes(args=fresh)


def _sizes(pairs: libcst.BaseExpression) -> libcst.BaseExpression:
    """The sizes of pairs of names and sizes, with some of them replaced."""
    if isinstance(pairs, (libcst.Tuple, libcst.List)):
        seconds = [_second(element) for element in pairs.elements]
        if None not in seconds:
            tuple_ = libcst.parse_expression("(0, 0)" if len(seconds) > 1 else "(0,)")
            assert isinstance(tuple_, libcst.Tuple)
            comma = tuple_.elements[0].comma
            elements = [libcst.Element(second, comma) for second in seconds if second is not None]
            if len(elements) > 1:
                elements[-1] = libcst.Element(elements[-1].value)
            return tuple_.with_changes(elements=elements)
    return _in_place("tuple(size for _, size in named)", pairs)


def _in_place(text: str, cst: libcst.BaseExpression) -> libcst.BaseExpression:
    """An expression that replaces ``named``."""
    return libcst.parse_expression(text).visit(_InPlaceOf("named", cst))  # type: ignore[return-value]


class _InPlaceOf(libcst.CSTTransformer):
    def __init__(self, name: str, cst: libcst.BaseExpression) -> None:
        super().__init__()
        self._name = name
        self._cst = cst

    def leave_Name(
        self, original_node: libcst.Name, updated_node: libcst.Name
    ) -> libcst.BaseExpression:
        return self._cst if original_node.value == self._name else updated_node


def _second(element: libcst.BaseElement) -> libcst.BaseExpression | None:
    value = element.value
    if isinstance(value, (libcst.Tuple, libcst.List)) and len(value.elements) == 2:
        return value.elements[1].value
    return None


def _in_place_of(cst_argument: libcst.Arg, text: str) -> list[libcst.Arg]:
    parsed = libcst.parse_expression(f"f({text})")
    assert isinstance(parsed, libcst.Call)
    new = list(parsed.args)
    if len(new) == 1 and new[0].keyword is None:
        return [cst_argument.with_changes(value=new[0].value)]
    new[-1] = new[-1].with_changes(comma=cst_argument.comma)
    return new
