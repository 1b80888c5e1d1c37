"""Loads the compiled gate that the user has built, once for the process.

The variable NAMECHECK_GATE of the environment says whether: unset, a gate is used if one was
built; with ``off`` none is; with ``on`` it is an error that there is none.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final, NamedTuple, TypeAlias

from namecheck.runtime.gate import cache as gate_cache
from namecheck.runtime.gate.cache import MODULE, Entry, NotBuilt, Unusable

# Makes the gate of one wrapper; `patching.gates` has its arguments.
GateType: TypeAlias = Callable[..., Callable[..., Any]]


class GateTypes(NamedTuple):
    """The type of gates that bind a receiver, as functions do, and of those that do not."""

    binding: GateType
    plain: GateType


VARIABLE: Final = "NAMECHECK_GATE"
_OFF: Final = ("off", "0", "false", "no")
_ON: Final = ("on", "1", "true", "yes")


class GateError(RuntimeError):
    """NAMECHECK_GATE asks for a gate, and there is none that may be loaded."""


class GateWarning(UserWarning):
    """A gate was built, but it is not used."""


def wanted() -> bool | None:
    """What NAMECHECK_GATE says: True for on, False for off, None if it leaves it open."""
    word = os.environ.get(VARIABLE, "").lower()
    return True if word in _ON else False if word in _OFF else None


@cache
def present() -> GateTypes | None:
    """The types of gates, None for names in Python alone.

    Raises `GateError` if the environment asks for a gate that cannot be used.
    """
    required = wanted()
    if required is False:
        return None
    try:
        return load(gate_cache.built())
    except Unusable as error:
        if required:
            raise GateError(f"{VARIABLE}=on: {error}; `namecheck gate build` builds one") from None
        if not isinstance(error, NotBuilt):
            warnings.warn(f"the gate is not used: {error}", GateWarning, stacklevel=2)
        return None


def load(built: Entry) -> GateTypes:
    """Load a gate whose files were checked; raises `Unusable`."""
    loader = ExtensionFileLoader(MODULE, built.library)
    spec = spec_from_file_location(MODULE, built.library, loader=loader)
    assert spec is not None
    try:
        module = module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise Unusable(f"{built.library}: {str(error).splitlines()[0]}") from None
    if getattr(module, "SOURCE", None) != gate_cache.digest():
        raise Unusable(f"{built.library} was built from another source")
    return GateTypes(module.Gate, module.FunctionGate)
