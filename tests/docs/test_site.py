"""The site is built without a warning, no link of it is dead, and each page is listed once."""

from __future__ import annotations

import base64
import html
import json
import posixpath
import re
import sys
import tomllib
import zlib
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import pytest

import namecheck
from namecheck.core.findings import register
from tests.docs_pages import DOCS
from tests.docs_site import __main__ as command
from tests.docs_site import codes, markdown, screens, staging, versions
from tests.docs_site.screens import Screen, with_screens

Pages = dict[str, str]
# Files that become the first page of their folder.
STARTS: Final = ("index", "README")
API: Final = (DOCS / "site" / "api.md").read_text("utf-8")


@pytest.fixture(scope="module")
def pages() -> Pages:
    """The pages of the site, with links to the playground."""
    return staging.staged(playground=True)


def test_every_link_leads_to_a_page_and_a_heading(pages: Pages) -> None:
    anchors = {place: markdown.anchors(text) for place, text in pages.items()}
    dead = []
    for place, text in pages.items():
        for target in markdown.targets(text):
            name, _, anchor = target.partition("#")
            if ":" in name:
                continue
            page = posixpath.normpath(posixpath.join(posixpath.dirname(place), name or "."))
            page = page if name else place
            if page not in pages or (anchor and anchor not in anchors[page]):
                dead.append(f"{place}: {target}")
    assert dead == []


def test_zensical_builds_the_site_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "BUILD", tmp_path / "site")
    monkeypatch.setattr(sys, "argv", ["docs_site", "--no-playground", "--out", str(tmp_path)])
    assert command.main() == 0, capfd.readouterr()
    built = tmp_path / namecheck.__version__
    pages = [Path(page) for page in staging.staged(playground=False)]
    folders = [page.parent if page.stem in STARTS else page.with_suffix("") for page in pages]
    assert [folder for folder in folders if not (built / folder / "index.html").is_file()] == []


@pytest.mark.parametrize("playground", [True, False])
def test_the_navigation_lists_every_page_once(pages: Pages, playground: bool) -> None:
    listed = staging.navigation(staging.configuration(playground=playground))
    shown = [place for place in listed if not place.startswith("playground/")]
    assert (len(listed) > len(shown)) is playground
    # Files that pages link to are reached by these links.
    assert sorted(shown) == sorted(p for p in pages if not p.startswith("repository/"))


def test_the_playground_is_linked_only_where_it_is() -> None:
    text = "\n".join(staging.staged(playground=False).values())
    assert 'class="try"' not in text
    assert 'href="playground' not in text


def test_a_program_is_what_its_link_to_the_playground_opens(pages: Pages) -> None:
    page = pages["codes/nc101.md"]
    program, fragment = re.findall(
        r"```python\n(.*?)```\n\n<p class=\"try\"><a href=\"../playground/index.html#(.*?)\">",
        page,
        re.S,
    )[0]
    fields = parse_qs(fragment)
    code = fields["code"][0]
    data = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))
    assert zlib.decompress(data, -zlib.MAX_WBITS).decode() == program
    assert (fields["evidence"], fields["semantics"]) == (["declared"], ["namecheck"])
    assert "evidence=observed" in pages["evidence.md"]
    assert "semantics=torch-2.12" in pages["codes/nc120.md"]


def test_a_code_has_a_page_with_its_programs_and_what_is_printed(pages: Pages) -> None:
    for code in register().values():
        page = pages[codes.path(code)]
        assert code.summary in page
        if code.bad:
            assert f"{code.bad}\n```" in page
            assert f"{code.good}\n```" in page
        if code.bad and code.code != "NC301":
            assert f">{code.code} {code.name}</span>" in page


def test_the_page_of_the_api_has_every_public_name() -> None:
    shown = {name.rpartition(".")[2] for name in re.findall(r"^::: (.*)$", API, re.MULTILINE)}
    assert shown == {*namecheck.__all__} - {"__version__"}


def test_a_screen_has_what_the_command_prints() -> None:
    program = 'import torch\n\nx = torch.ones(2, names=("N",)).sum("M") < 1\n'
    mark = "<!-- screen: check mistake.py | 1-4 -->"
    page = with_screens(f"```python\n{program}```\n\n{mark}\n\n```text\nold\n```\n\nThe end.\n")
    expected = (
        "$ namecheck check mistake.py\n"
        "NC103 name-not-found: Name 'M' not found in Tensor['N'].\n"
        " --> mistake.py:3:5\n"
        "  |\n"
        f"3 | {program.splitlines()[2]}\n"
        "[…]\n"
    )
    assert page.endswith(f"{mark}\n\n```text\n{expected}```\n\nThe end.\n")
    assert with_screens(page) == page
    screen = Screen.of(mark)
    assert screen is not None
    shown = screens.as_html("namecheck check mistake.py", screen.output(program, colored=True))
    assert html.unescape(re.sub(r"<.*?>", "", shown)) == expected.rstrip("\n")
    assert '<span class="ansi-1 ansi-31">NC103 name-not-found</span>' in shown


def test_a_screen_of_a_command_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="exit code 2"):
        with_screens("<!-- screen: check --select NONSENSE fixtures/tour.py -->\n")


def test_the_list_of_versions_leads_to_the_newest_release(tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0", "0.11.0.dev1"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").touch()
    versions.write(tmp_path, "0.2.0")
    listed: list[dict[str, Any]] = json.loads((tmp_path / "versions.json").read_text())
    assert [entry["version"] for entry in listed] == ["0.11.0.dev1", "0.10.0", "0.9.0", "0.2.0"]
    assert [entry["aliases"] for entry in listed] == [[], ["latest"], [], []]
    assert 'href="0.10.0/"' in (tmp_path / "index.html").read_text()


def test_the_site_asks_no_other_host() -> None:
    """The theme would load fonts from one."""
    project = tomllib.loads(staging.configuration(playground=True))["project"]
    assert project["theme"]["font"] is False
    assert "extra_javascript" not in project
