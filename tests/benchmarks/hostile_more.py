"""Hostile programs: self-containing values, unbounded sizes and dims, extreme library calls."""

from __future__ import annotations


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


# Containers


def lists_in_lists() -> str:
    """A list in a list, 5,000 deep, compared, joined and stacked."""
    return _joined(
        [
            "deep, other = [A], [A]",
            *(["deep = [deep]", "other = [other]"] * 5_000),
            "deep == other, torch.stack(deep), f'{deep}'",
            "def f(flag):",
            "    x = deep",
            "    if flag:",
            "        x = other",
            "    return torch.stack(x)",
        ]
    )


def lists_that_double() -> str:
    """Lists of the same list twice, 60 deep, compared, joined and stacked."""
    return _joined(
        [
            "def f(items, flag):",
            "    x, y = [A], [A]",
            *(["    x = [x, x]", "    y = [y, y]"] * 60),
            "    if x == y or x in y:",
            "        return torch.stack(x)",
            "    z = {1: x, 2: y}",
            "    for item in items:",
            "        x, y = y, [x]",
            "    return torch.stack(x), x + y, z, f'{x}'",
            "f([1, 2], True)",
        ]
    )


def lists_that_hold_themselves() -> str:
    """Lists, dicts and instances that hold themselves."""
    return """\
class Node:
    def __init__(self):
        self.me = self
        self.all = [self]


def f(items, flag):
    x, y, node = [A], {"A": A}, Node()
    x.append(x)
    y["y"] = y
    y["x"] = x
    x.extend([y, node, x, [x, x]])
    z = x if flag else [x]
    for item in items:
        x, z = z, x
        node.me = Node() if item else node
    if x == z or x in z or z == y:
        return torch.cat(x)
    return torch.stack(z), sorted(x, key=str), dict(y), [*x, *z], f"{x}", node.me.me.me


f([1, 2, 3], True)
"""


def parts_of_a_test() -> str:
    """2^40 paths: one test of 40 parts, each of two variables."""
    parts = " or ".join(f"(a[{n}] and b[{n}])" for n in range(40))
    return _joined(
        [
            "def f(a, b, x):",
            "    x = x.refine_names('N', 'C')",
            f"    if {parts}:",
            "        x = x.relu()",
            f"    while not ({parts}):",
            "        x = x.exp()",
            f"    y = x if {parts} else A",
            f"    assert {parts.replace('or', 'and')}",
            "    return x + y",
        ]
    )


# Sizes and dims


def polynomials() -> str:
    """Sizes that are polynomials: a sum of 10 sizes, squared 12 times."""
    sizes = ", ".join(f"s{n}" for n in range(10))
    return _joined(
        [
            "def f(x):",
            "    x = x.refine_names(*'ABCDEFGHIJ')",
            f"    {sizes} = x.shape",
            f"    s = {sizes.replace(', ', ' + ')}",
            *(["    s = s * s + s0", "    y = torch.zeros(s, names=('N',)) + A.sum('C')"] * 12),
            "    return y",
        ]
    )


def many_dims() -> str:
    """Tensors of 1,000 dims, added, permuted and flattened."""
    names = ", ".join(f"'D{n}'" for n in range(1_000))
    reverse = ", ".join(f"'D{n}'" for n in reversed(range(1_000)))
    return _joined(
        [
            f"x = torch.zeros({'1, ' * 1_000}names=({names}))",
            "y = x + x",
            f"z = y.align_to({reverse}) * 2",
            *(["y = (y + x).transpose(0, 1).transpose(0, 1)"] * 30),
            f"w = z.flatten(({reverse}), 'D')",
        ]
    )


def long_annotation() -> str:
    """Annotations of 2,000 axes, and of a sum of 500 sizes."""
    axes = " ".join(f"a{n}" for n in range(2_000))
    total = "+".join(f"a{n}" for n in range(500))
    return _joined(
        [
            "from typing import Annotated",
            f"def f(x: Annotated[Tensor, '{axes}'], y: Annotated[Tensor, '({total})']):",
            "    return x + x, y + y",
            "def g(x):",
            "    return f(x, x)",
        ]
    )


def long_pattern() -> str:
    """An einsum of 50 operands, and one of 52 letters each."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return _joined(
        [
            "def f(x):",
            f"    y = torch.einsum('{','.join(letters[:50])}->', {', '.join(['x'] * 50)})",
            f"    return torch.einsum('{','.join([letters] * 20)}->a', {', '.join(['x'] * 20)}), A",
        ]
    )


# Libraries


def layers() -> str:
    """A Sequential of 2,000 layers, and 60 of them inside one another."""
    inner = "torch.nn.ReLU()"
    for _ in range(60):
        inner = f"torch.nn.Sequential({inner}, torch.nn.Tanh())"
    return _joined(
        [
            f"model = torch.nn.Sequential({', '.join(['torch.nn.Linear(3, 3)'] * 2_000)})",
            "model(A)",
            f"{inner}(A)",
        ]
    )


def partials() -> str:
    """functools.partial of a partial, 500 deep, and reduce over 5,000 items."""
    return _joined(
        [
            "import functools",
            "def f(*args):",
            "    return args[0].relu()",
            "p = f",
            *(["p = functools.partial(p, A)"] * 500),
            "p(A)",
            "x = functools.reduce(lambda a, b: a + b, [A] * 64 + [A, A] * 32)",
        ]
    )


def long_iterators() -> str:
    """zip, map, filter, product and sorted over 10,000 items, 10 deep."""
    return _joined(
        [
            "import itertools",
            f"items = [{', '.join(map(str, range(10_000)))}]",
            *(["items = list(map(lambda i: i, zip(items, items)))"] * 10),
            "pairs = list(itertools.product(items, items, items))",
            "rows = sorted(items, key=lambda row: row, reverse=True)",
            "x = [A for row in itertools.permutations(rows) if row]",
            "y = sum((A for row in rows), A)",
        ]
    )


def objects_that_answer_everything() -> str:
    """Classes whose special methods call each other."""
    return """\
class K:
    def __getattr__(self, name):
        return getattr(self, name + "x")

    def __call__(self, *args):
        return self(*args, self)

    def __add__(self, other):
        return other + self

    __radd__ = __add__

    def __getitem__(self, index):
        return self[self[index]]

    def __iter__(self):
        yield from self

    def __enter__(self):
        with self as me:
            return me

    def __exit__(self, *args):
        return self.__exit__(*args)

    def __eq__(self, other):
        return self == other

    def __bool__(self):
        return not self

    def __len__(self):
        return len(self)

    @property
    def p(self):
        return self.p


k = K()
k.a.b, k(), k + A, A + k, k[A], list(k), k == A, not k, len(k), k.p
with k as x:
    if k:
        x.sum("N")
"""


def many_classes(size: int = 3_000) -> str:
    """3,000 classes in one hierarchy, each with a method."""
    lines = ["class K0:", "    def f0(self, x):", "        return x.refine_names('N', 'C')"]
    for n in range(1, size):
        lines += [
            f"class K{n}(K{(n - 1) // 4}):",
            f"    def f{n}(self, x):",
            "        return self.f0(x)",
        ]
    return _joined(lines)


def context_managers() -> str:
    """A with statement of 500 managers, and one inside another, 15 deep."""
    items = ", ".join(f"g({n}) as y{n}" for n in range(500))
    lines = ["def f(g, x):", "    x = x.refine_names('N', 'C')", f"    with {items}:"]
    lines += ["        x = x.relu()"]
    lines += [f"{' ' * (n + 4)}with g({n}):" for n in range(15)]
    return _joined([*lines, f"{' ' * 19}x = x.rename(None)", "    return x"])


def counting() -> str:
    """Loops that count to a million, one in the other."""
    return """\
def f(x):
    x = x.refine_names("N", "C")
    i = 0
    while i < 1_000_000:
        j = 0
        while j < 1_000_000:
            x = x.relu()
            j += 1
        i += 1
    for k in range(1_000_000):
        x = x * k
    return x, i, j


f(A)
"""
