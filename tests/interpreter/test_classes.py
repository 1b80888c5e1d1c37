"""Classes: the value of an attribute, wherever it was set; and overriding in other files."""

from __future__ import annotations

import pytest

from tests.interpreting import check, codes, dims

CLASSES = """
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

class Base:
    dim = 'C'

    def __init__(self, x):
        self.x = x

    def total(self):
        return self.x.sum(self.dim)

    @property
    def first(self):
        return self.x.sum(self.x.names[-1])

    @cached_property
    def last(self):
        return self.x.sum(self.x.names[0])

    @staticmethod
    def plain(x):
        return x.sum('C')

    @classmethod
    def make(cls, x):
        return cls(x)

class Derived(Base):
    dim = 'T'

    def __init__(self, x):
        super().__init__(x.rename(N='B'))

    def total(self):
        return super().total().sum('B')

class Operators:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return self.x + other

    def __radd__(self, other):
        return self.x.sum('C')

    def __call__(self, dim):
        return self.x.sum(dim)

    def __getitem__(self, dim):
        return self.x.sum(dim)

    def __len__(self):
        return 2

    def __iter__(self):
        return iter([self.x.sum('N')])

    def __contains__(self, name):
        return name in self.x.names

    def __getattr__(self, name):
        return self.x.sum(name)

@dataclass
class Batch:
    x: torch.Tensor
    dim: str = 'C'
    names: list = field(default_factory=lambda: ['T'])

    def __post_init__(self):
        self.total = self.x.sum(self.dim)

class Pair(NamedTuple):
    x: torch.Tensor
    dim: str = 'C'

    def total(self):
        return self.x.sum(self.dim)

Point = namedtuple('Point', 'x dim')

class Layout(Enum):
    ROWS = 'N'
    COLUMNS = 'C'

class Switch:
    _dim = 'N'

    @property
    def dim(self):
        return self._dim

    @dim.setter
    def dim(self, value):
        self._dim = value

class Deleted:
    _dim = 'N'

    @property
    def dim(self):
        return self._dim

    @dim.setter
    def dim(self, value):
        self._dim = value

    @dim.deleter
    def dim(self):
        del self._dim

class Plain:
    _dim = 'N'

    def read(self):
        return self._dim

    def write(self, value):
        self._dim = value

    dim = property(read, write)

class Overridden(Deleted):
    @Deleted.dim.getter
    def dim(self):
        return 'C'

class Named:
    def __get__(self, instance, owner):
        return 'T'

class Described:
    dim = Named()

x = torch.zeros(2, 3, 4, names=('N', 'C', 'T'))
switch = Switch()
switch.dim = 'T'
deleted = Deleted()
deleted.dim = 'T'
plain = Plain()
plain.dim = 'T'
overridden = Overridden()
overridden.dim = 'T'
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Base(x).total()", "N=2 T=4"),
        ("Derived(x).total()", "C=3"),
        ("Base.total(Derived(x))", "B=2 C=3"),
        ("Base(x).first", "N=2 C=3"),
        ("Base(x).last", "C=3 T=4"),
        ("Base.plain(x)", "N=2 T=4"),
        ("Base(x).plain(x)", "N=2 T=4"),
        ("Derived.make(x).x", "B=2 C=3 T=4"),
        ("getattr(Base(x), 'total')()", "N=2 T=4"),
        ("Operators(x) + x", "N=2 C=3 T=4"),
        ("1 + Operators(x)", "N=2 T=4"),
        ("Operators(x)('T')", "N=2 C=3"),
        ("Operators(x)['T']", "N=2 C=3"),
        ("list(Operators(x))[0]", "C=3 T=4"),
        ("'C' in Operators(x)", "True"),
        ("len(Operators(x))", "2"),
        ("Operators(x).C", "N=2 T=4"),
        ("Batch(x).total", "N=2 T=4"),
        ("Batch(x, dim='N').total", "C=3 T=4"),
        ("x.sum(Batch(x).names)", "N=2 C=3"),
        ("Pair(x).total()", "N=2 T=4"),
        ("Pair(x)[0].sum(Pair(x).dim)", "N=2 T=4"),
        ("Pair(x)._replace(dim='N').total()", "C=3 T=4"),
        ("Point(x, 'T').x.sum(Point(x, 'T').dim)", "N=2 C=3"),
        ("x.sum(Layout.ROWS.value)", "C=3 T=4"),
        ("x.sum(Layout('C').value)", "N=2 T=4"),
        ("[x.sum(layout.value) for layout in Layout][1]", "N=2 T=4"),
        ("x.sum(switch.dim)", "N=2 C=3"),
        ("x.sum(deleted.dim)", "N=2 C=3"),
        ("x.sum(plain.dim)", "N=2 C=3"),
        ("x.sum(plain._dim)", "N=2 C=3"),
        ("x.sum(overridden.dim)", "N=2 T=4"),
        ("x.sum(overridden._dim)", "N=2 C=3"),
        ("x.sum(Described().dim)", "N=2 C=3"),
        ("isinstance(Derived(x), Base)", "True"),
        ("isinstance(Base(x), Derived)", "False"),
    ],
)
def test_what_an_expression_of_a_class_is(expression: str, expected: str) -> None:
    assert dims(f"{CLASSES}\nresult = {expression}", "result") == expected


OVERRIDDEN_BELOW = {
    "a class attribute": ("names = ('N', 'C')", "names = ('N', 'T')"),
    "an attribute of the instance": (
        "def __init__(self):\n            self.names = ('N', 'C')",
        "def __init__(self):\n            super().__init__()\n            self.names = ('N', 'T')",
    ),
    "a property": (
        "@property\n        def names(self):\n            return ('N', 'C')",
        "@property\n        def names(self):\n            return ('N', 'T')",
    ),
}


@pytest.mark.parametrize("title", OVERRIDDEN_BELOW)
def test_what_a_subclass_overrides_is_open_in_its_base(title: str) -> None:
    above, below = OVERRIDDEN_BELOW[title]
    source = f"""
    class Base:
        {above}

        def load(self, x):
            return x.refine_names(*self.names).mean('T')

    class Derived(Base):
        {below}

    def use(base: Base, x):
        return x.refine_names(*base.names).mean('T')
    """
    check(source)
    assert "NC103" in codes(source.replace(below, "pass"))


def test_a_hook_that_a_subclass_overrides() -> None:
    check("""
    class Base:
        def prepare(self, x):
            return x

        def load(self, x):
            return self.prepare(x.refine_names('N', 'C')).mean('T')

    class Derived(Base):
        def prepare(self, x):
            return x.rename(C='T')
    """)


def test_an_inherited_method_is_run_for_the_subclass() -> None:
    check("""
    class Base:
        dim = 'C'

        def load(self, x):
            return x.refine_names('N', 'C').mean(self.dim)  # BUG

    class Derived(Base):
        dim = 'T'
    """)


@pytest.mark.parametrize(
    "hook",
    [
        "@abstractmethod\n        def dim(self):\n            return None",
        "def dim(self):\n            raise NotImplementedError",
        "def dim(self):\n            '''The dim.'''",
        "def dim(self):\n            pass",
        "def dim(self) -> str: ...",
    ],
)
def test_a_stub_gives_what_its_overrides_give(hook: str) -> None:
    check(f"""
    from abc import ABC, abstractmethod

    class Base(ABC):
        {hook}

        def load(self, x):
            return x.refine_names(self.dim()).mean('T')

    def use(base: Base, x):
        return x.refine_names(base.dim()).mean('T')
    """)


def test_what_is_set_on_a_class_or_an_instance_later() -> None:
    check("""
    class Model:
        def reduce(self, x):
            return x.mean('T')

    class Other:
        def reduce(self, x):
            return x.mean('T')

    x = torch.zeros(2, 3, names=('N', 'C'))
    Model.reduce = lambda self, x: x.mean('C')
    Model().reduce(x)
    other = Other()
    other.reduce = lambda x: x.mean('C')
    other.reduce(x)
    torch.Tensor.mean = lambda self, dim: self.sum('C')
    x.mean('T')
    """)


def test_a_class_of_a_library_may_have_anything() -> None:
    check("""
    import library

    class Model(library.Base):
        def load(self, x):
            x = x.refine_names('N', 'C')
            if not isinstance(self, library.Other):
                x = x.sum('C')
            if not isinstance(self, library.Other):
                return x.mean(getattr(self, 'dim', 'T'))
            return x.mean('C')
    """)


def test_a_metaclass_makes_what_it_likes() -> None:
    check("""
    class Meta(type):
        def __call__(cls):
            return 'C'

    class Dim(metaclass=Meta):
        pass

    x = torch.zeros(2, 3, names=('N', 'C'))
    x.mean(Dim())
    """)


def test_a_module_calls_its_forward() -> None:
    check(
        """
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.dim = dim
            self.register_buffer('scale', torch.ones(3, names=(dim,)))

        def forward(self, x):
            return x * self.scale

    x = torch.zeros(2, 3, names=('N', 'C'))
    Layer('C')(x).mean('N')
    Layer('C')(x.rename(C='T')).mean('N')
    """.replace("x * self.scale", "x * self.scale  # BUG")
    )
