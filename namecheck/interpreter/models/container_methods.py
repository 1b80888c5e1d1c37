"""Methods of strings, tuples, lists, sets and dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from namecheck.interpreter.domain import class_lookup, joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Const,
    DictValue,
    Entries,
    Generator,
    Instance,
    ListValue,
    Operand,
    Repeated,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation import python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

_TEXT_WORDS: Final = """
lower upper title capitalize swapcase strip lstrip rstrip replace split rsplit splitlines join
startswith endswith removeprefix removesuffix index rindex find rfind count format zfill center
ljust rjust partition rpartition isalpha isdigit isidentifier isupper islower isspace casefold
"""
_OF_ITEMS: Final = frozenset({"__getitem__", "__setitem__", "__iter__", "__len__", "__contains__"})
_TEXT: Final = frozenset(_TEXT_WORDS.split())


class Natives:
    """Calls the methods of built-in values."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._lists: Mapping[str, Callable[[ListValue, Call], Value]] = {
            "append": self._append,
            "add": self._append,
            "appendleft": self._append_left,
            "extend": self._extend,
            "update": self._extend,
            "insert": self._insert,
            "pop": self._pop,
            "popleft": self._pop_left,
            "remove": self._remove,
            "discard": self._remove,
            "clear": self._clear,
            "reverse": self._reverse,
            "sort": self._sort,
            "copy": self._copy,
            "__next__": self._next,
        }
        self._dicts: Mapping[str, Callable[[DictValue, Call], Value]] = {
            "get": self._get,
            "items": self._items,
            "keys": self._keys,
            "values": self._values,
            "pop": self._pop_entry,
            "setdefault": self._setdefault,
            "update": self._update,
            "copy": self._copy_dict,
            "clear": self._clear_dict,
        }

    def call(self, receiver: Value, name: str, call: Call) -> Value:
        """``receiver.name(…)``."""
        if isinstance(receiver, TensorValue):
            return self._special_method(receiver, name, call)
        if isinstance(receiver, (Instance, TorchModule)):
            return self._of_instance(receiver, name, call)
        if isinstance(receiver, Wrapped):
            return TupleValue((receiver, call.argument(0)), (name, "function"))
        if isinstance(receiver, Const):
            return self._constant(receiver, name, call)
        if isinstance(receiver, Generator):
            return self._generator(receiver, name, call)
        if call.arguments.open:
            call.arguments.args.append(receiver)
            self.interpreter.havoc_arguments(call)
            return self.interpreter.fresh("native")
        if name in python_operators.SPECIAL_METHODS:
            return self._special_method(receiver, name, call)
        if name in _OF_ITEMS:
            return self._of_items(receiver, name, call)
        if isinstance(receiver, ListValue) and name in self._lists:
            return self._lists[name](receiver, call)
        if isinstance(receiver, DictValue) and name in self._dicts:
            return self._dicts[name](receiver, call)
        if isinstance(receiver, (TupleValue, ListValue)):
            return self._sequence(receiver, name, call)
        return self.interpreter.fresh("native")

    def _special_method(self, receiver: Value, name: str, call: Call) -> Value:
        """``x.__radd__(y)`` is ``y + x``."""
        operator, reflected = python_operators.SPECIAL_METHODS[name]
        nodes = [call.node, *getattr(call.node, "args", [])]
        operands: list[Operand] = list(zip(nodes, [receiver, *call.args], strict=False))
        if reflected:
            operands.reverse()
        return self.interpreter.operate(operator, call.node, operands, call.store, call.frame)

    def _of_items(self, receiver: Value, name: str, call: Call) -> Value:
        """``super().__getitem__(key)``, ``dict.__setitem__(self, key, value)``."""
        where = (call.node, call.store, call.frame)
        if name == "__getitem__":
            return self.interpreter.read_item(receiver, call.argument(0), *where)
        if name == "__setitem__":
            self.interpreter.write_item(receiver, call.argument(0), call.argument(1), *where)
            return NONE
        if name == "__iter__":
            content = self.interpreter.iterate(receiver, *where)
            if isinstance(content, Repeated):
                return content
            return ListValue(self.interpreter.new_address(), content, "iterator")
        functions = self.interpreter.libraries.builtins
        if name == "__len__":
            arguments = replace(call.arguments, args=[receiver])
            return functions.call("len", replace(call, arguments=arguments))
        operands: list[Operand] = [(call.node, call.argument(0)), (call.node, receiver)]
        return self.interpreter.operate("In", call.node, operands, call.store, call.frame)

    def _of_instance(self, receiver: Instance | TorchModule, name: str, call: Call) -> Value:
        """What an instance has from the class of a library that its own derives from."""
        inheritance = self.interpreter.libraries.inheritance
        if name == "__init__" and isinstance(receiver, Instance):
            base = inheritance.base(class_lookup.mro(receiver.cls))
            if base is not None:
                inheritance.initialise(receiver, base, call)
            return NONE
        if name == "__getattr__":
            self.interpreter.fail("AttributeError")
        if name == "__setattr__":
            name_, value = call.argument(0, "name"), call.argument(1, "value")
            self.interpreter.set_attribute(receiver, name_, value, call.store)
            return NONE
        return self.interpreter.torch_nn.call(receiver, name, call)

    def _generator(self, receiver: Generator, name: str, call: Call) -> Value:
        """``__next__`` and ``send`` ask for the next item, ``close`` for none any more."""
        if name in ("__next__", "send", "__anext__", "asend"):
            item = self.interpreter.generators.step(receiver, call.node, call.store, call.frame)
            if item is None:
                self.interpreter.fail("StopIteration")
            return item
        if name == "__iter__":
            return receiver
        self.interpreter.generators.give_away(receiver, call.store, call.frame)
        return NONE

    # Strings

    def _constant(self, receiver: Const, name: str, call: Call) -> Value:
        if not isinstance(receiver.value, str):
            return self.interpreter.fresh("native")
        args = [
            self.interpreter.torch.lower(self._listed(arg, call), call.store) for arg in call.args
        ]
        kwargs = {
            key: self.interpreter.torch.lower(value, call.store)
            for key, value in call.kwargs.items()
        }
        if (
            name not in _TEXT
            or call.arguments.open
            or not all(map(_plain, [*args, *kwargs.values()]))
            or python_operators.too_big([*args, *kwargs.values()])
            or (name == "format" and python_operators.too_wide(receiver.value))
        ):
            return self.interpreter.fresh("text", "str")
        try:
            result = getattr(receiver.value, name)(*args, **kwargs)
        except (TypeError, ValueError, LookupError, AttributeError):
            return self.interpreter.fresh("text")
        return self.interpreter.torch.lift(result, {}, call.node)

    def _listed(self, value: Value, call: Call) -> Value:
        """A generator as what it gives: a method of a string goes through all of it."""
        if not isinstance(value, Generator):
            return value
        content = self._more(value, call)
        return content if isinstance(content, Repeated) else TupleValue(content)

    # Sequences

    def _sequence(self, receiver: TupleValue | ListValue, name: str, call: Call) -> Value:
        content: tuple[Value, ...] | Repeated = (
            receiver.items
            if isinstance(receiver, TupleValue)
            else self._content(receiver, call.store)
        )
        if name in ("index", "count") and not isinstance(content, Repeated):
            answers = [python_operators.equal(call.argument(0), x, call.store) for x in content]
            if name == "index" and True in answers and None not in answers[: answers.index(True)]:
                return Const(answers.index(True))
            if name == "count" and None not in answers:
                return Const(answers.count(True))
        if name == "numel" and not isinstance(content, Repeated):
            total: Value = Const(1)
            for item in content:
                total = python_operators.apply(
                    self.interpreter,
                    "Mult",
                    call.node,
                    [(call.node, total), (call.node, item)],
                    call.store,
                    call.frame,
                )
            return total
        if name == "_replace" and isinstance(receiver, TupleValue):
            items = tuple(
                call.kwargs.get(field, item)
                for field, item in zip(receiver.fields, receiver.items, strict=True)
            )
            return TupleValue(items, receiver.fields, receiver.cls)
        if name == "_asdict" and isinstance(receiver, TupleValue):
            pairs = zip(map(Const, receiver.fields), receiver.items, strict=True)
            return DictValue(self.interpreter.new_address(), Entries(tuple(pairs)))
        if name in ("union", "intersection", "difference") and isinstance(receiver, ListValue):
            operator = {"union": "BitOr", "intersection": "BitAnd", "difference": "Sub"}[name]
            other = ListValue(
                self.interpreter.new_address(), self._more(call.argument(0), call), "set"
            )
            operands: list[Operand] = [(call.node, receiver), (call.node, other)]
            return python_operators.apply(
                self.interpreter, operator, call.node, operands, call.store, call.frame
            )
        kinds = {"index": "int", "count": "int", "numel": "int"}
        return self.interpreter.fresh("native", kinds.get(name))

    def _content(self, receiver: ListValue, store: Store) -> tuple[Value, ...] | Repeated:
        return joins.items(receiver, store)

    def _more(self, value: Value, call: Call) -> tuple[Value, ...] | Repeated:
        return self.interpreter.iterate(value, call.node, call.store, call.frame)

    def _write(self, receiver: ListValue, parts: list[Any], call: Call) -> None:
        """Put together parts, each known items or items alike."""
        content: tuple[Value, ...] | Repeated = ()
        for part in parts:
            if part == ():
                continue
            if content == ():
                content = part
            elif isinstance(content, Repeated) or isinstance(part, Repeated):
                content = joins.Joiner(call.store, call.store).sequences(content, part)
                content = content if isinstance(content, Repeated) else Repeated(content[0])
            else:
                content = content + part
        joins.write(receiver, call.store, content)

    def _append(self, receiver: ListValue, call: Call) -> Value:
        content, item = self._content(receiver, call.store), call.argument(0)
        if receiver.kind == "set" and not isinstance(content, Repeated) and item in content:
            return NONE
        self._write(receiver, [content, (item,)], call)
        return NONE

    def _append_left(self, receiver: ListValue, call: Call) -> Value:
        self._write(receiver, [(call.argument(0),), self._content(receiver, call.store)], call)
        return NONE

    def _extend(self, receiver: ListValue, call: Call) -> Value:
        more = self._more(call.argument(0), call)
        self._write(receiver, [self._content(receiver, call.store), more], call)
        return NONE

    def _insert(self, receiver: ListValue, call: Call) -> Value:
        content, where = self._content(receiver, call.store), call.argument(0)
        item = (call.argument(1),)
        if isinstance(content, Repeated) or not (
            isinstance(where, Const) and isinstance(where.value, int)
        ):
            self._write(receiver, [content, Repeated(item[0])], call)
        else:
            self._write(receiver, [content[: where.value], item, content[where.value :]], call)
        return NONE

    def _pop(self, receiver: ListValue, call: Call) -> Value:
        content = self._content(receiver, call.store)
        where = call.argument(0, default=Const(-1))
        if isinstance(content, Repeated):
            return joins.pick(content, self.interpreter.new_address(), call.store)
        if not isinstance(where, Const) or not isinstance(where.value, int):
            joins.write(receiver, call.store, Repeated(self.interpreter.fresh("item")))
            return self.interpreter.fresh("item")
        if not -len(content) <= where.value < len(content):
            self.interpreter.fail("IndexError")
        rest = list(content)
        item = rest.pop(where.value)
        joins.write(receiver, call.store, tuple(rest))
        return item

    def _pop_left(self, receiver: ListValue, call: Call) -> Value:
        call.arguments.args = [Const(0)]
        return self._pop(receiver, call)

    def _next(self, receiver: ListValue, call: Call) -> Value:
        return self._pop_left(receiver, call)

    def _remove(self, receiver: ListValue, call: Call) -> Value:
        content = self._content(receiver, call.store)
        if isinstance(content, Repeated):
            return NONE
        if call.argument(0) in content:
            rest = list(content)
            rest.remove(call.argument(0))
            joins.write(receiver, call.store, tuple(rest))
        elif not all(isinstance(item, Const) for item in (*content, call.argument(0))):
            joins.write(receiver, call.store, Repeated(self.interpreter.fresh("item")))
        return NONE

    def _clear(self, receiver: ListValue, call: Call) -> Value:
        joins.write(receiver, call.store, ())
        return NONE

    def _reverse(self, receiver: ListValue, call: Call) -> Value:
        content = self._content(receiver, call.store)
        if not isinstance(content, Repeated):
            joins.write(receiver, call.store, content[::-1])
        return NONE

    def _sort(self, receiver: ListValue, call: Call) -> Value:
        content = self._content(receiver, call.store)
        if not isinstance(content, Repeated):
            ordered = self.interpreter.libraries.builtins.ordered(content, call)
            joins.write(receiver, call.store, ordered)
        return NONE

    def _copy(self, receiver: ListValue, call: Call) -> Value:
        return ListValue(
            self.interpreter.new_address(), self._content(receiver, call.store), receiver.kind
        )

    # Dicts

    def _get(self, receiver: DictValue, call: Call) -> Value:
        content, key = joins.entries(receiver, call.store), call.argument(0)
        default = call.argument(1, "default")
        found = dict(content.items).get(key)
        if found is not None:
            return found
        if isinstance(key, Const) and content.rest is None and _all_constant(content):
            return default
        choices = [entry for _, entry in content.items] if not isinstance(key, Const) else []
        choices += [] if content.rest is None else [content.rest]
        if not choices:
            return self.interpreter.fresh("entry")
        found = joins.pick(tuple(choices), joins.identity(key, call.store), call.store)
        return joins.either((default, found), call.store)

    def _items(self, receiver: DictValue, call: Call) -> Value:
        content = joins.entries(receiver, call.store)
        if content.rest is None:
            return ListValue(
                self.interpreter.new_address(), tuple(TupleValue(pair) for pair in content.items)
            )
        return Repeated(TupleValue((self.interpreter.fresh("key"), self._any(receiver, call))))

    def _keys(self, receiver: DictValue, call: Call) -> Value:
        content = joins.entries(receiver, call.store)
        if content.rest is None:
            return ListValue(self.interpreter.new_address(), tuple(key for key, _ in content.items))
        return Repeated(self.interpreter.fresh("key"))

    def _values(self, receiver: DictValue, call: Call) -> Value:
        content = joins.entries(receiver, call.store)
        if content.rest is None:
            return ListValue(
                self.interpreter.new_address(), tuple(entry for _, entry in content.items)
            )
        return Repeated(self._any(receiver, call))

    def _any(self, receiver: DictValue, call: Call) -> Value:
        content = joins.entries(receiver, call.store)
        rest = content.rest or self.interpreter.fresh("entry")
        return joins.either((rest, *(entry for _, entry in content.items)), call.store)

    def _pop_entry(self, receiver: DictValue, call: Call) -> Value:
        found = self._get(receiver, call)
        content = joins.entries(receiver, call.store)
        kept = tuple((key, entry) for key, entry in content.items if key != call.argument(0))
        joins.write(receiver, call.store, Entries(kept, content.rest))
        return found

    def _setdefault(self, receiver: DictValue, call: Call) -> Value:
        content, key = joins.entries(receiver, call.store), call.argument(0)
        if key in dict(content.items):
            return dict(content.items)[key]
        if content.rest is None and isinstance(key, Const) and _all_constant(content):
            added = (*content.items, (key, call.argument(1)))
            joins.write(receiver, call.store, Entries(added))
            return call.argument(1)
        return self._get(receiver, call)

    def _update(self, receiver: DictValue, call: Call) -> Value:
        content = joins.entries(receiver, call.store)
        items, rest = dict(content.items), content.rest
        for value in call.args:
            if isinstance(value, DictValue):
                more = joins.entries(value, call.store)
                items.update(more.items)
                rest = more.rest or rest
            else:
                rest = self.interpreter.fresh("entry")
        items.update({Const(name): value for name, value in call.kwargs.items()})
        joins.write(receiver, call.store, Entries(tuple(items.items()), rest))
        return NONE

    def _copy_dict(self, receiver: DictValue, call: Call) -> Value:
        content = joins.entries(receiver, call.store)
        return DictValue(self.interpreter.new_address(), content, receiver.factory)

    def _clear_dict(self, receiver: DictValue, call: Call) -> Value:
        joins.write(receiver, call.store, Entries())
        return NONE


def _all_constant(content: Entries) -> bool:
    return all(isinstance(key, Const) for key, _ in content.items)


def _plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_plain, value))
    return value is None or isinstance(value, (str, int, float))
