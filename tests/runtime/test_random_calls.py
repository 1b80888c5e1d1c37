"""Random single calls: the result under the shim equals that of `infer`, in both semantics.

Longer, by hand: ``NAMECHECK_CALLS=20000 NAMECHECK_SEED=7 python -m pytest`` with this file.
"""

from __future__ import annotations

import json
import os
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pytest
import torch

from namecheck.core.semantics import Semantics
from namecheck.runtime.core import errors
from namecheck.runtime.core.errors import Contradicted
from tests.conformance import cases, live, static
from tests.conformance.cases import Case, Raised
from tests.conformance.verdicts import Judgement, Verdict, about_names, judge
from tests.oracle.random_calls import Catalogue, draw
from tests.oracle.record_random import record

SEED = os.environ.get("NAMECHECK_SEED", "0")
COUNT = int(os.environ.get("NAMECHECK_CALLS", "500"))
# Our exceptions by the builtin type that each derives from.
OURS = {
    cls.__name__: next(base.__name__ for base in cls.__mro__ if base.__module__ == "builtins")
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, Contradicted)
}


def made(semantics: Semantics) -> Iterator[Case]:
    """Random calls with their outcomes under the shim, without those that torch itself refuses."""
    catalogue = Catalogue.of_table()
    with live.shim(semantics), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(COUNT):
            call = draw(random.Random(f"{SEED}/{number}"), catalogue, torch)
            line = record(torch, call, f"{SEED}/{number}")
            result = line["result"]
            if isinstance(result, dict) and "error_type" in result:
                if result["error_type"] not in OURS:
                    continue
                result["error_type"] = OURS[result["error_type"]]
            if any(size < 0 for shape in line.get("after_shapes", ()) for size in shape):
                continue  # resize_ refuses a negative size, and leaves a tensor that has it
            yield cases.parse(json.dumps(line))


def show(judgement: Judgement) -> str:
    call = json.dumps({k: v for k, v in judgement.case.recorded.items() if k != "result"})
    return f"{call}\n    shim     {judgement.expected_text}\n    inferred {judgement.got_text}"


def is_wrong(judgement: Judgement) -> bool:
    """Whether a result differs, or only the shim found a contradiction of names."""
    expected = judgement.case.result
    missed = isinstance(expected, Raised) and about_names(expected.message)
    return judgement.verdict is Verdict.DISAGREE or (judgement.differs and missed)


def parts(every: list[Case]) -> Iterator[list[Case]]:
    """The calls in programs that the interpreter analyses to their ends."""
    for start in range(0, len(every), 500):
        yield every[start : start + 500]


@pytest.mark.parametrize("semantics", Semantics, ids=lambda semantics: semantics.value)
def test_the_shim_and_the_interpreter_say_the_same(semantics: Semantics) -> None:
    print(f"seed {SEED}, {COUNT} calls")
    every = list(made(semantics))
    results = chain.from_iterable(static.see(part, semantics) for part in parts(every))
    judged = [judge(*pair) for pair in zip(every, results, strict=True)]
    wrong = [show(judgement) for judgement in judged if is_wrong(judgement)]
    assert not wrong, "\n".join(wrong)
    verdicts = Counter(judgement.verdict for judgement in judged)
    assert verdicts[Verdict.AGREE] > 0.95 * len(every) > 0.5 * COUNT
