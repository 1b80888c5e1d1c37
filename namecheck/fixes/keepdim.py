"""Keeps the dim of a reduction, so that its result can be broadcast against its input."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Final

from namecheck.core.findings import Edit, Finding, OperandFacts, is_of_sizes
from namecheck.editing.sites import Site
from namecheck.fixes.shared.calls import called_name
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix

_OF_SQUARES: Final = "NC602"
_KEEPDIM: Final = "keepdim"
_HOPS: Final = 3


@fix(
    "NC101",
    "NC102",
    "NC201",
    "NC602",
    safety=Safety.SETTLED,
    precedence=30,
    examples=(
        Example(
            """
            import torch

            scores = torch.rand(4, 5, names=("query", "key"))
            print((scores / scores.exp().sum("key")).names)
            """,
            """
            import torch

            scores = torch.rand(4, 5, names=("query", "key"))
            print((scores / scores.exp().sum("key", keepdim=True)).names)
            """,
            code="NC101",
            safe=True,
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def center(x: Annotated[Tensor, "batch seq dim"]) -> Annotated[Tensor, "batch seq dim"]:
                mean = x.mean(-1)  # over the features
                return x - mean
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def center(x: Annotated[Tensor, "batch seq dim"]) -> Annotated[Tensor, "batch seq dim"]:
                mean = x.mean(-1, keepdim=True)  # over the features
                return x - mean
            """,
            code="NC101",
        ),
        Example(
            """
            import torch


            def spread(x):
                x = x.refine_names(None, None)
                mean = x.mean(1)
                return x - mean


            print(spread(torch.rand(2, 3)).shape, torch.rand(1, names=("N",)).names)
            """,
            """
            import torch


            def spread(x):
                x = x.refine_names(None, None)
                mean = x.mean(1, keepdim=True)
                return x - mean


            print(spread(torch.rand(2, 3)).shape, torch.rand(1, names=("N",)).names)
            """,
            code="NC201",
        ),
        Example(
            """
            from typing import Annotated

            from torch import Tensor


            def step(counts: Annotated[Tensor, "state state"]) -> Annotated[Tensor, "state state"]:
                return counts / counts.sum(1, keepdim=False)
            """,
            """
            from typing import Annotated

            from torch import Tensor


            def step(counts: Annotated[Tensor, "state state"]) -> Annotated[Tensor, "state state"]:
                return counts / counts.sum(1, keepdim=True)
            """,
            code="NC602",
        ),
    ),
)
def keep_dim(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Keeps the dim if a reduction produces an operand that lacks it: `keepdim=True`."""
    operands = finding.facts.operands if finding.facts else ()
    by_names = not is_of_sizes(finding.code) and all(operand.labelled for operand in operands)
    squares = finding.code == _OF_SQUARES
    reductions = dict.fromkeys(_related(finding, site) if squares else _of_operands(operands, site))
    for call in reductions:
        edit = _kept(call, site)
        if edit is not None:
            message = f"Keep the dim that `{called_name(call)}` reduces."
            yield Proposal(message, (edit,), by_names)


def _of_operands(reduced: Sequence[OperandFacts], site: Site) -> Iterator[ast.Call]:
    for own, model in permutations(reduced, 2):
        node = site.expression(own.span)
        if node is not None and _lacks_dims(own, model):
            reductions = list(_reductions(node, site, _HOPS))
            if len(reductions) == 1:
                yield reductions[0]


def _lacks_dims(own: OperandFacts, model: OperandFacts) -> bool:
    """Whether an operand has some of the names of another, and fewer dims."""
    if own.names is None or model.names is None or len(own.names) >= len(model.names):
        return False
    return set(own.names) <= set(model.names)


def _related(finding: Finding, site: Site) -> Iterator[ast.Call]:
    """The reduction that a lint points to."""
    for place in finding.related:
        node = site.expression(place.span)
        if place.filename == finding.filename and isinstance(node, ast.Call):
            yield from [node] if _reduces(node, site) else ()


def _reductions(expression: ast.expr, site: Site, hops: int) -> Iterator[ast.Call]:
    """The reductions in an expression, and in the values of variables that are used only in it."""
    for inner in ast.walk(expression):
        if isinstance(inner, ast.Call) and _reduces(inner, site):
            yield inner
        elif isinstance(inner, ast.Name) and hops:
            value = site.assigned(inner)
            if value is not None:
                yield from _reductions(value, site, hops - 1)


def _reduces(call_node: ast.Call, site: Site) -> bool:
    """Whether a call reduces dims, by its name and its arguments."""
    row = site.row(called_name(call_node))
    keeps = row is not None and any(_KEEPDIM in line for line in row.params)
    starred = any(isinstance(argument, ast.Starred) for argument in call_node.args)
    spread = any(keyword.arg is None for keyword in call_node.keywords)
    return keeps and bool(call_node.args or call_node.keywords) and not starred and not spread


def _kept(call_node: ast.Call, site: Site) -> Edit | None:
    for keyword in call_node.keywords:
        if keyword.arg in (_KEEPDIM, "keepdims"):
            if isinstance(keyword.value, ast.Constant) and keyword.value.value is False:
                return site.replaced(keyword.value, "True")
            return None
    return site.argument(call_node, f"{_KEEPDIM}=True")[0]
