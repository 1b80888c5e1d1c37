"""Whether the ranks of a program give a tensor the same names, and what is said where not.

Every rank has to take part, whether its own tensor has names or not: only together can they tell
that one rank has none. Agreement costs one all-reduce of two numbers for each group; the names
themselves are gathered only where the ranks disagree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

import torch
import torch.distributed as dist
from torch._guards import detect_fake_mode

from namecheck.core.names import Contradiction, show
from namecheck.runtime.core import reporting, tensor_names
from namecheck.runtime.core.patch_table import TABLE
from namecheck.runtime.core.tensor_names import UNKNOWN_NAME, Names

# What one rank has: the names of each tensor, by what the tensor is called in the message.
Entries: TypeAlias = tuple[tuple[str, Names], ...]

_HELP: Final = "Give it the same names on every rank, with `refine_names`, before it is {}."
_BYTES: Final = 7  # of a fingerprint: a number that int64 holds with either sign


def compare_over_mesh(tensors: Mapping[str, torch.Tensor], mesh: Any, done: str) -> None:
    """`compare` for all ranks of a mesh; nothing on the others."""
    if mesh.get_coordinate() is not None:
        groups = [mesh.get_group(dim) for dim in range(mesh.ndim)]
        compare(tensors, groups, torch.device(mesh.device_type), done)


def compare(
    tensors: Mapping[str, torch.Tensor],
    groups: Sequence[dist.ProcessGroup],
    device: torch.device,
    done: str,
) -> None:
    """Judge names that differ between the ranks of all groups, each a dimension of one mesh.

    The tensors are told by what they are called, and `done` is what happens to them. Nothing is
    compared where there is no data: of meta and fake tensors, and while a program is compiled.
    """
    if not TABLE.applied or not _has_data(tensors.values()):
        return
    entries: Entries = tuple((label, _named(tensor)) for label, tensor in tensors.items())
    if _agree(entries, groups, device):
        return
    found = contradiction(_gather(entries, groups), done)
    if found is not None:
        reporting.handle(reporting.finding_of(found, []), TABLE.default)


def _has_data(tensors: Iterable[torch.Tensor]) -> bool:
    found = list(tensors)
    if torch.compiler.is_compiling() or any(tensor.is_meta for tensor in found):
        return False
    return detect_fake_mode(found) is None


def _named(tensor: torch.Tensor) -> Names:
    names = tensor_names.names_of(tensor)
    return (None,) * tensor.dim() if names is None else names


def _agree(entries: Entries, groups: Sequence[dist.ProcessGroup], device: torch.device) -> bool:
    """Whether all have one fingerprint: then the largest is the smallest."""
    digest = hashlib.blake2b(repr(entries).encode(), digest_size=_BYTES).digest()
    fingerprint = int.from_bytes(digest, "big")
    extremes = torch.tensor([fingerprint, -fingerprint], dtype=torch.int64, device=device)
    for group in groups:
        dist.all_reduce(extremes, dist.ReduceOp.MAX, group)
    largest, smallest = extremes.tolist()
    return bool(largest == -smallest)


def _gather(entries: Entries, groups: Sequence[dist.ProcessGroup]) -> dict[int, Entries]:
    """What every rank has; along one dimension of the mesh after the other."""
    known = {dist.get_rank(): entries}
    for group in groups:
        gathered: list[Any] = [None] * dist.get_world_size(group)
        dist.all_gather_object(gathered, known, group)
        known = {rank: told for part in gathered for rank, told in part.items()}
    return dict(sorted(known.items()))


def contradiction(known: Mapping[int, Entries], done: str) -> Contradiction | None:
    """The first tensor whose names differ for certain; what is unknown might be anything."""
    for at_ranks in zip(*known.values(), strict=False):
        label = at_ranks[0][0]
        names = dict(zip(known, (told for _, told in at_ranks), strict=True))
        if any(_differ(one, other) for one in names.values() for other in names.values()):
            told = "; ".join(_told(names))
            message = f"The names of {label} differ between the ranks: {told}."
            return Contradiction("NC113", message, help=_HELP.format(done))
    return None


def _differ(one: Names, other: Names) -> bool:
    if len(one) != len(other):
        return True
    return any(a != b and UNKNOWN_NAME not in (a, b) for a, b in zip(one, other, strict=True))


def _told(names: Mapping[int, Names]) -> Iterable[str]:
    """Who has which names, those of the lowest rank first."""
    holders: dict[Names, list[int]] = {}
    for rank, told in names.items():
        holders.setdefault(told, []).append(rank)
    for told, ranks in holders.items():
        who = f"rank {ranks[0]} has" if len(ranks) == 1 else f"ranks {_ranges(ranks)} have"
        yield f"{who} {show(tensor_names.lift(told))}"


def _ranges(ranks: Sequence[int]) -> str:
    """Numbers in ascending order, neighbours drawn together: ``0-2, 5``."""
    runs = [
        [rank for _, rank in run]
        for _, run in groupby(enumerate(ranks), key=lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(f"{run[0]}-{run[-1]}" if run[1:] else f"{run[0]}" for run in runs)
