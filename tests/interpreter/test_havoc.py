"""What unknown code may do with its arguments: lists, instances, functions, generators."""

from __future__ import annotations

import pytest

from tests.interpreting import check

X = "import library\nx = torch.zeros(2, 3, names=('N', 'C'))\n"

# Each changes `dim` or its value in a way that only unknown code can cause.
MAY_CHANGE = {
    "a list": ("dims = ['N']\nlibrary.call(dims)", "dims[0]"),
    "a list in a list": ("dims = ['N']\nlibrary.call([dims])", "dims[0]"),
    "a list in a tuple": ("dims = ['N']\nlibrary.call((1, dims))", "dims[0]"),
    "a dict in a dict": ("dims = {'d': 'N'}\nlibrary.call({'a': dims})", "dims['d']"),
    "a list in an unknown object": (
        "box = library.Box()\ndims = ['N']\nbox.dims = dims\nbox.run()",
        "dims[0]",
    ),
    "a function in an unknown object": (
        "box = library.Box()\ndims = ['N']\ndef f(d):\n    dims[0] = d\nbox.hook = f\nbox.run()",
        "dims[0]",
    ),
    "a keyword": ("dims = ['N']\nlibrary.call(dims=dims)", "dims[0]"),
    "a function with a global": (
        "dim = 'N'\ndef f():\n    global dim\n    dim = 'T'\nlibrary.call(f)",
        "dim",
    ),
    "a function with arguments": (
        "dims = ['N']\ndef f(a, b=1, *, c):\n    dims[0] = 'T'\nlibrary.call(f)",
        "dims[0]",
    ),
    "a lambda": ("dims = ['N']\nlibrary.call(lambda d: dims.insert(0, d))", "dims[0]"),
    "a method": (
        "class Box:\n    dim = 'N'\n    def set(self, dim):\n        self.dim = dim\n"
        "box = Box()\nlibrary.call(box.set)",
        "box.dim",
    ),
    "an instance": (
        "class Box:\n    def __init__(self):\n        self.dim = 'N'\n"
        "    def set(self, dim):\n        self.dim = dim\nbox = Box()\nlibrary.call(box)",
        "box.dim",
    ),
    "a partial": (
        "import functools\ndims = ['N']\ndef f(d):\n    dims[0] = d\n"
        "library.call(functools.partial(f, 'T'))",
        "dims[0]",
    ),
    "what a function does the second time": (
        "dim, later = 'N', 'N'\ndef f():\n    global dim, later\n    dim, later = later, 'T'\n"
        "library.call(f)",
        "dim",
    ),
    "a generator": (
        "dims = ['N']\ndef f():\n    dims[0] = 'T'\n    yield 1\nlibrary.call(f())",
        "dims[0]",
    ),
    "a function that renames": (
        "def f():\n    x.rename_(N='T')\n    library.call()\n    x.rename_(T='N')\nlibrary.call(f)",
        "'Q'",
    ),
    "a tensor": ("library.call(x)", "'Q'"),
    "a tensor in a list": ("library.call([x])", "'Q'"),
    "a tensor in an object": (
        "class Box:\n    def __init__(self):\n        self.x = x\nlibrary.call(Box())",
        "'Q'",
    ),
    "a tensor that a parameter is": (
        "def f(y):\n    y.rename_('N', 'C')\n    library.call(y)\n    y.mean('T')",
        "0",
    ),
    "a tensor in a context": ("with library.call(x):\n    x.mean('Q')", "'Q'"),
    "a tensor after a context": (
        "with library.call(x):\n    x.rename_('A', 'B')",
        "'Q'",
    ),
    "code that speaks of names": ("library.set_names(x, 'TC')", "'Q'"),
    "code that is in place": ("library.relabel_(x)", "'Q'"),
    "a recursion that is not followed": (
        "def f(y, n):\n    y.rename_(N='T') if not n else f(y, n - 1)\nf(x, 99)",
        "'Q'",
    ),
}
MAY_NOT_CHANGE = {
    "nothing given": ("dims = ['N']\nlibrary.call()", "dims[0]"),
    "a tensor, by a library that leaves torch alone": ("import numpy\nnumpy.save(x)", "'N'"),
    "a tuple": ("dims = ('N',)\nlibrary.call(dims)", "dims[0]"),
    "a function without effects": (
        "dims = ['N']\ndef f(a):\n    dims = ['T']\n    return a\nlibrary.call(f)",
        "dims[0]",
    ),
    "a function on what it is given": (
        "dims = ['N']\ndef f(a):\n    a[0] = 'T'\nlibrary.call(f)",
        "dims[0]",
    ),
    "an instance without methods": (
        "class Box:\n    def __init__(self):\n        self.dim = 'N'\n"
        "box = Box()\nlibrary.call(box)",
        "box.dim",
    ),
}


@pytest.mark.parametrize(("given", "dim"), MAY_CHANGE.values(), ids=MAY_CHANGE)
def test_what_unknown_code_may_change_is_not_known(given: str, dim: str) -> None:
    check(f"{X}{given}\nx.mean({dim})")
    if dim != "'Q'":
        check(f"{X}{given}\ny = x.rename('A', 'B')\ny.mean({dim})")


@pytest.mark.parametrize(("given", "dim"), MAY_NOT_CHANGE.values(), ids=MAY_NOT_CHANGE)
def test_what_unknown_code_may_not_change_is_known(given: str, dim: str) -> None:
    check(f"{X}{given}\nx.mean({dim})")
    check(f"{X}{given}\nx.rename(N='T').mean({dim})  # BUG")
