"""Lowers calls with names: the graph gets the calls without names that they consist of."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

import torch
from torch.fx import Graph, GraphModule, Node
from torch.overrides import TorchFunctionMode, redispatch_function

from namecheck.runtime.core import replacements, tensor_names
from namecheck.runtime.patching import naming_api

ALIAS: Final = "namecheck_alias"
_redispatch: Any = redispatch_function
_METHODS: Final = (types.MethodDescriptorType, types.WrapperDescriptorType)


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of an original function of torch, and its result."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    result: Any


class Runner(TorchFunctionMode):
    """Runs the calls of torch in a block, and records the outermost ones.

    torch's functions see no names: the code that runs inside of them, which for fake tensors is
    Python, is not the user's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[MadeCall] = []
        self.inside = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        function = replacements.original_of(func) or func
        keywords = kwargs or {}
        # A call that torch cannot run, because of its names, is recorded as the calls inside of it.
        whole = not self.inside and not (
            isinstance(function, FunctionType) and _contains_names((*args, *keywords.values()))
        )
        self.inside = self.inside or whole
        try:
            result = self._run(function, types, tuple(args), keywords)
        finally:
            self.inside = self.inside and not whole
        if whole and any(True for _ in _tensors(result)):
            self.calls.append(MadeCall(function, tuple(args), keywords, result))
        return result

    def _run(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run a function; one written in Python calls further functions of torch."""
        if not isinstance(func, FunctionType):
            with _unnamed((*args, *kwargs.values())):
                return func(*args, **kwargs)
        if func.__module__ == torch._tensor.__name__:
            return func(*args, **kwargs)  # it calls the method of the same name in the base class
        with self:
            return _redispatch(func, types, args, dict(kwargs))


@contextmanager
def _unnamed(values: Sequence[Any]) -> Iterator[None]:
    """Remove the names of all tensors among the values for a block."""
    named = [(tensor, tensor_names.names_of(tensor)) for tensor in _tensors(values)]
    for tensor, _ in named:
        tensor_names.set_names(tensor, None)
    try:
        yield
    finally:
        for tensor, names in named:
            tensor_names.set_names(tensor, names)


def needs_lowering(wrapper: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether torch cannot run a call: it has names as arguments, or torch has no such function."""
    if wrapper is not None and (wrapper.__name__ in naming_api.MOVES or "names" in kwargs):
        return True
    return _contains_names((*args, *kwargs.values()))


def _contains_names(values: Sequence[Any]) -> bool:
    """Whether any value is, or contains, the name of a dim of a tensor among them."""
    labels = {name for tensor in _tensors(values) for name in tensor_names.visible_names(tensor)}
    return bool(labels) and _contains(values, labels - {None})


def _contains(value: Any, spellings: Set[Any]) -> bool:
    if isinstance(value, str):
        return value in spellings
    return isinstance(value, (list, tuple)) and any(_contains(part, spellings) for part in value)


def lower(node: Node, calls: Sequence[MadeCall], result: Any) -> None:
    """Replace a node of a graph, whose value is `result`, by the recorded calls."""
    node_by_id: dict[int, Node] = {}
    for source in node.all_input_nodes:
        node_by_id[id(source.meta.get("example_value"))] = source
    for call in calls:
        op, target = _op_and_target(call.function)
        args, kwargs = _as_nodes(call.args, node_by_id), _as_nodes(dict(call.kwargs), node_by_id)
        if call.result is result:
            node.op, node.target, node.args, node.kwargs = op, target, args, kwargs
            _mark_alias(node, call)
            return
        if id(call.result) in node_by_id:
            continue
        with node.graph.inserting_before(node):
            call_node = node.graph.create_node(op, target, args, kwargs)
        call_node.meta.update(node.meta)
        call_node.meta["example_value"] = call.result
        node_by_id[id(call.result)] = call_node
    node.kwargs = {}
    if isinstance(result, torch.Tensor):  # our function returned an alias of the last result
        source = node_by_id[id(calls[-1].result)]
        node.op, node.target, node.args = "call_method", "view_as", (source, source)
        node.meta[ALIAS] = True
    else:
        node.op, node.target = "call_function", type(result)
        node.args = (list(_as_nodes(result, node_by_id)),)


def _mark_alias(node: Node, made_call: MadeCall) -> None:
    if node.target == "view_as" and made_call.args[0] is made_call.args[1]:
        node.meta[ALIAS] = True


def _op_and_target(func: Any) -> tuple[str, Any]:
    """The op and target of a node that calls a function; a method is called by its name."""
    is_method = isinstance(func, _METHODS) or (
        vars(torch.Tensor).get(getattr(func, "__name__", "")) is not None
        and getattr(func, "__module__", "") == torch._tensor.__name__
    )
    return ("call_method", func.__name__) if is_method else ("call_function", func)


def _as_nodes(value: Any, node_by_id: dict[int, Node]) -> Any:
    if isinstance(value, torch.Tensor):
        return node_by_id[id(value)]
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        # A symbol that no node computes becomes a constant.
        return node_by_id.get(id(value)) or (int if isinstance(value, torch.SymInt) else float)(
            value
        )
    if isinstance(value, dict):
        return {key: _as_nodes(part, node_by_id) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_as_nodes(part, node_by_id) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def drop_aliases(graph_module: GraphModule) -> None:
    """Remove the aliases that only had other names, where the program cannot notice."""
    graph = graph_module.graph
    aliases = [node for node in graph.nodes if node.meta.get(ALIAS)]
    if not aliases:
        return
    for node in aliases:
        source = node.args[0]
        if _is_removable(node, source, graph):
            node.replace_all_uses_with(source)
            graph.erase_node(node)
    graph_module.recompile()


def _is_removable(node: Node, source: Any, graph: Graph) -> bool:
    """Whether the tensor can replace its alias: both are not returned, and neither is resized."""
    users = {*node.users, *source.users} - {node}
    if any(_may_resize(user) for user in users):
        return False
    output = next(iter(reversed(graph.nodes)))
    if output not in node.users:
        return True
    return source.op not in ("placeholder", "get_attr") and output not in source.users


def _may_resize(node: Node) -> bool:
    """Whether a node may change the sizes of a tensor in place."""
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return name.endswith("_") and not name.endswith("__")


def differently_named_outputs(graph_module: GraphModule) -> list[tuple[int, int]]:
    """The pairs of outputs, as indices, that can be equal but have different names.

    A compiler may return the same tensor for two equal outputs.
    """
    output = next(iter(reversed(graph_module.graph.nodes)))
    outputs: list[tuple[Any, Any]] = []
    for node in output.args[0]:
        fake = node.meta.get("example_value") if isinstance(node, Node) else None
        if isinstance(fake, torch.Tensor):
            outputs.append(((*fake.shape, fake.dtype), tensor_names.names_of(fake)))
        else:
            outputs.append((node, None))
    return [
        (first, second)
        for second in range(len(outputs))
        for first in range(second)
        if outputs[first][0] == outputs[second][0] and outputs[first][1] != outputs[second][1]
    ]


def separating(
    compiled: Callable[..., Any], output_pairs: Sequence[tuple[int, int]]
) -> Callable[..., Sequence[Any]]:
    """A wrapper of a compiled graph that returns two different tensors for each of these pairs."""

    def run(*args: Any) -> Sequence[Any]:
        results = list(compiled(*args))
        for first, second in output_pairs:
            if results[first] is results[second]:
                results[second] = tensor_names.alias(results[second])
        return results

    return run
