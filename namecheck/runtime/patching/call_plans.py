"""How one kind of call is made, and whether a plan, or its answer, may be remembered."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from namecheck.core.names import Contradiction
from namecheck.core.tensors import Tensor
from namecheck.operators import Inference
from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.tensor_names import Names
from namecheck.runtime.patching.argument_translation import Changes


@dataclass(frozen=True, slots=True)
class Plan:
    """How to make one kind of call: the changed arguments, and the answer of `infer`.

    `sized` if the plan holds for these sizes only. `unconfirmed` is a contradiction that torch
    itself should report. `names` are those of a single result if all of them are known. A plan that
    is `of_elements` holds for the elements of a tensor that the call takes as an int.
    """

    changes: Changes
    inference: Inference
    sized: bool = False
    unconfirmed: Contradiction | None = None
    names: Names | None = None
    of_elements: bool = False


def settled_names(inference: Inference) -> Names | None:
    """The names of a single result if all of them are known, and one is a label."""
    answer = inference.result
    if isinstance(answer, Tensor) and answer.dims.complete and not inference.after:
        names = tensor_names.lower(answer.dims.names)
        return None if all(name is None for name in names) else names
    return None


def may_rename(plan: Plan, argument: Any, result: Any) -> bool:
    """Whether torch may return the argument itself, which has other names than the result."""
    if not plan.inference.may_be_input or not isinstance(result, torch.Tensor):
        return False
    return tensor_names.names_of(argument) != tensor_names.names_of(result)


def is_memoizable(plan: Plan, key: Hashable, *, sized: bool = False) -> bool:
    """Whether a plan is for one tensor and any sizes, and changes nothing but its result.

    A contradiction is not remembered: each call must report it. With `sized` the sizes matter to
    the result alone, not to how the call is made.
    """
    if plan.inference.contradiction is not None or plan.unconfirmed is not None:
        return False
    if plan.of_elements:
        return False
    after = plan.inference.after
    touches = bool(after) and tuple(after) != (0,)
    return not ((plan.sized and not sized) or touches or _holds_tensor(key))


def entry(level: Any, key_path: Sequence[Hashable]) -> Any:
    """The entry of nested dicts; None if there is none, or a key has no hash."""
    try:
        for key in key_path:
            level = level[key]
    except Exception:  # what a file holds in place of names may raise anything when it is hashed
        return None
    return level


def copied(value: Any) -> Any:
    """The value, or a copy of a list: the caller may change that."""
    return list(value) if value.__class__ is list else value


def _holds_tensor(value: Any) -> bool:
    """Whether a key is, or contains, a tensor: remembering it would keep its memory allocated."""
    if isinstance(value, (tuple, list)):
        return any(map(_holds_tensor, value))
    return isinstance(value, torch.Tensor)


def is_settled(inference: Inference) -> bool:
    """Whether an answer is complete for all sizes."""
    if inference.contradiction is not None or not inference.fits:
        return True
    return _is_known(inference.result) and all(map(_is_known, inference.after.values()))


def _is_known(answer: Any) -> bool:
    """Whether all names of an answer are known; False if it contains no tensor."""
    if isinstance(answer, Tensor):
        return answer.dims.complete
    return isinstance(answer, (tuple, list)) and all(map(_is_known, answer))
