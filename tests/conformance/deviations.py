"""The deliberate differences between namecheck's own semantics and native torch.

One entry is one reason. It describes the calls that it covers: their operators (patterns, matched
against the recorded name without ``torch.``), and two regular expressions that native's result and
ours, each on one line, must match. It names a recorded call or a fixture that shows it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from tests.conformance.verdicts import Judgement


class DeviationsError(Exception):
    """An invalid file of deviations; the message has file, entry and reason."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One reason for a difference; `shown_by` is the id of a recorded call, or a fixture."""

    name: str
    operators: tuple[str, ...]
    shown_by: str
    native: str
    ours: str
    why: str
    native_answer: re.Pattern[str]
    our_answer: re.Pattern[str]

    def covers(self, judgement: Judgement) -> bool:
        """Whether this reason explains the difference."""
        operator = judgement.case.op.removeprefix("torch.")
        return (
            any(fnmatchcase(operator, pattern) for pattern in self.operators)
            and self.native_answer.search(judgement.expected_text) is not None
            and self.our_answer.search(judgement.got_text) is not None
        )


_TEXTS: Final = ("shown_by", "native", "ours", "why")
_FIELDS: Final = frozenset({"operators", "native_answer", "our_answer", *_TEXTS})


def load(path: Path) -> tuple[Deviation, ...]:
    """The entries of a file, in order; raises `DeviationsError`."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DeviationsError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise DeviationsError(f"{path}: {error}") from error
    return tuple(_entry(path, name, fields) for name, fields in data.items())


def _entry(path: Path, name: str, fields: Any) -> Deviation:
    where = f"{path}: [{name}]"
    if not isinstance(fields, dict):
        raise DeviationsError(f"{where} is no table")
    for unknown in fields.keys() - _FIELDS:
        raise DeviationsError(f"{where}: unknown field '{unknown}'; the fields are {_listed()}")
    for text in _TEXTS:
        if not isinstance(fields.get(text), str) or not fields[text].strip():
            raise DeviationsError(f"{where}: the field '{text}' is missing or empty")
    return Deviation(
        name,
        _operators(where, fields),
        fields["shown_by"],
        fields["native"],
        fields["ours"],
        fields["why"],
        _pattern(where, "native_answer", fields),
        _pattern(where, "our_answer", fields),
    )


def _listed() -> str:
    return ", ".join(sorted(_FIELDS))


def _operators(where: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    operators = fields.get("operators")
    if not isinstance(operators, list) or not operators:
        raise DeviationsError(f"{where}: 'operators' is a list of names or patterns")
    return tuple(map(str, operators))


def _pattern(where: str, key: str, fields: Mapping[str, Any]) -> re.Pattern[str]:
    try:
        return re.compile(fields.get(key, ""))
    except (re.error, TypeError) as error:
        raise DeviationsError(f"{where}: '{key}' is no regular expression: {error}") from error


def explain(deviations: Sequence[Deviation], judgement: Judgement) -> Deviation | None:
    """The first entry that covers a difference."""
    return next((entry for entry in deviations if entry.covers(judgement)), None)
