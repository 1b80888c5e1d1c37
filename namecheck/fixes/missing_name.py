"""Names the only unnamed dim of a tensor before it is aligned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.findings import Finding
from namecheck.editing.sites import Site, quoted
from namecheck.fixes.shared.declaration import Example, Proposal, Safety, fix


@fix(
    "NC109",
    safety=Safety.NEVER,
    examples=(
        Example(
            """
            import torch

            x = torch.rand(2, 3, names=("N", None))
            print(x.align_to("C", "N").names)
            """,
            """
            import torch

            x = torch.rand(2, 3, names=("N", None))
            print(x.refine_names("N", "C").align_to("C", "N").names)
            """,
        ),
    ),
)
def name_before_aligning(finding: Finding, site: Site) -> Iterator[Proposal]:
    """Names the only unnamed dim after the only requested name that the tensor lacks."""
    call, facts = site.expression(finding.span), finding.facts
    if facts is None or not facts.operands or not isinstance(call, ast.Call):
        return
    receiver, *others = facts.operands
    node, names = site.expression(receiver.span), receiver.names
    if node is None or names is None or list(names).count(None) != 1:
        return
    other_names = {name for operand in others for name in operand.names or ()}
    other_names |= {str(string.value) for string in site.strings(call)}
    missing = {name for name in other_names if name is not None} - set(names)
    if len(missing) == 1:
        [missing_name] = missing
        words = ", ".join(quoted(name or missing_name, site.quote(node)) for name in names)
        refining = f".refine_names({words})"
        text = site.line(node)
        yield Proposal(f"Name all dims of `{text}`: `{refining}`.", site.behind(node, refining))
