"""The answers of calls in both semantics; those of native torch 2.12.1 were compared with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
import torch

from namecheck.core.semantics import Semantics
from namecheck.runtime import runtime
from tests.runtime.tensors import called, names

TORCH: Final[Any] = torch  # with names, which type checkers do not know
REFUSED: Final = "aten::{} is not yet supported with named tensors"

# An expression; its names, or a part of its error; and, where they differ, those by default.
CALLS: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "einsum with lists of letters": (
        ("torch.einsum(t('A B'), [0, 1], t('B C', 3, 4), [1, 2], [0, 2])", "unsqueeze", "A C"),
        ("torch.einsum(t('A B'), [0, 1], t('B C', 3, 4), [1, 2])", "unsqueeze", "A C"),
        ("torch.einsum(t('A B'), [0, 30], [30, 0])", "permute", "B A"),
        ("torch.einsum(t('A B'), (..., 51), [...])", "permute", "A"),
        ("torch.einsum(t('A B'), [0, 1], t('A C'), [0, 2], [0])", "unsqueeze", "A"),
        (
            "torch.einsum(t('A B'), [0, 1], t('A C'), [0, 1], [0, 1])",
            "permute",
            "stands for dim 'B'",
        ),
        ("torch.einsum(t('A B'), [0, 60], [0])", "valid range [0, 52)"),
        ("torch.einsum(t('_ _'), [0, 1], t('_ _', 3, 4), [1, 2])", "_ _"),
    ),
    "the order of arguments of old overloads": (
        ("torch.addcmul(t('A B'), 2.0, t('A B'), t('A B'))", "A B"),
        ("t('A B').addcdiv_(2, t('A B'), t('_ B', 2, 3))", "A B"),
        ("torch.addcmul(t('A B'), 2, t('_ _'), t('B A'))", "dims ['A', 'B'] and dims ['B', 'A']"),
        ("torch.addmm(2, t('A B'), 3, t('A C', 2, 4), t('D B', 4, 3))", "A B"),
        ("torch.addmm(2, t('A B'), t('A C', 2, 4), t('D B', 4, 3))", "A B"),
        ("t('A B').addmm_(2, 3, t('A C', 2, 4), t('D B', 4, 3))", "A B"),
        ("t('A').addmv(2, 3, t('A C'), t('C', 3))", "A"),
        ("torch.addmv(2, t('A'), 3, t('A C'), t('C', 3), out=t('_'))", "A"),
        ("torch.addr(2, t('A B'), 3, t('A'), t('B', 3))", "addr", "A B"),
        ("t('A B').addr(2, t('A'), t('B', 3))", "addr", "A B"),
        ("torch.addbmm(2, t('A B'), 3, t('N A C', 5, 2, 4), t('N D B', 5, 4, 3))", "addbmm", "A B"),
        ("t('N A B').baddbmm(2, t('N A C', 2, 3, 5), t('N D B', 2, 5, 4))", "baddbmm", "N A B"),
    ),
    "products": (
        ("torch.tensordot(t('A B'), t('C D', 3, 4), (['B'], ['C']))", "permute", "A D"),
        ("torch.tensordot(t('A B'), t('C B', 5, 3), dims=[('B',), ('B',)])", "permute", "A C"),
        ("torch.tensordot(t('A B'), t('B A', 3, 2), (['A', 'B'], ['A', 'B']))", "permute", ""),
        ("torch.tensordot(t('A B'), t('A B'), (['B'], ['B']))", "permute", "Got names: ['A', 'A']"),
        (
            "torch.tensordot(t('A B'), t('C D', 3, 4), (['C'], ['C']))",
            "permute",
            "Name 'C' not found",
        ),
        ("torch.spmm(t('N C'), t('X D', 3, 2))", "N D"),
        ("torch.dsmm(t('N C'), t('_ D', 3, 2))", "N D"),
        ("torch.spmm(t('N C'), t('X N', 3, 2))", "duplicate names ['N', 'N']"),
        ("torch.spmm(t('N C'), torch.eye(3).to_sparse())", "_sparse_addmm", "N _"),
    ),
    "negative powers of a matrix": (
        ("t('N C', 2, 2).matrix_power(1)", "N C"),
        ("(torch.eye(2) + t('N C', 2, 2)).matrix_power(-1)", "linalg_inv_ex", "C N"),
        ("torch.linalg.matrix_power(torch.eye(2) + t('N C', 2, 2), -2)", "linalg_inv_ex", "C N"),
    ),
    "names of quantiles": (
        ("torch.quantile(t('_ _'), t('Q'), 0)", "mul.Scalar", "Q _"),
        ("t('N C').nanquantile(t('Q'), 0)", "unsqueeze", "Q C"),
        ("torch.nanquantile(t('_ _'), t('Q'))", "gather", "Q"),
    ),
    "what Python makes of other calls": (
        ("reversed(t('N C'))", "flip", "N C"),
        ("reversed(t(''))", ""),
        ("torch.tensor(t('C') in t('N C', 3, 2))", ""),
        ("t('C N', 2, 3) in t('N C')", "dims ['C', 'N'] and dims ['N', 'C']"),
    ),
    "special methods that are called directly": (
        ("t('N C').__rmul__(t('N D'))", "dims ['N', 'C'] and dims ['N', 'D']"),
        ("t('N C').__radd__(t('N D'))", "dims ['N', 'C'] and dims ['N', 'D']"),
        ("t('N C').__rsub__(t('N D'))", "dims ['N', 'D'] and dims ['N', 'C']"),
        ("2 * t('N C') + (1 + t('N C'))", "N C"),
        ("t('N C').__rdiv__(t('N D'))", "dims ['N', 'D'] and dims ['N', 'C']"),
        ("t('N C').__rdiv__(2) + t('N C').__div__(2) + t('N C').__idiv__(2)", "N C"),
        ("t('N C') @ 2", "unsupported operand type(s) for @: 'Tensor' and 'int'"),
        ("2.0 @ t('N C')", "unsupported operand type(s) for @: 'float' and 'Tensor'"),
    ),
    "numbers in unusual places": (
        ("t('N', 6).unflatten('N', [('A', torch.tensor(2)), ('B', 3)])", "A B"),
        ("t('_', 6).unflatten(0, (torch.tensor(2), torch.tensor([3])))", "_ _"),
        ("t('N C').to(2.0)", "N C"),
    ),
    "numbers of numpy": (
        ("t('N C')[np.int64(1)]", "C"),
        ("t('N C')[:, np.array(1)]", "N"),
        ("t('N C')[np.int64(0) : np.int64(1)]", "N C"),
        ("t('N C')[np.array([0, 1])]", "index.Tensor", "_ C"),
        ("t('N C')[range(2)]", "index.Tensor", "N C"),
        ("t('N C').__setitem__(np.int64(0), t('D', 3))", "dims ['C'] and dims ['D']"),
        ("t('N C').sum(np.int64(0))", "C"),
        ("t('N C').sum(np.int64(1))", "N"),
        ("t('N C').sum((np.int64(1),))", "N"),
        ("t('N C').transpose(np.int64(0), 1)", "C N"),
        ("t('N C').unbind(np.int64(1))[0]", "N"),
        ("torch.cat([t('N C'), t('N C')], np.int64(1))", "N C"),
        ("t('N C') * np.int64(2)", "N C"),
    ),
    "tuples and lists of other classes": (
        ("torch.cat(Both(t('N C'), t('N C')))", "N C"),
        ("torch.cat(Both(t('N C'), t('N D')))", "dims ['N', 'C'] and dims ['N', 'D']"),
        ("torch.cat(Tensors([t('N C'), t('N C')]))", "N C"),
        ("torch.cat(t('N C').cummax(0)[:1])", "N C"),
        ("t('N C').sum(Both('N', 'C'))", ""),
        ("t('N C').flatten(Both('N', 'C'), 'F')", "F"),
    ),
    "what holds no names": (
        ("torch.zeros(2, 3, names=(word for word in 'NC'))", "got (int, int, names=generator)"),
        ("torch.zeros(2, 3, names={'N': 1, 'C': 2}.keys())", "got (int, int, names=dict_keys)"),
        ("torch.zeros(2, 3, names={'N'})", "got (int, int, names=set)"),
        ("torch.zeros(2, 3, names={'N': 1, 'C': 2})", "got (int, int, names=dict)"),
        ("torch.zeros(2, 3, names=3)", "got (int, int, names=int)"),
        ("torch.zeros(2, 3, names=np.array(['N', 'C']))", "got (int, int, names=ndarray)"),
        ("setattr(t('_ _'), 'names', (word for word in 'NC'))", "names must either be None"),
    ),
    "what is no name": (
        ("t('N C').rename(lambda name: name.lower())", "found element of type function at pos 0"),
        ("t('N C').rename(b'a', 'c')", "found element of type bytes at pos 0"),
        ("t('N C').rename('a', b'c')", "None or string for Dimname but got bytes"),
        ("t('N C').rename(Decimal(1), 'c')", "found element of type Decimal at pos 0"),
        ("t('N C').rename(Path('a'), 'c')", "found element of type"),
        ("t('N C').rename(np.array(['a', 'b']))", "found element of type ndarray at pos 0"),
        ("t('N C').rename(np.str_('a'), 'c')", "a c"),
        ("t('N C').rename(N=object())", "found element of type object at pos 0"),
        ("t('N C').rename_(object(), 'c')", "found element of type object at pos 0"),
        ("t('N C').refine_names('N', object())", "None or string for Dimname but got object"),
        ("t('N C').align_to(object(), 'N', 'C')", "found element of type object at pos 0"),
        ("t('N C').align_to('N', 'C', object())", "None or string for Dimname but got object"),
        ("t('N C').flatten(['N', 'C'], object())", "got (Tensor, list, object)"),
        ("t('N C').flatten(['N', object()], 'F')", "None or string for Dimname but got object"),
        (
            "t('N C').unflatten('C', ((object(), 3), ('c', 1)))",
            "None or string for Dimname but got object",
        ),
        ("torch.zeros(2, 3, names=(object(), 'C'))", "got (int, int, names=tuple)"),
        ("torch.zeros(2, 3, names=('N', object()))", "None or string for Dimname but got object"),
        ("setattr(t('N C'), 'names', (object(), 'C'))", "names must either be None"),
        ("setattr(t('N C'), 'names', ('N', object()))", "for Dimname but got object"),
    ),
    "layers whose weights have names": (
        ("linear()(t('_ _'))", "_ O"),
        ("linear()(t('N C'))", "N O"),
    ),
    "what no tensor can contain": (
        ("'N' in t('_')", "Tensor.__contains__ only supports Tensor or scalar"),
        ("None in t('N')", "Tensor.__contains__ only supports Tensor or scalar"),
    ),
    "losses": (
        ("F.kl_div(t('N C'), t('N D'))", "dims ['N', 'D'] and dims ['N', 'C']"),
        ("torch.kl_div(t('N C'), t('N D'))", "dims ['N', 'D'] and dims ['N', 'C']"),
        ("F.kl_div(t('_ _'), t('N C'))", "xlogy.Tensor", ""),
        ("F.cross_entropy(t('_ _'), torch.tensor([0, 1]), t('C', 3))", "nll_loss_forward", ""),
        (
            "F.cross_entropy(t('_ _ _'), torch.ones(2, 4).long(), t('C', 3))",
            "nll_loss2d_forward",
            "",
        ),
        ("F.cross_entropy(t('_ _'), t('_ _'), t('C', 3))", "view", ""),
        ("F.cross_entropy(t('_'), t('_'), t('C', 2))", ""),
        ("F.cross_entropy(t('_ _'), t('N C'), label_smoothing=0.1)", "mul.Scalar", ""),
        ("F.nll_loss(t('C', 3), torch.tensor(0))", "nll_loss_forward", ""),
        ("F.nll_loss(t('N C _'), torch.ones(2, 4).long())", "view", ""),
        (
            "F.nll_loss(t('_ _ _ _'), torch.ones(2, 4, 5).long(), t('C', 3))",
            "nll_loss2d_forward",
            "",
        ),
        (
            "F.cross_entropy(t('N C _ _'), torch.ones(2, 4, 5).long())",
            "nll_loss2d_forward",
            "",
        ),
        ("F.gaussian_nll_loss(t('_ _'), t('_ _'), t('N'))", "unsqueeze", ""),
        ("F.gaussian_nll_loss(t('N C'), t('N C'), 1.0)", ""),
        ("F.multilabel_soft_margin_loss(t('_ _'), t('N C'), reduction='none')", "N"),
        ("F.multilabel_soft_margin_loss(t('_ _'), t('_ _'), t('C', 3))", ""),
        ("F.multilabel_soft_margin_loss(t('N C'), t('_ _'))", "log_sigmoid_forward", ""),
    ),
    "einsum of the diagonal of a matrix": (
        ("torch.einsum(t('A B', 3, 3), [0, 0], [0])", "_"),
        ("torch.einsum('ii->i', t('A B', 3, 3))", "_"),
        ("torch.einsum('...ii', t('A B', 3, 3))", ""),
        ("torch.einsum('ii,ij->i', t('A B', 3, 3), t('_ _', 3, 3))", "_"),
        ("torch.einsum('iij->ij', t('A B C', 3, 3, 3))", "permute", "_ C"),
    ),
}


def t(dim_names: str, *sizes: int, **options: Any) -> Any:
    """A tensor whose dims have these names (`_`: none), with sizes 2, 3, 4, … or the given ones."""
    words = [None if word == "_" else word for word in dim_names.split()]
    shape = sizes or tuple(range(2, 2 + len(words)))
    return TORCH.ones(shape, names=words, **options)


class Both(NamedTuple):
    """A pair with a class of its own."""

    one: Any
    other: Any


class Tensors(list[Any]):
    """A list with a class of its own."""


def linear() -> torch.nn.Linear:
    """A layer whose weight has names."""
    layer = torch.nn.Linear(3, 4)
    called(layer.weight, "O", "I")
    return layer


@pytest.fixture(params=Semantics, ids=lambda semantics: semantics.value)
def semantics(request: pytest.FixtureRequest) -> Iterator[Semantics]:
    with runtime(semantics=request.param):
        yield request.param


@pytest.mark.parametrize("title", CALLS)
def test_calls_have_the_answers_of_their_semantics(title: str, semantics: Semantics) -> None:
    wrong = [call for call in CALLS[title] if not _is_as_expected(call, semantics)]
    assert not wrong


def _is_as_expected(call: Sequence[str], semantics: Semantics) -> bool:
    expression, natively, *differing = call
    expected = natively if semantics is Semantics.NATIVE or not differing else differing[0]
    scope = {"t": t, "torch": torch, "F": torch.nn.functional, "nn": torch.nn, "np": np}
    scope |= {"Both": Both, "Tensors": Tensors, "linear": linear, "Path": Path, "Decimal": Decimal}
    try:
        answer = eval(expression, scope)
    except (RuntimeError, TypeError, ValueError, LookupError) as error:
        kernel = REFUSED.format(expected)
        return kernel in str(error) or (" " in expected and expected in str(error))
    return " ".join(name or "_" for name in names(answer)) == expected
