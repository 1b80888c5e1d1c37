"""The rules are discovered in their folder; duplicate names, and a file that fails, are errors."""

from __future__ import annotations

import inspect
import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import namecheck
from namecheck.core.dims import Dims
from namecheck.core.faults import TableError
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Tensor
from namecheck.operators import infer, table
from namecheck.rules import registry

PACKAGE: Final = Path(namecheck.__file__).parent
PROGRAM: Final = (
    "import torch\nx = torch.zeros(2, 3, names=('N', 'C'))\ny = torch.fft.fft(x.abs())\n"
)

SECTION: Final = """from namecheck.rules.registry import rule

@rule
def matmul(input):
    return input
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that may be damaged, and a program beside it."""
    (tmp_path / "program.py").write_text(PROGRAM)
    shutil.copytree(PACKAGE, tmp_path / "namecheck")
    return tmp_path


def check(folder: Path) -> tuple[int, str]:
    """The exit status of a check with the copy, and its output."""
    ran = subprocess.run(
        [sys.executable, "-m", "namecheck", "check", "--no-cache", "program.py"],
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_no_helper_has_the_name_of_another() -> None:
    """Two sections with a function of one name would both be imported by every check."""
    places: dict[str, set[str]] = {}
    for path in (PACKAGE / "rules").glob("*.py"):
        for name in re.findall(r"^def ([a-z]\w*)", path.read_text("utf-8"), re.MULTILINE):
            places.setdefault(name, set()).add(path.stem)
    assert {name: sections for name, sections in places.items() if len(sections) > 1} == {}


def test_every_file_of_the_folder_is_a_section() -> None:
    files = {path.stem for path in (PACKAGE / "rules").glob("*.py")} - {"__init__"}
    assert set(registry.sections()) == files
    assert {"contractions", "registry", "reductions"} <= files


def test_a_second_rule_of_one_name_is_refused() -> None:
    def matmul() -> None: ...

    before = registry.load()["matmul"]
    here, there = (function.__code__ for function in (matmul, before))
    message = (
        f"{here.co_filename}:{here.co_firstlineno}: the rule 'matmul' is defined already, "
        f"at {there.co_filename}:{there.co_firstlineno}"
    )
    with pytest.raises(TableError, match=re.escape(message)):
        registry.rule(matmul)
    assert registry.load()["matmul"] is before


def test_a_new_file_needs_no_entry_anywhere(copy: Path) -> None:
    (copy / "namecheck" / "rules" / "zebra.py").write_text(SECTION.replace("matmul", "doubled"))
    program = "from namecheck.rules import registry\nprint(registry.load()['doubled'].__module__)"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=copy, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "namecheck.rules.zebra\n"


def test_a_rule_that_is_there_twice_ends_the_run(copy: Path) -> None:
    rules = copy / "namecheck" / "rules"
    (rules / "zebra.py").write_text(SECTION)
    status, said = check(copy)
    assert status == 2
    assert f"{rules / 'zebra.py'}:3: the rule 'matmul' is defined already, at {rules}" in said
    assert "NC005" not in said
    assert "Traceback" not in said


def test_a_file_that_cannot_be_imported_ends_the_run(copy: Path) -> None:
    fourier = copy / "namecheck" / "rules" / "fourier.py"
    fourier.write_text(f"{fourier.read_text()}\nimport there_is_no_such_module\n")
    status, said = check(copy)
    assert status == 2
    assert "namecheck.rules.fourier: ModuleNotFoundError: No module named 'there_is_no" in said
    assert "NC005" not in said


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('names = "fourier"', 'names = "furier"', "column 'names': there is no rule 'furier'"),
        ('dtype = "complex"', 'dtype = "complex("', "column 'dtype': 'complex(' breaks off"),
        (
            'dtype = "complex"',
            'dtypes = "complex"',
            "column 'dtypes': there is no column 'dtypes'; did you mean 'dtype'?; the columns are",
        ),
        ('params = "input:', 'params = "1:', "column 'params': '1' is not a parameter"),
        ('params = "input:', "params = input:", "the row does not parse: "),
    ],
)
def test_a_mistake_in_a_shipped_row_ends_the_run(
    copy: Path, before: str, after: str, message: str
) -> None:
    path = copy / "namecheck" / "operators" / "table" / "along_dimension.toml"
    text = path.read_text("utf-8")
    [(number, line)] = [
        each for each in enumerate(text.splitlines(), 1) if each[1].startswith('"fft.fft" ')
    ]
    assert before in line
    path.write_text(text.replace(line, line.replace(before, after)), "utf-8")
    status, said = check(copy)
    assert status == 2
    assert f"{path}:{number}: operator 'fft.fft': {message}" in said
    assert "NC005" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("pointwise", ": column 'names': there is no rule 'keeps_input_names'"),
        ("fourier", "operator 'fft.fft': column 'names': there is no rule 'fourier'"),
    ],
)
def test_a_file_that_is_missing_ends_the_run(copy: Path, section: str, message: str) -> None:
    (copy / "namecheck" / "rules" / f"{section}.py").unlink()
    status, said = check(copy)
    assert status == 2
    assert message in said
    assert "NC005" not in said
    assert "Traceback" not in said


def test_every_rule_that_a_row_names_is_there() -> None:
    named = {name for row in table().values() for name in (row.names, row.native_rule)}
    assert named - {"unknown"} <= registry.load().keys()


# Rules that return no tensor, but whose functions are patched at run time for another reason.
PATCHED: Final = {
    "contains": "operands are aligned",
    **dict.fromkeys(["has_names", "names_of"], "they read names"),
    **dict.fromkeys(["size", "stride"], "a dim may be given by its name"),
    **dict.fromkeys(["equal", "same_size", "agrees"], "the names of two tensors are compared"),
    **dict.fromkeys(["assigning", "assigning_natively"], "the names of a value are compared"),
    **dict.fromkeys(["single_value", "count_of_elements", "is_tensor"], "the call is recorded"),
    "shape": "the attribute is written by hand",
    "einops_shape": "einops is no part of torch",
}


def test_a_rule_that_gives_no_tensor_says_whether_the_shim_replaces_it() -> None:
    """Rows inherit this from their rule, so a new one needs no further entry."""
    giving = re.compile("Dims|Tensor|Many|Maybe|Two|Three|Packed|Writes")
    for name, function in registry.load().items():
        gives_none = not giving.search(str(inspect.signature(function).return_annotation))
        patched = registry.traits_of(name).patched
        assert patched == (not gives_none or name in PATCHED), f"{name}: say @rule(patched=False)"


NAMES: Final = (("N", "C"), ("C", "N"), ("N", "D"), ("N", "C", "D"), ("C", "N", "D"))


def broadcasts(rule: registry.Rule) -> bool:
    """Whether a rule aligns two of its tensors from the right, for some dims of size 3."""
    parameters = inspect.signature(rule).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    tensors = [p.name for p in parameters if "Tensor" in str(p.annotation) or p.name == "other"]
    for names, others in itertools.permutations(NAMES, 2):
        first, second = (Tensor(Dims.of(*n, sizes=(3,) * len(n))) for n in (names, others))
        for one, other in itertools.combinations(tensors, 2):
            call = {name: first if name in tensors else 1 for name in needed}
            try:
                rule(**{**call, one: first, other: second})
            except Contradiction as contradiction:
                if "attempting to broadcast" in contradiction.message:
                    return True
            except Exception:  # other arguments are needed: the rule is not about these tensors
                continue
    return False


def test_a_rule_that_broadcasts_its_tensors_says_so() -> None:
    rules = registry.load()
    silent = [
        name
        for name in sorted({row.names for row in table().values()} & rules.keys())
        if not registry.traits_of(name).aligns and broadcasts(rules[name])
    ]
    assert silent == [], "declare how the tensors are aligned: @rule(aligns=...)"


INT_ALONE: Final = [
    (name, parameter.name)
    for name, rule in registry.load().items()
    for parameter in inspect.signature(rule).parameters.values()
    if parameter.annotation == "int | Unknown"
]


@pytest.mark.parametrize(("name", "parameter"), INT_ALONE)
def test_a_computed_number_is_an_unknown_int(name: str, parameter: str) -> None:
    """As the half of `x.size(0)`, given to a rule that computes with ints alone."""
    rule, answers = registry.load()[name], []
    for sizes in ([3], [3, 4], [3, 3]):
        dims = Dims.of(*"NC"[: len(sizes)], sizes=sizes)
        for number in (symbol("n"), UNKNOWN):
            try:
                answers.append(registry.called(rule, {"input": Tensor(dims), parameter: number}))
            except Contradiction as contradiction:
                answers.append(contradiction.message)
    assert answers[::2] == answers[1::2]
    assert not all(isinstance(answer, str) for answer in answers)


def test_pieces_between_computed_indices() -> None:
    tensor = Tensor(Dims.of("N", sizes=[6]))
    answer = infer("tensor_split", tensor, [2, symbol("n")])
    assert [piece.dims.prefix[0].size for piece in answer.result] == [UNKNOWN] * 3


def test_a_section_that_is_first_needed_deep_in_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checked code is nested too deeply then: the table has no mistake."""

    def deep(name: str) -> None:
        raise RecursionError

    monkeypatch.setattr("importlib.import_module", deep)
    with pytest.raises(RecursionError):
        registry._import("factories")
