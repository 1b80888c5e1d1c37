"""A page for each code: what it means, a bad and a good program, what is printed, the fix.

The data are the register of codes, the fixes, and the programs under fixtures/.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from namecheck import project
from namecheck.core.evidence import Evidence
from namecheck.core.findings import Code, Kind, register
from namecheck.core.semantics import Semantics
from namecheck.fixing import registry as fixes
from namecheck.project.settings import Settings
from tests.docs_site import screens
from tests.fixture_reader import FIXTURES, Pair, pairs

KINDS: Final = {
    Kind.FINDING: "Finding: torch raises here",
    Kind.LINT: "Lint: a pattern that only reading ahead can see",
    Kind.FILE: "About a file that could not be checked",
    Kind.NOTE: "Note, no fault",
}
GROUPS: Final = {
    "NC0": "Files, suppressions, notes",
    "NC1": "Names",
    "NC2": "Sizes and ranks",
    "NC3": "Dtypes",
    "NC4": "Devices",
    "NC5": "Memory order and layout",
    "NC6": "Lints",
    "NC7": "Removed API",
}
_FOLDERS: Final = ("annotated", "programs", "natural", "unannotated")
# The settings that the example of a code needs.
_SETTINGS: Final = {"NC701": '[tool.namecheck]\ntorch = ">=2.13"\n'}
# How many further examples are shown, and how many characters they should have.
_FURTHER: Final = 2
_LENGTH: Final = 450


def path(code: Code) -> str:
    """The page of a code in the site."""
    return f"codes/{code.code.lower()}.md"


def overview() -> str:
    """The page that lists the codes."""
    lines = [
        "# Codes",
        "",
        "What each code means, with a bad program, a good one, and the fix. "
        "`namecheck rule CODE` prints the same.",
    ]
    for prefix, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| code | name | what it says |", "| --- | --- | --- |"]
        lines += [
            f"| [{code.code}]({code.code.lower()}.md) | {code.name} | {code.summary} |"
            for code in register().values()
            if code.code.startswith(prefix)
        ]
    return "\n".join(lines) + "\n"


@cache
def page(code: Code) -> str:
    """The page of a code, as Markdown."""
    return "\n".join(_lines(code)) + "\n"


def _lines(code: Code) -> Iterator[str]:
    summary = json.dumps(code.summary, ensure_ascii=False)
    yield from ("---", f"title: {code.code} {code.name}", f"description: {summary}", "---", "")
    yield from (f"# {code.code} {code.name}", "")
    yield from (f'<p class="kind {code.kind.value}">{KINDS[code.kind]}</p>', "")
    yield from (f"**{code.summary}**", "", code.explained)
    if code.bad:
        yield from ("", "## Bad", "", f"```python{_semantics(code)}", code.bad, "```")
        command, output = _check(code)
        yield from ("", screens.as_html(command, output))
        yield from ("", "## Good", "", f"```python{_semantics(code)}", code.good, "```")
    sentences = fixes.described(code.code)
    if sentences:
        yield from ("", "## Fix", "")
        yield from (f"- {sentence}" for sentence in sentences)
        if code.bad and (changes := _diff(code)):
            yield from ("", "What `check --diff --unsafe-fixes` prints:", "", "```diff")
            yield from (changes, "```")
        yield from ("", "[Fixes](../fixes.md) says which fixes are safe.")
    further = _pairs().get(code.code, [])
    if further:
        yield from ("", "## Further examples")
    for pair in further:
        yield from ("", f"`{pair.bug.path.relative_to(FIXTURES.parent).as_posix()}`:", "")
        yield from ("```python", _without_header(pair.bug.text), "```", "")
        yield from ('<details markdown="1"><summary>The right version</summary>', "")
        yield from ("```python", _without_header(pair.ok.text), "```", "", "</details>")


@cache
def _switches(code: Code) -> tuple[str, str]:
    """The evidence and the semantics with which the bad program has this finding."""
    for evidence, semantics in (
        (Evidence.DECLARED, Semantics.NAMECHECK),
        (Evidence.OBSERVED, Semantics.NAMECHECK),
        (Evidence.DECLARED, Semantics.NATIVE),
    ):
        settings = Settings(semantics=semantics, evidence=evidence.value)
        result = project.check_text(code.bad.encode(), "bad.py", settings)
        if code.code in {finding.code for finding in result.findings}:
            return evidence.value, semantics.value
    return Evidence.DECLARED.value, Semantics.NAMECHECK.value


def _semantics(code: Code) -> str:
    _, semantics = _switches(code)
    return "" if semantics == Semantics.NAMECHECK.value else f" {semantics}"


def _arguments(code: Code) -> list[str]:
    evidence, semantics = _switches(code)
    arguments = ["check"]
    if evidence != Evidence.DECLARED.value:
        arguments += ["--evidence", evidence]
    if semantics != Semantics.NAMECHECK.value:
        arguments += ["--semantics", semantics]
    return arguments


def _check(code: Code) -> tuple[str, str]:
    """The command that checks the bad program, and what it prints."""
    arguments = [*_arguments(code), "bad.py"]
    with tempfile.TemporaryDirectory() as folder:
        _write(code, Path(folder))
        output = screens.printed([*arguments, "--no-cache"], Path(folder), colored=True)
    return f"namecheck {' '.join(arguments)}", output


def _diff(code: Code) -> str:
    """What the fixes of the bad program change, without the line that counts them."""
    arguments = [*_arguments(code), "--no-cache", "--diff", "--unsafe-fixes", "bad.py"]
    with tempfile.TemporaryDirectory() as folder:
        _write(code, Path(folder))
        output = screens.printed(arguments, Path(folder))
    return output.rstrip("\n") if output.startswith("--- ") else ""


def _write(code: Code, folder: Path) -> None:
    (folder / "bad.py").write_text(code.bad + "\n", "utf-8")
    if settings := _SETTINGS.get(code.code):
        (folder / "pyproject.toml").write_text(settings, "utf-8")


@cache
def _pairs() -> dict[str, list[Pair]]:
    """Some pairs of the fixtures by the code of the bug: one of each folder, of middle length."""
    chosen: dict[str, list[Pair]] = {}
    for folder in _FOLDERS:
        by_code: dict[str, list[Pair]] = {}
        for pair in pairs(folder):
            if "code" in pair.bug.header:
                by_code.setdefault(pair.code, []).append(pair)
        for code, members in by_code.items():
            pair = min(members, key=lambda pair: abs(len(pair.bug.text) - _LENGTH))
            chosen.setdefault(code, []).append(pair)
    return {code: members[:_FURTHER] for code, members in chosen.items()}


def _without_header(program: str) -> str:
    lines = program.rstrip("\n").split("\n")
    while lines and (lines[0].startswith("# ") or not lines[0]):
        lines.pop(0)
    return "\n".join(lines)
