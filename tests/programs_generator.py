"""Random programs that use native named tensors, with their outcomes on native torch.

By hand, from the root of the repository, in an environment with torch 2.12.1 (CPU, about 5 GB)::

    python -m tests.programs_generator --seed 1 --count 500 --out programs.jsonl

One JSON object a line: the `program`; `mutated`, whether one piece of it was replaced afterwards;
and `runs`, one for each choice of its flags, with the error (type, message, innermost line of the
program) and the variables at the end. One seed always generates the same programs.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import random
from pathlib import Path
from typing import Any, Final

from tests.oracle.random_expressions import NAMES
from tests.oracle.random_pieces import Pieces
from tests.oracle.random_programs import Fault, Space, run_all

_HIDDEN: Final = frozenset({"os", "torch", "F", "nn", "dataclass", "field"})
_DEPTH: Final = 4


def described(torch: Any, value: Any, depth: int = 0) -> Any:
    """A value as JSON: tensors by names and sizes, plain values unchanged; else None."""
    if isinstance(value, torch.Tensor):
        return {"names": list(value.names), "sizes": list(value.shape)}
    if depth > _DEPTH:
        return None
    if isinstance(value, (bool, int, str)) or value is None:
        return {"value": value}
    if isinstance(value, (list, tuple)):
        parts = [described(torch, item, depth + 1) for item in value]
        return {"list" if isinstance(value, list) else "tuple": parts}
    if isinstance(value, dict):
        pairs = value.items()
        return {"dict": [[described(torch, k), described(torch, v, depth + 1)] for k, v in pairs]}
    if type(value).__module__ == "program" and hasattr(value, "__dict__"):
        fields = vars(value).items()
        return {"fields": {k: described(torch, v, depth + 1) for k, v in fields if k[0] != "_"}}
    return None


_ATOMS: Final = ast.Name, ast.Attribute, ast.Call, ast.Subscript


def mutated(rng: random.Random, text: str) -> str:
    """The program with one of its pieces replaced: a name, an index, an operand, a method."""
    tree = ast.parse(text)
    skipped = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
    }
    changes: list[tuple[ast.expr, str]] = []
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    variables = sorted(name for name in read if name[0] in "xyrvtq" and name != "torch")
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Constant) and node.value in NAMES:
            changes += [(node, repr(rng.choice(NAMES)))] * 2
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            changes.append((node, str(rng.choice((0, 1, -1, 2)))))
        elif isinstance(node, ast.Name) and node.id in variables and isinstance(node.ctx, ast.Load):
            changes.append((node, rng.choice(variables)))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = ast.get_source_segment(text, node.func.value)
            if inner and inner not in ("torch", "F", "nn", "os.environ", "super()"):
                # The text has no parentheses.
                changes.append(
                    (node, inner if isinstance(node.func.value, _ATOMS) else f"({inner})")
                )
    if not changes:
        return text
    node, replacement = rng.choice(changes)
    lines = text.split("\n")
    assert node.end_lineno is not None
    first, last = lines[node.lineno - 1], lines[node.end_lineno - 1]
    lines[node.lineno - 1 : node.end_lineno] = [
        first[: node.col_offset] + replacement + last[node.end_col_offset :]
    ]
    return "\n".join(lines)


def recorded(torch: Any, space: Space, fault: Fault | None) -> dict[str, Any]:
    """One run as JSON."""
    if fault is not None:
        return {"error_type": fault.kind, "error": fault.message, "line": fault.line}
    kept = {k: v for k, v in space.items() if k not in _HIDDEN and not k.startswith("__")}
    return {"variables": {key: described(torch, value) for key, value in kept.items()}}


def record(seed: int, count: int, share: float, out: Path) -> None:
    """Grow programs, run them, and write them with their outcomes."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    with out.open("w", encoding="utf-8") as file:
        for index in range(count):
            rng = random.Random(f"{seed}:{index}")
            torch.manual_seed(0)
            grower = Pieces(rng, torch)
            text = grower.grow(rng.randrange(20, 61))
            broken = rng.random() < share
            if broken:
                text = mutated(rng, text)
            runs = [recorded(torch, *outcome) for outcome in run_all(text, grower.flags)]
            entry = {"id": f"{seed}:{index}", "mutated": broken, "program": text, "runs": runs}
            file.write(json.dumps(entry) + "\n")
            file.flush()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Record random programs of native named tensors.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--mutated", type=float, default=0.5, help="share with one piece exchanged")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    record(arguments.seed, arguments.count, arguments.mutated, arguments.out)


if __name__ == "__main__":
    main()
