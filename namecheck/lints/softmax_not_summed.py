"""Softmax weights are summed over another dimension than the normalised one.

The weights of a softmax add up to 1 over the dimension that it is taken over. A contraction of
them (`@`, `bmm`, `einsum`, `(weights[..., None] * values).sum(…)`) that sums another dimension, or
a `gather` or a loss that picks along another, is no weighted mean: all shapes are right, and the
model is wrong.

Neither is the softmax over the batch, as the code itself calls that dimension: each sample would
depend on the others. Samples that are weighed, or compared with each other, are summed over.

Two kinds are reported in every file: the weights of an attention, where the code multiplies queries
with transposed keys, and the softmax over a first dimension that is the batch.

Weights that are renormalised (divided by their sum, before the contraction or after it, as are
their sums: `c / c.sum(0)`) are deliberate and not reported. Neither are weights of a softmax over
the last dimension that are transposed, or contracted by explicit letters, to sum the members of
each of some groups; nor is a matrix of distributions on the right of a product, which mixes them:
`topics @ words_of_topics`, and `a @ b @ weights` where `a` are weights, too. Sums over several
dimensions, or over one of the sides of an image, are those of the places in a region. A gradient is
summed over the other dimension on purpose.

Bad:

    from typing import Annotated

    import torch
    from torch import Tensor


    def attend(
        scores: Annotated[Tensor, "batch query key"], values: Annotated[Tensor, "batch key dim"]
    ) -> Annotated[Tensor, "batch query dim"]:
        weights = torch.softmax(scores, dim=1)
        return weights @ values

Good:

    from typing import Annotated

    import torch
    from torch import Tensor


    def attend(
        scores: Annotated[Tensor, "batch query key"], values: Annotated[Tensor, "batch key dim"]
    ) -> Annotated[Tensor, "batch query dim"]:
        weights = torch.softmax(scores, dim=-1)
        return weights @ values
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Place
from namecheck.core.names import UNKNOWN, Axis, Name, show_name, word
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.events import Applied, Listener, TensorOperand
from namecheck.lints.shared import following, scores, subscripts
from namecheck.lints.shared.doubts import Doubts
from namecheck.lints.shared.following import PRODUCTS
from namecheck.lints.shared.subscripts import SUBSCRIPTS

CODE: Final = "NC601"
DOUBTFUL: Final = True

_PASSING: Final = ("turns", "scales", "carries", "indexes", "masks")
# The key of the tag of what weights have summed.
_SUMS: Final = "NC601 sums"
# What changes the elements of weights, and leaves each dim where it is.
_UNMOVED: Final = ("scales", "masks")
_WIDENING: Final = ("unsqueeze", "unsqueeze_", "align_to")
_OF_MATRICES: Final = (*PRODUCTS, "mm", "linalg.matmul")
# The fewest dims of samples of which none is weighed as a whole.
_LEAST: Final = 3
_SUMMING: Final = ("contracts", "picks", "classifies", "indexes")


@dataclass(frozen=True, slots=True)
class Weights:
    """The tag of softmax weights: the name of the normalised dim, and the call.

    `last` says that it was the last dim, `turned` that the tensor was transposed since. For weights
    that were multiplied with values, before a sum, `shared` are the words of the dims that both
    have. For the weights of scores, `from_end` is the place of the dim from the right, as -1, and
    `attends` says that they are those of keys for queries.
    """

    name: Name
    place: Place
    last: bool
    turned: bool = False
    shared: frozenset[str] | None = None
    from_end: int = 0
    attends: bool = False


@dataclass(frozen=True, slots=True)
class Sums:
    """The tag of values that the weights of a softmax have summed, and of what they add up to."""

    place: Place
    added: bool = False


class Lint(Listener):
    """Follows the weights of each softmax to the place where they are summed.

    It reports once the whole file has been run: weights that are renormalised, before or after, are
    deliberate. So are weights of a softmax over the last dim that are transposed, or contracted by
    explicit letters: they assign each item to some groups, and the groups are summed. Source:
    docs/semantics.md, "Findings and lints".
    """

    def __init__(self) -> None:
        self._doubts: Doubts[Place] = Doubts()

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """Check a contraction of weights, and tag weights."""
        if applied.flow is None:
            self._excuse_normalised(applied)
            return scores.viewed(applied, result)
        if applied.flow == "normalises" and self._is_over_batch(applied):
            return result
        if applied.flow in _SUMMING:
            self._check_contraction(applied)
        elif applied.flow == "reduces":
            self._check_product(applied)
            self._excuse(applied)
        elif applied.flow == "divides":
            self._excuse_shares(applied)
        result = scores.tagged(applied, result)
        result = following.tagged(result, _SUMS, _sums_of_result(applied))
        return following.tagged(result, CODE, _weights_of_result(applied))

    def findings(self, source: Source) -> Iterable[Finding]:
        """The sums of weights that are not renormalised anywhere."""
        return self._doubts.findings()

    def _excuse(self, applied: Applied) -> None:
        """Weights whose sums are computed are renormalised, here or in their result."""
        for operand in applied.operands:
            weights = _normalised(operand)
            if weights is not None:
                self._doubts.excuse(weights.place)

    def _excuse_normalised(self, applied: Applied) -> None:
        """Sums that are divided by their own sum in one call: ``normalize(w @ x, p=1)``."""
        if applied.operator == "nn.functional.normalize" and applied.keywords.get("p") == 1:
            for operand in applied.operands:
                sums = operand.tag(_SUMS)
                if isinstance(sums, Sums):
                    self._doubts.excuse(sums.place)

    def _excuse_shares(self, applied: Applied) -> None:
        """Sums that are divided by their own sum are renormalised: ``c / c.sum(0)``."""
        tags = [operand.tag(_SUMS) for operand in applied.operands]
        sums, total = tags if len(tags) == 2 else (None, None)
        if isinstance(sums, Sums) and total == replace(sums, added=True):
            self._doubts.excuse(sums.place)

    def _check_contraction(self, applied: Applied) -> None:
        candidates = [
            (operand, weights)
            for operand in applied.operands
            if (weights := _normalised(operand)) is not None
        ]
        if len(candidates) != 1:
            return  # two weights: a step of a Markov chain does not contract its own dim
        operand, weights = candidates[0]
        if _continues_chain(applied, operand):
            return
        summed = _summed(applied, operand)
        is_named = weights.name is not UNKNOWN and all(
            following.is_other(name, weights.name) for name in summed
        )
        if weights.from_end and not is_named:
            self._check_place(applied, operand, weights)
            return
        if not summed or not is_named:
            return
        if _mixes(applied, operand, weights) or _is_backward(applied):
            return
        meant = weights.last and (weights.turned or applied.operator in SUBSCRIPTS)
        if _mixes_heads(applied, operand, weights):
            return
        if meant and _are_groups(weights, summed):
            return
        if len(summed) > 1 or any(isinstance(n, Axis) and len(n.factors) > 1 for n in summed):
            return  # the places of regions: an attention sums one dim, that of the keys
        if _leaves_places(applied, operand, weights):
            return
        self._doubt(applied, weights, _shown_other(weights, summed))

    def _is_over_batch(self, applied: Applied) -> bool:
        """Report a softmax over the batch, which makes each sample depend on the others."""
        argument = following.dim_argument(applied)
        dims = applied.operands[0].dims if applied.operands else Dims()
        if not isinstance(argument, int) or not _is_batch(dims, argument):
            return False
        if applied.silent:
            return True
        place = applied.place("normalised here")
        finding = applied.finding(
            CODE,
            f"The softmax is taken over dim {show_name(dims[argument].name)}, the batch: each "
            f"sample depends on the others.",
            "Take the softmax over the dim that is summed afterwards.",
            (),
        )
        self._doubts.add(place, replace(finding, assured=argument in (0, -dims.min_rank)))
        return True

    def _check_place(
        self, applied: Applied, tensor_operand: TensorOperand, weights: Weights
    ) -> None:
        """Check a matrix product: it sums the last dim of its left factor, dim -2 of the right.

        An equation says which dim it sums. Who gives the groups of a softmax over the last dim a
        letter sums over the others on purpose.
        """
        if applied.operator in SUBSCRIPTS:
            letter = (
                None if weights.last else _other_summed_letter(applied, tensor_operand, weights)
            )
            if letter is not None and not _mixes_heads(applied, tensor_operand, weights):
                self._doubt(applied, weights, f"the dim of '{letter}'")
            return
        if applied.operator not in PRODUCTS:
            return
        if any(operand.dims.rank in (1, 2) for operand in applied.operands):
            return
        if tensor_operand.position == 0 and weights.from_end != -1:
            self._doubt(applied, weights, "the last dim")
        elif tensor_operand.position == 1 and weights.attends and weights.from_end == -1:
            left = [each for each in applied.operands if each.position == 0]
            if all(each.tag(scores.TURNED) is None for each in left):
                self._doubt(applied, weights, "dim -2")

    def _check_product(self, applied: Applied) -> None:
        """Check a sum of weights that were multiplied with values, as in a contraction."""
        for operand in applied.operands:
            weights = _weights(operand)
            if weights is None or weights.shared is None:
                continue
            name = following.name_at(operand.dims, following.dim_argument(applied))
            if _is_side_of_places(operand.dims, name, weights, weights.shared):
                continue
            if word(name) in weights.shared and following.is_other(name, weights.name):
                self._doubt(applied, weights, _shown_other(weights, [name]))

    def _doubt(self, applied: Applied, weights: Weights, summed_dims: str) -> None:
        """Report that weights are summed over a dim, as it is shown, that is not theirs."""
        if applied.silent:
            return
        verb = "summed over" if applied.flow in ("contracts", "reduces") else "picked along"
        finding = applied.finding(
            CODE,
            f"Weights that a softmax normalises over {_shown(weights, summed_dims)} are {verb} "
            f"{summed_dims}: they do not add up to 1 there.",
            f"Take the softmax over {summed_dims}.",
            (weights.place,),
        )
        self._doubts.add(weights.place, replace(finding, assured=weights.attends))


def _is_batch(dims: Dims, index: int) -> bool:
    """Whether a dim is the batch, as the code calls it, of a tensor with two other dims at least.

    In the scores of pairs of samples, another dim is the batch, too. In ``N, k, b = x.shape`` `b`
    has the bins, or the beams.
    """
    if dims.min_rank < _LEAST or (index >= 0 and index >= len(dims.prefix)):
        return False
    dim = dims[index]
    if not isinstance(dim.name, Axis) or not naming.is_batch(dim.name.name):
        return False
    if not dims.open and index in (-1, len(dims.prefix) - 1):
        return False
    others = [other.name for other in dims.known if other.size != 1 and other is not dim]
    return len(others) >= _LEAST - 1 and all(
        isinstance(name, Axis) and name.name != dim.name.name for name in others
    )


def _shown_other(weights: Weights, summed: Sequence[Name]) -> str:
    """The dims that are summed; in a square, as of self-attention, both dims have one name."""
    over = ", ".join(map(show_name, summed))
    return f"{'the other dim' if over == show_name(weights.name) else 'dim'} {over}"


def _shown(weights: Weights, summed_dims: str) -> str:
    """The dim that is normalised, beside the one that is summed."""
    if weights.from_end and weights.name is UNKNOWN:
        return f"dim {weights.from_end}"
    return (
        f"{'one dim' if summed_dims.startswith('the other') else 'dim'} {show_name(weights.name)}"
    )


def _weights(tensor_operand: TensorOperand) -> Weights | None:
    tag = tensor_operand.tag(CODE)
    return tag if isinstance(tag, Weights) else None


def _normalised(tensor_operand: TensorOperand) -> Weights | None:
    """The tag of weights that were not multiplied with values."""
    weights = _weights(tensor_operand)
    return weights if weights is not None and weights.shared is None else None


def _weights_of_result(applied: Applied) -> Weights | None:
    """The tag of an operator's result, from that of its first operand."""
    if not applied.operands:
        return None
    flow, first = applied.flow, applied.operands[0]
    if flow == "normalises":
        argument = following.dim_argument(applied)
        name = following.name_at(first.dims, argument)
        placed = _placed(applied, first.dims, argument)
        if name in (None, UNKNOWN):
            return placed
        place = applied.place(f"normalised over {show_name(name)} here")
        if placed is not None:
            return replace(placed, name=name, place=place)
        return Weights(name, place, name == first.dims[-1].name)
    if flow == "scales" and not following.is_scaled(applied):
        return _product(applied)
    if applied.operator in SUBSCRIPTS:
        tags = ((each, _weights(each)) for each in applied.operands)
        return next((tag for each, tag in tags if tag and _mixes_heads(applied, each, tag)), None)
    weights = _weights(first) if flow in _PASSING else None
    if weights is None:
        return None
    if weights.from_end:
        stays = flow in _UNMOVED or (flow == "carries" and applied.operator not in _WIDENING)
        if stays or weights.name is UNKNOWN:
            return weights if stays else None
        weights = replace(weights, from_end=0, attends=False)
    if flow == "turns":
        return replace(weights, turned=True)
    return weights if flow in _UNMOVED or following.keeps_dims(applied) else None


def _sums_of_result(applied: Applied) -> Sums | None:
    """The tag of a sum of values by weights, and of the sum of such sums."""
    flow, operands = applied.flow, applied.operands
    if flow in ("contracts", "reduces"):
        weighing = next(filter(None, map(_weights, operands)), None)
        if weighing is not None and (flow == "contracts" or weighing.shared is not None):
            return Sums(weighing.place)
    sums = operands[0].tag(_SUMS) if operands else None
    if not isinstance(sums, Sums):
        return None
    if flow == "reduces":
        return replace(sums, added=True)
    kept = flow in (*_PASSING, "bounds") or (flow == "meets" and len(operands) == 1)
    return sums if kept else None


def _other_summed_letter(
    applied: Applied, tensor_operand: TensorOperand, weights: Weights
) -> str | None:
    """The only letter of the weights that an equation sums, if it is not the normalised dim's."""
    spelt = subscripts.of(applied)
    if spelt is None or tensor_operand.position >= len(spelt.operands):
        return None
    term = spelt.operands[tensor_operand.position]
    summed = [letter for letter in term if letter not in spelt.result]
    if len(summed) != 1 or len(term) < -weights.from_end or "..." in term:
        return None
    return summed[0] if term[weights.from_end] != summed[0] else None


def _mixes_heads(applied: Applied, tensor_operand: TensorOperand, weights: Weights) -> bool:
    """Whether an equation mixes the heads of an attention: ``bhij,hg->bgij``.

    The weights stay those of the keys for the queries, which are its last two dims.
    """
    spelt = subscripts.of(applied) if applied.operator in SUBSCRIPTS else None
    if not weights.attends or spelt is None or tensor_operand.position >= len(spelt.operands):
        return False
    last = spelt.operands[tensor_operand.position][-2:]
    others = [term for at, term in enumerate(spelt.operands) if at != tensor_operand.position]
    return spelt.result[-2:] == last and not any({*last} & {*term} for term in others)


def _placed(applied: Applied, dims: Dims, argument: int | str | None) -> Weights | None:
    """The tag of the weights of scores, whose dim is followed by its place."""
    if not isinstance(argument, int) or (argument >= 0 and dims.open):
        return None
    kind = applied.operands[0].tag(scores.KEY)
    if kind is None:
        return None  # the columns of a matrix may add up to 1 on purpose
    from_end = argument if argument < 0 else argument - len(dims.prefix)
    if from_end >= 0:
        return None
    place = applied.place(f"normalised over dim {from_end} here")
    attends = kind == scores.ATTENTION
    return Weights(UNKNOWN, place, from_end == -1, from_end=from_end, attends=attends)


def _product(applied: Applied) -> Weights | None:
    """The tag of weights that are multiplied with values, before a sum.

    The values have dims of their own, and lack the normalised dim: items that are weighted one by
    one may well be summed over another dim.
    """
    operands = applied.operands
    if len(operands) != 2 or applied.operator not in ("mul", "multiply"):
        return None
    candidates = [
        (weights, operand.dims, values.dims)
        for operand, values in itertools.permutations(operands)
        if (weights := _normalised(operand)) is not None
    ]
    if len(candidates) != 1 or candidates[0][0].name is UNKNOWN:
        return None
    weights, dims, values = candidates[0]
    mine, its = ({word(name) for name in names} - {None} for names in (dims.names, values.names))
    complete = dims.complete and values.complete
    if not complete or weights.last or word(weights.name) in its or not its - mine:
        return None
    return replace(weights, shared=frozenset(str(name) for name in mine & its))


def _are_groups(weights: Weights, summed: Sequence[Name]) -> bool:
    """Whether the normalised dim is no side of a square."""
    return all(word(name) != word(weights.name) for name in summed)


def _mixes(applied: Applied, tensor_operand: TensorOperand, weights: Weights) -> bool:
    """Whether each row of a matrix on the right of a product is a distribution to be mixed.

    So it is in ``p @ a`` of any rank, in ``a.T @ p`` of a vector, in ``a.T @ p.T``, in ``linear(p,
    a.T)``, and where an equation has the normalised dim last: ``"bn,bnk->bk"``. Rows of attention
    weights, which a mistake transposes, are mixed as a matrix alone.
    """
    position, operator = tensor_operand.position, applied.operator
    if operator in _OF_MATRICES and position == 1 and tensor_operand.dims.rank == 2:
        return True
    if not weights.last or weights.attends:
        return False
    if operator in SUBSCRIPTS:
        return _letter_of(applied, tensor_operand, weights.name) == _last_letter(applied)
    if operator == "nn.functional.linear":
        return position == 1 and weights.turned
    if operator in _OF_MATRICES and position == 1:
        return not weights.turned
    others = [each for each in applied.operands if each.position == 1]
    return position == 0 and weights.turned and any(map(_is_turned_or_vector, others))


def _continues_chain(applied: Applied, tensor_operand: TensorOperand) -> bool:
    """Whether a factor on the right is the next step of a chain: ``a @ b @ c`` of weights."""
    left = (each for each in applied.operands if each.position == 0)
    return tensor_operand.position == 1 and any(each.tag(_SUMS) is not None for each in left)


def _is_turned_or_vector(tensor_operand: TensorOperand) -> bool:
    """Whether a factor was transposed, or is a vector: ``p``, ``p[:, None]``."""
    dims = tensor_operand.dims
    last = dims.from_right(1)
    is_column = last is not None and last.size == 1
    return tensor_operand.tag(scores.TURNED) is not None or dims.rank == 1 or is_column


def _is_backward(applied: Applied) -> bool:
    """Whether a product takes a gradient: that of values is ``weights.mT @ grad``."""
    named = (getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(applied.node))
    return any("grad" in called.lower() for called in named)


def _letter_of(applied: Applied, tensor_operand: TensorOperand, name: Name) -> str | None:
    """The letter that an equation gives to a dim of an operand."""
    spelt = subscripts.of(applied)
    if spelt is None or tensor_operand.position >= len(spelt.operands):
        return None
    term = spelt.operands[tensor_operand.position]
    letters = subscripts.dims_of(term, tensor_operand.dims)
    return next((letter for letter, dim in letters if dim.name == name), None)


def _last_letter(applied: Applied) -> str:
    spelt = subscripts.of(applied)
    return spelt.result[-1] if spelt is not None and spelt.result else ""


def _leaves_places(applied: Applied, tensor_operand: TensorOperand, weights: Weights) -> bool:
    """Whether an equation sums one side of the places of an image, and leaves the other one."""
    spelt = subscripts.of(applied) if applied.operator in SUBSCRIPTS else None
    if spelt is None or len(spelt.operands) != 2 or tensor_operand.position > 1:
        return False
    term, values = (
        spelt.operands[tensor_operand.position],
        spelt.operands[1 - tensor_operand.position],
    )
    normalised = _letter_of(applied, tensor_operand, weights.name)
    summed = ({*term} & {*values}) - {*spelt.result}
    pairs = {*itertools.pairwise(term)} & {*itertools.pairwise(values)}
    return normalised in term and any(
        (one in summed) != (other in summed) and term.index(normalised) < term.index(one)
        for one, other in pairs
    )


def _is_side_of_places(dims: Dims, summed: Name, weights: Weights, of_both: frozenset[str]) -> bool:
    """Whether a sum is over one side of the places of an image, and leaves the other one."""
    each_word = [*map(word, dims.names)]
    if word(summed) not in each_word or word(weights.name) not in each_word:
        return False
    place, normalised = each_word.index(word(summed)), each_word.index(word(weights.name))
    beside = [place + step for step in (-1, 1) if 0 <= place + step < len(each_word)]
    return any(each_word[each] in of_both and normalised < each for each in beside)


def _summed(applied: Applied, tensor_operand: TensorOperand) -> list[Name]:
    """The names of an operand's dims that are summed, or picked from; empty if unclear."""
    position, dims = tensor_operand.position, tensor_operand.dims
    if applied.flow in ("picks", "classifies"):
        classes = 1 if dims.rank != 1 else 0
        chosen = classes if applied.flow == "classifies" else following.dim_argument(applied)
        name = following.name_at(dims, chosen)
        return [name] if position == 0 and name is not None else []
    if applied.flow == "indexes":
        return _picked(dims, applied.inputs[1])
    if applied.operator in SUBSCRIPTS:
        return list(_summed_letters(applied, tensor_operand))
    if position == 0 or applied.operator == "nn.functional.linear":
        return [dims[-1].name]
    return [dims[-2].name if dims.rank != 1 else dims[-1].name] if position == 1 else []


def _picked(dims: Dims, index: Any) -> list[Name]:
    """The dim of a matrix from which one item is picked for each position of the other dim."""
    parts = index if isinstance(index, tuple) else ()
    if dims.rank != 2 or len(parts) != 2 or not all(isinstance(p, Tensor) for p in parts):
        return []
    picked = [
        dim.name for dim, part in zip(dims.prefix, parts, strict=True) if part.names != (dim.name,)
    ]
    return picked if len(picked) == 1 else []


def _summed_letters(applied: Applied, tensor_operand: TensorOperand) -> Iterator[Name]:
    """As `_summed`, where each dim has a letter (`torch.einsum`), or a word (`einops.einsum`)."""
    position, dims = tensor_operand.position, tensor_operand.dims
    spelt = subscripts.of(applied)
    if spelt is None or position >= len(spelt.operands):
        return
    others = [
        letter
        for number, term in enumerate(spelt.operands)
        if number != position
        for letter in term
    ]
    for letter, dim in subscripts.dims_of(spelt.operands[position], dims):
        if letter not in spelt.result and letter in others:
            yield dim.name
