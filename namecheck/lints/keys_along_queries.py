"""A vector named after the keys is aligned with the queries, or the other way round.

The scores of self-attention are a square: both dims have the name of the sequence. The operands
tell which dim belongs to the queries, if the code calls one of them `q`, `query` or `queries` and
the other `k`, `key` or `keys`. A vector with such a word in its name, such as `key_padding_mask`,
belongs to the dim of the operand with that word. Along the other dim it raises no error, as both
have the same size. The lint reports nothing where a name has both words, or none, or where one
vector is aligned with both dims of the same scores.

The values belong to the keys, too. Where the keys are the rows of the scores (``k @ q.mT``), the
softmax is over the last dim, that of the queries, and the product with `v`, `value` or `values`
sums that dim, the operands of the scores are exchanged.

Bad:

    from typing import Annotated

    from torch import Tensor


    def masked(
        q: Annotated[Tensor, "batch seq dim"],
        k: Annotated[Tensor, "batch seq dim"],
        key_pad: Annotated[Tensor, "batch seq"],
    ) -> Annotated[Tensor, "batch seq seq"]:
        return q @ k.mT + key_pad[:, :, None]

Good:

    from typing import Annotated

    from torch import Tensor


    def masked(
        q: Annotated[Tensor, "batch seq dim"],
        k: Annotated[Tensor, "batch seq dim"],
        key_pad: Annotated[Tensor, "batch seq"],
    ) -> Annotated[Tensor, "batch seq seq"]:
        return q @ k.mT + key_pad[:, None, :]
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Place
from namecheck.core.names import Axis, Name, show_name, word
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.tags import tag_of, with_tag
from namecheck.interpreter.domain.values import TensorValue, Union, Value
from namecheck.interpreter.evaluation.events import Applied, Listener
from namecheck.interpreter.evaluation.findings import place_of
from namecheck.lints.shared import following, subscripts
from namecheck.lints.shared.doubts import Doubts
from namecheck.lints.shared.subscripts import SUBSCRIPTS

CODE: Final = "NC603"

_ROLES: Final = {
    **dict.fromkeys(("q", "query", "queries"), "queries"),
    **dict.fromkeys(("k", "key", "keys"), "keys"),
}
_VALUES: Final = frozenset({"v", "value", "values"})
# In "top_k" it is a number.
_NUMBERED: Final = "top"
_BROADCASTING: Final = ("scales", "divides", "meets")
# The key of the tag of scores whose operands are exchanged.
_EXCHANGED: Final = "NC603 exchanged"
# What keeps the rows and columns of scores.
_KEEPING: Final = (*_BROADCASTING, "bounds", "masks", "carries")
_WIDENING: Final = ("unsqueeze", "unsqueeze_", "align_to")


@dataclass(frozen=True, slots=True)
class Role:
    """The tag of a tensor that the code calls by a query or key word: which role, and where.

    `roles` has one of the two, or both.
    """

    roles: frozenset[str]
    called: str
    place: Place


@dataclass(frozen=True, slots=True)
class Scores:
    """The tag of a product of queries and keys: which of its dims comes from which.

    The two dims have the same name. The tag also has the words in the code for the queries and the
    keys, and the place of the product.
    """

    queries: Axis
    keys: Axis
    called_queries: str
    called_keys: str
    place: Place


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The tag of a product of keys and queries whose rows are the keys, its last dim the queries.

    `normalised` says that a softmax was taken over the last dim.
    """

    called_keys: str
    called_queries: str
    place: Place
    normalised: bool = False


class _Part(NamedTuple):
    """A tensor operand: its dims, and its tag."""

    dims: Dims
    tag: Role | Scores | None


class Lint(Listener):
    """Tracks which tensors are queries, which are keys, and which are their products.

    The tags belong to references, not to tensors: in ``attend(x, x, x)`` the same tensor is the
    query and the key. Nothing is reported where a word means both roles, or none. Source:
    docs/semantics.md, "Findings and lints".
    """

    def __init__(self) -> None:
        self._doubts: Doubts[tuple[Place, str]] = Doubts()

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """Check the operands that are broadcast to scores, and tag the result with its role."""
        is_product = applied.flow == "contracts"
        if not is_product and not any(operand.value.tags for operand in applied.operands):
            return result
        parts = [_Part(each.dims, _tag(each.value)) for each in applied.operands]
        exchanged = self._follow_exchange(applied)
        if not isinstance(result, TensorValue) or (
            exchanged is None and not any(part.tag for part in parts)
        ):
            return result
        if is_product:
            dims = joins.held(result, applied.store).tensor.dims
            tag: Role | Scores | None = _product(applied, parts, dims)
        else:
            tag = _tag_of_result(applied, parts)
        if applied.flow in _BROADCASTING:
            self._check_scores(applied, parts)
        tags = with_tag(with_tag(result.tags, CODE, tag), _EXCHANGED, exchanged)
        return replace(result, tags=tags)

    def on_name(self, value: Value, word: str, node: Node, source: Source) -> Value:
        """Tag a tensor that is read by a query or key word."""
        roles = roles_of(word)
        if not roles:
            return value
        if isinstance(value, Union):
            return Union(
                tuple(
                    replace(choice, value=self.on_name(choice.value, word, node, source))
                    for choice in value.alternatives
                )
            )
        if not isinstance(value, TensorValue):
            return value
        tag = _tag(value)
        if isinstance(tag, Scores) or _exchanged_in(value) is not None:
            return value
        if tag is None:
            message = f"'{word}' belongs to the {' and '.join(sorted(roles))}"
            role = Role(roles, word, place_of(source, node, message))
        else:
            role = replace(tag, roles=tag.roles | roles)
        return replace(value, tags=with_tag(value.tags, CODE, role))

    def findings(self, source: Source) -> Iterable[Finding]:
        """The vectors along the wrong dim; a vector along both dims is deliberate."""
        return self._doubts.findings()

    def _check_scores(self, applied: Applied, parts: Sequence[_Part]) -> None:
        """Check each vector with one role that the operator broadcasts to scores."""
        for square, scores in parts:
            for vector, role in parts:
                if isinstance(scores, Scores) and isinstance(role, Role):
                    self._check_vector(applied, scores, square, role, vector)

    def _check_vector(
        self, applied: Applied, scores: Scores, square: Dims, role: Role, vector: Dims
    ) -> None:
        of_keys = role.roles == {"keys"}
        mine, other = (scores.keys, scores.queries) if of_keys else (scores.queries, scores.keys)
        laid = _laid(mine, other, square, vector)
        key = scores.place, role.called
        if laid == mine:
            self._doubts.excuse(key)
        if laid != other or applied.silent:
            return
        called = scores.called_queries, scores.called_keys
        its, wrong = called[of_keys], called[not of_keys]
        own, against = ("keys", "queries") if of_keys else ("queries", "keys")
        offset = square.names[::-1].index(mine) + 1
        finding = applied.finding(
            CODE,
            f"'{role.called}' belongs to the {own}, but is aligned with the {against}: of the "
            f"two dims {show_name(mine)} of {square.show()} it is at the one from '{wrong}'.",
            f"Align it with dim -{offset}, which comes from '{its}'.",
            (role.place, scores.place),
        )
        self._doubts.add(key, finding)

    def _follow_exchange(self, applied: Applied) -> Exchanged | None:
        """Check a product of weights with values: it sums the dim of the keys."""
        known = [
            (each.position, tag)
            for each in applied.operands
            if (tag := _exchanged_in(each.value)) is not None
        ]
        if applied.flow != "contracts":
            return _kept(applied, known[0][1]) if len(known) == 1 else None
        words = _words(applied.node)
        if len(known) != 1 or len(words) != 2 or applied.silent:
            return _exchanged(applied, words) if len(words) == 2 else None
        position, scores = known[0]
        called = words[1 - position] if position < 2 else ""
        if called in _VALUES and scores.normalised and _sums_last(applied, position):
            finding = applied.finding(
                CODE,
                f"'{called}' belongs to the keys, but is summed along the queries: the rows of "
                f"the scores come from '{scores.called_keys}', their last dim from "
                f"'{scores.called_queries}'.",
                f"Exchange '{scores.called_keys}' and '{scores.called_queries}' in the scores.",
                (scores.place,),
            )
            self._doubts.add((scores.place, called), finding)
        return None


@cache
def roles_of(called: str) -> frozenset[str]:
    """The roles that an identifier mentions: the keys in ``key_pad``, none in ``qk_scale``."""
    words = called.lower().split("_")
    before = ["", *words]
    roles = (
        _ROLES.get(each) for each, last in zip(words, before, strict=False) if last != _NUMBERED
    )
    return frozenset(role for role in roles if role is not None)


def _tag(reference: TensorValue) -> Role | Scores | None:
    tag = tag_of(reference.tags, CODE)
    return tag if isinstance(tag, (Role, Scores)) else None


def _exchanged_in(reference: TensorValue) -> Exchanged | None:
    tag = tag_of(reference.tags, _EXCHANGED)
    return tag if isinstance(tag, Exchanged) else None


def _tag_of_result(applied: Applied, parts: Sequence[_Part]) -> Role | Scores | None:
    """The tag of the result of an operator that is no contraction."""
    scores = [part.tag for part in parts if isinstance(part.tag, Scores)]
    if scores:
        alone = len(parts) == 1 or (len(scores) == 1 and applied.flow in _BROADCASTING)
        return scores[0] if alone else None
    tags = [part.tag for part in parts if part.dims.rank != 0]
    return tags[0] if len(tags) == 1 else None


def _product(applied: Applied, parts: Sequence[_Part], dims: Dims) -> Scores | None:
    """The scores in the product of queries and keys, if it is square by name."""
    roles = [tag for _, tag in parts if isinstance(tag, Role) and len(tag.roles) == 1]
    if len(parts) != 2 or len(roles) != 2 or roles[0].roles == roles[1].roles:
        return None
    axes = _square(applied, dims)
    if axes is None:
        return None
    called = {name: role.called for role in roles for name in role.roles}
    axis_of = {name: axis for role, axis in zip(roles, axes, strict=True) for name in role.roles}
    words = " and ".join(f"'{role.called}'" for role in roles)
    place = applied.place(f"the dims {show_name(axes[0])} come from {words}, in turn")
    return Scores(axis_of["queries"], axis_of["keys"], called["queries"], called["keys"], place)


def _exchanged(applied: Applied, words: Sequence[str]) -> Exchanged | None:
    """The tag of a product whose rows come from the keys, and whose last dim from the queries."""
    rows, columns = words
    if roles_of(rows) | roles_of(columns) != {"queries", "keys"}:
        return None
    if applied.operator in SUBSCRIPTS:
        spelt = subscripts.of(applied)
        if spelt is None or len(spelt.operands) != 2 or len(spelt.result) < 2:
            return None
        one, other = (frozenset(term) for term in spelt.operands)
        row, column = spelt.result[-2:]
        if row in other - one and column in one - other:
            rows, columns = columns, rows
        elif row not in one - other or column not in other - one:
            return None
    elif applied.operator not in following.PRODUCTS:
        return None
    if roles_of(rows) != {"keys"}:
        return None
    place = applied.place(f"the rows come from '{rows}', the last dim from '{columns}'")
    return Exchanged(rows, columns, place)


def _words(node: Node) -> list[str]:
    """The words of the variables that a product is made of: ``q @ k.mT``, ``einsum(…, q, k)``."""
    if isinstance(node, ast.BinOp):
        return [_word_of(node.left), _word_of(node.right)]
    if not isinstance(node, ast.Call):
        return []
    every = [each for each in node.args if not isinstance(each, ast.Constant)]
    words = [_word_of(each) for each in every]
    if len(words) == 1 and isinstance(node.func, ast.Attribute):
        return [_word_of(node.func.value), *words]
    return words


def _word_of(expression: ast.expr) -> str:
    """The word of a variable, or of one of which the dims are permuted."""
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        return _word_of(expression.func.value)
    if isinstance(expression, ast.Attribute):
        of_tensor = expression.attr in ("T", "mT")
        return _word_of(expression.value) if of_tensor else expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _kept(applied: Applied, exchanged: Exchanged) -> Exchanged | None:
    """The tag of scores after an operator; None where their last dim may be another one."""
    if applied.flow == "normalises":
        argument = following.dim_argument(applied)
        rank = applied.operands[0].dims.rank
        is_last = argument == -1 or (rank is not None and argument == rank - 1)
        return replace(exchanged, normalised=True) if is_last else None
    keeps = applied.flow in _KEEPING and applied.operator not in _WIDENING
    return exchanged if keeps else None


def _sums_last(applied: Applied, position: int) -> bool:
    """Whether a product sums the last dim of one of its two operands."""
    if applied.operator not in SUBSCRIPTS:
        return applied.operator in following.PRODUCTS and position == 0
    spelt = subscripts.of(applied)
    if spelt is None or len(spelt.operands) != 2:
        return False
    last = spelt.operands[position][-1:]
    return bool(last) and last[0] in spelt.operands[1 - position] and last[0] not in spelt.result


def _square(applied: Applied, dims: Dims) -> tuple[Axis, Axis] | None:
    """The two dims with one name that a product takes from its first and its second operand.

    None where it is uncertain that they are the two, or that no other dim has the name.
    """
    if not dims.complete or len(dims.prefix) < 2:
        return None
    pairs = [(dims[-2].name, dims[-1].name)]
    if applied.operator in SUBSCRIPTS:
        pairs = _from_each(applied, dims)
    for rows, columns in pairs:
        if isinstance(rows, Axis) and isinstance(columns, Axis) and rows.name == columns.name:
            apart = 0 < rows.occurrence != columns.occurrence > 0
            twice = sum(word(name) == rows.name for name in dims.names) == 2
            return (rows, columns) if apart and twice else None
    return None


def _from_each(applied: Applied, dims: Dims) -> list[tuple[Name, Name]]:
    """The dims of an explicit contraction that only one of the two operands has."""
    spelt = subscripts.of(applied)
    if spelt is None or len(spelt.operands) != 2:
        return []
    first, second = spelt.operands
    rows, columns = (
        [
            dim.name
            for letter, dim in subscripts.dims_of(spelt.result, dims)
            if letter in of_one and letter not in of_other
        ]
        for of_one, of_other in ((first, second), (second, first))
    )
    return list(itertools.product(rows, columns))


def _laid(mine: Axis, opposite: Axis, square: Dims, vector: Dims) -> Axis | None:
    """The one of the two dims of the scores that a vector is aligned with, if it is just one."""
    if not vector.complete or not square.complete:
        return None
    if sum(word(name) == mine.name for name in vector.names) != 1:
        return None
    for offset, dim in enumerate(reversed(square.prefix), start=1):
        its = vector.from_right(offset)
        if its is None or its.name != Axis(mine.name) or its.size == 1:
            continue
        against = next((axis for axis in (mine, opposite) if axis == dim.name), None)
        free = opposite if against == mine else mine
        offsets = [n for n, name in enumerate(reversed(square.names), start=1) if name == free]
        broadcast = [vector.from_right(n) for n in offsets]
        alone = all(dim is None or dim.size == 1 for dim in broadcast) and len(broadcast) == 1
        return against if alone else None
    return None
