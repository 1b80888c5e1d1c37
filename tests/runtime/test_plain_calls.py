"""Random single calls on plain torch: what `infer` says about them is correct.

Longer, by hand: `tests/compare_calls.py`.
"""

from __future__ import annotations

import random

import torch

from namecheck.core.dims import Dims
from namecheck.core.tensors import Tensor
from namecheck.operators import Inference
from tests import compare_calls
from tests.compare_calls import PlainCall
from tests.oracle.random_calls import Catalogue
from tests.torch_samples import Call


def test_no_random_call_is_contradicted() -> None:
    outcome = compare_calls.outcome("everyday", "", range(500))
    assert outcome.faults == ()
    assert outcome.accepted > 150


def test_a_seed_always_makes_the_same_calls() -> None:
    def texts() -> list[str]:
        catalogue = Catalogue.of_table()
        drawn = (random.Random(f"7/{number}") for number in range(20))
        calls = [compare_calls.drawn_call(rng, catalogue, with_special=True) for rng in drawn]
        return [call.text for call in calls]

    assert texts() == texts()


def test_a_wrong_claim_is_shown() -> None:
    class Mistaken(Call):
        def told(self) -> Inference:
            claimed = Tensor(Dims.of(None, sizes=(3,)), "float64")
            return Inference(claimed, {0: claimed})

    call = Mistaken("torch.neg", torch.neg, (torch.ones(2),), {})
    differences = list(PlainCall(call, "").differences(call.told(), torch.ones(2)))
    wrong = ["dtype float64 is float32", "size 3 of dim 0 is 2"]
    assert differences == [*wrong, *(f"afterwards {each}" for each in wrong)]
