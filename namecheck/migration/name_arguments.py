"""The name arguments of applied operators, and the tensors whose dims they name.

Which parameters take names is read from the signatures of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from namecheck import operators
from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN, Answer
from namecheck.core.tensors import Many, Tensor
from namecheck.effects.words import Parameter
from namecheck.interpreter.workspace.analysis import Application
from namecheck.migration.dim_indices import Unsettled
from namecheck.operators import Operator, signatures

Rows: TypeAlias = Mapping[str, Operator] | None

# An argument of a call in the analysis: by position (0 may be the receiver), or by keyword.
Key: TypeAlias = int | str

NEW_NAMES: Final = frozenset({"names", "out_dim", "outdim"})
"""Parameters that give names to the dims of the result."""

_OF_NAMES: Final = frozenset(
    {
        *("names", "names=", "has_names"),
        *("refine_names", "rename", "rename_"),
        *("align_to", "align_as"),
    }
)
_DIMS: Final = frozenset({"dim", "dims", "name", "names"})
_OF_LAYERS: Final = frozenset({"dim", "start_dim", "end_dim"})
_TEXT: Final = frozenset({"any", "str"})


def is_of_names(application: Application) -> bool:
    """Whether a call needs named tensors: torch 2.13 refuses it."""
    words = dict(application.keywords)
    if operators.key_of(application.operator) in _OF_NAMES or words.keys() & NEW_NAMES:
        return True
    return any(is_name(value, application) for value in (*application.positional, *words.values()))


def is_name(value: Any, application: Application) -> bool:
    """Whether an argument is the name of a dim of the tensor, or contains one."""
    texts = [value] if isinstance(value, str) else value if isinstance(value, (tuple, list)) else ()
    texts = [text for text in texts if isinstance(text, str)]
    if not texts:
        return False
    dims = first_dims(application)
    return dims is not None and not {naming.word(name) for name in dims.names}.isdisjoint(texts)


def takes_names(application: Application, rows: Rows) -> bool:
    """Whether a dim is passed by name, or new names are passed."""
    return has_names(application) and any(
        key in NEW_NAMES or (_has_text(value) and (parameter is None or is_dim(parameter)))
        for key, value, parameter in arguments_of(application, rows)
    )


def may_take_names(application: Application, rows: Rows) -> bool:
    """Whether a dim of a named tensor may be passed by name: the argument is unknown."""
    dims = first_dims(application)
    if dims is None or not has_unknown(application) or dims.named() is not Answer.YES:
        return False
    return any(
        value is UNKNOWN and parameter is not None and is_dim(parameter)
        for _, value, parameter in arguments_of(application, rows)
    )


def has_unknown(application: Application) -> bool:
    """Whether an argument is unknown."""
    return UNKNOWN in application.positional or UNKNOWN in dict(application.keywords).values()


def has_names(application: Application) -> bool:
    """Whether there are texts among the arguments of this call, or new names."""
    keyed: list[tuple[Key, Any]] = [*enumerate(application.positional), *application.keywords]
    return any(
        key in NEW_NAMES or _has_text(value)
        for key, value in keyed
        if is_early(key, application) == application.early
    )


def is_early(key: Key, application: Application) -> bool:
    """Whether an argument was passed earlier, where a layer or a partial function was made."""
    begun = application.begun
    if begun is None:
        return False
    return key < begun.args if isinstance(key, int) else key in begun.words


def is_dim(parameter: Parameter) -> bool:
    """Whether a parameter takes dims, and no other text."""
    return bool(parameter.kinds & _DIMS) and not parameter.kinds & _TEXT


def arguments_of(
    application: Application, rows: Rows
) -> Iterator[tuple[Key, Any, Parameter | None]]:
    """The arguments of a call, each with its parameter if that is known."""
    positional, words = application.positional, dict(application.keywords)
    by_place, by_keyword = operators.parameters(application.operator, positional, words, rows)
    row, begun = operators.row_of(application.operator, rows), application.begun
    if begun is not None and row is not None and row.ctor:
        made = map(_of_layer, row.constructor)
        before, named = signatures.places(tuple(made), begun.args, begun.words)
        by_place[: begun.args] = before
        by_keyword |= named
    for place, (value, parameter) in enumerate(zip(positional, by_place, strict=True)):
        yield place, value, parameter
    for word, value in words.items():
        yield word, value, by_keyword.get(word)


def _of_layer(parameter: Parameter) -> Parameter:
    """A parameter of a constructor; it takes the same values as the layer's."""
    dims = parameter.name in _OF_LAYERS
    return replace(parameter, kinds=frozenset({"dim", "name"})) if dims else parameter


def reference_dims(application: Application) -> Dims:
    """The dims in which names are looked up, those of the first tensor; raises `Unsettled`."""
    dims = first_dims(application)
    if dims is None:
        raise Unsettled("the first operand is not known")
    return dims


def first_dims(application: Application) -> Dims | None:
    """The dims of the first tensor argument of a call; None where there is none."""
    for value in (*application.positional, *(value for _, value in application.keywords)):
        first = value[0] if isinstance(value, (tuple, list)) and value else value
        if isinstance(first, Many):
            first = first.each
        if isinstance(first, Tensor):
            return first.dims
    return None


def texts_of(application: Application) -> Iterator[str]:
    """The texts among the arguments of a call."""
    values = [*application.positional, *(value for _, value in application.keywords)]
    for value in values:
        if isinstance(value, (tuple, list)):
            values += value
        elif isinstance(value, str):
            yield value


def _has_text(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_text, value))
    return isinstance(value, str)
