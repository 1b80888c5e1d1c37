"""The order in memory of a result: one mechanism that reads the row of an operator.

Most rows tell it by their rule: a product of matrices is laid out afresh, what is computed element
by element keeps the order of its operands, a permutation follows its dims (``@rule(memory=…)``);
where the call may ask for a memory format, it has that. Where that is not so the row has a word of
its own in `memory`, as ``preserves``, or ``unknown`` where it varies. All of it is held against
torch 2.13 by tests/runtime/test_memory_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from namecheck.core import memory_order
from namecheck.core.dims import Dim, Dims, Size
from namecheck.core.layouts import STRIDED
from namecheck.core.memory_order import CONTIGUOUS, FORMATS, Gapped, Memory
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.effects import overlap, strides
from namecheck.rules import registry
from namecheck.rules.dim_map import same_shape


@dataclass(frozen=True, slots=True)
class Ordering:
    """What the row of an operator tells of the order in memory: a word and what it is about.

    `operands` are the parameters that take tensors, `rule` is that of the names; `new` unless the
    result may be the input itself.
    """

    word: str = ""
    setting: str = ""
    operands: tuple[str, ...] = ()
    rule: str = ""
    new: bool = True


Arguments: TypeAlias = Mapping[str, Any]


def of_result(answer: Any, row: Ordering, arguments: Arguments) -> Memory | list[Memory]:
    """The order of a result, of several a list; raises `Contradiction` where there is no view."""
    if not row.word:
        return UNKNOWN
    for name in row.operands:
        if _is_sparse(arguments.get(name)):
            return UNKNOWN
    order: Memory | list[Memory] = WORDS[row.word](answer, row, arguments)
    return order


def _is_sparse(value: Any) -> bool:
    """Whether an argument is certainly a tensor that is not kept element by element."""
    return isinstance(value, Tensor) and value.layout not in (STRIDED, UNKNOWN)


def kept(result: Tensor, target: Tensor) -> Memory:
    """The order of a tensor that was written to: its own, if it did not have to be resized."""
    return target.memory if same_shape(result.dims, target.dims) is Answer.YES else UNKNOWN


def read(
    word: str, rule: str, operands: tuple[str, ...], *, formats: bool, new: bool = True
) -> Ordering:
    """What a row tells, by its own word or by its rule; `formats` if it takes a memory format."""
    word = word or ("formats" if formats else registry.traits_of(rule).memory)
    name, _, setting = word.removesuffix(")").partition("(")
    return Ordering("" if name == "unknown" else name, setting, operands, rule, new)


def fault_of(word: str) -> str | None:
    """What is wrong with the word of a row, if anything is."""
    name = word.partition("(")[0]
    if name in ("", "unknown") or name in WORDS:
        return None
    return f"memory: unknown word '{name}'; the words are {', '.join(sorted(WORDS))}, unknown"


def _fresh(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """A new tensor, whose dims are laid out as they stand."""
    return CONTIGUOUS


def _reduced(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """One number; where nothing is reduced, as the dims stand if all operands lie so."""
    if isinstance(answer, Tensor) and answer.dims.rank == 0:
        return CONTIGUOUS
    return CONTIGUOUS if _preserved(answer, row, arguments) == CONTIGUOUS else UNKNOWN


def _given(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """Made of numbers in nested lists; a tensor keeps its order (torch.tensor, torch.as_tensor)."""
    data = arguments.get("data")
    if isinstance(data, Tensor):
        return data.memory
    return CONTIGUOUS if isinstance(data, (list, tuple, int, float, complex)) else UNKNOWN


def _preserved(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """Computed element by element: in the order that all operands have which have any say.

    Where a number is the input, as in ``2 ** x``, it may be laid out afresh.
    """
    if "input" not in row.operands and "input" in arguments:
        return UNKNOWN
    tensors: list[Tensor] = []
    for each in _tensors(arguments, row.operands):
        if each is None or (not row.new and isinstance(each.memory, Gapped)):
            return UNKNOWN
        tensors.append(each)
    if not tensors or not isinstance(answer, Tensor):
        return UNKNOWN
    return common_order(tensors, answer.dims)


def common_order(tensors: list[Tensor], dims: Dims) -> Memory:
    """The order in which tensors are computed with, element by element, to a result of some dims.

    One that has a single dim, or none, has no say beside one that is stretched nowhere; nothing is
    told of others that are stretched, unless all dims are as they stand.
    """
    orders = [memory_order.computed(each.memory, each.dims.sizes) for each in tensors]
    if orders.count(CONTIGUOUS) == len(orders):
        return CONTIGUOUS
    if len(tensors) == 1:
        return orders[0]
    known = list(zip(orders, tensors, strict=True))
    weighty = [each for each in known if not _is_thin(each[1].dims)] or known[:1]
    found = {order for order, _ in weighty}
    if len(found) > 1:
        return UNKNOWN
    [order] = found
    if isinstance(order, Unknown):
        return order
    whole = [same_shape(each.dims, dims) is Answer.YES for _, each in weighty]
    return order if all(whole) or (order == CONTIGUOUS and any(whole)) else UNKNOWN


def _is_thin(dims: Dims) -> bool:
    return not dims.open and sum(size != 1 for size in dims.sizes) < 2


def _tensors(arguments: Arguments, names: tuple[str, ...]) -> list[Tensor | None]:
    """The tensors in some arguments; None for what may be any."""
    found: list[Tensor | None] = []
    for name in names:
        value = arguments.get(name)
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Tensor):
                found.append(part)
            elif isinstance(part, (Unknown, Many)):
                found.append(None)
    return found


def _operand(row: Ordering, arguments: Arguments) -> Any:
    """The first operand, None where there is none."""
    return arguments.get(row.operands[0]) if row.operands else None


def _first(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """The order of the first operand, where there are no gaps."""
    first = _operand(row, arguments)
    if not isinstance(first, Tensor) or isinstance(first.memory, Gapped):
        return UNKNOWN
    return first.memory


def _same(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """The first operand by another name."""
    first = _operand(row, arguments)
    return first.memory if isinstance(first, Tensor) else UNKNOWN


def _stretched(answer: Any, row: Ordering, arguments: Arguments) -> Any:
    """Each tensor at the sizes of the result, without a copy (torch.Tensor.expand)."""
    value = _operand(row, arguments)
    if isinstance(answer, Tensor):
        return _at_sizes_of(answer, value)
    if not isinstance(value, (tuple, list)) or not isinstance(answer, (tuple, list)):
        return UNKNOWN
    return list(map(_at_sizes_of, answer, value)) if len(value) == len(answer) else UNKNOWN


def _strided(
    view: Callable[[Tensor, Dims, Arguments], Memory],
) -> Callable[[Any, Ordering, Arguments], Memory]:
    """Of a view whose strides the call tells."""

    def told(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
        tensor = _operand(row, arguments)
        closed = isinstance(answer, Tensor) and not answer.dims.open
        if not closed or not isinstance(tensor, Tensor) or tensor.dims.open:
            return UNKNOWN
        return view(tensor, answer.dims, arguments)

    return told


def _at_sizes_of(answer: Any, tensor: Any) -> Memory:
    known = isinstance(tensor, Tensor) and isinstance(answer, Tensor)
    if not known or tensor.dims.open or answer.dims.open:
        return UNKNOWN
    return memory_order.stretched(tensor.memory, tensor.dims.sizes, answer.dims.sizes)


def _formatted(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """The memory format that is asked for; the order of the first operand is what is preserved."""
    asked = arguments.get("memory_format")
    if isinstance(asked, Unknown):
        return UNKNOWN
    word = asked.name if isinstance(asked, Constant) else row.setting or "preserve_format"
    if word == "preserve_format":
        return _kept_order(row, arguments)
    order = FORMATS.get(word)
    if order and isinstance(answer, Tensor):
        check_rank(answer.dims, word)
    if order == CONTIGUOUS and not row.new and not _is_copied(row, arguments):
        return UNKNOWN
    return UNKNOWN if order is None else order


def _is_copied(row: Ordering, arguments: Arguments) -> bool:
    """Whether a tensor that is asked for as its dims stand lies so, or is certainly copied.

    Of what is not channels last nothing is copied (recorded: ``x.t().to(memory_format=…)``).
    """
    if row.setting:
        return True
    first = _operand(row, arguments)
    return isinstance(first, Tensor) and first.memory in FORMATS.values()


def _kept_order(row: Ordering, arguments: Arguments) -> Memory:
    """That of the first operand; it is dense in what is new, and may have gaps in the other."""
    first = _operand(row, arguments)
    if not isinstance(first, Tensor) or (isinstance(first.memory, Gapped) and not row.new):
        return UNKNOWN
    return memory_order.computed(first.memory, first.dims.sizes)


def check_rank(dims: Dims, word: str) -> None:
    """Refuse a memory format that is for another number of dims (recorded: contiguous)."""
    wanted = len(FORMATS[word])
    if dims.min_rank > wanted or dims.rank not in (None, wanted):
        raise Contradiction(
            "NC502",
            f"required rank {wanted} tensor to use {word} format",
            help=f"The tensor has {dims.min_rank} dimensions.",
        )


def _suggested(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """Channels last if all operands are, and as the dims stand if these are so.

    Which of the two it is cannot be told from sizes of 1.
    """
    tensors = _tensors(arguments, row.operands[:1])
    if not tensors or any(each is None or not _is_plain(each) for each in tensors):
        return UNKNOWN
    orders = {each.memory for each in tensors if each is not None}
    return orders.pop() if len(orders) == 1 else UNKNOWN


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is certainly seen as channels last, or certainly not."""
    rank = tensor.dims.rank
    if rank is None:
        return False
    last = memory_order.CHANNELS_LAST if rank == 4 else memory_order.CHANNELS_LAST_3D
    if rank not in (4, 5):
        return tensor.memory == CONTIGUOUS
    channels, *space = tensor.dims.sizes[1:]
    told = _several(channels) and any(map(_several, space))
    return told and tensor.memory in (CONTIGUOUS, last)


def _several(size: Size) -> bool:
    return not isinstance(size, Unknown) and size not in (0, 1)


def _plain(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """As the dims stand if those of the operands do so; else it varies."""
    found = _suggested(answer, row, arguments)
    return CONTIGUOUS if found == CONTIGUOUS else UNKNOWN


def _convolved(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """Channels last if the input or the weights are; else as the dims stand (torch.conv2d).

    Of doubles the first is not so on every machine. Weights with a single channel are both.
    """
    tensor = arguments.get("input")
    if not isinstance(tensor, Tensor) or tensor.dims.rank != len(memory_order.CHANNELS_LAST):
        return UNKNOWN
    found, weights = _suggested(answer, row, arguments), _of_weights(arguments)
    if memory_order.CHANNELS_LAST in (found, weights):
        narrow = tensor.dtype in ("float32", "float16", "bfloat16")
        return memory_order.CHANNELS_LAST if narrow else UNKNOWN
    return found if weights == CONTIGUOUS else UNKNOWN


def _of_weights(arguments: Arguments) -> Memory:
    """The order of the weights of a convolution, or of the layer that has them."""
    weight = arguments.get("weight")
    if isinstance(weight, Tensor):
        return weight.memory if _is_plain(weight) else UNKNOWN
    told = arguments.get("weight_format")
    order = FORMATS.get(told.name, UNKNOWN) if isinstance(told, Constant) else UNKNOWN
    channels, groups = arguments.get("in_channels"), arguments.get("groups")
    if order == CONTIGUOUS or type(channels) is not int or type(groups) is not int:
        return order if order == CONTIGUOUS else UNKNOWN
    return order if channels > groups > 0 else UNKNOWN


def _moved(answer: Any, row: Ordering, arguments: Arguments) -> Any:
    """Each dim of the result is one of the input, or a new one of size 1 (torch.permute)."""
    found = _traced(answer, row, arguments)
    return UNKNOWN if found is None else _of_parts(found[1], lambda dims: _as_moved(found[0], dims))


def _of_parts(parts: Any, order: Callable[[Dims], Memory]) -> Any:
    if isinstance(parts, (tuple, list)):
        return [_of_parts(part, order) for part in parts]
    dims = parts.dims if isinstance(parts, Tensor) else parts
    return order(dims) if isinstance(dims, Dims) else UNKNOWN


def _traced(answer: Any, row: Ordering, arguments: Arguments) -> tuple[Tensor, Any] | None:
    """The input with dims of which no two are one object, and what these become in the result.

    None where nothing is known of the order.
    """
    tensor = _operand(row, arguments)
    if not isinstance(tensor, Tensor) or isinstance(tensor.memory, Unknown) or tensor.dims.open:
        return None
    order = memory_order.order_in(tensor.memory)
    if not isinstance(order, Unknown) and len(order) not in (0, len(tensor.dims.prefix)):
        return None
    if len(set(map(id, tensor.dims.prefix))) == len(tensor.dims.prefix):
        return tensor, answer
    apart = Dims(tuple(Dim(dim.name, dim.size, dim.purposeful) for dim in tensor.dims.prefix))
    probe = replace(tensor, dims=apart)
    return probe, registry.called(registry.load()[row.rule], {**arguments, row.operands[0]: probe})


def _as_moved(tensor: Tensor, dims: Dims) -> Memory:
    places = {id(dim): place for place, dim in enumerate(tensor.dims.prefix)}
    sources = [places.get(id(dim)) for dim in dims.prefix]
    new = [dim for dim, source in zip(dims.prefix, sources, strict=True) if source is None]
    if dims.open or any(dim.size != 1 for dim in new):
        return UNKNOWN
    return memory_order.moved(tensor.memory, sources, tensor.dims.sizes, dims.sizes)


def _cut(answer: Any, row: Ordering, arguments: Arguments) -> Any:
    """Some dims are shorter than those of the input (torch.narrow)."""
    found = _traced(answer, row, arguments)
    return UNKNOWN if found is None else _of_parts(found[1], lambda dims: _as_cut(found[0], dims))


def _as_cut(tensor: Tensor, dims: Dims) -> Memory:
    if dims.rank != tensor.dims.rank:
        return UNKNOWN
    pairs = enumerate(zip(dims.prefix, tensor.dims.prefix, strict=True))
    cut = {place: 1 for place, (one, other) in pairs if one is not other}
    places = range(len(dims.prefix))
    return memory_order.moved(tensor.memory, places, tensor.dims.sizes, dims.sizes, cut)


def _viewed(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """A view of other sizes; raises NC501 where there certainly is none (Tensor.view)."""
    return _seen(answer, row, arguments)[1]


def _reshaped(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """A view, or a copy laid out afresh where there is none (torch.reshape)."""
    try:
        return _seen(answer, row, arguments)[1]
    except Contradiction:
        return CONTIGUOUS


def _seen(answer: Any, row: Ordering, arguments: Arguments) -> tuple[Answer, Memory]:
    tensor = _operand(row, arguments)
    if not isinstance(tensor, Tensor) or not isinstance(answer, Tensor):
        return Answer.MAYBE, UNKNOWN
    if tensor.memory == CONTIGUOUS and not isinstance(arguments.get("dtype"), (Constant, Unknown)):
        return Answer.YES, CONTIGUOUS
    sized = arguments.get("size", ()) is not None
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


def _joined(answer: Any, row: Ordering, arguments: Arguments) -> Memory:
    """Tensors side by side are laid out as their dims stand, but for images (torch.cat)."""
    rank = answer.dims.rank if isinstance(answer, Tensor) else None
    if rank is None:
        return UNKNOWN
    of_parts = rank - (row.rule == "stack")
    if of_parts not in (len(memory_order.CHANNELS_LAST), len(memory_order.CHANNELS_LAST_3D)):
        return CONTIGUOUS
    found = _suggested(answer, row, arguments)
    return found if found == CONTIGUOUS or rank == of_parts else UNKNOWN


def _recurrent(answer: Any, row: Ordering, arguments: Arguments) -> Any:
    """Rows first, as the states are; of batches first it depends on the machine (torch.nn.LSTM)."""
    first = arguments.get("batch_first", False)
    return [CONTIGUOUS if first is False else UNKNOWN, CONTIGUOUS]


WORDS: Final[Mapping[str, Callable[[Any, Ordering, Arguments], Any]]] = {
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
