"""A contradiction at run time becomes a finding: raised, told, recorded or passed over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from namecheck.core.findings import Finding, Place, Span, is_of_sizes
from namecheck.core.names import Contradiction, show
from namecheck.core.semantics import Semantics
from namecheck.runtime.core import call_sites, modes, tensor_names
from namecheck.runtime.core.errors import Contradicted, error_of
from namecheck.runtime.core.modes import Mode
from namecheck.runtime.core.patch_table import TABLE

# Of what is about sizes torch cannot know these, as its tensors have no names.
_ABOUT_NAMES: Final = frozenset({"NC205"})


def is_ours(contradiction: Contradiction, semantics: Semantics, *, names_dims: bool) -> bool:
    """Whether torch would not see a contradiction by itself.

    Of other arguments than names it may know more than the table.
    """
    if contradiction.code == "NC114" and semantics is Semantics.NAMECHECK:
        return names_dims
    if contradiction.code in _ABOUT_NAMES:
        return True
    # Sizes are torch's own business: it refuses them itself, in the same words.
    return not is_of_sizes(contradiction.code)


def stands(contradiction: Contradiction, semantics: Semantics) -> bool:
    """Whether a contradiction of sizes holds though torch took the call: torch 2.12 did not."""
    return semantics is Semantics.NATIVE or bool(contradiction.names)


def judge(contradiction: Contradiction, values: Sequence[Any]) -> None:
    """Do what the mode in force says; raises a `Contradicted` in the mode ``error``."""
    if call_sites.inside_torch():
        return
    if in_force(TABLE.default) == "off":
        call_sites.pass_over()
    else:
        deliver(finding_of(contradiction, values), TABLE.default)


def in_force(default: Mode) -> Mode:
    """The mode of this context; `default` is that of no block."""
    if modes.switched_off():
        return "off"
    entry = modes.innermost()
    return default if entry is None else entry.mode


def deliver(finding: Finding, default: Mode) -> None:
    """Raise, tell or record a finding, as the mode in force says."""
    mode = in_force(default)
    if mode == "off":
        return
    if mode == "error":
        raise error_of(finding)
    call_sites.pass_over()
    entry = modes.innermost()
    record = entry.record if entry is not None else TABLE.record
    if record is not TABLE.record:
        TABLE.record.overhear(finding)
    if record.add(finding) and mode == "warn":
        modes.warn(finding)


def error_for(contradiction: Contradiction, values: Sequence[Any]) -> Contradicted:
    """The exception for a call that cannot be made at all, in whatever mode."""
    return error_of(finding_of(contradiction, values))


def finding_of(contradiction: Contradiction, values: Sequence[Any]) -> Finding:
    """The finding, at the user's expression that is running, with the operands' names."""
    expression = call_sites.users()
    filename, span = "<unknown>", Span(1, 1, 1, 1)
    if expression is not None:
        filename, span = expression.filename, call_sites.span_of(expression)
    tensors = [value for value in _flat(values) if isinstance(value, torch.Tensor)]
    marks = tuple(Place(filename, span, told) for told in map(_told, tensors))
    return Finding(
        contradiction.code,
        contradiction.message,
        filename,
        span,
        contradiction.help,
        marks,
        error=contradiction.error,
    )


def _told(tensor: torch.Tensor) -> str:
    names = show(tensor_names.lift(tensor_names.names_of(tensor) or tensor_names.shown(tensor)))
    return f"{names} of sizes {list(tensor.shape)}"


def _flat(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += _flat(value)
        else:
            found.append(value)
    return found
