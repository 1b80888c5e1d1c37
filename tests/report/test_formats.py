"""The formats for programs: each report is accepted by a reader of its format, and is complete.

`python -m tests.report.validators` gives the same reports to the formats' own tools.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import junitparser
import pytest

from namecheck.core.findings import Edit, Finding, Fix, Place, Span
from namecheck.core.syntax import segment
from namecheck.report import addresses, formats
from namecheck.report.changes import applied, merged
from namecheck.report.listing import Listing, reader
from namecheck.report.painter import Painter
from tests.report.validators import HOSTILE, HOSTILE_NAME, ROOT, programs, reports

NEW: Final = ("sarif", "gitlab", "junit", "rdjson", "pylint")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The reports of one run over the fixtures and over hostile files, by format."""
    folder = tmp_path_factory.mktemp("reports")
    return reports(folder, (*NEW, "json"), programs(folder))


@pytest.fixture(scope="module")
def expected(files: dict[str, Path]) -> list[dict[str, Any]]:
    """The findings of that run, as the format json has them."""
    text = files["json"].read_text("utf-8").replace("\\ud800", "\N{REPLACEMENT CHARACTER}")
    items: list[dict[str, Any]] = json.loads(text)
    assert len(items) > 12
    assert any(item["fix"] for item in items)
    return items


def listed(*findings: Finding, fixes: dict[Finding, Fix] | None = None, text: str = "") -> Listing:
    """A run with these findings in a.py."""
    lines = reader({"a.py": text.encode()})
    return Listing(findings, 1, lines, Painter(False), fixes or {})


def printed(name: str, listing: Listing) -> str:
    return "\n".join(formats.load(name).lines(listing))


def test_sarif_is_valid(files: dict[str, Path]) -> None:
    """By the models that pydantic-sarif generated from the published schema."""
    model = import_module("pydantic_sarif.model")
    schema = model.StaticAnalysisResultsFormatSarifVersion210JsonSchema
    text = files["sarif"].read_text("utf-8")
    schema.model_validate_json(text)
    with pytest.raises(ValueError, match="rule\n"):
        schema.model_validate_json(text.replace('"ruleId"', '"rule"'))


def test_sarif_has_all(files: dict[str, Path], expected: list[dict[str, Any]]) -> None:
    [run] = json.loads(files["sarif"].read_text("utf-8"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({item["code"] for item in expected})
    for rule in rules:
        assert rule["help"]["text"].startswith(rule["fullDescription"]["text"][:40])
        assert "```python" in rule["help"]["markdown"]
        assert "\n" not in rule["fullDescription"]["text"]
    for result, item in zip(run["results"], expected, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == item["code"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert (region["startLine"], region["startColumn"]) == (
            item["location"]["row"],
            item["location"]["column"],
        )
        assert item["message"] in result["message"]["text"]
        assert len(result.get("relatedLocations", ())) >= len(item["related"])
        assert ("fixes" in result) == (item["fix"] is not None)
    fingerprints = [result["partialFingerprints"]["namecheck/v1"] for result in run["results"]]
    assert len(set(fingerprints)) == len(fingerprints)


def test_the_fixes_of_sarif_are_those_of_json(
    files: dict[str, Path], expected: list[dict[str, Any]]
) -> None:
    [run] = json.loads(files["sarif"].read_text("utf-8"))["runs"]
    for result, item in zip(run["results"], expected, strict=True):
        for fix in result.get("fixes", ()):
            [change] = fix["artifactChanges"]
            texts = [each["insertedContent"]["text"] for each in change["replacements"]]
            assert texts == [edit["content"] for edit in item["fix"]["edits"]]
            assert fix["properties"]["applicability"] == item["fix"]["applicability"]


def test_sarif_names_files_from_the_root_of_the_repository(
    files: dict[str, Path], expected: list[dict[str, Any]]
) -> None:
    [run] = json.loads(files["sarif"].read_text("utf-8"))["runs"]
    places = [
        result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]
    ]
    assert {"uri": "fixtures/tour.py", "uriBaseId": "SRCROOT"} in places
    outside = [place["uri"] for place in places if "uriBaseId" not in place]
    assert outside
    assert all(re.fullmatch(r"file:///[\w%.~/-]+", uri, re.ASCII) for uri in outside)


def test_the_root_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    assert addresses.in_repository("a b.py") == "deep/a b.py"
    assert addresses.in_repository("../c.py") == "c.py"
    assert addresses.uri("a b.py") == "deep/a%20b.py"


def test_gitlab_has_all(files: dict[str, Path], expected: list[dict[str, Any]]) -> None:
    """The fields that GitLab reads, with the values that it knows."""
    issues = json.loads(files["gitlab"].read_text("utf-8"))
    assert [issue["check_name"] for issue in issues] == [item["code"] for item in expected]
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue, item in zip(issues, expected, strict=True):
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert item["message"] in issue["description"]
        assert not issue["location"]["path"].startswith("./")
        assert issue["location"]["lines"]["begin"] == item["location"]["row"]


def test_the_fingerprints_of_gitlab_and_sarif_are_of_one_function(files: dict[str, Path]) -> None:
    [run] = json.loads(files["sarif"].read_text("utf-8"))["runs"]
    of_gitlab = [issue["fingerprint"] for issue in json.loads(files["gitlab"].read_text("utf-8"))]
    of_sarif = [one["partialFingerprints"]["namecheck/v1"] for one in run["results"]]
    ours = [n for n, one in enumerate(run["results"]) if "fixtures/" in json.dumps(one)]
    assert ours
    assert [of_gitlab[n] for n in ours] == [of_sarif[n] for n in ours]


def test_junit_is_read_by_its_readers(
    files: dict[str, Path], expected: list[dict[str, Any]]
) -> None:
    report = junitparser.JUnitXml.fromfile(str(files["junit"]))
    assert (report.tests, report.failures, report.errors) == (len(expected), len(expected), 0)
    cases = [case for suite in report for case in suite]
    for case, item in zip(cases, expected, strict=True):
        assert str(case.name).startswith(f"{item['code']} {item['name']} at ")
        [failure] = case.result
        assert failure.type == item["name"]


def test_junit_without_findings_is_a_test_that_passes() -> None:
    report = junitparser.JUnitXml.fromstring(printed("junit", listed()).encode())
    assert (report.tests, report.failures, report.errors) == (1, 0, 0)


def test_junit_tells_notes_and_faults_apart() -> None:
    at = Span(1, 1, 1, 2)
    note, fault = Finding("NC090", "N=2", "a.py", at), Finding("NC005", "It failed.", "a.py", at)
    report = junitparser.JUnitXml.fromstring(printed("junit", listed(note, fault)).encode())
    assert (report.tests, report.failures, report.errors) == (2, 0, 1)


# A path has no NUL, and a byte that is no text has become a surrogate.
PATH: Final = "a\x07\x1b[31m\udcff\u202e]]>&<é𝕏\r\n::error::.py"
CONTROLS: Final = "\x00\x07\x1b[31m\ufffe\ud800\u202e]]>&<é𝕏\r\n::error::"


@pytest.mark.parametrize("name", formats.names())
def test_no_text_breaks_a_report(name: str) -> None:
    """Messages and paths of any characters; what is written to a file is what can be read."""
    at = Span(1, 1, 1, 2)
    place = Place(f"b{PATH}", at, CONTROLS)
    finding = Finding("NC101", CONTROLS, PATH, at, CONTROLS, (place,), (place,))
    text = printed(name, listed(finding)).encode("utf-8", "backslashreplace").decode()
    if name == "junit":
        assert junitparser.JUnitXml.fromstring(text.encode()).tests == 1
    elif name in ("json", "sarif", "gitlab", "rdjson"):
        assert json.loads(text)
    elif name != "github":
        assert "\x1b" not in text
    if name in ("pylint", "concise", "github"):
        assert text.count("\n") == 0
    if name == "markdown":
        *_, row = text.splitlines()
        assert text.count("\n") == 4
        assert re.sub(r"\\.", "", row).count("|") == 4
        assert "<" not in re.sub(r"\\.", "", row)


def test_pylint_is_one_parseable_line(
    files: dict[str, Path], expected: list[dict[str, Any]]
) -> None:
    lines = files["pylint"].read_text("utf-8").splitlines()
    assert len(lines) == len(expected)
    for line, item in zip(lines, expected, strict=True):
        match = re.fullmatch(r"(.+?):(\d+): \[(\w+)\(([\w-]+)\), ([\w.]*)\] (.+)", line)
        assert match is not None
        assert match.groups()[1:4] == (str(item["location"]["row"]), item["code"], item["name"])


def test_rdjson_counts_bytes() -> None:
    text = "é𝕏 = a + b\n"
    finding = Finding("NC101", "m", "a.py", Span(1, 6, 1, 11))
    fix = Fix("f", True, (Edit(Span(1, 6, 1, 7), "c"), Edit(Span(1, 10, 1, 11), "d")))
    report = json.loads(printed("rdjson", listed(finding, fixes={finding: fix}, text=text)))
    [diagnostic] = report["diagnostics"]
    whole = {"start": {"line": 1, "column": 10}, "end": {"line": 1, "column": 15}}
    assert diagnostic["location"] == {"path": "a.py", "range": whole}
    assert diagnostic["suggestions"] == [{"range": whole, "text": "c + d"}]
    assert text.encode()[9:14] == b"a + b"


@pytest.mark.parametrize(
    "edits",
    [
        (Edit(Span(1, 1, 1, 1), "x"),),
        (Edit(Span(2, 2, 2, 3), "long"), Edit(Span(1, 2, 1, 2), "+")),
        (Edit(Span(1, 3, 3, 1), ""), Edit(Span(3, 1, 3, 2), "a\nb\nc")),
        (Edit(Span(1, 1, 1, 1), "import x\n"), Edit(Span(3, 3, 3, 3), "!")),
        (Edit(Span(3, 4, 3, 4), "\nend"),),
    ],
)
def test_merged_edits_do_the_same(edits: tuple[Edit, ...]) -> None:
    lines = ["abc", "def", "ghi"]
    edit = merged(edits, lines)
    assert applied(lines, [edit]) == applied(lines, edits)
    assert edit.span.start == min(each.span.start for each in edits)


def test_a_segment_beyond_the_end_is_empty() -> None:
    assert segment(["ab"], Span(4, 1, 4, 2)) == ""
    assert segment(["ab", "cd"], Span(1, 2, 2, 2)) == "b\nc"


def test_the_hostile_file_has_findings(expected: list[dict[str, Any]]) -> None:
    names = {Path(item["filename"]).name for item in expected}
    assert {HOSTILE_NAME, "broken.py", "binary.py"} <= names
    assert "\x1b" in "".join(item["message"] for item in expected)
    assert HOSTILE.count("\n") == 6
    assert ROOT.is_dir()
