"""Python's built-in functions and types, called on abstract values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import class_lookup, joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRUE,
    BoundMethod,
    Const,
    DictValue,
    Entries,
    External,
    Generator,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    SliceValue,
    TensorValue,
    TupleValue,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation import narrowing, python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

_KINDS: Final[Mapping[str, str]] = {
    "len": "int",
    "int": "int",
    "float": "float",
    "str": "str",
    "repr": "str",
    "bool": "bool",
    "input": "str",
    "id": "int",
    "hash": "int",
    "ord": "int",
    "chr": "str",
    "isinstance": "bool",
    "issubclass": "bool",
    "hasattr": "bool",
    "callable": "bool",
    "any": "bool",
    "all": "bool",
}
_IMPURE: Final = frozenset({"input"})
_METHODS: Final[Mapping[str, str]] = {
    "abs": "Tensor.abs",
    "bool": "__bool__",
    "float": "__float__",
    "int": "__int__",
}
_PURE: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "round": round,
    "int": int,
    "float": float,
    "str": str,
    "repr": repr,
    "ord": ord,
    "chr": chr,
    "divmod": divmod,
    "pow": pow,
}


class BuiltinFunctions:
    """Calls what every module can name without an import."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._cases: Mapping[str, Callable[[Call], Value]] = {
            "len": self._len,
            "range": self._range,
            "enumerate": self._enumerate,
            "zip": self._zip,
            "reversed": self._reversed,
            "sorted": self._sorted,
            "map": self._map,
            "filter": self._filter,
            "iter": self._iter,
            "next": self._next,
            "list": self.list_,
            "tuple": self.tuple_,
            "set": self.set_,
            "frozenset": self.set_,
            "dict": self.dict_,
            "dict.fromkeys": self._from_keys,
            "slice": self._slice,
            "sum": self._sum,
            "max": partial(self._extreme, "max"),
            "min": partial(self._extreme, "min"),
            "bool": self._bool,
            "any": partial(self._any_all, "any"),
            "all": partial(self._any_all, "all"),
            "isinstance": self._isinstance,
            "hasattr": self._hasattr,
            "getattr": self._getattr,
            "setattr": self._setattr,
            "type": self._type,
            "callable": self._callable,
            "property": lambda call: Wrapped("property", call.argument(0, "fget")),
            "staticmethod": lambda call: Wrapped("staticmethod", call.argument(0)),
            "classmethod": lambda call: Wrapped("classmethod", call.argument(0)),
            "print": lambda call: NONE,
            "reveal_type": self.reveal_type,
        }

    # Notes

    def reveal_names(self, call: Call) -> Value:
        """A note of what is known of a tensor's dims."""
        value = call.argument(0)
        lowered = self.interpreter.torch.lower(value, call.store)
        text = lowered.dims.brief() if isinstance(lowered, Tensor) else "?"
        self.interpreter.note("NC090", text or "a scalar, without dims", call.node)
        return value

    def reveal_type(self, call: Call) -> Value:
        """The same of a tensor; of what is none the type checkers tell more."""
        value = call.argument(0)
        return self.reveal_names(call) if isinstance(value, TensorValue) else value

    # Calls

    def call(self, name: str, call: Call) -> Value:
        """Call a built-in function, or the constructor of a built-in type."""
        if name in _METHODS and len(call.args) == 1 and isinstance(call.args[0], TensorValue):
            return self.interpreter.call_operator(_METHODS[name], call.args, call)
        case = self._cases.get(name)
        if case is not None and not call.arguments.open:
            return case(call)
        if name in _PURE and not call.kwargs and not call.arguments.open:
            constants = [arg.value for arg in call.args if isinstance(arg, Const)]
            if len(constants) == len(call.args):
                return self._pure(name, constants, call)
        owner, _, method = name.partition(".")
        if owner in ("object", "dict", "list", "set") and method and call.args:
            return self._unbound(owner, method, call)
        if name.endswith(("Error", "Exception", "Warning")):
            return self.interpreter.fresh("error")
        kind = _KINDS.get(name)
        if name in _IMPURE or kind is None or call.arguments.open:
            return self.interpreter.fresh("builtin", kind)
        return self._answer(name, kind, call)

    def _unbound(self, owner: str, method: str, call: Call) -> Value:
        """``dict.__getitem__(self, key)``, ``object.__setattr__(self, name, value)``."""
        receiver, *rest = call.args
        inner = replace(call, arguments=replace(call.arguments, args=rest))
        if method == "__setattr__":
            self.interpreter.set_attribute(
                receiver, inner.argument(0), inner.argument(1), call.store
            )
            return NONE
        value = joins.opened(receiver, call.store)
        if owner == "object" or not isinstance(value, (ListValue, DictValue)):
            return NONE if owner == "object" else self.interpreter.fresh("native")
        return self.interpreter.natives.call(value, method, inner)

    def _answer(self, name: str, kind: str, call: Call) -> Opaque:
        """What a function gives, of which nothing is known but that it depends on its arguments."""
        given = (joins.identity(value, call.store) for value in call.args)
        return Opaque((name, *given), kind)

    def _pure(self, name: str, constants: list[Any], call: Call) -> Value:
        if name == "pow" and python_operators.too_big(constants):
            return self.interpreter.fresh("big")
        try:
            result = _PURE[name](*constants)
        except (TypeError, ValueError, ArithmeticError) as error:
            if call.frame.expects(type(error).__name__):
                self.interpreter.fail(type(error).__name__)
            return self.interpreter.fresh("builtin", _KINDS.get(name))
        return self.interpreter.torch.lift(result, {}, call.node)

    def _items(
        self, value: Value, call: Call, *, whole: bool = True
    ) -> tuple[Value, ...] | Repeated:
        return self.interpreter.iterate_any(value, call.node, call.store, call.frame, whole=whole)

    def _generator(self, value: Value, call: Call) -> Generator | None:
        return self.interpreter.unasked_generator(value, call.node, call.store, call.frame)

    def _invoke(self, function: Value, args: list[Value], call: Call) -> Value:
        return self.interpreter.call_values(function, args, call.node, call.store, call.frame)

    def _iterator(self, items: Sequence[Value]) -> Value:
        return ListValue(self.interpreter.new_address(), tuple(items), "iterator")

    def _len(self, call: Call) -> Value:
        value = call.argument(0)
        if isinstance(value, TupleValue):
            return Const(len(value.items))
        if isinstance(value, ListValue):
            content = joins.items(value, call.store)
            if not isinstance(content, Repeated):
                return Const(len(content))
        if isinstance(value, DictValue):
            entries = joins.entries(value, call.store)
            if entries.rest is None:
                return Const(len(entries.items))
        if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
            return Const(len(value.value))
        if isinstance(value, TensorValue) and self.interpreter.torch.has("__len__", "m"):
            return self.interpreter.call_operator("__len__", [value], call)
        if isinstance(value, Instance):
            found = class_lookup.method(value, "__len__", call.store)
            if found is not None:
                return self._invoke(BoundMethod(found, value), [], call)
            own = joins.inherited(value, call.store)
            if own is not None:
                call.arguments.args = [own]
                return self._len(call)
        return self._answer("len", "int", call)

    def _bool(self, call: Call) -> Value:
        if not call.args:
            return FALSE
        return self.interpreter.negate(
            self.interpreter.negate(call.args[0], call.store), call.store
        )

    def _range(self, call: Call) -> Value:
        bounds = [arg.value for arg in call.args if isinstance(arg, Const)]
        if len(bounds) == len(call.args) and all(isinstance(b, int) for b in bounds) and bounds:
            try:
                numbers = range(*bounds)
            except (TypeError, ValueError):
                return Repeated(self.interpreter.fresh("index", "int"))
            if len(numbers) <= 256:
                return TupleValue(tuple(map(Const, numbers)))
        return Repeated(self.interpreter.fresh("index", "int"))

    def _enumerate(self, call: Call) -> Value:
        start = call.argument(1, "start", Const(0))
        generator = self._generator(call.argument(0), call)
        if generator is not None:
            return self.interpreter.generators.changed(generator, self._numbering(start))
        content = self._items(call.argument(0), call)
        if isinstance(content, Repeated):
            return Repeated(TupleValue((self.interpreter.fresh("index", "int"), content.each)))
        first = start.value if isinstance(start, Const) and isinstance(start.value, int) else None
        return self._iterator(
            [
                TupleValue(
                    (
                        self.interpreter.fresh("index", "int")
                        if first is None
                        else Const(first + i),
                        item,
                    )
                )
                for i, item in enumerate(content)
            ]
        )

    def _numbering(self, start: Value) -> Callable[[Value, Store], Value]:
        """What puts a number before each item of a generator; it stands in the store."""
        key = ("enumerated", self.interpreter.new_address())

        def number(item: Value, store: Store) -> Value:
            index: Value = store.get(key, start)
            after: Value = self.interpreter.fresh("index", "int")
            if isinstance(index, Const) and isinstance(index.value, int):
                after = Const(index.value + 1)
            store.set(key, after)
            return TupleValue((index, item))

        return number

    def _zip(self, call: Call) -> Value:
        contents = [self._items(arg, call, whole=False) for arg in call.args]
        count = min((len(c) for c in contents if not isinstance(c, Repeated)), default=0)
        ends = [not c.endless for c in contents if isinstance(c, Repeated)]
        if any(ends) or len(ends) == len(contents):
            each = [self._each(content, call.store) for content in contents]
            return Repeated(TupleValue(tuple(each)), endless=bool(ends) and not any(ends))
        columns = [
            [joins.pick(c, self.interpreter.new_address(), call.store) for _ in range(count)]
            if isinstance(c, Repeated)
            else c[:count]
            for c in contents
        ]
        return self._iterator([TupleValue(row) for row in zip(*columns, strict=True)])

    def _each(self, content: tuple[Value, ...] | Repeated, store: Store) -> Value:
        return content.each if isinstance(content, Repeated) else joins.either(content, store)

    def _reversed(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        return content if isinstance(content, Repeated) else self._iterator(content[::-1])

    def _sorted(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        if isinstance(content, Repeated):
            self._keys([self._one_of(content, call)], call)
            return ListValue(self.interpreter.new_address(), content)
        return ListValue(self.interpreter.new_address(), self.ordered(content, call))

    def ordered(self, content: tuple[Value, ...], call: Call) -> tuple[Value, ...] | Repeated:
        """The items in the order that ``sorted`` and ``list.sort`` give them."""
        keys = self._keys(content, call)
        reverse = call.kwargs.get("reverse", FALSE)
        if keys is None or not isinstance(reverse, Const):
            return Repeated(joins.either(content, call.store))
        try:
            order = sorted(range(len(content)), key=keys.__getitem__, reverse=bool(reverse.value))
        except TypeError:
            return Repeated(joins.either(content, call.store))
        return tuple(content[index] for index in order)

    def _keys(self, content: Sequence[Value], call: Call) -> list[Any] | None:
        """What items are compared by, where all of it is constant."""
        function = call.kwargs.get("key", NONE)
        found = []
        for item in content:
            key = item if function == NONE else self._invoke(function, [item], call)
            lowered = self.interpreter.torch.lower(key, call.store)
            if not _comparable(lowered):
                return None
            found.append(lowered)
        return found

    def _map(self, call: Call) -> Value:
        generator = self._generator(call.args[1], call) if len(call.args) == 2 else None
        if generator is not None:
            function = call.argument(0)
            return self.interpreter.generators.changed(
                generator,
                lambda item, store: self._invoke(
                    function, [item], Call(call.arguments, call.node, store, call.frame)
                ),
            )
        contents = [self._items(arg, call, whole=False) for arg in call.args[1:]]
        if any(isinstance(content, Repeated) for content in contents):
            each = [
                c.each if isinstance(c, Repeated) else self.interpreter.fresh("item")
                for c in contents
            ]
            return Repeated(self._invoke(call.argument(0), each, call))
        known = [content for content in contents if not isinstance(content, Repeated)]
        rows = zip(*known, strict=False)
        return self._iterator([self._invoke(call.argument(0), list(row), call) for row in rows])

    def _filter(self, call: Call) -> Value:
        content = self._items(call.argument(1), call, whole=False)
        if isinstance(content, Repeated):
            return content
        kept = []
        for item in content:
            test = item if call.argument(0) == NONE else self._invoke(call.args[0], [item], call)
            truth = self.interpreter.truth(test, call.store)
            if truth is None:
                return Repeated(joins.either(content, call.store))
            if truth:
                kept.append(item)
        return self._iterator(kept)

    def _iter(self, call: Call) -> Value:
        value = call.argument(0)
        if isinstance(value, Generator) or (
            isinstance(value, ListValue) and value.kind == "iterator"
        ):
            return value
        content = self._items(value, call)
        return content if isinstance(content, Repeated) else self._iterator(content)

    def _next(self, call: Call) -> Value:
        value = call.argument(0)
        if isinstance(value, Generator):
            return self._step(value, call)
        if isinstance(value, Repeated):
            return joins.pick(value, self.interpreter.new_address(), call.store)
        if isinstance(value, ListValue):
            content = joins.items(value, call.store)
            if isinstance(content, Repeated):
                return joins.pick(content, self.interpreter.new_address(), call.store)
            if content:
                joins.write(value, call.store, content[1:])
                return content[0]
            if len(call.args) > 1:
                return call.args[1]
            self.interpreter.fail("StopIteration")
        if isinstance(value, Instance):
            found = class_lookup.method(value, "__next__", call.store)
            if found is not None:
                return self._invoke(BoundMethod(found, value), [], call)
        return self.interpreter.fresh("next")

    def _step(self, generator: Generator, call: Call) -> Value:
        item = self.interpreter.generators.step(generator, call.node, call.store, call.frame)
        if item is None and len(call.args) < 2:
            self.interpreter.fail("StopIteration")
        return call.args[1] if item is None else item

    def _collect(self, call: Call, kind: str) -> Value:
        if not call.args:
            return ListValue(self.interpreter.new_address(), (), kind)
        content = self._items(call.args[0], call)
        if kind == "set" and not isinstance(content, Repeated):
            content = tuple(dict.fromkeys(content))
        return ListValue(self.interpreter.new_address(), content, kind)

    def list_(self, call: Call) -> Value:
        """``list(items)``, ``deque(items)``."""
        return self._collect(call, "list")

    def set_(self, call: Call) -> Value:
        """``set(items)``, ``frozenset(items)``."""
        return self._collect(call, "set")

    def tuple_(self, call: Call) -> Value:
        """``tuple(items)``."""
        content = self._items(call.args[0], call) if call.args else ()
        return content if isinstance(content, Repeated) else TupleValue(content)

    def dict_(self, call: Call) -> Value:
        """``dict(items, key=value)``."""
        items: dict[Value, Value] = {}
        rest: Value | None = None
        for value in call.args[:1]:
            value = joins.opened(value, call.store)
            if isinstance(value, DictValue):
                entries = joins.entries(value, call.store)
                items.update(entries.items)
                rest = entries.rest
                continue
            content = self._items(value, call)
            pairs = () if isinstance(content, Repeated) else content
            if isinstance(content, Repeated) or not all(
                isinstance(pair, TupleValue) and len(pair.items) == 2 for pair in pairs
            ):
                rest = self.interpreter.fresh("entry")
                continue
            for pair in pairs:
                assert isinstance(pair, TupleValue)
                items[pair.items[0]] = pair.items[1]
        items.update({Const(name): value for name, value in call.kwargs.items()})
        return DictValue(self.interpreter.new_address(), Entries(tuple(items.items()), rest))

    def _from_keys(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        value = call.argument(1)
        if isinstance(content, Repeated):
            return DictValue(self.interpreter.new_address(), Entries((), value))
        items = tuple((key, value) for key in dict.fromkeys(content))
        return DictValue(self.interpreter.new_address(), Entries(items))

    def _slice(self, call: Call) -> Value:
        if len(call.args) == 1:
            return SliceValue(NONE, call.args[0], NONE)
        parts = [*call.args, NONE, NONE, NONE][:3]
        return SliceValue(parts[0], parts[1], parts[2])

    def _sum(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        start = call.argument(1, "start", Const(0))
        rest = [content.each, content.each] if isinstance(content, Repeated) else list(content)
        total = start
        for item in rest:
            total = self.interpreter.spread(
                call.store, [total, item], lambda layer, pair: self._plus(pair, layer, call)
            )
        return (
            total
            if not isinstance(content, Repeated) or isinstance(total, TensorValue)
            else (self.interpreter.fresh("sum"))
        )

    def _plus(self, pair: list[Value], store: Store, call: Call) -> Value:
        operands = [(call.node, value) for value in pair]
        return self.interpreter.operate("Add", call.node, operands, store, call.frame)

    def _extreme(self, name: str, call: Call) -> Value:
        content: tuple[Value, ...] | Repeated
        content = self._items(call.args[0], call) if len(call.args) == 1 else tuple(call.args)
        if isinstance(content, Repeated):
            self._keys([self._one_of(content, call)], call)
            return self._one_of(content, call)
        if not content:
            return call.kwargs.get("default", NONE)
        keys = self._keys(content, call)
        if keys is None:
            return self._one_of(content, call)
        choose = max if name == "max" else min
        try:
            return content[choose(range(len(content)), key=keys.__getitem__)]
        except TypeError:
            return self._one_of(content, call)

    def _one_of(self, content: tuple[Value, ...] | Repeated, call: Call) -> Value:
        return joins.pick(content, self.interpreter.new_address(), call.store)

    def _any_all(self, name: str, call: Call) -> Value:
        content = self._items(call.argument(0), call, whole=False)
        if isinstance(content, Repeated):
            return self.interpreter.fresh(name, "bool")
        truths = [self.interpreter.truth(item, call.store) for item in content]
        decisive = name == "any"
        if decisive in truths:
            return TRUE if decisive else FALSE
        return (
            self.interpreter.fresh(name, "bool") if None in truths else FALSE if decisive else TRUE
        )

    def _isinstance(self, call: Call) -> Value:
        value, kind = call.argument(0), call.argument(1)
        answer = narrowing.is_instance(self.interpreter, value, kind)
        if answer is None:
            return self._answer("isinstance", "bool", call)
        return TRUE if answer else FALSE

    def _hasattr(self, call: Call) -> Value:
        value, name = call.argument(0), call.argument(1)
        if isinstance(name, Const) and isinstance(value, Instance):
            own = call.store.get((value.address, name.value))
            if own is not None or class_lookup.attribute(value.cls, str(name.value), call.store):
                return TRUE
        if isinstance(value, External):
            return Opaque(("version", "hasattr", value, name), "bool")
        return self._answer("hasattr", "bool", call)

    def _getattr(self, call: Call) -> Value:
        value, name = call.argument(0), call.argument(1)
        if not isinstance(name, Const) or not isinstance(name.value, str):
            return self.interpreter.fresh("attribute")
        found = self.interpreter.read_attribute(
            value, name.value, call.node, call.store, call.frame
        )
        given = isinstance(found, Opaque) and len(call.args) > 2
        return self.interpreter.fresh("attribute") if given else found

    def _setattr(self, call: Call) -> Value:
        name = call.argument(1)
        if isinstance(name, Const) and isinstance(name.value, str):
            self.interpreter.write_attribute(
                call.argument(0),
                name.value,
                call.argument(2),
                call.node,
                call.store,
                call.frame,
            )
        else:
            self.interpreter.forget_attributes(call.argument(0), call.store)
        return NONE

    def _type(self, call: Call) -> Value:
        value = call.argument(0)
        if isinstance(value, Instance):
            return value.cls
        if isinstance(value, TensorValue):
            return External("torch.Tensor")
        if isinstance(value, Const):
            return External(f"builtins.{type(value.value).__name__}")
        return self.interpreter.fresh("type")

    def _callable(self, call: Call) -> Value:
        value = call.argument(0)
        if isinstance(value, Const):
            return FALSE
        return self._answer("callable", "bool", call)


def _comparable(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_comparable, value))
    return isinstance(value, (str, int, float))
