"""The memory order of a result: one mechanism that reads the column `memory` of a row.

Most rows take the word of their rule (``@rule(memory=…)``): a product of matrices is contiguous, an
elementwise result keeps the order of its operands, a permutation follows its dims. A memory format
that the call requests takes precedence. A row that differs has a word of its own in `memory`, as
``preserves``, or ``unknown`` where it varies. tests/runtime/test_memory_rows.py compares all of it
with torch 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from namecheck.core import memory_order
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.devices import META
from namecheck.core.dims import Dim, Dims, Size
from namecheck.core.layouts import MEMORY_FORMATS, STRIDED
from namecheck.core.memory_order import CONTIGUOUS, FORMATS, Gapped, Memory
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.effects import overlap, strides
from namecheck.effects.operands import Operands
from namecheck.effects.words import ParameterNames, WordError, read_word
from namecheck.rules import registry
from namecheck.rules.dim_map import same_shape


@dataclass(frozen=True, slots=True)
class MemoryEffect:
    """The memory effect of a row: a word, "" if none, and the parameters it is about.

    `setting` is the argument of the word. `tensors` are the parameters that may take tensors,
    `rule` is that of the names; `copies` unless the result may be the input itself.
    """

    word: str
    setting: str
    tensors: tuple[str, ...]
    rule: str
    copies: bool


def read(
    text: str, rule: str, tensor_parameters: tuple[str, ...], *, formats: bool, copies: bool
) -> MemoryEffect:
    """Read the column `memory`, or the rule; `formats` if the call takes a memory format."""
    word = read_word(text or ("formats" if formats else registry.traits_of(rule).memory))
    name = "" if word.name == "unknown" else word.name
    return MemoryEffect(name, "".join(word.arguments), tensor_parameters, rule, copies)


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `memory`; raises `WordError`."""
    word = read_word(text)
    if word.name and word.name not in WORDS and word.name != "unknown":
        raise WordError(f"unknown word '{word.name}'", (*sorted(WORDS), "unknown"))
    for setting in word.arguments:
        if word.name != "formats" or setting not in MEMORY_FORMATS:
            raise WordError(f"unknown memory format '{setting}'", MEMORY_FORMATS, "memory formats")


def of_result(
    answer: Any, memory_effect: MemoryEffect, call_operands: Operands
) -> Memory | list[Memory]:
    """The order of a result, for several a list; raises `Contradiction` where there is no view."""
    if not memory_effect.word:
        return UNKNOWN
    for name in memory_effect.tensors:
        operand = call_operands.single.get(name)
        if _is_sparse(operand) or (memory_effect.word in COMPUTED and _is_reordered(operand)):
            return UNKNOWN
    in_place = call_operands.arguments.get("inplace")
    if in_place is not None and not isinstance(in_place, (bool, int, float, str)):
        return UNKNOWN
    if in_place:  # ``F.relu(x, True)`` returns `x`
        return _same(answer, memory_effect, call_operands)
    memories: Memory | list[Memory] = WORDS[memory_effect.word](
        answer, memory_effect, call_operands
    )
    return memories


Arguments: TypeAlias = Mapping[str, Any]


def _is_sparse(value: Any) -> bool:
    """Whether an argument is certainly a sparse tensor."""
    return isinstance(value, Tensor) and value.layout not in (STRIDED, UNKNOWN)


def _is_reordered(value: Any) -> bool:
    """Whether a tensor on the meta device is not contiguous.

    Some operators are implemented there for themselves, with an order of their own.
    """
    return isinstance(value, Tensor) and value.device == META and value.memory != CONTIGUOUS


def of_target(computed: Tensor, target: Tensor) -> Memory:
    """The order of a tensor that was written to: its own, unless it had to be resized."""
    return target.memory if same_shape(computed.dims, target.dims) is Answer.YES else UNKNOWN


def _fresh(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """A new tensor, contiguous in the order of its dims."""
    return CONTIGUOUS


def _reduced(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """A number is contiguous; an unreduced result is contiguous if all operands are."""
    if isinstance(answer, Tensor) and answer.dims.rank == 0:
        return CONTIGUOUS
    return CONTIGUOUS if _preserved(answer, memory_effect, call_operands) == CONTIGUOUS else UNKNOWN


def _given(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """Made of nested lists of numbers; a tensor keeps its order (torch.tensor, torch.as_tensor)."""
    data = call_operands.arguments.get("data")
    if isinstance(data, Tensor):
        is_copied = call_operands.arguments.get("dtype") is not None
        return UNKNOWN if is_copied and isinstance(data.memory, Gapped) else data.memory
    return CONTIGUOUS if isinstance(data, (list, tuple, int, float, complex)) else UNKNOWN


def _preserved(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """Computed element by element: the common order of the operands.

    Where the input is a number, as in ``2 ** x``, the order may be another.
    """
    if "input" not in memory_effect.tensors and "input" in call_operands.arguments:
        return UNKNOWN
    tensors: list[Tensor] = []
    for each in _tensors(call_operands, memory_effect.tensors):
        if each is None or (not memory_effect.copies and isinstance(each.memory, Gapped)):
            return UNKNOWN
        tensors.append(each)
    if not tensors or not isinstance(answer, Tensor):
        return UNKNOWN
    return common_order(tensors, answer.dims)


def common_order(tensors: list[Tensor], dims: Dims) -> Memory:
    """The order of an elementwise result of tensors that are broadcast to some dims.

    A tensor with at most one dim larger than 1 is ignored beside one that is not expanded. Where
    other operands are expanded the order is unknown, unless all are contiguous.
    """
    orders = [memory_order.computed(each.memory, each.dims.sizes) for each in tensors]
    if orders.count(CONTIGUOUS) == len(orders):
        return CONTIGUOUS
    if len(tensors) == 1:
        return orders[0]
    ordered = list(zip(orders, tensors, strict=True))
    weighty = [each for each in ordered if not _is_thin(each[1].dims)] or ordered[:1]
    different = {order for order, _ in weighty}
    if len(different) > 1:
        return UNKNOWN
    [order] = different
    if isinstance(order, Unknown):
        return order
    whole = [same_shape(each.dims, dims) is Answer.YES for _, each in weighty]
    return order if all(whole) or (order == CONTIGUOUS and any(whole)) else UNKNOWN


def _is_thin(dims: Dims) -> bool:
    return not dims.open and sum(size != 1 for size in dims.sizes) < 2


def _tensors(call_operands: Operands, parameters: ParameterNames) -> list[Tensor | None]:
    """The tensors in some arguments; None for one that may be anything."""
    leaves: list[Tensor | None] = []
    for parameter in parameters:
        for leaf in call_operands.leaves[parameter]:
            if isinstance(leaf, Tensor):
                leaves.append(leaf)
            elif isinstance(leaf, (Unknown, Many)):
                leaves.append(None)
    return leaves


def _operand(memory_effect: MemoryEffect, call_operands: Operands) -> Any:
    """The first operand, None where there is none, or a list of several."""
    return call_operands.single.get(memory_effect.tensors[0]) if memory_effect.tensors else None


def _first(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """The order of the first operand, unless it has gaps."""
    first = _operand(memory_effect, call_operands)
    if not isinstance(first, Tensor) or isinstance(first.memory, Gapped):
        return UNKNOWN
    return first.memory


def _same(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """The first operand itself, under other names."""
    first = _operand(memory_effect, call_operands)
    return first.memory if isinstance(first, Tensor) else UNKNOWN


def _stretched(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Any:
    """Each tensor expanded to the sizes of the result, without a copy (torch.Tensor.expand)."""
    if isinstance(answer, Tensor):
        return _at_sizes_of(answer, _operand(memory_effect, call_operands))
    leaves = call_operands.leaves[memory_effect.tensors[0]] if memory_effect.tensors else ()
    if not isinstance(answer, (tuple, list)) or len(leaves) != len(answer):
        return UNKNOWN
    return list(map(_at_sizes_of, answer, leaves))


def _strided(
    view: Callable[[Tensor, Dims, Arguments], Memory],
) -> Callable[[Any, MemoryEffect, Operands], Memory]:
    """The order of a view whose strides are computed from the call."""

    def of_view(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
        tensor = _operand(memory_effect, call_operands)
        closed = isinstance(answer, Tensor) and not answer.dims.open
        if not closed or not isinstance(tensor, Tensor) or tensor.dims.open:
            return UNKNOWN
        return view(tensor, answer.dims, call_operands.arguments)

    return of_view


def _at_sizes_of(answer: Any, operand: Any) -> Memory:
    comparable = isinstance(operand, Tensor) and isinstance(answer, Tensor)
    if not comparable or operand.dims.open or answer.dims.open:
        return UNKNOWN
    return memory_order.stretched(operand.memory, operand.dims.sizes, answer.dims.sizes)


def _formatted(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """The requested memory format; ``preserve_format`` is the order of the first operand."""
    request = call_operands.arguments.get("memory_format")
    if isinstance(request, Unknown):
        return UNKNOWN
    word = (
        request.name
        if isinstance(request, Constant)
        else memory_effect.setting or "preserve_format"
    )
    if word == "preserve_format":
        return _kept_order(memory_effect, call_operands)
    order = FORMATS.get(word)
    if order and isinstance(answer, Tensor):
        check_rank(answer.dims, word)
    if (
        order == CONTIGUOUS
        and not memory_effect.copies
        and not _is_copied(memory_effect, call_operands)
    ):
        return UNKNOWN
    return UNKNOWN if order is None else order


def _is_copied(memory_effect: MemoryEffect, call_operands: Operands) -> bool:
    """Whether a tensor with a requested contiguous format has it, or is certainly copied.

    A tensor that is not channels last is not copied (recorded: ``x.t().to(memory_format=…)``).
    """
    if memory_effect.setting:
        return True
    first = _operand(memory_effect, call_operands)
    return isinstance(first, Tensor) and first.memory in FORMATS.values()


def _kept_order(memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """The order of the first operand: dense for a new tensor, with gaps for the input itself."""
    first = _operand(memory_effect, call_operands)
    if not isinstance(first, Tensor) or (
        isinstance(first.memory, Gapped) and not memory_effect.copies
    ):
        return UNKNOWN
    return memory_order.computed(first.memory, first.dims.sizes)


def check_rank(dims: Dims, word: str) -> None:
    """Refuse a memory format for another rank (recorded: contiguous)."""
    expected_rank = len(FORMATS[word])
    if dims.min_rank > expected_rank or dims.rank not in (None, expected_rank):
        raise Contradiction(
            "NC502",
            f"required rank {expected_rank} tensor to use {word} format",
            help=f"The tensor has {dims.min_rank} dimensions.",
        )


def _suggested(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """Channels last if all operands are channels last, contiguous if all are contiguous.

    With sizes of 1 both formats coincide, and the order is unknown.
    """
    tensors = _tensors(call_operands, memory_effect.tensors[:1])
    if not tensors or any(each is None or not _is_plain(each) for each in tensors):
        return UNKNOWN
    orders = {each.memory for each in tensors if each is not None}
    return orders.pop() if len(orders) == 1 else UNKNOWN


def _is_plain(tensor: Tensor) -> bool:
    """Whether torch certainly treats a tensor as channels last, or certainly does not."""
    rank = tensor.dims.rank
    if rank is None:
        return False
    last = memory_order.CHANNELS_LAST if rank == 4 else memory_order.CHANNELS_LAST_3D
    if rank not in (4, 5):
        return tensor.memory == CONTIGUOUS
    channels, *space = tensor.dims.sizes[1:]
    apart = _several(channels) and any(map(_several, space))
    return apart and tensor.memory in (CONTIGUOUS, last)


def _several(size: Size) -> bool:
    return not isinstance(size, Unknown) and size not in (0, 1)


def _plain(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """Contiguous if the operands are; else it varies."""
    suggested = _suggested(answer, memory_effect, call_operands)
    return CONTIGUOUS if suggested == CONTIGUOUS else UNKNOWN


def _convolved(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """Channels last if the input or the weights are; else contiguous (torch.conv2d).

    For doubles the first depends on the machine. Weights with a single channel are both.
    """
    tensor = call_operands.single.get("input")
    if not isinstance(tensor, Tensor) or tensor.dims.rank != len(memory_order.CHANNELS_LAST):
        return UNKNOWN
    suggested = _suggested(answer, memory_effect, call_operands)
    weights = _of_weights(call_operands)
    if memory_order.CHANNELS_LAST in (suggested, weights):
        narrow = tensor.dtype in ("float32", "float16", "bfloat16")
        return memory_order.CHANNELS_LAST if narrow else UNKNOWN
    return suggested if weights == CONTIGUOUS else UNKNOWN


def _of_weights(call_operands: Operands) -> Memory:
    """The order of the weights of a convolution, or of its layer."""
    weight, arguments = call_operands.single.get("weight"), call_operands.arguments
    if isinstance(weight, Tensor):
        return weight.memory if _is_plain(weight) else UNKNOWN
    request = arguments.get("weight_format")
    order = FORMATS.get(request.name, UNKNOWN) if isinstance(request, Constant) else UNKNOWN
    channels, groups = arguments.get("in_channels"), arguments.get("groups")
    if order == CONTIGUOUS or type(channels) is not int or type(groups) is not int:
        return order if order == CONTIGUOUS else UNKNOWN
    return order if channels > groups > 0 else UNKNOWN


def _moved(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Any:
    """Each dim of the result is a dim of the input, or a new one of size 1 (torch.permute)."""
    traced = _traced(answer, memory_effect, call_operands)
    if traced is None:
        return UNKNOWN
    tensor, views = traced
    return _of_parts(views, lambda dims: _as_moved(tensor, dims))


def _of_parts(answer: Any, memory_of: Callable[[Dims], Memory]) -> Any:
    if isinstance(answer, (tuple, list)):
        return [_of_parts(part, memory_of) for part in answer]
    dims = answer.dims if isinstance(answer, Tensor) else answer
    return memory_of(dims) if isinstance(dims, Dims) else UNKNOWN


def _traced(
    answer: Any, memory_effect: MemoryEffect, call_operands: Operands
) -> tuple[Tensor, Any] | None:
    """The input with distinct dim objects, and the result of the rule on these dims.

    None where the order is unknown.
    """
    tensor = _operand(memory_effect, call_operands)
    if not isinstance(tensor, Tensor) or isinstance(tensor.memory, Unknown) or tensor.dims.open:
        return None
    order = memory_order.order_in(tensor.memory)
    if not isinstance(order, Unknown) and len(order) not in (0, len(tensor.dims.prefix)):
        return None
    if len(set(map(id, tensor.dims.prefix))) == len(tensor.dims.prefix):
        return tensor, answer
    apart = Dims(tuple(Dim(dim.name, dim.size, dim.purposeful) for dim in tensor.dims.prefix))
    probe = replace(tensor, dims=apart)
    arguments = {**call_operands.arguments, memory_effect.tensors[0]: probe}
    return probe, registry.called(registry.load()[memory_effect.rule], arguments)


def _as_moved(tensor: Tensor, dims: Dims) -> Memory:
    places = {id(dim): place for place, dim in enumerate(tensor.dims.prefix)}
    sources = [places.get(id(dim)) for dim in dims.prefix]
    new = [dim for dim, source in zip(dims.prefix, sources, strict=True) if source is None]
    if dims.open or any(dim.size != 1 for dim in new):
        return UNKNOWN
    return memory_order.moved(tensor.memory, sources, tensor.dims.sizes, dims.sizes)


def _cut(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Any:
    """Some dims are slices of those of the input (torch.narrow)."""
    traced = _traced(answer, memory_effect, call_operands)
    if traced is None:
        return UNKNOWN
    tensor, views = traced
    return _of_parts(views, lambda dims: _as_cut(tensor, dims))


def _as_cut(tensor: Tensor, dims: Dims) -> Memory:
    if dims.rank != tensor.dims.rank:
        return UNKNOWN
    pairs = enumerate(zip(dims.prefix, tensor.dims.prefix, strict=True))
    cut = {place: 1 for place, (one, other) in pairs if one is not other}
    places = range(len(dims.prefix))
    return memory_order.moved(tensor.memory, places, tensor.dims.sizes, dims.sizes, cut)


def _viewed(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """A view of other sizes; raises NC501 where there certainly is none (Tensor.view)."""
    return _seen(answer, memory_effect, call_operands)[1]


def _reshaped(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """A view, or a contiguous copy where no view is possible (torch.reshape)."""
    try:
        return _seen(answer, memory_effect, call_operands)[1]
    except Contradiction:
        return CONTIGUOUS


def _seen(
    answer: Any, memory_effect: MemoryEffect, call_operands: Operands
) -> tuple[Answer, Memory]:
    tensor = _operand(memory_effect, call_operands)
    if not isinstance(tensor, Tensor) or not isinstance(answer, Tensor):
        return Answer.MAYBE, UNKNOWN
    if isinstance(call_operands.arguments.get("dtype"), (Constant, Unknown)):
        return Answer.MAYBE, UNKNOWN  # elements of another width have other strides
    if tensor.memory == CONTIGUOUS:
        return Answer.YES, CONTIGUOUS
    sized = call_operands.arguments.get("size", ()) is not None
    if isinstance(tensor.memory, Unknown) or tensor.dims.open or answer.dims.open or not sized:
        return Answer.MAYBE, UNKNOWN
    own, new = tensor.dims.sizes, answer.dims.sizes
    if memory_order.can_be_viewed(tensor.memory, own, new) is Answer.NO:
        raise Contradiction(
            "NC501",
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
            help="Use `reshape`, which copies where it must, or call `contiguous()` first.",
        )
    return Answer.YES, memory_order.viewed(tensor.memory, own, new)


def _joined(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Memory:
    """Concatenated tensors are contiguous, except for images (torch.cat)."""
    rank = answer.dims.rank if isinstance(answer, Tensor) else None
    if rank is None:
        return UNKNOWN
    of_parts = rank - (memory_effect.rule == "stack")
    if of_parts not in (len(memory_order.CHANNELS_LAST), len(memory_order.CHANNELS_LAST_3D)):
        return CONTIGUOUS
    suggested = _suggested(answer, memory_effect, call_operands)
    return suggested if suggested == CONTIGUOUS or rank == of_parts else UNKNOWN


def _recurrent(answer: Any, memory_effect: MemoryEffect, call_operands: Operands) -> Any:
    """Rows first, as in the states; with batches first it depends on the machine (nn.LSTM)."""
    first = call_operands.arguments.get("batch_first", False)
    return [CONTIGUOUS if first is False else UNKNOWN, CONTIGUOUS]


_Transfer: TypeAlias = Callable[[Any, MemoryEffect, Operands], Any]

# The words for results that have new elements, and are no views.
COMPUTED: Final = frozenset({"fresh", "loses", "preserves", "first", "suggests", "plain"})
WORDS: Final[Mapping[str, _Transfer]] = MappingProxyType(
    {
        "fresh": _fresh,
        "loses": _reduced,
        "given": _given,
        "preserves": _preserved,
        "first": _first,
        "same": _same,
        "stretches": _stretched,
        "formats": _formatted,
        "suggests": _suggested,
        "plain": _plain,
        "convolves": _convolved,
        "moves": _moved,
        "cuts": _cut,
        "indexes": _strided(strides.of_index),
        "assigns": overlap.assigned,
        "views": _viewed,
        "reshapes": _reshaped,
        "joins": _joined,
        "recurs": _recurrent,
        "windows": _strided(strides.of_windows),
        "diagonals": _strided(strides.of_diagonals),
        "strides": _strided(strides.as_asked),
    }
)
