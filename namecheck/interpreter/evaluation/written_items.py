"""Items of unknown values that are written: ``batch["x"] = batch["x"].flatten(1)``.

Nothing is known of an item once it is written: what the container is decides what it keeps, a dict
the value itself, an array the numbers in it. The other items that it may be are forgotten with it:
those with a computed index, and those that are counted from the other end.
"""

from __future__ import annotations

from typing import Final

from namecheck.interpreter.domain.provenance import Item
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Const, Opaque, Value
from namecheck.interpreter.evaluation.interpreter import Interpreter

# The kinds of indices, each with those of the other kinds that may be one index with it.
_KEY: Final = "[key]"
_FRONT: Final = "[front]"
_BACK: Final = "[back]"
_COMPUTED: Final = "[computed]"
_OTHERS: Final = {
    _KEY: (_COMPUTED,),
    _FRONT: (_BACK, _COMPUTED),
    _BACK: (_FRONT, _COMPUTED),
    _COMPUTED: (_KEY, _FRONT, _BACK, _COMPUTED),
}


def read(
    interpreter: Interpreter, opaque: Opaque, known_index: Const | Opaque, store: Store
) -> Value:
    """The item of an unknown container, as it is since the last write that may be to it."""
    latest = _version(opaque, known_index, store)
    if not isinstance(latest, Opaque):
        return interpreter.fresh("item")  # on some paths there was a write, on others none
    written: Value | None = store.get((latest.key, _cell(known_index)))
    return _unwritten(latest, known_index) if written is None else written


def write(interpreter: Interpreter, opaque: Opaque, index: Value, store: Store) -> None:
    """Forget the items of an unknown container that a write with this index may be to."""
    latest = _version(opaque, index, store)
    if isinstance(index, Const) and isinstance(latest, Opaque):
        cell = latest.key, _cell(index)
        store.write(cell, _unwritten(latest, index), interpreter.fresh("written"))
    for other in _OTHERS[_kind(index)]:
        store.write((opaque.key, other), opaque, interpreter.fresh("written"))


def _version(opaque: Opaque, index: Value, store: Store) -> Value:
    """What stands for the container in the items of a kind: another one after each write."""
    latest: Value = store.get((opaque.key, _kind(index)), opaque)
    return latest


def _unwritten(latest: Opaque, known_index: Const | Opaque) -> Opaque:
    key = known_index.value if isinstance(known_index, Const) else known_index.key
    return Opaque(Item(latest.key, key, type(key).__name__))


def _kind(index: Value) -> str:
    if not isinstance(index, Const):
        return _COMPUTED
    if isinstance(index.value, int):
        return _FRONT if index.value >= 0 else _BACK
    return _KEY


def _cell(index: Value) -> str:
    return f"[{index.value!r}]" if isinstance(index, Const) else _COMPUTED
