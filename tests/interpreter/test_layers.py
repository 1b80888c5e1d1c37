"""Modules of torch: the results of their methods, and their submodules."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.interpreting import check, dims

NET = """
from collections import OrderedDict
from torch import nn

class Scale(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.weight = torch.zeros(3, names=(name,))
        self.act = nn.ReLU()
        self.register_buffer('kept', torch.zeros(3, names=(name,)))

    def forward(self, x):
        return self.act(x * self.weight)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Scale('C')
        self.layers = nn.ModuleList([Scale('C'), Scale('C')])
        self.heads = nn.ModuleDict({'a': Scale('C')})
        self.tail = nn.Sequential(OrderedDict(one=Scale('C'), two=nn.ReLU()))

net = Net()
x = torch.zeros(2, 3, names=('N', 'C'))
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("net.to('cpu').eval().first(x)", "N=2 C=3"),
        ("net.train().half().tail(x)", "N=2 C=3"),
        ("net.first.kept", "C=3"),
        ("net.tail.one.weight", "C=3"),
        ("net.tail[1:](x)", "N=2 C=3"),
        ("net.tail[0].eval()(x)", "N=2 C=3"),
        ("net.layers[-1].weight", "C=3"),
        ("net.layers[:1][0].weight", "C=3"),
        ("len(net.layers)", "2"),
        ("len(net.tail)", "2"),
        ("' '.join(name for name, _ in net.named_children())", "'first layers heads tail'"),
        ("' '.join(name for name, _ in net.tail.named_children())", "'one two'"),
        ("[m for m in net.modules() if isinstance(m, Scale)][0].weight", "C=3"),
        ("len([m for m in net.modules() if isinstance(m, nn.ReLU)])", "6"),
        ("isinstance(net.tail, nn.Module)", "True"),
        ("isinstance(net.first.act, nn.Linear)", "False"),
        ("isinstance(nn.ReLU6(), nn.ReLU)", "False"),
        ("nn.Linear(3, 5).out_features", "5"),
        ("nn.Linear(3, 5, bias=False).bias is None", "True"),
        ("nn.DataParallel(net.first).module(x)", "N=2 C=3"),
        ("nn.DataParallel(net.first)(x)", "N=2 C=3"),
    ],
)
def test_what_an_expression_of_a_module_is(expression: str, expected: str) -> None:
    assert dims(f"{NET}\nresult = {expression}", "result") == expected


def test_layers_that_are_not_all_known() -> None:
    check(f"""{indent(NET, "    ")}
    import library

    class Open(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Scale('N')
            self.second = library.layer()

        def forward(self, x):
            for layer in self.children():
                x = layer(x)
            return x

    Open()(torch.zeros(2, 3, names=('C', 'N'))).sum('N')
    nn.Sequential(*library.layers(), Scale('C'))(torch.zeros(2, 3)).sum('T')
    nn.Sequential(*[nn.ReLU() for _ in range(library.depth())])(x).sum('T')  # BUG
    nn.Sequential(*[Scale('C') for _ in range(library.depth())])(x).sum('T')  # BUG
    """)


def test_training_is_asked_anew_once_it_was_switched() -> None:
    check("""
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            return x.rename(C='T') if self.training else x

    net = Net()
    x = torch.zeros(2, 3, names=('N', 'C'))
    first = net(x)
    second = net(x)
    first + second
    net.eval()
    third = net(x)
    if 'C' in third.names and 'T' in first.names:
        first + third.rename(C='T')
        first + third  # BUG
    """)


def test_a_method_of_a_base_that_is_not_known() -> None:
    check("""
    from library import Base

    class Model(Base):
        def step(self, x):
            y = super().step(x)
            if y is None:
                return x.refine_names('N').sum('T')  # BUG
            return y.refine_names('N', 'C').sum('T')  # BUG
    """)
