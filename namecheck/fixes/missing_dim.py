"""Adds the dim that a tensor lacks to be concatenated with others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix
from namecheck.fixes.shared.operands import appended, joined_operands


@fix(
    "NC207",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def with_total(
                rows: Annotated[Tensor, "rows columns"], total: Annotated[Tensor, "columns"]
            ) -> Tensor:
                return torch.cat([rows, total])


            def with_sums(
                rows: Annotated[Tensor, "rows columns"], sums: Annotated[Tensor, "rows"]
            ) -> Tensor:
                return torch.cat((rows, sums), dim=1)
            """,
            """
            from typing import Annotated

            import torch
            from torch import Tensor


            def with_total(
                rows: Annotated[Tensor, "rows columns"], total: Annotated[Tensor, "columns"]
            ) -> Tensor:
                return torch.cat([rows, total[None]])


            def with_sums(
                rows: Annotated[Tensor, "rows columns"], sums: Annotated[Tensor, "rows"]
            ) -> Tensor:
                return torch.cat((rows, sums[:, None]), dim=1)
            """,
        ),
    ),
)
def add_missing_dim(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Adds the dim that a tensor lacks to be concatenated with others: `[None]`."""
    for own, model in permutations(joined_operands(finding, site), 2):
        node = site.expression(own.span)
        if node is None or own.names is None or model.names is None:
            continue
        if len(own.names) + 1 == len(model.names):
            for place in range(len(model.names)):
                if own.names == (*model.names[:place], *model.names[place + 1 :]):
                    index = f"[{', '.join([*[':'] * place, 'None'])}]"
                    edits = site.behind(node, index)
                    what = f"Give `{site.text(node)}` the dim it lacks"
                    yield appended(what, edits, index, certain=False)
