"""For every row a call that torch accepts, and the same call with tensors of other dtypes.

The arguments follow from the parameters of a row; shapes are tried until torch accepts one.
`ARGUMENTS` has the arguments that this does not find.
"""

from __future__ import annotations

import itertools
import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import torch

from namecheck.core import memory_order
from namecheck.core.dims import Dims
from namecheck.core.memory_order import Memory
from namecheck.core.parameters import REQUIRED
from namecheck.core.tensors import Constant, Tensor
from namecheck.effects.words import Parameter, Signature
from namecheck.operators import Inference, Operator, infer, table

DTYPES: Final = (
    *("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"),
    *("bool", "complex64", "complex128"),
)
SHAPES: Final = (
    *((2, 2), (2,), (1, 2, 2), (1, 2, 2, 2), (1, 2, 2, 2, 2), (1, 1, 2, 2, 2), (), (1, 4, 2, 2)),
)
# Tensors that are no operands of the computation: indices, masks.
PLACES: Final = frozenset({"index", "indices", "tokens"})
MASKS: Final = frozenset({"mask", "condition"})

ARGUMENTS: Final[Mapping[str, Any]] = {
    "equation": "ij,jk->ik",
    "pattern": "a b -> b a",
    "dim": 0,
    "axis": 0,
    "size": (2, 2),
    "sizes": (2, 1),
    "shape": (2, 2),
    "normalized_shape": (2,),
    "kernel_size": 1,
    "output_size": 1,
    "train": True,
    "reduce": "sum",
    "reduction": "sum",
    "rounding_mode": "floor",
    "upper": True,
    "end": 2,  # a range of some elements: where there are none, the rules refuse no dtype
    "num_classes": 3,
    "data": [1.0, 2.0],
    "fill_value": 1.0,
    "repeats": 2,
    "pad": (1, 1),
    "k": 1,
    "n_fft": 2,
    "p": 0.5,
    "input": 2,  # a base: powers of 1 are computed in another way
    "dims": (0,),
    "dim0": 0,
    "dim1": 0,
    "axis0": 0,
    "axis1": 0,
    "source": 0,
    "destination": 0,
    "split_size_or_sections": 1,
    "split_size": 1,
    "indices_or_sections": 1,
    "chunks": 1,
    "upscale_factor": 1,
    "downscale_factor": 1,
    "groups": 1,
    "num_groups": 1,
    "q": 0.5,
    "diagonal": 0,
    "obj": [1.0],
    "window_length": 4,
    "s": 1.0,
    "device": "cpu",
    **dict.fromkeys(("num_features", "normalized_shape", "in_features", "out_features"), 2),
    **dict.fromkeys(("in_channels", "out_channels", "input_size", "hidden_size"), 2),
    **dict.fromkeys(("in1_features", "in2_features", "embed_dim", "d_model", "num_channels"), 2),
    **dict.fromkeys(("num_embeddings", "embedding_dim"), 2),
    **dict.fromkeys(("num_heads", "nhead", "padding", "lambd", "negative_slope"), 1),
}


# Optional arguments that change the result.
SETTINGS: Final[Mapping[str, tuple[Any, ...]]] = {
    "reduction": ("none", "mean", "sum"),
    "keepdim": (True,),
    "memory_format": (torch.contiguous_format,),
    "return_indices": (True,),
    "return_counts": (True,),
    "largest": (False,),
    "descending": (True,),
    "right": (True,),
    "unbiased": (False,),
    "onesided": (False,),
    "return_complex": (True,),
    "sparse_grad": (True,),
    "log_target": (True,),
}


# The memory order of a tensor with this many dims.
Order: TypeAlias = Callable[[int], tuple[int, ...]]


CONVERTED: Final[Mapping[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "strided": lambda tensor: tensor,
    "sparse_coo": torch.Tensor.to_sparse,
    "sparse_csr": torch.Tensor.to_sparse_csr,
}


@dataclass(frozen=True)
class Slot:
    """A tensor of a call: its shape, whether its dtype is varied, its order in memory, its layout.

    With a `source` it is cut from a dense tensor of these sizes, or a size of 1 is expanded.
    """

    shape: tuple[int, ...]
    varied: bool = True
    dtype: str = "float32"
    order: tuple[int, ...] = ()
    source: Callable[[int], int] | None = None
    layout: str = "strided"

    def made(self) -> torch.Tensor:
        order = self.order or tuple(range(len(self.shape)))
        dense = torch.ones([self.sizes[place] for place in order])
        whole = dense.to(getattr(torch, self.dtype)).permute([*map(order.index, range(len(order)))])
        return CONVERTED[self.layout](whole[tuple(map(slice, self.shape))].expand(self.shape))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the dense tensor that it is made from."""
        return tuple(map(self.source, self.shape)) if self.source else self.shape

    @property
    def memory(self) -> Memory:
        """Its memory order."""
        cut = {place: 1 for place, size in enumerate(self.sizes) if size > self.shape[place]}
        parts = tuple(map(min, self.sizes, self.shape))
        told = memory_order.moved(self.order, range(len(self.shape)), self.sizes, parts, cut)
        return memory_order.stretched(told, parts, self.shape)


def of(*shape: int) -> Slot:
    """A tensor whose dtype is varied."""
    return Slot(shape)


def places(*shape: int, dtype: str = "int64") -> Slot:
    """A tensor of ones that keeps its dtype: indices or a mask."""
    return Slot(shape, varied=False, dtype=dtype)


# Calls that are not found by trying: the parameters do not determine them.
CALLS: Final[Mapping[str, tuple[Any, ...]]] = {
    "addmv": (of(2), of(2, 2), of(2)),
    "index_add": (of(2, 2), 0, places(2), of(2, 2)),
    "index_put": (of(2, 2), (places(2),), of(2)),
    "index_reduce": (of(2, 2), 0, places(2), of(2, 2), "prod"),
    "clamp": (of(2), of(2), of(2)),
    "clip": (of(2), of(2), of(2)),
    "cross": (of(2, 3), of(2, 3)),
    "linalg.cross": (of(2, 3), of(2, 3)),
    "split_with_sizes": (of(3, 2), (2, 1)),
    "split_with_sizes_copy": (of(3, 2), (2, 1)),
    "unsafe_split_with_sizes": (of(3, 2), (2, 1)),
    "unfold": (of(4), 0, 2, 1),
    "unfold_copy": (of(4), 0, 2, 1),
    "cholesky": (of(1, 1),),
    "inverse": (of(1, 1),),
    "linalg.cholesky": (of(1, 1),),
    "linalg.inv": (of(1, 1),),
    "linalg.solve": (of(1, 1), of(1, 1)),
    "conv_transpose1d": (of(1, 2, 2), of(2, 2, 1)),
    "conv_transpose2d": (of(1, 2, 2, 2), of(2, 2, 1, 1)),
    "nn.functional.conv_transpose1d": (of(1, 2, 2), of(2, 2, 1)),
    "nn.functional.conv_transpose2d": (of(1, 2, 2, 2), of(2, 2, 1, 1)),
    "layer_norm": (of(2, 2), (2,)),
    "nn.functional.layer_norm": (of(2, 2), (2,)),
    "rms_norm": (of(2, 2), (2,)),
    "nn.functional.rms_norm": (of(2, 2), (2,)),
    "istft": (Slot((3, 5), dtype="complex64"), 4),
    "stft": (of(2, 16), 4, None, None, of(4), True, "reflect", False, None, True),
    "lu_unpack": (of(2, 2), places(2, dtype="int32")),
    "nn.functional.embedding_bag": (places(1, 2), of(3, 2)),
    "nn.functional.fold": (of(1, 4, 1), (2, 2), (2, 2)),
    "nn.functional.fractional_max_pool2d": (of(1, 1, 4, 4), 2, 2),
    "nn.functional.fractional_max_pool2d_with_indices": (of(1, 1, 4, 4), 2, 2),
    "nn.functional.fractional_max_pool3d": (of(1, 1, 4, 4, 4), 2, 2),
    "nn.functional.fractional_max_pool3d_with_indices": (of(1, 1, 4, 4, 4), 2, 2),
    "nn.FractionalMaxPool2d": (2, 2, of(1, 1, 4, 4)),
    "nn.FractionalMaxPool3d": (2, 2, of(1, 1, 4, 4, 4)),
    "nn.functional.interpolate": (of(1, 1, 2, 2), (4, 4)),
    "nn.functional.upsample": (of(1, 1, 2, 2), (4, 4)),
    "nn.functional.upsample_nearest": (of(1, 1, 2, 2), (4, 4)),
    "nn.functional.upsample_bilinear": (of(1, 1, 2, 2), (4, 4)),
    "nn.functional.local_response_norm": (of(1, 2, 4), 2),
    "nn.functional.max_unpool1d": (of(1, 1, 2), places(1, 1, 2), 2),
    "nn.functional.max_unpool2d": (of(1, 1, 2, 2), places(1, 1, 2, 2), 2),
    "nn.functional.max_unpool3d": (of(1, 1, 2, 2, 2), places(1, 1, 2, 2, 2), 2),
    "nn.functional.nll_loss": (of(2, 2), places(2)),
    "nn.NLLLoss": (of(2, 2), places(2)),
    "empty_permuted": ((2, 2), (0, 1)),
    "sparse.log_softmax": (Slot((2, 2), layout="sparse_coo"), 0),
    "sparse.softmax": (Slot((2, 2), layout="sparse_coo"), 0),
    "sparse.sum": (Slot((2, 2), layout="sparse_coo"), 0),
    "sparse.mm": (Slot((2, 2), layout="sparse_coo"), of(2, 2)),
    "sparse.addmm": (of(2, 2), Slot((2, 2), layout="sparse_coo"), of(2, 2)),
    "sparse.sampled_addmm": (Slot((2, 2), layout="sparse_csr"), of(2, 2), of(2, 2)),
    "sparse_coo_tensor": (places(2, 2), of(2), (2, 2)),
    "sparse_csr_tensor": ([0, 1, 2], [0, 1], of(2), (2, 2)),
    "sparse_csc_tensor": ([0, 1, 2], [0, 1], of(2), (2, 2)),
    "nn.Unflatten": (1, (2, 1), of(2, 2)),
    "mvlgamma": (of(2), 1),
    "special.multigammaln": (of(2), 1),
    "to_sparse_coo": (of(2, 2),),
    "linalg.ldl_factor": (of(1, 1),),
    "linalg.ldl_solve": (of(1, 1), places(1, dtype="int32"), of(1, 1)),
    "linalg.lu_factor": (of(1, 1),),
    "linalg.lu_solve": (of(1, 1), places(1, dtype="int32"), of(1, 1)),
    "lu_solve": (of(1, 1), of(1, 1), places(1, dtype="int32")),
    "nn.functional.affine_grid": (of(1, 2, 3), (1, 1, 2, 2)),
    "nn.functional.ctc_loss": (of(2, 1, 3), places(1, 1), places(1), places(1)),
    "nn.CTCLoss": (of(2, 1, 3), places(1, 1), places(1), places(1)),
    "nn.functional.gaussian_nll_loss": (of(2), of(2), of(2)),
    "nn.GaussianNLLLoss": (of(2), of(2), of(2)),
    "nn.functional.multi_margin_loss": (of(2, 2), places(2)),
    "nn.MultiMarginLoss": (of(2, 2), places(2)),
    "nn.functional.multilabel_margin_loss": (of(2, 2), places(2, 2)),
    "nn.MultiLabelMarginLoss": (of(2, 2), places(2, 2)),
    "nn.functional.cosine_embedding_loss": (of(2, 2), of(2, 2), places(2)),
    "nn.CosineEmbeddingLoss": (of(2, 2), of(2, 2), places(2)),
    "nn.ChannelShuffle": (1, of(1, 2, 2, 2)),
    "nn.Fold": ((2, 2), (2, 2), of(1, 4, 1)),
    "nn.InstanceNorm1d": (2, of(1, 2, 4)),
    "nn.InstanceNorm2d": (2, of(1, 2, 4, 4)),
    "nn.InstanceNorm3d": (2, of(1, 2, 4, 4, 4)),
    "nn.LocalResponseNorm": (2, of(1, 2, 4)),
    "nn.MaxUnpool1d": (2, of(1, 1, 2), places(1, 1, 2)),
    "nn.MaxUnpool2d": (2, of(1, 1, 2, 2), places(1, 1, 2, 2)),
    "nn.MaxUnpool3d": (2, of(1, 1, 2, 2, 2), places(1, 1, 2, 2, 2)),
    "nn.Threshold": (1, 0, of(2)),
    "nn.Upsample": ((4, 4), of(1, 1, 2, 2)),
    "nn.UpsamplingBilinear2d": ((4, 4), of(1, 1, 2, 2)),
    "nn.UpsamplingNearest2d": ((4, 4), of(1, 1, 2, 2)),
    "nn.Transformer": (2, 1, 1, 1, 2, of(2, 1, 2), of(2, 1, 2)),
}


@dataclass(frozen=True)
class Sample:
    """A call: the function of torch, the operator as `infer` takes it, and its arguments."""

    operator: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def run(self) -> Any:
        args, kwargs = _filled(self.args), {k: _filled(v) for k, v in self.kwargs.items()}
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.function(*args, **kwargs)

    def with_orders(self, orders: Iterator[Order]) -> Sample:
        """The same call with tensors in these memory orders, one by one."""
        args = _reordered(self.args, orders)
        return replace(
            self, args=args, kwargs={k: _reordered(v, orders) for k, v in self.kwargs.items()}
        )

    def with_source(self, source: Callable[[int], int]) -> Sample:
        """The same call with tensors that are cut from others, or expanded."""
        args = _made_of(self.args, source)
        return replace(
            self, args=args, kwargs={k: _made_of(v, source) for k, v in self.kwargs.items()}
        )

    @property
    def slots(self) -> list[Slot]:
        """All tensors, in order."""
        return list(_slots((*self.args, *self.kwargs.values())))

    def with_dtypes(self, dtypes: tuple[str, ...]) -> Sample:
        """The same call with these dtypes for the varied tensors in order, the last for others."""
        rest = itertools.chain(dtypes, itertools.repeat(dtypes[-1]))
        args = _retyped(self.args, rest)
        return replace(
            self, args=args, kwargs={k: _retyped(v, rest) for k, v in self.kwargs.items()}
        )

    def with_layer(self, dtype: str) -> Sample:
        """The same call of a layer with parameters of this dtype."""
        assert isinstance(self.function, Layer)
        return replace(self, function=replace(self.function, dtype=dtype))

    @property
    def has_parameters(self) -> bool:
        """Whether it is the call of a layer that accepts a dtype."""
        return isinstance(self.function, Layer) and table()[self.operator].is_placed

    @property
    def varied(self) -> int:
        """The number of tensors with a varied dtype."""
        return sum(slot.varied for slot in self.slots)

    @property
    def dtypes(self) -> list[str]:
        """The dtypes of all tensors, in order."""
        return [slot.dtype for slot in self.slots]


def _slots(value: Any) -> Iterator[Slot]:
    if isinstance(value, Slot):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _slots(part)


def _filled(value: Any) -> Any:
    if isinstance(value, Slot):
        return value.made()
    return type(value)(map(_filled, value)) if isinstance(value, (tuple, list)) else value


def _retyped(value: Any, dtypes: Iterator[str]) -> Any:
    if isinstance(value, Slot):
        return replace(value, dtype=next(dtypes)) if value.varied else value
    if isinstance(value, (tuple, list)):
        return type(value)(_retyped(part, dtypes) for part in value)
    return value


def _reordered(value: Any, orders: Iterator[Order]) -> Any:
    if isinstance(value, Slot):
        return replace(value, order=next(orders)(len(value.shape)))
    if isinstance(value, (tuple, list)):
        return type(value)(_reordered(part, orders) for part in value)
    return value


def _made_of(value: Any, source: Callable[[int], int]) -> Any:
    if isinstance(value, Slot):
        return replace(value, source=source)
    if isinstance(value, (tuple, list)):
        return type(value)(_made_of(part, source) for part in value)
    return value


def everyday(rows: Sequence[Operator]) -> Sequence[Operator]:
    """One row in eight, with ``NAMECHECK_ALL_ROWS=1`` in the environment all of them.

    Which rows these are does not depend on the others: a row more draws none anew.
    """
    if os.environ.get("NAMECHECK_ALL_ROWS"):
        return rows
    return [row for row in rows if zlib.crc32(row.key.encode()) % 8 == 7]


def samples(
    row: Operator, shapes: Sequence[tuple[int, ...]] = SHAPES, *, settings: bool = True
) -> Iterator[Sample]:
    """For every form and overload of a row, calls that torch accepts, if any are found.

    With `settings` also the same calls with one more argument.
    """
    for form in row.forms:
        for place in places_of(row, form):
            operator, function = place
            given = Sample(operator, function, CALLS[row.key], {}) if row.key in CALLS else None
            if given is not None:
                yield given
            for signature in _signatures(row, form):
                tried = _tried(operator, function, signature, shapes)
                found = given or next(filter(_works, tried), None)
                if found is not None:
                    if found is not given:
                        yield found
                    if settings:
                        yield from filter(_works, _settled(found, signature))


def _settled(sample: Sample, signature: Signature) -> Iterator[Sample]:
    """The same call with one more setting of `SETTINGS`."""
    names = {p.name for p in signature[len(sample.args) :] if p.default is not REQUIRED}
    for name in () if isinstance(sample.function, Layer) else SETTINGS:
        for value in SETTINGS[name] if name in names - sample.kwargs.keys() else ():
            yield replace(sample, kwargs={**sample.kwargs, name: value})


def places_of(row: Operator, form: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The places of a row in torch in a form: its key for `infer`, and the function."""
    name = row.key.rpartition(".")[2]
    in_place = name if name.endswith("_") else f"{name}_"
    owner: Any = torch
    for part in row.key.split(".")[:-1]:
        owner = getattr(owner, part, None)
    if form == "f" and callable(getattr(owner, name, None)):
        yield f"torch.{row.key}" if "." not in row.key else row.key, getattr(owner, name)
    elif form == "n":
        functional = getattr(torch.nn.functional, name, None)
        if callable(functional):
            yield row.key, functional
    elif form == "m" and callable(getattr(torch.Tensor, row.key, None)):
        yield f"Tensor.{row.key}", getattr(torch.Tensor, row.key)
    elif form == "i" and callable(getattr(torch.Tensor, in_place, None)):
        yield in_place, getattr(torch.Tensor, in_place)
    elif form == "a":
        yield row.key, lambda tensor: getattr(tensor, row.key)
    elif form == "c" and owner is not None:
        given = CALLS.get(row.key)
        if given is None:
            settings = len(_needed(row.constructor))
        else:
            settings = sum(not isinstance(value, Slot) for value in given)
        yield row.key, Layer(getattr(owner, name), settings)


@dataclass(frozen=True)
class Layer:
    """A class of ``torch.nn`` as a function of its constructor's arguments and of tensors.

    Its parameters have a `dtype`; if that is empty, the dtype of the first floating tensor.
    """

    made: Callable[..., torch.nn.Module]
    settings: int
    dtype: str = ""

    def __call__(self, *args: Any) -> Any:
        layer = self.made(*args[: self.settings])
        tensors = args[self.settings :]
        dtypes = [str(tensor.dtype).removeprefix("torch.") for tensor in tensors]
        return layer.to(getattr(torch, self.cast(dtypes)))(*tensors)

    def cast(self, dtypes: Sequence[str]) -> str:
        """The dtype of the parameters, for a call with tensors of these dtypes."""
        return self.dtype or next((dtype for dtype in dtypes if "float" in dtype), "float32")


def _signatures(row: Operator, form: str) -> list[Signature]:
    made = row.constructor if form == "c" else ()
    return [(*made, *signature) for _, signature in row.alternatives(form)]


def _needed(signature: Signature) -> list[Parameter]:
    """The required parameters of a call."""
    optional = ("names", "out")
    return [
        p
        for p in signature
        if p.default is REQUIRED
        and p.name not in optional
        and not p.mapping
        and not (p.variadic and p.name == "settings")
    ]


def _tried(
    operator: str,
    function: Callable[..., Any],
    signature: Signature,
    shapes: Sequence[tuple[int, ...]],
) -> Iterator[Sample]:
    needed = _needed(signature)
    for main, dtype in itertools.product(shapes, ("float32", "int64", "bool", "complex64")):
        for other in (main, (2,), (1, 2, 2), (2, 2), ()):
            values = [_argument(p, main if i == 0 else other, dtype) for i, p in enumerate(needed)]
            args: list[Any] = []
            kwargs: dict[str, Any] = {}
            for parameter, value in zip(needed, values, strict=True):
                if parameter.keyword_only:
                    kwargs[parameter.name] = value
                elif parameter.variadic and isinstance(value, (tuple, list)):
                    args += value
                else:
                    args.append(value)
            yield Sample(operator, function, tuple(args), kwargs)


def _argument(parameter: Parameter, shape: tuple[int, ...], dtype: str) -> Any:
    name, kinds = parameter.name, parameter.kinds
    if "tensor" in kinds or (name in PLACES | MASKS and "int" not in kinds):
        if name in PLACES:
            return Slot((1,) * len(shape), varied=False, dtype="int64")
        if name in MASKS:
            return Slot(shape, varied=False, dtype="bool")
        return Slot(shape, dtype=dtype)
    if "tensors" in kinds:
        return [Slot(shape, dtype=dtype), Slot(shape, dtype=dtype)]
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    for kind, value in _OF_KIND.items():
        if kind in kinds:
            return value
    return 1


_OF_KIND: Final[Mapping[str, Any]] = {
    "dim": 0,
    "dims": (0,),
    "int": 1,
    "number": 1,
    "float": 0.5,
    "bool": False,
    "ints": (2, 2),
    "dtype": torch.float64,
    "str": "mean",
    "none": None,
}


def _works(sample: Sample) -> bool:
    try:
        sample.run()
    except Exception:
        return False
    return True


def lowered(value: Any, told: Callable[[Slot], Tensor]) -> Any:
    """An argument in the form that `infer` takes; a tensor is replaced by `told`."""
    if isinstance(value, Slot):
        return told(value)
    if isinstance(value, (tuple, list)):
        return type(value)(lowered(part, told) for part in value)
    if isinstance(value, torch.dtype):
        return Constant("dtype", str(value).removeprefix("torch."))
    if isinstance(value, torch.memory_format):
        return Constant("memory_format", str(value).removeprefix("torch."))
    return value


def inferred(sample: Sample, told: Callable[[Slot], Tensor]) -> Inference:
    """The inferred result of a sample."""
    kwargs = {key: lowered(value, told) for key, value in sample.kwargs.items()}
    if sample.has_parameters and isinstance(sample.function, Layer):
        kwargs["dtype"] = Constant("dtype", sample.function.cast(sample.dtypes))
    return infer(sample.operator, *(lowered(value, told) for value in sample.args), **kwargs)


def dims_of(slot: Slot) -> Dims:
    """Unnamed dims with the sizes of a tensor."""
    return Dims.of(*(None,) * len(slot.shape), sizes=slot.shape)
