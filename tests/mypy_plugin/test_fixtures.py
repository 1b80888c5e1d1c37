"""For many fixture programs at once mypy reports exactly the findings of ``namecheck check``.

Every day these are a fifth of the pairs of programs, all of them with
``NAMECHECK_ALL_FILES=1`` in the environment.
"""

from __future__ import annotations

import os
from typing import Final

from tests.mypy_plugin.projects import ROOT, Project

FOLDERS: Final = ("annotated", "natural", "programs")
# The programs call functions that are not in the stubs, and functions without annotations.
LENIENT: Final = ("--no-strict-optional", "--ignore-missing-imports", "--check-untyped-defs")


ONE_IN: Final = 1 if os.environ.get("NAMECHECK_ALL_FILES") else 5


def test_fixtures(project: Project) -> None:
    for folder in FOLDERS:
        project.write({f"{folder}/__init__.py": ""})
        paths = sorted((ROOT / "fixtures" / folder).glob("*.py"))
        stems = sorted({path.name.partition(".")[0] for path in paths})[::ONE_IN]
        for path in paths:
            if path.name.partition(".")[0] in stems:
                module = path.name.removesuffix(".py").replace(".", "_").replace("-", "_")
                project.write({f"{folder}/{module}.py": path.read_text("utf-8")})
    project.write({"tour.py": (ROOT / "fixtures" / "tour.py").read_text("utf-8")})
    told = project.mypy(*LENIENT, ".").told
    assert len(told) > 600 // ONE_IN
    assert told == project.namecheck(".")
