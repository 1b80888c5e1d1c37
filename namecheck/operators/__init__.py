"""The results of torch calls: `infer` is the only door to the rules and the table of operators.

The names here are imported on first access, so that a part of the table can be read without all
rules (the mypy plugin reads lines of rows at every start).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from namecheck.core.faults import TableError
    from namecheck.operators.inference import (
        Inference,
        infer,
        is_in_place,
        key_of,
        parameters,
        row_of,
    )
    from namecheck.operators.row import Operator
    from namecheck.operators.tables import (
        check_shipped,
        extended,
        python_operators,
        read,
        table,
    )
else:
    from importlib import import_module

    def __getattr__(name):
        """A public name, from the module that defines it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value


__all__ = [
    "Inference",
    "Operator",
    "TableError",
    "check_shipped",
    "extended",
    "infer",
    "is_in_place",
    "key_of",
    "parameters",
    "python_operators",
    "read",
    "row_of",
    "table",
]

_HOMES: Final = {
    "TableError": "namecheck.core.faults",
    "Operator": "namecheck.operators.row",
    **dict.fromkeys(
        ["Inference", "infer", "is_in_place", "key_of", "parameters", "row_of"],
        "namecheck.operators.inference",
    ),
    **dict.fromkeys(
        ["check_shipped", "extended", "python_operators", "read", "table"],
        "namecheck.operators.tables",
    ),
}
