"""Tests of the type of a tensor: ``torch.LongTensor``, ``Float[Tensor, "h w"]``.

jaxtyping tests the rank, the sizes and the dtype. An axis that a parameter has bound has its size
there, so that whether a tensor with such an axis is of the type is not known.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Final

from namecheck.annotations.declarations import Declaration
from namecheck.annotations.patterns import Pattern, Several
from namecheck.core import dtypes
from namecheck.core.dims import Dims, of_rank
from namecheck.core.dtypes import KINDS
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import External, TensorValue, TupleValue, Value
from namecheck.interpreter.evaluation import type_tests
from namecheck.interpreter.evaluation.declared import axes_of
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

_ANY: Final = Pattern(several=Several())


@cache
def _by_word() -> dict[str, str]:
    """The dtypes by the words of their classes: ``LongTensor``."""
    return {f"{kind.spoken}Tensor": name for name, kind in KINDS.items() if not kind.shell}


def dtypes_of_class(kind_value: Value) -> frozenset[str]:
    """The dtypes of the tensors of a class, ``torch.cuda.LongTensor``, or of those in a tuple."""
    if isinstance(kind_value, TupleValue):
        each = [dtypes_of_class(item) for item in kind_value.items]
        return frozenset().union(*each) if all(each) else frozenset()
    return dtypes_of_name(kind_value.path) if isinstance(kind_value, External) else frozenset()


def dtypes_of_name(path: str) -> frozenset[str]:
    """The dtype of the tensors of a class with this dotted name, alone; empty for other names."""
    library, _, word = path.rpartition(".")
    dtype = _by_word().get(word) if library in ("torch", "torch.cuda") else None
    return frozenset() if dtype is None else frozenset({dtype})


def tested_by(
    interpreter: Interpreter, type_node: ast.expr, kind_value: Value, frame: Frame
) -> Declaration | frozenset[str] | None:
    """What a type tells of its tensors: a declaration, or their dtypes; None for other types."""
    if not isinstance(kind_value, TupleValue):
        declared = interpreter.declarations.of(frame.environment).read(type_node)
        if isinstance(declared, Declaration):
            return declared
    return dtypes_of_class(kind_value) or None


def is_instance(
    interpreter: Interpreter,
    value: Value,
    kind_value: Value,
    tested: Declaration | frozenset[str] | None,
    store: Store,
    frame: Frame,
) -> bool | None:
    """Whether a value is of a type, of which `tested_by` tells more; None where unknown."""
    if tested is None or not isinstance(value, TensorValue):
        return type_tests.is_instance(interpreter, value, kind_value)
    tensor = joins.held(value, store).tensor
    declared = tested if isinstance(tested, Declaration) else Declaration(_ANY, tested)
    answers = (_has_dtype(tensor, declared), _has_dims(interpreter, tensor.dims, declared, frame))
    return False if False in answers else None if None in answers else True


def _has_dtype(tensor: Tensor, declared: Declaration) -> bool | None:
    possible = frozenset(dtypes.possible(tensor.dtype))
    if declared.dtypes is None:
        return True
    if possible and not possible & declared.dtypes:
        return False
    return True if possible and possible <= declared.dtypes else None


def _has_dims(
    interpreter: Interpreter, dims: Dims, declared: Declaration, frame: Frame
) -> bool | None:
    pattern = declared.pattern
    if pattern.several is None:
        if of_rank(dims, pattern.min_rank) is None:
            return False
    elif not dims.open and len(dims.prefix) < pattern.min_rank:
        return False
    names = [item.name for item in pattern.items if item.name]
    signature = interpreter.declarations.of(frame.environment).signature(frame.environment.scope)
    parameters = [parameter.declared for parameter in signature.parameters.values()]
    is_free = not frozenset(names) & frozenset().union(*map(axes_of, parameters))
    is_sized = any(dim.size is not None for dim in pattern.before + pattern.after)
    if dims.open or is_sized or not is_free or len(set(names)) < len(names):
        return None
    return True
