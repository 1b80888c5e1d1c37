"""Installs the named-tensor API on torch, and uninstalls it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch

from namecheck import operators
from namecheck.core.garbage import seldom_collected
from namecheck.core.semantics import Semantics
from namecheck.runtime.compilation import compilers
from namecheck.runtime.core import modes
from namecheck.runtime.core.errors import UntestedTorchWarning
from namecheck.runtime.core.modes import MODES, Mode, Record
from namecheck.runtime.core.patch_table import TABLE, Deferred, Patch, read
from namecheck.runtime.core.tensor_names import ATTRIBUTE
from namecheck.runtime.distributed import patches as distributed_patches
from namecheck.runtime.patching import (
    first_class_dims,
    function_defaults,
    function_transforms,
    gradients,
    naming_api,
    native_names,
    overriding_classes,
    processes,
    stored_names,
    targets,
    tensor_conversions,
    unsupported,
    wrappers,
)
from namecheck.runtime.patching.sites import Site
from namecheck.runtime.patching.targets import Target

TESTED: Final = ((2, 9), (2, 13))


class InstallError(RuntimeError):
    """`install`, `uninstall` or a block is not possible now; nothing was changed."""


def install(
    mode: Mode = "error",
    *,
    semantics: Semantics | str | None = None,
    experimental_warning: bool = False,
) -> None:
    """Install the named-tensor API and its checks on torch, for the process or until `uninstall`.

    With `experimental_warning` the first name that a tensor gets issues the warning of torch 2.12.
    Raises `InstallError` if it is installed already, or if a block is open in another semantics.
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
        TABLE.warns = experimental_warning
        if not TABLE.hosted:
            TABLE.default = mode


def uninstall() -> None:
    """Restore all of torch's functions, unless a block is open.

    Raises `InstallError` if `install` was not called.
    """
    with TABLE.lock:
        if not TABLE.installed:
            raise InstallError("namecheck is not installed; there is nothing to uninstall")
        TABLE.installed = False
        if not TABLE.hosted:
            TABLE.default = "off"
        _release()


def host(mode: Mode, *, semantics: Semantics | str | None = None) -> bool:
    """Install the API for a program that namecheck runs; its own `install` then has no effect.

    Returns False, and changes nothing, if the API is installed for the process already.
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
    """Uninstall what `host` has installed."""
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
    """Whether the API is installed for the whole process."""
    return TABLE.installed or TABLE.hosted


def recorded() -> Record:
    """The record of the findings outside of every `runtime` block."""
    return TABLE.record


@contextmanager
def runtime(
    mode: Mode = "error",
    *,
    semantics: Semantics | str | None = None,
    experimental_warning: bool = False,
) -> Iterator[Record]:
    """The named-tensor API for a block, with checks in this thread or task.

    Yields the record of the findings. Blocks nest, and the innermost mode applies. The API itself
    is installed for the whole process as long as any block is open, in one semantics: a block in
    another one raises `InstallError`. `experimental_warning` is that of `install`.
    """
    _check_mode(mode)
    record = Record()
    with TABLE.lock:
        _hold(semantics)
        TABLE.warns = TABLE.warns or experimental_warning
    entry = modes.enter(mode, record)
    try:
        yield record
    finally:
        modes.leave(entry)
        with TABLE.lock:
            _release()


def _check_mode(mode: Mode) -> None:
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; the modes are {', '.join(MODES)}")


def _hold(semantics: Semantics | str | None) -> None:
    """Add a holder of the patches; None stands for the semantics in force."""
    requested = TABLE.semantics if semantics is None else Semantics(semantics)
    if TABLE.holders == 0:
        _check_version()
        try:
            TABLE.apply(_prepared(requested))
        except BaseException:
            TABLE.restore()
            raise
        TABLE.semantics = requested
    elif requested is not TABLE.semantics:
        raise InstallError(
            f"namecheck is installed with semantics={TABLE.semantics.value!r}; a process has one "
            f"semantics at a time: uninstall it before using {requested.value!r}"
        )
    TABLE.holders += 1


def _prepared(semantics: Semantics) -> list[Patch | Deferred]:
    """The patches of a semantics, made again only if torch was changed since.

    Making them takes longer than most blocks, and torch.compile guards its graphs by the identity
    of the functions.
    """
    prepared = TABLE.prepared.get(semantics)
    if prepared is None or any(value is not _current(patch) for patch, value in prepared):
        with seldom_collected():  # a collection looks at the million objects that torch has
            prepared = [(patch, _current(patch)) for patch in patches(semantics)]
        TABLE.prepared[semantics] = prepared
    return [patch for patch, _ in prepared]


def _current(patch: Patch | Deferred) -> Any:
    return read(patch.owner, patch.attribute) if isinstance(patch, Patch) else None


def _release() -> None:
    TABLE.holders -= 1
    if TABLE.holders == 0:
        TABLE.restore()
        TABLE.semantics = Semantics.NAMECHECK
        TABLE.warns = False


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
    """All patches, that of the attribute for the names first."""
    ruled = list(_patches(semantics, recording=recording))
    yield from ruled
    yield from function_defaults.patches(ruled)
    if semantics is Semantics.NATIVE:
        replaced = {(id(p.owner), p.attribute) for p in ruled if isinstance(p, Patch)}
        yield from unsupported.patches(replaced)


def _patches(semantics: Semantics, *, recording: bool) -> Iterator[Patch | Deferred]:
    rows = operators.table()
    make = wrappers.make_recorder if recording else wrappers.make
    yield Patch(torch.Tensor, ATTRIBUTE, None)
    yield from tensor_conversions.patches()
    yield from function_transforms.patches()
    yield from overriding_classes.patches()
    yield from processes.patches(enter_worker, semantics)
    yield from stored_names.patches(semantics)
    yield from first_class_dims.patches()
    yield from gradients.patches(semantics)
    by_original: dict[int, Any] = {}
    for target in targets.all_targets(rows):
        site = Site(target, semantics, assume_unnamed=not recording)
        if target.form not in "fnj":
            yield Patch(target.owner, target.attribute, _replacement(site, make))
        elif id(target.original) not in by_original:
            by_original[id(target.original)] = make(site)
    yield from _in_every_place(by_original)
    for target in targets.of_modules(rows):
        site = Site(target, semantics, assume_unnamed=not recording)
        if semantics is Semantics.NATIVE:  # its errors are those of the first operator inside
            yield Patch(target.owner, target.attribute, wrappers.make_recorder(site))
        elif target.row.layer == "whole":
            yield Patch(target.owner, target.attribute, make(site))
    for target in naming_api.targets(rows):
        site = Site(target, semantics, assume_unnamed=not recording)
        namer = make if recording else wrappers.make_namer
        # A torch with names of its own would set these on a tensor without ours.
        is_plain = target.attribute == "flatten" and not native_names.IS_NATIVE
        maker = make if is_plain else namer
        yield Patch(target.owner, target.attribute, maker(site))
    yield from _naming_patches(semantics, recording=recording)
    yield from distributed_patches.patches()
    if not recording:
        yield from compilers.patches()


def _in_every_place(by_original: Mapping[int, Any]) -> Iterator[Patch]:
    """The patches of functions by the ids of their originals: one may have several places."""
    for module in (*targets.FUNCTION_MODULES, *targets.IMPORTING_MODULES):
        for name, value in vars(module).items():
            if id(value) in by_original and not name.startswith("_"):
                yield Patch(module, name, by_original[id(value)])


def _replacement(site: Site, make: Any) -> Any:
    original = site.target.original
    if not targets.is_property(site.target):
        return make(site)
    site.original = original.__get__
    return property(make(site), original.__set__, doc=original.__doc__)


def _naming_patches(semantics: Semantics, *, recording: bool) -> Iterator[Patch]:
    row = operators.table()["names="]
    move = naming_api.nothing
    target = Target(torch.Tensor, "names", "names=", row, "s", move, move=move, by_name=True)
    site = Site(target, semantics, assume_unnamed=not recording)
    set_names = wrappers.make_recorder(site)
    names = naming_api.names_property(set_names)
    yield Patch(torch.Tensor, "names", names)
    yield from native_names.patches(names)
    yield Patch(torch.Tensor, "has_names", naming_api.has_names)
    yield Patch(torch.Tensor, "data", naming_api.data_property(semantics))
    if not native_names.IS_NATIVE:  # it shows names itself, and accepts them in layers
        yield Patch(torch.Tensor, "__repr__", naming_api.show)
        require = naming_api.accepting_pairs(torch.nn.Unflatten._require_tuple_int)
        yield Patch(torch.nn.Unflatten, "_require_tuple_int", require)
