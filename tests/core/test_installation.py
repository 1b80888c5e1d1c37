"""Which programs install names on torch: decided on the tree, for linter and migration."""

from __future__ import annotations

import ast
from typing import Final

import pytest

from namecheck.core import installation

INSTALLING: Final = {
    "plain": "import namecheck\nnamecheck.install()\n",
    "module alias": "import namecheck as nc\nnc.install()\n",
    "function": "from namecheck import install\ninstall()\n",
    "function alias": "from namecheck import install as put\nput('warn')\n",
    "star": "from namecheck import *\ninstall()\n",
    "context manager": "from namecheck import runtime\nwith runtime():\n    pass\n",
    "context manager of the module": "import namecheck\nwith namecheck.runtime(): pass\n",
    "decorator": "import namecheck\n\n@namecheck.runtime()\ndef f():\n    pass\n",
    "package alias": "import namecheck.runtime as r\nr.install()\n",
    "package called": "import namecheck.runtime as r\nwith r():\n    pass\n",
    "package": "import namecheck.runtime\nnamecheck.runtime.install()\n",
    "package function": "from namecheck.runtime import install\ninstall()\n",
    "submodule": "import namecheck.core.names\nnamecheck.install()\n",
    "in a function": "import namecheck\n\ndef main():\n    namecheck.install()\n",
    "imported in a function": "def main():\n    import namecheck as nc\n    nc.install()\n",
    "under if": "import namecheck\nif not namecheck.installed():\n    namecheck.install()\n",
    "variable": "import namecheck\nsetup = namecheck.install\nsetup()\n",
    "variable of a variable": "import namecheck\nn = namecheck\nsetup = n.install\nsetup()\n",
    "handed on": "import namecheck as nc\nPool(initializer=nc.install)\n",
    "several lines": "from namecheck import (\n    install,\n)\ninstall(\n    'warn'\n)\n",
}

NOT_INSTALLING: Final = {
    "nothing": "",
    "import alone": "import namecheck\n",
    "function imported alone": "from namecheck import install\n",
    "function named alone": "import namecheck\nprint(namecheck.installed())\nnamecheck.install\n",
    "comment": "import namecheck  # namecheck.install() is for programs\n",
    "string": "import namecheck\nprint('call namecheck.install()')\n",
    "docstring": '"""Needs ``import namecheck; namecheck.install()`` before."""\n',
    "another module": "import numpy as nc\nnc.install()\n",
    "another function": "from setuptools import install\nimport namecheck\ninstall()\n",
    "another package": "import namecheck_helpers\nnamecheck_helpers.install()\n",
    "relative": "from .namecheck import install\ninstall()\n",
    "a method": "import namecheck\n\nclass A: pass\n\nA().install()\nself.namecheck.install()\n",
    "the opposite": "import namecheck\nnamecheck.uninstall()\n",
    "the import hook": "import namecheck\nnamecheck.install_import_hook()\n",
    "a circle": "import namecheck\na = b\nb = a\na()\n",
}


@pytest.mark.parametrize("text", INSTALLING.values(), ids=INSTALLING)
def test_puts_names_on_torch(text: str) -> None:
    assert installation.installs(ast.parse(text))
    assert installation.file_installs(text.encode(), "m.py")


@pytest.mark.parametrize("text", NOT_INSTALLING.values(), ids=NOT_INSTALLING)
def test_puts_no_names_on_torch(text: str) -> None:
    assert not installation.installs(ast.parse(text))
    assert not installation.file_installs(text.encode(), "m.py")


@pytest.mark.parametrize("data", [b"namecheck.install(\n", b"# namecheck.install\xff()\n"])
def test_a_file_that_python_cannot_read_puts_none(data: bytes) -> None:
    assert not installation.file_installs(data, "m.py")
