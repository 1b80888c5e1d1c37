"""The compiled gate for the tests of it, which are skipped where it cannot be built."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from namecheck.runtime import runtime
from namecheck.runtime.core.patch_table import TABLE
from namecheck.runtime.gate import cache as gate_cache
from namecheck.runtime.gate import compiler, loading
from namecheck.runtime.gate.loading import GateTypes


@cache
def _reason() -> str:
    """Why no gate can be built here; empty if one can."""
    try:
        gate_cache.root()
        compiler.require_python()
        compiler.compiler()
    except (gate_cache.Unusable, compiler.CannotBuild) as error:
        return str(error)
    return ""


needs_compiler = pytest.mark.skipif(bool(_reason()), reason=f"no gate can be built: {_reason()}")


def built_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> GateTypes:
    """Build a gate in a folder for caches, and load it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return loading.load(compiler.build())


@contextmanager
def gated(gate_types: GateTypes | None) -> Iterator[None]:
    """The shim for a block, with this gate or in Python alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "present", lambda: gate_types)
        patch.setattr(TABLE, "prepared", {})
        with runtime():
            yield
