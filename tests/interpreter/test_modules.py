"""Imports in every form, shadowed names, other libraries' objects, and calls from other files."""

from __future__ import annotations

import pytest

from namecheck.core import syntax
from namecheck.interpreter.workspace import analysis
from tests.interpreting import check, codes, dims


@pytest.mark.parametrize(
    ("imports", "expression"),
    [
        ("import torch", "torch.zeros(2, 3, names=('N', 'C'))"),
        ("import torch as t", "t.zeros(2, 3, names=('N', 'C'))"),
        ("from torch import zeros", "zeros(2, 3, names=('N', 'C'))"),
        ("from torch import zeros as made", "made(2, 3, names=('N', 'C'))"),
        ("from torch import *", "zeros(2, 3, names=('N', 'C'))"),
        ("import torch.nn.functional as F\nimport torch as t", "F.relu(t.zeros(2, 3, names=X))"),
        ("import torch.nn.functional\nimport torch as t", "t.relu(t.zeros(2, 3, names=X))"),
        (
            "from torch.nn import functional as F\nimport torch as t",
            "F.relu(t.ones(2, 3, names=X))",
        ),
        ("from torch import nn\nimport torch as t", "nn.functional.relu(t.ones(2, 3, names=X))"),
        ("import torch as t\nnew = t.zeros", "new(2, 3, names=('N', 'C'))"),
        ("import torch as t", "getattr(t, 'zeros')(2, 3, names=('N', 'C'))"),
        (
            "try:\n    import torch as t\nexcept ImportError:\n    t = None",
            "t.zeros(2, 3, names=X)",
        ),
        ("def f():\n    import torch as t\n    return t", "f().zeros(2, 3, names=X)"),
        ("import torch as t", "t.Tensor.relu(t.zeros(2, 3, names=X))"),
    ],
)
def test_forms_of_import(imports: str, expression: str) -> None:
    source = f"{imports}\nX = ('N', 'C')\nresult = {expression}\nresult.mean('T')\n"
    found = analysis.check(syntax.parse(source.encode(), "program.py")).findings
    assert [finding.code for finding in found] == ["NC103"]


@pytest.mark.parametrize(
    "shadowing",
    [
        "torch = library",
        "import library as torch",
        "from library import torch",
        "def torch(): pass",
        "class torch: zeros = library",
        "for torch in library: pass",
        "with library as torch: pass",
        "torch.zeros = library",
        "del torch",
        "global_state()['torch'] = library; torch = globals()['torch']",
    ],
)
def test_what_is_called_torch_may_be_something_else(shadowing: str) -> None:
    check(f"{shadowing}\nx = torch.zeros(2, 3, names=('N', 'C'))\nx.mean('T')")


def test_shadowed_builtins() -> None:
    check("""
    def sum(rows):
        return rows[0]

    x = torch.zeros(2, 3, names=('N', 'C'))
    sum([x, x.rename(N='T')])

    def f(len, x: torch.Tensor, sorted=lambda names: ('N', 'C')):
        x.refine_names('N', 'C').mean(len(x))
        return x.refine_names(*sorted(('C', 'N'))).mean('C')
    """)


def test_names_of_scopes() -> None:
    assert (
        dims(
            """
    dim = 'N'

    class Holder:
        dim = 'C'

        def get(self):
            return dim

    def outer():
        dim = 'T'

        def inner():
            global dim
            return dim

        def middle():
            return [dim for _ in range(1)][0]

        return inner(), middle()

    result = outer() + (Holder().get(), Holder.dim)
    a, b, c, d = result
    result = ''.join(result)
    """,
            "result",
        )
        == "'NTNC'"
    )


def test_a_comprehension_keeps_its_variable() -> None:
    assert (
        dims(
            """
    name = 'N'
    others = [name for name in ('C', 'T')]
    walrus = [last := name for name in others]
    result = name + last
    """,
            "result",
        )
        == "'NT'"
    )


@pytest.mark.parametrize(
    "use",
    [
        "import pandas as pd; df = pd.read_csv('a').rename(columns={'a': 'b'}); df.mean('T')",
        "import pandas as pd; df = pd.DataFrame(); df.names = ['a']; df.T.mean('T')",
        "import xarray as xr; xr.DataArray(x).rename(x='y').mean('T')",
        "import numpy as np; x.numpy().mean('T'); np.mean(x.numpy(), axis='T')",
        "a = x.detach().cpu().numpy(); a.T.mean('T'); a[0].mean(5)",
        "import jax.numpy as jnp; jnp.zeros((2, 3)).mean('T')",
        "x.tolist()[0].index(3); x.sum().item().real",
        "x.shape.numel(); x.size()[0].bit_length(); x.stride()",
        "import tensorflow as tf; tf.zeros(2, names=('N',)).mean('T')",
        "from library import Tensor; Tensor(x).mean('T')",
        "library.mean(x, 'T')",
        "x.unknown_method('T').mean('T')",
    ],
)
def test_objects_of_other_libraries(use: str) -> None:
    check(f"x = torch.zeros(2, 3, names=('N', 'C'))\n{use}")


def test_functions_that_only_other_files_call() -> None:
    check("""
    DIM = 'C'

    def plain(x):
        return x.refine_names('N', 'C').mean('T')  # BUG

    def with_default(x, dim='T'):
        return x.refine_names('N', 'C').mean(dim)  # BUG

    def with_none(x, dim=None):
        return x.refine_names('N', 'C').mean('T' if dim is None else dim)  # BUG

    def of_unknown(x, y, dim):
        z = x + y
        z.mean(dim)
        z.mean('T')
        x.refine_names('N', 'C') + y
        x.refine_names('N', 'C') * y.refine_names('N', 'T')  # BUG

    def of_a_module(x):
        return x.refine_names('N', 'C').mean(DIM)

    def typed(x: torch.Tensor, n: int, name: str, y: 'torch.Tensor'):
        x.refine_names('N', 'C').mean(name)
        x.refine_names('N', 'C') * n
        y.refine_names('N', 'C').sum('T')  # BUG

    class Model:
        def __init__(self, dim, names=('N', 'C')):
            self.dim = dim
            self.names = names

        def forward(self, x):
            x = x.refine_names('N', 'C')
            x.mean(self.dim)
            return x.mean('T')  # BUG
    """)


def test_a_global_that_another_function_sets() -> None:
    check("""
    CACHE = None
    STATE = {'dim': 'N'}

    def build():
        global CACHE
        CACHE = torch.zeros(2, 3, names=('N', 'C'))

    def use():
        if CACHE is None:
            build()
        return CACHE.mean('C')

    def choose(dim):
        STATE['dim'] = dim

    choose('C')

    def reduce(x):
        return x.refine_names('N', 'C').mean(STATE['dim'])
    """)


def test_a_function_that_matters_by_what_it_makes() -> None:
    assert codes("""
    NAMES = ('N', 'C')

    def options():
        return {'names': NAMES}

    def make():
        return torch.zeros(2, 3, **options())

    def use():
        return make().mean('T')
    """) == ["NC103"]


def test_definitions_under_a_condition() -> None:
    check("""
    import sys

    if sys.version_info >= (3, 12):
        def reduce(x):
            return x.mean('N')
    else:
        def reduce(x):
            return x.mean('C')

    reduce(torch.zeros(2, 3, names=('N', 'C')))
    """)
