"""The pages of the repository as pages of the site.

A link to a file that is not documentation leads to a page that shows the file. Blocks of code
get what the generator of the site understands, and a link to the playground if it can check them.
"""

from __future__ import annotations

import base64
import posixpath
import zlib
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode

from namecheck import project
from namecheck.core.findings import register
from namecheck.core.semantics import Semantics
from namecheck.project.settings import Settings
from tests.docs_site import codes, screens
from tests.docs_site.markdown import Fence, parts, with_links
from tests.docs_site.screens import ROOT, Screen

# Files of the repository whose pages have another place in the site.
_PLACES: Final = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "LICENSE": "licence.md",
    "README.md": "index.md",
    "docs/codes.md": "codes/index.md",
    "docs/site/api.md": "api.md",
}
_LANGUAGES: Final = {".md": "markdown", ".py": "python", ".toml": "toml", ".yml": "yaml"}


def place(source: str) -> str:
    """The page of the site for a file of the repository."""
    if source in _PLACES:
        return _PLACES[source]
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return f"repository/{source}" if source.endswith(".md") else f"repository/{source}.md"


class Page:
    """One page of the site, from a file of the repository."""

    def __init__(self, source: str, *, playground: bool) -> None:
        self.source = source
        self.place = place(source)
        self._playground = playground
        self.links: set[str] = set()

    def text(self) -> str:
        """The page, as Markdown; `links` then has the files that it links to."""
        text = (ROOT / self.source).read_text("utf-8")
        if not self.source.endswith(".md"):
            text = _shown(self.source, text)
        return "\n".join(self.converted(text)) + "\n"

    def converted(self, text: str) -> Iterator[str]:
        """The lines of a page for the site."""
        screen, program = None, ""
        for part in parts(text):
            if isinstance(part, Fence) and screen is not None:
                output = screen.output(program, colored=True)
                yield screens.as_html(f"namecheck {screen.command}", output)
                screen = None
            elif isinstance(part, Fence):
                yield from self._fence(part)
                program = part.text if part.language == "python" else program
            else:
                screen = Screen.of(part) or screen
                yield with_links(part, self._link)

    def _link(self, target: str) -> str:
        name, _, anchor = target.partition("#")
        if ":" in name or not name:
            return target
        source = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), name))
        path = ROOT / source
        if path.is_dir():
            source = f"{source}/README.md"
        if anchor.upper() in register() and source == "docs/codes.md":
            linked, anchor = codes.path(register()[anchor.upper()]), ""
        else:
            self.links.add(source)
            linked = place(source)
        relative = posixpath.relpath(linked, posixpath.dirname(self.place) or ".")
        return f"{relative}#{anchor}" if anchor else relative

    def _fence(self, fence: Fence) -> Iterator[str]:
        yield from (f"```{fence.language}", *fence.lines, "```")
        if self._playground and fence.language == "python" and "import" in fence.text:
            fragment = _fragment(fence)
            if fragment is not None:
                folder = posixpath.dirname(self.place) or "."
                address = f"{posixpath.relpath('playground/index.html', folder)}#{fragment}"
                yield from ("", f'<p class="try"><a href="{address}">Try it</a></p>')


def _shown(source: str, text: str) -> str:
    """A page that shows a file."""
    language = _LANGUAGES.get(posixpath.splitext(source)[1], "text")
    return f"# {posixpath.basename(source)}\n\n```{language}\n{text.rstrip()}\n```\n"


def _fragment(fence: Fence) -> str | None:
    """The address of a program in the playground; None for one without anything to see there."""
    semantics = Semantics(fence.arguments) if fence.arguments else Semantics.NAMECHECK
    data = fence.text.encode()
    for evidence in ("declared", "observed"):
        settings = Settings(semantics=semantics, evidence=evidence, attributes="all")
        if project.check_text(data, "program.py", settings).findings or (
            evidence == "declared" and settings.names_dims(data)
        ):
            compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
            packed = compressor.compress(data) + compressor.flush()
            code = base64.urlsafe_b64encode(packed).decode().rstrip("=")
            switches = {"evidence": evidence, "semantics": semantics.value}
            return urlencode({"code": code, **switches})
    return None
