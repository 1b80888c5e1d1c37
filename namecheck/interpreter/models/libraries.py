"""What the interpreter knows of torch's Python side and of the standard library, by dotted name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    TRANSPARENT,
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    External,
    FunctionValue,
    Instance,
    Opaque,
    Partial,
    Repeated,
    Super,
    TorchModule,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation import python_operators
from namecheck.interpreter.evaluation.calls import Call
from namecheck.interpreter.evaluation.classes import Classes
from namecheck.interpreter.evaluation.machine import Activation, Machine
from namecheck.interpreter.evaluation.with_statements import Contexts
from namecheck.interpreter.models.builtin_functions import BuiltinFunctions
from namecheck.interpreter.models.copy_functions import Copier
from namecheck.interpreter.models.dataclasses_functions import Records
from namecheck.interpreter.models.inheritance import Inheritance
from namecheck.interpreter.models.itertools_functions import Iterators

_LEAVING: Final = frozenset(
    {"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "pytest.fail", "pytest.skip"}
)
# A decorator, or what it returns when called with options, that leaves a function what it was.
_TRANSPARENT: Final = (
    "torch.",
    "functools.wraps",
    "functools.lru_cache",
    "functools.cache",
    "functools.total_ordering",
    "functools.singledispatch",
    "namecheck.checked",
    "jaxtyping.jaxtyped",
    "beartype.",
    "typeguard.typechecked",
    "typing.",
    "abc.",
    "pytest.",
    "unittest.",
    "atexit.register",
    "enum.unique",
    "builtins.object",
)
# Of these, what also leaves it so where it is called in the midst of code, with options or without.
_CHECKING: Final = ("namecheck.checked", "jaxtyping.jaxtyped", "beartype.", "typeguard.typechecked")
# What can be called with arguments of unknown number.
_OPEN: Final = frozenset({"functools.partial"})
_OPERATOR_NAMES: Final[Mapping[str, str]] = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mult",
    "truediv": "Div",
    "floordiv": "FloorDiv",
    "mod": "Mod",
    "pow": "Pow",
    "matmul": "MatMult",
    "and_": "BitAnd",
    "or_": "BitOr",
    "xor": "BitXor",
    "lshift": "LShift",
    "rshift": "RShift",
    "eq": "Eq",
    "ne": "NotEq",
    "lt": "Lt",
    "le": "LtE",
    "gt": "Gt",
    "ge": "GtE",
    "neg": "USub",
    "pos": "UAdd",
    "invert": "Invert",
}
# The types of what some functions give, of which nothing else is known.
_KINDS: Final[Mapping[str, str]] = {
    "random.randint": "int",
    "random.randrange": "int",
    "random.random": "float",
    "random.uniform": "float",
    "time.perf_counter": "float",
    "time.time": "float",
}
_GROWING: Final = frozenset({"comb", "factorial", "perm"})


class Libraries:
    """Calls functions and classes of libraries, and applies decorators."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.contexts = Contexts(machine)
        self.builtins = BuiltinFunctions(machine)
        self.inheritance = Inheritance(machine, self.builtins)
        self.classes = Classes(machine, self.inheritance)
        self.records = Records(machine, self.classes)
        self._cases: Mapping[str, Callable[[Call], Value]] = {
            "namecheck.reveal_names": self.builtins.reveal_names,
            "typing.reveal_type": self.builtins.reveal_type,
            "typing_extensions.reveal_type": self.builtins.reveal_type,
            "functools.partial": self._partial,
            "functools.partialmethod": lambda call: Wrapped("partialmethod", self._partial(call)),
            "functools.reduce": self._reduce,
            "functools.wraps": lambda call: External("functools.wraps"),
            "dataclasses.dataclass": lambda call: External("dataclasses.dataclass"),
            "collections.namedtuple": self._namedtuple,
            "collections.OrderedDict": self._ordered_dict,
            "collections.defaultdict": self._defaultdict,
            "collections.deque": self.builtins.list_,
            "collections.UserDict": partial(self.inheritance.instance, "collections.UserDict"),
            "collections.UserList": partial(self.inheritance.instance, "collections.UserList"),
            "types.SimpleNamespace": self._namespace,
            "argparse.Namespace": self._namespace,
            "types.MethodType": lambda call: BoundMethod(call.argument(0), call.argument(1)),
            "typing.cast": lambda call: call.argument(1),
            "copy.copy": partial(self._copy, deep=False),
            "copy.deepcopy": partial(self._copy, deep=True),
            "math.prod": self._prod,
            "importlib.metadata.version": lambda call: Opaque(("version", call.argument(0))),
            "operator.itemgetter": lambda call: Partial(
                External("operator.getitem."), tuple(call.args), ()
            ),
            "operator.attrgetter": lambda call: Partial(
                External("operator.getattr."), tuple(call.args), ()
            ),
            "operator.methodcaller": self._methodcaller,
            "torch.device": machine.torch.placement.device,
            "torch.set_default_device": machine.torch.placement.set_default,
            "torch.nn.Parameter": machine.torch.surroundings.parameter,
            "torch.nn.parameter.Parameter": machine.torch.surroundings.parameter,
            "torch.set_default_dtype": machine.torch.surroundings.set_default,
            "torch.get_default_dtype": machine.torch.surroundings.default,
            "torch.finfo": partial(machine.torch.surroundings.limits, floating=True),
            "torch.iinfo": partial(machine.torch.surroundings.limits, floating=False),
            "torch.Size": self.builtins.tuple_,
            **Iterators(machine).functions,
            **{f"dataclasses.{name}": case for name, case in self.records.functions.items()},
        }

    def call(self, path: str, call: Call) -> Value:
        """Call a function or class of a library."""
        if path.startswith("builtins."):
            return self.builtins.call(path.removeprefix("builtins."), call)
        if path in _LEAVING:
            self.machine.fail("SystemExit")
        takes_stars = not call.arguments.open or path in _OPEN
        case = self._cases.get(path)
        if case is not None and takes_stars:
            return case(call)
        if path.startswith("torch."):
            return self._torch(path, call)
        if not takes_stars:
            self.machine.escapes.to_unknown(call, path.rpartition(".")[2])
            return self.machine.fresh("result")
        if self.machine.torch.has(path, "l"):
            return self._layer(path, call)
        if self.machine.torch.has(path, "fp"):
            return self.machine.calls.torch_call(path, call.args, call)
        if path.startswith("operator."):
            return self._operator(path.removeprefix("operator."), call)
        if path.startswith("math."):
            return self._math(path.removeprefix("math."), call)
        if path.startswith(_CHECKING) and isinstance(call.argument(0), (FunctionValue, ClassValue)):
            return call.argument(0)
        kind = TRANSPARENT if path.startswith(_TRANSPARENT) else _KINDS.get(path)
        return self.machine.calls.unknown(External(path), path.rpartition(".")[2], call, kind)

    # torch

    def _torch(self, path: str, call: Call) -> Value:
        torch = self.machine.torch
        key = path.removeprefix("torch.")
        if key.startswith("nn.") and torch.has(key, "c"):
            return self._layer(key, call)
        if key.startswith("nn.") and self.inheritance.makes(path):
            return self.inheritance.instance(path, call)
        if key.endswith(".__init__") and call.args and isinstance(call.args[0], Instance):
            return self._initialise(path.removesuffix(".__init__"), call.args[0], call)
        operator = torch.function(path)
        if operator is None:
            torch.placement.spoken(path, call)
            if key.startswith("nn.init."):
                return call.argument(0, "tensor")
            # What torch changes in place keeps its names.
            name = path.rpartition(".")[2].rstrip("_")
            return self.machine.calls.unknown(External(path), name, call, TRANSPARENT)
        args, kwargs = list(call.args), dict(call.kwargs)
        if path.startswith("torch.Tensor.") and args and isinstance(args[0], Opaque):
            args[0] = torch.promote(args[0], call.store)
        call.arguments.kwargs = kwargs
        form = "Tensor" if path.startswith("torch.Tensor.") else "torch"
        return self.machine.calls.torch_call(f"{form}.{operator}", args, call)

    def _layer(self, key: str, call: Call) -> Value:
        made = TorchModule(
            self.machine.new_address(), key, tuple(call.args), tuple(call.kwargs.items()), call.node
        )
        self.machine.torch.placement.made(made, call)
        return made

    def _initialise(self, path: str, instance: Instance, call: Call) -> Value:
        """``nn.Linear.__init__(self, 3, 4)``."""
        if self.inheritance.makes(path):
            arguments = replace(call.arguments, args=call.args[1:])
            self.inheritance.initialise(instance, path, replace(call, arguments=arguments))
        return NONE

    # functools, dataclasses, collections, copy, math, operator, itertools

    def _partial(self, call: Call) -> Value:
        given = call.arguments
        words = tuple(given.kwargs.items())
        return Partial(call.argument(0), tuple(given.args[1:]), words, given.open, call.node)

    def _items(
        self, value: Value, call: Call, *, whole: bool = True
    ) -> tuple[Value, ...] | Repeated:
        return self.machine.expressions.iterate(
            value, call.node, call.store, call.activation, whole=whole
        )

    def _invoke(self, function: Value, args: list[Value], call: Call) -> Value:
        return self.machine.calls.call_values(
            function, args, call.node, call.store, call.activation
        )

    def _reduce(self, call: Call) -> Value:
        content = self._items(call.argument(1), call)
        if isinstance(content, Repeated):
            return self._invoke(call.argument(0), [content.each, content.each], call)
        rest = list(content)
        if len(call.args) > 2:
            rest.insert(0, call.args[2])
        if not rest:
            return self.machine.fresh("reduced")
        result = rest[0]
        for item in rest[1:]:
            result = self._invoke(call.argument(0), [result, item], call)
        return result

    def _namedtuple(self, call: Call) -> Value:
        listed = self.machine.torch.lower(call.argument(1, "field_names"), call.store)
        names = listed.replace(",", " ").split() if isinstance(listed, str) else listed
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            return self.machine.fresh("class")
        title = call.argument(0, "typename")
        name = str(title.value) if isinstance(title, Const) else "namedtuple"
        fields = tuple((n, None) for n in names)
        return ClassValue(self.machine.new_address(), name, (), None, fields, "namedtuple")

    def _namespace(self, call: Call) -> Value:
        return self.records.namespace(call.kwargs, call.store)

    def _ordered_dict(self, call: Call) -> Value:
        made = self.builtins.dict_(call)
        return replace(made, ordered=True) if isinstance(made, DictValue) else made

    def _defaultdict(self, call: Call) -> Value:
        made = self.builtins.dict_(
            Call(
                type(call.arguments)(call.args[1:], call.kwargs),
                call.node,
                call.store,
                call.activation,
            )
        )
        if isinstance(made, DictValue) and call.args and call.args[0] != NONE:
            return replace(made, factory=call.args[0])
        return made

    def _copy(self, call: Call, *, deep: bool) -> Value:
        return Copier(self.machine, call, deep).value(call.argument(0, "x"))

    def _math(self, name: str, call: Call) -> Value:
        import math

        values = [arg.value for arg in call.args if isinstance(arg, Const)]
        function = getattr(math, name, None)
        growing = name in _GROWING and python_operators.too_big(values)
        if len(values) == len(call.args) and callable(function) and not growing:
            try:
                result = function(*values)
            except (TypeError, ValueError, OverflowError):
                return self.machine.fresh("math")
            if isinstance(result, (int, float)):
                return Const(result)
        return self.machine.fresh("math", "int" if name in ("floor", "ceil", "prod") else "float")

    def _prod(self, call: Call) -> Value:
        content = self._items(call.argument(0), call)
        if isinstance(content, Repeated):
            return self.machine.fresh("product", "int")
        total: Value = Const(1)
        for item in content:
            operands = [(call.node, total), (call.node, item)]
            total = self.machine.expressions.operate(
                "Mult", call.node, operands, call.store, call.activation
            )
        return total

    def _operator(self, name: str, call: Call) -> Value:
        expressions = self.machine.expressions
        if name in ("getitem.", "getitem"):
            index, receiver = (
                (call.args[0], call.args[-1])
                if name == "getitem."
                else (
                    call.args[1],
                    call.args[0],
                )
            )
            return expressions.items.read(receiver, index, call.node, call.store, call.activation)
        if name == "getattr." and isinstance(call.args[0], Const):
            return expressions.attributes.read(
                call.args[-1], str(call.args[0].value), call.node, call.store, call.activation
            )
        if name == "methodcaller." and isinstance(call.args[0], Const):
            *given, receiver = call.args
            method = expressions.attributes.read(
                receiver, str(call.args[0].value), call.node, call.store, call.activation
            )
            return self.machine.calls.call_values(
                method, given[1:], call.node, call.store, call.activation, call.kwargs
            )
        in_place = name.startswith("i") and name not in _OPERATOR_NAMES
        symbol = _OPERATOR_NAMES.get(name) or _OPERATOR_NAMES.get(name[1:] if in_place else "")
        symbol = symbol or _OPERATOR_NAMES.get(f"{name[1:]}_" if in_place else "")
        if symbol is None or not call.args:
            return self.machine.fresh("operator")
        nodes = call.node.args if isinstance(call.node, ast.Call) else []
        places: list[Node] = list(nodes) if len(nodes) == len(call.args) else [call.node] * 2
        operands = list(zip(places, call.args, strict=False))
        if in_place:
            return self.machine.statements.augment(
                symbol, call.node, operands, call.store, call.activation
            )
        return expressions.operate(symbol, call.node, operands, call.store, call.activation)

    def _methodcaller(self, call: Call) -> Value:
        return Partial(
            External("operator.methodcaller."), tuple(call.args), tuple(call.kwargs.items())
        )

    # super, decorators, contexts, imports

    def super_of(self, node: ast.Call, store: Store, activation: Activation) -> Value:
        """``super()``, with or without arguments."""
        if node.args:
            values = [self.machine.expressions.value(a, store, activation) for a in node.args]
            if len(values) == 2 and isinstance(values[0], ClassValue):
                return Super(values[0], values[1])
            return self.machine.fresh("super")
        frame = activation.frame
        while frame.enclosing is not None and not isinstance(
            frame.scope, (ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            frame = frame.enclosing
        if frame.cls is not None and frame.receiver is not None:
            return Super(frame.cls, frame.receiver)
        return self.machine.fresh("super")

    def decorate(
        self, decorator: Value, value: Value, node: Node, store: Store, activation: Activation
    ) -> Value:
        """What a decorator makes of a function or class."""
        if isinstance(decorator, External):
            path = decorator.path
            kinds = {
                "builtins.property": "property",
                "builtins.staticmethod": "staticmethod",
                "builtins.classmethod": "classmethod",
                "functools.cached_property": "cached",
                "contextlib.contextmanager": "contextmanager",
            }
            if path in kinds:
                return Wrapped(kinds[path], value)
            if path == "dataclasses.dataclass" and isinstance(value, ClassValue):
                return replace(value, style="dataclass")
            if path.startswith(_TRANSPARENT):
                return value
        if isinstance(decorator, Opaque) and decorator.kind == TRANSPARENT:
            return value
        call = self.machine.calls.call_values
        result = call(decorator, [value], node, store, activation)
        return self.machine.fresh("decorated") if isinstance(result, Opaque) else result

    def call_wrapped(self, function: Wrapped, call: Call) -> Value:
        """Call what a decorator of the standard library made."""
        if function.kind == "contextmanager":
            return self.contexts.make(function, call)
        return self.machine.calls.call(function.function, call)
