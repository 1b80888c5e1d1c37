"""Every overload of torch's public callables that follow a rule fits a signature of their row.

A call that fits none loses its names without an error. torch lists its overloads in the stubs of
its extension, in the schemas of its operators, and in the signatures of its functions in Python.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch

from namecheck.operators import Operator, signatures, table
from namecheck.rules import registry

STUBS: Final = Path(torch.__file__).parent / "_C"
# The keywords of an overload that its stub spells otherwise: `from` is a word of Python.
SPELLINGS: Final = {"self": "input", "from_": "from"}
# Stubs that differ from what torch accepts: the row's key, the keyword, and what torch calls it.
MISNAMED: Final = {
    ("requires_grad_", "mode"): "requires_grad",
    ("nn.functional.one_hot", "tensor"): "input",
}
# Keywords of an operator that its function in Python does not take.
UNCALLABLE: Final = frozenset(
    {
        ("linalg.matrix_exp", "out"),
        ("nn.functional.adaptive_avg_pool1d", "out"),
        ("nn.functional.avg_pool1d", "out"),
        ("nn.functional.channel_shuffle", "out"),
        ("nn.functional.pixel_shuffle", "out"),
        ("nn.functional.pixel_unshuffle", "out"),
    }
)
# Keywords with which a call drops names, and why.
DROPPING: Final = {
    **dict.fromkeys(
        (("split_copy", "out"), ("split_with_sizes_copy", "out"), ("unbind_copy", "out")),
        "it returns nothing, and writes to a list of tensors that have their shapes already",
    ),
    ("linalg.lstsq", "out"): "torch does not document it, and not all results are followed",
}


@dataclass(frozen=True)
class Overload:
    """One overload of a public callable: the keywords that torch takes in one call."""

    key: str
    form: str
    keywords: frozenset[str]
    text: str

    def lacking(self, row: Operator) -> frozenset[str]:
        """The keywords that no signature of the row has beside the others."""
        own = [signature for _, signature in row.alternatives(self.form)]
        known = own or [signatures.of(registry.load()[row.names])]
        keywords = self.keywords - {"out"} if "o" in row.forms else self.keywords
        missing = (keywords - {parameter.name for parameter in each} for each in known)
        return min(missing, key=len)


def overloads() -> Iterator[Overload]:
    """All overloads of callables that have a row."""
    functions = _parsed("_VariableFunctions.pyi").body
    [methods] = (
        node.body
        for node in _parsed("__init__.pyi").body
        if isinstance(node, ast.ClassDef) and node.name == "TensorBase"
    )
    yield from _stubbed(functions, "f")
    yield from _stubbed(methods, "m")
    for key in table():
        owner, _, attribute = key.rpartition(".")
        if owner in ("nn.functional", "linalg", "fft", "special"):
            function = getattr(operator.attrgetter(owner)(torch), attribute, None)
            form = "n" if owner == "nn.functional" else "f"
            if inspect.isfunction(function):
                yield _in_python(key, form, function)
            elif function is not None:
                yield from _of_schemas(key, form, function)


@cache
def _parsed(stub: str) -> ast.Module:
    return ast.parse((STUBS / stub).read_text("utf-8"))


def _stubbed(body: list[ast.stmt], form: str) -> Iterator[Overload]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            key, text = _key(node.name), ast.unparse(node.args)
            if key and (form == "m" or "Tensor" in text):
                named = [*node.args.args, *node.args.kwonlyargs]
                yield _overload(key, form, (argument.arg for argument in named), text)


def _in_python(key: str, form: str, function: Any) -> Overload:
    signature = inspect.signature(function)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    keywords = (each.name for each in signature.parameters.values() if each.kind in named)
    return _overload(key, form, keywords, str(signature))


def _of_schemas(key: str, form: str, function: Any) -> Iterator[Overload]:
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{function.__name__}"):
        inputs = [argument for argument in schema.arguments if not argument.is_out]
        if any("Tensor" in str(argument.type) for argument in inputs):
            keywords = [argument.name for argument in inputs]
            writes = len(inputs) < len(schema.arguments)
            yield _overload(key, form, [*keywords, *(["out"] if writes else [])], str(schema))


def _overload(key: str, form: str, keywords: Any, text: str) -> Overload:
    renamed = (MISNAMED.get((key, word), SPELLINGS.get(word, word)) for word in keywords)
    return Overload(key, form, frozenset(renamed), text)


def _key(name: str) -> str | None:
    """The row of a function, a method, or its form in place."""
    return next((key for key in (name, name.removesuffix("_")) if key in table()), None)


def test_every_overload_fits_a_signature() -> None:
    found = [one for one in overloads() if table()[one.key].names != "unknown"]
    assert len(found) > 1600
    lacking = [
        f"{one.key}: no signature has {sorted(missing)}: {one.text}"
        for one in found
        if (missing := one.lacking(table()[one.key]))
        and not all((one.key, word) in {*UNCALLABLE, *DROPPING} for word in missing)
    ]
    assert not lacking, "\n".join(lacking)
