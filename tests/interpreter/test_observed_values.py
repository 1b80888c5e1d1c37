"""What is shown of the expressions of plain code, which the code tells later or elsewhere."""

from __future__ import annotations

from textwrap import dedent

from namecheck.core.evidence import Evidence
from namecheck.interpreter.workspace import analysis
from tests.interpreting import parsed


def shown(source: str) -> dict[str, str]:
    """The dims of each expression, by its source; the last one of those that are alike."""
    imports = "from torch import nn\n"
    program = parsed(imports + dedent(source))
    checked = analysis.check(program, reveal=True, evidence=Evidence.OBSERVED)
    return {reveal.source: reveal.dims for reveal in checked.reveals}


def test_a_parameter_has_from_the_start_the_dims_that_are_read_later() -> None:
    values = shown("""
        def scale(x, factors):
            y = x * 2
            z = y + factors
            b, n, d = x.shape
            return z.view(b, n * d)
    """)
    assert values["y"] == values["x * 2"] == "b n d"


def test_a_dim_that_nobody_reads_is_called_by_the_expression_for_its_size() -> None:
    assert (
        shown("""
        def products(q, k):
            b = q.size(0)
            return torch.bmm(q, k).view(b, -1)
    """)["k"]
        == "k.shape[0] k.shape[1] k.shape[2]"
    )


def test_what_one_path_alone_tells_is_not_told() -> None:
    values = shown("""
        def either(x, flag):
            y = x.abs()
            if flag:
                b, n, d = x.shape
                return x.view(b, n * d)
            return y
    """)
    assert "x.abs()" not in values  # nothing is known of it


def test_a_tensor_that_is_changed_in_place_had_other_dims_before() -> None:
    values = shown("""
        def grown(x):
            y = x.abs()
            x.unsqueeze_(0)
            b, n, d = x.shape
            return y
    """)
    assert "x.abs()" not in values  # nothing is known of it


def test_the_norm_of_a_convolution_tells_its_rank_and_that_of_its_input() -> None:
    values = shown("""
        class Block(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.conv = nn.Conv2d(dim, 2 * dim, 3, padding=1)
                self.norm = nn.BatchNorm2d(2 * dim)

            def forward(self, x):
                return self.norm(self.conv(x)).relu()

            def sizes(self, x):
                b, c, h, w = x.shape
    """)
    assert values["self.conv(x)"] == "x.shape[0] 2*dim x.shape[2] x.shape[3]"


def test_a_module_that_was_tested_has_the_weight_of_the_layer() -> None:
    values = shown("""
        def start(module, x):
            b, d = x.shape
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
    """)
    assert values["module.weight"] == "module.out_features module.in_features"
    assert values["module.bias"] == "module.out_features"


def test_a_number_that_is_computed_is_the_size_of_what_is_made_of_it() -> None:
    values = shown("""
        class Tokens(nn.Module):
            def __init__(self, dim, sides, ratio):
                super().__init__()
                h, w = sides()
                self.places = nn.Parameter(torch.zeros(1, h * w + 1, dim**2))
                self.wide = nn.Linear(dim, int(dim * ratio))

            def forward(self, x):
                b, n, d = x.shape
                return self.wide(x), self.places
    """)
    assert values["self.wide(x)"] == "b n int_of_dim_times_ratio"
    assert values["self.places"] == "_=1 choice*choice+1 dim*dim"
