"""The shipped table and the tables of users: reads, checks and merges them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from namecheck.core.faults import TableError
from namecheck.operators import row as rows
from namecheck.operators.row import Operator
from namecheck.operators.shipped import fault, shipped


class Table(Mapping[str, Operator]):
    """Rows by their keys: lines of TOML, each parsed on first access.

    The rows of a user replace those of the lines with the same keys.
    """

    def __init__(self, by_key: Mapping[str, str], user_rows: Mapping[str, Operator]) -> None:
        self._lines = {**by_key, **dict.fromkeys(user_rows, "")} if user_rows else by_key
        self._rows = dict(user_rows)

    def __getitem__(self, key: str) -> Operator:
        row = self._rows.get(key)
        if row is None:
            try:
                row = rows.of_toml(key, tomllib.loads(self._lines[key])[key])
            except (tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
                raise fault(key, f"the row does not parse: {error}") from error
            self._rows[key] = row
        return row

    def __contains__(self, operator: object) -> bool:
        return operator in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


@cache
def table() -> Table:
    """All operators that ship with namecheck, by key."""
    return Table(shipped().rows, {})


def extended(user_rows: Mapping[str, Operator]) -> Table:
    """The shipped table with the rows of a user, which replace those with the same keys."""
    return Table(shipped().rows, user_rows)


@cache
def python_operators() -> Mapping[str, str]:
    """The key of the row for each operator of Python, by the name of its syntax node."""
    return MappingProxyType(dict(tomllib.loads(shipped().head)["python"]))


def read(text: str, filename: str, *, shipped: bool = False) -> dict[str, Operator]:
    """The rows of one table; raises `TableError` with file, line, operator and column.

    A `shipped` file may have columns that only apply there.
    """
    # Every run needs the shipped table, but only a user's table is checked.
    from namecheck.operators.checks import Fault, check

    data = _parsed(text, filename)
    cells = data.get("operators", {})
    for key in data:
        if key != "operators":
            raise TableError(
                f"{filename}:{_line_of(key, text)}: unknown key '{key}'; "
                "the rows of operators belong under the line [operators]"
            )
    if not isinstance(cells, dict):
        raise TableError(
            f"{filename}:{_line_of('operators', text)}: [operators] is a table of rows"
        )
    for key, row in cells.items():
        try:
            check(row, shipped=shipped)
        except Fault as fault:
            place = f"{filename}:{_line_of(key, text, fault.column)}: operator '{key}'"
            column = f", column '{fault.column}'" if fault.column else ""
            raise TableError(f"{place}{column}: {fault}") from None
    return {key: rows.of_toml(key, row) for key, row in cells.items()}


def check_shipped() -> None:
    """Check every row of the shipped table; raises `TableError` as `read` does.

    A row is parsed without a check when it is first needed, for the checks take longer than most
    analyses. So this is called where a mistake in a row may be the reason of a failure.
    """
    from namecheck.operators.checks import Fault, check

    for key, line in shipped().rows.items():
        try:
            check(tomllib.loads(line)[key], shipped=True)
        except tomllib.TOMLDecodeError as error:
            raise fault(key, f"the row does not parse: {error}") from error
        except Fault as mistake:
            raise fault(key, f"column '{mistake.column}': {mistake}") from None


def _parsed(text: str, filename: str) -> dict[str, Any]:
    from namecheck.core import toml  # few projects have tables of their own

    try:
        return toml.loads(text)
    except ValueError as error:
        reason, _, place = str(error).partition(" (at line ")
        line = place.split(",")[0] if place[:1].isdigit() else len(text.splitlines())
        raise TableError(f"{filename}:{line}: {reason}") from error


_HEADER: Final = "operators."


def _line_of(key: str, text: str, column: str = "") -> int:
    """The line of a row, or of a column of it that has a line of its own."""
    lines = [(number, *_head(line)) for number, line in enumerate(text.splitlines(), 1)]
    start = next((number for number, word, _ in lines if word.removeprefix(_HEADER) == key), 1)
    for number, word, is_header in lines[start:]:
        if is_header:
            break
        if lines[start - 1][2] and word == column:
            return number
    return start


def _head(line: str) -> tuple[str, bool]:
    """The key before the ``=``, without quotes; for ``[a.b]`` the path, and that it is a header."""
    word = line.split("=")[0].strip()
    is_header = word.startswith("[")
    word = word.removeprefix("[").removesuffix("]")
    return word.replace('"', "").replace("'", "").strip(), is_header
