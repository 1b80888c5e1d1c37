"""Which applications of an operator were contradicted, and which were not."""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Span
from namecheck.core.names import Axis
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.values import Held, TensorValue
from namecheck.interpreter.evaluation.findings import Findings
from namecheck.interpreter.evaluation.judged import Attempt, Judged
from namecheck.operators import Inference

SPAN: Final = Span(1, 0, 1, 5)
KEY: Final = ("a.py", SPAN, "NC201")
NODE: Final = ast.Constant(0)
MIXED: Final = (Tensor(), 3)


def mixture() -> Findings:
    """A finding about two operands that each go together with another one."""
    findings = Findings()
    findings.add(Finding("NC201", "Names do not match.", "a.py", SPAN), frozenset("ab"))
    judged = findings.judged
    judged.refuse(KEY, judged.site(1, NODE), (), Attempt(MIXED))
    for operands in ((Tensor(), 4), (0, 3)):
        findings.judged.accept(1, NODE, Inference(None), Attempt(operands))
    return findings


def test_operands_that_go_together_with_others_are_a_mixture() -> None:
    assert mixture().judged.is_mixture(KEY)


def test_a_dropped_finding_leaves_nothing_of_its_operands() -> None:
    findings = mixture()
    findings.drop(0, "a.py", SPAN)
    assert not findings.entries
    assert not findings.judged.failed
    assert not findings.judged.refused
    assert not findings.judged.is_mixture(KEY)


def of_other_words(refused: Attempt, *accepted: Attempt) -> bool:
    """Whether a finding about operands is uncertain, where others are not contradicted."""
    judged = Findings().judged
    judged.refuse(KEY, judged.site(1, NODE), (), refused)
    for operands in accepted:
        judged.accept(1, NODE, Inference(None), operands)
    return judged.is_of_other_words(KEY)


def axes(address: int, words: str) -> tuple[Tensor, TensorValue]:
    """A tensor with these axes, and the value at this address."""
    tensor = Tensor(Dims.of(*map(Axis, words.split())))
    return tensor, TensorValue(address, Held(tensor))


def operands(*pairs: tuple[Tensor, TensorValue]) -> Attempt:
    tensors, values = zip(*pairs, strict=True)
    return Attempt(tensors, values)


def test_a_branch_that_chooses_between_two_words() -> None:
    frames = axes(1, "edge space")
    refused = operands(frames, axes(2, "entity space"))
    assert of_other_words(refused, operands(frames, axes(3, "edge space")))
    assert not of_other_words(refused)
    assert not of_other_words(refused, operands(axes(4, "node space"), axes(3, "node space")))


def test_dims_in_another_order_are_no_other_words() -> None:
    frames = axes(1, "time batch")
    refused = operands(frames, axes(2, "batch time"))
    assert not of_other_words(refused, operands(frames, axes(3, "time batch")))


def test_one_tensor_whose_sizes_are_compared_has_the_same_words() -> None:
    """On the path on which the sizes are equal, `n` stands for both."""
    refused = operands(axes(1, "n d"), axes(2, "m d"))
    assert not of_other_words(refused, operands(axes(3, "n d"), axes(2, "n d")))


def test_other_ranks_are_no_other_words() -> None:
    frames = axes(1, "edge")
    refused = operands(frames, axes(2, "entity"))
    assert not of_other_words(refused, operands(frames, axes(3, "edge space")))


def doubtful(judged: Judged, refused_stage: object) -> bool:
    """Whether a finding about a stage of what happens at a node is doubtful."""
    with judged.stage(refused_stage):
        site = judged.site(1, NODE)
    judged.failed = {KEY: {(site,)}}
    return judged.is_doubtful(KEY)


def test_one_stage_does_not_speak_for_another() -> None:
    judged = Findings().judged
    with judged.stage(0):
        judged.accept(1, NODE, Inference(None), Attempt(MIXED))
    assert doubtful(judged, 0)
    assert not doubtful(judged, 1)


def test_what_is_right_whatever_is_around_it_speaks_for_its_own_stage() -> None:
    judged = Findings().judged
    with judged.stage(0):
        judged.hear(1, NODE)
    assert not doubtful(judged, 1)
    with judged.stage(0):
        judged.hear_argument(1, NODE, "image")
    assert not doubtful(judged, 1)
    with judged.stage(1):
        assert not doubtful(judged, "kernel")
        assert doubtful(judged, "image")
    assert judged.stages == ()


def test_what_has_passed_at_the_node_has_passed_in_each_stage() -> None:
    judged = Findings().judged
    judged.hear(1, NODE)
    assert doubtful(judged, 1)
    with judged.stage(0):
        assert doubtful(judged, 1)


def test_a_call_that_passes_on_another_path_speaks_for_what_it_refuses() -> None:
    """Of ranks, where the branch is undecided, and of tensors without elements."""
    judged = Findings().judged
    own, call = judged.site(2, NODE), judged.site(1, NODE)
    nothing = Attempt((Tensor(Dims.of(None, sizes=[0])), 3))
    judged.failed[KEY] = {(own, call)}
    judged.refuse(KEY, own, [call], nothing)
    assert not judged.is_doubtful(KEY)
    assert not judged.is_of_another_call(KEY)
    judged.hear(1, NODE)
    assert judged.is_doubtful(KEY)
    assert judged.is_of_another_call(KEY)
    judged.refuse(KEY, own, [call], Attempt(MIXED))
    assert not judged.is_of_another_call(KEY)
