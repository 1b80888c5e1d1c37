"""The report for a browser: dims, findings, coverage, links; hostile texts stay texts."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

import pytest
from pygments.lexers.python import PythonLexer

from namecheck.core.findings import Span
from namecheck.interpreter.workspace.inspection import Knowledge, TensorExpression
from namecheck.project import file_check
from namecheck.project.settings import Settings
from namecheck.report.frame import visible
from namecheck.report.html import highlighting, rendering
from namecheck.report.html.markup import Mark, SourceListing, lines
from namecheck.report.html.site import PAGE_NAME, page_name
from tests.fixture_reader import FIXTURES
from tests.report.hostile import ATTACK, NAMES, PROGRAM, write_project
from tests.report.html_pages import Element, page_of, parsed, read
from tests.running import runner

Report: TypeAlias = Callable[..., dict[str, Element]]

LIBRARY: Final = """\
from torch import Tensor


def centre(images: Tensor, means: Tensor) -> Tensor:
    return images - means
"""
TRAINING: Final = """\
import torch
from library import centre

images = torch.rand(8, 3, names=("N", "C"))
centre(images, images.mean("C"))
"""

# Everything that a page may have: no text of a program adds to it.
TAGS: Final = """
html head meta title link script body a header nav button main footer p h1 h2 h3 section div span
strong code label input table thead tbody tr th td svg rect ul ol li article aside details summary
dl dt dd kbd mark wbr figure figcaption pre
"""
ATTRIBUTES: Final = """
lang charset name content http-equiv rel type href src defer class id aria-hidden aria-label
aria-labelledby aria-current aria-sort tabindex role scope title autocomplete spellcheck viewbox
preserveaspectratio focusable width height x checked
data-a data-d data-e data-f data-i data-o data-value
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a hostile project and of the README's programs."""
    from namecheck.cli import main

    folder = tmp_path_factory.mktemp("hostile")
    write_project(folder / "project")
    for name in ("tour.py", "mistakes.py"):
        shutil.copy(FIXTURES / name, folder / "project")
    assert main.main(["report", str(folder / "project"), "--html", str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def pages(hostile: Path) -> dict[str, Element]:
    return read(hostile)


@pytest.fixture
def report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Report:
    """Reports on a project of these files."""
    monkeypatch.chdir(tmp_path)
    run = runner(capsys)

    def written(*flags: str, **files: str) -> dict[str, Element]:
        for name, text in files.items():
            Path(f"{name}.py").write_text(text)
        status, _, err = run("report", ".", "--html", "out", *flags)
        assert (status, err) == (0, "")
        return read(tmp_path / "out")

    return written


# Hostile texts


def test_no_text_becomes_an_element_or_an_attribute(pages: dict[str, Element]) -> None:
    assert len(pages) == 3 + len(NAMES) + 5 + 2
    for page in pages.values():
        for element in page.all():
            assert element.tag in TAGS.split(), element
            assert element.attributes.keys() <= set(ATTRIBUTES.split()), element.attributes
            if element.tag == "script":
                name = element.attributes["src"].rpartition("/")[2]
                assert (name in ("report.js", "theme.js"), element.text) == (True, "")


def test_a_page_shows_the_text_of_its_file(pages: dict[str, Element]) -> None:
    for name in NAMES:
        page = page_of(pages, "\t".join(map(visible, name.split("\t"))))
        rows = [row.one("code").text for row in page.one(class_="code").all("div", "l")]
        assert rows == [visible(line) for line in PROGRAM.removesuffix("\n").split("\n")]


def test_messages_are_texts(pages: dict[str, Element]) -> None:
    page = page_of(pages, ATTACK + ".py")
    messages = [message.text for message in page.all("p", "message")]
    assert "'<script>alert(1)</script>'" in messages[1]
    assert "onmouseover=alert(1) <b>" in messages[2]
    assert "{{ 7 * 7 }}" in messages[2]


def test_no_page_has_control_characters(hostile: Path) -> None:
    for path in hostile.rglob("*.html"):
        text = path.read_text("utf-8").replace("\t", " ")  # of a name of a file
        assert all(line.isprintable() for line in text.split("\n"))


def test_every_link_leads_to_a_place_of_the_report(
    hostile: Path, pages: dict[str, Element]
) -> None:
    ids = {name: {e.attributes.get("id") for e in page.all()} for name, page in pages.items()}
    followed = 0
    for name, page in pages.items():
        for element in page.all():
            for key in ("href", "src"):
                address = element.attributes.get(key)
                if address is not None:
                    parts = urlsplit(address)
                    assert (parts.scheme, parts.netloc, parts.query) == ("", "", ""), address
                    target = (hostile / name).parent / unquote(parts.path)
                    path = (target if parts.path else hostile / name).resolve()
                    assert path.is_file()
                    inside = path.relative_to(hostile.resolve()).as_posix()
                    assert not parts.fragment or parts.fragment in ids[inside], address
                    followed += 1
    assert followed > 500


def test_ids_are_unique(pages: dict[str, Element]) -> None:
    for page in pages.values():
        ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
        assert len(ids) == len(set(ids))


def test_nothing_names_another_host(hostile: Path) -> None:
    policy = "default-src 'none'"
    for path in hostile.rglob("*.*"):
        if path.suffix in (".css", ".js"):
            text = path.read_text("utf-8")
            assert not re.search(r"https?:|//\w|@import|fetch\(|XMLHttp|innerHTML|eval\(", text)
            assert set(re.findall(r"url\(([^)]*)\)", text)) <= {'"icon.svg"'}
        elif path.suffix == ".html":
            [content] = [
                meta.attributes["content"]
                for meta in parsed(path.read_text("utf-8")).all("meta")
                if "http-equiv" in meta.attributes
            ]
            assert content.startswith(policy)
            assert "unsafe" not in content


# Dims and coverage


def test_every_expression_has_its_dims(pages: dict[str, Element]) -> None:
    """They are those of `namecheck reveal`."""
    path = FIXTURES / "tour.py"
    reveals = file_check.reveal(path.read_bytes(), str(path), Settings())
    page = page_of(pages, "tour.py")
    shown = []
    for row in page.all("div", "l"):
        line = int(row.attributes["id"].removeprefix("L"))
        for expression in row.all("span", "x"):
            shown.append((line, expression.text, expression.attributes["data-d"]))
    assert sorted(shown) == sorted((one.span.line, one.source, one.dims) for one in reveals)
    assert len(shown) == 30


def test_one_expression_is_in_the_order_of_the_tabulator(pages: dict[str, Element]) -> None:
    stops = [e.attributes["tabindex"] for e in page_of(pages, "tour.py").all("span", "x")]
    assert stops == ["0", *["-1"] * 29]


def test_line_ends_have_the_dims_of_what_is_assigned_and_returned(report: Report) -> None:
    program = """\
import torch
x = torch.rand(2, 3, names=("N", "C"))
print(x.sum("N"))
x += 1
def f(): return x.sum("C")
y = f()
z = y + torch.rand(3, names=("C",))
"""
    rows = page_of(report(one=program), "one.py").all("div", "l")
    ends = {row.attributes["id"]: row.attributes.get("data-i") for row in rows}
    assert ends == {
        "L1": None,
        "L2": "N=2 C=3",
        "L3": None,
        "L4": "N=2 C=3",
        "L5": "N=2",
        "L6": "N=2",
        "L7": None,
    }


def test_attributes_and_calls_with_something_unknown(report: Report) -> None:
    program = """\
import torch
def total(images):
    return images.sum("C")
total(torch.rand(2, 3, names=("N", "C"), dtype=torch.float16, device="cuda"))
"""
    page = page_of(report(one=program), "one.py")
    images, result = page.one("div", id="L3").all("span", "x")[::-1]
    assert (images.text, result.text) == ("images", 'images.sum("C")')
    assert images.attributes["data-a"] == "float16, cuda"
    assert "data-o" in images.attributes
    assert "data-o" not in page.one("div", id="L4").all("span", "x")[0].attributes


def test_dims_of_several_calls_are_known_if_each_is(report: Report) -> None:
    program = """\
import torch
def f(x): return x.sum()
def g(x): return x.sum()
f(torch.rand(2, names=("N",)))
f(torch.rand(2, names=("C",)))
g(torch.rand(2, names=("N",)))
g(torch.rand(2, names=("C",)).reshape(unknown))
"""
    page = page_of(report(one=program), "one.py")
    first, second = (page.one("div", id=f"L{line}") for line in (2, 3))
    shown = [row.all("span", "x")[1] for row in (first, second)]
    assert [one.text for one in shown] == ["x", "x"]
    assert [one.attributes["data-d"] for one in shown] == ["N=2 | C=2", "N=2 | ..."]
    assert [row.classes for row in (first, second)] == [["l", "full"], ["l", "part"]]


def test_coverage_of_functions_and_files(report: Report) -> None:
    program = """\
from typing import Annotated
from torch import Tensor
class Model:
    def known(self, x: Annotated[Tensor, "n c"]):
        return x.sum(0)
    def unknown(self, x: Annotated[Tensor, "n c"], y: Tensor):
        def inner():
            return y + 1
        return inner()
"""
    pages = report(one=program)
    rows = pages["functions.html"].one("table").all("tr")[1:]
    cells = [[cell.text.strip() for cell in row.all("th") + row.all("td")] for row in rows]
    assert [(name, share, int(total)) for name, _, share, _, total in cells] == [
        ("Model.unknown.<locals>.inner", "0 %", 2),
        ("Model.unknown", "0 %", 1),
        ("Model.known", "100 %", 2),
    ]
    [row] = pages["index.html"].one("table").all("tr")[1:]
    assert [cell.text.strip() for cell in row.all("td")] == ["0", "40 %", "5", "9"]
    classes = {e.attributes["id"]: e.classes for e in page_of(pages, "one.py").all("div", "l")}
    assert [classes[line] for line in ("L4", "L5", "L8")] == [["l"], ["l", "full"], ["l", "none"]]


def test_a_file_that_names_nothing(report: Report) -> None:
    pages = report(plain="import numpy\n", named=TRAINING)
    assert "was not analysed" in page_of(pages, "plain.py").one(class_="facts").text
    first, last = pages["index.html"].one("table").all("tr")[1:]
    assert ("idle" in first.classes, "idle" in last.classes) == (False, True)


# Findings


def test_a_finding_is_shown_in_place_with_both_operands(pages: dict[str, Element]) -> None:
    page = page_of(pages, "tour.py")
    code = page.one(class_="code")
    order = [e.attributes["id"] for e in code.all() if e.tag in ("div", "article")]
    assert order[order.index("F1") - 1 : order.index("F1") + 2] == ["L13", "F1", "L14"]
    card = page.one("article", id="F1")
    assert card.one("h3").text == "NC101 name-mismatch"
    assert [item.text for item in card.one("ul", "operands").all("li")] == [
        "images ['N', 'C', 'H', 'W']",
        "channel_means ['C']",
    ]
    faults = page.one("div", id="L13").all("span", "fault")
    assert [(mark.text, mark.attributes["data-f"]) for mark in faults] == [
        ("images", "F1"),
        ("channel_means", "F1"),
    ]


def test_origins_are_shown_in_place_and_linked_both_ways(pages: dict[str, Element]) -> None:
    page = page_of(pages, "tour.py")
    named, called = page.one("article", id="F1").one("ol", "places").all("li")
    assert named.one("a").attributes["href"] == "#L39"
    assert "'W' is named here; 'C' is named here" in named.text
    assert [mark.text for mark in named.all("mark")] == ['"C"', '"W"']
    assert "'normalize' is called here with images: [N C H W]" in called.text
    origin = page.one("div", id="L39")
    assert [mark.text for mark in origin.all("span", "origin")] == ['"N"', '"C"', '"W"']
    assert [(ref.attributes["href"], ref.text) for ref in origin.all("a", "ref")] == [
        ("#F1", "NC101 line 13"),
        ("#F2", "NC103 line 20"),
    ]


def test_origins_in_other_files(report: Report) -> None:
    pages = report(library=LIBRARY, training=TRAINING)
    library, training = page_of(pages, "library.py"), page_of(pages, "training.py")
    places = library.one("article", id="F1").one("ol", "places").all("li")
    links = [place.one("a") for place in places]
    assert {link.text for link in links} == {"training.py:4", "training.py:5"}
    assert links[0].attributes["href"] == f"{page_name('training.py')}#L4"
    reference = training.one("div", id="L5").one("a", "ref")
    assert reference.text == "NC101 library.py:5"
    assert reference.attributes["href"] == f"{page_name('library.py')}#F1"
    [row] = pages["findings.html"].one("section", id="NC101").one("ul", "found").all("li")
    assert row.one("a").attributes["href"] == f"files/{page_name('library.py')}#F1"


def test_a_file_that_cannot_be_parsed(report: Report) -> None:
    page = page_of(report(broken="import torch\nx = (\n"), "broken.py")
    assert page.one("article").one("a", "chip").text == "NC001"
    assert page.one("div", id="L2").all("span", "fault")


def test_notes_are_shown_and_not_counted(report: Report) -> None:
    program = TRAINING + "from namecheck import reveal_names\nreveal_names(images)\n"
    pages = report(library=LIBRARY, training=program)
    note = page_of(pages, "training.py").one("article", "note")
    assert note.one("p", "message").text == "N=8 C=3"
    assert pages["findings.html"].one("h1").text == "1 finding"


# The folder


def test_the_same_files_give_the_same_bytes(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}

    report("--jobs=1", library=LIBRARY, training=TRAINING)
    first = contents()
    monkeypatch.setattr(rendering, "WORTH_IT", 0)
    report("--jobs=2")
    assert contents() == first


def test_pages_of_removed_files_are_removed(report: Report, tmp_path: Path) -> None:
    report(library=LIBRARY, training=TRAINING)
    (tmp_path / "library.py").unlink()
    assert {Path(name).name for name in report()} == {
        "index.html",
        "functions.html",
        "findings.html",
        page_name("training.py"),
    }


def test_other_files_in_the_folder_stay(report: Report, tmp_path: Path) -> None:
    report(training=TRAINING)
    own = tmp_path / "out" / "files" / "notes.html"
    own.write_text("<p>mine</p>")
    report()
    assert own.read_text() == "<p>mine</p>"


def test_a_page_is_a_regular_file(
    report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(training=TRAINING)
    page = tmp_path / "out" / "files" / page_name("training.py")
    page.unlink()
    os.mkfifo(page)
    assert runner(capsys)("report", ".", "--html", "out") == (
        2,
        "",
        f"namecheck: --html: not written: out/files/{page.name}: "
        "it is a named pipe, not a regular file\n",
    )


def test_names_of_pages() -> None:
    assert re.fullmatch(r"models-net-py-[0-9a-f]{12}\.html", page_name("models/net.py"))
    names = [page_name(path) for path in (*NAMES, "A.py", "a.py", "é.py", "x" * 300, "", "..")]
    assert len(set(names)) == len(names)
    assert all(PAGE_NAME.fullmatch(name) and len(name) < 90 for name in names)


# Markup


def _expression(*span: int) -> TensorExpression:
    return TensorExpression(Span(*span), ("N",), (), Knowledge.FULL)


def test_words_have_the_classes_that_pygments_gives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lexer that tries frequent tokens first finds the same ones."""
    paths = sorted((FIXTURES.parent / "namecheck").rglob("*.py"))[::20]
    texts = [PROGRAM, *(path.read_text("utf-8") for path in paths)]
    texts.append("x.self = .5 + 1.5e3 + 1_000 + 0x1f; y = x . sum(rb'a' f'{x!r:>{self}}')\n")
    texts.append("match case:\n    case type(): print(match, lambda _: __name__ @ cls)\n")
    quick = [highlighting.pieces_by_line(text) for text in texts]
    monkeypatch.setattr(highlighting, "_Lexer", PythonLexer)
    assert [highlighting.pieces_by_line(text) for text in texts] == quick


def test_expressions_that_cross_are_left_out() -> None:
    """Before Python 3.12 the positions in f-strings may do that."""
    crossing = [_expression(1, 1, 1, 5), _expression(1, 3, 1, 8), _expression(1, 3, 1, 5)]
    [row] = lines(SourceListing("abcdefgh", crossing))
    assert [e.text for e in parsed(row).all("span", "x")] == ["abcd", "cd"]


def test_expressions_over_several_lines_have_parts_with_one_number() -> None:
    text = "x = f(\n    y,\n)\n"
    rows = [parsed(row) for row in lines(SourceListing(text, [_expression(1, 5, 3, 2)]))]
    parts = [row.one("span", "x") for row in rows]
    assert [part.text for part in parts] == ["f(", "y,", ")"]
    assert [part.attributes["data-e"] for part in parts] == ["0", "0", "0"]


def test_a_sum_of_a_thousand_terms_is_not_nested_as_deeply() -> None:
    terms = " + ".join("x" * 1000)
    inner = [_expression(1, 1, 1, 4 * number + 2) for number in range(1000)]
    [row] = lines(SourceListing(terms, inner))
    assert parsed(row).text == "1" + terms + "\n"
    assert 10 < len(parsed(row).all("span", "x")) < 100


def test_marks_that_overlap_and_lie_behind_the_end() -> None:
    marks = [
        Mark(Span(1, 1, 1, 4), True, "F1"),
        Mark(Span(1, 3, 1, 6), False, "F2"),
        Mark(Span(2, 9, 2, 10), True, "F3"),
    ]
    first, second = (parsed(row) for row in lines(SourceListing("abcdef\ng", (), marks)))
    assert [(e.text, e.attributes["data-f"]) for e in first.all("span")] == [
        ("ab", "F1"),
        ("c", "F1 F2"),
        ("de", "F2"),
    ]
    assert [(e.text, e.attributes["data-f"]) for e in second.all("span")] == [(" ", "F3")]
