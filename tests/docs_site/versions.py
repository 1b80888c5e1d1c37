"""The sites of several versions in one folder: their list, and the way to the newest."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

_REDIRECT: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>namecheck</title>
<meta http-equiv="refresh" content="0; url={version}/">
<a href="{version}/">namecheck {version}</a>
</html>
"""


def write(folder: Path, version: str) -> None:
    """List the versions in a folder, newest first, and lead its root to the newest release."""
    numbers = sorted({version, *_present(folder)}, key=_order, reverse=True)
    newest = next((number for number in numbers if _is_release(number)), numbers[0])
    listed = [
        {"version": number, "title": number, "aliases": ["latest"] if number == newest else []}
        for number in numbers
    ]
    (folder / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", "utf-8")
    (folder / "index.html").write_text(_REDIRECT.format(version=newest), "utf-8")


def _present(folder: Path) -> list[str]:
    return [path.parent.name for path in folder.glob("*/index.html")]


def _is_release(version: str) -> bool:
    return re.fullmatch(r"[\d.]+", version) is not None


def _order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Numbers by their value; a release is newer than what leads to it (`0.2.0.dev1`)."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    parts = tuple(map(int, numbers[0].split("."))) if numbers else ()
    return parts, _is_release(version), version
