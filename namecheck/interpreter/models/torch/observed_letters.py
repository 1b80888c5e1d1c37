"""Letters of einops and einsum as names: ``rearrange(x, 'b n (h d) -> b h n d')`` names its dims.

A letter names the dim that it stands for, unless the dim has a name already, in the tensor that is
read and in the result. Letters of different tensors are different scopes: ``n`` of one tensor need
not have the size of ``n`` of another. A pattern that reads a dim under one letter, and has another
dim of the same tensor under the word that its own function has given to that one, contradicts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dim, Dims, of_rank
from namecheck.core.names import UNKNOWN, Axis, Contradiction
from namecheck.core.sizes import symbol
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    Held,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    Value,
)
from namecheck.interpreter.evaluation import observed_axes
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.torch import origins
from namecheck.rules import patterns

_OPERATORS: Final = frozenset(
    {"einops.rearrange", "einops.reduce", "einops.repeat", "einops.einsum", "einsum"}
)
_ARROW: Final = "->"

# The letter of each dim from the left; None where a dim has no letter of its own.
Term: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The letters of the operands and of the result; None for one with an ellipsis."""

    operands: tuple[Term | None, ...]
    result: Term | None


def of_call(row_key: str, every: Sequence[Value]) -> Pattern | None:
    """The pattern among the arguments of a call; None where it is unknown or wrong."""
    texts = [value.value for value in every if isinstance(value, Const)]
    text = next((each for each in texts if isinstance(each, str) and _ARROW in each), None)
    if text is None or row_key not in _OPERATORS:
        return None
    before, _, after = text.partition(_ARROW)
    try:
        if row_key == "einsum":
            return Pattern(tuple(map(_subscripts, before.split(","))), _subscripts(after))
        terms = before.split(",") if row_key == "einops.einsum" else [before]
        return Pattern(tuple(_term(term) for term in terms), _term(after))
    except Contradiction:
        return None


def _subscripts(text: str) -> Term | None:
    letters = text.replace(" ", "")
    return None if "." in letters else tuple(letters)


def _term(text: str) -> Term | None:
    """The letters of one side of a pattern; a group of several has no letter of its own."""
    side = patterns.side(text, underscore=True, repeats=True)
    if side.has_ellipsis:
        return None
    single = [group[0] if len(group) == 1 else None for group in side.letter_groups]
    return tuple(each if isinstance(each, str) else None for each in single)


def read(
    interpreter: Interpreter,
    pattern: Pattern,
    args: Sequence[Value],
    node: Node,
    store: Store,
    frame: Frame,
) -> Contradiction | None:
    """Name the dims of the operands by their letters; returns what contradicts their own names."""
    tensors = _tensors(interpreter, args, store, frame)
    for value, term in zip(tensors, pattern.operands, strict=False):
        if term is None or value is None:
            continue
        content = joins.held(value, store)
        dims = of_rank(content.tensor.dims, len(term))
        if dims is None:
            continue
        contradiction = _contradicted(interpreter, dims, term, content, frame)
        if contradiction is not None:
            return contradiction
        scope = interpreter.new_address()
        named = Dims(
            tuple(
                _named(dim, letter, scope, term)
                for dim, letter in zip(dims.prefix, term, strict=True)
            )
        )
        if named == content.tensor.dims:
            continue
        places = dict(content.origins)
        for dim, letter in zip(named.prefix, term, strict=True):
            if letter is not None and dim not in dims.prefix:
                places[letter] = interpreter.place(node, "a letter of the pattern here")
        tensor = replace(content.tensor, dims=named)
        joins.write(value, store, replace(content, tensor=tensor, origins=places))
    return None


def _tensors(
    interpreter: Interpreter, args: Sequence[Value], store: Store, frame: Frame
) -> Iterator[TensorValue | None]:
    """The operands among the arguments, in their order; None for what is no known tensor."""
    for value in args:
        if isinstance(value, TensorValue):
            yield value
        elif isinstance(value, Opaque) and observed_axes.may_promote(
            interpreter, value, store, frame
        ):
            yield interpreter.torch.promote(value, store)
        elif isinstance(value, ListValue):
            content = joins.items(value, store)
            for item in () if isinstance(content, Repeated) else content:
                yield item if isinstance(item, TensorValue) else None
        elif not isinstance(value, Const):
            yield None


def _named(dim: Dim, letter: str | None, scope: int, term: Term) -> Dim:
    """A dim without a name, as the axis of its letter."""
    if letter is None or letter == "_" or term.count(letter) > 1:
        return dim
    if dim.size is not UNKNOWN or not (dim.name is UNKNOWN or dim.name is None):
        return dim
    own = naming.of_unpacking(letter, scope)
    return replace(dim, name=Axis(own), size=symbol(own))


def _contradicted(
    interpreter: Interpreter, dims: Dims, term: Term, tensor_content: Held, frame: Frame
) -> Contradiction | None:
    """Whether a letter stands where another dim of the tensor is, which the function calls so."""
    words = [_word(dim) for dim in dims.prefix]
    for position, letter in enumerate(term):
        if letter is None or words.count(letter) != 1 or term.count(letter) != 1:
            continue
        place = words.index(letter)
        other = term[place]
        if place == position or other is None or words[position] == letter:
            continue
        origin = tensor_content.origins.get(letter)
        if origin is None or not origins.is_within(origin, frame, interpreter.source):
            continue
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


def _word(dim: Dim) -> str | None:
    """The word of an observed axis."""
    if not isinstance(dim.name, Axis) or not naming.is_observed(dim.name.name):
        return None
    return naming.word(dim.name) if len(dim.name.factors) == 1 else None


def name_result(
    interpreter: Interpreter, pattern: Pattern, outcome: Value, node: Node, store: Store
) -> None:
    """Name the dims of a result that have no name by their letters."""
    term = pattern.result
    if term is None or not isinstance(outcome, TensorValue):
        return
    content = joins.held(outcome, store)
    dims = of_rank(content.tensor.dims, len(term))
    if dims is None:
        return
    scope = interpreter.new_address()
    pairs = zip(dims.prefix, term, strict=True)
    named = Dims(tuple(_named(dim, letter, scope, term) for dim, letter in pairs))
    if named != content.tensor.dims:
        fresh = [
            letter
            for letter, dim in zip(term, named.prefix, strict=True)
            if letter is not None and dim not in dims.prefix
        ]
        place = interpreter.place(node, "a letter of the pattern here")
        places = {**content.origins, **dict.fromkeys(fresh, place)}
        tensor = replace(content.tensor, dims=named)
        joins.write(outcome, store, replace(content, tensor=tensor, origins=places))
