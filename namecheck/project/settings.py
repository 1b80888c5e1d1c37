"""The settings: ``[tool.namecheck]`` of a pyproject.toml, overridden by the command line.

Patterns are those of a shell. A pattern with a slash (``tests/*``) is matched against the path
relative to the pyproject.toml, one without (``build``, ``*_pb2.py``) against the name alone. A path
on the command line is checked even if a pattern excludes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from namecheck.core import findings, regular_files, syntax
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.evidence import Evidence
from namecheck.core.regular_files import reason_of
from namecheck.core.semantics import Semantics
from namecheck.report import formats

if TYPE_CHECKING:
    from namecheck.operators import Inference, Operator

LARGEST_SETTINGS: Final = 1_000_000
"""The number of bytes from which on a file of settings, or a table of operators, is too large."""

_LONGEST_SHOWN: Final = 200
COLORS: Final = ("auto", "always", "never")
SYNTAX: Final = ("auto", "all", "named")
ATTRIBUTES: Final = ("named", "all")
EVIDENCE: Final = tuple(evidence.value for evidence in Evidence)
ALWAYS_EXCLUDED: Final = (
    ".*",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


class SettingsError(Exception):
    """Invalid settings; the message names the file and the key."""


@dataclass(frozen=True)
class Settings:
    """The settings: which files are checked, and how findings are reported.

    `root` is the directory that patterns and paths are relative to. `syntax` says which files
    without dimension names are parsed: all of them, none (``named``), or (``auto``) all but those
    of very large trees. `attributes` says which files are checked for dtypes and other attributes:
    those that name dimensions (``named``), or ``all`` that import torch. `evidence` says what names
    dimensions: declarations, or also unpacked sizes (``observed``). `torch` is the required
    torch (``>=2.13``), by default that of the project's dependencies. `baseline` is the file of the
    findings that are accepted for now. Files of more bytes than `max_file_size` are not checked.
    `tables` has the texts of `extend_operators`, each with its file, on a machine that does not
    have these files.
    """

    root: str = "."
    semantics: Semantics = Semantics.NAMECHECK
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    include: tuple[str, ...] = ("*.py", "*.pyi")
    exclude: tuple[str, ...] = ()
    extend_operators: tuple[str, ...] = ()
    output_format: str = "full"
    color: str = "auto"
    syntax: str = "auto"
    attributes: str = "named"
    evidence: str = "declared"
    cache_dir: str | None = None
    baseline: str | None = None
    torch: str = ""
    max_file_size: int | None = None
    tables: tuple[tuple[str, str], ...] | None = None

    @property
    def removed_api(self) -> bool:
        """Whether the required torch has no named tensors."""
        return requires(f"torch{self.torch}", _WITHOUT_NAMES)

    @property
    def checks_all(self) -> bool:
        """Whether the attributes of all files that import torch are checked."""
        return self.attributes == "all"

    @property
    def observes(self) -> bool:
        """Whether reading the sizes of a tensor names its dimensions."""
        return Evidence(self.evidence).is_observed

    def names_dims(self, data: bytes) -> bool:
        """Whether a file can name a dimension."""
        if syntax.names_something(data) or (self.observes and syntax.unpacks_sizes(data)):
            return True
        return Evidence(self.evidence).is_claimed and syntax.imports_torch(data)

    @cached_property
    def selected(self) -> frozenset[str]:
        """The codes to report; those of unreadable files are included unless ignored."""
        always = {
            code.code
            for code in findings.register().values()
            if code.kind in (findings.Kind.FILE, findings.Kind.NOTE)
        }
        chosen = findings.matching(self.select) | always
        return frozenset(chosen - findings.matching(self.ignore) | {"NC005"})

    def holds_back(self, finding: findings.Finding) -> bool:
        """Whether a finding of a doubtful code is left out in a file that declares no dims."""
        if not finding.plain or finding.assured:
            return False
        if not findings.register()[finding.code].doubtful:
            return False
        return finding.code not in self._named_codes

    @cached_property
    def _named_codes(self) -> frozenset[str]:
        """The codes that `select` names, alone or by a prefix."""
        return findings.matching(word for word in self.select if word.upper() != "ALL")

    def selected_in(self, path: str) -> frozenset[str]:
        """The codes to report in one file."""
        if not self.per_file_ignores:
            return self.selected
        ignored: frozenset[str] = frozenset()
        for pattern, words in self.per_file_ignores.items():
            if self._is_under(path, pattern):
                ignored |= findings.matching(words)
        return self.selected - ignored | {"NC005"}

    def excludes(self, path: str) -> bool:
        """Whether a walk excludes this file or directory."""
        return self._meets(path, self._excluded)

    def takes(self, path: str) -> bool:
        """Whether a walk includes this file."""
        return self._meets(path, self._included) and not self.excludes(path)

    @cached_property
    def _excluded(self) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
        return _patterns((*ALWAYS_EXCLUDED, *self.exclude))

    @cached_property
    def _included(self) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
        return _patterns(self.include)

    def _meets(self, path: str, patterns: tuple[re.Pattern[str], re.Pattern[str] | None]) -> bool:
        of_names, of_paths = patterns
        if of_names.match(os.path.basename(path)):
            return True
        return of_paths is not None and of_paths.match(self._relative(path)) is not None

    def _is_under(self, path: str, pattern: str) -> bool:
        relative, pattern = self._relative(path), _bare(pattern)
        if "/" not in pattern:
            return any(fnmatchcase(part, pattern) for part in relative.split("/"))
        return fnmatchcase(relative, pattern) or fnmatchcase(relative, f"{pattern}/*")

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self.root).replace(os.sep, "/")

    def over(self, **overrides: Any) -> Settings:
        """These settings, overridden by those of the command line that are not None."""
        options = {key: value for key, value in overrides.items() if value is not None}
        if "ignore" in options:
            options["ignore"] = self.ignore + tuple(options["ignore"])
        return replace(self, **options)

    @cached_property
    def inferences(self) -> dict[Hashable, Inference]:
        """The cache of rule results, shared by all files with these settings."""
        return {}

    def rows(self) -> Mapping[str, Operator] | None:
        """The operators, with the user's rows instead of some; None for the table alone.

        Raises `SettingsError` for an invalid file or row.
        """
        tables = self.operator_tables()
        return _rows(tables) if tables else None

    def operator_tables(self) -> tuple[tuple[str, str], ...]:
        """The files with further rows of operators, each with its text; raises `SettingsError`."""
        if self.tables is not None:
            return self.tables
        return tuple((file, _text(file)) for file in self.extend_operators)


def _patterns(patterns: Sequence[str]) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """One pattern for names, and one for paths if any pattern has a slash."""
    bare = [_bare(pattern) for pattern in patterns]
    names = [translate(pattern) for pattern in bare if "/" not in pattern]
    paths = [translate(pattern) for pattern in bare if "/" in pattern]
    of_paths = re.compile("|".join(paths)) if paths else None
    return re.compile("|".join(names) or r"(?!)"), of_paths


def _bare(pattern: str) -> str:
    return pattern.removeprefix("./").rstrip("/")


def _text(file: str) -> str:
    try:
        data = regular_files.contents(file, LARGEST_SETTINGS)
    except OSError as error:
        raise SettingsError(f"extend-operators: cannot read {file}: {reason_of(error)}") from error
    return _decoded(data, file)


@cache
def _rows(tables: tuple[tuple[str, str], ...]) -> Mapping[str, Operator]:
    from namecheck import operators

    extended: dict[str, Operator] = {}
    for file, text in tables:
        try:
            extended.update(operators.read(text, file))
        except operators.TableError as error:
            raise SettingsError(str(error)) from error
    return operators.extended(extended)


def _decoded(data: bytes, path: str) -> str:
    """The text of a TOML file, which may begin with a byte order mark; raises `SettingsError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        from namecheck.project.toml_lines import key_at

        line = data.count(b"\n", 0, error.start) + 1
        key = ".".join(key_at(data.decode("utf-8", "replace"), line))
        where = f"{path}:{line}: {key}: " if key else f"{path}:{line}: "
        raise SettingsError(f"{where}the byte 0x{data[error.start]:02x} is no UTF-8") from error


def _parsed(data: bytes, path: str) -> dict[str, Any]:
    """The contents of a TOML file; raises `SettingsError`."""
    from namecheck.core import toml

    text = _decoded(data, path)
    try:
        return toml.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from error


def parents(directory: str) -> Iterator[str]:
    """The directories above one, the nearest first, as absolute paths."""
    here = os.path.abspath(directory)
    while os.path.dirname(here) != here:
        here = os.path.dirname(here)
        yield here


def places(directory: str) -> Iterator[str]:
    """The files that may hold the settings of a directory, the nearest first."""
    for folder in (os.path.abspath(directory), *parents(directory)):
        yield os.path.join(folder, "pyproject.toml")


def above(directory: str) -> Settings:
    """The settings of the nearest pyproject.toml, from a directory upward, that has a section.

    A nearer pyproject.toml without a section decides the required torch, if it depends on torch.
    Raises `SettingsError`.
    """
    torch = ""
    for folder in (directory, *parents(directory)):
        settings = of_directory(folder)
        if settings is not None:
            return replace(settings, torch=torch or settings.torch)
        torch = torch or torch_of_directory(folder)
    return Settings(torch=torch)


def of_directory(directory: str) -> Settings | None:
    """The settings in the pyproject.toml of exactly this directory, if it has the section."""
    path = os.path.join(directory, "pyproject.toml")
    data = _contents(path)
    # In UTF-16, which is an error, each letter has a NUL byte.
    return read(data, path) if b"namecheck" in data.replace(b"\0", b"") else None


def torch_of_directory(directory: str) -> str:
    """The torch versions that the pyproject.toml of exactly this directory depends on, if any."""
    data = _contents(os.path.join(directory, "pyproject.toml"))
    if b"torch" not in data:
        return ""
    try:
        return _torch_of(_parsed(data, directory))
    except SettingsError:
        return ""  # errors in a file without a namecheck section are not namecheck's to report


def _contents(path: str) -> bytes:
    try:
        return regular_files.contents(path, LARGEST_SETTINGS)
    except FileNotFoundError:
        return b""
    except OSError as error:
        if isinstance(error, PermissionError) and not os.access(os.path.dirname(path), os.X_OK):
            return b""  # a walk tells of the folder
        raise SettingsError(f"{path}: {reason_of(error)}") from error


def project_root(directory: str) -> str:
    """The nearest directory upward with a pyproject.toml, else the directory itself."""
    for place in places(directory):
        if os.path.isfile(place):
            return os.path.relpath(os.path.dirname(place), directory)
    return directory


def read(data: bytes, path: str) -> Settings | None:
    """The settings in one pyproject.toml, None without a section; raises `SettingsError`."""
    pyproject = _parsed(data, path)
    tool = pyproject.get("tool")
    section = tool.get("namecheck") if isinstance(tool, dict) else None
    if section is None:
        return None
    if not isinstance(section, dict):
        raise _at(data, path, "[tool.namecheck] is a table of settings")
    options: dict[str, Any] = {"root": os.path.dirname(path) or "."}
    options["torch"] = _torch_of(pyproject)
    for key, value in section.items():
        if key not in _READERS:
            unknown = f"[tool.namecheck] has an unknown key '{key}'{_near(key)}"
            raise _at(data, path, unknown, key)
        try:
            options[key.replace("-", "_")] = _READERS[key](value)
        except _PatternError as error:
            raise _at(data, path, f"[tool.namecheck] {key}: {error}", key, error.pattern) from error
        except ValueError as error:
            raise _at(data, path, f"[tool.namecheck] {key}: {error}", key) from error
    files = options.get("extend_operators", ())
    for key in options.keys() & {"cache_dir", "baseline"}:
        options[key] = os.path.join(options["root"], options[key])
    options["extend_operators"] = tuple(os.path.join(options["root"], file) for file in files)
    return Settings(**options)


def _at(data: bytes, path: str, message: str, *keys: str) -> SettingsError:
    """An error with the line of a key of our section."""
    from namecheck.project.toml_lines import line_of

    line = line_of(data.decode("utf-8-sig"), "tool", "namecheck", *keys)
    return SettingsError(f"{path}:{line}: {message}")


_WITHOUT_NAMES: Final = (2, 13)
_REQUIREMENT: Final = r"\s*+torch(?![\w.-])\s*+(?:\[[^\]]*+\]\s*+)?\(?+(?P<versions>[^;)]*+)"
_LOWEST: Final = r"(?:>=|==|~=|>|\^)\s*(\d{1,9})(?:\.(\d{1,9}))?"
_BOUND: Final = r"(?:>=?|<=?|==|~=|\^)\s*\d"


def requires(requirement: str, version: tuple[int, int]) -> bool:
    """Whether a requirement (``torch>=2.13,<3``) needs at least this version of torch."""
    match = re.fullmatch(_REQUIREMENT, requirement.partition(";")[0])
    lowest = re.findall(_LOWEST, match["versions"]) if match else ()
    return any((int(major), int(minor or 0)) >= version for major, minor in lowest)


def _torch_of(pyproject: Mapping[str, Any]) -> str:
    """The torch versions that a project depends on, from its own pyproject.toml."""
    for requirement in _items(_within(pyproject, "project", "dependencies")):
        if isinstance(requirement, str) and (match := re.match(_REQUIREMENT, requirement)):
            return match["versions"].strip()
    requirement = _within(pyproject, "tool", "poetry", "dependencies", "torch")
    versions = requirement.get("version") if isinstance(requirement, dict) else requirement
    return versions if isinstance(versions, str) and re.match(_BOUND, versions) else ""


def _within(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _versions(value: Any) -> str:
    text = _string(value)
    if not re.match(_BOUND, text):
        raise ValueError(f'versions like ">=2.13" are wanted, not {_shown(value)}')
    return text


def _near(key: str) -> str:
    from namecheck.core.nearest import nearest

    close = nearest(key, _READERS)
    return f"; did you mean '{close}'?" if close else f"; the keys are {', '.join(_READERS)}"


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"a list of strings is wanted, not {_shown(value)}")
    return tuple(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a string is wanted, not {_shown(value)}")
    return value


def _path(value: Any) -> str:
    text = _string(value)
    if "\0" in text:
        raise ValueError(f"no path has a NUL character, as {_shown(value)} has")
    return text


def _paths(value: Any) -> tuple[str, ...]:
    return tuple(map(_path, _strings(value)))


def _size(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"a number of bytes is wanted, not {_shown(value)}")
    return value


def value(key: str, setting: Any) -> Any:
    """The value of one setting, as `Settings` has it; raises ValueError."""
    try:
        return _READERS[key](setting)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def codes(words: Sequence[str]) -> tuple[str, ...]:
    """Words that each name a code, checked; raises ValueError for the first that does not."""
    try:
        findings.matching(words)
    except KeyError as error:
        raise ValueError(no_code(error.args[0])) from error
    return tuple(words)


def no_code(word: str) -> str:
    """The error message for a word that names no code."""
    from namecheck.core.nearest import nearest

    names = [name for code in findings.register().values() for name in (code.code, code.name)]
    close = nearest(word.upper() if word[:2].upper() == "NC" else word, names)
    hint = f"did you mean '{close}'?" if close else "`namecheck rule` lists them"
    return f"there is no code '{word}'; {hint}"


def _codes_by_pattern(value: Any) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError(f'a table like {{ "tests/*" = ["NC101"] }} is wanted, not {_shown(value)}')
    return {pattern: _codes_of(pattern, words) for pattern, words in value.items()}


class _PatternError(ValueError):
    """The codes of a pattern are wrong."""

    def __init__(self, pattern: str, message: str) -> None:
        super().__init__(f"{pattern!r}: {message}")
        self.pattern = pattern


def _codes_of(pattern: str, value: Any) -> tuple[str, ...]:
    try:
        return codes(_strings(value))
    except ValueError as error:
        raise _PatternError(pattern, str(error)) from error


def semantics(value: Any) -> Semantics:
    """The semantics with this name; raises ValueError."""
    return Semantics(_choice(tuple(each.value for each in Semantics))(value))


def _choice(allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(allowed)} is wanted, not {_shown(value)}")
        return str(value)

    return check


def _shown(value: Any) -> str:
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "semantics": semantics,
    "select": lambda value: codes(_strings(value)),
    "ignore": lambda value: codes(_strings(value)),
    "per-file-ignores": _codes_by_pattern,
    "include": _strings,
    "exclude": _strings,
    "extend-operators": _paths,
    "output-format": lambda value: _choice(formats.names())(value),
    "color": _choice(COLORS),
    "syntax": _choice(SYNTAX),
    "attributes": _choice(ATTRIBUTES),
    "evidence": _choice(EVIDENCE),
    "cache-dir": _path,
    "baseline": _path,
    "torch": _versions,
    "max-file-size": _size,
}
