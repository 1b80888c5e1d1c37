"""Hooks into TorchDynamo, which propagate names on the fake tensors of torch.compile.

torch.compile runs every traced operation once on fake tensors, to infer sizes. The hooks run it
with our wrapper, which names the fake result and reports contradictions as in eager mode. Besides

- the names of an input are read and guarded: other names cause a new trace;
- names among the arguments of a call are replaced by indices in the graph (`lowering`);
- the results of a graph, and the inputs that it changes, get their names after it ran.

The graph itself contains no names, so its operations cost the same as without them. The hooks use
private parts of torch 2.13. They stay once they are set, and do nothing while nothing is patched.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final

import torch
from torch._dynamo import exc, output_graph, trace_rules, utils
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import AttrSource, GlobalStateSource
from torch._dynamo.variables import builder, builtin
from torch._dynamo.variables.base import AttributeMutationNew, VariableTracker
from torch._dynamo.variables.functions import UserFunctionVariable
from torch._dynamo.variables.tensor import TensorVariable
from torch._dynamo.variables.torch import TorchInGraphFunctionVariable
from torch._dynamo.variables.torch_function import TensorWithTFOverrideVariable
from torch.fx import Node

from namecheck.core.findings import Finding
from namecheck.runtime.compilation import lowering, plain_graphs
from namecheck.runtime.core import call_sites, replacements, reporting, tensor_names
from namecheck.runtime.core.call_sites import Expression
from namecheck.runtime.core.errors import (
    Contradicted,
    NameIndexError,
    NameMismatch,
    NameNotImplementedError,
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
    """Set the hooks; to be called once, while the patch table is suspended.

    Raises AttributeError if this version of torch lacks an attribute that is hooked.
    """
    trace_rules.get_torch_obj_rule_map()
    trace_rules.get_tensor_method()
    TorchInGraphFunctionVariable._get_handlers()
    current = [getattr(owner, attribute) for owner, attribute, _ in _HOOKS]
    for (owner, attribute, make), original in zip(_HOOKS, current, strict=True):
        replacement = functools.wraps(original)(make(original))
        static = isinstance(vars(owner).get(attribute), staticmethod)
        setattr(owner, attribute, staticmethod(replacement) if static else replacement)
    for name, method in _METHODS.items():
        setattr(TensorVariable, name, method)
    trace_rules.SKIP_DIRS += ["<namecheck wrapper", call_sites.OUR_FOLDER]
    trace_rules._recompile_re()


def _unwrapping(original: Callable[..., Any]) -> Callable[..., Any]:
    """A value from the program that is one of our wrappers is traced as its original."""

    def wrap(self: Any, value: Any) -> Any:
        if not (TABLE.applied and replacements.is_wrapper(value)):
            return original(self, value)
        function = replacements.original_of(value)
        if function is None:
            return TorchInGraphFunctionVariable(value)
        if getattr(value, "__wrapped__", None) is function:
            return builder.VariableBuilder(self.tx, AttrSource(self.source, "__wrapped__"))(
                function
            )
        return VariableTracker.build(self.tx, function)

    return wrap


def _unwrapping_plain(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a value without a source in the program."""

    def create(tx: Any, value: Any) -> Any:
        if not (TABLE.applied and replacements.is_wrapper(value)):
            return original(tx, value)
        function = replacements.original_of(value)
        return TorchInGraphFunctionVariable(value) if function is None else original(tx, function)

    return create


def _running_nodes(original: Callable[..., Any]) -> Callable[..., Any]:
    """An operation runs on its fake tensors with our wrapper, and is lowered in the graph."""

    def run_node(tracer: Any, node: Node, args: Any, kwargs: Any, nnmodule: Any) -> Any:
        if not TABLE.applied or node.op not in _CALLS:
            return original(tracer, node, args, kwargs, nnmodule)
        args, kwargs = _plain(args), _plain(kwargs)
        target, wrapper = node.target, _wrapper_called_by(node, args)
        graph = getattr(tracer, "output_graph", tracer)
        tx = graph.current_tx
        runner = lowering.Runner()
        with reporting_at(tx), runner:
            if node.op == "call_function" and wrapper is not None:
                node.target = wrapper
            try:
                result = original(tracer, node, args, kwargs, nnmodule)
            finally:
                node.target = target
        if callable(target) and getattr(target, "__module__", None) in _TRANSFORMS:
            mapped = vars(graph).setdefault("_names_mapped", {})
            function_transforms.follow(target.__name__, args, result, mapped)
        if lowering.needs_lowering(wrapper, args, kwargs):
            lowering.lower(node, runner.calls, result)
        return result

    return run_node


def _plain(value: Any) -> Any:
    """An argument with plain lists and tuples: a graph has list types of its own."""
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return tuple(map(_plain, value)) if type(value) is tuple else value


@contextmanager
def reporting_at(tx: Any) -> Iterator[None]:
    """Report contradictions in a block at the expression being traced.

    If one is not raised, the trace is guarded by the present mode.
    """
    with call_sites.tracing(_expressions(tx)) as traced:
        try:
            yield
        finally:
            if traced.ignored:
                install_guard(GlobalStateSource().make_guard(_in_this_mode))


def _in_this_mode(builder: Any, guard: Any) -> None:
    """Guard a trace with a contradiction that was not raised: the mode must be the same."""
    mode = reporting.current_mode(TABLE.default)
    same = f"namecheck mode {mode!r}"
    builder.guard_manager.root.add_lambda_guard(
        lambda _: reporting.current_mode(TABLE.default) == mode, [same], guard.user_stack
    )


def _wrapper_called_by(node: Node, args: Any) -> Any:
    """The wrapper that a node calls, or that replaces what it calls; None if there is none."""
    target: Any = node.target
    if node.op == "call_method":
        target = getattr(torch.Tensor, target, None) if isinstance(args[0], torch.Tensor) else None
    return target if replacements.is_wrapper(target) else replacements.wrapper_of(target)


def _expressions(tx: Any) -> tuple[Expression, ...]:
    """The expressions being traced, innermost first."""
    expressions: list[Expression] = []
    while tx is not None:
        if call_sites.is_ours(tx.f_code):
            tx = tx.parent
            continue
        at = tx.current_instruction.positions
        positions = (
            (at.lineno, at.end_lineno, at.col_offset, at.end_col_offset)
            if at is not None
            else (None, None, None, None)
        )
        of_module = tx.f_code.co_varnames[:1] == ("self",)
        expressions.append(
            Expression(tx.f_code.co_filename, tx.lineno, positions, tx.f_globals, of_module)
        )
        tx = tx.parent
    return tuple(expressions)


def _raising(original: Callable[..., Any]) -> Callable[..., Any]:
    """A contradiction leaves the tracer with its own type, not as a failed run on fake tensors."""

    def get_fake_value(node: Node, tx: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(node, tx, *args, **kwargs)
        except Exception as error:
            contradicted = _contradicted(error)
            if contradicted is None:
                raise
        raise traced(contradicted)

    return get_fake_value


def _contradicted(error: BaseException | None) -> Contradicted | None:
    """The contradiction among an exception, its causes and its contexts."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        if isinstance(error, Contradicted):
            return error
        visited.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def traced(contradicted: Contradicted) -> Contradicted:
    """A contradiction as an exception that the tracer does not convert to another one."""
    return _TRACED[type(contradicted)](contradicted.finding)


def _traced_type(error_type: type[Contradicted]) -> type[Contradicted]:
    def init(self: Any, finding: Finding) -> None:
        exc.TorchRuntimeError.__init__(self, finding.message)
        error_type.__init__(self, finding)

    space = {"__init__": init, "__module__": error_type.__module__, "__doc__": error_type.__doc__}
    return type(error_type.__name__, (error_type, exc.TorchRuntimeError), space)


_TRACED: Final[dict[type[Contradicted], type[Contradicted]]] = {
    kind: _traced_type(kind)
    for kind in (
        NameMismatch,
        NameNotImplementedError,
        NameTypeError,
        NameIndexError,
        NameValueError,
    )
}


def _wrapping_inputs(original: Callable[..., Any]) -> Callable[..., Any]:
    """The fake tensor of an input has its names, and the graph is guarded by them."""

    def wrap_to_fake_tensor(e: Any, tx: Any, *, source: Any, is_tensor: bool, **kwargs: Any) -> Any:
        fake = original(e, tx, source=source, is_tensor=is_tensor, **kwargs)
        if TABLE.applied and is_tensor and isinstance(e, torch.Tensor):
            names: Names | None = e._names  # type: ignore[attr-defined]
            setattr(fake, _ENTERED, names)
            tensor_names.set_names(fake, names)
            if _is_read(source) and not kwargs.get("parent_context"):
                guard = GuardBuilder.CONSTANT_MATCH if names is None else GuardBuilder.EQUALS_MATCH
                install_guard(AttrSource(source, ATTRIBUTE).make_guard(guard))
        return fake

    return wrap_to_fake_tensor


def _is_read(source: Any) -> bool:
    """Whether a tensor is an input itself, not the base of an input."""
    is_base = isinstance(source, AttrSource) and source.member == "_base"
    return source.subguards_allowed() and not is_base


def _finishing(original: Callable[..., Any]) -> Callable[..., Any]:
    """The results of a graph and the inputs that it changes get their names after it ran.

    A guard keeps a graph that was traced with patches from running without them, and the reverse.
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
    # With a named input, the compiled graph may put names on results that should have none.
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
    """The tensors of a graph that may be reachable after it ran, and possibly others."""
    variables: dict[int, Any] = {}

    def visit(variable: Any) -> None:
        if type(variable) in _TENSORS and variable.proxy.node.graph is graph.graph:
            new = variable.mutation_type is None or isinstance(
                variable.mutation_type, AttributeMutationNew
            )
            if new or variable.source is not None:
                variables[id(variable)] = variable

    effects = graph.side_effects
    roots = [list(effects.id_to_variable.values()), list(effects.store_attr_mutations.values())]
    while tx is not None:
        roots += [tx.stack, tx.symbolic_locals]
        tx = tx.parent
    VariableTracker.visit(visit, roots)
    return list(variables.values())


def _compiling(original: Callable[..., Any]) -> Callable[..., Any]:
    """A backend gets a graph without names, and its compiled form calls original functions."""

    def call_user_compiler(self: Any, gm: Any, example_inputs: Any) -> Any:
        if not TABLE.applied:
            return original(self, gm, example_inputs)
        output_pairs = lowering.differently_named_outputs(gm)
        lowering.drop_aliases(gm)
        for node in gm.graph.nodes:
            for value in _flat(node.meta.get("example_value")):
                tensor_names.set_names(value, None)
        compiled = original(self, gm, example_inputs)
        if plain_graphs.is_graph(compiled, gm):
            compiled = plain_graphs.plain(gm)
        _restore_kernels()
        return lowering.separating(compiled, output_pairs) if output_pairs else compiled

    return call_user_compiler


def _flat(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)


def _stepping_in(original: Callable[..., Any]) -> Callable[..., Any]:
    """A layer whose ``forward`` is wrapped is traced by torch's own code, unless a name enters it.

    Its operators know less of the names than the wrapper, which runs after a graph break.
    """

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        forward = replacements.original_of(self.fn) if TABLE.applied else None
        if not isinstance(forward, FunctionType):
            return original(self, tx, args, kwargs)
        given = [*self.self_args(), *args]
        if _carry(given) or _carry(kwargs.values()):
            return original(self, tx, args, kwargs)
        source = self.source and AttrSource(self.source, "__wrapped__")
        return original(UserFunctionVariable(forward, source=source), tx, given, kwargs)

    return call_function


def _carry(variables: Iterable[Any]) -> bool:
    """Whether a traced value is, or contains, a tensor with names."""
    found: list[Names] = []

    def visit(variable: Any) -> None:
        names = tensor_names.names_of(_fake(variable)) if type(variable) in _TENSORS else None
        if names is not None:
            found.append(names)

    VariableTracker.visit(visit, list(variables))
    return bool(found)


def _restore_kernels() -> None:
    """Replace our wrappers among the kernels that compiled code calls by the originals."""
    select = sys.modules.get("torch._inductor.select_algorithm")
    kernels = vars(select.extern_kernels) if select is not None else {}
    for name, kernel in kernels.items():
        if replacements.is_wrapper(kernel):
            kernels[name] = replacements.original_of(kernel)


def _setting(original: Callable[..., Any]) -> Callable[..., Any]:
    """``tensor.names = …`` in traced code sets the names of the fake tensor."""

    def call_setattr(self: Any, tx: Any, obj: Any, attribute: Any, value: Any) -> Any:
        constant = isinstance(obj, TensorVariable) and attribute.is_python_constant()
        if TABLE.applied and constant and attribute.as_python_constant() == "names":
            _call(tx, torch.Tensor.names.fset, obj, [value], {})  # type: ignore[attr-defined]
            return value
        return original(self, tx, obj, attribute, value)

    return call_setattr


def _fake(variable: Any) -> Any:
    return variable.proxy.node.meta.get("example_value")


def _call(tx: Any, func: Any, variable: Any, args: Any, kwargs: Any) -> Any:
    """Call one of our functions on a fake tensor, without a node in the graph."""
    values = [arg.as_python_constant() for arg in args]
    keywords = {key: arg.as_python_constant() for key, arg in kwargs.items()}
    try:
        with call_sites.tracing(_expressions(tx)):
            return func(_fake(variable), *values, **keywords)
    except Contradicted as error:
        raise traced(error) from None


def _read_names(self: Any, tx: Any) -> Any:
    return (
        VariableTracker.build(tx, tensor_names.visible_names(_fake(self)))
        if TABLE.applied
        else None
    )


def _read_data(self: Any, tx: Any) -> Any:
    """``tensor.data`` has the names of the tensor."""
    get_data: Any = torch._C._autograd._get_data_attr  # type: ignore[attr-defined]
    result = TorchInGraphFunctionVariable(get_data).call_function(tx, [self], {})
    if TABLE.applied:
        tensor_names.set_names(_fake(result), tensor_names.names_of(_fake(self)))
    return result


def _unflatten(self: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
    """``unflatten`` into a dict of names and sizes, which a graph cannot contain, as pairs."""
    arguments = dict(zip(("dim", "sizes"), args, strict=False)) | kwargs
    sizes = arguments.get("sizes")
    if not TABLE.applied or sizes is None or not sizes.is_python_constant():
        return None
    named_sizes = sizes.as_python_constant()
    if not isinstance(named_sizes, Mapping):
        return None
    arguments["sizes"] = VariableTracker.build(tx, tuple(named_sizes.items()))
    return self.call_method(tx, "unflatten", [], arguments)


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
        arguments = [*args, *kwargs.values()]
        is_constant = bool(arguments) and arguments[0].is_python_constant()
        dim = arguments[0].as_python_constant() if is_constant else None
        if not (TABLE.applied and isinstance(dim, str)):
            return original(self, tx, *args, **kwargs)
        names = tensor_names.visible_names(_fake(self))
        if dim not in names:
            _call(
                tx,
                getattr(torch.Tensor, original.__name__.removeprefix("method_")),
                self,
                arguments,
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
    (UserFunctionVariable, "call_function", _stepping_in),
    (TensorVariable, "method_size", _by_index),
    (TensorVariable, "method_stride", _by_index),
)
