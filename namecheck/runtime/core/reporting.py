"""Reports a contradiction at run time as a finding: raised, printed, recorded or ignored."""

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

# Codes of size contradictions that torch cannot report, as its tensors have no names.
_ABOUT_NAMES: Final = frozenset({"NC205"})


def is_reported(contradiction: Contradiction, semantics: Semantics, *, names_dims: bool) -> bool:
    """Whether namecheck reports a contradiction; False where torch itself raises an error.

    `names_dims` is True for a call with names among its arguments. Of other arguments torch may
    accept more than the table.
    """
    if contradiction.code == "NC114" and semantics is Semantics.NAMECHECK:
        return names_dims
    if contradiction.code in _ABOUT_NAMES:
        return True
    # torch checks sizes itself, with the same messages.
    return not is_of_sizes(contradiction.code)


def holds_after_success(contradiction: Contradiction, semantics: Semantics) -> bool:
    """Whether to report a size contradiction though torch accepted the call: torch 2.12 did not."""
    return semantics is Semantics.NATIVE or bool(contradiction.names)


def is_ignored() -> bool:
    """Whether a contradiction of the running call is left alone, as torch makes it for itself.

    torch 2.12 refuses names inside its own code, too.
    """
    if TABLE.semantics is not Semantics.NATIVE:
        return call_sites.inside_torch()
    is_inside = call_sites.inside_torch() or call_sites.in_handler()
    return is_inside and call_sites.is_ruled_outside()


def report(contradiction: Contradiction, values: Sequence[Any]) -> None:
    """Report a contradiction as the mode says; raises a `Contradicted` in the mode ``error``."""
    if is_ignored():
        return
    if current_mode(TABLE.default) == "off":
        call_sites.note_ignored()
    else:
        handle(finding_of(contradiction, values), TABLE.default)


def current_mode(process_mode: Mode) -> Mode:
    """The mode of this context; outside of every block it is `process_mode`."""
    if modes.switched_off():
        return "off"
    entry = modes.innermost()
    return process_mode if entry is None else entry.mode


def handle(finding: Finding, process_mode: Mode) -> None:
    """Raise, print or record a finding, as the mode of this context says."""
    mode = current_mode(process_mode)
    if mode == "off":
        return
    if mode == "error":
        raise error_of(finding)
    call_sites.note_ignored()
    entry = modes.innermost()
    record = entry.record if entry is not None else TABLE.record
    if record is not TABLE.record:
        TABLE.record.observe(finding)
    if record.add(finding) and mode == "warn":
        modes.warn(finding)


def error_for(contradiction: Contradiction, values: Sequence[Any]) -> Contradicted:
    """The exception for a call that is impossible in every mode."""
    return error_of(finding_of(contradiction, values))


def finding_of(contradiction: Contradiction, values: Sequence[Any]) -> Finding:
    """The finding at the running expression of the user, with the operands' names and sizes."""
    expression = call_sites.user_expression()
    filename, span = "<unknown>", Span(1, 1, 1, 1)
    if expression is not None:
        filename, span = expression.filename, call_sites.span_of(expression)
    tensors = [value for value in _flat(values) if isinstance(value, torch.Tensor)]
    marks = tuple(Place(filename, span, text) for text in map(_names_and_sizes, tensors))
    return Finding(
        contradiction.code,
        contradiction.message,
        filename,
        span,
        contradiction.help,
        marks,
        error=contradiction.error,
    )


def _names_and_sizes(tensor: torch.Tensor) -> str:
    names = tensor_names.names_of(tensor) or tensor_names.visible_names(tensor)
    return f"{show(tensor_names.lift(names))} of sizes {list(tensor.shape)}"


def _flat(values: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            flat += _flat(value)
        else:
            flat.append(value)
    return flat
