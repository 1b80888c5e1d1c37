"""Parameters as the tensors that a docstring says they are.

What is claimed may be wrong: it is for a run whose values are shown, and which makes no findings.
"""

from __future__ import annotations

import re
from typing import Final

from namecheck.annotations import docstrings, expressions
from namecheck.annotations.docstrings import Shape
from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, Dim, Dims, new_dim
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins, opaque_tensors
from namecheck.interpreter.domain.addresses import ParameterTensor
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Alternative,
    FunctionValue,
    Held,
    Opaque,
    TensorValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation.frames import Arguments
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.workspace import told_dims

_WORD: Final = r"(?<!\w)[^\W\d]\w*(?:\.\w+|\[\d+\])*"


def informed(
    interpreter: Interpreter, function: FunctionValue, arguments: Arguments, store: Store
) -> Arguments:
    """The arguments with the claimed dims of those whose rank is not known."""
    documentation = docstrings.of_function(function.node, function.environment.scope)
    if documentation is None:
        return arguments
    claimed = documentation.claims
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    optional = {
        parameter.arg
        for parameter, default in zip(
            positional[len(positional) - len(function.defaults) :], function.defaults, strict=True
        )
        if default == NONE
    }
    optional |= {word for word, default in function.keyword_defaults if default == NONE}
    scope = interpreter.new_address()

    def value(word: str, value: Value) -> Value:
        if word not in claimed:
            return value
        dims = _dims(claimed[word].shape, scope)
        return _as_claimed(interpreter, value, dims, store, is_optional=word in optional)

    return told_dims.changed(function, arguments, value)


def _as_claimed(
    interpreter: Interpreter, value: Value, dims: Dims, store: Store, *, is_optional: bool
) -> Value:
    """A parameter of unknown rank as a tensor of these dims; any other value as it is."""
    if isinstance(value, Union):
        members = [
            replace(
                member,
                value=_as_claimed(interpreter, member.value, dims, store, is_optional=False),
            )
            for member in value.alternatives
        ]
        return joins.union(members, interpreter.context.ledger)
    known = opaque_tensors.known_tensor(value, store)
    if known is None and not (isinstance(value, Opaque) and value.kind is None):
        return value
    if known is not None and not joins.held(known, store).tensor.dims.open:
        return value
    tensor = TensorValue(ParameterTensor(interpreter.new_address()), Held(Tensor(dims)))
    if not is_optional or isinstance(value, TensorValue):
        return tensor
    members = [Alternative(tensor), Alternative(NONE)]
    return joins.union(members, interpreter.context.ledger)


def _dims(shape: Shape, scope: int) -> Dims:
    dims = tuple(_dim(term, scope) for term in shape.terms)
    if shape.gap is None:
        return Dims(dims)
    return Dims(dims[: shape.gap], dims[shape.gap :], open=True)


def _dim(term: str, scope: int) -> Dim:
    """A dim of the size that a term stands for; one word is one size in all of a docstring."""
    formula = re.sub(r"(?<!\w)(\d+)([A-Z])", r"\1*\2", term)
    formula = re.sub(_WORD, lambda word: naming.of_number(word[0], scope), formula)
    try:
        size = expressions.symbolic(expressions.read(re.sub("//?", "//", formula)).term)
    except SyntaxError:
        return ANY_DIM
    return ANY_DIM if size is UNKNOWN else new_dim(size)
