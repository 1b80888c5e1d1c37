"""The dataclasses of this package: those of the standard library, quick to declare.

`dataclasses.dataclass` writes and compiles the text of five methods for each frozen class, half a
millisecond in all; for the hundred and sixty classes of an analysis that was a quarter of the start
of ``namecheck check``. Here a method is compiled when it is first called. For mypy, and for a
reader of a class, these are the standard ones; only the options and the field arguments that the
package uses exist here. `dataclasses.fields`, `astuple` and `replace` of the standard library
accept the classes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import Field as StandardField
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace

_FIELDS: Final = "__dataclass_fields__"
# A class with slots and this attribute keeps the hash of each instance: it is in many keys.
_KEEPS_HASH: Final = "keeps_hash"
_HASH: Final = "_hash"
_MISSING: Final = object()
_set: Final = object.__setattr__


class _Field:
    """A field as the body of its class declares it; `factory` makes its default."""

    __slots__ = ("compare", "default", "factory", "hash", "name", "repr", "type")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: object = _MISSING,
        repr: bool = True,
        hash: bool | None = None,
        compare: bool = True,
    ) -> None:
        self.name = self.type = ""
        self.default = default
        self.factory = default_factory
        self.repr = repr
        self.hash = hash
        self.compare = compare


class _Declaration:
    """The declaration of a class: its fields with those of its bases, the texts of its methods.

    It is in the class under the name where the standard library keeps the fields, and answers
    with these.
    """

    def __init__(self, cls: type, frozen: bool) -> None:
        fields: dict[str, _Field] = {}
        for base in cls.__mro__[:0:-1]:
            declaration = base.__dict__.get(_FIELDS)
            if isinstance(declaration, _Declaration):
                fields |= declaration.fields
        for name, annotation in cls.__annotations__.items():
            if not annotation.startswith("ClassVar"):
                fields[name] = _field_of(cls, name, annotation)
        self.cls = cls
        self.frozen = frozen
        self.keeps_hash: bool = getattr(cls, _KEEPS_HASH, False)
        self.fields: Mapping[str, _Field] = fields
        self.names = tuple(fields)
        self._standard: dict[str, StandardField[Any]] | None = None

    def __get__(self, instance: object, cls: type) -> Mapping[str, StandardField[Any]]:
        """The fields as the standard library describes them."""
        if self._standard is None:
            self._standard = _standard_fields(self)
        return self._standard

    def method(self, name: str, write: Callable[[_Declaration], str]) -> Callable[..., Any]:
        """A method that is compiled when it is first called, and then replaces itself."""

        def first_call(self_: object, *args: Any, **kwargs: Any) -> Any:
            compiled = self._compiled(name, write(self))
            setattr(self.cls, name, compiled)
            return compiled(self_, *args, **kwargs)

        return first_call

    def _compiled(self, name: str, text: str) -> Callable[..., Any]:
        space: dict[str, Any] = {"_set": _set, "_MISSING": _MISSING}
        for each in self.fields.values():
            space[f"_default_{each.name}"] = each.default
            space[f"_make_{each.name}"] = each.factory
            slot = getattr(self.cls, each.name, None)
            space[f"_set_{each.name}"] = getattr(slot, "__set__", None)
        if self.keeps_hash:
            space["_keep_hash"] = getattr(self.cls, _HASH).__set__
        exec(text, space)
        compiled: Callable[..., Any] = space[name]
        compiled.__qualname__ = f"{self.cls.__qualname__}.{name}"
        compiled.__module__ = self.cls.__module__
        return compiled


def _field_of(cls: type, name: str, type_text: str) -> _Field:
    default = cls.__dict__.get(name, _MISSING)
    result = default if isinstance(default, _Field) else _Field(default=default)
    result.name, result.type = name, type_text
    return result


def _dataclass(
    cls: type | None = None,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    order: bool = False,
) -> Any:
    """As `dataclasses.dataclass`."""
    if cls is None:
        return lambda cls: _made(cls, frozen, slots, eq, order)
    return _made(cls, frozen, slots, eq, order)


def _made(cls: type, frozen: bool, slots: bool, eq: bool, order: bool) -> type:
    declaration = _Declaration(cls, frozen)
    additions = {
        name: value
        for name, value in _additions(declaration, eq, order)
        if name not in cls.__dict__ or (name == "__hash__" and _is_implied(cls))
    }
    additions[_FIELDS] = declaration
    if slots:
        declaration.cls = _slotted(cls, declaration, additions)
        return declaration.cls
    for name, value in additions.items():
        setattr(cls, name, value)
    for name, each in declaration.fields.items():
        if cls.__dict__.get(name) is each:
            delattr(cls, name)
            if each.default is not _MISSING:
                setattr(cls, name, each.default)
    return cls


def _slotted(cls: type, declaration: _Declaration, additions: Mapping[str, object]) -> type:
    """The class once more, with a slot for each field: slots cannot be added to a class."""
    body = {**cls.__dict__, **additions}
    for name in (*declaration.fields, "__dict__", "__weakref__"):
        body.pop(name, None)
    inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    slots = [*declaration.fields, _HASH] if declaration.keeps_hash else declaration.fields
    body["__slots__"] = tuple(name for name in slots if name not in inherited)
    body["__qualname__"] = cls.__qualname__
    if declaration.frozen:
        body.setdefault("__getstate__", _state)
        body.setdefault("__setstate__", _set_state)
    slotted: type = type(cls)(cls.__name__, cls.__bases__, body)
    return slotted


def _is_implied(cls: type) -> bool:
    """Whether Python itself has put `__hash__` into a class, as the class defines `__eq__`."""
    return cls.__dict__["__hash__"] is None and "__eq__" in cls.__dict__


def _additions(declaration: _Declaration, eq: bool, order: bool) -> Iterator[tuple[str, object]]:
    """The attributes that a dataclass adds to a class, unless the class defines them itself."""
    yield "__init__", declaration.method("__init__", _init_text)
    yield "__repr__", declaration.method("__repr__", _repr_text)
    yield "__match_args__", declaration.names
    if eq:
        yield "__eq__", declaration.method("__eq__", _eq_text)
        yield (
            "__hash__",
            declaration.method("__hash__", _hash_text) if declaration.frozen else None,
        )
    for name, operator in _ORDER.items() if order else ():
        yield name, declaration.method(name, _order_text(name, operator))
    if declaration.frozen:
        yield "__setattr__", _refuse_to_set
        yield "__delattr__", _refuse_to_delete


_ORDER: Final = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


def _init_text(declaration: _Declaration) -> str:
    parameters, lines = [], []
    for each in declaration.fields.values():
        value = name = each.name
        if each.factory is not _MISSING:
            parameters.append(f"{name}=_MISSING")
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        elif each.default is not _MISSING:
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        if not declaration.frozen:
            lines.append(f"self.{name} = {value}")
        elif isinstance(getattr(declaration.cls, name, None), MemberDescriptorType):
            lines.append(f"_set_{name}(self, {value})")  # the slot itself, which is quicker
        else:
            lines.append(f"_set(self, {name!r}, {value})")
    if declaration.keeps_hash:
        lines.append("_keep_hash(self, None)")
    if hasattr(declaration.cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    return f"def __init__(self, {', '.join(parameters)}):\n {body}"


def _repr_text(declaration: _Declaration) -> str:
    fields = [name for name, each in declaration.fields.items() if each.repr]
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name in fields)
    return (
        "from reprlib import recursive_repr\n@recursive_repr('...')\n"
        f"def __repr__(self):\n return self.__class__.__qualname__ + f'({shown})'"
    )


def _eq_text(declaration: _Declaration) -> str:
    head, body = _comparison_text(declaration, "__eq__", "==").split("\n")
    return f"{head}\n if other is self: return True\n{body}"


def _comparison_text(declaration: _Declaration, name: str, operator: str) -> str:
    fields = [name for name, each in declaration.fields.items() if each.compare]
    ours, theirs = _tuple(fields, "self"), _tuple(fields, "other")
    return (
        f"def {name}(self, other):\n return {ours} {operator} {theirs}"
        " if other.__class__ is self.__class__ else NotImplemented"
    )


def _hash_text(declaration: _Declaration) -> str:
    fields = [
        name
        for name, each in declaration.fields.items()
        if (each.compare if each.hash is None else each.hash)
    ]
    # Classes of equal fields, as facts about one value are, should not meet in a dict.
    salt = zlib.crc32(declaration.cls.__qualname__.encode())
    computed = f"hash({_tuple(fields, 'self')}) ^ {salt}"
    if not declaration.keeps_hash:
        return f"def __hash__(self):\n return {computed}"
    return (
        f"def __hash__(self):\n if self.{_HASH} is None: _keep_hash(self, {computed})\n"
        f" return self.{_HASH}"
    )


def _order_text(name: str, operator: str) -> Callable[[_Declaration], str]:
    def write(declaration: _Declaration) -> str:
        return _comparison_text(declaration, name, operator)

    return write


def _tuple(field_names: list[str], receiver_name: str) -> str:
    return f"({''.join(f'{receiver_name}.{name}, ' for name in field_names)})"


def _refuse_to_set(self: object, name: str, field_value: object) -> None:
    _refuse(self, name, "assign to")
    _set(self, name, field_value)


def _refuse_to_delete(self: object, name: str) -> None:
    _refuse(self, name, "delete")
    object.__delattr__(self, name)


def _refuse(instance: object, name: str, what: str) -> None:
    """Refuse to change a frozen instance; a plain subclass may have attributes of its own."""
    if _FIELDS in type(instance).__dict__ or name in _names(instance):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot {what} field {name!r}")


def names_of(cls: type) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass; None for another class."""
    for base in cls.__mro__:
        declaration = base.__dict__.get(_FIELDS)
        if isinstance(declaration, _Declaration):
            return declaration.names
    return None


def _names(instance: object) -> tuple[str, ...]:
    """The names of the fields of an instance."""
    names = names_of(type(instance))
    if names is None:
        raise TypeError(f"{type(instance).__name__} is no dataclass")
    return names


def _state(self: object) -> list[object]:
    return [getattr(self, name) for name in _names(self)]


def _set_state(self: object, field_values: list[object]) -> None:
    for name, value in zip(_names(self), field_values, strict=True):
        _set(self, name, value)
    if hasattr(type(self), _KEEPS_HASH):
        _set(self, _HASH, None)  # the hash of a text differs between processes


def _replace(instance: Any, /, **replacements: object) -> object:
    """As `dataclasses.replace`."""
    for name in _names(instance):
        if name not in replacements:
            replacements[name] = getattr(instance, name)
    return type(instance)(**replacements)


def _standard_fields(declaration: _Declaration) -> dict[str, StandardField[Any]]:
    import dataclasses

    described: list[tuple[str, Any, Any]] = []
    for each in declaration.fields.values():
        options: dict[str, Any] = {"repr": each.repr, "hash": each.hash, "compare": each.compare}
        if each.factory is not _MISSING:
            options["default_factory"] = each.factory
        elif each.default is not _MISSING:
            options["default"] = each.default
        described.append((each.name, each.type, dataclasses.field(**options)))
    cls = dataclasses.make_dataclass(declaration.cls.__name__, described)
    return {each.name: each for each in dataclasses.fields(cls)}


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _Field, _replace
