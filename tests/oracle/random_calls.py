"""Random calls: an operator of the table, and arguments from the schemas of native torch."""

from __future__ import annotations

import inspect
import random
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from namecheck.operators import table

ALPHABET: Final = "NCHW"
STRANGE_NAMES: Final = ("X", "Z", "_", "1x", "", "N C", "é", "if", "*", "...")
DTYPES: Final = ("float32", "float32", "float32", "float32", "float64", "int64", "bool")
# These end the process, leave it, or request resources that the machine may not have.
LEFT_OUT: Final = re.compile(
    r"cuda|pin_memory|share_memory_|apply_|map_|manual_seed|set_.*|backward|is_shared|device"
    r"|register_.*|__\w+__|resize|.*_window|dropout.*|_.*get_tracing_state|.*histogram.*"
    # torch never returns from this for some probabilities outside of [0, 1].
    r"|binomial"
    # LAPACK reads and writes outside of a matrix with NaN in it: the process ends.
    r"|linalg\.eig(vals)?"
)
# A compressed sparse tensor with dense dims, added to a strided one, ends the process.
_LEFT_OUT_PARAMETERS: Final = frozenset({"dense_dim"})


@dataclass(frozen=True)
class InputRef:
    """The input with this index, as an argument."""

    index: int


@dataclass
class Call:
    """One call; `inputs` in the recorded form."""

    kind: str = "function"
    op: str = ""
    inputs: list[dict[str, Any]] = field(default_factory=list)
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalogue:
    """The callables: pairs of a form and a bare name."""

    operators: tuple[tuple[str, str], ...]

    @staticmethod
    def of_table(only: str = "") -> Catalogue:
        """Every form of every row of the table whose name matches."""
        pairs = []
        for key, row in table().items():
            for form in row.forms:
                name = f"{key}_" if form in "ij" and not key.endswith("_") else key
                if re.search(only, name) and not LEFT_OUT.fullmatch(name):
                    pairs.append((form, name))
        return Catalogue(tuple(pairs))


def draw(
    rng: random.Random, catalogue: Catalogue, torch: Any, make: Callable[[], Maker] | None = None
) -> Call:
    """Draw one random call; `make` starts one whose inputs come from somewhere else."""
    for _ in range(1000):
        maker = Maker(rng, torch) if make is None else make()
        special = rng.choice(SPECIAL) if rng.random() < 0.35 else None
        if special is not None:
            special(maker)
            return maker.call
        form, name = rng.choice(catalogue.operators)
        if maker.table_call(form, name):
            return maker.call
    raise RuntimeError("none of the operators can be called")


class Maker:
    """One call under construction."""

    def __init__(self, rng: random.Random, torch: Any) -> None:
        self.rng = rng
        self.torch = torch
        self.call = Call()
        self.several_results = False

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # Tensors

    def tensor(self, *, rank: int | None = None, dtype: str | None = None) -> InputRef:
        """A new input; after the first one usually of the same kind as the first."""
        first = self.call.inputs[0] if self.call.inputs else None
        if first is not None and rank is None and self.chance(0.75):
            spec = self.relative(first)
        else:
            spec = self.fresh(rank)
        spec["dtype"] = dtype or (first["dtype"] if first and self.chance(0.8) else self.dtype())
        self.call.inputs.append(spec)
        return InputRef(len(self.call.inputs) - 1)

    def dtype(self) -> str:
        return self.rng.choice(DTYPES)

    def fresh(self, rank: int | None = None) -> dict[str, Any]:
        rng = self.rng
        rank = rng.choice((0, 1, 1, 2, 2, 2, 2, 3, 3, 4)) if rank is None else rank
        shape = [rng.choice((1, 2, 2, 3, 3, 4, 5)) for _ in range(rank)]
        if self.chance(0.15):
            return {"names": [None] * rank, "shape": shape}
        names: list[str | None] = list(rng.sample(ALPHABET, rank))
        if self.chance(0.4):
            names = [name if self.chance(0.6) else None for name in names]
        return {"names": names, "shape": shape}

    def relative(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A tensor that may be broadcast with another one, or be its transpose, or nearly so."""
        rng = self.rng
        dims = list(zip(spec["names"], spec["shape"], strict=True))
        change = rng.random()
        if change < 0.2:
            dims = dims[rng.randint(0, len(dims)) :]
        elif change < 0.35:
            rng.shuffle(dims)
        elif change < 0.5:
            dims = dims[::-1]
        elif change < 0.6:
            dims = [(rng.choice([*ALPHABET, None]), rng.choice((1, 2, 3))), *dims][:4]
        if self.chance(0.3):
            dims = [(name if self.chance(0.5) else None, size) for name, size in dims]
        if self.chance(0.15) and dims:
            dims[rng.randrange(len(dims))] = (rng.choice([*ALPHABET, "X"]), rng.choice((1, 2)))
        if self.chance(0.1):
            dims = [(name, 1 if self.chance(0.5) else size) for name, size in dims]
        seen: set[str] = set()
        names = []
        for name, _ in dims:
            names.append(None if name in seen else name)
            seen.add(name)
        return {"names": names, "shape": [size for _, size in dims]}

    # Arguments

    @property
    def rank(self) -> int:
        return len(self.call.inputs[0]["shape"]) if self.call.inputs else 2

    @property
    def names(self) -> list[Any]:
        return self.call.inputs[0]["names"] if self.call.inputs else [None]

    def index(self) -> int:
        if self.chance(0.06):
            return self.rng.choice((-6, -5, 4, 5, 9))
        return (
            self.rng.randint(-self.rank, self.rank - 1) if self.rank else self.rng.choice((0, -1))
        )

    def name(self) -> Any:
        present = [name for name in self.names if name is not None]
        if present and self.chance(0.85):
            return self.rng.choice(present)
        return self.rng.choice((None, *ALPHABET, *STRANGE_NAMES))

    def new_name(self) -> Any:
        return (
            self.rng.choice((*ALPHABET, "A", "B", "D", None)) if self.chance(0.9) else self.name()
        )

    def dim(self) -> Any:
        if self.chance(0.02):
            return self.rng.choice((None, True, 1.5, [0], ["N"], ()))
        return self.name() if self.chance(0.4) else self.index()

    def dims(self) -> Any:
        length = self.rng.choice((0, 1, 1, 2, 2, 3))
        if self.chance(0.15):
            return self.dim()
        draw_one = self.rng.choice((self.index, self.index, self.name, self.name, self.dim))
        items = [draw_one() for _ in range(length)]
        return items if self.chance(0.6) else tuple(items)

    def sizes(self) -> Any:
        items = list(self.call.inputs[0]["shape"]) if self.call.inputs and self.chance(0.6) else []
        items = items or [self.rng.randint(1, 5) for _ in range(self.rng.randint(0, 3))]
        if self.chance(0.3):
            self.rng.shuffle(items)
        if self.chance(0.2) and items:
            items[self.rng.randrange(len(items))] = self.rng.choice((-1, 0, 1, 2, 6))
        return items if self.chance(0.5) else tuple(items)

    def number(self) -> Any:
        return self.rng.choice((0, 1, 2, 3, -1, 0.5, 1.0, 2.0, True))

    def value(self, kind: str, name: str) -> Any:
        """An argument for a parameter of a native schema."""
        kind = re.sub(r"Optional\[(.*)\]", r"\1", kind)
        if self.chance(0.02):
            return self.rng.choice((None, "N", 1, 0.5, [0], ["N"], (), True))
        if kind == "Tensor":
            wanted = {"mask": "bool", "index": "int64", "indices": "int64"}.get(name)
            return self.tensor(dtype=wanted if self.chance(0.9) else None)
        if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
            items = [self.tensor() for _ in range(self.rng.choice((1, 2, 2, 3)))]
            return items if self.chance(0.5) else tuple(items)
        if name == "dtype":
            return getattr(self.torch, self.dtype())
        if kind == "List[int]":
            return self.dims() if name in ("dim", "dims", "axis") else self.sizes()
        if kind == "int":
            dim = re.fullmatch(r"dim\d?|axis\d?|start_dim|end_dim|source|destination", name)
            return self.dim() if dim else self.rng.choice((0, 1, 1, 2, 2, 3, -1))
        if kind == "str":
            return self.name() if self.chance(0.95) else self.index()
        if kind == "List[str]":
            return self.dims()
        if kind == "bool":
            return self.chance(0.5)
        return self.number()

    # Calls

    def table_call(self, form: str, name: str) -> bool:
        """A call of an operator in one of its forms; False where native torch does not have it."""
        torch = self.torch
        is_function = form in "nfoj"
        home = torch.nn.functional if form == "n" and "." not in name else torch
        function = attribute(home if is_function else torch.Tensor, name)
        if form in "sc" or function is None:
            return False
        if form == "a":
            self.tensor()
            self.call.kind, self.call.op = "attr", name
            return True
        self.call.kind = "function" if is_function else "method"
        prefix = "torch." if home is torch else "torch.nn.functional."
        self.call.op = prefix + name if is_function else name
        parameters = self.parameters(name.rpartition(".")[2], function)
        if not parameters:
            return False
        takes_out = form == "o" or (form == "f" and self.chance(0.05))
        self.fill(parameters, method=not is_function, out=takes_out)
        return True

    def parameters(self, name: str, function: Any) -> list[tuple[str, str, bool, bool]]:
        """Name, kind, whether optional, whether keyword-only, for one overload drawn at random."""
        every = self.torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        schemas = [
            schema
            for schema in every
            if schema.arguments and "Tensor" in str(schema.arguments[0].type)
            if not any(argument.is_out for argument in schema.arguments)
        ]
        if schemas:
            schema = self.rng.choice(schemas)
            self.several_results = len(schema.returns) > 1
            return [
                (a.name, str(a.type), a.has_default_value(), a.kwarg_only)
                for a in schema.arguments
                if "Generator" not in str(a.type) and a.name not in _LEFT_OUT_PARAMETERS
            ]
        if every:
            return []  # it makes tensors without an input: see _factory
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return [("input", "Tensor", False, False)]
        return [
            (p.name, _guess(p.name), p.default is not p.empty, p.kind is p.KEYWORD_ONLY)
            for p in signature.parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY)
        ]

    def fill(
        self, parameters: Sequence[tuple[str, str, bool, bool]], *, method: bool, out: bool
    ) -> None:
        """Arguments for parameters: positional as far as possible, then by keyword."""
        positional = True
        for place, (name, kind, optional, keyword_only) in enumerate(parameters):
            if place == 0 and method:
                self.tensor()
                continue
            if optional and self.chance(0.6):
                positional = False
                continue
            positional = positional and not keyword_only and not (place > 1 and self.chance(0.25))
            value = self.value(kind, name)
            if positional:
                self.call.args.append(value)
            else:
                self.call.kwargs["input" if name == "self" else name] = value
        if out:
            several = self.several_results and self.chance(0.95)
            self.call.kwargs["out"] = (self.tensor(), self.tensor()) if several else self.tensor()


def attribute(home: Any, dotted: str) -> Any:
    """The object with a dotted name, None where there is none."""
    for part in dotted.split("."):
        home = getattr(home, part, None)
    return home


def _guess(name: str) -> str:
    if re.fullmatch(r"input\d?|other|target|weight|self|tensor|query|key|value|mask", name):
        return "Tensor"
    return {"dim": "int", "inplace": "bool", "tensors": "List[Tensor]"}.get(name, "number")


_ARITHMETIC: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_BITWISE: Final = ("and_", "or_", "xor")
_COMPARISON: Final = ("eq", "ne", "lt", "le", "gt", "ge")
_AUGMENTED: Final = ("iadd", "isub", "imul", "itruediv", "ipow", "iand", "ior", "imod")
_BINARY: Final = (*_ARITHMETIC, *_BITWISE, *_COMPARISON, *_AUGMENTED, *["matmul"] * 4)


def _operator(maker: Maker) -> None:
    maker.call.kind = "operator"
    if maker.chance(0.1):
        maker.call.op = maker.rng.choice(("neg", "pos", "abs", "invert"))
        maker.call.args = [maker.tensor()]
        return
    maker.call.op = maker.rng.choice(_BINARY)
    left: Any = maker.tensor()
    right: Any = maker.number() if maker.chance(0.15) else maker.tensor()
    swapped = not isinstance(right, InputRef) and not maker.call.op.startswith("i")
    maker.call.args = [right, left] if swapped and maker.chance(0.5) else [left, right]


def _one_index(maker: Maker) -> Any:
    draw_one = maker.rng.random()
    if draw_one < 0.35:
        return maker.rng.choice((0, 0, -1, 1, 4))
    if draw_one < 0.7:
        start, stop = (maker.rng.choice((None, 0, 1, 2, -1)) for _ in range(2))
        return slice(start, stop, maker.rng.choice((None, None, 1, 2)))
    if draw_one < 0.8:
        return ...
    if draw_one < 0.88:
        return None
    if draw_one < 0.94:
        return maker.tensor(
            rank=maker.rng.choice((0, 1, 2)), dtype=maker.rng.choice(("int64", "bool"))
        )
    return maker.rng.choice((True, [0, 1], "N", 1.5))


def _indexing(maker: Maker) -> None:
    maker.call.kind = "operator"
    maker.call.op = maker.rng.choice(("getitem", "getitem", "getitem", "setitem"))
    receiver = maker.tensor()
    count = maker.rng.choice((1, 1, 1, 2, 2, 3))
    index: Any = tuple(_one_index(maker) for _ in range(count))
    index = index[0] if count == 1 and maker.chance(0.8) else index
    maker.call.args = [receiver, index]
    if maker.call.op == "setitem":
        maker.call.args.append(1.0 if maker.chance(0.3) else maker.tensor())


def _name_list(maker: Maker) -> list[Any]:
    present: list[Any] = list(maker.names)
    maker.rng.shuffle(present)
    draw_one = maker.rng.random()
    if draw_one < 0.5:
        items = present[: maker.rng.randint(0, len(present) + 1)]
    elif draw_one < 0.8:
        items = [maker.new_name() for _ in range(maker.rank)]
    else:
        items = [maker.new_name() for _ in range(maker.rng.randint(0, 5))]
    if maker.chance(0.35):
        items.insert(maker.rng.randint(0, len(items)), ...)
    if maker.chance(0.05):
        items.append(maker.rng.choice((..., 1, "...", "1x", maker.name())))
    return items


def _naming(maker: Maker) -> None:
    maker.call.kind = "method"
    maker.tensor()
    op = maker.rng.choice(("rename", "rename_", "refine_names", "align_to", "names", "align_as"))
    maker.call.op = op
    items = _name_list(maker)
    if op == "names":
        maker.call.kind = "setattr"
        maker.call.args = [maker.rng.choice((items, tuple(items), None))]
    elif op == "align_as":
        maker.call.args = [maker.tensor()]
    elif op in ("rename", "rename_") and maker.chance(0.4):
        keys = [maker.name() for _ in range(maker.rng.choice((1, 1, 2)))]
        maker.call.kwargs = {key: maker.new_name() for key in keys if isinstance(key, str)}
    elif maker.chance(0.05):
        maker.call.args = [items]
    elif op == "refine_names" and maker.chance(0.5):
        maker.call.args = [
            name if name or maker.chance(0.3) else maker.new_name() for name in maker.names
        ]
    else:
        maker.call.args = items


def _flattening(maker: Maker) -> None:
    # torch.tensor(1.).flatten(0, 0, 'f') ends the process
    maker.tensor(rank=maker.rng.choice((1, 2, 3, 3, 4)))
    rank = maker.rank
    start = maker.rng.randrange(rank)
    stop = maker.rng.randrange(start, rank)
    known = maker.names[start : stop + 1]
    args: list[Any] = maker.rng.choice(
        (
            [known, maker.new_name()],
            [tuple(known), maker.new_name()],
            [start, stop, maker.new_name()],
            [start - rank, stop - rank, maker.new_name()],
            [known[0], known[-1], maker.new_name()],
            [maker.dims(), maker.new_name()],
            [maker.dim(), maker.dim(), maker.new_name()],
            [start, stop],
            [maker.dim()],
        )
    )
    maker.call.op, maker.call.args, maker.call.kind = "flatten", args, "method"
    if maker.chance(0.3):
        maker.call.kind, maker.call.op = "function", "torch.flatten"
        maker.call.args = [InputRef(0), *args]


def _unflattening(maker: Maker) -> None:
    maker.tensor(rank=maker.rng.choice((1, 2, 2, 3)))
    place = maker.rng.randrange(maker.rank)
    size = maker.rng.choice((2, 4, 6, 12))
    maker.call.inputs[0]["shape"][place] = size
    parts = [size // 2, 2] if size != 2 else [2]
    if maker.chance(0.15):
        parts[maker.rng.randrange(len(parts))] = maker.rng.choice((-1, 3, 1))
    named: Any = [(maker.new_name(), part) for part in parts]
    sizes: Any = maker.rng.choice((parts, tuple(parts), named, tuple(named)))
    if isinstance(sizes, list) and named == sizes and maker.chance(0.3):
        sizes = OrderedDict((str(name), part) for name, part in named)
    by_name = (
        maker.names[place] if isinstance(sizes, OrderedDict) or sizes[0] != parts[0] else place
    )
    dim = by_name if maker.chance(0.8) else maker.dim()
    maker.call.op, maker.call.args, maker.call.kind = "unflatten", [dim, sizes], "method"


_FACTORIES: Final = ("zeros", "ones", "empty", "rand", "randn", "full", "tensor")


def _factory(maker: Maker) -> None:
    maker.call.kind = "factory"
    op = maker.rng.choice(_FACTORIES)
    maker.call.op = f"torch.{op}"
    rank = maker.rng.choice((0, 1, 2, 2, 3))
    sizes = [maker.rng.randint(1, 4) for _ in range(rank)]
    if op == "tensor":
        data: Any = 1.0
        for size in sizes[:2]:
            data = [data] * size
        maker.call.args, rank = [data], min(rank, 2)
    elif op == "full":
        maker.call.args = [tuple(sizes), 1.0]
    else:
        maker.call.args = list(sizes) if maker.chance(0.5) else [tuple(sizes)]
    if maker.chance(0.9):
        names: Any = [maker.new_name() for _ in range(rank)]
        if maker.chance(0.15):
            names = [maker.new_name() for _ in range(maker.rng.randint(0, 3))]
        if maker.chance(0.1) and names:
            names[0] = maker.rng.choice((*STRANGE_NAMES, ..., 1))
        names = names if maker.chance(0.5) else tuple(names)
        maker.call.kwargs["names"] = (
            names if maker.chance(0.93) else maker.rng.choice((None, "NC", "N"))
        )
    if maker.chance(0.2):
        maker.call.kwargs["dtype"] = getattr(maker.torch, maker.dtype())
    if maker.chance(0.08) and op != "tensor":
        maker.call.kwargs["out"] = maker.tensor(rank=rank)


SPECIAL: Final[tuple[Callable[[Maker], None], ...]] = (
    _operator,
    _operator,
    _indexing,
    _naming,
    _naming,
    _flattening,
    _unflattening,
    _factory,
)
