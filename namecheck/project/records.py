"""Outcomes and fixes as JSON text, validated, as another program may have written the cache.

Parsing a text checks the type of every value, that each code is registered, and that each place is
within a file that the entry depends on. It raises one of `INVALID` for any other text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from namecheck.core import syntax
from namecheck.core.findings import Edit, Facts, Finding, Fix, OperandFacts, Place, Span, register
from namecheck.core.syntax import Suppression
from namecheck.project.contents import digest
from namecheck.project.files import Query
from namecheck.project.paths import relative, resolved
from namecheck.project.suppression import Comments
from namecheck.project.tasks import Outcome

Fixes: TypeAlias = Mapping[str, Fix | int | None]
"""The fixes of findings, by the digests of these; None where there is none.

A number instead says that the search was given up after so many bytes were checked.
"""

Resolution: TypeAlias = tuple[Query, str | None]
"""A lookup of a module with its result."""

Extents: TypeAlias = Callable[[str], Sequence[int]]
"""The lengths of the lines of a file in characters."""

INVALID: Final = (
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""Errors from parsing a text that another program may have written."""

UNPARSED: Final = '{"parsed":false}'
"""The outcome of a file that names no dimension, and was not parsed either."""

_UNPARSED_OUTCOME: Final = Outcome(parsed=False)
# A module is looked for in so many folders above its own at most.
_HIGHEST_LEVEL: Final = 100


def _text(data: object) -> str:
    return json.dumps(data, separators=(",", ":"))


def _string(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(value)
    return value


def _string_or_none(value: Any) -> str | None:
    return None if value is None else _string(value)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError(value)
    return value


def _integer(value: Any, highest: int) -> int:
    if type(value) is not int:
        raise TypeError(value)
    if not 0 <= value <= highest:
        raise ValueError(value)
    return value


# Files and modules


def locations_text(locations: Iterable[str], folder: str) -> str:
    """Locations as text, relative to a folder."""
    return _text([relative(folder, location) for location in locations])


def locations_of(text: str, folder: str) -> list[str]:
    """The locations in a text, from a folder."""
    return [resolved(folder, path) for path in json.loads(text)]


def lookups_text(module: str, folder: str, lookups: Iterable[Resolution]) -> str:
    """The name of a module and the results of lookups as text, from the folder of its file."""
    listed = sorted(
        (relative(folder, importer), level, name, result and relative(folder, result))
        for (importer, level, name), result in lookups
    )
    return _text([module, listed])


def lookups_of(text: str, folder: str) -> tuple[str, dict[Query, str | None]]:
    """The name of a module and the lookups in a text, with their results."""
    module, listed = json.loads(text)
    return module, {
        (resolved(folder, importer), _integer(level, _HIGHEST_LEVEL), _string(name)): (
            result and resolved(folder, result)
        )
        for importer, level, name, result in listed
    }


# Fixes


def fixes_text(trial_results: Fixes) -> str:
    """Fixes as text."""
    return _text(
        {key: _fix(fix) if isinstance(fix, Fix) else fix for key, fix in trial_results.items()}
    )


def fixes_of(text: str, location: str, extents: Extents) -> Fixes:
    """The fixes of the findings in a file out of a text."""
    reading = _Reading([location], extents)
    return {
        key: fix if fix is None or type(fix) is int else reading.fix(fix)
        for key, fix in json.loads(text).items()
    }


def digest_of(finding: Finding) -> str:
    """A digest of a finding with its facts, which a fix of it depends on; wherever its file is."""
    named = (finding.filename, *(place.filename for place in (*finding.marks, *finding.related)))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(named))}
    return digest(json.dumps(_finding(finding, numbers)).encode()).hex()


def _fix(fix: Fix) -> list[Any]:
    return [fix.message, fix.safe, [[_span(edit.span), edit.text] for edit in fix.edits]]


# Outcomes


def named_in(outcome: Outcome) -> set[str]:
    """The files that the findings of an outcome have places in."""
    return {
        filename
        for finding in outcome.findings
        for filename in (
            finding.filename,
            *(place.filename for place in (*finding.marks, *finding.related)),
        )
    }


def line_lengths(data: bytes | None) -> list[int]:
    """The lengths of the lines of a file in characters."""
    try:
        text = syntax.decode(data or b"", "")
    except syntax.Refused:
        text = (data or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    return [len(line) for line in text.split("\n")]


def outcome_text(outcome: Outcome, dependencies: Sequence[str]) -> str:
    """An outcome as text; `dependencies` are the files that it depends on."""
    numbers = {location: number for number, location in enumerate(dependencies)}
    comments = outcome.comments
    record: dict[str, Any] = {"parsed": outcome.parsed}
    if outcome.findings:
        record["findings"] = [_finding(finding, numbers) for finding in outcome.findings]
    if comments is not None:
        record["comments"] = [
            [[_span(c.span), c.line, c.words] for c in comments.suppressions],
            [[line, *ends] for line, ends in comments.statements.items()],
        ]
    return _text(record)


def _span(span: Span) -> list[int]:
    return [span.line, span.column, span.end_line, span.end_column]


def _finding(finding: Finding, file_numbers: Mapping[str, int]) -> list[Any]:
    return [
        finding.code,
        finding.message,
        file_numbers[finding.filename],
        _span(finding.span),
        finding.help,
        [
            [file_numbers[place.filename], _span(place.span), place.message]
            for place in finding.marks
        ],
        [
            [file_numbers[place.filename], _span(place.span), place.message]
            for place in finding.related
        ],
        finding.error,
        finding.by_axes,
        finding.facts and _facts(finding.facts),
        finding.plain,
        finding.assured,
    ]


def _facts(facts: Facts) -> list[Any]:
    operands = [
        [_span(one.span), one.names, one.labelled, one.dtype, one.device] for one in facts.operands
    ]
    return [facts.operator, facts.words, operands, facts.settled]


def outcome_of(text: str, location: str, dependencies: Sequence[str], extents: Extents) -> Outcome:
    """The outcome of a file out of a text; `dependencies` are the files that it depends on."""
    if text == UNPARSED:
        return _UNPARSED_OUTCOME
    record, reading = json.loads(text), _Reading(dependencies, extents)
    comments = reading.comments(location, *record["comments"]) if "comments" in record else None
    findings = tuple(map(reading.finding, record.get("findings", ())))
    return Outcome(findings, _flag(record["parsed"]), comments)


class _Reading:
    """Reads records with places: each must be in one of the files, and within its lines."""

    def __init__(self, dependencies: Sequence[str], extents: Extents) -> None:
        self._locations = dependencies
        self._extents = extents

    def _file(self, value: Any) -> str:
        return self._locations[_integer(value, len(self._locations) - 1)]

    def _span(self, record: list[Any], location: str) -> Span:
        line, column, end_line, end_column = record
        lengths = self._extents(location)
        for row, position in ((line, column), (end_line, end_column)):
            if not _integer(row, len(lengths)) or not _integer(position, lengths[row - 1] + 1):
                raise ValueError(record)
        if (line, column) > (end_line, end_column):
            raise ValueError(record)
        return Span(line, column, end_line, end_column)

    def _places(self, records: Iterable[Any]) -> tuple[Place, ...]:
        places = ((self._file(file), span, _message(text)) for file, span, text in records)
        return tuple(Place(file, self._span(span, file), text) for file, span, text in places)

    def comments(self, location: str, suppressions: Any, statements: Any) -> Comments:
        """The comments of a file."""
        count = len(self._extents(location)) if suppressions or statements else 0
        return Comments(
            location,
            tuple(
                Suppression(self._span(span, location), _integer(line, count), _words(words))
                for span, line, words in suppressions
            ),
            {
                _integer(line, count): (_integer(first, count), _integer(last, count))
                for line, first, last in statements
            },
        )

    def finding(self, record: list[Any]) -> Finding:
        """A finding in one of the files."""
        code, message, file, span, help_, marks, related, error, by_axes, facts, *flags = record
        plain, assured = flags
        location = self._file(file)
        return Finding(
            register()[code].code,
            _message(message),
            location,
            self._span(span, location),
            None if help_ is None else _message(help_),
            self._places(marks),
            self._places(related),
            _string_or_none(error),
            _flag(by_axes),
            None if facts is None else self._facts(facts, location),
            _flag(plain),
            _flag(assured),
        )

    def _facts(self, record: list[Any], location: str) -> Facts:
        operator, words, operands, settled = record
        return Facts(
            _string(operator),
            tuple(map(_string, words)),
            tuple(self._operand_facts(one, location) for one in operands),
            _flag(settled),
        )

    def _operand_facts(self, record: list[Any], location: str) -> OperandFacts:
        span, names, labelled, dtype, device = record
        return OperandFacts(
            self._span(span, location),
            None if names is None else tuple(map(_string_or_none, names)),
            _flag(labelled),
            _string(dtype),
            _string(device),
        )

    def fix(self, record: list[Any]) -> Fix:
        """A fix of a finding in the first of the files."""
        message, safe, edits = record
        location = self._file(0)
        return Fix(
            _message(message),
            _flag(safe),
            tuple(Edit(self._span(span, location), _string(text)) for span, text in edits),
        )


def _words(record: list[Any] | None) -> tuple[str, ...] | None:
    return None if record is None else tuple(map(_string, record))


def _message(value: Any) -> str:
    """A text for display, without control characters of a terminal."""
    text = _string(value)
    if not all(line.isprintable() for line in text.split("\n")):
        raise ValueError(text)
    return text
