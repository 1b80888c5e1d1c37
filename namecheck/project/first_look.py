"""The features of a project that its settings depend on: searched in its files, not analysed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from namecheck.core import regular_files, syntax
from namecheck.core.dataclasses import dataclass
from namecheck.project import settings as configuration
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry

# The ways in which files name dimensions, with a pattern for each.
_WAYS: Final = (
    ("jaxtyping", rb"\bjaxtyping\b"),
    ("Annotated", rb"\bAnnotated\[[^\]]*Tensor"),
    ("torchtyping", rb"\btorchtyping\b"),
    ("named tensors", rb"\bnames\s*=\s*[\[(\"']|\b(?:refine_names|align_to|align_as)\b"),
)
_NATIVE: Final = "named tensors"
_OTHER: Final = "other means"
_SERVICES: Final = (
    ".github/workflows",
    ".gitlab-ci.yml",
    ".pre-commit-config.yaml",
    "azure-pipelines.yml",
    "Jenkinsfile",
)
_REQUIREMENTS: Final = r"requirements[\w.-]*\.(?:txt|in)"
_REQUIRED: Final = r"torch\s*+(?:\[[^\]]*+\]\s*+)?([<>=~!][^;#]*+)(?:[;#].*)?"


@dataclass(frozen=True)
class FirstLook:
    """A project: how many of its files import torch, and how many name dimensions in which way.

    `unpacking` files have names of their own for sizes: ``B, T = x.shape``. `torch` has the
    required versions, and `torch_from` the file that requires them. `services` are its files for
    continuous integration.
    """

    importing: int
    naming: tuple[tuple[str, int], ...]
    unpacking: int
    torch: str
    torch_from: str
    services: tuple[str, ...]

    @property
    def names_dimensions(self) -> bool:
        """Whether any file names dimensions."""
        return any(count for _, count in self.naming)

    @property
    def is_native(self) -> bool:
        """Whether files use the named tensors that torch 2.13 removed."""
        return bool(dict(self.naming)[_NATIVE])


def look(root: str, entries: Sequence[Entry]) -> FirstLook:
    """Look at the files of a project."""
    importing, unpacking, naming = 0, 0, dict.fromkeys((*(way for way, _ in _WAYS), _OTHER), 0)
    for entry in entries:
        try:
            data = regular_files.contents(entry.location)
        except OSError:
            continue
        importing += syntax.imports_torch(data)
        unpacking += syntax.unpacks_sizes(data)
        if syntax.names_something(data):
            ways = [way for way, words in _WAYS if re.search(words, data)]
            for way in ways or [_OTHER]:
                naming[way] += 1
    services = tuple(each for each in _SERVICES if os.path.exists(os.path.join(root, each)))
    torch, source = _torch(root)
    return FirstLook(importing, tuple(naming.items()), unpacking, torch, source, services)


def _torch(root: str) -> tuple[str, str]:
    """The versions of torch that a project requires, and the file that requires them."""
    if required := configuration.torch_of_directory(root):
        return required, "pyproject.toml"
    for name in sorted(os.listdir(root)):
        if re.fullmatch(_REQUIREMENTS, name):
            for line in _lines(os.path.join(root, name)):
                if match := re.fullmatch(_REQUIRED, line):
                    return match[1].strip(), name
    return "", ""


def _lines(path: str) -> Iterator[str]:
    try:
        text = regular_files.contents(path).decode("utf-8", "replace")
    except OSError:
        return
    yield from (line.strip() for line in text.splitlines())


def proposed(overview: FirstLook) -> Sequence[tuple[str, str]]:
    """The settings that fit a project: keys, each with its value as TOML has it."""
    proposals = [("select", '["ALL"]')]
    if overview.importing and not overview.names_dimensions:
        # Without names only the other attributes of tensors can be checked.
        proposals.append(("attributes", '"all"'))
    if overview.torch_from not in ("", "pyproject.toml") and _is_setting(overview.torch):
        proposals.append(("torch", f'"{overview.torch}"'))
    return proposals


def _is_setting(versions: str) -> bool:
    return re.fullmatch(r"[<>=~]=?\s*\d[\w.,<>=~! ]*", versions) is not None


def section(proposals: Iterable[tuple[str, str]]) -> str:
    """The section of a pyproject.toml with some settings."""
    return "".join(["[tool.namecheck]\n", *(f"{key} = {value}\n" for key, value in proposals)])


def with_section(data: bytes, addition: str, path: str) -> tuple[bytes, Settings]:
    """A pyproject.toml with one more section, and the settings that it has then.

    Raises `SettingsError` where it cannot be read, before or after that.
    """
    newline = "\r\n" if b"\r\n" in data else "\n"
    gap = "" if not data.strip() else "\n" if data.endswith(b"\n") else "\n\n"
    added = data + f"{gap}{addition}".replace("\n", newline).encode()
    settings = configuration.read(added, path)
    assert settings is not None, "it has the section now"
    return added, settings
