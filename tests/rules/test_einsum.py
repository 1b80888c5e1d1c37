"""``einsum``: letters and the dims that they are bound to."""

from __future__ import annotations

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.annotated import annotated, told


@pytest.mark.parametrize(
    ("equation", "operands", "result"),
    [
        ("bqd,bkd->bqk", ["b q d", "b k d"], "b q k"),
        ("bqd,bkd->bkq", ["b q d", "b k d"], "b k q"),
        ("bid,bjd->bij", ["b t d", "b t d"], "b t t"),
        ("bqd,bdk->bqk", ["b q d", "b k d"], "NC101"),
        ("ij,jk", ["n m", "m k"], "n k"),
        ("...d,de->...e", ["b t d", "d e"], "b t e"),
        ("b...,b...->...", ["b t d", "b t d"], "t d"),
        ("ii->i", ["n n"], "n"),
        ("ii->i", ["n m"], "NC101"),
        ("ij->ji", ["n m"], "m n"),
        ("i,j->ij", ["n", "n"], "n n"),
        ("bd,dk->bk", ["b d", "5 k"], "b k"),
        ("bd,bd", ["b 3", "b 4"], "NC202"),
        ("bd,kd->bk", ["b d", "k 1"], "b k"),
        ("bqd,bkd->bqk", ["b q d"], "NC114"),
        ("bd->bde", ["b d"], "NC114"),
        ("bd->bb", ["b d"], "NC114"),
        ("b1->b", ["b d"], "NC114"),
        ("bd->b", ["b t d"], "NC207"),
        ("btd...->b", ["b t"], "NC207"),
    ],
)
def test_letters_stand_for_dims(equation: str, operands: list[str], result: str) -> None:
    given = [annotated(text) for text in operands]
    assert told(infer("einsum", equation, *given)) == result
    assert told(infer("einsum", equation, given)) == result


def test_labels_that_are_kept_must_agree_and_those_summed_over_need_not() -> None:
    left, right = Tensor(Dims.of("N", "D")), Tensor(Dims.of("in", "out"))
    assert told(infer("einsum", "nd,do->no", left, right)) == "N out"
    assert told(infer("einsum", "nd,nd->n", left, right)) == "NC101"
    assert told(infer("einsum", "nd,md->nm", left, left)) == "NC104"


def test_what_is_not_known_is_not_claimed() -> None:
    assert told(infer("einsum", UNKNOWN, annotated("n d"))) == "..."
    assert told(infer("einsum", "bd,dk->bk", Tensor(), annotated("d k"))) == "? k"
