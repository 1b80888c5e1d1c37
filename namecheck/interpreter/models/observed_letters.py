"""Letters of einops as names: ``rearrange(x, 'b n (h d) -> b h n d')`` names the dims of x.

A letter names the dim that it stands for, unless the dim has a name already, in the tensor that is
read and in the result. Each has a scope of its own: two letters may well have one size, as those of
pairs, and ``n`` of one tensor need not have the size of ``n`` of another.

A pattern that reads a dim under one letter, and has another dim of the same tensor under the word
that its own function has given to that one, contradicts it if the letter there is a word of the
tensor as well: the same words in another order. One word alone may have two meanings: ``d`` is a
depth in an unpacking, and the features of a head in a pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.dims import Dim, Dims, merged, of_rank
from namecheck.core.names import UNKNOWN, Axis, Contradiction
from namecheck.core.sizes import symbol
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import joins, same_shapes
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    Held,
    Opaque,
    TensorValue,
    Value,
)
from namecheck.interpreter.evaluation import observed_axes
from namecheck.interpreter.evaluation.frames import Frame, is_within, outside_comprehensions
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.rules import patterns

# The letters of an einsum are indices: they name nothing beyond the call.
_FUNCTIONS: Final = frozenset({"einops.rearrange", "einops.reduce", "einops.repeat"})
_LAYERS: Final = frozenset({"einops.layers.torch.Rearrange", "einops.layers.torch.Reduce"})
_ARROW: Final = "->"

# The letters of each dim from the left; none where a dim has no letters of its own.
Term: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The letters of the tensor and of the result; None for a side with an ellipsis.

    `scope` is that of one call, `dims` has the dims of the letters that the call has named. A layer
    that only `exchanges` dims may be called once more, to bring them back.
    """

    tensor: Term | None
    result: Term | None
    scope: int
    exchanges: bool
    dims: dict[str, Dim] = field(default_factory=dict)


def of_call(row_key: str, every: Sequence[Value], scope: int) -> Pattern | None:
    """The pattern among the arguments of a call; None where it is unknown or wrong."""
    if row_key not in _FUNCTIONS | _LAYERS:
        return None
    texts = [value.value for value in every if isinstance(value, Const)]
    text = next((each for each in texts if isinstance(each, str) and _ARROW in each), None)
    if text is None:
        return None
    before, _, after = text.partition(_ARROW)
    try:
        sides = _term(before), _term(after)
    except Contradiction:
        return None
    exchanges = row_key in _LAYERS and _undoes_itself(*sides)
    return Pattern(*sides, scope, exchanges)


def _undoes_itself(term: Term | None, new_term: Term | None) -> bool:
    """Whether a pattern that is applied twice gives the dims in their first order."""
    if term is None or new_term is None or set(term) != set(new_term) or term == new_term:
        return False
    places = [term.index(letters) for letters in new_term]
    return all(places[place] == at for at, place in enumerate(places))


def _term(text: str) -> Term | None:
    """The letters of one side of a pattern."""
    side = patterns.side(text)
    if side.has_ellipsis:
        return None
    groups = [
        tuple(each for each in group if isinstance(each, str)) for group in side.letter_groups
    ]
    return tuple(
        letters if len(letters) == len(group) else ()
        for letters, group in zip(groups, side.letter_groups, strict=True)
    )


def read(
    interpreter: Interpreter,
    pattern: Pattern,
    operand_value: Value | None,
    node: Node,
    store: Store,
    frame: Frame,
) -> Contradiction | None:
    """Name the dims of the tensor by their letters; returns what contradicts its own names."""
    value = None if operand_value is None else _tensor(interpreter, operand_value, store, frame)
    if value is None or pattern.tensor is None:
        return None
    content = joins.held(value, store)
    dims = of_rank(content.tensor.dims, len(pattern.tensor))
    if dims is None:
        return None
    contradiction = None
    if not pattern.exchanges:
        contradiction = _contradicted(interpreter, dims, pattern, content, frame)
    if contradiction is None:
        _name(interpreter, value, dims, pattern.tensor, pattern, node, store)
    return contradiction


def name_result(
    interpreter: Interpreter, pattern: Pattern, outcome: Value, node: Node, store: Store
) -> None:
    """Name the dims of a result that have no name by their letters."""
    if pattern.result is None or not isinstance(outcome, TensorValue):
        return
    dims = of_rank(joins.held(outcome, store).tensor.dims, len(pattern.result))
    if dims is not None:
        _name(interpreter, outcome, dims, pattern.result, pattern, node, store)


def _tensor(
    interpreter: Interpreter, value: Value, store: Store, frame: Frame
) -> TensorValue | None:
    """The tensor that a pattern reads; None where it may be something else."""
    if isinstance(value, Opaque) and observed_axes.may_promote(interpreter, value, store, frame):
        return interpreter.torch.promote(value, store)
    return value if isinstance(value, TensorValue) else None


def _name(
    interpreter: Interpreter,
    tensor_value: TensorValue,
    dims: Dims,
    term: Term,
    pattern: Pattern,
    node: Node,
    store: Store,
) -> None:
    """Write the dims of a tensor, those without a name as the axes of their letters."""
    content = joins.held(tensor_value, store)
    place = interpreter.place(node, "a letter of the pattern here")
    places = dict(content.origins)
    named_dims: list[Dim] = []
    for dim, letters in zip(dims.prefix, term, strict=True):
        nameless = dim.name is UNKNOWN or dim.name is None
        if not letters or not nameless or dim.size is not UNKNOWN:
            if len(letters) == 1:
                pattern.dims.setdefault(letters[0], dim)
            named_dims.append(dim)
            continue
        if len(letters) > 1 and term is pattern.tensor:
            named_dims.append(dim)  # it has the size that the caller gives it
            continue
        for letter in letters:
            if letter not in pattern.dims:
                own = naming.of_letter(letter, pattern.scope, interpreter.new_address())
                pattern.dims[letter] = Dim(Axis(own), symbol(own))
                places[letter] = place
        if any(pattern.dims[letter].size is UNKNOWN for letter in letters):
            named_dims.append(dim)
            continue
        factors = merged([pattern.dims[letter] for letter in letters])
        named_dims.append(replace(dim, name=factors.name, size=factors.size))
    if tuple(named_dims) != content.tensor.dims.prefix or content.tensor.dims.open:
        tensor = replace(content.tensor, dims=Dims(tuple(named_dims)))
        joins.write(tensor_value, store, replace(content, tensor=tensor, origins=places))
        same_shapes.tell(tensor_value, store)


def _contradicted(
    interpreter: Interpreter, dims: Dims, pattern: Pattern, tensor_content: Held, frame: Frame
) -> Contradiction | None:
    """Whether a letter stands where another dim of the tensor is, which the function calls so."""
    words = [observed_axes.whole_word(dim) for dim in dims.prefix]
    term = pattern.tensor or ()
    single = [letters[0] if len(letters) == 1 else None for letters in term]
    for position, letter in enumerate(single):
        if letter is None or words.count(letter) != 1 or single.count(letter) != 1:
            continue
        place = words.index(letter)
        other = single[place]
        if place == position or other is None or words[position] == letter:
            continue
        if not any(_is_called(dim, other) for dim in dims.prefix):
            continue  # the two have one word in common, which may mean two things
        between = single[min(position, place) : max(position, place) + 1]
        if _are_merged(between, pattern.result):
            continue  # in the order in which they stand, whatever they are called
        origin = tensor_content.origins.get(letter)
        if origin is None or not is_within(origin, frame, interpreter.source):
            continue
        if _is_older(dims.prefix[place], frame):
            continue  # a caller named it: the origin is that of a result computed here
        if words[position] and not _may_share_tensor(dims.prefix[place], dims.prefix[position]):
            continue  # the variable has a size of another tensor, the letter none of that
        standing = words[position] or naming.word(dims[position].name)
        wanted = f" = '{standing}'" if standing else f" has the size of dim {position}"
        return Contradiction(
            "NC101",
            f"The pattern reads dim {position} as '{letter}' and dim {place} as '{other}', but dim "
            f"{place} is '{letter}': it is right only if '{letter}'{wanted}.",
            names=[letter],
            help="Write the letters in the order of the dims.",
        )
    return None


def _is_called(dim: Dim, letter: str) -> bool:
    """Whether a letter is the word of a dim or the initial of its parts: h of ``num_heads``."""
    word = naming.word(dim.name) or ""
    return word == letter or letter in (part[:1] for part in word.lower().split("_"))


def _are_merged(letters: Sequence[str | None], result_term: Term | None) -> bool:
    """Whether a pattern merges adjacent letters into one dim, in their order."""
    run = tuple(letters)
    return any(
        group[start : start + len(run)] == run
        for group in result_term or ()
        for start in range(len(group))
    )


def _may_share_tensor(dim: Dim, other_dim: Dim) -> bool:
    """Whether the words of two dims may have been given to one tensor."""
    scopes, other_scopes = (
        set(naming.scopes(each.name.name) if isinstance(each.name, Axis) else ())
        for each in (dim, other_dim)
    )
    return not scopes or not other_scopes or bool(scopes & other_scopes)


def _is_older(dim: Dim, frame: Frame) -> bool:
    """Whether an axis was named before the function that is running was called."""
    scopes = naming.scopes(dim.name.name) if isinstance(dim.name, Axis) else ()
    number = outside_comprehensions(frame).environment.number
    return any(scope < number for scope in scopes)
