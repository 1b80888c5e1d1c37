"""For all fixture programs at once mypy reports exactly the findings of ``namecheck check``."""

from __future__ import annotations

from typing import Final

from tests.mypy_plugin.projects import ROOT, Project

FOLDERS: Final = ("annotated", "natural", "programs")
# The programs call functions that are not in the stubs, and functions without annotations.
LENIENT: Final = ("--no-strict-optional", "--ignore-missing-imports", "--check-untyped-defs")


def test_all_fixtures(project: Project) -> None:
    for folder in FOLDERS:
        project.write({f"{folder}/__init__.py": ""})
        for path in sorted((ROOT / "fixtures" / folder).glob("*.py")):
            module = path.name.removesuffix(".py").replace(".", "_").replace("-", "_")
            project.write({f"{folder}/{module}.py": path.read_text("utf-8")})
    project.write({"tour.py": (ROOT / "fixtures" / "tour.py").read_text("utf-8")})
    told = project.mypy(*LENIENT, ".").told
    assert len(told) > 600
    assert told == project.namecheck(".")
