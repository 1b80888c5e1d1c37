"""Comparing: the recording of a run, its join with the inferred values, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pytest
import torch

from namecheck.cli import main
from namecheck.compare import join
from namecheck.compare.join import Fault, Verdict
from namecheck.core import names as naming
from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Span
from namecheck.core.memory_order import Gapped
from namecheck.core.names import UNKNOWN, Axis
from namecheck.core.semantics import Semantics
from namecheck.core.sizes import symbol
from namecheck.core.syntax import Position
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.workspace.analysis import Observation
from namecheck.runtime import InstallError
from namecheck.runtime.core import tensor_attributes
from namecheck.runtime.programs.activations import Activation
from namecheck.runtime.programs.recording import Seen, recording
from tests.fixture_reader import FIXTURES

PLACE: Final = "<program>"
SCRIPTS: Final = FIXTURES / "compare"


# The join of both sides


def tensor(*names: Any, sizes: Any = None) -> Tensor:
    return Tensor(Dims.of(*names, sizes=sizes))


def finding(code: str = "NC101") -> Finding:
    return Finding(code, "no", PLACE, Span(1, 1, 1, 2))


AT: Final = Position(1, 0, 1, 5)


def inferred(
    *told: Any, found: bool = False, informed: bool = True, sized: bool = True
) -> Observation:
    findings = (finding(),) if found else ()
    times = len(told) + found
    return Observation(told, findings, times, len(told), True, informed, sized)


def saw(
    *told: Any, found: bool = False, error: bool = False, clean: bool = True, code: str = "NC101"
) -> Seen:
    values = dict.fromkeys(told)
    findings = {finding(code): None} if found else {}
    return Seen(values, findings, {"RuntimeError: no": None} if error else {}, clean, int(found))


NC: Final = tensor("N", "C")
CN: Final = tensor("C", "N")
UNNAMED: Final = tensor(None, None)


@pytest.mark.parametrize(
    ("static", "seen", "verdict", "fault"),
    [
        (inferred(NC), saw(NC), Verdict.AGREE, None),
        (inferred(NC), saw(CN), Verdict.INCORRECT, Fault.NAMES),
        (inferred(NC), saw(tensor("N")), Verdict.INCORRECT, Fault.NAMES),
        (inferred(NC), saw(UNNAMED), Verdict.INCORRECT, Fault.NAMES),
        (inferred(UNNAMED), saw(NC), Verdict.INCORRECT, Fault.NAMES),
        (inferred(NC), saw((NC, NC)), Verdict.INCORRECT, Fault.NAMES),
        (inferred(NC, CN), saw(CN), Verdict.AGREE, None),
        (inferred(NC), saw(NC, CN), Verdict.INCORRECT, Fault.NAMES),
        (inferred(tensor("N", UNKNOWN)), saw(NC), Verdict.WEAKER, None),
        (inferred(UNKNOWN), saw(NC), Verdict.WEAKER, None),
        (inferred(NC, UNKNOWN), saw(CN), Verdict.WEAKER, None),
        (inferred((NC, UNKNOWN)), saw((NC, UNKNOWN)), Verdict.AGREE, None),
        (inferred((NC, UNKNOWN)), saw((NC, NC)), Verdict.WEAKER, None),
        (inferred((NC, NC)), saw((NC,)), Verdict.INCORRECT, Fault.NAMES),
        (inferred(Many(NC)), saw((NC, NC)), Verdict.AGREE, None),
        (inferred(Many(NC)), saw((NC, CN)), Verdict.INCORRECT, Fault.NAMES),
        (inferred(tensor(Axis("N"), Axis("C"))), saw(UNNAMED), Verdict.AGREE, None),
        (inferred(tensor(Axis("N"), Axis("C"))), saw(tensor("N")), Verdict.INCORRECT, Fault.NAMES),
        (inferred(tensor("N", sizes=[2])), saw(tensor("N", sizes=[2])), Verdict.AGREE, None),
        (
            inferred(tensor("N", sizes=[2])),
            saw(tensor("N", sizes=[3])),
            Verdict.INCORRECT,
            Fault.SIZES,
        ),
        (inferred(found=True), saw(found=True), Verdict.AGREE, None),
        (inferred(found=True), saw(error=True, clean=False), Verdict.AGREE, None),
        (inferred(found=True), saw(NC), Verdict.INCORRECT, Fault.UNFOUNDED),
        (inferred(found=True), saw(clean=False), None, None),
        (inferred(NC, found=True), saw(NC), Verdict.UNSETTLED, None),
        (inferred(NC, found=True), saw(NC, found=True), Verdict.AGREE, None),
        (inferred(NC), saw(found=True), Verdict.INCORRECT, Fault.MISSED),
        (inferred(NC, informed=False), saw(found=True), Verdict.WEAKER, None),
        (inferred(NC), saw(found=True, code="NC201"), Verdict.INCORRECT, Fault.MISSED),
        (inferred(NC, sized=False), saw(found=True, code="NC201"), Verdict.WEAKER, None),
        (inferred(NC), saw(error=True, clean=False), None, None),
        (Observation((), (), 1, 0, True, True), saw(found=True), Verdict.AGREE, None),
        (None, saw(NC), Verdict.WEAKER, None),
        (inferred(NC), None, Verdict.UNREACHED, None),
        (inferred(found=True), None, Verdict.UNREACHED, None),
        (inferred(UNKNOWN), None, None, None),
        (Observation((NC,), (), 1, 1), None, None, None),
    ],
)
def test_the_verdict_on_one_expression(
    static: Observation | None, seen: Seen | None, verdict: Verdict | None, fault: Fault | None
) -> None:
    activation = Activation(PLACE, True)
    for value in seen.values if seen else ():
        sizes = value.dims.sizes if isinstance(value, Tensor) else ()
        shape = tuple(size for size in sizes if isinstance(size, int))
        if isinstance(value, Tensor) and len(shape) == len(sizes):
            activation.shapes[AT] = (*activation.shapes.get(AT, ()), shape)
    told = join.sides(
        {PLACE: {AT: static} if static else {}},
        {PLACE: {AT: seen} if seen else {}},
        [activation],
    )
    assert [(one.verdict, one.fault) for one in told] == (
        [] if verdict is None else [(verdict, fault)]
    )


def test_the_patches_are_taken_away() -> None:
    before = torch.Tensor.__add__, torch.nn.Module.__call__, torch.Tensor.__bool__
    with recording(Semantics.NAMECHECK):
        assert torch.Tensor.__add__ is not before[0]
        with pytest.raises(InstallError), recording(Semantics.NAMECHECK):
            pass
    assert (torch.Tensor.__add__, torch.nn.Module.__call__, torch.Tensor.__bool__) == before
    assert not hasattr(torch.Tensor, "names")


# The command

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Command:
    """Writes a script, and compares it in its folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def command(text: str, *arguments: str, flags: tuple[str, ...] = ()) -> tuple[int, str, str]:
        Path("script.py").write_text("import torch\n" + dedent(text).lstrip("\n"))
        status = main.main(["compare", *flags, "script.py", *arguments])
        out, err = capfd.readouterr()
        return status, out, err

    return command


WRONG_HERE: Final = """
    torch.exp = lambda x: x.sum('N')
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = torch.exp(x)
    z = x.sum('N')
    z = x.sum('N').rename_(C='H') if hasattr(x, 'shape') else None
    x.rename_(C='D')
    """


def test_a_script_that_agrees(compare: Command) -> None:
    status, out, err = compare("x = torch.zeros(2, names=('N',))\nprint(x.sum('N').names)")
    assert (status, err) == (0, "")
    assert out == (
        "()\n"
        "2 expressions in 1 file: 2 agree, 0 weaker, 0 unreached, 0 incorrect.\n"
        "Of 2 that ran, the names of 2 were known in full: 100.0 %.\n"
        "Other known attributes: the sizes of 100.0 %, the dtype of 100.0 %, "
        "the device of 100.0 %, the layout of 100.0 %, the memory of 100.0 %.\n"
    )


def test_json_is_one_object_and_the_script_prints_elsewhere(compare: Command) -> None:
    program = """
    import os
    x = torch.zeros(2, names=('N',))
    print('hello')
    os.system('echo world')
    """
    status, out, err = compare(program, flags=("--output-format", "json"))
    told = json.loads(out)
    assert (status, sorted(err.split())) == (0, ["hello", "world"])
    assert list(told)[:5] == ["expressions", "agree", "weaker", "unreached", "incorrect"]
    assert (told["expressions"], told["agree"], told["incorrect"], told["known"]) == (1, 1, [], 1.0)
    assert told["attributes"]["dtype"] == {"agree": 1, "weaker": 0, "incorrect": 0}


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ([{"dtype": "int64"}], "agree"),
        ([{"dtype": frozenset({"int64", "int32"})}], "weaker"),
        ([{}], "weaker"),
        ([{"dtype": "int32"}, {"dtype": "int64"}], "agree"),
        ([{"dtype": "int32"}], "incorrect"),
        ([{"dtype": frozenset({"int32", "float32"})}], "incorrect"),
    ],
)
def test_the_verdict_on_a_dtype(told: list[dict[str, Any]], verdict: str) -> None:
    seen = replace(tensor("N"), dtype="int64", device="cpu", layout="strided")
    both = inferred(*(replace(tensor("N"), **attributes) for attributes in told)), saw(seen)
    [one] = join.sides({PLACE: {AT: both[0]}}, {PLACE: {AT: both[1]}})
    assert one.attributes["dtype"].value == verdict
    assert (one.fault is Fault.DTYPE) == (verdict == "incorrect")
    assert one.attributes["device"] is Verdict.WEAKER


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ((1, 0), "agree"),
        ((), "incorrect"),
        (UNKNOWN, "weaker"),
    ],
)
def test_the_verdict_on_the_order_in_memory(told: Any, verdict: str) -> None:
    x = torch.zeros(3, 2)
    seen = tensor_attributes.abstract_value(x.T)
    known = replace(tensor(UNKNOWN, UNKNOWN), memory=told)
    [one] = join.sides({PLACE: {AT: inferred(known)}}, {PLACE: {AT: saw(seen)}})
    assert one.attributes["memory"].value == verdict
    shown = {"incorrect": ("contiguous_format", ("dims in the order (1, 0)",))}
    assert (one.static, one.observed) == shown.get(verdict, ("? ?", ("?=2 ?=3",)))


@pytest.mark.parametrize(
    ("told", "verdict"),
    [(Gapped((4, 2), ()), "agree"), (Gapped((4, 1), ()), "incorrect"), ((), "incorrect")],
)
def test_the_verdict_on_strides(told: Any, verdict: str) -> None:
    seen = tensor_attributes.abstract_value(torch.zeros(3, 4)[:, ::2])
    known = replace(tensor(UNKNOWN, UNKNOWN), memory=told)
    [one] = join.sides({PLACE: {AT: inferred(known)}}, {PLACE: {AT: saw(seen)}})
    assert one.attributes["memory"].value == verdict
    if verdict == "incorrect":
        assert one.observed == ("strides (4, 2)",)


@pytest.mark.parametrize(
    ("made", "order"),
    [
        (torch.zeros(2, 3), ()),
        (torch.zeros(2, 3)[:, :2], Gapped((3, 1), ())),
        (torch.zeros(2, 1, 3)[:, :, 1:2], Gapped((3, UNKNOWN, UNKNOWN), ())),
        (torch.zeros(3).expand(2, 3), Gapped((0, 1), (1, 0))),
        (torch.zeros(1, 3, 4, 5).contiguous(memory_format=torch.channels_last), (0, 2, 3, 1)),
        (torch.zeros(0, 3).T, UNKNOWN),
        (torch.zeros(2, 3).to_sparse(), UNKNOWN),
        (torch.zeros(()), ()),
    ],
)
def test_the_order_that_is_seen(made: torch.Tensor, order: Any) -> None:
    assert tensor_attributes.abstract_value(made).memory == order


def test_a_dtype_of_another_tensor_does_not_excuse_it() -> None:
    seen = saw(replace(tensor("N"), dtype="int64"))
    told = inferred(replace(tensor("N"), dtype="int32"), replace(tensor("C"), dtype="int64"))
    [one] = join.sides({PLACE: {AT: told}}, {PLACE: {AT: seen}})
    assert (one.fault, one.static, one.observed) == (Fault.DTYPE, "int32 | int64", ("int64",))


def test_a_dtype_that_is_incorrect_is_shown(compare: Command) -> None:
    program = """
    import sys
    x = torch.zeros(2, names=('N',))
    sys.modules['__main__'].x = x.double()
    y = x.max('N')
    """
    status, out, _ = compare(program)
    assert status == 1
    assert out.startswith("incorrect: the run has another dtype than was inferred\n")
    assert "  = inferred: (float32, int64)\n  = observed: (float64, int64)\n" in out


HIDDEN: Final = """
    import sys
    x = torch.zeros(2, 3, names=('N', 'C'))
    sys.modules['__main__'].x = x.align_to('C', 'N')
    y = x.exp()
    """


def test_what_is_incorrect_is_shown_with_its_source(compare: Command) -> None:
    status, out, _ = compare(HIDDEN)
    assert status == 1
    assert out.startswith(
        "incorrect: the run has other names than were inferred\n"
        " --> script.py:5:5\n"
        "  |\n"
        "5 | y = x.exp()\n"
        "  |     ^^^^^^^\n"
        "  |\n"
        "  = inferred: N=2 C=3\n"
        "  = observed: C=3 N=2\n\n"
        "3 expressions in 1 file: 2 agree, 0 weaker, 0 unreached, 1 incorrect.\n"
    )


@pytest.mark.parametrize("evidence", ["declared", "observed"])
def test_the_sizes_of_a_script_are_compared(compare: Command, evidence: str) -> None:
    script = """
    import sys
    def split(x, heads):
        B, T, C = x.shape
        return x.view(B, T, heads, C // heads).transpose(1, 2).flatten(2)
    for n in map(int, sys.argv[1:]):
        split(torch.randn(n, 6, 8), 2) @ torch.ones(24, 3)
    """
    status, out, _ = compare(script, "4", "5", flags=("--evidence", evidence))
    assert status == 0, out
    assert "the sizes of " in out


def test_what_a_library_passes_is_not_compared(compare: Command) -> None:
    script = """
    from torch.utils.checkpoint import checkpoint
    from torch.autograd.functional import jacobian
    def scaled(x):
        y = x * 2
        return y.sum(0)
    scaled(torch.ones(2, 3))
    jacobian(scaled, torch.ones(4, 5))
    """
    status, out, _ = compare(script)
    assert status == 0, out


def test_a_size_is_incorrect_under_what_the_run_binds() -> None:
    length = symbol(naming.of_unpacking("T", 1))
    one, other = Position(1, 0, 1, 1), Position(2, 0, 2, 1)
    static = {one: inferred(tensor(None, sizes=[length]))}
    static[other] = inferred(tensor(None, sizes=[length * 2]))
    seen = {one: saw(tensor(None, sizes=[3])), other: saw(tensor(None, sizes=[7]))}
    activation = Activation(PLACE, True, shapes={one: ((3,),), other: ((7,),)})
    [_, wrong] = join.sides({PLACE: static}, {PLACE: seen}, [activation])
    assert (wrong.verdict, wrong.fault) == (Verdict.INCORRECT, Fault.SIZES)
    assert wrong.observed == ("(7,), where T = 3",)


def test_what_is_incorrect_in_json(compare: Command) -> None:
    status, out, _ = compare(HIDDEN, flags=("--output-format=json",))
    assert status == 1
    assert json.loads(out)["incorrect"] == [
        {
            "filename": "script.py",
            "location": {"row": 5, "column": 5},
            "static": "N=2 C=3",
            "observed": ["C=3 N=2"],
            "end_location": {"row": 5, "column": 12},
            "fault": "names",
        }
    ]


def test_the_script_is_run_as_python_runs_it(compare: Command) -> None:
    Path("helper.py").write_text("import torch\ndef total(x):\n    return x.sum('N')\n")
    program = """
    import os, sys
    from helper import total
    assert __name__ == '__main__'
    assert sys.modules['__main__'].total is total
    assert os.path.samefile(sys.path[0], os.path.dirname(__file__))
    print(sys.argv, total(torch.zeros(2, 3, names=('N', 'C'))).names)
    """
    status, out, err = compare(program, "--flag", "-x", "3")
    assert (status, err) == (0, "")
    assert out.startswith("['script.py', '--flag', '-x', '3'] ('C',)\n")
    assert "2 expressions in 2 files: 2 agree" in out


@pytest.mark.parametrize(
    ("program", "status", "told"),
    [
        ("int('one')", 2, "ended at script.py:3:1 with ValueError: invalid literal"),
        ("import sys\nsys.exit(3)", 2, "ended with sys.exit(3)"),
        ("import sys\nsys.exit()", 0, "1 agree"),
        ("x.sum('T')", 0, "with NameMismatch: Name 'T' not found"),
        ("x + torch.zeros(7)", 0, "with RuntimeError: The size of tensor a"),
        ("def f(n):\n    return x.sum(n)\nf(input)", 2, "ended at script.py:4:12 with TypeError"),
    ],
)
def test_how_a_script_may_end(compare: Command, program: str, status: int, told: str) -> None:
    ended, out, err = compare(f"x = torch.zeros(3, names=('N',))\n{program}")
    assert (ended, told in " ".join(out.split())) == (status, True), out
    assert ("Traceback" in err) == (status == 2 and "sys.exit" not in program)
    assert "namecheck/" not in err


def test_what_cannot_be_compared(compare: Command, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = compare("x = (")
    assert (status, err.startswith("namecheck: script.py:2:5: NC001")) == (2, True), err
    assert main.main(["compare", "nowhere.py"]) == 2
    assert (
        capfd.readouterr().err == "namecheck: cannot read nowhere.py: No such file or directory\n"
    )


def test_a_script_may_install_names_itself(compare: Command) -> None:
    program = """
    import namecheck
    namecheck.install()
    x = torch.zeros(2, names=('N',))
    x.rename(N='C') + x
    namecheck.uninstall()
    y = x.exp()
    """
    status, out, _ = compare(program)
    assert (status, "4 agree" in out) == (0, True), out


def test_annotations_are_asserted(compare: Command) -> None:
    Path("declared.py").write_text(
        "import torch\nfrom typing import Annotated\n"
        "def total(x: Annotated[torch.Tensor, 'batch channel']):\n    return x.sum(0)\n"
    )
    program = """
    from typing import Annotated
    from declared import total
    def mean(x: Annotated[torch.Tensor, 'batch']):
        return x.mean(0)
    total(torch.zeros(2))
    mean(torch.zeros(2, 3))
    """
    status, out, _ = compare(program, flags=("--output-format", "json"))
    assert (status, json.loads(out)["agree"]) == (0, 4), out  # two tensors, and both calls


def test_checks_that_are_switched_off_cannot_be_compared(
    compare: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMECHECK", "off")
    status, _, err = compare("x = 1")
    assert (status, err) == (2, "namecheck: NAMECHECK in the environment switches all checks off\n")


def test_everything_else_is_listed(compare: Command) -> None:
    program = """
    import maker
    x = maker.made()
    y = x.exp()
    if len(sys.argv) > 9:
        z = torch.zeros(2, names=('N',))
    """
    Path("maker.py").write_text("import torch\nmade = eval('lambda: torch.zeros(2)')\n")
    _, out, _ = compare("import sys\n" + dedent(program), flags=("--all",))
    assert "script.py:6:5: weaker: x.exp()\n    inferred ?; observed _=2\n" in out
    assert "script.py:8:9: unreached: torch.zeros(2, names=('N',))\n    inferred N=2\n" in out


@pytest.mark.parametrize("script", ["transformer.py", "training.py", "pipeline/main.py"])
def test_realistic_scripts_agree(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    status = main.main(["compare", "--output-format=json", str(SCRIPTS / script)])
    told = json.loads(capfd.readouterr().out)
    assert (status, told["incorrect"], told["ended"]) == (0, [], None)
    assert told["expressions"] - told["unreached"] >= 25
