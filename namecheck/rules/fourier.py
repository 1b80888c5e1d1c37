"""Fourier transforms: every dim keeps its name; transformed dims may change their size.

A real signal has half as many frequencies: its last transformed dim has the size ``n // 2 + 1``
(``rfft``, ``ihfft``); the inverse doubles it (``irfft``, ``hfft``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from namecheck.core.dataclasses import replace
from namecheck.core.dims import OPEN, Dim, Dims, Size, locate, new_dim
from namecheck.core.names import UNKNOWN, Axis, Unknown
from namecheck.core.sizes import Known
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import DimArgument, DimArguments
from namecheck.rules.dim_map import joined, without_right
from namecheck.rules.registry import rule
from namecheck.rules.splits import part_of

Length: TypeAlias = Size | None
Lengths: TypeAlias = Sequence[Length] | Length
# The size of the last dim, from its size before and from the requested length.
_Last: TypeAlias = Callable[[Known, Known | None], Known]


def _same(size: Known, length: Known | None) -> Known:
    return size if length is None else length


def _half(size: Known, length: Known | None) -> Known:
    return _same(size, length) // 2 + 1


def _double(size: Known, length: Known | None) -> Known:
    return _same((size - 1) * 2, length)


@rule(memory="unknown")
def fourier(input: Tensor, s: Lengths = None, dim: DimArgument | DimArguments = None) -> Dims:
    """The input's names; the dims transformed have the lengths `s` (torch.fft.fft, fftn)."""
    return _of_many(input.dims, s, dim, _same)


@rule(memory="unknown")
def fourier_half(input: Tensor, s: Lengths = None, dim: DimArgument | DimArguments = None) -> Dims:
    """As `fourier`; the last dim transformed has half the size (torch.fft.rfft, ihfft2)."""
    return _of_many(input.dims, s, dim, _half)


@rule(memory="unknown")
def fourier_double(
    input: Tensor, s: Lengths = None, dim: DimArgument | DimArguments = None
) -> Dims:
    """As `fourier`; the last dim transformed has double the size (torch.fft.irfft, hfft2)."""
    return _of_many(input.dims, s, dim, _double)


def _of_many(dims: Dims, s: Lengths, dim: DimArgument | DimArguments, last: _Last) -> Dims:
    """Transform `dim`; without it the last dims, as many as there are lengths, or all."""
    lengths = None if s is None else list(s) if isinstance(s, Sequence) else [s]
    if isinstance(dim, (int, str, Unknown)):
        return _transformed(dims, lengths or [None], [dim], last)
    if isinstance(s, Unknown) or dims.rank is None:
        return dims.sizeless()
    if dim is None:
        dim = list(range(-dims.rank if lengths is None else -len(lengths), 0))
    return _transformed(dims, lengths or [None] * len(dim), dim, last)


def _transformed(
    dims: Dims, lengths: Sequence[Length], dim_arguments: Sequence[DimArgument], last: _Last
) -> Dims:
    places = [locate(dims, dim) for dim in dim_arguments]
    distinct = len(set(places)) == len(places) == len(lengths)
    if dims.rank is None or not places or not distinct:
        return dims.sizeless()
    result = dims
    for place, length in zip(places, lengths, strict=True):
        if not isinstance(place, int):
            return dims.sizeless()
        changed = last if place == places[-1] else _same
        size = _size(dims[place].size, length, changed)
        result = result.replace(place, _resized(dims[place], size))
    return result


def _resized(dim: Dim, size: Size) -> Dim:
    """A dim of another size: a label is kept; an axis too, unless the size is another axis's."""
    return part_of(dim, size) if isinstance(dim.name, Axis) else replace(dim, size=size)


def _size(size: Size, length: Length, transform: _Last) -> Size:
    new_length = None if length == -1 else length
    if isinstance(new_length, Unknown) or (new_length is None and isinstance(size, Unknown)):
        return UNKNOWN
    return transform(0 if isinstance(size, Unknown) else size, new_length)


@rule(memory="unknown")
def spectrogram(
    input: Tensor,
    n_fft: Size,
    onesided: bool | Unknown | None = None,
    return_complex: bool | Unknown | None = None,
) -> Dims:
    """The batch, frequencies, times, and real and imaginary parts (torch.stft)."""
    if input.dims.rank is None or isinstance(return_complex, Unknown):
        return OPEN
    parts = () if return_complex is not False else (Dim(None, 2),)
    count = n_fft if onesided is False else UNKNOWN
    return joined(without_right(input.dims, 1), Dims((Dim(None, count), Dim(None), *parts)))


@rule(memory="unknown")
def signals(input: Tensor, length: Size | None = None) -> Dims:
    """The batch, and the samples (torch.istft).

    A spectrogram has a batch and its two dims. Up to torch 1.13 it might be real, with one more dim
    for the two parts of a number: `torch.stft` of that time made it so.
    """
    rank = input.dims.rank
    if rank is None:
        return OPEN
    if rank == 3 and input.dims.prefix[2].size == 2 and input.dtype is UNKNOWN:
        return OPEN
    samples = Dim(None) if length is None else Dim() if length is UNKNOWN else new_dim(length)
    return joined(without_right(input.dims, 2 if rank < 4 else 3), Dims((samples,)))
