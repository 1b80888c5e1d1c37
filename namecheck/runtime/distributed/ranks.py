"""Compares the names of tensors between the ranks of a program.

Every rank must take part, even with an unnamed tensor, to detect that one rank has no names. If
the ranks agree the cost is one all-reduce of two numbers for each group; the names themselves are
gathered only if they differ.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import torch
import torch.distributed as dist
from torch._guards import detect_fake_mode

from namecheck.core.names import Contradiction, show
from namecheck.runtime.core import reporting, tensor_names
from namecheck.runtime.core.patch_table import TABLE
from namecheck.runtime.core.tensor_names import UNKNOWN_NAME, Names

# The tensors of one rank: the label of each in messages, and its names.
Entries: TypeAlias = tuple[tuple[str, Names], ...]

_HELP: Final = "Give it the same names on every rank, with `refine_names`, before it is {}."
_BYTES: Final = 7  # the size of a fingerprint, whose negative also fits into an int64


def compare_over_mesh(
    labelled_tensors: Mapping[str, torch.Tensor], mesh: Any, operation: str
) -> None:
    """`compare` for all ranks of a mesh; does nothing on other ranks."""
    if mesh.get_coordinate() is not None:
        groups = [mesh.get_group(dim) for dim in range(mesh.ndim)]
        compare(labelled_tensors, groups, torch.device(mesh.device_type), operation)


def compare(
    labelled_tensors: Mapping[str, torch.Tensor],
    groups: Sequence[dist.ProcessGroup],
    torch_device: torch.device,
    operation: str,
) -> None:
    """Report names that differ between the ranks of all groups, each a dimension of one mesh.

    The tensors have their labels in messages as keys; `operation` is a participle for what
    happens to them. Tensors without data are not compared: meta and fake tensors, and those of a
    program that is being compiled.
    """
    if not TABLE.applied or not _have_data(list(labelled_tensors.values())):
        return
    entries: Entries = tuple((label, _named(tensor)) for label, tensor in labelled_tensors.items())
    if _agree(entries, groups, torch_device):
        return
    difference = contradiction(_gather(entries, groups), operation)
    if difference is not None:
        reporting.handle(reporting.finding_of(difference, []), TABLE.default)


def _have_data(values: Sequence[Any]) -> bool:
    if torch.compiler.is_compiling() or any(tensor.is_meta for tensor in values):
        return False
    return detect_fake_mode(values) is None


def _named(tensor: torch.Tensor) -> Names:
    names = tensor_names.names_of(tensor)
    return (None,) * tensor.dim() if names is None else names


def _agree(
    entries: Entries, groups: Sequence[dist.ProcessGroup], torch_device: torch.device
) -> bool:
    """Whether all ranks have the same fingerprint: the largest is then the smallest."""
    digest = hashlib.blake2b(repr(entries).encode(), digest_size=_BYTES).digest()
    fingerprint = int.from_bytes(digest, "big")
    extremes = torch.tensor([fingerprint, -fingerprint], dtype=torch.int64, device=torch_device)
    for group in groups:
        dist.all_reduce(extremes, dist.ReduceOp.MAX, group)
    largest, smallest = extremes.tolist()
    return bool(largest == -smallest)


def _gather(entries: Entries, groups: Sequence[dist.ProcessGroup]) -> dict[int, Entries]:
    """The entries of every rank, gathered along one dimension of the mesh after the other."""
    by_rank = {dist.get_rank(): entries}
    for group in groups:
        gathered: list[Any] = [None] * dist.get_world_size(group)
        dist.all_gather_object(gathered, by_rank, group)
        by_rank = {rank: each for part in gathered for rank, each in part.items()}
    return dict(sorted(by_rank.items()))


def contradiction(by_rank: Mapping[int, Entries], operation: str) -> Contradiction | None:
    """The first tensor with different names on two ranks; an unknown name equals any other."""
    for at_ranks in zip(*by_rank.values(), strict=False):
        label = at_ranks[0][0]
        names_by_rank = dict(zip(by_rank, (names for _, names in at_ranks), strict=True))
        distinct = list(names_by_rank.values())
        if any(_differ(left, right) for left, right in itertools.combinations(distinct, 2)):
            ranks = "; ".join(_ranks_of_names(names_by_rank))
            message = f"The names of {label} differ between the ranks: {ranks}."
            return Contradiction("NC113", message, help=_HELP.format(operation))
    return None


def _differ(names: Names, other_names: Names) -> bool:
    if len(names) != len(other_names):
        return True
    pairs = zip(names, other_names, strict=True)
    return any(a != b and UNKNOWN_NAME not in (a, b) for a, b in pairs)


def _ranks_of_names(names_by_rank: Mapping[int, Names]) -> Iterator[str]:
    """The ranks that have the same names, those of the lowest rank first."""
    ranks_by_names: dict[Names, list[int]] = {}
    for rank, names in names_by_rank.items():
        ranks_by_names.setdefault(names, []).append(rank)
    for names, ranks in ranks_by_names.items():
        subject = f"rank {ranks[0]} has" if len(ranks) == 1 else f"ranks {_ranges(ranks)} have"
        yield f"{subject} {show(tensor_names.lift(names))}"


def _ranges(ranks: Sequence[int]) -> str:
    """Ascending numbers, with runs as ranges: ``0-2, 5``."""
    runs = [
        [rank for _, rank in run]
        for _, run in itertools.groupby(enumerate(ranks), key=lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(f"{run[0]}-{run[-1]}" if run[1:] else f"{run[0]}" for run in runs)
