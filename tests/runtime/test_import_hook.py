"""The functions of imported packages are checked without a change to them."""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
import torch

from namecheck import NameMismatch, install_import_hook
from namecheck.runtime.annotations import import_hook

GOOD = torch.zeros(2, 3)
FLAT = torch.zeros(2)

Write = Callable[..., Any]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes the package ``hooked`` with these modules, and imports one of them."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(name: str = "hooked", **modules: str) -> Any:
        (tmp_path / "hooked").mkdir(exist_ok=True)
        for module, text in {"__init__": "", **modules}.items():
            (tmp_path / "hooked" / f"{module}.py").write_text(textwrap.dedent(text), "utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield written
    for name in [name for name in sys.modules if name.partition(".")[0] == "hooked"]:
        del sys.modules[name]


@pytest.fixture
def hook() -> Iterator[import_hook.ImportHook]:
    with install_import_hook("hooked") as hook:
        yield hook


KINDS = """
    '''The module.'''
    from __future__ import annotations

    import dataclasses
    from typing import Annotated, no_type_check

    from torch import Tensor

    NC = Annotated[Tensor, "N C"]

    def plain(x: NC, y: Later) -> None: ...

    def bare(x): ...

    def silent(x: int, y: Unknown) -> str: ...

    class Model:
        def method(self, x: NC) -> None:
            def inner(x: NC) -> None: ...
            return inner

        @staticmethod
        def static(x: NC) -> None: ...

        async def coroutine(self, x: NC) -> None: ...

    @dataclasses.dataclass
    class Batch:
        x: NC
        y: Annotated[Tensor, "N"]

    @no_type_check
    def exempt(x: NC) -> None: ...

    @no_type_check
    class Exempt:
        def method(self, x: NC) -> None: ...

    if True:
        try:
            def deep(x: NC) -> None: ...
        finally:
            pass

    Later = Annotated[Tensor, "N"]
"""


def refused(call: Callable[[], Any]) -> bool:
    try:
        call()
    except NameMismatch:
        return True
    return False


def test_every_annotated_function_is_checked(write: Write, hook: object) -> None:
    module = write("hooked.kinds", kinds=KINDS)
    assert module.__doc__ == "The module."
    model = module.Model()
    for call in (
        lambda: module.plain(FLAT, FLAT),
        lambda: module.plain(GOOD, GOOD),
        lambda: model.method(FLAT),
        lambda: model.method(GOOD)(FLAT),
        lambda: model.static(FLAT),
        lambda: model.coroutine(FLAT).send(None),
        lambda: module.Batch(GOOD, torch.zeros(3)),
        lambda: module.deep(FLAT),
    ):
        assert refused(call), inspect.getsource(call)
    module.Batch(GOOD, FLAT)


def test_what_says_nothing_or_is_exempt_is_left_alone(write: Write, hook: object) -> None:
    module = write("hooked.kinds", kinds=KINDS)
    functions = (module.bare, module.silent, module.exempt, module.Exempt.method)
    for function in functions:
        assert function.__code__.co_filename == module.__file__


def test_nothing_of_ours_is_exported(write: Write, hook: object) -> None:
    write("hooked.kinds", kinds=KINDS)
    scope: dict[str, Any] = {}
    exec("from hooked.kinds import *", scope)
    assert "plain" in scope
    assert not [name for name in scope if "namecheck" in name]


def test_functions_keep_their_source_and_lines(write: Write, hook: object) -> None:
    module = write("hooked.kinds", kinds=KINDS)
    assert inspect.getsource(module.plain) == "def plain(x: NC, y: Later) -> None: ...\n"
    assert inspect.getsourcelines(module.Batch)[0][0] == "@dataclasses.dataclass\n"


def test_only_the_packages_that_are_named(write: Write, hook: import_hook.ImportHook) -> None:
    hook.packages = ("hooked.one", "hooke")
    text = "from typing import Annotated\nfrom torch import Tensor\n"
    text += "def f(x: Annotated[Tensor, 'n']) -> None: ...\n"
    assert not refused(lambda: write(other=text) and write("hooked.other").f(GOOD))
    assert refused(lambda: write("hooked.one", one=text, other=text).f(GOOD))


def test_a_hook_that_was_taken_away(write: Write) -> None:
    hook = install_import_hook(["hooked"])
    hook.uninstall()
    hook.uninstall()
    assert not refused(lambda: write("hooked.kinds", kinds=KINDS).plain(FLAT, FLAT))


def test_what_is_imported_already_is_told_of() -> None:
    with pytest.warns(ImportWarning, match="already imported, and so not checked: torch"):
        install_import_hook(["torch", "hooked"]).uninstall()


def test_the_switch(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMECHECK", "off")
    with install_import_hook("hooked"):
        assert not refused(lambda: write("hooked.kinds", kinds=KINDS).plain(FLAT, FLAT))


def test_bytecode_is_cached_beside_that_of_python(
    write: Write, hook: import_hook.ImportHook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write("hooked.kinds", kinds=KINDS)
    kept = sorted(path.name for path in (tmp_path / "hooked" / "__pycache__").iterdir())
    tag = sys.implementation.cache_tag
    assert kept == [f"{name}.{tag}.namecheck-2.pyc" for name in ("__init__", "kinds")]

    def again() -> Any:
        for name in ("hooked", "hooked.kinds"):
            sys.modules.pop(name)
        return importlib.import_module("hooked.kinds")

    monkeypatch.setattr(import_hook, "compiled", None)
    assert refused(lambda: again().plain(FLAT, FLAT))
    hook.uninstall()
    assert not refused(lambda: again().plain(FLAT, FLAT))


def test_a_loader_of_another_hook_is_left_alone(write: Write, hook: object) -> None:
    class Other(SourceFileLoader):
        pass

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any, target: Any = None) -> Any:
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and name == "hooked.kinds":
                spec.loader = Other(name, str(spec.origin))
            return spec

    sys.meta_path.insert(0, Finder)
    try:
        module = write("hooked.kinds", kinds=KINDS)
    finally:
        sys.meta_path.remove(Finder)
    assert type(module.__loader__) is Other
    assert not refused(lambda: module.plain(FLAT, FLAT))


def test_a_file_that_is_no_python(write: Write, hook: object) -> None:
    with pytest.raises(SyntaxError) as raised:
        write("hooked.wrong", wrong="x = = 1")
    assert (raised.value.lineno, raised.value.text) == (1, "x = = 1")


@pytest.mark.parametrize(
    "text", ["", "'''Doc.'''", "from __future__ import annotations", "'''Doc.'''\nx: int = 1"]
)
def test_files_with_little_in_them(write: Write, hook: object, text: str) -> None:
    module = write("hooked.little", little=text)
    assert module.__doc__ == ("Doc." if "Doc" in text else None)
