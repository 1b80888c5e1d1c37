"""The pages under docs/ that are generated from data: ``python -m tests.docs_pages`` writes them.

The register of codes generates codes.md, the table of operators generates operators.md, the
verdicts of the survey and the recorded bugs generate the tables of real_code.md. In cli.md
the table of verbs and the help texts under ``<!-- help: VERB -->`` are generated: a section for
each verb, which keeps the text that follows its help. On any page the block of text under
``<!-- screen: COMMAND -->`` is what the command prints (tests/docs_site/screens.py).
test_docs_pages.py compares the pages with their data.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from namecheck.cli import verbs
from namecheck.core.findings import Code, Kind, register
from namecheck.fixing import registry as fixes
from namecheck.operators import Operator, table
from namecheck.operators.row import described
from namecheck.rules import registry
from tests.docs_site.screens import with_screens
from tests.docs_tutorial import tutorial_page
from tests.real_code.page import real_code_page

DOCS: Final = Path(__file__).parents[1] / "docs"

_KINDS: Final = {
    Kind.FINDING: "a finding: torch raises here",
    Kind.LINT: "a lint: a pattern that only reading ahead can see",
    Kind.FILE: "about a file that could not be checked",
    Kind.NOTE: "a note, no fault",
}


def codes_page(_: str) -> str:
    """codes.md: every code with its explanation and its examples."""
    lines = [
        "# Codes",
        "",
        "Made from `namecheck/core/codes.toml` and the files of `namecheck/lints/`; "
        "`namecheck rule CODE` prints the same.",
        "",
        "| code | name | what it says |",
        "| --- | --- | --- |",
        *(
            f"| [{code.code}](#{code.code.lower()}) | {code.name} | {code.summary} |"
            for code in register().values()
        ),
    ]
    for code in register().values():
        lines += _code_section(code)
    return "\n".join(lines) + "\n"


def _code_section(code: Code) -> Iterator[str]:
    yield from ("", f"## {code.code}", "", f"`{code.name}`, {_KINDS[code.kind]}.", "")
    yield from (code.summary, "", code.explained)
    if described := fixes.described(code.code):
        yield from ("", "[Fixes](fixes.md):", "", *(f"- {sentence}" for sentence in described))
    for title, program in (("Bad:", code.bad), ("Good:", code.good)):
        if program:
            yield from ("", title, "", "```python", program, "```")


def operators_page(_: str) -> str:
    """operators.md: the rules of every section, and the operators that follow them."""
    sections: dict[str, list[Operator]] = {}
    for row in table().values():
        sections.setdefault(_section(row.names), []).append(row)
    lines = [
        "# Operators",
        "",
        "Made from `namecheck/operators/table/`; `namecheck coverage` prints the same.",
        "",
        "Forms: `f` `torch.x`, `m` `Tensor.x`, `i` `Tensor.x_`, `j` `torch.x_`, `o` `out=`, "
        "`n` `torch.nn.functional.x`, `a` an attribute, `s` an attribute that can be set, "
        "`c` a class of `torch.nn`, `p` a function and `l` a layer of another package. The "
        "last column tells what torch 2.12 does where it differs: it refuses named tensors "
        "there, refuses some calls, or follows another rule.",
    ]
    for section in sorted(sections):
        lines += ["", f"## {section.replace('_', ' ').capitalize()}", ""]
        lines += ["| operator | forms | rule | torch 2.12 |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{row.key}` | {row.forms} | {row.names} | {row.native} |"
            for row in sections[section]
        ]
        rules = {row.names: None for row in sections[section] if row.names != "unknown"}
        if rules:
            lines += ["", *(f"- `{rule}`: {_sentence(rule)}" for rule in sorted(rules))]
    lines += ["", "## The columns of a row", "", "| column | what it says |", "| --- | --- |"]
    lines += [f"| `{column}` | {text} |" for column, text in described().items()]
    return "\n".join(lines) + "\n"


def _section(rule: str) -> str:
    """The module of a rule, which is named after the section of its rules."""
    if rule == "unknown":
        return "result not followed yet"
    return registry.load()[rule].__module__.rpartition(".")[2]


def _sentence(rule: str) -> str:
    doc = registry.load()[rule].__doc__ or ""
    return " ".join(doc.strip().split("\n\n")[0].split())


_VERBS: Final = re.compile(r"(?<=\| verb \| use it to \|\n\| --- \| --- \|\n)(\|.*\n)*")
_SECTION: Final = re.compile(
    r"^###? (?P<verb>\w+)\n\n<!-- help: \w* ?-->\n\n```text\n.*?```\n(?P<text>.*?)(?=^###? |\Z)",
    re.DOTALL | re.MULTILINE,
)


def help_page(page: str) -> str:
    """cli.md: the page with every verb, and with the current help texts."""
    names = verbs.names()
    rows = [f"| [`{name}`](#{name}) | {verbs.load(name).help} |\n" for name in names]
    page = _VERBS.sub("".join(rows), page)
    texts = {section["verb"]: section["text"].strip() for section in _SECTION.finditer(page)}
    sections = [_help_section("## namecheck", "")]
    for name in names:
        sections += [_help_section(f"### {name}", name), *filter(None, [texts.get(name)])]
    return page[: page.index("## namecheck\n")] + "\n\n".join(sections) + "\n"


def _help_section(title: str, verb: str) -> str:
    mark = f"<!-- help: {verb} -->" if verb else "<!-- help: -->"
    return f"{title}\n\n{mark}\n\n```text\n{help_text(verb)}```"


def help_text(verb: str) -> str:
    """The output of ``namecheck VERB --help`` in 80 columns."""
    command = [sys.executable, "-m", "namecheck", *filter(None, [verb]), "--help"]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"COLUMNS": "80"}, cwd=DOCS.parent
    )
    return run.stdout


PAGES: Final[dict[str, Callable[[str], str]]] = {
    "tutorial.md": tutorial_page,
    "codes.md": codes_page,
    "operators.md": operators_page,
    "cli.md": help_page,
    "real_code.md": real_code_page,
}


def names() -> list[str]:
    """The pages of the folder, and those that are to be written."""
    return sorted({path.name for path in DOCS.glob("*.md")}.union(PAGES))


def stale(pages: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """The outdated ones of some pages, with their new contents."""
    for name in pages:
        path = DOCS / name
        text = path.read_text("utf-8") if path.exists() else ""
        fresh = with_screens(PAGES[name](text) if name in PAGES else text)
        if fresh != text:
            yield path, fresh


def main() -> None:
    """Write the outdated pages."""
    for path, fresh in stale(names()):
        path.write_text(fresh, "utf-8")
        print(f"written: {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
