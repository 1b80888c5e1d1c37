"""Puts the names back on torch, and takes them away again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

from namecheck import operators
from namecheck.core.semantics import Semantics
from namecheck.runtime.compilation import compilers
from namecheck.runtime.core import modes
from namecheck.runtime.core.errors import UntestedTorchWarning
from namecheck.runtime.core.modes import MODES, Mode, Record
from namecheck.runtime.core.patch_table import TABLE, Deferred, Patch, read
from namecheck.runtime.core.tensor_names import ATTRIBUTE
from namecheck.runtime.distributed import patches as distributed_patches
from namecheck.runtime.patching import (
    function_transforms,
    naming_api,
    native_names,
    overriding_classes,
    processes,
    targets,
    tensor_conversions,
    wrappers,
)
from namecheck.runtime.patching.sites import Site
from namecheck.runtime.patching.targets import Target

TESTED: Final = ((2, 11), (2, 13))


class InstallError(RuntimeError):
    """`install`, `uninstall` or a block where it cannot be; nothing has changed."""


def install(mode: Mode = "error", *, semantics: Semantics | str | None = None) -> None:
    """Put the named-tensor API on torch for the rest of the process, checks included.

    Raises `InstallError` where it is installed already, or where a block is open in another
    semantics; `uninstall` takes it away again.
    """
    _check_mode(mode)
    with TABLE.lock:
        if TABLE.installed:
            raise InstallError(
                "namecheck is installed already; call namecheck.uninstall() first to install it "
                "in another mode"
            )
        _hold(semantics)
        TABLE.installed = True
        if not TABLE.hosted:
            TABLE.default = mode


def uninstall() -> None:
    """Put every original of torch back.

    Raises `InstallError` where `install` was not called.
    """
    with TABLE.lock:
        if not TABLE.installed:
            raise InstallError("namecheck is not installed; there is nothing to take away")
        TABLE.installed = False
        if not TABLE.hosted:
            TABLE.default = "off"
        _release()


def host(mode: Mode, *, semantics: Semantics | str | None = None) -> bool:
    """Put names on torch for a program that is run: its own `install` then changes nothing.

    Whether that was done: where names are in force for the process already, it is not.
    """
    _check_mode(mode)
    with TABLE.lock:
        if installed():
            return False
        _hold(semantics)
        TABLE.hosted = True
        TABLE.default = mode
        return True


def dismiss() -> None:
    """End what `host` began."""
    with TABLE.lock:
        TABLE.hosted = False
        TABLE.default = "error" if TABLE.installed else "off"
        _release()


def enter_worker(mode: Mode, semantics: Semantics) -> None:
    """Patch torch in a spawned worker process, unless its program or `namecheck run` has."""
    if not installed():
        install("error", semantics=semantics)
    TABLE.default = mode


def installed() -> bool:
    """Whether names are in force for the whole process."""
    return TABLE.installed or TABLE.hosted


def recorded() -> Record:
    """What was found outside of every `runtime` block."""
    return TABLE.record


@contextmanager
def runtime(mode: Mode = "error", *, semantics: Semantics | str | None = None) -> Iterator[Record]:
    """The named-tensor API with its checks for a block, in this thread or task.

    Yields the record of what was found. Blocks nest, the innermost mode is in force; the API
    itself is there for the whole process as long as any block is open, and in one semantics:
    another one raises `InstallError`.
    """
    _check_mode(mode)
    record = Record()
    with TABLE.lock:
        _hold(semantics)
    entry = modes.enter(mode, record)
    try:
        yield record
    finally:
        modes.leave(entry)
        with TABLE.lock:
            _release()


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; the modes are {', '.join(MODES)}")


def _hold(semantics: Semantics | str | None) -> None:
    """Put the patches in place for one more; without a semantics, in that which is in force."""
    wanted = TABLE.semantics if semantics is None else Semantics(semantics)
    if TABLE.holders == 0:
        _check_version()
        try:
            TABLE.apply(_made(wanted))
        except BaseException:
            TABLE.restore()
            raise
        TABLE.semantics = wanted
    elif wanted is not TABLE.semantics:
        raise InstallError(
            f"namecheck is in force with semantics={TABLE.semantics.value!r}; a process has one "
            f"semantics at a time, {wanted.value!r} has to wait until that is taken away"
        )
    TABLE.holders += 1


def _made(semantics: Semantics) -> list[Patch | Deferred]:
    """The patches of a semantics, made anew only where torch is not as it was.

    Making them takes longer than most blocks, and what torch.compile has compiled is compiled for
    the functions that it met.
    """
    known = TABLE.prepared.get(semantics)
    if known is None or any(before is not _before(patch) for patch, before in known):
        known = [(patch, _before(patch)) for patch in patches(semantics)]
        TABLE.prepared[semantics] = known
    return [patch for patch, _ in known]


def _before(patch: Patch | Deferred) -> Any:
    return read(patch.owner, patch.attribute) if isinstance(patch, Patch) else None


def _release() -> None:
    TABLE.holders -= 1
    if TABLE.holders == 0:
        TABLE.restore()
        TABLE.semantics = Semantics.NAMECHECK


def _check_version() -> None:
    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if not TESTED[0] <= release <= TESTED[1]:
        low, high = (".".join(map(str, version)) for version in TESTED)
        warnings.warn(
            f"namecheck was tested with torch {low} to {high}, this is {torch.__version__}",
            UntestedTorchWarning,
            stacklevel=4,
        )


def patches(semantics: Semantics, *, recording: bool = False) -> Iterator[Patch | Deferred]:
    """Every replacement, the attribute that carries the names first."""
    rows = operators.table()
    make = wrappers.make_recorder if recording else wrappers.make
    yield Patch(torch.Tensor, ATTRIBUTE, None)
    yield from tensor_conversions.patches()
    yield from function_transforms.patches()
    yield from overriding_classes.patches()
    yield from processes.patches(enter_worker)
    for target in targets.all_targets(rows):
        site = Site(target, semantics, assume_unnamed=not recording)
        yield Patch(target.owner, target.attribute, _replacement(target, site, make))
    for target in targets.of_modules(rows):
        site = Site(target, semantics, assume_unnamed=not recording)
        if semantics is Semantics.NATIVE:  # whose refusals are those of the first operator in it
            yield Patch(target.owner, target.attribute, wrappers.make_recorder(site))
        elif target.row.layer == "whole":
            yield Patch(target.owner, target.attribute, make(site))
    for target in naming_api.targets(rows):
        site = Site(target, semantics, assume_unnamed=not recording)
        namer = make if recording else wrappers.make_namer
        # Where torch has names of its own, it would give them to a tensor that has none of ours.
        quick = target.attribute == "flatten" and not native_names.IS_NATIVE
        maker = make if quick else namer
        yield Patch(target.owner, target.attribute, maker(site))
    yield from _of_names(semantics, recording=recording)
    yield from distributed_patches.patches()
    if not recording:
        yield from compilers.patches()


def _replacement(target: Target, site: Site, make: Any) -> Any:
    if not targets.is_property(target):
        return make(site)
    site.original = target.original.__get__
    return property(make(site), target.original.__set__, doc=target.original.__doc__)


def _of_names(semantics: Semantics, *, recording: bool) -> Iterator[Patch]:
    row = operators.table()["names="]
    move = naming_api.nothing
    target = Target(torch.Tensor, "names", "names=", row, "s", move, move=move, by_name=True)
    site = Site(target, semantics, assume_unnamed=not recording)
    set_names = wrappers.make_recorder(site)
    names = naming_api.names_property(set_names)
    yield Patch(torch.Tensor, "names", names)
    yield from native_names.patches(names)
    yield Patch(torch.Tensor, "has_names", naming_api.has_names)
    yield Patch(torch.Tensor, "data", naming_api.data_property())
    if not native_names.IS_NATIVE:  # which shows names by itself, and makes layers with them
        yield Patch(torch.Tensor, "__repr__", naming_api.show)
        made = naming_api.accepting_pairs(torch.nn.Unflatten._require_tuple_int)
        yield Patch(torch.nn.Unflatten, "_require_tuple_int", made)
