"""Names in what torch.compile traces: they go along on its fake tensors.

torch.compile runs every operation that it meets once on fake tensors, to learn the sizes. Run by
way of the functions that stand in torch's place, the operation gives names to the fake result, and
tells contradictions, as it does in eager mode. Besides that

- the names of an input are read, and guarded: other names trace anew;
- what a call says of names is said in indices before it gets into the graph (`lowering`);
- the results of a graph, and the inputs that it has changed, are given their names after it ran.

Nothing of names is left in the graph itself, so none of its steps costs more. The hooks are into
private parts of torch 2.13; they stay once they are set, and let everything pass while the shim is
not there.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch._dynamo import exc, output_graph, trace_rules, utils
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import AttrSource, GlobalStateSource
from torch._dynamo.variables import builder, builtin
from torch._dynamo.variables.base import AttributeMutationNew, VariableTracker
from torch._dynamo.variables.tensor import TensorVariable
from torch._dynamo.variables.torch import TorchInGraphFunctionVariable
from torch._dynamo.variables.torch_function import TensorWithTFOverrideVariable

from namecheck.core.findings import Finding
from namecheck.runtime.compilation import lowering, originals, plain_graphs
from namecheck.runtime.core import call_sites, reporting, tensor_names
from namecheck.runtime.core.call_sites import Expression
from namecheck.runtime.core.errors import (
    Contradicted,
    NameIndexError,
    NameMismatch,
    NameTypeError,
    NameValueError,
)
from namecheck.runtime.core.patch_table import TABLE
from namecheck.runtime.core.tensor_names import ATTRIBUTE, Names
from namecheck.runtime.patching import function_transforms

_ENTERED: Final = "_names_entered"
_TENSORS: Final = (TensorVariable, TensorWithTFOverrideVariable)
_TRANSFORMS: Final = ("torch._functorch.predispatch", "torch._C._functorch")
_CALLS: Final = ("call_function", "call_method")


def hook() -> None:
    """Set the hooks; to be called once, while torch's own functions are in their places.

    Raises AttributeError where torch has other parts.
    """
    trace_rules.get_torch_obj_rule_map()
    trace_rules.get_tensor_method()
    TorchInGraphFunctionVariable._get_handlers()
    replaced = [getattr(owner, attribute) for owner, attribute, _ in _HOOKS]
    for (owner, attribute, make), original in zip(_HOOKS, replaced, strict=True):
        replacement = functools.wraps(original)(make(original))
        static = isinstance(vars(owner).get(attribute), staticmethod)
        setattr(owner, attribute, staticmethod(replacement) if static else replacement)
    for name, method in _METHODS.items():
        setattr(TensorVariable, name, method)
    trace_rules.SKIP_DIRS += ["<namecheck wrapper", call_sites.OUR_FOLDER]
    trace_rules._recompile_re()


def _unwrapping(original: Callable[..., Any]) -> Callable[..., Any]:
    """What traced code finds in the place of a function of torch is that function."""

    def wrap(self: Any, value: Any) -> Any:
        if not (TABLE.applied and originals.is_wrapper(value)):
            return original(self, value)
        function = originals.original_of(value)
        if function is None:
            return TorchInGraphFunctionVariable(value)
        if getattr(value, "__wrapped__", None) is function:
            return builder.VariableBuilder(self.tx, AttrSource(self.source, "__wrapped__"))(
                function
            )
        return VariableTracker.build(self.tx, function)

    return wrap


def _unwrapping_plain(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a value that the traced code has from nowhere in particular."""

    def create(tx: Any, value: Any) -> Any:
        if not (TABLE.applied and originals.is_wrapper(value)):
            return original(tx, value)
        function = originals.original_of(value)
        return TorchInGraphFunctionVariable(value) if function is None else original(tx, function)

    return create


def _running_nodes(original: Callable[..., Any]) -> Callable[..., Any]:
    """An operation is run on the fake tensors by way of what stands in its place."""

    def run_node(tracer: Any, node: Any, args: Any, kwargs: Any, nnmodule: Any) -> Any:
        if not TABLE.applied or node.op not in _CALLS:
            return original(tracer, node, args, kwargs, nnmodule)
        args, kwargs = _plain(args), _plain(kwargs)
        target, wrapper = node.target, _wrapper_called_by(node, args)
        graph = getattr(tracer, "output_graph", tracer)
        tx = graph.current_tx
        runner = lowering.Runner()
        with telling(tx), runner:
            if node.op == "call_function" and wrapper is not None:
                node.target = wrapper
            try:
                result = original(tracer, node, args, kwargs, nnmodule)
            finally:
                node.target = target
        if getattr(target, "__module__", None) in _TRANSFORMS:
            mapped = vars(graph).setdefault("_names_mapped", {})
            function_transforms.follow(target.__name__, args, result, mapped)
        if lowering.speaks(wrapper, args, kwargs):
            lowering.lower(node, runner.calls, result)
        return result

    return run_node


def _plain(value: Any) -> Any:
    """An argument as the user's code gave it: a graph has lists of its own kind."""
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return tuple(map(_plain, value)) if type(value) is tuple else value


@contextmanager
def telling(tx: Any) -> Iterator[None]:
    """For a block, contradictions stand where the tracer is; if one is passed over, that holds as
    long as the mode is the same."""
    with call_sites.tracing(_expressions(tx)) as traced:
        try:
            yield
        finally:
            if traced.ignored:
                install_guard(GlobalStateSource().make_guard(_in_this_mode))


def _in_this_mode(builder: Any, guard: Any) -> None:
    """A guard for a contradiction that was passed over: the mode is still the same."""
    mode = reporting.current_mode(TABLE.default)
    same = f"namecheck mode {mode!r}"
    builder.guard_manager.root.add_lambda_guard(
        lambda _: reporting.current_mode(TABLE.default) == mode, [same], guard.user_stack
    )


def _wrapper_called_by(node: Any, args: Any) -> Any:
    """What of ours a node calls, if it calls anything of ours."""
    target = node.target
    if node.op == "call_method":
        target = getattr(torch.Tensor, target, None) if isinstance(args[0], torch.Tensor) else None
    return target if originals.is_wrapper(target) else originals.wrapper_of(target)


def _expressions(tx: Any) -> tuple[Expression, ...]:
    """What is being traced, the innermost first."""
    found: list[Expression] = []
    while tx is not None:
        if call_sites.is_ours(tx.f_code):
            tx = tx.parent
            continue
        told = tx.current_instruction.positions
        positions = (
            (told.lineno, told.end_lineno, told.col_offset, told.end_col_offset)
            if told is not None
            else (None, None, None, None)
        )
        of_module = tx.f_code.co_varnames[:1] == ("self",)
        found.append(
            Expression(tx.f_code.co_filename, tx.lineno, positions, tx.f_globals, of_module)
        )
        tx = tx.parent
    return tuple(found)


def _raising(original: Callable[..., Any]) -> Callable[..., Any]:
    """A contradiction leaves the tracer as what it is, not as the failure of a fake run."""

    def get_fake_value(node: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(node, tx, *args, **kwargs)
        except Exception as error:
            contradicted = _contradicted(error)
            if contradicted is None:
                raise
        raise traced(contradicted)

    return get_fake_value


def _contradicted(error: BaseException | None) -> Contradicted | None:
    """The contradiction that an exception was made of."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, Contradicted):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def traced(error: Contradicted) -> Contradicted:
    """A contradiction as it is raised while tracing: the tracer lets it through as its own."""
    return _TRACED[type(error)](error.finding)


def _traced_type(kind: type[Contradicted]) -> type[Contradicted]:
    def init(self: Any, finding: Finding) -> None:
        exc.TorchRuntimeError.__init__(self, finding.message)
        kind.__init__(self, finding)

    space = {"__init__": init, "__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, exc.TorchRuntimeError), space)


_TRACED: Final[dict[type[Contradicted], type[Contradicted]]] = {
    kind: _traced_type(kind)
    for kind in (NameMismatch, NameTypeError, NameIndexError, NameValueError)
}


def _wrapping_inputs(original: Callable[..., Any]) -> Callable[..., Any]:
    """The fake of an input has its names, and the graph holds for these names alone."""

    def wrap_to_fake_tensor(e: Any, tx: Any, *, source: Any, is_tensor: bool, **more: Any) -> Any:
        fake = original(e, tx, source=source, is_tensor=is_tensor, **more)
        if TABLE.applied and is_tensor and isinstance(e, torch.Tensor):
            names: Names | None = e._names  # type: ignore[attr-defined]
            setattr(fake, _ENTERED, names)
            tensor_names.set_names(fake, names)
            if _is_read(source) and not more.get("parent_context"):
                guard = GuardBuilder.CONSTANT_MATCH if names is None else GuardBuilder.EQUALS_MATCH
                install_guard(AttrSource(source, ATTRIBUTE).make_guard(guard))
        return fake

    return wrap_to_fake_tensor


def _is_read(source: Any) -> bool:
    """Whether a tensor is an input of its own, not the base of one."""
    is_base = isinstance(source, AttrSource) and source.member == "_base"
    return source.subguards_allowed() and not is_base


def _finishing(original: Callable[..., Any]) -> Callable[..., Any]:
    """After the graph has run, its results get their names, and so do changed inputs.

    What was traced with the shim is not run without it, nor the other way round.
    """

    def compile_subgraph(self: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
        if TABLE.applied:
            _carry_names(self, tx)
        if not self.export:
            tensor_type = AttrSource(tx.import_source("torch"), "Tensor")
            has_names = functools.partial(GuardBuilder.HASATTR, attr=ATTRIBUTE)
            install_guard(tensor_type.make_guard(has_names))
        return original(self, tx, *args, **kwargs)

    return compile_subgraph


def _carry_names(graph: Any, tx: Any) -> None:
    tensors = [
        (variable, fake)
        for variable in _tensor_variables(graph, tx)
        if isinstance(fake := _fake(variable), torch.Tensor)
    ]
    # A graph that runs on named inputs may leave names that the traced calls did not.
    anywhere = any(getattr(fake, _ENTERED, None) is not None for _, fake in tensors)
    for variable, fake in tensors:
        names = tensor_names.names_of(fake)
        entered = getattr(fake, _ENTERED, None)
        if names != entered or (anywhere and not hasattr(fake, _ENTERED)):
            if variable.mutation_type is None:
                graph.side_effects._track_obj(variable.proxy, variable, AttributeMutationNew)
            value = VariableTracker.build(tx, names)
            graph.side_effects.store_attr(variable, ATTRIBUTE, value)


def _tensor_variables(graph: Any, tx: Any) -> list[Any]:
    """The tensors of a graph that someone may hold after it ran, and perhaps others."""
    found: dict[int, Any] = {}

    def visit(variable: Any) -> None:
        if type(variable) in _TENSORS and variable.proxy.node.graph is graph.graph:
            new = variable.mutation_type is None or isinstance(
                variable.mutation_type, AttributeMutationNew
            )
            if new or variable.source is not None:
                found[id(variable)] = variable

    effects = graph.side_effects
    places = [list(effects.id_to_variable.values()), list(effects.store_attr_mutations.values())]
    while tx is not None:
        places += [tx.stack, tx.symbolic_locals]
        tx = tx.parent
    VariableTracker.visit(visit, places)
    return list(found.values())


def _compiling(original: Callable[..., Any]) -> Callable[..., Any]:
    """What a backend gets knows nothing of names."""

    def call_user_compiler(self: Any, gm: Any, example_inputs: Any) -> Any:
        if not TABLE.applied:
            return original(self, gm, example_inputs)
        rivals = lowering.rivals(gm)
        lowering.drop_aliases(gm)
        for node in gm.graph.nodes:
            for value in _flat(node.meta.get("example_value")):
                tensor_names.set_names(value, None)
        compiled = original(self, gm, example_inputs)
        if plain_graphs.is_graph(compiled, gm):
            compiled = plain_graphs.plain(gm)
        _restore_kernels()
        return lowering.separating(compiled, rivals) if rivals else compiled

    return call_user_compiler


def _flat(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)


def _restore_kernels() -> None:
    """The kernels that compiled code calls are torch's own functions."""
    select = sys.modules.get("torch._inductor.select_algorithm")
    kernels = vars(select.extern_kernels) if select is not None else {}
    for name, kernel in kernels.items():
        if originals.is_wrapper(kernel):
            kernels[name] = originals.original_of(kernel)


def _setting(original: Callable[..., Any]) -> Callable[..., Any]:
    """``tensor.names = …`` in traced code names the fake tensor."""

    def call_setattr(self: Any, tx: Any, obj: Any, name: Any, value: Any) -> Any:
        named = TABLE.applied and isinstance(obj, TensorVariable) and name.is_python_constant()
        if named and name.as_python_constant() == "names":
            _call(tx, torch.Tensor.names.fset, obj, [value], {})  # type: ignore[attr-defined]
            return value
        return original(self, tx, obj, name, value)

    return call_setattr


def _fake(variable: Any) -> Any:
    return variable.proxy.node.meta.get("example_value")


def _call(tx: Any, function: Any, variable: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of ours, which leaves nothing in the graph, on a fake tensor."""
    values = [arg.as_python_constant() for arg in args]
    words = {key: arg.as_python_constant() for key, arg in kwargs.items()}
    try:
        with call_sites.tracing(_expressions(tx)):
            return function(_fake(variable), *values, **words)
    except Contradicted as error:
        raise traced(error) from None


def _read_names(self: Any, tx: Any) -> Any:
    return (
        VariableTracker.build(tx, tensor_names.visible_names(_fake(self)))
        if TABLE.applied
        else None
    )


def _read_data(self: Any, tx: Any) -> Any:
    """``tensor.data`` is a tensor that shares the names too."""
    get_data: Any = torch._C._autograd._get_data_attr  # type: ignore[attr-defined]
    result = TorchInGraphFunctionVariable(get_data).call_function(tx, [self], {})
    if TABLE.applied:
        tensor_names.set_names(_fake(result), tensor_names.names_of(_fake(self)))
    return result


def _unflatten(self: Any, tx: Any, dim: Any, sizes: Any, **kwargs: Any) -> Any:
    """Into the items of a dict, which a graph cannot hold."""
    if not (TABLE.applied and sizes.is_python_constant()):
        return None
    told = sizes.as_python_constant()
    if not isinstance(told, Mapping):
        return None
    pairs = VariableTracker.build(tx, tuple(told.items()))
    return self.call_method(tx, "unflatten", [dim, pairs], kwargs)


def _has_names(self: Any, tx: Any) -> Any:
    return VariableTracker.build(tx, _fake(self).has_names()) if TABLE.applied else None


def _rename_(self: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
    if not TABLE.applied:
        return None
    _call(tx, torch.Tensor.rename_, self, args, kwargs)  # type: ignore[attr-defined]
    return self


def _by_index(original: Callable[..., Any]) -> Callable[..., Any]:
    """``size`` and ``stride`` of a dim that is given by its name."""

    def method(self: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        dim = given[0].as_python_constant() if given and given[0].is_python_constant() else None
        if not (TABLE.applied and isinstance(dim, str)):
            return original(self, tx, *args, **kwargs)
        names = tensor_names.visible_names(_fake(self))
        if dim not in names:
            _call(
                tx,
                getattr(torch.Tensor, original.__name__.removeprefix("method_")),
                self,
                given,
                {},
            )
        index = VariableTracker.build(tx, names.index(dim))
        return self.call_method(tx, original.__name__.removeprefix("method_"), [index], {})

    return method


_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "method_attr_data": _read_data,
    "method_attr_names": _read_names,
    "method_has_names": _has_names,
    "method_rename_": _rename_,
    "method_unflatten": _unflatten,
}

_HOOKS: Final[tuple[tuple[Any, str, Callable[..., Any]], ...]] = (
    (builder.VariableBuilder, "_wrap", _unwrapping),
    (builder.SourcelessBuilder, "create", _unwrapping_plain),
    (builder, "wrap_to_fake_tensor_and_record", _wrapping_inputs),
    (utils, "run_node", _running_nodes),
    (utils, "_get_fake_value_impl", _raising),
    (output_graph.OutputGraph, "compile_subgraph", _finishing),
    (output_graph.OutputGraph, "call_user_compiler", _compiling),
    (builtin.SetAttrBuiltinVariable, "_call_setattr", _setting),
    (TensorVariable, "method_size", _by_index),
    (TensorVariable, "method_stride", _by_index),
)
