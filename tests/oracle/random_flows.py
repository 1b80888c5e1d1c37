"""Random programs with long data flow: through calls, classes, modules, loops and containers.

Their pieces are larger than those of random_pieces.py: functions that call functions, classes that
derive from classes, networks of layers, decorators, pipelines of generators.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.oracle.random_pieces import Pieces
from tests.oracle.random_programs import Failed

LENGTHS: Final = (40, 80)
_IMPORTS: Final = """import copy
import functools
from typing import NamedTuple
"""


class Flows(Pieces):
    """Draws larger pieces, and grows programs of them and of the smaller ones."""

    def __init__(self, rng: random.Random, torch: Any) -> None:
        super().__init__(rng, torch)
        self.text = _IMPORTS + self.text
        small = [(weight, piece) for weight, piece in self.pieces if piece != self.idiom]
        large: tuple[Callable[[], str], ...] = (
            self.helpers,
            self.results,
            self.hierarchy,
            self.network,
            self.wrapped,
            self.decorated,
            self.collected,
            self.optional,
            self.pipeline,
            self.state,
        )
        self.pieces = (*small, *((8, piece) for piece in large), (8, self.idiom))

    def named(self) -> tuple[str, Any]:
        """A variable with a tensor whose dims all have names, and the tensor."""
        space = self.space
        found = [
            key
            for key, value in self.drawn.tensors(space).items()
            if 0 < value.dim() < 5 and all(value.names)
        ]
        if not found:
            raise Failed
        chosen = self.rng.choice(found[-8:])
        return chosen, space[chosen]

    def flow(self, name: str, value: Any, length: int = 2) -> tuple[str, Any]:
        """An expression on a variable, and its value."""
        space = {key: part for key, part in self.space.items() if not self.is_tensor(part)}
        inner = {**space, name: value}
        text = self.chain(name, inner, length)
        result = self.value(text, inner)
        if not self.is_tensor(result):
            raise Failed
        return text, result

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.torch.Tensor)

    def layout(self, value: Any) -> list[str]:
        """The names of a tensor; fails where a dim has none."""
        if not value.dim() or not all(value.names):
            raise Failed
        return list(value.names)

    def lines(self, *lines: str) -> str:
        """A piece with these lines, without empty ones."""
        return "".join(f"{line}\n" for line in lines if line)

    def one_of(self, *forms: str) -> str:
        return self.rng.choice(forms)

    # Functions

    def helpers(self) -> str:
        """Functions that call functions, with defaults, keywords, stars, recursion."""
        x, value = self.named()
        one, two, three = self.fresh("f"), self.fresh("f"), self.fresh("f")
        first, middle = self.flow("p", value, 1)
        second, _ = self.flow("q", middle, 2)
        dim = self.rng.choice(self.layout(value))
        pass_on = self.one_of("*args, **options", "*args, keepdim=True, **options")
        reduced = self.one_of("sum", "mean", "prod")
        return self.lines(
            f"def {one}(p, scale=2.0, *, shift=0):",
            f"    p = {first}",
            "    if shift:",
            "        p = p + shift",
            "    return p * scale",
            f"def {two}(q, *args, **options):",
            f"    q = {one}(q, *args, **options)",
            f"    return {second}",
            f"def {three}(x, dim, *args, keepdim=False, **options):",
            f"    y = {two}(x, *args, **options)",
            f"    return y, x.{reduced}(dim, keepdim=keepdim)",
            f"{self.fresh('r')} = {one}({x})",
            f"{self.fresh('r')} = {two}({x}, {self.one_of('1.5', 'scale=0.5', 'shift=1')})",
            f"args, options = ({x}, {dim!r}), {{'shift': 1}}",
            f"{self.fresh('r')}, {self.fresh('r')} = {three}({pass_on})",
        )

    def results(self) -> str:
        """Results in tuples, dicts, lists, named tuples and data classes."""
        x, value = self.named()
        first, _ = self.flow("p", value, 1)
        second, _ = self.flow("p", value, 2)
        function, cls = self.fresh("f"), self.fresh("Out")
        a, b = self.fresh("r"), self.fresh("r")
        body = [f"    first = {first}", f"    second = {second}"]
        kind = self.rng.choice(("tuple", "dict", "list", "named", "data", "nested"))
        head: list[str] = []
        if kind == "named":
            head = [f"class {cls}(NamedTuple):", "    first: torch.Tensor"]
            head += ["    second: torch.Tensor = None"]
        elif kind == "data":
            head = ["@dataclass", f"class {cls}:", "    first: torch.Tensor"]
            head += ["    second: torch.Tensor = None"]
        given = self.one_of("first, second", "first=first, second=second", "first, second=second")
        made = {
            "tuple": "(first, second)",
            "dict": "{'first': first, 'second': second}",
            "list": "[first, second]",
            "nested": "{'both': [(first, 'a'), (second, 'b')]}",
        }.get(kind, f"{cls}({given})")
        use = {
            "tuple": [f"{a}, {b} = {function}({x})"],
            "dict": [f"out = {function}({x})", f"{a} = out['first']", f"{b} = out.get('second')"],
            "list": [f"{a}, *others = {function}({x})", f"{b} = others[-1]"],
            "nested": [
                f"({a}, _), ({b}, _) = {function}({x})['both']",
                f"{self.fresh('r')} = [t for t, word in {function}({x})['both'] if word == 'b'][0]",
            ],
            "named": [f"out = {function}(p={x})", f"{a}, {b} = out.first, out[1]"],
            "data": [f"out = {function}({x})", f"{a}, {b} = out.first, out.second"],
        }[kind]
        return self.lines(*head, f"def {function}(p):", *body, f"    return {made}", *use)

    def decorated(self) -> str:
        """Decorators: one that only forwards, one with options, torch.no_grad, a cache."""
        x, value = self.named()
        text, _ = self.flow("p", value, 2)
        names = tuple(self.layout(value))
        around, function, kept = self.fresh("around"), self.fresh("f"), self.fresh("f")
        inner = self.one_of(
            "return function(*args, **kwargs)",
            "result = function(*args, **kwargs)\n            return result",
            "with torch.no_grad():\n                return function(*args, **kwargs)",
        )
        return self.lines(
            f"def {around}(label=None):",
            "    def decorate(function):",
            "        @functools.wraps(function)",
            "        def wrapper(*args, **kwargs):",
            f"            {inner}",
            "        return wrapper",
            "    return decorate",
            f"@{around}('word')",
            self.one_of("@torch.no_grad()", ""),
            f"def {function}(p, factor=1):",
            f"    return ({text}) * factor",
            f"{self.fresh('r')} = {function}({self.one_of(x, f'p={x}', f'{x}, factor=2')})",
            self.one_of("@functools.lru_cache(maxsize=None)", "@functools.cache"),
            f"def {kept}(size):",
            f"    return torch.ones((size,) * {len(names)}, names={names!r})",
            f"{self.fresh('r')} = {kept}({self.rng.choice((1, 2))})",
        )

    def wrapped(self) -> str:
        """Names are stripped for a function that accepts none, and restored."""
        x, value = self.named()
        self.layout(value)
        strip, function = self.fresh("f"), self.fresh("f")
        operation = self.one_of("torch.relu(x)", "x.reshape(x.shape)", "x * 2", "torch.sigmoid(x)")
        back = self.one_of("refine_names(*names)", "rename(*names)")
        return self.lines(
            f"def {strip}(function, x, *args):",
            "    names = x.names",
            "    result = function(x.rename(None), *args)",
            f"    return result.{back}",
            f"def {function}(x):",
            f"    return {operation}",
            f"{self.fresh('r')} = {strip}({self.one_of(function, 'torch.relu', 'torch.abs')}, {x})",
            f"{self.fresh('r')} = {strip}(functools.partial({function}), {x})",
        )

    def optional(self) -> str:
        """Parameters that may be None, of one of several types, or of several layouts."""
        x, value = self.named()
        names = self.layout(value)
        text, _ = self.flow("x", value, 1)
        dim, function = self.rng.choice(names), self.fresh("f")
        test = self.one_of(f"{dim!r} in x.names", f"x.dim() == {value.dim()}", "x.has_names()")
        return self.lines(
            f"def {function}(x, other=None, scale=1.0):",
            "    if isinstance(x, (list, tuple)):",
            f"        return [{function}(item, other, scale) for item in x]",
            "    if other is None:",
            "        other = x",
            f"    if {test}:",
            f"        other = other.sum({dim!r}, keepdim=True)" if dim in names else "",
            f"    return ({text}), x + other * scale",
            f"{self.fresh('r')}, {self.fresh('r')} = {function}({x})",
            f"{self.fresh('r')}, {self.fresh('r')} = {function}({x}, other={x} * 2, scale=0.5)",
            f"({self.fresh('r')}, _), _ = {function}([{x}, {x}])",
        )

    # Classes

    def hierarchy(self) -> str:
        """A base class with a hook, a class that derives from it, properties, class methods."""
        x, value = self.named()
        names = tuple(self.layout(value))
        before, middle = self.flow("x", value, 1)
        hook, _ = self.flow("x", middle, 1)
        other, _ = self.flow("x", middle, 2)
        base, derived, thing = self.fresh("Base"), self.fresh("Derived"), self.fresh("o")
        dim = self.rng.choice(names)
        above = self.one_of("super().hook(x)", "super().hook(x) * 2", f"({other})")
        return self.lines(
            f"class {base}:",
            f"    NAMES = {names!r}",
            "    count = 0",
            "    def __init__(self, x, dim=None):",
            "        self.x = x.align_to(*self.NAMES)",
            "        self.dim = self.NAMES[0] if dim is None else dim",
            "        self.results = []",
            "    def hook(self, x):",
            f"        return {hook}",
            "    def run(self, x=None):",
            "        x = self.x if x is None else x",
            "        self.last = x",
            f"        self.results.append(self.hook({before}))",
            "        return self.results[-1]",
            "    @property",
            "    def reduced(self):",
            "        return self.x.sum(self.dim)",
            "    @classmethod",
            "    def make(cls, *args, **options):",
            "        return cls(*args, **options)",
            "    @staticmethod",
            "    def plain(x):",
            "        return x * 1",
            f"class {derived}({base}):",
            "    def __init__(self, x, *args, extra=1, **options):",
            "        super().__init__(x * extra, *args, **options)",
            "        self.extra = self.plain(self.x)",
            "    def hook(self, x):",
            f"        return {above}",
            f"{thing} = {self.one_of(base, derived)}.make({x}, dim={dim!r})",
            f"{self.fresh('r')} = {thing}.run()",
            f"{self.fresh('r')} = {thing}.reduced + {derived}({x}, {dim!r}, extra=2).reduced",
            f"{self.fresh('r')} = {derived}({x}).run({x})",
            f"{self.fresh('r')} = {self.one_of(f'{thing}.last', f'{derived}({x}).extra')}",
        )

    def network(self) -> str:
        """Layers in a network: Sequential, ModuleList, ModuleDict, parameters, buffers."""
        x, value = self.named()
        names = self.layout(value)
        last, size = names[-1], value.shape[-1]
        layer, net, model = self.fresh("Layer"), self.fresh("Net"), self.fresh("m")
        text, _ = self.flow("x", value, 1)
        keep = self.one_of(
            "self.weight = nn.Parameter(torch.ones(size))",
            'self.register_buffer("weight", torch.ones(size))',
            "self.weight = nn.Parameter(torch.ones(size))\n        self.reset()",
        )
        loop = self.one_of(
            "for layer in self.layers:\n            x = layer(x)",
            "for index, layer in enumerate(self.layers):\n            x = layer(x) + index",
            "x = self.stack(x)",
            'for name in ("a", "b"):\n            x = self.parts[name](x)',
        )
        linear = self.one_of(
            "self.linear(x.rename(None)).refine_names(*x.names)",
            f"self.linear(x).refine_names(..., {last!r})",
            "x @ self.linear.weight.rename('I_', 'O_')",
        )
        moved = self.one_of("", ".eval()", ".to(torch.float32)", ".train(False)")
        return self.lines(
            f"class {layer}(nn.Module):",
            f"    def __init__(self, size, name={last!r}):",
            "        super().__init__()",
            "        self.name = name",
            f"        {keep}",
            "    def reset(self):",
            "        nn.init.ones_(self.weight)",
            "    def forward(self, x):",
            "        return x * self.weight.refine_names(self.name)",
            f"class {net}(nn.Module):",
            "    def __init__(self, size, depth=2):",
            "        super().__init__()",
            f"        self.layers = nn.ModuleList([{layer}(size) for _ in range(depth)])",
            f"        self.stack = nn.Sequential({layer}(size), nn.ReLU(), *self.layers)",
            f"        self.parts = nn.ModuleDict({{key: {layer}(size) for key in 'ab'}})",
            "        self.linear = nn.Linear(size, size)",
            "    def forward(self, x):",
            f"        {loop}",
            f"        return {linear}",
            f"{model} = {net}({size}){moved}",
            f"{self.fresh('r')} = {model}({x})",
            f"{self.fresh('r')} = {model}.layers[0](({x}).abs())",
            f"{self.fresh('r')} = {model}.stack[0].weight",
            f"{self.fresh('r')} = copy.deepcopy({model})({x})",
            f"{self.fresh('r')} = (lambda x: {text})({x})",
        )

    def state(self) -> str:
        """An object that changes in a loop: its attributes, its list, its dict."""
        x, value = self.named()
        dim = self.rng.choice(self.layout(value))
        text, after = self.flow("x", value, 1)
        alike = after.names == value.names and after.shape == value.shape
        cls, thing = self.fresh("State"), self.fresh("s")
        update = "self.total + x" if alike else "x"
        return self.lines(
            f"class {cls}:",
            "    def __init__(self):",
            "        self.total = None",
            "        self.seen = {}",
            "        self.log = []",
            "    def update(self, x, key):",
            f"        x = {text}",
            f"        self.total = x if self.total is None else {update}",
            "        self.seen[key] = self.total",
            "        self.log.append((key, x))",
            "        return self",
            "    def __len__(self):",
            "        return len(self.log)",
            "    def __getitem__(self, index):",
            "        return self.log[index][1]",
            "    def __iter__(self):",
            "        for _, x in self.log:",
            "            yield x",
            f"{thing} = {cls}()",
            f"for key in {self.one_of('(1, 2)', 'range(2)', 'enumerate(range(2))')}:",
            f"    {thing}.update({x}, key)",
            f"{self.fresh('r')} = {thing}.update({x}, 'last').total",
            f"{self.fresh('r')} = {thing}.seen['last'] if len({thing}) else None",
            f"{self.fresh('r')} = {thing}[0]",
            f"{self.fresh('r')} = [item for item in {thing}][-1]",
            f"{self.fresh('r')} = sum(item.sum() for item in {thing}) * {x}.sum({dim!r})",
        )

    # Loops

    def collected(self) -> str:
        """Loops that call functions and collect their results."""
        x, value = self.named()
        self.layout(value)
        text, result = self.flow("p", value, 1)
        function, items = self.fresh("f"), self.fresh("l")
        dim = self.rng.choice([n for n in result.names if n] or [None])
        if dim is None:
            raise Failed
        joined = self.one_of(f"torch.cat({items}, {dim!r})", f"torch.cat({items}, dim={dim!r})")
        source = self.one_of(f"[{x}, {x} * 2]", f"({x},) * 3", f"{{'a': {x}, 'b': {x}}}.values()")
        head = self.one_of(f"for p in {source}:", f"for i, p in enumerate({source}):")
        total = self.fresh("t")
        return self.lines(
            f"def {function}(p):",
            f"    return {text}",
            f"{items}, {total} = [], None",
            head,
            f"    p = {function}(p)",
            f"    {total} = p if {total} is None else {total} + p",
            f"    {items}.append(p)",
            f"while len({items}) > 2:",
            f"    {items}.pop()",
            f"{self.fresh('r')} = {joined}",
            f"{self.fresh('r')} = {{i: p for i, p in enumerate({items})}}[0]",
            f"{self.fresh('r')}, *_ = [{function}(p) for p in [{x}]]",
            f"for a, b in zip({items}, {items}[::-1]):",
            f"    {total} = {total} + a - b",
        )

    def pipeline(self) -> str:
        """Generators, partials, tables of functions, reduce, closures."""
        x, value = self.named()
        names = self.layout(value)
        dim = self.rng.choice(names)
        text, _ = self.flow("p", value, 1)
        source, table, compose = self.fresh("gen"), self.fresh("table"), self.fresh("compose")
        steps: Sequence[str] = (
            f"lambda p: {text}",
            "torch.abs",
            f"functools.partial(torch.sum, dim={dim!r})",
            f"functools.partial(torch.softmax, dim={dim!r})",
        )
        chosen = ", ".join(f"'{key}': {self.rng.choice(steps)}" for key in "ab")
        return self.lines(
            f"def {source}(p, count):",
            "    for index in range(count):",
            "        yield index, p * index",
            f"{table} = {{{chosen}}}",
            f"def {compose}(*functions):",
            "    def run(p):",
            "        for function in functions:",
            "            p = function(p)",
            "        return p",
            "    return run",
            f"for index, item in {source}({x}, 2):",
            f"    {self.fresh('r')} = {table}['a'](item)",
            f"{self.fresh('r')} = {compose}(torch.neg, {table}['b'])({x})",
            f"{self.fresh('r')} = functools.reduce(torch.add, [{x}, {x}, {x}])",
            f"{self.fresh('r')} = max([{x}], key=lambda t: t.dim())",
            f"(({self.fresh('r')}, _), *_) = [({table}[key](p), key) for key, p in [('a', {x})]]",
        )
