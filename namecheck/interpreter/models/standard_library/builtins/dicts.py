"""Methods of dicts."""

from __future__ import annotations

from namecheck.interpreter.domain import identities, joins, limits
from namecheck.interpreter.domain.values import (
    NONE,
    TRUE,
    Const,
    DictValue,
    Entries,
    ListValue,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import method


@method(DictValue, "get")
def get(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.get(key, default)``."""
    entries, key = joins.entries(receiver, call.store), call.argument(0)
    default = call.argument(1, "default")
    entry = dict(entries.items).get(key)
    if entry is not None:
        return entry
    if isinstance(key, Const) and entries.unlisted is None and _all_constant(entries):
        known = dict(entries.maybe).get(key)
        return default if known is None else joins.either((default, known), call.store)
    choices = [value for _, value in entries.items] if not isinstance(key, Const) else []
    choices += [] if entries.rest is None else [entries.rest]
    if not choices:
        return interpreter.fresh("entry")
    picked = joins.pick(tuple(choices), identities.of(key, call.store), call.store)
    return joins.either((default, picked), call.store)


@method(DictValue, "items")
def items(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.items()``."""
    entries = joins.entries(receiver, call.store)
    if entries.rest is None:
        return ListValue(interpreter.new_address(), tuple(map(TupleValue, entries.items)))
    return Repeated(TupleValue((interpreter.fresh("key"), _any(entries, entries.rest, call))))


@method(DictValue, "keys")
def keys(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.keys()``."""
    entries = joins.entries(receiver, call.store)
    if entries.rest is None:
        return ListValue(interpreter.new_address(), tuple(key for key, _ in entries.items))
    return Repeated(interpreter.fresh("key"))


@method(DictValue, "values")
def values(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.values()``."""
    entries = joins.entries(receiver, call.store)
    if entries.rest is None:
        return ListValue(interpreter.new_address(), tuple(value for _, value in entries.items))
    return Repeated(_any(entries, entries.rest, call))


def _any(entries: Entries, rest: Value, call: Call) -> Value:
    """Any of the values."""
    return joins.either((rest, *(value for _, value in entries.items)), call.store)


@method(DictValue, "pop")
def pop(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.pop(key, default)``."""
    popped = get(interpreter, receiver, call)
    entries = joins.entries(receiver, call.store)
    joins.write(receiver, call.store, entries.without(call.argument(0)))
    return popped


@method(DictValue, "move_to_end")
def move_to_end(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.move_to_end(key, last=True)`` of an ordered dict."""
    entries, key = joins.entries(receiver, call.store), call.argument(0, "key")
    last = call.argument(1, "last", TRUE)
    moved = [item for item in entries.items if item[0] == key]
    if not moved or not isinstance(last, Const):
        interpreter.havoc_containers([receiver], call.store)
        return NONE
    others = [item for item in entries.items if item[0] != key]
    items = (*others, *moved) if last.value else (*moved, *others)
    joins.write(receiver, call.store, Entries(items, entries.rest, entries.maybe))
    return NONE


@method(DictValue, "setdefault")
def setdefault(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.setdefault(key, default)``."""
    entries, key = joins.entries(receiver, call.store), call.argument(0)
    if key in dict(entries.items):
        return dict(entries.items)[key]
    if entries.rest is None and isinstance(key, Const) and _all_constant(entries):
        added = {**dict(entries.items), key: call.argument(1)}
        joins.write(receiver, call.store, limits.entries(added, None, call.store))
        return call.argument(1)
    return get(interpreter, receiver, call)


@method(DictValue, "update")
def update(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.update(others, key=value)``."""
    entries = joins.entries(receiver, call.store)
    merged, rest = dict(entries.items), entries.rest
    for arg in call.args:
        others = Entries((), interpreter.fresh("entry"))
        if isinstance(arg, DictValue):
            others = joins.entries(arg, call.store)
        merged = joins.overlaid(merged, others, call.store)
        rest = others.rest or rest
    merged.update({Const(name): value for name, value in call.kwargs.items()})
    joins.write(receiver, call.store, limits.entries(merged, rest, call.store))
    return NONE


@method(DictValue, "copy")
def copy(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.copy()``."""
    entries = joins.entries(receiver, call.store)
    return DictValue(interpreter.new_address(), entries, receiver.factory)


@method(DictValue, "clear")
def clear(interpreter: Interpreter, receiver: DictValue, call: Call) -> Value:
    """``entries.clear()``."""
    joins.write(receiver, call.store, Entries())
    return NONE


def _all_constant(entries: Entries) -> bool:
    """Whether all keys are constants, so that another constant is certainly none of them."""
    return all(isinstance(key, Const) for key, _ in entries.items)
