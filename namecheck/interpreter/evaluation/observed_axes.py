"""Observed axes: ``B, T, C = x.shape`` names the dims of `x`, for the author has named them.

An unpacking proves the rank of a tensor, and each variable is the size of one of its dims. A dim
without a name becomes an axis of that name. The sizes of one tensor are read in one scope: whether
its axes equal those of another scope is unknown, but they are different dims of one tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, of_rank
from namecheck.core.findings import Place
from namecheck.core.names import UNKNOWN, Axis, Contradiction
from namecheck.core.sizes import Expression, symbol
from namecheck.core.trees import is_name, is_reversed, last_word, nodes
from namecheck.interpreter.domain import joins, opaque_tensors, same_shapes
from namecheck.interpreter.domain.addresses import AttributeTensor, HeldTensor, LayerTensor
from namecheck.interpreter.domain.cells import NumberTest
from namecheck.interpreter.domain.provenance import Fresh, Operation, Parameter, Result
from namecheck.interpreter.domain.size_symbols import symbolic
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import OBSERVED_SCOPE, OF_MODULE, tag_of, with_tag
from namecheck.interpreter.domain.values import (
    Held,
    Opaque,
    TensorValue,
    Union,
    Value,
    sized,
)
from namecheck.interpreter.evaluation import (
    counted_ranks,
    refused_ranks,
    unpacking,
)
from namecheck.interpreter.evaluation.frames import Frame, is_within
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.size_readings import (
    Reading,
    Subject,
    all_sizes,
    chosen,
    evaluated,
    inline,
    part_of,
    readings,
    subjects,
)

# Methods that a tensor has, and neither an array, an image, a frame nor a module.
_TENSOR_METHODS: Final = frozenset(
    {
        "bmm", "contiguous", "expand_as", "index_select", "masked_fill", "masked_fill_", "mm",
        "new_full", "new_ones", "new_tensor", "new_zeros", "permute", "type_as", "unbind",
        "unsqueeze", "view", "view_as",
    }
)  # fmt: skip
# Methods that arrays have as well, and nothing else that a file without arrays is likely to use.
_ARRAY_METHODS: Final = frozenset(
    {
        "baddbmm", "clamp", "cumsum", "logsumexp", "masked_select", "movedim", "narrow",
        "repeat_interleave", "reshape", "squeeze", "swapaxes", "transpose", "tril", "triu",
        "unflatten", "view",
    }
)  # fmt: skip
_FUNCTIONS: Final = frozenset({"torch", "F", "nn", "functional", "einops", "rearrange"})
_FOREIGN: Final = frozenset({"np", "numpy", "cv2", "Image", "jnp", "jax", "tf", "pd", "plt", "sk"})
# What makes a tensor of an array.
_CONSTRUCTORS: Final = frozenset(
    {"FloatTensor", "LongTensor", "Tensor", "as_tensor", "asarray", "from_numpy", "tensor"}
)
# The most dims that a tensor is taken to have.
_MOST_DIMS: Final = 6
# Those of a tensor of which the first one is no side of a square, unless it is a parameter.
_MANY: Final = 4
_PARAMETER: Final = re.compile(
    r"weight|kernel|filter|conv|matri|coef|basis|param|grad|update|eye|identity|(^|_)[a-z]?w\d*$|^[gpuv]$",
    re.IGNORECASE,
)
_OF_MODULES: Final = (AttributeTensor, HeldTensor, LayerTensor)

Bound = list[tuple[ast.Name, Value]]


def observe(interpreter: Interpreter, assignment: ast.Assign, store: Store, frame: Frame) -> Bound:
    """Name the dims of the tensors whose sizes an assignment reads.

    Returns the variables whose sizes are known, although the rank of their tensor is not.
    """
    bound: Bound = []
    if len(assignment.targets) == 1:
        for reading in readings(assignment.targets[0], assignment.value):
            bound += _observe(interpreter, reading, store, frame)
        for target in chosen(assignment.targets[0], assignment.value):
            # Of which tensor they are is unknown: they are numbers.
            number = naming.of_number(target.id, interpreter.new_address())
            bound.append((target, sized(symbol(number))))
    return bound


def observe_inline(
    interpreter: Interpreter, expression: ast.expr, store: Store, frame: Frame
) -> None:
    """Name the dims of the tensors whose sizes an expression reads."""
    ranks = counted_ranks.counted(frame.environment.scope)
    if ranks:
        for node in evaluated(expression):
            if isinstance(node, ast.expr) and node in ranks:
                _count(interpreter, node, ranks[node], store, frame)
    for reading in inline(expression):
        _observe(interpreter, reading, store, frame)


def _count(
    interpreter: Interpreter, shape_node: ast.expr, rank: int, store: Store, frame: Frame
) -> None:
    """Give the tensor of ``x.shape[:-1]`` its rank, and names but for the last dim."""
    part = part_of(shape_node)
    value = None if part is None else tensor_of(interpreter, part.subject, store, frame)
    if part is None or value is None:
        return
    content = joins.held(value, store)
    dims = of_rank(content.tensor.dims, rank) if content.tensor.dims.open else None
    if dims is None:
        return
    joins.write(value, store, replace(content, tensor=replace(content.tensor, dims=dims)))
    if ast.unparse(part.subject) not in subjects(frame.environment.scope):
        reading = all_sizes(part.subject, rank)
        but_last = replace(reading, variables=reading.variables[:-1])
        _observe(interpreter, but_last, store, frame)


def observe_shape(
    interpreter: Interpreter, subject: Subject, compared: Subject, store: Store, frame: Frame
) -> None:
    """Name all dims of a tensor whose shape is compared with another one, if its rank is known.

    The words of variables say more: where the function has any for the sizes of one, they are
    awaited.
    """
    if not subjects(frame.environment.scope).isdisjoint(map(ast.unparse, (subject, compared))):
        return
    value = tensor_of(interpreter, subject, store, frame)
    dims = OPEN if value is None else joins.held(value, store).tensor.dims
    if not dims.open and len(dims.prefix) >= _MANY:
        _observe(interpreter, all_sizes(subject, len(dims.prefix)), store, frame)


def number(interpreter: Interpreter, assignment: ast.Assign, value: Value, store: Store) -> Value:
    """A value that is assigned; an int that a call computed is called as its variable is.

    So is one of several numbers, ``self.head_dim = head_dim or dim // heads``: what is made of it
    has one size, whichever it is.

    One that is computed where a size is read, ``side = int(sqrt(x.shape[1]))``, is that of a tensor
    whose dims get other words: those of the pattern that it is passed to.
    """
    lvalue = assignment.targets[0]
    if isinstance(value, Union) and isinstance(lvalue, (ast.Name, ast.Attribute)):
        if not _is_of_numbers(value):
            return value
        word = lvalue.id if isinstance(lvalue, ast.Name) else lvalue.attr
        chosen_number = Opaque(Parameter(interpreter.new_address(), word), "int")
        store.set(NumberTest(chosen_number.key), True)
        return chosen_number
    if not isinstance(value, Opaque) or value.kind != "int" or not isinstance(lvalue, ast.Name):
        return value
    if inline(assignment.value) or symbolic(value) is not None:
        return value
    match value.key.provenance:
        case Fresh() | Result("int"):
            return Opaque(Parameter(interpreter.new_address(), lvalue.id), "int")
    return value


def _is_of_numbers(union: Union) -> bool:
    """Whether a value is one of several sizes that come from elsewhere, of which one is computed.

    Literal numbers stay apart: they are more than words.
    """
    choices = [choice.value for choice in union.alternatives]
    if not all(isinstance(value, Opaque) and symbolic(value) is not None for value in choices):
        return False
    computed = [value.key.provenance for value in choices if isinstance(value, Opaque)]
    return any(isinstance(provenance, Operation) for provenance in computed)


def _observe(interpreter: Interpreter, reading: Reading, store: Store, frame: Frame) -> Bound:
    words = [target.id for _, target in reading.variables]
    plain = [word for word in words if word.strip("_")]
    if (words and not plain and reading.rank is None) or len(set(plain)) < len(plain):
        return []
    value = _tensor_of(interpreter, reading, store, frame)
    if value is None:
        return []
    content = joins.held(value, store)
    if not words:
        joins.write(value, store, content)  # it is known to be a tensor from now on
        return []
    dims = _with_places(content, reading)
    _judge_rank(interpreter, reading, value, content, store, frame)
    if dims is None:
        return []
    if _contradicts(interpreter, reading, content, dims, frame):
        return []
    if _misreads_batch(interpreter, reading, content, dims, store, frame):
        return []
    scope = _scope(interpreter, content, frame) or interpreter.new_address()
    resized = interpreter.new_address()
    of_many = dims.min_rank >= _MANY and not _is_parameter(reading, value)
    origins = dict(content.origins)
    subject, shape = ast.unparse(reading.subject), reading.shape
    bound: Bound = []
    for position, target in reading.variables:
        if _is_resized(dims[position]) and target.id.isidentifier() and target.id.strip("_"):
            dim = _observed(ANY_DIM, target.id, resized)
        else:
            dim = _observed(dims[position], target.id, scope, of_many=of_many)
        if dim != dims[position]:
            dims = dims.replace(position, dim)
            message = f"{shape}[{position}], read here"
            if target.id.startswith(subject):
                message = "read here"
            origins[target.id] = interpreter.place(target, message)
        if isinstance(dim.size, (int, Expression)):
            bound.append((target, sized(dim.size)))
    if dims != content.tensor.dims:
        tensor = replace(content.tensor, dims=dims)
        tags = with_tag(content.tags, OBSERVED_SCOPE, scope)
        joins.write(value, store, replace(content, tensor=tensor, origins=origins, tags=tags))
        same_shapes.tell(value, store)
    if not reading.of_shape or not isinstance(reading.subject, ast.Name):
        return bound if dims.open else []
    # The variable has the shape as it was before its sizes had names.
    shape_value = interpreter.torch.call("shape", [value], {}, reading.subject, store, frame)
    return [*bound, (reading.subject, shape_value)]


def _judge_rank(
    interpreter: Interpreter,
    reading: Reading,
    tensor_value: TensorValue,
    tensor_content: Held,
    store: Store,
    frame: Frame,
) -> None:
    """Report a reading of sizes that a tensor of this rank does not have."""
    dims = tensor_content.tensor.dims
    if dims.open:
        return
    # Its variables are the place of other findings.
    node, rank = reading.subject, len(dims.prefix)
    is_right = rank == reading.rank if reading.rank is not None else rank >= reading.least
    if is_right:
        refused_ranks.accept(interpreter, tensor_value, node, frame)
        return
    is_least = reading.rank is None
    count = reading.least if reading.rank is None else reading.rank
    demand = refused_ranks.demand_of_sizes(count, reading.shape, is_least=is_least)
    refused_ranks.refuse(interpreter, tensor_value, node, demand, store, frame)


def _tensor_of(
    interpreter: Interpreter, reading: Reading, store: Store, frame: Frame
) -> TensorValue | None:
    """The tensor of which sizes are read; None where it may be something else."""
    if not reading.of_shape:
        return tensor_of(interpreter, reading.subject, store, frame)
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        value = interpreter.evaluate(reading.subject, store, frame)
    return unpacking.tensor_of_shape(value, store)


def tensor_of(
    interpreter: Interpreter, subject: Subject, store: Store, frame: Frame
) -> TensorValue | None:
    """The tensor of which sizes are read; None where it may be something else."""
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        value = interpreter.evaluate(subject, store, frame)
    if isinstance(value, Opaque) and _is_tensor(interpreter, value, subject, store, frame):
        value = interpreter.torch.promote(value, store)
    return value if isinstance(value, TensorValue) else None


def _with_places(tensor_content: Held, reading: Reading) -> Dims | None:
    """The dims of a tensor with all places that are read; None where there are none.

    Of a tensor of unknown rank, a place from the left and one from the right may be one dim: they
    are taken to be two if few dims are read, and all under different words.
    """
    dims = tensor_content.tensor.dims
    if reading.rank is not None:
        return of_rank(dims, reading.rank)
    if not dims.open:
        return dims if reading.least <= len(dims.prefix) else None
    front, back = len(dims.prefix), len(dims.suffix)
    for position, _ in reading.variables:
        if position >= 0:
            front = max(front, position + 1)
        else:
            back = max(back, -position)
    if (front, back) == (len(dims.prefix), len(dims.suffix)):
        return dims
    if front + back > _MOST_DIMS:
        return None
    if front and back and not (front == 1 and _reads_batch(reading) and not _has_observed(dims)):
        single = len(reading.variables) == 1
        words = [target.id for _, target in reading.variables if target.id.strip("_")]
        # A broadcast, too, gives names to the last dims of a tensor of unknown rank.
        start = f"{reading.shape}["
        named = [str(naming.word(name)) for name in dims.names if isinstance(name, Axis)]
        places = tensor_content.origins
        read = [word for word in named if word in places and places[word].message.startswith(start)]
        if len(read) < dims.min_rank or not set(words).isdisjoint(read):
            return None
        if single and min(front, back) > 1:
            return None
    more = (ANY_DIM,) * (front - len(dims.prefix)), (ANY_DIM,) * (back - len(dims.suffix))
    suffix = more[1] + dims.suffix
    if not dims.prefix and front == 1 and len(suffix) > 1 and not _is_read(suffix[0]):
        suffix = suffix[1:]  # of so many dims this may be the first
    return Dims(dims.prefix + more[0], suffix, open=True)


def _reads_batch(reading: Reading) -> bool:
    """Whether the only size that is read is called the batch, which is no channel of a layer."""
    words = [target.id for _, target in reading.variables]
    return len(words) == 1 and _plain(words[0]) == "b"


def _has_observed(dims: Dims) -> bool:
    """Whether a size of any dim was read."""
    return any(map(_is_read, dims.known))


def _is_read(dim: Dim) -> bool:
    """Whether the size of a dim was read."""
    return isinstance(dim.name, Axis) and naming.is_observed(dim.name.name)


def _scope(interpreter: Interpreter, tensor_content: Held, frame: Frame) -> int | None:
    """The scope in which this function has read sizes of this very tensor before.

    The scope of a name would not do: a dim has its name from any tensor that it was met with. Nor
    would another function's: who has a word for one of two sizes may well have a square.
    """
    scope = tag_of(tensor_content.tags, OBSERVED_SCOPE)
    if not isinstance(scope, int):
        return None
    for name in tensor_content.tensor.names:
        if isinstance(name, Axis) and naming.scopes(name.name) == (scope,):
            place = tensor_content.origins.get(str(naming.word(name)))
            if place is not None and is_within(place, frame, interpreter.source):
                return scope
    return None


def _is_parameter(reading: Reading, tensor_value: TensorValue) -> bool:
    """Whether a tensor is a parameter, whose first dim is no batch: the weight of a convolution."""
    of_module = tag_of(tensor_value.tags, OF_MODULE) is not None
    if of_module or isinstance(tensor_value.address, _OF_MODULES):
        return True
    return _PARAMETER.search(ast.unparse(reading.subject)) is not None


def _is_resized(dim: Dim) -> bool:
    """Whether a dim is called after an observed axis, but its size is unknown: a padded one is.

    Whoever reads the size again has a word for the new one.
    """
    if dim.size is not UNKNOWN or not isinstance(dim.name, Axis):
        return False
    return all(map(naming.is_observed, dim.name.factors))


def _observed(dim: Dim, word: str, scope: int, *, of_many: bool = False) -> Dim:
    """A dim without a name, as the axis of its size's variable."""
    if not word.strip("_") or not (dim.name is UNKNOWN or dim.name is None):
        return dim
    if isinstance(dim.size, Expression):
        return dim
    own = naming.of_unpacking(word, scope, of_many=of_many and not word.isidentifier())
    return replace(dim, name=Axis(own), size=symbol(own) if dim.size is UNKNOWN else dim.size)


# The words of a caller and those of the function that it calls


def _contradicts(
    interpreter: Interpreter, reading: Reading, tensor_content: Held, dims: Dims, frame: Frame
) -> bool:
    """Report a call of a function that has the caller's words for an argument in another order."""
    if reading.rank is None or reading.of_shape or not isinstance(reading.subject, ast.Name):
        return False
    caller, site = frame.caller, frame.site
    parameters = getattr(frame.environment.scope, "args", None)
    if caller is None or site is None or not isinstance(parameters, ast.arguments):
        return False
    if site is frame.environment.scope or not isinstance(site, ast.Call):
        return False
    own = [target.id for _, target in reading.variables]
    axes = [name.name for name in dims.names if isinstance(name, Axis)]
    if any(scope > frame.environment.number for axis in axes for scope in naming.scopes(axis)):
        return False  # a function that this one calls has its own words, too
    if not _are_reordered(dims, own, tensor_content):
        return False
    theirs = [str(naming.word(name)) for name in dims.names]
    pairs = [f"{b} = {a}" for a, b in zip(own, theirs, strict=True) if _plain(a) != _plain(b)]
    function = frame.name
    message = (
        f"'{function}' reads the sizes of '{reading.subject.id}' as [{', '.join(own)}], but it is "
        f"[{', '.join(theirs)}] here: it is right only if {' and '.join(pairs[:-1])}."
    )
    contradiction = Contradiction(
        "NC101", message, names=theirs, help="Bring the dims into the order of the function."
    )
    here = interpreter.place(reading.variables[0][1], f"'{function}' reads the sizes here")
    origins = [tensor_content.origins[word] for word in theirs if word in tensor_content.origins]
    read = [replace(place, message=f"read as {place.message}") for place in origins[:1]]
    with interpreter.file.switched(interpreter.context.source_of(caller.environment)):
        store = frame.call.store if frame.call is not None else None
        if store is not None:
            interpreter.report(contradiction, site, store, caller, (), (here, *read), by_axes=True)
    return True


def _misreads_batch(
    interpreter: Interpreter,
    reading: Reading,
    tensor_content: Held,
    dims: Dims,
    store: Store,
    frame: Frame,
) -> bool:
    """Report a reading that calls another dim the batch than a pattern or an earlier reading does.

    Other words may stand for two things, as `N` for classes and for pixels. A function has its own
    words for its arguments: only what it made itself is compared.
    """
    if frame.is_called or reading.of_shape or not isinstance(reading.subject, ast.Name):
        return False
    arguments = getattr(frame.environment.scope, "args", None)
    if not isinstance(arguments, ast.arguments) or any(
        reading.subject.id == parameter.arg
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    ):
        return False
    words = {
        position % len(dims.prefix): target.id
        for position, target in reading.variables
        if target.id.strip("_") and not dims.open
    }
    named = {index: whole_word(dim) for index, dim in enumerate(dims.prefix)}
    for index, word in words.items():
        if _plain(word) != "b":
            continue
        there = [place for place, known_word in named.items() if known_word == word]
        if len(there) != 1 or there[0] == index or there[0] not in words or named[index] == word:
            continue
        place = tensor_content.origins.get(word)
        if place is None or not is_within(place, frame, interpreter.source):
            continue
        other = words[there[0]]
        message = (
            f"The size of dim {there[0]} is read as '{other}', and that of dim {index} as '{word}',"
            f" but dim {there[0]} is '{word}': it is right only if {other} = {word}."
        )
        contradiction = Contradiction(
            "NC101", message, names=[word], help="Read the sizes in the order of the dims."
        )
        node = reading.variables[0][1]
        interpreter.report(
            contradiction, node, store, frame, (), (place,), by_axes=True, is_observed=True
        )
        return True
    return False


def whole_word(dim: Dim) -> str | None:
    """The word of a dim that is one observed axis."""
    name = dim.name
    if not isinstance(name, Axis) or not naming.is_observed(name.name):
        return None
    return naming.word(name) if len(name.factors) == 1 else None


def _are_reordered(dims: Dims, own_words: Sequence[str], tensor_content: Held) -> bool:
    """Whether a reading has the words of the dims in another order, which nobody has changed."""
    names = [name for name in dims.names if isinstance(name, Axis)]
    if len(names) < len(own_words) or not all(naming.is_observed(name.name) for name in names):
        return False
    if len({naming.scopes(name.name) for name in names}) != 1:
        return False
    if any(dim.size == 1 for dim in dims.known):
        return False
    theirs = [str(naming.word(name)) for name in names]
    if sorted(map(_plain, theirs)) != sorted(map(_plain, own_words)):
        return False
    if list(map(_plain, theirs)) == list(map(_plain, own_words)) or len(
        set(map(_plain, own_words))
    ) < len(own_words):
        return False
    places = [tensor_content.origins.get(word) for word in theirs]
    return None not in places and _ascend([place for place in places if place is not None])


def _ascend(origin_places: Sequence[Place]) -> bool:
    """Whether the dims still have the order in which their sizes were read."""
    starts = [(place.filename, place.span.start) for place in origin_places]
    return starts == sorted(set(starts))


def _plain(word: str) -> str:
    """A word for a dim in its usual short form."""
    lowered = word.lower().strip("_0123456789") or word
    return _SHORT.get(lowered, lowered)


_SHORT: Final = {
    "bs": "b", "bsz": "b", "batch": "b", "batch_size": "b", "batchsize": "b",
    "channel": "c", "channels": "c", "ch": "c", "chans": "c",
    "height": "h", "width": "w", "depth": "d", "time": "t", "frames": "t",
    "length": "l", "seq": "l", "seq_len": "l", "seqlen": "l", "seq_length": "l",
}  # fmt: skip


# What is a tensor


def is_of_tensors(interpreter: Interpreter, method: str, frame: Frame) -> bool:
    """Whether a method that is read in a file can only be one of a tensor."""
    if method in _ARRAY_METHODS:
        return not _has_arrays(interpreter, frame)
    return method in _TENSOR_METHODS


def _has_arrays(interpreter: Interpreter, frame: Frame) -> bool:
    """Whether the file of a frame has other things than tensors that have a shape."""
    context = interpreter.context
    return context.files.has_arrays(context.source_of(frame.environment))


def _is_tensor(
    interpreter: Interpreter, opaque: Opaque, expression: ast.expr, store: Store, frame: Frame
) -> bool:
    """Whether an unknown value of which all sizes are read can only be a tensor."""
    if may_promote(interpreter, opaque, store, frame):
        return True
    return isinstance(expression, ast.Name) and is_used_as_tensor(
        expression.id, frame.environment.scope
    )


def may_promote(interpreter: Interpreter, opaque: Opaque, store: Store, frame: Frame) -> bool:
    """Whether an unknown value that a function of tensors takes can only be a tensor."""
    return opaque_tensors.is_tensor(opaque, store) or not _has_arrays(interpreter, frame)


def is_used_as_tensor(word: str, definition: ast.AST) -> bool:
    """Whether a function uses a variable as only a tensor can be used.

    What it takes backwards is an array, as is what it makes a tensor of.
    """
    used = False
    for node in nodes(definition):
        if is_reversed(node) and is_name(node.value, word):
            return False
        if isinstance(node, ast.Assign) and _makes_array(node, word):
            return False
        if not isinstance(node, ast.Call):
            continue
        callee = node.func
        if isinstance(callee, ast.Attribute) and is_name(callee.value, word):
            used |= callee.attr in _TENSOR_METHODS
        if any(is_name(argument, word) for argument in node.args):
            if last_word(callee) in _CONSTRUCTORS:
                return False
            first = callee
            while isinstance(first, ast.Attribute):
                first = first.value
            if isinstance(first, ast.Name):
                if first.id in _FOREIGN:
                    return False
                used |= first.id in _FUNCTIONS
    return used


def _makes_array(assignment: ast.Assign, word: str) -> bool:
    """Whether a variable becomes an array that was a tensor: ``x = x.cpu().numpy()``."""
    value = assignment.value
    is_numpy = isinstance(value, ast.Call) and last_word(value.func) == "numpy"
    return is_numpy and any(is_name(target, word) for target in assignment.targets)
