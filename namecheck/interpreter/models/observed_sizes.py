"""Sizes that come from elsewhere, in the arguments of operators: ``x.view(b, t, self.heads, -1)``.

`namecheck.interpreter.domain.size_symbols` names them. Only arguments that can be nothing but a
size become one: a parameter that is passed as ``dim`` is an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, new_dim
from namecheck.core.names import UNKNOWN, Axis
from namecheck.core.sizes import Expression, symbol, symbols
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities, joins, size_symbols
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
    sized,
)
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.observations import Begun
from namecheck.interpreter.models import observed_numbers
from namecheck.interpreter.models.torch.operands import Inputs
from namecheck.operators.row import Operator

# The arguments that are sizes, from the first to the last of them.
_LAST: Final = 1 << 20
_POSITIONS: Final[Mapping[str, tuple[int, int]]] = {
    "view": (1, _LAST),
    "reshape": (1, _LAST),
    "expand": (1, _LAST),
    "zeros": (0, _LAST),
    "ones": (0, _LAST),
    "empty": (0, _LAST),
    "rand": (0, _LAST),
    "randn": (0, _LAST),
    "full": (0, 1),
    "arange": (0, 1),
    "new_zeros": (1, _LAST),
    "new_ones": (1, _LAST),
    "new_empty": (1, _LAST),
    "new_full": (1, 2),
    "split": (1, 2),
    "split_with_sizes": (1, 2),
    "unflatten": (2, 3),
    "broadcast_to": (1, 2),
    "eye": (0, 2),
    "linspace": (2, 3),
    "logspace": (2, 3),
    "randperm": (0, 1),
    "narrow": (3, 4),
    "repeat": (1, _LAST),
    "tile": (1, _LAST),
    "nn.functional.one_hot": (1, 2),
    "nn.functional.interpolate": (1, 2),
    "nn.functional.adaptive_avg_pool1d": (1, 2),
    "nn.functional.adaptive_avg_pool2d": (1, 2),
    "nn.functional.adaptive_max_pool2d": (1, 2),
}
# Those of which the only argument for a size is one size, and no sequence of sizes.
_OF_ONE: Final = frozenset(
    {
        "arange",
        "split",
        "eye",
        "linspace",
        "logspace",
        "randperm",
        "narrow",
        "nn.functional.one_hot",
    }
)
_KEYWORDS: Final = frozenset({"split_size", "steps", "num_classes"})
_PATTERNS: Final = frozenset({"einops.rearrange", "einops.repeat", "einops.reduce"})
_OF_SEVERAL: Final = frozenset({"size", "sizes", "shape", "split_sizes"})
# The parameters of layers that are sizes of dims; others are numbers, of which some are indices.
_OF_LAYERS: Final = frozenset(
    {
        "embed_dim",
        "embedding_dim",
        "hidden_size",
        "in_channels",
        "in_features",
        "input_size",
        "normalized_shape",
        "num_channels",
        "num_embeddings",
        "num_features",
        "out_channels",
        "out_features",
    }
)
# Those for windows, which are sizes where they cut an image into patches.
_WINDOWS: Final = frozenset({"kernel_size", "stride"})

# The place of the dim that a layer takes, by the rule of its row; None is before its spatial dims.
_TAKERS: Final[Mapping[str, int | None]] = {
    "linear_module": -1,
    "normalizes_last": -1,
    "normalizes_channels": 1,
    "convolution_module": None,
    "transposed_convolution_module": None,
}
# The parameters for the size of that dim.
_TAKEN: Final = frozenset(
    {"in_features", "in_channels", "num_features", "num_channels", "normalized_shape"}
)


def fill(
    row_key: str,
    row: Operator | None,
    args: Sequence[Value],
    keyword_values: Mapping[str, Value],
    lowered: list[Any],
    lowered_keywords: dict[str, Any],
    store: Store,
) -> None:
    """Replace what is unknown among the sizes of a call by symbols, in the lowered arguments.

    And the numbers among the operands of a broadcast by numbers.
    """
    observed_numbers.fill(row, args, lowered, store)
    if row_key in _PATTERNS:
        words = [word for word in keyword_values if word not in ("pattern", "tensor", "reduction")]
    elif row_key in _POSITIONS:
        first, last = _POSITIONS[row_key]
        end = min(last, len(args))
        for index in range(first, end):
            if end - first == 1 and _may_be_many(row_key, args[index]):
                continue
            lowered[index] = _as_size(args[index], lowered[index], store)
        words = [
            word
            for word in keyword_values
            if word in _KEYWORDS or (word in _OF_SEVERAL and _is_sequence(keyword_values[word]))
        ]
    else:
        return
    for word in words:
        lowered_keywords[word] = _as_size(keyword_values[word], lowered_keywords[word], store)


def _may_be_many(row_key: str, value: Value) -> bool:
    """Whether the only argument for sizes may be a sequence of them: ``torch.zeros(shape)``."""
    if not isinstance(value, Opaque) or value.kind == "int" or row_key in _OF_ONE:
        return False
    return not observed_numbers.is_count(value)


def _is_sequence(value: Value) -> bool:
    return isinstance(value, (TupleValue, ListValue))


def _as_size(value: Value, lowered: Any, store: Store) -> Any:
    """An argument that is a size, or a sequence of sizes."""
    if isinstance(value, (TupleValue, ListValue)) and isinstance(lowered, (tuple, list)):
        items = value.items if isinstance(value, TupleValue) else joins.items(value, store)
        if isinstance(items, Repeated) or len(items) != len(lowered):
            return lowered
        filled = [_as_size(one, other, store) for one, other in zip(items, lowered, strict=True)]
        return tuple(filled) if isinstance(lowered, tuple) else filled
    if lowered is not UNKNOWN:
        return lowered
    size = size_symbols.symbolic(value)
    if size is None:
        return UNKNOWN
    observed_numbers.note(value, store)
    return equalities.size(size, store)


def learn_features(
    row: Operator | None,
    lowered: Sequence[Any],
    lowered_keywords: Mapping[str, Any],
    begun: Begun | None,
    operand_value: TensorValue | None,
    store: Store,
) -> None:
    """Equate the size of a dim of an input with the features that a layer takes there.

    A channel of which nothing is known gets that size.
    """
    if row is None or begun is None or row.names not in _TAKERS:
        return
    tensor = lowered[begun.args] if len(lowered) > begun.args else None
    dims = tensor.dims if isinstance(tensor, Tensor) else OPEN
    place = _TAKERS[row.names]
    if place is None:
        place = -1 - row.constants["spatial"]
    size = _taken(row, lowered, lowered_keywords, begun)
    if operand_value is not None and isinstance(size, Expression) and place != -1:
        _write_size(operand_value, place, size, store)
    dim = dims[place] if dims.open or -len(dims.prefix) <= place < len(dims.prefix) else ANY_DIM
    is_one = type(size) is int and size == 1  # not some number, which equals it
    if not isinstance(dim.size, Expression) or not (is_one or isinstance(size, Expression)):
        return
    if not any(naming.bare(word) == "_" for word in symbols(dim.size)):
        equalities.equate(dim.size, size, store)


def _taken(
    row: Operator, lowered: Sequence[Any], lowered_keywords: Mapping[str, Any], begun: Begun
) -> Any:
    """The features that a layer takes."""
    for position, parameter in enumerate(row.constructor):
        if parameter.name in _TAKEN:
            by_position = position < begun.args
            return (
                lowered[position] if by_position else lowered_keywords.get(parameter.name, UNKNOWN)
            )
    return UNKNOWN


def _write_size(operand_value: TensorValue, place: int, features: Expression, store: Store) -> None:
    """Write the size of the channels of a tensor where nothing is known of them."""
    content = joins.held(operand_value, store)
    dims = content.tensor.dims
    if dims.open and place < 0:
        if any(dim != ANY_DIM for dim in dims.prefix):
            return  # a place from the left and one from the right may be one dim
        count = max(-place, dims.min_rank)
        dims = Dims((), (ANY_DIM,) * (count - len(dims.suffix)) + dims.suffix, open=True)
    part = dims.suffix if dims.open and place < 0 else dims.prefix
    if not -len(part) <= place < len(part) or part[place] != ANY_DIM:
        return
    tensor = replace(content.tensor, dims=dims.replace(place, new_dim(features)))
    joins.write(operand_value, store, replace(content, tensor=tensor))


def name_rest(
    interpreter: Interpreter, key: str, lowered: Sequence[Any], outcome: Value, store: Store
) -> None:
    """Name the dim of a view that takes the size -1, where nothing is known of it.

    So is the dim that dims are flattened into, if one of them has an unknown size.
    """
    if not isinstance(outcome, TensorValue):
        return
    content = joins.held(outcome, store)
    dims = content.tensor.dims
    place = _flattened(lowered) if key == "flatten" else _rest(lowered, dims)
    if place is None or dims.open or len(dims.prefix) < 3 or place >= len(dims.prefix):
        return
    dim = dims.prefix[place]
    if dim.size is UNKNOWN and dim.name is UNKNOWN:
        own = naming.of_unpacking("_", interpreter.new_address())
        named = dims.replace(place, replace(dim, name=Axis(own), size=symbol(own)))
        tensor = replace(content.tensor, dims=named)
        joins.write(outcome, store, replace(content, tensor=tensor))


def _rest(lowered: Sequence[Any], dims: Dims) -> int | None:
    """The place of the size -1 in the sizes of a view."""
    sizes = lowered[1] if len(lowered) == 2 else lowered[1:]
    if not isinstance(sizes, (tuple, list)) or len(sizes) != len(dims.prefix):
        return None
    return next((index for index, size in enumerate(sizes) if size == -1), None)


def _flattened(lowered: Sequence[Any]) -> int | None:
    """The place of the dim that dims are flattened into."""
    start = lowered[1] if len(lowered) > 1 else None
    return start if type(start) is int and start >= 0 else None


def name_places(
    interpreter: Interpreter, row: Operator | None, outcome: Value, store: Store
) -> None:
    """Name the spatial dims that a convolution makes of an input of which nothing is known.

    Each has a scope of its own: the two sides of an image may well be equal.
    """
    if row is None or not row.names.endswith("convolution_module"):
        return
    if not isinstance(outcome, TensorValue):
        return
    content = joins.held(outcome, store)
    dims = content.tensor.dims
    for position in range(-row.constants["spatial"], 0):
        if dims.from_right(-position) == ANY_DIM and (dims.open or -position <= len(dims.prefix)):
            place = position if dims.open else position + len(dims.prefix)
            own = naming.of_unpacking("_", interpreter.new_address())
            dims = dims.replace(place, Dim(Axis(own), symbol(own)))
    if dims != content.tensor.dims:
        tensor = replace(content.tensor, dims=dims)
        joins.write(outcome, store, replace(content, tensor=tensor))


def with_likely_matrix(row: Operator | None, call_inputs: Inputs) -> Inputs | None:
    """A product with an unknown right factor as it likely is: one with a matrix.

    Then the result has all dims of the left factor but the last. A left factor that is a matrix
    itself may well be multiplied by many.
    """
    if row is None or row.names != "matmul" or len(call_inputs.args) != 2:
        return None
    left, right = call_inputs.args
    vague = right is UNKNOWN or (isinstance(right, Tensor) and right.likeliest == OPEN)
    if not vague or not isinstance(left, Tensor) or left.likeliest.min_rank < 3:
        return None
    if left.likeliest.open:
        return None
    likely = replace(left, dims=left.likeliest, likely=None)
    return Inputs([likely, Tensor(Dims((ANY_DIM, ANY_DIM)))], {})


def declare(lowered_operands: Iterable[Any]) -> bool:
    """Whether an operand has a name that was declared, and not merely observed."""
    for operand in lowered_operands:
        if isinstance(operand, Tensor):
            for name in operand.names:
                word = name.name if isinstance(name, Axis) else name
                if isinstance(word, str) and not (
                    isinstance(name, Axis) and (naming.is_observed(word) or naming.is_number(word))
                ):
                    return True
        elif isinstance(operand, (tuple, list)) and declare(operand):
            return True
    return False


Arguments = tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]]


def of_layer(
    interpreter: Interpreter,
    key: str,
    positional_values: tuple[Value, ...],
    keyword_items: tuple[tuple[str, Value], ...],
    store: Store,
) -> Arguments:
    """The arguments of a layer's constructor, with symbols for its unknown sizes."""
    signature = interpreter.context.rows[key].constructor
    takers = [parameter for parameter in signature if not parameter.variadic]
    names = [parameter.name for parameter in takers[: len(positional_values)]]
    names += [""] * (len(positional_values) - len(names))
    given = {**dict(zip(names, positional_values, strict=True)), **dict(keyword_items)}
    sized_names = _OF_LAYERS | (_WINDOWS if _cuts_patches(given) else frozenset())
    by_position = tuple(
        _of_layer(arg, store) if name in sized_names else arg
        for name, arg in zip(names, positional_values, strict=True)
    )
    by_keyword = tuple(
        (word, _of_layer(value, store) if word in sized_names else value)
        for word, value in keyword_items
    )
    return by_position, by_keyword


def _cuts_patches(given: Mapping[str, Value]) -> bool:
    """Whether the windows of a layer lie side by side, and their size is one number."""
    kernel_size, stride = given.get("kernel_size"), given.get("stride")
    return isinstance(kernel_size, Opaque) and kernel_size.kind == "int" and kernel_size == stride


def _of_layer(value: Value, store: Store) -> Value:
    if not isinstance(value, Opaque):
        return value
    size = size_symbols.symbolic(value)
    if size is None:
        return value
    observed_numbers.note(value, store)
    return sized(size)
