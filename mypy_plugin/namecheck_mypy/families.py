"""The error codes of mypy for findings: one for each family of namecheck's codes."""

from __future__ import annotations

from typing import Final

from mypy.errorcodes import ErrorCode

_CATEGORY: Final = "Dimension names"


def _code(name: str, description: str) -> ErrorCode:
    return ErrorCode(name, description, _CATEGORY)


FAMILIES: Final = {
    "NC0": _code("named-check", "Files that namecheck cannot check, and its comments"),
    "NC1": _code("named-dim", "Dimension names that contradict each other"),
    "NC2": _code("named-size", "Sizes and ranks that contradict each other"),
    "NC3": _code("named-dtype", "Element types that contradict each other"),
    "NC4": _code("named-device", "Devices that contradict each other"),
    "NC5": _code("named-layout", "Layouts and memory formats that contradict each other"),
    "NC6": _code("named-lint", "Patterns that are probably mistakes with dimensions"),
}
"""The error code of mypy for each prefix of namecheck's codes."""


def family_of(code: str) -> ErrorCode:
    """The error code for a code of namecheck, such as ``NC101``."""
    return FAMILIES.get(code[:3], FAMILIES["NC0"])
