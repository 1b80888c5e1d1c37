"""Builds the site: ``python -m tests.docs_site``.

The site of this version goes to ``build/site/html/VERSION``, beside those of other versions.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from namecheck.version import VERSION
from tests.docs_site import versions
from tests.docs_site.screens import ROOT
from tests.docs_site.staging import stage

BUILD: Final = ROOT / "build" / "site"
PLAYGROUND: Final = ROOT / "docs" / "playground" / "dist"


def main() -> int:
    """Stage the pages, generate the site, and put it beside the other versions."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs_site", description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=BUILD / "html",
        metavar="FOLDER",
        help="the folder of the sites of all versions",
    )
    parser.add_argument(
        "--no-playground", action="store_true", help="leave out the playground, and links to it"
    )
    arguments = parser.parse_args()
    playground = not arguments.no_playground
    if playground and not PLAYGROUND.is_dir():
        folder = PLAYGROUND.parent.relative_to(ROOT)
        print(f"build the playground first (npm ci && npm run build in {folder})", file=sys.stderr)
        return 2
    source = BUILD / "source"
    stage(source, playground=playground)
    if playground:
        shutil.copytree(PLAYGROUND, source / "pages" / "playground")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    generated = subprocess.run(command, cwd=source, check=False)
    if generated.returncode:
        return 1
    own = arguments.out / VERSION
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(source / "html", own)
    versions.write(arguments.out, VERSION)
    print(f"written: {own}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
