"""Changes of calls and attributes, as nodes of libcst."""

from __future__ import annotations

from collections.abc import Mapping

import libcst

from namecheck.editing.trees import Change
from namecheck.migration.plain_calls import ALIAS, PLACE, SIZES, VALUES, Becomes, Key


def change_of(becomes: Becomes) -> Change:
    """The change that makes a call or an attribute what it becomes."""

    def change(node: libcst.BaseExpression) -> libcst.BaseExpression:
        if becomes.text is not None and becomes.beside:
            return _beside(node, becomes.text)
        if becomes.text is not None:
            return libcst.parse_expression(becomes.text)
        if becomes.suffix is not None:
            assert isinstance(node, libcst.Call)
            assert isinstance(node.func, libcst.Attribute)
            return _followed(node.func, becomes.suffix)
        assert isinstance(node, libcst.Call)
        return with_arguments(node, becomes.arguments)

    return change


def _beside(node: libcst.BaseExpression, text: str) -> libcst.BaseExpression:
    """A value for a call or an attribute whose receiver is evaluated all the same."""
    read = node.func if isinstance(node, libcst.Call) else node
    assert isinstance(read, libcst.Attribute)
    return _in_place(f"(named, {text})[1]", read.value)


def _followed(call: libcst.Attribute, suffix: str) -> libcst.BaseExpression:
    """What a method was looked up on, with others called on it in place of it."""
    if not suffix:
        return call.value
    if suffix == ALIAS:
        return libcst.parse_expression(f"receiver{suffix}").with_changes(value=call.value)
    return _put(libcst.parse_expression(f"receiver{suffix}"), call)


def _put(chain: libcst.BaseExpression, called: libcst.Attribute) -> libcst.BaseExpression:
    assert isinstance(chain, libcst.Call)
    assert isinstance(chain.func, libcst.Attribute)
    inner = chain.func.value
    if isinstance(inner, libcst.Call):
        function = chain.func.with_changes(value=_put(inner, called))
    else:
        function = called.with_changes(attr=chain.func.attr)
    return chain.with_changes(func=function)


def with_arguments(call: libcst.Call, changes: Mapping[Key, str | None]) -> libcst.Call:
    """A call with some of its arguments replaced, or removed."""
    arguments: list[libcst.Arg] = []
    place = -1
    for arg in call.args:
        place += arg.keyword is None and arg.star != "**"
        key: Key = place if arg.keyword is None else arg.keyword.value
        if arg.star == "**" or key not in changes:
            arguments.append(arg)
            continue
        text = changes[key]
        if text == SIZES:
            arguments.append(arg.with_changes(value=_sizes(arg.value)))
        elif text == VALUES:
            arguments.append(arg.with_changes(value=_in_place("tuple(named.values())", arg.value)))
        elif text is not None and text.endswith(PLACE):
            arguments.append(arg.with_changes(value=_in_place(text, arg.value)))
        elif text is not None:
            arguments += _in_place_of(arg, text)
        elif arguments and arg is call.args[-1]:
            arguments[-1] = arguments[-1].with_changes(comma=arg.comma)
    return call.with_changes(args=arguments)


def _sizes(pairs: libcst.BaseExpression) -> libcst.BaseExpression:
    """The sizes of pairs of names and sizes, with what changes in them."""
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


def _in_place(text: str, value: libcst.BaseExpression) -> libcst.BaseExpression:
    """An expression with a value in place of ``named``."""
    return libcst.parse_expression(text).visit(_InPlaceOf("named", value))  # type: ignore[return-value]


class _InPlaceOf(libcst.CSTTransformer):
    def __init__(self, name: str, value: libcst.BaseExpression) -> None:
        super().__init__()
        self._name = name
        self._value = value

    def leave_Name(
        self, original_node: libcst.Name, updated_node: libcst.Name
    ) -> libcst.BaseExpression:
        return self._value if original_node.value == self._name else updated_node


def _second(element: libcst.BaseElement) -> libcst.BaseExpression | None:
    value = element.value
    if isinstance(value, (libcst.Tuple, libcst.List)) and len(value.elements) == 2:
        return value.elements[1].value
    return None


def _in_place_of(arg: libcst.Arg, text: str) -> list[libcst.Arg]:
    parsed = libcst.parse_expression(f"f({text})")
    assert isinstance(parsed, libcst.Call)
    new = list(parsed.args)
    if len(new) == 1 and new[0].keyword is None:
        return [arg.with_changes(value=new[0].value)]
    new[-1] = new[-1].with_changes(comma=arg.comma)
    return new
