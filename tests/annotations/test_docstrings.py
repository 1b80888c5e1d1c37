"""Shapes in docstrings: which styles are read, and which texts claim nothing."""

from __future__ import annotations

import ast
import textwrap
import time

import pytest

from namecheck.annotations import docstrings
from namecheck.annotations.docstrings import Shape

# Each entry claims these terms for `x`; a star stands for any dims.
CLAIMED = {
    "x: features of shape (B, T, C)": "B T C",
    "x (torch.Tensor): features of shape (B, T, C), normalised": "B T C",
    "x (`torch.Tensor` of shape `(batch, heads, 2 * dim)`, *optional*): keys": "batch heads 2*dim",
    "x (`torch.FloatTensor` of shape `(batch_size, time)`):\n    the tokens": "batch_size time",
    "x : Tensor, shape (N, 4)\n    the boxes": "N 4",
    "x : torch.Tensor\n    The boxes, of shape ``(N, 4)``.": "N 4",
    "x (Tensor[N, 4]): boxes": "N 4",
    ":param x: the image, [B, C, H, W]": "B C H W",
    ":param Tensor x: the image, [B, C, H, W]": "B C H W",
    "- x: :math:`(N, C, H_{in}, W_{in})`": "N C H_in W_in",
    "- Input: :math:`(N, C, L)`": "N C L",
    "x: the image with shape :math:`(*, C, H, W)`": "* C H W",
    "x: of shape (..., dim)": "* dim",
    "x: (batch size, sequence length)": "batch_size sequence_length",
    "x: shape = (B x C x H x W)": "B C H W",
    "x: of shape (B, window_size[0] * 2, C // heads)": "B window_size[0]*2 C//heads",
    "x: the vector, shape (n,)": "n",
    "**x** -- shape (B, T)": "B T",
    "x: (B, T), is (B, T) again in the end": "B T",
}
# The only claim is one that a reader could not follow, or no claim about this tensor.
UNCLAIMED = (
    "x: features of shape (B, T) or (B, T, C)",
    "x: of shape (B, T) if flat and shape (B, T, C) otherwise",
    "x: list of tensors of shape (B, T)",
    "x (tuple[Tensor]): each of shape (B, T)",
    "x: an array, like (B, T)",
    "x: order of the coordinates (x, y, z)",
    "x: one of (relu, gelu)",
    "x (int, optional): the size (H, W)",
    "x (bool): whether to flatten (default: True)",
    "x: the image, of size (H, W)",
    "x: shape (B, ?, C!)",
    "x: shape (B, *, C, *)",
    "y: features of shape (B, T, C)",
    "the x of shape (B, T, C)",
    "x",
    "",
)


def _claim(entry: str, *parameters: str) -> Shape | None:
    docstring = "Do.\n\n    Args:\n" + textwrap.indent(entry, " " * 8) + "\n    "
    claim = docstrings.claims(docstring, parameters or ("x",)).get("x")
    return None if claim is None else claim.shape


@pytest.mark.parametrize(("entry", "said"), CLAIMED.items())
def test_a_shape_is_read(entry: str, said: str) -> None:
    terms = said.split()
    gap = terms.index("*") if "*" in terms else None
    assert _claim(entry) == Shape(tuple(term for term in terms if term != "*"), gap)


@pytest.mark.parametrize("entry", UNCLAIMED)
def test_no_shape_is_claimed(entry: str) -> None:
    assert _claim(entry) is None


def test_two_entries_that_differ_claim_nothing() -> None:
    assert _claim("x: (B, T)\nx: (B, T)") == Shape(("B", "T"))
    assert _claim("x: (B, T)\nx: (B, T, C)") is None


def test_an_entry_ends_where_the_next_one_begins() -> None:
    assert _claim("x: the tokens\nmask: of shape (B, T)", "x", "mask") is None
    assert _claim(
        "x: the tokens\n    of shape (B, T)\nmask: of shape (B, 1)", "x", "mask"
    ) == Shape(("B", "T"))


def test_the_input_of_a_layer_is_its_only_tensor() -> None:
    assert _claim("- Input: (N, C)", "self", "x") == Shape(("N", "C"))
    assert _claim("- Input: (N, C)", "self", "x", "target") is None


def test_a_class_documents_its_forward() -> None:
    source = '''
    class Norm:
        """Normalise.

        Shape:
            - Input: (N, C, L)
        """

        def forward(self, x):
            return x

        def other(self, x):
            return x
    '''
    [scope] = ast.parse(textwrap.dedent(source)).body
    assert isinstance(scope, ast.ClassDef)
    _, forward, other = scope.body
    documentation = docstrings.of_function(forward, scope)
    assert documentation is not None
    assert documentation.claims["x"] == (Shape(("N", "C", "L")), 3)
    assert docstrings.of_function(other, scope) is None
    assert docstrings.may_claim(scope)
    assert not docstrings.may_claim(forward)


@pytest.mark.parametrize(
    "docstring",
    [
        "x: " + "(" * 200_000,
        "x: " + "(a," * 100_000,
        "x: " + "[B, " * 50_000 + "]" * 50_000,
        "x: (" + "B, " * 100_000 + ")",
        "x: shape " + "of " * 100_000 + "(B, T)",
        "x: (B, T)\n" * 20_000,
        "x: \\text{" * 50_000,
        "x" + ": " * 100_000,
        "x: " + "B " * 100_000 + "(B, " + "a " * 100_000 + ")",
    ],
    ids=range(9),
)
def test_a_hostile_docstring_takes_no_time(docstring: str) -> None:
    start = time.process_time()
    docstrings.claims(docstring, ("x", "y"))
    assert time.process_time() - start < 2
