"""The tables of docs/real_code.md, made from the projects, the verdicts and the bugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from tests.real_code import projects, verdicts
from tests.real_code.bugs import records
from tests.real_code.bugs.records import Bug
from tests.real_code.projects import CHECK, TRAINING, Project
from tests.real_code.verdicts import Verdict

_BEGIN: Final = "## Precision\n"
_END: Final = "## False findings, corrected earlier\n"
_BUGS: Final = "## Bugs of released packages\n"
_SETS: Final = {TRAINING: "training", CHECK: "check set"}
_DIMS: Final = {"none": ""}


def real_code_page(page: str) -> str:
    """real_code.md: the page with the tables as the data have them."""
    observed = verdicts.stored(verdicts.OBSERVED)
    tables = "\n".join((*_tables(projects.stored(), verdicts.stored()), *_plain_code(observed)))
    return page[: page.index(_BEGIN)] + tables + "\n\n" + page[page.index(_END) :]


def _tables(all_projects: Sequence[Project], judged: Sequence[Verdict]) -> Iterator[str]:
    yield from (_BEGIN, "Findings in projects that namecheck met for the first time:", "")
    yield "| set | projects read | findings | true | false | unsure | true of those decided |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for part in projects.PARTS:
        yield _precision(part, all_projects, judged)
    unread = sum(not project.looked for project in all_projects)
    yield ""
    yield (
        f"{len(all_projects)} projects; the findings in {unread} are not read yet. The others "
        "had been met before, or were read before the verdicts told which finding came first."
    )
    yield from ("", "## Projects", "", *_project_rows(all_projects, judged))
    yield from ("", "## Findings", "", *_finding_rows(v for v in judged if v.reported))
    yield from ("", "## False findings, corrected", "")
    yield from _finding_rows(v for v in judged if not v.reported)
    yield from ("", _BUGS, *bug_rows(records.stored()))


def _plain_code(judged: Sequence[Verdict]) -> Iterator[str]:
    """The findings with observed evidence in packages that were met for the first time."""
    words = Counter(verdict.verdict for verdict in judged if verdict.first)
    yield from ("", "## Findings in plain code", "")
    yield (
        "With `--evidence observed`, 4,223 names drawn from lists of packages, most of which "
        "import torch, were checked in 18 rounds; 3,310 were read to their end, with 12,361,000 "
        "lines in files that import torch. Three sets were chosen instead. 102 packages, models "
        "that use einops throughout and libraries of many fields, 28 of them known from checks of "
        "declared dims, have 706,000 lines, and of 15 findings there 11 were true. 51 more, mostly "
        "for images and for texts, have 735,000 lines, and of 21 findings there 12 were true. The "
        "third set has 127 packages that were read to their end, many of science, with 919,000 "
        "lines, and of 17 findings there that declared dims do not give 9 were true. "
        f"Of {words.total()} findings in all {words['true']} were true "
        f"and {words['false']} false when they were read, before anything was corrected. True is "
        "what raises with torch 2.13, or does not compute what it says. Most are in a few "
        "packages. What is not reported any more is marked. The last two rounds were checked "
        "without the doubtful codes. In the first of them, of 780 names with torch, 551 packages "
        "were read to their end, 1.97 million lines, and of 21 findings 15 were true; a column of "
        "zeros, which makes a square whose mean is right, is reported still. In the second, of 895 "
        "names in 15 fields, 400 packages were read, 1.82 million lines, and of 29 findings 19 "
        "were true: 13 of 21 in the training set, whose five causes of false ones are corrected, "
        "and 6 of 8 in the check set, every third package, which was checked after all of these "
        "corrections but one; the other two are unsure."
    )
    yield from ("", *_by_code(judged))
    yield from ("", "| project | place | finding | verdict | reported |")
    yield "| --- | --- | --- | --- | --- |"
    for verdict in judged:
        cells = (
            f"{verdict.package} {verdict.version}",
            f"`{_short(verdict.file)}:{verdict.line}`",
            verdict.code,
            f"{verdict.verdict}: {verdict.why}",
            "yes" if verdict.reported else "no",
        )
        yield f"| {' | '.join(cells)} |"


def _by_code(judged: Iterable[Verdict]) -> Iterator[str]:
    """How many findings of each code were true when their packages were met, and in how many."""
    words: dict[str, Counter[str]] = {}
    packages: dict[tuple[str, str], set[str]] = {}
    for verdict in judged:
        if verdict.first:
            words.setdefault(verdict.code, Counter())[verdict.verdict] += 1
            packages.setdefault((verdict.code, verdict.verdict), set()).add(verdict.package)
    yield "| code | true | in packages | false | in packages | unsure | true of those decided |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for code, counts in sorted(words.items()):
        decided = counts["true"] + counts["false"]
        share = f"{counts['true'] / decided:.0%}" if decided else ""
        found = [
            each
            for word in ("true", "false")
            for each in (counts[word], len(packages.get((code, word), ())))
        ]
        yield f"| {code} | {' | '.join(map(str, found))} | {counts['unsure']} | {share} |"


def bug_rows(bugs: Sequence[Bug]) -> Iterator[str]:
    """The recorded bugs, with what is missing where namecheck does not find them."""
    reported = sum(not bug.missed for bug in bugs)
    yield (
        "Mistakes about dims in a release that a later one corrects, with the annotations that a "
        "user would write in the signatures of the functions alone. "
        f"{len(bugs)} bugs, of which {reported} are found ({reported / len(bugs):.0%}); the "
        "corrected releases have no finding in these functions. A place is where the wrong dims "
        "meet others, which in four cases is one to three lines after the mistake; two annotations "
        "with which a corrected release would have a false finding were left out. "
        "`python -m tests.real_code.bugs` repeats it."
    )
    yield from (
        "",
        "| release | place | mistake | named by | found |",
        "| --- | --- | --- | --- | --- |",
    )
    for bug in bugs:
        place = f"`{_short(bug.file)}:{bug.line}`"
        verdict = f"no: {bug.missed}" if bug.missed else "yes"
        cells = (f"{bug.package} {bug.before}", place, bug.fact, bug.source, verdict)
        yield f"| {' | '.join(cells)} |"


def _precision(part: str, all_projects: Sequence[Project], judged: Sequence[Verdict]) -> str:
    """The verdicts on what was reported when the projects of a set were first read."""
    members = {p.package for p in all_projects if p.part == part and p.first and p.looked}
    words = Counter(v.verdict for v in judged if v.first and v.package in members)
    decided = words["true"] + words["false"]
    share = f"{words['true'] / decided:.0%}" if decided else ""
    numbers = (len(members), words.total(), *(words[word] for word in verdicts.WORDS))
    return f"| {_SETS[part]} | {' | '.join(map(str, numbers))} | {share} |"


def _project_rows(all_projects: Sequence[Project], judged: Sequence[Verdict]) -> Iterator[str]:
    yield "| project | dims stated by | lines | expressions known in full | set | read | findings |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    counts = Counter((v.package, v.verdict) for v in judged if v.reported)
    for project in sorted(all_projects, key=lambda project: project.package):
        share = f"{project.known / project.expressions:.0%}" if project.expressions else ""
        findings = [
            f"{counts[project.package, word]} {word}"
            for word in verdicts.WORDS
            if counts[project.package, word]
        ]
        cells = (
            f"{project.package} {project.version}",
            _DIMS.get(project.dims, project.dims),
            f"{project.lines:,}" if project.lines else "",
            share,
            _SETS[project.part],
            project.looked or "not yet",
            ", ".join(findings) or ("none" if project.looked else ""),
        )
        yield f"| {' | '.join(cells)} |"


def _finding_rows(judged: Iterable[Verdict]) -> Iterator[str]:
    yield "| project | place | finding | verdict |"
    yield "| --- | --- | --- | --- |"
    for name, group in groupby(judged, key=lambda verdict: verdict.package):
        title = name
        for verdict in group:
            place = f"`{_short(verdict.file)}:{verdict.line}`"
            yield f"| {title} | {place} | {verdict.code} | {verdict.verdict}: {verdict.why} |"
            title = ""


def _short(file: str) -> str:
    """A path without the folder of the package."""
    return file.partition("/")[2] or file
