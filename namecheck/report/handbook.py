"""The pages of `namecheck rule`: all codes as a list, and one explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from namecheck.core.findings import Code, register
from namecheck.report.formats import json
from namecheck.report.painter import Painter


def contents(paint: Painter) -> Iterator[str]:
    """One line for every code."""
    codes = register().values()
    width = max(len(code.name) for code in codes)
    for code in codes:
        kind = paint(code.kind.value, f"{code.kind.value:7}")
        yield f"{paint('bold', code.code)}  {code.name:{width}}  {kind}  {code.summary}"


def page(code: Code, fixes: Sequence[str], paint: Painter) -> Iterator[str]:
    """The page of a code: its meaning, its fixes with `check --fix`, a bad and a good example."""
    yield (
        paint("bold", f"{code.code} {code.name}") + f" ({paint(code.kind.value, code.kind.value)})"
    )
    yield ""
    yield code.summary
    yield ""
    yield code.explained
    if fixes:
        yield ""
        yield paint("good", "Fixes:")
        yield ""
        yield from (f"    {sentence}" for sentence in fixes)
    for title, role, program in (("Bad", "finding", code.bad), ("Good", "good", code.good)):
        if program:
            yield ""
            yield paint(role, f"{title}:")
            yield ""
            yield from (f"    {line}".rstrip() for line in program.split("\n"))


def as_json(codes: Iterable[Code], fixes: Callable[[str], Sequence[str]]) -> str:
    """Codes as data; `fixes` describes the fixes of each."""
    listed = [{**_object(code), "fixes": list(fixes(code.code))} for code in codes]
    return json.text(listed)


def _object(code: Code) -> dict[str, Any]:
    return {
        "code": code.code,
        "name": code.name,
        "kind": code.kind.value,
        "summary": code.summary,
        "explanation": code.explained,
        "bad": code.bad,
        "good": code.good,
    }
