"""Recorded calls: one JSON object a line, with tensors, arguments and native torch's result.

fixtures/oracle/README.md describes the encoding.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import Any, Final, TypeAlias

from namecheck.core.dims import Dims
from namecheck.core.tensors import Constant, Tensor


class CasesError(Exception):
    """An unreadable file of recorded calls; the message has file, line and reason."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The input with this index, as an argument."""

    index: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """A dict, or an OrderedDict, as an argument."""

    items: tuple[tuple[Any, Any], ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Size:
    """A torch.Size, as an argument or a result."""

    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Raised:
    """The call raised an exception with this type and text."""

    error: str
    message: str


@dataclass(frozen=True, slots=True)
class Value:
    """The call returned this value, which is no tensor."""

    value: Any


@dataclass(frozen=True, slots=True)
class ValueOf:
    """The call returned a value of this type, which is no tensor."""

    type: str


Answer: TypeAlias = "Tensor | tuple[Answer, ...] | Raised | Value | ValueOf"

KINDS: Final = ("method", "function", "factory", "operator", "attr", "setattr", "module")


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded call; `after` has the inputs after the call, where they were recorded."""

    id: str
    op: str
    kind: str
    inputs: tuple[Tensor, ...]
    requires_grad: tuple[bool, ...]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    ctor: tuple[Any, ...]
    result: Answer
    after: tuple[Tensor, ...] | None
    recorded: Mapping[str, Any]


def read(path: Path) -> Iterator[Case]:
    """The calls of a .jsonl or .jsonl.gz file, in order; raises `CasesError`, with the line."""
    opened = gzip.open if path.suffix == ".gz" else open
    number = 1
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    yield parse(line)
                number += 1
    except OSError as error:
        raise CasesError(f"{path}: {error.strerror or error}") from error
    except (EOFError, UnicodeDecodeError, zlib.error, _Malformed) as error:
        raise CasesError(f"{path}:{number}: {error}") from error


class _Malformed(Exception):
    """The mistake in one line."""


def parse(line: str) -> Case:
    """One recorded call."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise _Malformed(f"not a JSON object: {error}") from error
    if not isinstance(record, dict):
        raise _Malformed("not a JSON object")
    kind = _field(record, "kind", str)
    if kind not in KINDS:
        raise _Malformed(f"unknown kind '{kind}'; the kinds are {', '.join(KINDS)}")
    inputs = tuple(map(_tensor, _field(record, "inputs", list)))
    if kind in ("method", "attr", "setattr") and not inputs:
        raise _Malformed(f"the kind '{kind}' needs an input to be called on")
    decode = _Decoder(len(inputs))
    return Case(
        id=_field(record, "id", str),
        op=_field(record, "op", str),
        kind=kind,
        inputs=inputs,
        requires_grad=tuple(bool(spec.get("requires_grad")) for spec in record["inputs"]),
        args=tuple(map(decode, _field(record, "args", list))),
        kwargs={key: decode(item) for key, item in _field(record, "kwargs", dict).items()},
        ctor=tuple(map(decode, record.get("ctor", ()))),
        result=_answer(_field(record, "result", (dict, list)), decode),
        after=_after(record, inputs),
        recorded=record,
    )


def _field(record: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    if name not in record:
        raise _Malformed(f"the field '{name}' is missing")
    if not isinstance(record[name], kind):
        raise _Malformed(f"the field '{name}' is a {type(record[name]).__name__}")
    return record[name]


def _tensor(spec: Any) -> Tensor:
    if not isinstance(spec, dict):
        raise _Malformed("a tensor is an object with names, shape and dtype")
    names = _field(spec, "names", list)
    shape = _field(spec, "shape", list)
    if len(names) != len(shape):
        raise _Malformed(f"a tensor of {len(shape)} dims has {len(names)} names")
    if not all(name is None or isinstance(name, str) for name in names):
        raise _Malformed("a name is a string or null")
    if not all(isinstance(size, int) for size in shape):
        raise _Malformed("a size is an int")
    return Tensor(Dims.of(*names, sizes=shape), dtype=_field(spec, "dtype", str))


def _after(record: Mapping[str, Any], inputs: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
    if "after" not in record:
        return None
    names = _field(record, "after", list)
    shapes = record.get("after_shapes", [list(tensor.dims.sizes) for tensor in inputs])
    if not len(names) == len(shapes) == len(inputs):
        raise _Malformed("'after' does not tell of every input")
    return tuple(
        _tensor({"names": after, "shape": shape, "dtype": before.dtype})
        for after, shape, before in zip(names, shapes, inputs, strict=True)
    )


def _answer(result: Any, decode: _Decoder) -> Answer:
    if isinstance(result, list):
        return tuple(_answer(part, decode) for part in result)
    if not isinstance(result, dict):
        raise _Malformed("a result is an object or a list of objects")
    if "names" in result:
        return _tensor(result)
    if "error" in result:
        return Raised(_field(result, "error_type", str), _field(result, "error", str))
    if "value" in result:
        return Value(decode(result["value"]))
    if "value_type" in result:
        return ValueOf(_field(result, "value_type", str))
    raise _Malformed("a result has names, an error, a value or a value_type")


@dataclass(frozen=True, slots=True)
class _Decoder:
    """Turns the JSON of an argument into the argument."""

    inputs: int

    def __call__(self, item: Any) -> Any:
        if isinstance(item, list):
            return [self(part) for part in item]
        if not isinstance(item, dict):
            return item
        tag = item.get("$")
        if not isinstance(tag, str) or tag not in _TAGS:
            raise _Malformed(f"unknown tag {tag!r}; the tags are {', '.join(sorted(_TAGS))}")
        try:
            return _TAGS[tag](self, item)
        except (KeyError, TypeError, ValueError) as error:
            raise _Malformed(f"malformed object of tag '{tag}': {json.dumps(item)}") from error

    def ref(self, item: Mapping[str, Any]) -> Ref:
        if not 0 <= item["i"] < self.inputs:
            raise _Malformed(f"there is no input {item['i']}")
        return Ref(item["i"])

    def tuple(self, item: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(self(part) for part in item["v"])

    def slice(self, item: Mapping[str, Any]) -> slice:
        start, stop, step = item["v"]
        return slice(self(start), self(stop), self(step))

    def size(self, item: Mapping[str, Any]) -> Size:
        return Size(tuple(item["v"]))

    def pairs(self, item: Mapping[str, Any]) -> Pairs:
        return Pairs(
            tuple((self(key), self(part)) for key, part in item["v"]),
            ordered=item["$"] == "OrderedDict",
        )

    def constant(self, item: Mapping[str, Any]) -> Constant:
        return Constant(item["$"], item["v"].removeprefix("torch."))

    def ellipsis(self, item: Mapping[str, Any]) -> EllipsisType:
        return ...

    def float(self, item: Mapping[str, Any]) -> float:
        value = float(item["v"])
        if math.isfinite(value):
            raise ValueError
        return value


_TAGS: Final[Mapping[str, Callable[[_Decoder, Mapping[str, Any]], Any]]] = {
    "T": _Decoder.ref,
    "tuple": _Decoder.tuple,
    "Size": _Decoder.size,
    "slice": _Decoder.slice,
    "dict": _Decoder.pairs,
    "OrderedDict": _Decoder.pairs,
    "dtype": _Decoder.constant,
    "device": _Decoder.constant,
    "layout": _Decoder.constant,
    "memory_format": _Decoder.constant,
    "ellipsis": _Decoder.ellipsis,
    "float": _Decoder.float,
}
