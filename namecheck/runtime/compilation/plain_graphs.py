"""A graph that a backend hands back as it was runs on torch's own functions.

What torch.fx writes for a graph looks torch's functions up when it runs, and would find those that
stand in their places. All that these do was done while tracing.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch.fx import GraphModule, Node

from namecheck.runtime.compilation import originals

# Python's operators on tensors, by the method behind each.
_OPERATORS: Final[Mapping[Any, str]] = {
    getattr(operator, name.rstrip("_")): name
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
        *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul"),
        *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "getitem", "setitem"),
    )
} | {
    operator.and_: "and",
    operator.or_: "or",
    operator.xor: "xor",
    operator.iand: "iand",
    operator.ior: "ior",
    operator.ixor: "ixor",
}


def is_graph(compiled: Any, module: GraphModule) -> bool:
    """Whether what a backend gave is the graph that it was given."""
    return compiled is module or getattr(compiled, "__self__", None) is module


def plain(module: GraphModule) -> Callable[..., Any]:
    """The graph as a function that calls torch's own functions."""
    writer = _Writer(module)
    text = writer.write()
    exec(compile(text, "<namecheck graph>", "exec"), writer.space)
    forward: Callable[..., Any] = writer.space["forward"]
    return forward


class _Writer:
    """Writes the source of one graph; `space` has what its names stand for."""

    def __init__(self, module: GraphModule) -> None:
        self.nodes = list(module.graph.nodes)
        self.space: dict[str, Any] = {"module": module}

    def write(self) -> str:
        """One line for each node, and one that lets go of what nobody needs any more."""
        inputs = [node.name for node in self.nodes if node.op == "placeholder"]
        lines = [f"def forward({', '.join(inputs)}):"]
        last = self._last_uses()
        for node in self.nodes:
            if node.op == "output":
                lines.append(f"    return {self._said(node.args[0])}")
            elif node.op != "placeholder":
                lines.append(f"    {node.name} = {self._called(node)}")
            if done := last.get(node):
                lines.append(f"    {' = '.join(done)} = None")
        return "\n".join(lines) + "\n"

    def _last_uses(self) -> dict[Node, list[str]]:
        """The values that are used last by a node, or by none after it."""
        last = {used: node for node in self.nodes for used in (node, *node.all_input_nodes)}
        found: dict[Node, list[str]] = {}
        for node, user in last.items():
            if user.op != "output":
                found.setdefault(user, []).append(node.name)
        return found

    def _called(self, node: Node) -> str:
        if node.op == "get_attr":
            return f"module.{node.target}"
        args = [self._said(arg) for arg in node.args]
        words = [f"{key}={self._said(value)}" for key, value in node.kwargs.items()]
        if node.op == "call_module":
            return f"module.{node.target}({', '.join([*args, *words])})"
        method = _method(node)
        if node.op == "call_method" and method is None:
            receiver, *args = args
            return f"{receiver}.{node.target}({', '.join([*args, *words])})"
        if method is not None and not _is_tensor(node.args[0]):
            args.reverse()  # a reflected one
        return f"{self._held(method or node.target)}({', '.join([*args, *words])})"

    def _said(self, value: Any) -> str:
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple):
            return f"({''.join(f'{self._said(part)}, ' for part in value)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._said, value))}]"
        if isinstance(value, dict):
            pairs = (f"{key!r}: {self._said(part)}" for key, part in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, slice):
            parts = ", ".join(map(self._said, (value.start, value.stop, value.step)))
            return f"slice({parts})"
        if value is None or value is ... or isinstance(value, (bool, int, str)):
            return repr(value)
        return self._held(value)

    def _held(self, value: Any) -> str:
        name = f"held_{len(self.space)}"
        self.space[name] = value
        return name


def _method(node: Node) -> Any:
    """The method of torch's own that is behind a call; None where it is none."""
    first, *rest = node.args if node.args else (None,)
    if node.op == "call_method":
        name = str(node.target)
    elif node.target in _OPERATORS:
        name = f"__{_OPERATORS[node.target]}__"
        if not _is_tensor(first) and any(map(_is_tensor, rest)):
            first, name = rest[0], f"__r{_OPERATORS[node.target]}__"
    elif node.target is builtins.getattr:
        attribute = vars(torch._C.TensorBase).get(str(rest[0]))
        return _reader(attribute) if _is_tensor(first) and attribute is not None else None
    else:
        return None
    return originals.original_of(getattr(torch.Tensor, name, None)) if _is_tensor(first) else None


def _reader(attribute: Any) -> Callable[[Any, str], Any]:
    def read(tensor: Any, _: str) -> Any:
        return attribute.__get__(tensor)

    return read


def _is_tensor(node: Any) -> bool:
    return isinstance(node, Node) and isinstance(node.meta.get("example_value"), torch.Tensor)
