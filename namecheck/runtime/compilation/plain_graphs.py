"""Generates code that runs a graph with torch's original functions.

A backend may return the graph that it was given. The code that torch.fx generates for it looks
torch's functions up when it runs, and would call our wrappers, whose checks were already made
while tracing.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch.fx import GraphModule, Node

from namecheck.runtime.core import replacements

# The special method, without underscores, of each function of `operator`.
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


def is_graph(compiled: Any, graph_module: GraphModule) -> bool:
    """Whether a backend returned the graph that it was given."""
    return compiled is graph_module or getattr(compiled, "__self__", None) is graph_module


def plain(graph_module: GraphModule) -> Callable[..., Any]:
    """The graph as a function that calls torch's original functions."""
    writer = _Writer(graph_module)
    text = writer.write()
    exec(compile(text, "<namecheck graph>", "exec"), writer.space)
    forward: Callable[..., Any] = writer.space["forward"]
    return forward


class _Writer:
    """Writes the source of one graph; `space` has the globals of that source."""

    def __init__(self, graph_module: GraphModule) -> None:
        self.nodes = list(graph_module.graph.nodes)
        self.space: dict[str, Any] = {"module": graph_module}

    def write(self) -> str:
        """One line for each node, followed by one that deletes the values no longer needed."""
        inputs = [node.name for node in self.nodes if node.op == "placeholder"]
        lines = [f"def forward({', '.join(inputs)}):"]
        last = self._last_uses()
        for node in self.nodes:
            if node.op == "output":
                lines.append(f"    return {self._value(node.args[0])}")
            elif node.op != "placeholder":
                lines.append(f"    {node.name} = {self._called(node)}")
            if done := last.get(node):
                lines.append(f"    {' = '.join(done)} = None")
        return "\n".join(lines) + "\n"

    def _last_uses(self) -> dict[Node, list[str]]:
        """The values to delete after each node: those that no later node uses."""
        last = {used: node for node in self.nodes for used in (node, *node.all_input_nodes)}
        unused_after: dict[Node, list[str]] = {}
        for node, user in last.items():
            if user.op != "output":
                unused_after.setdefault(user, []).append(node.name)
        return unused_after

    def _called(self, node: Node) -> str:
        if node.op == "get_attr":
            return f"module.{node.target}"
        args = [self._value(arg) for arg in node.args]
        keywords = [f"{key}={self._value(value)}" for key, value in node.kwargs.items()]
        if node.op == "call_module":
            return f"module.{node.target}({', '.join([*args, *keywords])})"
        method = _method(node)
        if node.op == "call_method" and method is None:
            receiver, *args = args
            return f"{receiver}.{node.target}({', '.join([*args, *keywords])})"
        if method is not None and not _is_tensor(node.args[0]):
            args.reverse()  # a reflected method
        return f"{self._global(method or node.target)}({', '.join([*args, *keywords])})"

    def _value(self, value: Any) -> str:
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple):
            return f"({''.join(f'{self._value(part)}, ' for part in value)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if isinstance(value, dict):
            pairs = (f"{key!r}: {self._value(part)}" for key, part in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, slice):
            parts = ", ".join(map(self._value, (value.start, value.stop, value.step)))
            return f"slice({parts})"
        if value is None or value is ... or isinstance(value, (bool, int, str)):
            return repr(value)
        return self._global(value)

    def _global(self, value: Any) -> str:
        name = f"global_{len(self.space)}"
        self.space[name] = value
        return name


def _method(node: Node) -> Any:
    """The original method of ``torch.Tensor`` that a node calls, None if it calls another one."""
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
    return (
        replacements.original_of(getattr(torch.Tensor, name, None)) if _is_tensor(first) else None
    )


def _reader(attribute: Any) -> Callable[[Any, str], Any]:
    def read(value: Any, _: str) -> Any:
        return attribute.__get__(value)

    return read


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Node) and isinstance(value.meta.get("example_value"), torch.Tensor)
