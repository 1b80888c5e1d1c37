"""Every operator of Python on every pair of dtypes, compared between torch and the rules.

The operands are tensors with dims, tensors without, and Python numbers; the outcome is the dtype of
the result or the error with its message. Shell dtypes have no defined promotion: there the rules
may return an unknown dtype. For complex32 and shell dtypes most kernels are missing on one machine
or another: the message about a missing kernel is expected for no other dtype.
"""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch

from namecheck.core import dtypes
from namecheck.core.dims import Dims
from namecheck.core.dtypes import KINDS, Defaults
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.operators import infer, python_operators

BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.add,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "Div": operator.truediv,
    "Eq": operator.eq,
    "FloorDiv": operator.floordiv,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "LShift": operator.lshift,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Mod": operator.mod,
    "Mult": operator.mul,
    "NotEq": operator.ne,
    "Pow": operator.pow,
    "RShift": operator.rshift,
    "Sub": operator.sub,
}
IN_PLACE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.iadd,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "LShift": operator.ilshift,
    "Mod": operator.imod,
    "Mult": operator.imul,
    "Pow": operator.ipow,
    "RShift": operator.irshift,
    "Sub": operator.isub,
}
NUMBERS: Final = (True, 1, 1.0, 1j)
FEW_KERNELS: Final = frozenset({"complex32", *(name for name in KINDS if KINDS[name].shell)})


def made(dtype: str, rank: int) -> torch.Tensor:
    """A tensor of ones, or of anything where torch cannot fill it."""
    sizes = (2,) * rank
    try:
        return torch.ones(sizes).to(getattr(torch, dtype))
    except NotImplementedError:
        return torch.empty(sizes, dtype=getattr(torch, dtype))


def operands() -> Iterator[tuple[Any, Any]]:
    """Pairs of real values, at least one of which is a tensor."""
    tensors = [made(dtype, rank) for rank in (1, 0) for dtype in KINDS]
    every = [*tensors, *NUMBERS]
    for left, right in itertools.product(every, every):
        if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            yield left, right


PAIRS: Final = list(operands())


def known(value: Any) -> Any:
    """The abstract value of a concrete one."""
    if not isinstance(value, torch.Tensor):
        return value
    return Tensor(Dims.of(*(None,) * value.dim(), sizes=list(value.shape)), name_of(value.dtype))


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def really(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> str:
    """The dtype of torch's result, or the first line of its error."""
    try:
        result = compute(left, right)
    except (RuntimeError, TypeError) as error:
        return str(error).partition("\n")[0].strip()
    return name_of(result.dtype)


def inferred(key: str, left: Any, right: Any, defaults: Defaults) -> str | Unknown:
    answer = infer(key, known(left), known(right), defaults=defaults)
    if answer.contradiction is not None:
        return answer.contradiction.message
    dtype = answer.result.dtype if isinstance(answer.result, Tensor) else UNKNOWN
    assert not isinstance(dtype, frozenset)
    return dtype


def is_kernel_missing(text: str) -> bool:
    """Whether torch reports a missing kernel for a dtype with few kernels."""
    kernels = [name for name in FEW_KERNELS if f"for '{KINDS[name].spoken}'" in text]
    return "not implemented for" in text and bool(kernels)


def agrees(left: Any, right: Any, real: str, answer: str | Unknown, *, in_place: bool) -> bool:
    """Whether both outcomes agree; in place an unknown dtype agrees with the tensor's."""
    if real == answer or is_kernel_missing(real):
        return True
    dtypes = [value.dtype for value in (left, right) if isinstance(value, torch.Tensor)]
    shell = any(KINDS[name_of(dtype)].shell for dtype in dtypes)
    return shell and answer in (UNKNOWN, name_of(dtypes[0]) if in_place else UNKNOWN)


def disagreements(
    key: str, compute: Callable[[Any, Any], Any], pairs: list[tuple[Any, Any]], defaults: Defaults
) -> Iterator[str]:
    for left, right in pairs:
        in_place = key[-1] == "_" and key not in python_operators().values()
        target = left.clone() if in_place else left
        real, answer = really(compute, target, right), inferred(key, left, right, defaults)
        if not agrees(left, right, real, answer, in_place=in_place):
            what = [(v.dtype, v.dim()) if isinstance(v, torch.Tensor) else v for v in (left, right)]
            yield f"{key}{what}: torch {real!r}, inferred {answer!r}"


@pytest.mark.parametrize("name", BINARY)
def test_operators_of_python(name: str) -> None:
    key = python_operators()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = list(disagreements(key, BINARY[name], PAIRS, dtypes.STANDARD))
    assert not wrong, "\n".join(wrong[:20])


def can_hold(left: Any, right: Any) -> bool:
    """Whether the left operand is a tensor with the shape of the result."""
    if not isinstance(left, torch.Tensor):
        return False
    return left.dim() == 1 or not isinstance(right, torch.Tensor) or right.dim() == 0


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place(name: str) -> None:
    key = f"{python_operators()[name]}_"
    written = [(left, right) for left, right in PAIRS if can_hold(left, right)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = list(disagreements(key, IN_PLACE[name], written, dtypes.STANDARD))
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float64"])
def test_another_default_dtype(default: str) -> None:
    torch.set_default_dtype(getattr(torch, default))
    try:
        wrong = [
            text
            for name in ("Add", "Div", "Pow", "Lt")
            for text in disagreements(
                python_operators()[name], BINARY[name], PAIRS, Defaults(dtype=default)
            )
        ]
    finally:
        torch.set_default_dtype(torch.float32)
    assert not wrong, "\n".join(wrong[:20])


def test_promote_types_and_can_cast() -> None:
    for left, right in itertools.product(KINDS, KINDS):
        one, other = getattr(torch, left), getattr(torch, right)
        assert dtypes.can_cast(left, right) == torch.can_cast(one, other)
        try:
            real = name_of(torch.promote_types(one, other))
        except RuntimeError as error:
            real = str(error).partition("\n")[0].strip()
        try:
            answer = dtypes.promote(left, right)
        except Contradiction as refusal:
            answer = refusal.message
        except dtypes.Undefined:
            assert "float4_e2m1fn_x2" in (left, right)
            continue
        assert answer == real


def test_every_dtype_of_torch_is_there_under_its_words() -> None:
    for name, kind in KINDS.items():
        dtype = getattr(torch, name)
        assert dtype.is_floating_point == (kind.category is dtypes.Category.FLOATING)
        assert dtype.is_complex == (kind.category is dtypes.Category.COMPLEX)
    for alias, name in dtypes.ALIASES.items():
        assert getattr(torch, alias) is getattr(torch, name)


def test_no_word_of_torch_is_taken_for_a_misspelt_dtype() -> None:
    assert [word for word in dir(torch) if dtypes.missing(word)] == []


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("flaot", "float"),
        ("dobule", "double"),
        ("lnog", "long"),
        ("bolo", "bool"),
        ("flot", "float"),
    ],
)
def test_a_slip_in_a_word_for_a_dtype_is_one(word: str, meant: str) -> None:
    wrong = dtypes.missing(word)
    assert wrong is not None
    assert wrong.help == f"Did you mean `torch.{meant}`?"
    with pytest.raises(AttributeError, match=wrong.message):
        getattr(torch, word)
