"""The files of a project as imports find them; modules are looked up, never imported.

A dotted name is searched from the folder that contains the importing file's package, or from its
own folder if it is in no package; then from the folders above it that contain a package around it,
or have a ``conftest.py``; then from the root of the project and its ``src``. A folder without
``__init__.py`` is a package if no file and no real package has the name. The standard library and
the libraries that namecheck models are never searched in the project.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

from namecheck.core import syntax
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.syntax import Refused, Source
from namecheck.project.disk import OWN, Disk

_KNOWN: Final = ("einops", "jaxtyping", "namecheck", "numpy", "torch", "typing_extensions")
_LIBRARIES: Final = sys.stdlib_module_names.union(_KNOWN)
INIT: Final = "__init__.py"
ROOT_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
# In the pattern of imports ~ matches whatever may be between two words of a statement. A text costs
# no more than its length: no repetition gives back what it has matched, and none but that of a
# comment reaches over an opening bracket. Atomic groups say so: `(...)*+` is wrong before 3.11.5.
_BLANK: Final = rb"(?:[ \t]|\\\r?\n)"
_STATEMENT: Final = (
    rb"[ \t]*+(?:from(?>~+)(\.*+)(?>~*)((?>(?:(?!import(?![\w.]))[\w.]++)?))(?>~*)"
    rb"import(?![\w.])(?>~*)"
    rb"(\((?>(?:[^()#]++|#[^\n]*+)*)\)|(?>(?:\\\r?\n|[^\n#;])*))"
    rb"|import(?>~+)([\w.]++(?>(?:(?>~*)(?>(?:as(?>~+)\w++)?)(?>~*),(?>~*)[\w.]++)*)))"
).replace(b"~", _BLANK)
_IMPORT: Final = rb"^" + _STATEMENT
# A search for imports anywhere takes three times as long, and few files have one inside a line.
_INNER_IMPORT: Final = rb"(?:^|[;:])" + _STATEMENT
_INNER: Final = tuple(
    mark + word for mark in (b"; ", b";", b": ") for word in (b"from ", b"import ")
)
# What may be before a name, in its line, where it is bound: more than that is no harm.
_BEFORE_BOUND: Final = re.compile(
    rb"[ \t]*(?:(?:(?:async[ \t]+)?def|class)[ \t]+|(?:\w+[ \t]*,[ \t]*)*)$"
    rb"|.*\b(?:as|for|import)\b|.*\[[\"']$"
)
_STAR: Final = rb"import[ \t]*\*"
_WORD: Final = r"\w+"
_DOTTED: Final = r"[\w.]+"

NOTHING: Final[Mapping[str, bytes]] = MappingProxyType({})
"""No contents that differ from those on the disk."""


Query: TypeAlias = tuple[str, int, str]
"""A look-up of a module: the importing file, the number of leading dots, the name."""


def is_library(name: str) -> bool:
    """Whether a module is of the standard library or one that namecheck models: never searched."""
    return name.partition(".")[0] in _LIBRARIES


@dataclass(slots=True)
class Reads:
    """The files that were read, and the lookups of modules with their results."""

    locations: set[str] = field(default_factory=set)
    lookups: dict[Query, str | None] = field(default_factory=dict)

    def join(self, reads: Reads) -> None:
        """Add other reads."""
        self.locations |= reads.locations
        self.lookups |= reads.lookups


class ProjectFiles:
    """Finds and reads files, each once; a location is an absolute path.

    The `overlay` has contents of files that replace those on the disk. Files and lookups are added
    to `reads`.
    """

    def __init__(
        self,
        overlay: Mapping[str, bytes] = NOTHING,
        reads: Reads | None = None,
        disk: Disk = OWN,
    ) -> None:
        self._overlay = overlay
        self._disk = disk
        self._reads = Reads() if reads is None else reads
        self._sources: dict[str, Source | None] = {}
        self._matters: dict[str, bool] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self._list = cache(disk.listing)
        self._texts = cache(self._text_and_stars)
        self._roots = cache(self._roots_of)
        self._characters = self._nodes = 0
        self._uncounted: list[Source] = []

    # Sources

    def read(self, location: str) -> bytes | None:
        """The contents of a Python file; None for a folder and for an unreadable file."""
        data = self._overlay.get(location)
        if data is None and not location.endswith((".py", ".pyi")):
            return None
        self._reads.locations.add(location)
        if data is not None:
            return data
        try:
            return self._disk.contents(location)
        except OSError:
            return None

    def add(self, location: str, source: Source) -> None:
        """Store a file that was read elsewhere."""
        self._store(location, source)
        self._matters[location] = syntax.names_something(source.text.encode("utf-8", "replace"))

    def stored(self, location: str) -> Source | None:
        """A file that is stored."""
        return self._sources.get(location)

    def source(self, location: str) -> Source | None:
        """The parsed file; None for a folder and for an unreadable file."""
        if location not in self._sources:
            data = self.read(location)
            try:
                source = None if data is None else syntax.parse(data, location)
            except Refused:
                source = None
            self._store(location, source)
        return self._sources[location]

    def _store(self, location: str, source: Source | None) -> None:
        self._sources[location] = source
        if source is not None:
            self._characters += len(source.text)
            self._uncounted.append(source)

    def has_more_nodes(self, limit: int) -> bool:
        """Whether the trees of all stored files have more nodes than this."""
        if self._characters <= limit:  # a node has at least one
            return False
        self._nodes += sum(source.nodes for source in self._uncounted)
        self._uncounted.clear()
        return self._nodes > limit

    def matters(self, location: str) -> bool:
        """Whether a file names dimensions."""
        if location not in self._matters:
            data = self.read(location)
            self._matters[location] = data is not None and syntax.names_something(data)
        return self._matters[location]

    def may_bind(self, location: str, name: str) -> bool:
        """Whether a file may bind a name, or one of which it imports all names; by its text."""
        name_bytes, open_, visited = name.encode(), [location], set[str]()
        while open_:
            place = open_.pop()
            if place in visited:
                continue
            visited.add(place)
            data, stars = self._texts(place)
            if _may_bind(data, name_bytes):
                return True
            open_ += stars
        return False

    def _text_and_stars(self, location: str) -> tuple[bytes, tuple[str, ...]]:
        """The contents of a file, and the files of which it imports all names."""
        data = self.read(location)
        if data is None and not location.endswith(".py"):
            return b"", ()
        starred = [] if data is None else self._starred(location, data)
        return data or b"", tuple(filter(None, starred))

    def _starred(self, location: str, data: bytes) -> Iterator[str | None]:
        if not re.search(_STAR, data):
            return
        pattern = _INNER_IMPORT if any(inner in data for inner in _INNER) else _IMPORT
        for dots, module, names, _ in re.findall(pattern, data, re.MULTILINE):
            if b"*" in names:
                yield self.find(location, len(dots), module.decode("utf-8", "replace"))

    def imported(self, location: str, data: bytes) -> frozenset[str]:
        """The files that a file imports, or may import names from; found without parsing it."""
        return frozenset(filter(None, self._imported(location, data)))

    def _imported(self, location: str, data: bytes) -> Iterator[str | None]:
        pattern = _INNER_IMPORT if any(inner in data for inner in _INNER) else _IMPORT
        for dots, module, names, plain in re.findall(pattern, data, re.MULTILINE):
            if plain:
                for dotted in re.findall(_DOTTED, plain.decode("utf-8", "replace")):
                    yield self.find(location, 0, dotted)
                continue
            module_location = self.find(location, len(dots), module.decode("utf-8", "replace"))
            yield module_location
            if module_location is not None and (
                module_location.endswith(INIT) or not module_location.endswith(".py")
            ):
                for word in re.findall(_WORD, names.decode("utf-8", "replace")):
                    yield self.member(module_location, word)

    # Names

    def name(self, location: str) -> str:
        """The dotted name of a module."""
        folder, file = os.path.split(location)
        parts = [] if file == INIT else [os.path.splitext(file)[0]]
        while INIT in self._list(folder):
            folder, package = os.path.split(folder)
            parts.insert(0, package)
        return ".".join(parts)

    def find(self, importer: str, level: int, name: str) -> str | None:
        """The file or folder of a module that a file imports; None for one outside the project."""
        if not level and is_library(name):
            return None
        location = self._reads.lookups[importer, level, name] = self._find(importer, level, name)
        return location

    def _find(self, importer: str, level: int, name: str) -> str | None:
        folder = os.path.dirname(importer)
        parts = name.split(".") if name else []
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._below(folder, parts)
        if not parts:
            return None
        key = folder, name
        if key not in self._found:
            self._found[key] = self._absolute(folder, parts)
        return self._found[key]

    def member(self, package: str, name: str) -> str | None:
        """The module with this name in a package."""
        if not package.endswith(".py"):
            return self.find(os.path.join(package, INIT), 1, name)
        return self.find(package, 1, name) if os.path.basename(package) == INIT else None

    def _absolute(self, folder: str, parts: list[str]) -> str | None:
        for real in (True, False):
            for root in self._roots(folder):
                first = self._child(root, parts[0])
                if first is not None and first.endswith(".py") is real:
                    location = self._below(root, parts)
                    if real or location is not None:
                        return location
        return None

    def _below(self, folder: str, parts: list[str]) -> str | None:
        location: str | None = self._package(folder)
        for part in parts:
            location = self._child(folder, part)
            if location is None:
                return None
            folder = os.path.join(folder, part)
        return location

    def _package(self, folder: str) -> str:
        return os.path.join(folder, INIT) if INIT in self._list(folder) else folder

    def _child(self, folder: str, name: str) -> str | None:
        """The module, package or folder with this name in a folder."""
        listing = self._list(folder)
        inner = os.path.join(folder, name)
        if name in listing and INIT in self._list(inner):
            return os.path.join(inner, INIT)
        if f"{name}.py" in listing:
            return f"{inner}.py"
        return inner if name in listing and self._holds_python(inner) else None

    def _holds_python(self, folder: str, depth: int = 0) -> bool:
        """Whether a folder contains modules at any depth; a folder of data is no package."""
        listing = self._list(folder)
        if any(name.endswith(".py") for name in listing):
            return True
        return depth < 2 and any(
            self._holds_python(os.path.join(folder, name), depth + 1)
            for name in listing
            if name.isidentifier()
        )

    # Roots

    def _roots_of(self, folder: str) -> tuple[str, ...]:
        """The folders where absolute imports of a folder's files are searched, in order."""
        package = folder
        while INIT in self._list(package) and os.path.dirname(package) != package:
            package = os.path.dirname(package)
        roots = [package]
        above = package
        while os.path.dirname(above) != above and not self._is_root(above):
            inner, above = above, os.path.dirname(above)
            if INIT in self._list(above):
                continue
            if INIT in self._list(inner) or "conftest.py" in self._list(above):
                roots.append(above)
        root = above if self._is_root(above) else self._working_folder(folder)
        if root is not None:
            roots += [root, os.path.join(root, "src")]
        return tuple(dict.fromkeys(roots))

    def _is_root(self, folder: str) -> bool:
        return any(mark in self._list(folder) for mark in ROOT_MARKS)

    def _working_folder(self, folder: str) -> str | None:
        """The folder that the command runs in, for the files below it."""
        here = self._disk.working_folder
        return here if folder == here or folder.startswith(os.path.join(here, "")) else None


def _may_bind(data: bytes, name_bytes: bytes) -> bool:
    """Whether a text may bind a name, by the lines that have it."""
    at = data.find(name_bytes)
    while at >= 0:
        if _BEFORE_BOUND.match(data, data.rfind(b"\n", 0, at) + 1, at):
            return True
        at = data.find(name_bytes, at + len(name_bytes))
    return False
