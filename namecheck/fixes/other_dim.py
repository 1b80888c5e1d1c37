"""Replaces the dim that an operator takes by its index."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.calls import called_name
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix

_OF_SOFTMAX: Final = "NC601"
_JOINS: Final = ("cat", "stack")
_RANK: Final = 5


@fix(
    "NC101",
    "NC112",
    "NC601",
    safety=Safety.NEVER,
    precedence=70,
    searches=True,
    examples=(
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def pool(x: Annotated[Tensor, "batch seq dim"]) -> Annotated[Tensor, "batch dim"]:
                return x.mean(dim=2)
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def pool(x: Annotated[Tensor, "batch seq dim"]) -> Annotated[Tensor, "batch dim"]:
                return x.mean(dim=1)
            """,
            code="NC112",
        ),
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def extend(
                cache: Annotated[Tensor, "batch past dim"], new: Annotated[Tensor, "batch now dim"]
            ) -> Tensor:
                return torch.cat([cache, new], dim=-1)
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def extend(
                cache: Annotated[Tensor, "batch past dim"], new: Annotated[Tensor, "batch now dim"]
            ) -> Tensor:
                return torch.cat([cache, new], dim=-2)
            """,
            code="NC101",
        ),
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def attend(
                scores: Annotated[Tensor, "batch query key"],
                values: Annotated[Tensor, "batch key dim"],
            ) -> Annotated[Tensor, "batch query dim"]:
                weights = torch.softmax(scores, 1)
                return weights @ values
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def attend(
                scores: Annotated[Tensor, "batch query key"],
                values: Annotated[Tensor, "batch key dim"],
            ) -> Annotated[Tensor, "batch query dim"]:
                weights = torch.softmax(scores, 2)
                return weights @ values
            """,
            code="NC601",
        ),
    ),
)
def take_another_dim(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Takes another dim: the only one that gives the declared result, or lets the tensors fit."""
    for call in _calls(finding, site):
        index = _dim(call, site)
        number = None if index is None else _number(index)
        if index is None or number is None:
            continue
        candidates = range(-_RANK, 0) if number < 0 else range(_RANK)
        for candidate in candidates:
            if candidate != number:
                text = site.line(call)
                edit = site.replaced(index, str(candidate))
                yield Proposal(f"Take dim {candidate} in `{text}`.", (edit,))


def _calls(finding: Finding, site: Site) -> Iterator[ast.Call]:
    """The calls whose dim may be the wrong one: the call of the finding, or the softmax before it.

    Where the weights are summed over an explicit dim, either dim may be the wrong one.
    """
    facts = finding.facts
    if finding.code == _OF_SOFTMAX:
        summing = site.expression(finding.span)
        if isinstance(summing, ast.Call) and _dim(summing, site) is not None:
            return
        for place in finding.related:
            node = site.expression(place.span)
            if place.filename == finding.filename and isinstance(node, ast.Call):
                yield node
        return
    row = site.row(facts.operator) if facts and facts.operator else None
    if row is None or row.names in _JOINS:
        node = site.value(site.expression(finding.span))
        if isinstance(node, ast.Call):
            yield node


def _dim(call_node: ast.Call, site: Site) -> ast.expr | None:
    """The dim argument of a call to an operator."""
    row = site.row(called_name(call_node))
    if row is None or any(isinstance(argument, ast.Starred) for argument in call_node.args):
        return None
    for keyword in call_node.keywords:
        if keyword.arg == "dim":
            return keyword.value
    for signature in row.signatures:
        names = [parameter.name for parameter in signature]
        if "dim" in names:
            place = names.index("dim") - (not _is_function(call_node))
            return call_node.args[place] if 0 <= place < len(call_node.args) else None
    return None


def _is_function(call_node: ast.Call) -> bool:
    """Whether the tensors are all among the arguments: `torch.sum(x)`, not `x.sum()`."""
    function = call_node.func
    if isinstance(function, ast.Attribute):
        return ast.unparse(function.value) in ("torch", "F", "torch.nn.functional", "nn.functional")
    return True


def _number(expression: ast.expr) -> int | None:
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        inner = _number(expression.operand)
        return None if inner is None else -inner
    value = expression.value if isinstance(expression, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
