"""The attributes of torch that the operator table describes, each with its operator."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from namecheck.effects.words import Parameter
from namecheck.operators import Operator, python_operators
from namecheck.rules import registry

# The special methods of the nodes that `operators.python_operators` names, without underscores.
BINARY: Final = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
    "MatMult": "matmul",
    "BitAnd": "and",
    "BitOr": "or",
    "BitXor": "xor",
    "LShift": "lshift",
    "RShift": "rshift",
}
COMPARISONS: Final = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
_OF_PYTHON_2: Final = ("Div", "div")
_COMMUTATIVE: Final = frozenset({"Add", "Mult"})
UNARY: Final = {"USub": "neg", "UAdd": "pos", "Invert": "invert"}


# Where torch has the functions of the table, some of them more than once.
FUNCTION_MODULES: Final[tuple[Any, ...]] = (
    torch,
    torch.functional,
    torch.nn.functional,
    torch.special,
    torch.linalg,
    torch.fft,
    torch.sparse,
)


# Where torch imports some of these functions by their names.
IMPORTING_MODULES: Final[tuple[Any, ...]] = (
    torch.distributions.bernoulli,
    torch.distributions.continuous_bernoulli,
    torch.distributions.geometric,
    torch.distributions.transforms,
)


# The rules of the operators that tell sizes or strides, for which the caller may name a dim.
QUERIES: Final = frozenset({"size", "stride"})


@dataclass(frozen=True, slots=True)
class Target:
    """One attribute of torch: its owner, its operator as `infer` takes it, its row, its form.

    `special` marks a special method of Python, `unary` one with a single operand, `reflected` one
    whose receiver is the right operand. `move` is our function that replaces the original for
    named tensors. `settle` computes from a call the arguments after the first with which the
    original does the same. `by_name` is True if `move` accepts names as they are, `moves` if it
    moves dims and so cannot run with wrong names.
    """

    owner: Any
    attribute: str
    operator: str
    row: Operator
    form: str
    original: Any
    reflected: bool = False
    special: bool = False
    unary: bool = False
    move: Callable[..., Any] | None = None
    settle: Callable[..., tuple[Any, ...]] | None = None
    by_name: bool = False
    moves: bool = False

    @property
    def takes_numbers(self) -> bool:
        """Whether an operand may be a number, as in no product of matrices."""
        return any("number" in each.kinds for each in itertools.chain(*self.row.signatures))


def is_fresh(parameter: Parameter) -> bool:
    """Whether a parameter names dims of the result; torch itself no longer has such parameters."""
    return parameter.name in _FRESH and bool(parameter.kinds & {"name", "names"})


def names_result(row: Operator) -> bool:
    """Whether a call can name the dims of its result."""
    return any(map(is_fresh, itertools.chain(*row.signatures)))


_FRESH: Final = frozenset({"names", "out_dim", "outdim"})


def all_targets(rows: Mapping[str, Operator]) -> Iterator[Target]:
    """Every callable and property to patch, each once."""
    patched_keys: set[tuple[int, str]] = set()
    for target in (*_of_python(rows), *_of_rows(rows)):
        key = (id(target.owner), target.attribute)
        if key not in patched_keys:
            patched_keys.add(key)
            yield target


def _of_rows(rows: Mapping[str, Operator]) -> Iterator[Target]:
    for key, row in rows.items():
        if row.runtime == "by hand" or _loses_no_names(row):
            continue
        for form in row.forms:
            if location := _location(key, form):
                owner, attribute, operator = location
                original = getattr(owner, attribute, None)
                if original is not None and not isinstance(original, type):
                    yield Target(owner, attribute, operator, row, form, original)


def _loses_no_names(row: Operator) -> bool:
    """Whether an operator needs no patch: its result is no tensor, or the table has no rule."""
    if row.native or row.aten:
        return False
    return row.names == "unknown" or not registry.traits_of(row.names).patched


def _location(key: str, form: str) -> tuple[Any, str, str] | None:
    """The owner and attribute of an operator in a form, and the operator as `infer` takes it."""
    if form == "f":
        owner, attribute = _module(key)
        return (owner, attribute, f"torch.{key}") if owner else None
    if form in "maij":
        inplace = form in "ij" and not key.endswith("_")
        name = f"{key}_" if inplace else key
        owner = torch if form == "j" else torch.Tensor
        return owner, name, f"Tensor.{name}" if form == "m" else name
    if form == "n":
        owner, attribute = _module(key)
        return owner, attribute, key
    return None


def _module(dotted: str) -> tuple[Any, str]:
    *path, attribute = dotted.split(".")
    owner: Any = torch
    for name in path:
        owner = getattr(owner, name, None)
    return owner, attribute


def of_modules(rows: Mapping[str, Operator]) -> Iterator[Target]:
    """The `forward` of every class of ``torch.nn`` in the table."""
    for key, row in rows.items():
        owner, attribute = _module(key)
        if "c" in row.forms and owner and hasattr(owner, attribute):
            layer = getattr(owner, attribute)
            yield Target(layer, "forward", key, row, "c", layer.forward)


def _of_python(rows: Mapping[str, Operator]) -> Iterator[Target]:
    """The special methods behind Python's operators, and behind ``abs``."""
    yield Target(torch.Tensor, "__abs__", "abs", rows["abs"], "m", torch.Tensor.__abs__)
    keys = python_operators()
    for name, word in (*(BINARY | COMPARISONS | UNARY).items(), _OF_PYTHON_2):
        key = keys[name]
        forms = [("", key, False)]
        if name in BINARY:
            # torch computes `y.__radd__(x)` as `y + x`, and tells the operands in that order.
            forms += [("r", key, name not in _COMMUTATIVE), ("i", f"{key}_", False)]
        for letter, operator, reflected in forms:
            attribute = f"__{letter}{word}__"
            if attribute in rows:  # it has a row of its own, for the operands in their order
                operator, reflected = attribute, False
            row = rows.get(attribute, rows[key])
            original = getattr(torch.Tensor, attribute, None)
            if original is not None:
                form = "i" if letter == "i" else "m"
                yield Target(
                    torch.Tensor,
                    attribute,
                    operator,
                    row,
                    form,
                    original,
                    reflected,
                    special=True,
                    unary=name in UNARY,
                )


def is_property(patched: Target) -> bool:
    """Whether the attribute is a property, not a callable."""
    return patched.form == "a" or inspect.isdatadescriptor(patched.original)
