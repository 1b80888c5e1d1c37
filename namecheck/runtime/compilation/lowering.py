"""What a call says of names, said in torch's own words: the graph gets the calls that were made."""

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

from namecheck.runtime.compilation import originals
from namecheck.runtime.core import tensor_names
from namecheck.runtime.patching import naming_api

ALIAS: Final = "namecheck_alias"
_redispatch: Any = redispatch_function
_METHODS: Final = (types.MethodDescriptorType, types.WrapperDescriptorType)


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of torch's own that was made, and what it gave."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    result: Any


class Runner(TorchFunctionMode):
    """Runs what is called of torch in a block, the outermost calls, and records them.

    torch's own functions see no names: what they do inside, which for fake tensors is written in
    Python, is not what the user's code says.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[MadeCall] = []
        self.inside = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        function = originals.original_of(func) or func
        words = kwargs or {}
        # Of what torch would not understand as it stands, the parts are recorded.
        whole = not self.inside and not (
            isinstance(function, FunctionType) and _speaks_of_names((*args, *words.values()))
        )
        self.inside = self.inside or whole
        try:
            result = self._run(function, types, tuple(args), words)
        finally:
            self.inside = self.inside and not whole
        if whole and any(True for _ in _tensors(result)):
            self.calls.append(MadeCall(function, tuple(args), words, result))
        return result

    def _run(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """What is written in Python calls further functions of torch."""
        if not isinstance(function, FunctionType):
            with _unnamed((*args, *kwargs.values())):
                return function(*args, **kwargs)
        if function.__module__ == torch._tensor.__name__:
            return function(*args, **kwargs)  # it calls what has its name in the base class
        with self:
            return _redispatch(function, types, args, dict(kwargs))


@contextmanager
def _unnamed(values: tuple[Any, ...]) -> Iterator[None]:
    """For a block, the tensors among values have no names."""
    named = [(tensor, tensor_names.names_of(tensor)) for tensor in _tensors(values)]
    for tensor, _ in named:
        tensor_names.set_names(tensor, None)
    try:
        yield
    finally:
        for tensor, names in named:
            tensor_names.set_names(tensor, names)


def speaks(wrapper: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether torch would not understand a call: it speaks of names, or torch has no such call."""
    if wrapper is not None and (wrapper.__name__ in naming_api.MOVES or "names" in kwargs):
        return True
    return _speaks_of_names((*args, *kwargs.values()))


def _speaks_of_names(values: Sequence[Any]) -> bool:
    """Whether any value is, or holds, the name of a dim of a tensor among them."""
    names = {name for tensor in _tensors(values) for name in tensor_names.visible_names(tensor)}
    return bool(names) and _holds(values, names - {None})


def _holds(value: Any, names: Set[Any]) -> bool:
    if isinstance(value, str):
        return value in names
    return isinstance(value, (list, tuple)) and any(_holds(part, names) for part in value)


def lower(node: Node, calls: Sequence[MadeCall], result: Any) -> None:
    """Let a node of a graph, which gave `result`, say the calls that were made instead."""
    known: dict[int, Node] = {}
    for source in node.all_input_nodes:
        known[id(source.meta.get("example_value"))] = source
    for call in calls:
        op, target = _spelled(call.function)
        args, kwargs = _as_nodes(call.args, known), _as_nodes(dict(call.kwargs), known)
        if call.result is result:
            node.op, node.target, node.args, node.kwargs = op, target, args, kwargs
            _mark_alias(node, call)
            return
        if id(call.result) in known:
            continue
        with node.graph.inserting_before(node):
            made = node.graph.create_node(op, target, args, kwargs)
        made.meta.update(node.meta)
        made.meta["example_value"] = call.result
        known[id(call.result)] = made
    node.kwargs = {}
    if isinstance(result, torch.Tensor):  # what came back is an alias of what torch gave
        source = known[id(calls[-1].result)]
        node.op, node.target, node.args = "call_method", "view_as", (source, source)
        node.meta[ALIAS] = True
    else:
        node.op, node.target = "call_function", type(result)
        node.args = (list(_as_nodes(result, known)),)


def _mark_alias(node: Node, call: MadeCall) -> None:
    if node.target == "view_as" and call.args[0] is call.args[1]:
        node.meta[ALIAS] = True


def _spelled(function: Any) -> tuple[str, Any]:
    """How a graph calls a function: by itself, or as a method by its name."""
    is_method = isinstance(function, _METHODS) or (
        vars(torch.Tensor).get(getattr(function, "__name__", "")) is not None
        and getattr(function, "__module__", "") == torch._tensor.__name__
    )
    return ("call_method", function.__name__) if is_method else ("call_function", function)


def _as_nodes(value: Any, known: Mapping[int, Node]) -> Any:
    if isinstance(value, torch.Tensor):
        return known[id(value)]
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        # One that no node has computed holds for this size alone.
        return known.get(id(value)) or (int if isinstance(value, torch.SymInt) else float)(value)
    if isinstance(value, dict):
        return {key: _as_nodes(part, known) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_as_nodes(part, known) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def drop_aliases(module: GraphModule) -> None:
    """Take out of a graph what was only there to carry other names, where nobody can tell."""
    graph = module.graph
    aliases = [node for node in graph.nodes if node.meta.get(ALIAS)]
    if not aliases:
        return
    for node in aliases:
        source = node.args[0]
        if _can_go(node, source, graph):
            node.replace_all_uses_with(source)
            graph.erase_node(node)
    module.recompile()


def _can_go(node: Node, source: Any, graph: Graph) -> bool:
    """Whether the tensor itself may stand for its alias: no one could hold both, or change one."""
    users = {*node.users, *source.users} - {node}
    if any(_changes_itself(user) for user in users):
        return False
    output = next(iter(reversed(graph.nodes)))
    if output not in node.users:
        return True
    return source.op not in ("placeholder", "get_attr") and output not in source.users


def _changes_itself(node: Node) -> bool:
    """Whether a node may change a tensor's sizes in place."""
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return name.endswith("_") and not name.endswith("__")


def rivals(module: GraphModule) -> list[tuple[int, int]]:
    """The pairs of outputs that differ in nothing but their names, by their indices.

    Where two outputs are equal a compiler may return one tensor for both.
    """
    output = next(iter(reversed(module.graph.nodes)))
    told: list[tuple[Any, Any]] = []
    for node in output.args[0]:
        fake = node.meta.get("example_value") if isinstance(node, Node) else None
        if isinstance(fake, torch.Tensor):
            told.append(((*fake.shape, fake.dtype), tensor_names.names_of(fake)))
        else:
            told.append((node, None))
    return [
        (first, second)
        for second in range(len(told))
        for first in range(second)
        if told[first][0] == told[second][0] and told[first][1] != told[second][1]
    ]


def separating(
    compiled: Callable[..., Any], pairs: Sequence[tuple[int, int]]
) -> Callable[..., Sequence[Any]]:
    """A compiled graph, of whose outputs these are never one and the same tensor."""

    def run(*args: Any) -> Sequence[Any]:
        results = list(compiled(*args))
        for first, second in pairs:
            if results[first] is results[second]:
                results[second] = tensor_names.alias(results[second])
        return results

    return run
