"""Random programs, migrated off native named tensors to both targets, compute the same values.

By hand, from the root of the repository, thousands of them::

    python -m tests.migrate_random --count 5000 --seed 7

The programs are those of ``tests.compare_random``. Each is run with the shim's names on torch, once
for every choice of its flags; then its migrated form is run without names. A program with places
that are left, or with a contradiction, is not compared. Every program that computes other values
after the migration is printed, and the command exits with 1.
"""

from __future__ import annotations

import inspect
import itertools
import random
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

import namecheck
from namecheck.migration.migrated import Migrated
from namecheck.migration.migration import Road, migrate
from namecheck.project import Walk
from namecheck.runtime import runtime
from tests.compare_random import KINDS, asked, grown_program, limit_memory
from tests.oracle.random_calls import Catalogue
from tests.oracle.random_programs import run

_AT_ONCE: Final = 50
_DEPTH: Final = 6
# The constructor argument of a layer may be a name, and its index after the migration.
_MADE_WITH: Final = ("dim", "unflattened_size")
# Larger numbers are addresses in memory.
_ADDRESS: Final = 1 << 40


@dataclass(frozen=True)
class Compared:
    """One migrated program: the places that are left, and how the runs differ, if they do."""

    name: str
    road: Road
    before: str
    after: str
    left: tuple[tuple[str, str], ...]
    compared: int
    differs: str | None

    def show(self) -> str:
        """The program before and after, and the difference."""
        told = f"# program {self.name} to {self.road.value}: {self.differs}"
        return "\n".join([told, self.before, "# becomes", self.after])


def compared(seed: str, start: int, count: int, kinds: Sequence[str] = KINDS) -> Iterator[Compared]:
    """Migrate and compare the programs number `start` and up of a seed, the kinds alternating."""
    catalogue = Catalogue.of_table()
    torch.set_num_threads(1)
    with _filled(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        for first in range(start, start + count, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, start + count))
            # Installing names on torch takes longer than running a program.
            with runtime("error"):
                ran = [_ran(f"{seed}:{i}", catalogue, kinds[i % len(kinds)]) for i in numbers]
            for one in ran:
                path.write_text(one.text, "utf-8")
                for road in Road:
                    yield _compared(one, road, path)


@dataclass(frozen=True)
class Ran:
    """A program, and its variables under each choice of its flags, where it runs to its end."""

    name: str
    text: str
    known: Mapping[tuple[bool, ...], Any]


def _ran(name: str, catalogue: Catalogue, kind: str) -> Ran:
    grown = grown_program(random.Random(name), catalogue, kind)
    known = {}
    for chosen in itertools.product((False, True), repeat=grown.flags):
        torch.manual_seed(0)
        space, fault = run(grown.text, chosen)
        if fault is None:
            known[chosen] = described(space)
    return Ran(name, grown.text, known)


@contextmanager
def _filled() -> Iterator[None]:
    """Fill the results of torch.empty, always with the same values."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _compared(ran: Ran, road: Road, path: Path) -> Compared:
    migrated: Sequence[Migrated] = migrate(Walk().entries([str(path)]), road, unsafe=True)
    if not migrated:
        return Compared(ran.name, road, ran.text, ran.text, (), 0, None)
    [one] = migrated
    left = tuple((left.source, left.reason) for left in one.left)
    if (one.failure and not left) or one.after is None:
        return Compared(ran.name, road, ran.text, ran.text, (), 0, f"it fails: {one.failure}")
    text = one.after.text
    known = {} if left else ran.known
    differs = next(filter(None, (_differs(text, *item) for item in known.items())), None)
    return Compared(ran.name, road, ran.text, text, left, len(known), differs)


def _differs(text: str, chosen: tuple[bool, ...], known: Any) -> str | None:
    torch.manual_seed(0)
    after, fault = run(text, chosen)
    seen = described(after)
    if "namecheck.install()" in text:
        namecheck.uninstall()
    return f"{fault}" if fault else difference(known, seen, "it")


def described(value: Any, depth: int = 0) -> Any:
    """The comparable part of a value: tensors by their elements, others by their contents."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if depth > _DEPTH or isinstance(value, (type, types.ModuleType)) or inspect.isroutine(value):
        return None
    if isinstance(value, dict):
        items = value.items()
        return {
            str(k): described(v, depth + 1)
            for k, v in items
            if not str(k).startswith("__") and k not in _MADE_WITH
        }
    if isinstance(value, (list, tuple)):
        return [described(item, depth + 1) for item in value]
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return described(vars(value), depth + 1) if hasattr(value, "__dict__") else None


def difference(left: Any, right: Any, place: str) -> str | None:
    """The first difference between two described values, None where there is none."""
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        kinds = [(one.shape, one.dtype, one.device, one.layout) for one in (left, right)]
        same = kinds[0] == kinds[1]
        if same and not left.is_meta:
            same = torch.allclose(_numbers(left), _numbers(right), equal_nan=True)
        return None if same else f"{place}: {tuple(left.shape)} {tuple(right.shape)}"
    if isinstance(left, dict) and isinstance(right, dict):
        common = [key for key in left if key in right]
        return next(
            filter(None, (difference(left[k], right[k], f"{place}.{k}") for k in common)), None
        )
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return next(filter(None, (difference(a, b, f"{place}[{i}]") for i, (a, b) in pairs)), None)
    if isinstance(left, int) and isinstance(right, int) and min(left, right) > _ADDRESS:
        return None
    return None if left == right or left != left else f"{place}: {left!r} {right!r}"


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is torch.sparse_csr:
        parts = tensor.crow_indices(), tensor.col_indices(), tensor.values()
        return torch.cat([_numbers(part).flatten() for part in parts])
    dense = tensor.to_dense()
    return torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense.double()


def main() -> int:
    """The command line."""
    arguments = asked("Migrate random programs, and run them.")
    limit_memory()
    kinds = KINDS if arguments.kind is None else (arguments.kind,)
    print(f"seed {arguments.seed}", flush=True)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for one in compared(arguments.seed, arguments.start, arguments.count, kinds):
        kind = (
            "differ"
            if one.differs
            else "left"
            if one.left
            else "same"
            if one.compared
            else "no run"
        )
        counts[f"{one.road.value}: {kind}"] += 1
        reasons.update({reason for _, reason in one.left})
        if one.differs:
            print(one.show(), flush=True)
    print(", ".join(f"{number:,} {kind}" for kind, number in sorted(counts.items())))
    print(*(f"{number:6,} {reason}" for reason, number in reasons.most_common(12)), sep="\n")
    return 1 if any(kind.endswith("differ") for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
