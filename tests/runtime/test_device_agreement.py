"""The rules about devices compared with torch: every row on two devices, and on meta."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import torch

from namecheck.core import devices
from namecheck.core.dims import Dims
from namecheck.core.tensors import Tensor
from namecheck.operators import infer

ROOT: Final = Path(__file__).parents[2]


@pytest.mark.parametrize("second", ["second:0", "meta", "cuda:0"])
def test_what_a_row_tells_is_what_torch_does_on_two_devices(second: str) -> None:
    if second == "cuda:0" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.runtime.second_device", second],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, ""), run.stderr[-2000:]
    lines = (line.split(" ", 1) for line in run.stderr.splitlines() if " " in line)
    tally = {what: int(number) for number, what in lines if number.isdigit()}
    assert tally["refused by both"] > (40 if second == "meta" else 100)
    assert tally["taken by both"] > 500


WORDS: Final = (
    *("cpu", "cpu:0", "cpu:1", "cuda", "cuda:0", "cuda:12", "mps", "mps:0", "meta", "xpu:3"),
    *("cdua", "cuda:-1", "cuda:x", "cuda:01", "cuda:", "CUDA", "cuda:0:1", "gpu", "cuda0", ""),
    *("cuda :0", " cuda", "cup", "gpu:0", "cuda-0", "Cpu", "cpu0", "mp", "met", "cudaa"),
)


def refusal(call: Callable[[], Any]) -> str | None:
    """The error of torch for a call."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return None


@pytest.mark.parametrize("word", WORDS)
def test_a_string_names_a_device_as_torch_reads_it(word: str) -> None:
    wrong = devices.refusal(word)
    said = refusal(lambda: torch.device(word))
    assert said == (None if wrong is None else wrong.message)


@pytest.mark.parametrize("word", ["npu", "musa", "mlu", "dcu", "tpu", "npu:0", "spyre"])
def test_a_type_that_a_package_may_bring_is_no_mistake(word: str) -> None:
    assert devices.refusal(word) is None


def known(tensor: torch.Tensor) -> Tensor:
    names = (None,) * tensor.dim()
    return Tensor(Dims.of(*names, sizes=tuple(tensor.shape)), "float32", str(tensor.device))


OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": torch.add,
    "mul": torch.mul,
    "eq": torch.eq,
    "maximum": torch.maximum,
    "add_": torch.Tensor.add_,
    "mul_": torch.Tensor.mul_,
}


@pytest.mark.parametrize("key", OPERATORS)
@pytest.mark.parametrize("other", ["meta", "cuda"])
def test_operators_that_broadcast_mix_devices_as_torch_does(key: str, other: str) -> None:
    if other == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    shapes = [(), (2,)]
    made = [torch.ones(shape, device=place) for place in ("cpu", other) for shape in shapes]
    for left in made:
        for right in made:
            in_place = key.endswith("_")
            target = left.clone() if in_place else left
            inference = infer(key, known(target), known(right))
            contradiction = inference.contradiction
            said = refusal(lambda: OPERATORS[key](target, right))  # noqa: B023
            if said is None:
                assert contradiction is None, (key, left, right)
                assert inference.result.device == str(OPERATORS[key](target, right).device)
            elif "device" in said:
                assert contradiction is not None, (key, left, right)
                assert (contradiction.code, contradiction.message) == ("NC401", said)
