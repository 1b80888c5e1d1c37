"""Hostile programs of any size: what they cost is measured at four sizes each.

Each function takes a size and returns the text of a program between head and tail of `hostile`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Final

from tests.benchmarks import hostile_calls, hostile_declarations, hostile_more

Program = Callable[[int], str]


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


# Values that are part of others many times over

_CLASSES: Final = """\
import collections
import copy
import dataclasses
import functools


class Node:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def get(self):
        return self.a


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Record:
    a: object
    b: object


class Module(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.a = a
        self.b = b


def enclosed(x):
    def inner():
        return (x, x)

    return inner


def both(a, b):
    return (a, b)


def use(u, v, w, x, y):
    if w:
        z = x
    else:
        z = y
    for i in v:
        z = (z, x)[0]
        q = [x, y]
        if i:
            q = x
    copy.deepcopy(x) == copy.copy(y), x == y, x in [y], {x: 1}, hash(x), set([x, y])
    f"{x}", str(x), repr(y), isinstance(x, list)
    print(x, z, q)
    both(x, y), both(z, z)
    torch.stack([x, y])
    {x: y}[x]
    sorted([x, y]), sum([x, y]), min(x, y), x + y, x < y, not x, x and y, x or y, x is y
    torch.zeros(2).to(x)
    match x:
        case [a, b]:
            return a
        case {"a": c}:
            return c
    return x, y, z


"""
_SHARED: Final = {
    "a list": "x = [x, x]",
    "a list with a star": "x = [*[x], x]",
    "a tuple": "x = (x, x)",
    "a dict": 'x = {"a": x, "b": x}',
    "a dict made by a call": "x = dict(a=x, b=x)",
    "a defaultdict": "x = collections.defaultdict(list, a=x, b=x)",
    "a set": "x = frozenset([x, (x, 1)])",
    "an instance": "x = Node(x, x)",
    "a record": "x = Record(x, x)",
    "a named tuple": "x = Pair(x, x)",
    "a module": "x = Module(x, x)",
    "a Sequential": "x = torch.nn.Sequential(x, x)",
    "a partial": "x = functools.partial(print, x, x)",
    "a lambda's defaults": "x = lambda a=x, b=x: a",
    "a bound method": "x = Node(x, x).get",
    "a function that encloses it": "x = enclosed(x)",
    "a slice": "x = slice(x, x)",
    "a zip": "x = list(zip([x, x], [x, x]))",
    "an enumeration": "x = list(enumerate([x, x]))",
    "a generator": "x = (i for i in [x, x])",
    "a choice": "x = [x] if u else (x, x)",
    "one of two": "x = (x, x) if u else x",
    "an operator": "x = x + x * v",
    "a call of unknown code": "x = v(x, x)",
    "an attribute": "x = (x, v.q)[0].z + (x, v)[0].z",
    "a text": 'x = f"{x}{x}{v}"',
    "a test": "x = (x == x.a) or x",
    "a negation": "x = not (x and x.b)",
    "an item": "x = v[x, x]",
    "a range": "x = range(x.a, x.b)",
    "a call": "x = both(x, x)",
    "a list that holds itself": "x = [x]; x.append(x)",
    "a dict that holds itself": "x = {1: x}; x[2] = x",
    "a tuple that grows": "x = (x,)",
    "a list in a list": "x = [x]",
    "an attribute of an attribute": "x = x.a",
}


def _sharing(line: str) -> Program:
    def program(size: int) -> str:
        start = "    x = torch.nn.ReLU()" if "Sequential" in line else "    x = A"
        made = [start, *[f"    {line}"] * size]
        body = ["def f(u, v, w):", *made, "    y = x", *made, "    use(u, v, w, x, y)"]
        return _CLASSES + _joined([*body, "    return both(x, y)", "", "", "f(1, A, 3)"])

    return program


# Other programs


def tuples_in_a_loop(size: int) -> str:
    """A list that is put into itself in an endless loop."""
    loops = [
        [
            "def f(u):",
            "    x = [A]",
            "    while True:",
            "        x = [x, x]",
            "        x.append(x)",
        ],
        ["def g(u):", "    x = [A]", "    for i in u:", "        x.append(x)", "    return x == x"],
    ]
    return _joined([line for n in range(size) for loop in loops for line in loop])


def long_ints(size: int) -> str:
    """Ints of very many digits, computed, written out and printed."""
    lines = ["import math", "x, y = 3, 10", f"z = 1{'0' * (40 * size)}"]
    lines += ["x = x * x", "y = y ** y", "v = x << 99"] * size
    shown = ["f'{x}{y}{z}', str(x), repr(y), '%d' % z, '{}'.format(x), x % 7, hash(z), -x, ~z"]
    used = ["torch.zeros(z).relu(), torch.zeros(x, names=('N',)).sum('C'), A * z, A[z], A.split(x)"]
    more = [
        "float(z), math.sqrt(z), math.factorial(3000), x / y, int(str(z)), round(z, -2), abs(x)"
    ]
    return _joined(
        [*lines, *shown, *used, *more, "import namecheck", "namecheck.reveal_names(A[:z])"]
    )


def diamonds(size: int) -> str:
    """Diamonds of bases, each class with a super() call."""
    lines = ["class A0:", "    def __init__(self):", "        self.w = A"]
    lines += ["    def f(self, x):", "        return x * self.w"]
    for n in range(size):
        for name, bases in (("B", f"A{n}"), ("C", f"A{n}")):
            lines += [f"class {name}{n}({bases}):", "    def __init__(self):"]
            lines += ["        super().__init__()", "    def f(self, x):"]
            lines += ["        return super().f(x)"]
        lines += [f"class A{n + 1}(B{n}, C{n}):", "    pass"]
    return _joined([*lines, f"A{size}().f(A)"])


def super_chain(size: int) -> str:
    """A chain of classes, each of which calls super()."""
    lines = ["class M0(torch.nn.Module):", "    def __init__(self, x=1):"]
    lines += ["        super().__init__()", "        self.w = A"]
    lines += ["    def forward(self, x):", "        return x * self.w"]
    for n in range(1, size):
        lines += [f"class M{n}(M{n - 1}):", "    def __init__(self, x=2):"]
        lines += ["        super().__init__(x)", f"        self.v{n} = A"]
        lines += ["    def forward(self, x):", f"        return super().forward(x) * self.v{n}"]
    return _joined([*lines, f"M{size - 1}()(A)"])


def suppressions(size: int) -> str:
    """Suppressions that suppress nothing."""
    return _joined(["x = A.relu()  # namecheck: ignore[NC101]"] * size)


def used_suppressions(size: int) -> str:
    """Suppressions of a finding each."""
    return _joined(["A.sum('H')  # namecheck: ignore[NC103]"] * size)


def findings(size: int) -> str:
    """Lines with a finding each."""
    return _joined(["A.sum('H')"] * size)


def dims(size: int) -> str:
    """A tensor of many dims, in the operators that look at all of them."""
    names = ", ".join(f"'D{n}'" for n in range(size))
    ones = ", ".join("2" for _ in range(size))
    return _joined(
        [
            f"x = torch.zeros({ones}, names=({names},))",
            "y = x + x.relu()",
            "y = y.permute(*reversed(range(y.dim()))), y.flatten(), y.sum('D0'), y.mT, y.t()",
            "z = x[None, ..., 0], x.squeeze(), x.unsqueeze(0), torch.stack([x, x]), x @ x",
            f"w = x.transpose(0, -1), x.movedim(0, -1), x.align_to(...), x.reshape(-1, {size})",
            "v = torch.einsum('...,...->...', x, x), x.rename(D0='K'), x.expand(x.shape)",
            f"u = x.refine_names({names}), x.align_as(x), x.unbind(), x.repeat(x.shape)",
        ]
    )


def loops(size: int) -> str:
    """Nested loops over a tensor that changes."""
    lines = ["def f(items, x):", "    x = x.refine_names('N', 'C')"]
    for n in range(size):
        lines.append(f"{' ' * (n + 4)}for i{n} in items:")
    return _joined(
        [*lines, f"{' ' * (size + 4)}x = x.relu() if i0 else x.rename(N='K')", "    return x"]
    )


def tensors_in_a_dict(size: int) -> str:
    """A dict of many tensors, written out, read and looped over."""
    entries = ", ".join(f"'k{n}': A" for n in range(size))
    return _joined(
        [
            f"d = {{{entries}}}",
            "e = {key: value.relu() for key, value in d.items()}",
            "def f(key, u):",
            "    for k, v in d.items():",
            "        d[k] = v + 1",
            "    x = {**d, **e}",
            "    if u:",
            "        x = dict(d)",
            "    x[key] = A",
            "    return x, d == e, sorted(d), list(d.values()), d[key], 'k3' in d, len(d)",
            "f('k1', 2)",
        ]
    )


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def patterns(size: int) -> str:
    """A file full of einsum and einops patterns."""
    head = "import einops\n"
    lines = []
    for n in range(size):
        word = _LETTERS[: 2 + n % 50]
        spaced = " ".join(word)
        lines += [
            f"torch.einsum('{word},{word}->{word[::-1]}', A, A)",
            f"torch.einsum('{','.join([word[:2]] * (1 + n % 40))}', *[A] * {1 + n % 40})",
            f"einops.rearrange(A, '{spaced} -> ({spaced})')",
            f"einops.repeat(A, 'a b -> {' '.join(f'(b r{m})' for m in range(n % 40))} a', r0=2)",
            f"einops.reduce(A, '({spaced}) z -> z', 'sum')",
        ]
    return head + _joined(lines)


def one_pattern(size: int) -> str:
    """One einops pattern of very many axes, and one einsum of many operands."""
    axes = " ".join(f"a{n}" for n in range(size))
    return _joined(
        [
            "import einops",
            f"x = einops.rearrange(A, '{axes} -> ({axes})')",
            f"y = einops.rearrange(A, '({axes}) c -> c {axes}')",
            f"y = einops.rearrange(A, 'n c -> {'(' * size}n c{')' * size}')",
            f"z = torch.einsum('{','.join(['ab'] * size)}->{'a' * size}', *[A] * {size})",
            f"z = torch.einsum('...{'a' * size}', A)",
            f"w = einops.parse_shape(A, '{axes}'), einops.pack([A] * {size}, '{axes}')",
        ]
    )


def numbers_in_sums(size: int) -> str:
    """Sizes that are made of many symbols."""
    parameters = ", ".join(f"n{n}" for n in range(size))
    total = " + ".join(f"n{n} * n{(n * 7) % size}" for n in range(size))
    return _joined(
        [
            f"def f({parameters}):",
            f"    n = {total}",
            "    x = torch.zeros(n, n * n, names=('N', 'C'))",
            "    y = torch.cat([x, x, x], 'N').flatten(['N', 'C'], 'N')",
            "    return y, x.reshape(-1, n), y.unflatten('N', (('N', n), ('C', -1)))",
        ]
    )


def handlers(size: int) -> str:
    """Nested handlers, each of which raises."""
    lines = ["def f(x):", "    x = x.refine_names('N', 'C')"]
    for n in range(size):
        lines.append(f"{' ' * (n + 4)}try:")
    lines.append(f"{' ' * (size + 4)}x = x.sum('H')")
    for n in reversed(range(size)):
        lines += [f"{' ' * (n + 4)}except (ValueError, RuntimeError) as e:"]
        lines += [f"{' ' * (n + 5)}x = x.relu() if e else x", f"{' ' * (n + 4)}finally:"]
        lines += [f"{' ' * (n + 5)}y = x"]
    return _joined([*lines, "    return x"])


def writes_to_what_was_picked(size: int) -> str:
    """Items picked from a list by an unknown index, written to, and put back."""
    lines = ["def f(u, v):", "    x = [[A], [A]]"]
    lines += ["    y = x[u]", "    y.append(x[v])", "    x[v] = y", "    x.append(y)"] * size
    return _joined([*lines, "    return x, y"])


def lists_of_other_lengths(size: int) -> str:
    """Either of two lists, which have lists of another length in them, and so on."""
    lines = ["def f(u):", "    y, z = [A], [A, 1]", *["    y, z = [y, 1, y], [z, z]"] * size]
    return _joined([*lines, "    x = z", "    if u:", "        x = y", "    return x, x == y"])


def long_annotations(size: int) -> str:
    """One annotation of many axes, and of one within the other."""
    axes = " ".join(f"a{n}" for n in range(size))
    types = "list[" * min(size, 80) + "Tensor" + "]" * min(size, 80)
    unions = " | ".join(f"list[{n}]" for n in range(size))
    return _joined(
        [
            "from typing import Annotated",
            f"X, Y = Annotated[Tensor, '{axes}'], Annotated[Tensor, '({axes}) b']",
            "def f(x: X, y: Y) -> X:",
            "    return x + y",
            f"def g(x: {types}, y: {unions}):",
            "    return x[0]",
        ]
    )


def cases(size: int) -> str:
    """A match of many cases: where they meet, each has another store."""
    lines = ["def f(u, x):", "    match u:"]
    for number in range(size):
        lines += [f"        case {number}:", f"            x = A if x else {number}"]
    return _joined([*lines, "    return x"])


def operands(size: int) -> str:
    """One `and` and one `or` of many operands."""
    names = [f"u.a{number}" for number in range(size)]
    return _joined(
        [
            "def f(u):",
            f"    x = {' and '.join(names)}",
            f"    if {' or '.join(names)}:",
            "        x = A",
            "    return x",
        ]
    )


def many_handlers(size: int) -> str:
    """Many handlers of one block, each with a variable of its own."""
    lines = ["def f(u):", "    try:", "        u()"]
    for number in range(size):
        lines += [f"    except u.E{number}:", f"        x{number} = A"]
    return _joined(lines)


def refused_calls(size: int) -> str:
    """Calls of one scope that are refused, with a variable of that scope."""
    return _joined(["q = None", *["torch.stack(q, 'a')"] * size])


def calls_with_other_names(size: int) -> str:
    """Calls of one function, each with tensors of other names."""
    lines = ["def f(x):", "    return x.relu() + x.sum(0)"]
    return _joined([*lines, *[f"f(torch.zeros(2, 3, names=('N{n}', 'C')))" for n in range(size)]])


def losses_in_chains(size: int) -> str:
    """Chains of calls, each of which loses the names of its argument."""
    return _joined(["import foo", f"x = foo.f{'(A)' * size}"] * 5)


def dims_of_one_argument(size: int) -> str:
    """An argument of many dims."""
    axes = " ".join(f"a{number}" for number in range(size))
    return _joined(
        ["from typing import Annotated", f"def f(x: Annotated[Tensor, '{axes}']):", "    return x"]
    )


LINEAR: Final[dict[str, tuple[Program, tuple[int, ...]]]] = {
    "functions in one function": (hostile_calls.nested_functions, (500, 1_000, 2_000, 4_000)),
    "a chain of functions": (hostile_calls.recursion_chain, (250, 500, 1_000, 2_000)),
    "methods that call the next twice": (hostile_calls.calls_twice, (15, 30, 60, 120)),
    "functions that call each other": (hostile_calls.mutual_recursion, (50, 100, 200, 400)),
    "a class of many methods": (hostile_calls.methods, (300, 600, 1_200, 2_400)),
    "a class of many attributes": (hostile_calls.attributes, (200, 400, 800, 1_600)),
    "a chain of derived classes": (hostile_calls.inheritance, (15, 30, 60, 120)),
    "a tree of derived classes": (hostile_more.many_classes, (100, 200, 400, 800)),
    "a match of many cases": (cases, (200, 400, 800, 1_600)),
    "one operation of many operands": (operands, (75, 150, 300, 600)),
    "many handlers of one block": (many_handlers, (75, 150, 300, 600)),
    "refused calls of one scope": (refused_calls, (100, 200, 400, 800)),
    "calls with other names": (calls_with_other_names, (100, 200, 400, 800)),
    "calls that lose names": (losses_in_chains, (25, 50, 100, 200)),
    "a tensor of many dims": (dims, (500, 1_000, 2_000, 4_000)),
    "an argument of many dims": (dims_of_one_argument, (500, 1_000, 2_000, 4_000)),
    "dataclasses in diamonds": (hostile_declarations.diamonds_of_dataclasses, (5, 10, 20, 40)),
    "a dataclass of many fields": (
        hostile_declarations.records_of_many_fields,
        (100, 200, 400, 800),
    ),
    "a module of many submodules": (hostile_declarations.submodules, (800, 1_600, 2_400, 3_200)),
    "annotated functions": (hostile_declarations.annotated_functions, (250, 500, 1_000, 2_000)),
}
"""Programs whose cost is at most proportional to their size."""

GIVEN_UP: Final[dict[str, tuple[Program, tuple[int, ...]]]] = {
    "a chain of classes that make the next twice": (hostile_calls.builds_twice, (10, 20, 40, 80)),
}
"""Programs that cost more than a file may, but for the smallest: a note says so, and they end.

Each of these classes has two attributes of the one before: the last has 2 ** size instances in it.
"""


def _programs() -> dict[str, tuple[Program, tuple[int, ...]]]:
    """Each program with its four sizes."""
    programs: dict[str, tuple[Program, tuple[int, ...]]] = {
        f"{name}, shared": (_sharing(line), (6, 12, 24, 48)) for name, line in _SHARED.items()
    }
    for name in ("a list in a list", "a tuple that grows", "an attribute of an attribute"):
        programs[f"{name}, deep"] = _sharing(_SHARED[name]), (250, 500, 1_000, 2_000)
    sizes: dict[Program, tuple[int, ...]] = {
        tuples_in_a_loop: (5, 10, 20, 40),
        long_ints: (8, 16, 32, 64),
        diamonds: (5, 10, 20, 40),
        super_chain: (13, 25, 50, 100),
        suppressions: (500, 1_000, 2_000, 4_000),
        used_suppressions: (250, 500, 1_000, 2_000),
        findings: (250, 500, 1_000, 2_000),
        loops: (3, 6, 9, 12),
        tensors_in_a_dict: (250, 500, 1_000, 2_000),
        patterns: (25, 50, 100, 200),
        one_pattern: (25, 50, 100, 200),
        numbers_in_sums: (5, 10, 20, 40),
        handlers: (2, 4, 8, 16),
        hostile_calls.hands_on: (2, 4, 8, 16),
        writes_to_what_was_picked: (5, 10, 20, 40),
        lists_of_other_lengths: (5, 10, 20, 40),
        long_annotations: (100, 200, 400, 800),
        hostile_declarations.long_dict: (100, 200, 400, 2_000),
        hostile_declarations.long_list: (250, 500, 1_000, 20_000),
        hostile_declarations.deep_inheritance: (50, 100, 200, 800),
        hostile_declarations.writes_to_one_of_many: (1, 2, 4, 32),
        hostile_declarations.squared_sizes: (2, 4, 8, 64),
        hostile_declarations.quotients_of_sizes: (2, 4, 8, 64),
        hostile_declarations.sums_of_sizes: (2, 4, 8, 64),
        hostile_declarations.declared_powers: (1, 2, 4, 16),
        hostile_declarations.repeated_dims: (25, 50, 100, 400),
    }
    for program, steps in sizes.items():
        programs[(inspect.getdoc(program) or "").rstrip(".")] = program, steps
    return {**programs, **LINEAR}


PROGRAMS: Final = _programs()
