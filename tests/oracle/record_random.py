"""Records random calls of native named tensors, to compare namecheck on new calls.

By hand, from the root of the repository, in an environment with torch 2.12.1 (CPU, about 5 GB)::

    python -m tests.oracle.record_random --seed 1 --count 5000 --out random-1.jsonl
    python -m tests.conformance random-1.jsonl --side static --semantics torch-2.12

The encoding is that of fixtures/oracle/README.md. One seed always generates the same calls. Calls
run in a process of their own, which is restarted after a call that ends it.
"""

from __future__ import annotations

import argparse
import json
import operator as python_operators
import random
import re
import subprocess
import sys
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.oracle.random_calls import Call, Catalogue, InputRef, draw

CONSTANTS: Final = ("dtype", "device", "layout", "memory_format")
UNSTABLE: Final = frozenset({"data_ptr", "__hash__", "__dir__", "__repr__", "__iter__", "numpy"})


def encode(torch: Any, item: Any) -> Any:
    """An argument or a plain result as JSON; raises TypeError for a value without such a form."""
    if isinstance(item, InputRef):
        return {"$": "T", "i": item.index}
    if item is ...:
        return {"$": "ellipsis"}
    if item is None or isinstance(item, (bool, int, str)):
        return item
    if isinstance(item, float):
        finite = item == item and abs(item) != float("inf")
        return item if finite else {"$": "float", "v": repr(item)}
    for kind in CONSTANTS:
        if isinstance(item, getattr(torch, kind)):
            return {"$": kind, "v": str(item)}
    if isinstance(item, slice):
        parts = (item.start, item.stop, item.step)
        return {"$": "slice", "v": [encode(torch, part) for part in parts]}
    if isinstance(item, torch.Size):
        return {"$": "Size", "v": list(item)}
    if isinstance(item, list):
        return [encode(torch, part) for part in item]
    if isinstance(item, tuple):
        return {"$": "tuple", "v": [encode(torch, part) for part in item]}
    if isinstance(item, dict):
        pairs = [[key, encode(torch, part)] for key, part in item.items()]
        return {"$": "OrderedDict" if isinstance(item, OrderedDict) else "dict", "v": pairs}
    raise TypeError(type(item).__name__)


def build(torch: Any, spec: Mapping[str, Any]) -> Any:
    """The tensor that a recorded input describes."""
    dtype = getattr(torch, spec["dtype"])
    count = 1
    for size in spec["shape"]:
        count *= size
    data: list[Any] = [(1 + (index * 3) % 7) / 8 for index in range(count)]
    if dtype is torch.bool:
        data = [index % 2 == 0 for index in range(count)]
    elif dtype is torch.int64:
        data = [index % 2 for index in range(count)]
    tensor = torch.tensor(data, dtype=dtype).reshape(spec["shape"]).clone()
    return tensor.rename_(*spec["names"]) if any(spec["names"]) else tensor


def filled(item: Any, tensors: Sequence[Any]) -> Any:
    """An argument with its tensors inserted."""
    if isinstance(item, InputRef):
        return tensors[item.index]
    if isinstance(item, (tuple, list)):
        return type(item)(filled(part, tensors) for part in item)
    return item


def perform(torch: Any, call: Call, tensors: Sequence[Any]) -> Any:
    """Make the call."""
    args = filled(call.args, tensors)
    kwargs = {key: filled(item, tensors) for key, item in call.kwargs.items()}
    if call.kind == "method":
        return getattr(tensors[0], call.op)(*args, **kwargs)
    if call.kind == "operator":
        return getattr(python_operators, call.op)(*args)
    if call.kind == "attr":
        return getattr(tensors[0], call.op)
    if call.kind == "setattr":
        return setattr(tensors[0], call.op, args[0])
    function = torch
    for part in call.op.split(".")[1:]:
        function = getattr(function, part)
    return function(*args, **kwargs)


def described(torch: Any, answer: Any, tensors: Sequence[Any], op: str) -> Any:
    """The result of a call, encoded."""
    if op.rsplit(".", 1)[-1] in UNSTABLE:
        return {"value_type": type(answer).__name__}
    if isinstance(answer, torch.Tensor):
        record: dict[str, Any] = {
            "names": list(answer.names),
            "shape": list(answer.shape),
            "dtype": str(answer.dtype).removeprefix("torch."),
        }
        for index, tensor in enumerate(tensors):
            if answer is tensor:
                record["is_input"] = index
        if answer.device.type != "cpu":
            record["device"] = str(answer.device)
        return record
    if isinstance(answer, (tuple, list)) and any(isinstance(x, torch.Tensor) for x in answer):
        return [described(torch, part, tensors, "") for part in answer]
    try:
        return {"value": encode(torch, answer)}
    except TypeError:
        return {"value_type": type(answer).__name__}


def record(torch: Any, call: Call, name: str) -> dict[str, Any]:
    """Make the call and record its outcome."""
    tensors = [build(torch, spec) for spec in call.inputs]
    before = [(tensor.names, tuple(tensor.shape)) for tensor in tensors]
    args = [encode(torch, arg) for arg in call.args]
    kwargs = {key: encode(torch, arg) for key, arg in call.kwargs.items()}
    torch.manual_seed(0)
    try:
        result = described(torch, perform(torch, call, tensors), tensors, call.op)
    except Exception as error:
        message = re.sub(r"0x[0-9a-f]{6,}", "0xADDR", str(error))
        result = {"error_type": type(error).__name__, "error": message}
    line: dict[str, Any] = {"id": name, "op": call.op, "kind": call.kind, "inputs": call.inputs}
    line |= {"args": args, "kwargs": kwargs, "result": result}
    after = [(tensor.names, tuple(tensor.shape)) for tensor in tensors]
    if after != before or changes(call):
        line["after"] = [list(names) for names, _ in after]
        if [shape for _, shape in after] != [shape for _, shape in before]:
            line["after_shapes"] = [list(shape) for _, shape in after]
    return line


def changes(call: Call) -> bool:
    """Whether the call may change its inputs."""
    name = call.op.rsplit(".", 1)[-1]
    augmented = call.kind == "operator" and name in ("setitem", *_AUGMENTED)
    return call.kind == "setattr" or augmented or name.endswith("_") or "out" in call.kwargs


_AUGMENTED: Final = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior")


def work(seed: int, start: int, count: int, catalogue: Catalogue) -> None:
    """Record calls number `start` and up, one line each, to the standard output."""
    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for number in range(start, count):
        call = draw(random.Random(f"{seed}/{number}"), catalogue, torch)
        name = f"r{seed}.{number:05d}"
        try:
            line = record(torch, call, name)
        except Exception as error:
            # a call can leave a tensor whose names can no longer be read
            print(json.dumps({"skipped": name, "why": str(error)}), flush=True)
            continue
        print(json.dumps(line, separators=(",", ":")), flush=True)


def main() -> None:
    """Run the worker until every call has been made or has ended its process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="a regular expression that operators must match")
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.out is None:
        work(options.seed, options.start, options.count, Catalogue.of_table(options.only))
        return
    lines: list[str] = []
    lost = number = 0
    base = [sys.executable, "-m", "tests.oracle.record_random", f"--seed={options.seed}"]
    base += [f"--count={options.count}", f"--only={options.only}"]
    while number < options.count:
        command = [*base, f"--start={number}"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        made = run.stdout.splitlines()
        if not made and "Traceback" in run.stderr:
            sys.exit(run.stderr)
        lines += [line for line in made if not line.startswith('{"skipped"')]
        number += len(made)
        if number < options.count:
            lost += 1
            number += 1
    options.out.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{len(lines)} calls in {options.out}; {lost} ended their process and are left out")


if __name__ == "__main__":
    main()
