"""Calls in the source: the name of the callee, and views that have a copying counterpart."""

from __future__ import annotations

import ast
from typing import Final

COPYING: Final = {"view": "reshape", "view_as": "reshape_as"}
"""Methods that must return a view, each with the method that copies if necessary."""


def called_name(call_node: ast.Call) -> str:
    """The last word of the callee: ``sum`` for ``x.sum()`` and ``torch.sum(x)``."""
    function = call_node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
