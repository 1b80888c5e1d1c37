"""Lints: one a file, with its text and its examples; an invalid lint is an error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from namecheck import lints, project
from namecheck.core import findings
from namecheck.core.findings import Code, Kind, RegisterError, register
from namecheck.lints import LintError, discover, discovered
from namecheck.project.settings import Settings

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = Path(lints.__path__[0])
CODES: Final = list(findings.lint_codes(str(FOLDER)))
ON_REQUEST: Final = {
    "removed_api": Settings(torch=">=2.13"),
    "stale_shape_comment": Settings(evidence="observed"),
    "swapped_arguments": Settings(evidence="observed"),
}

TEXT: Final = '''"""A lint of a test.

It reports nothing.

Bad:

    x = 1

Good:

    x = 2
"""

from typing import Final

CODE: Final = "NC699"
'''


def shown(program: str, code: Code) -> list[str]:
    settings = ON_REQUEST.get(code.name.replace("-", "_"), Settings())
    result = project.check_text(program.encode(), "example.py", settings)
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_the_examples_of_a_lint(code: Code) -> None:
    assert shown(code.bad, code) == [code.code]
    assert shown(code.good, code) == []


@pytest.mark.parametrize(
    "test",
    [
        "flag",
        "weights.dim() == 3",
        "weights.dtype == torch.float16",
        "weights.is_floating_point()",
        "weights.is_cuda",
        "weights.names == ('batch', 'query', 'key')",
    ],
)
def test_what_is_asked_of_a_tensor_leaves_its_tags(test: str) -> None:
    (code,) = (code for code in CODES if code.code == "NC601")
    asking = f"    if {test}:\n        print(weights)\n    return weights @ values"
    program = code.bad.replace("    return weights @ values", asking)
    program = program.replace("def attend(\n", "def attend(\n    flag: bool,\n")
    assert test in program
    assert shown(program, code) == ["NC601"]


def test_every_module_of_the_folder_is_a_lint() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert {code.name.replace("-", "_") for code in CODES} == names
    assert {lint.__module__.rpartition(".")[2] for lint in discovered()} == names
    on_request = {lint.__module__ for lint in discovered() if lint.on_request}
    assert set(discovered(frozenset({""}))) == {one for one in discovered() if not one.on_request}
    assert on_request == {f"namecheck.lints.{name}" for name in ON_REQUEST}


def test_the_register_has_the_texts_of_the_lints() -> None:
    for lint in discovered():
        module = sys.modules[lint.__module__]
        entry = register()[module.CODE]
        assert entry.kind is Kind.LINT
        assert (module.__doc__ or "").startswith(f"{entry.summary}\n\n{entry.explanation}\n\nBad:")
        assert entry.bad in (module.__doc__ or "").replace("\n    ", "\n")


def test_a_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "of_a_test.py").write_text(TEXT)
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    assert list(findings.lint_codes(str(tmp_path))) == [
        Code(
            "NC699",
            "of-a-test",
            Kind.LINT,
            "A lint of a test.",
            "It reports nothing.",
            "x = 1",
            "x = 2",
        )
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Good:", "Fine:"),
        ("    x = 1", "x = 1"),
        ('"NC699"', '"699"'),
        ("It reports nothing.\n\n", ""),
    ],
)
def test_a_text_that_lacks_something_is_an_error(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "of_a_test.py").write_text(TEXT.replace(before, after))
    with pytest.raises(RegisterError, match=r"^of_a_test\.py: a lint begins with a docstring"):
        list(findings.lint_codes(str(tmp_path)))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Code("NC601", "another", Kind.LINT, ""), "NC601 is entered twice: as .* and as another"),
        (Code("NC698", "softmax-not-summed", Kind.LINT, ""), "softmax-not-summed is entered twice"),
    ],
)
def test_a_number_or_a_name_that_is_taken_is_an_error(other: Code, message: str) -> None:
    with pytest.raises(RegisterError, match=message):
        findings.ordered([*register().values(), other])


@pytest.mark.parametrize("text", ["", "Lint = 1\n", "class Lint:\n    pass\n"])
def test_a_module_without_a_lint_is_an_error(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no_lint_of_a_test.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = type(sys)("lints_of_a_test")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    with pytest.raises(LintError, match=r"lints_of_a_test\.no_lint_of_a_test has no class `Lint`"):
        list(discover(package.__path__, package.__name__))
    monkeypatch.delitem(sys.modules, "lints_of_a_test.no_lint_of_a_test")


def test_printing_a_lint_is_light() -> None:
    program = (
        "import sys\nfrom namecheck.core.findings import register\nassert register()['NC601'].bad\n"
        "print([name for name in sys.modules if name.startswith('namecheck.interpreter')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr


def test_adding_a_lint_is_adding_one_file(tmp_path: Path) -> None:
    """Follows "Recipe: add a lint" of CONTRIBUTING.md, in a copy of the package."""
    _, _, section = (
        (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Recipe: add a lint\n")
    )
    block = re.search(r"\n```python\n(.*?)```", section, re.DOTALL)
    assert block
    shutil.copytree(ROOT / "namecheck", tmp_path / "namecheck")
    folder = tmp_path / "namecheck" / "lints"
    (folder / "dropped_logits.py").write_text(block[1])
    (entry,) = (c for c in findings.lint_codes(str(folder)) if c.name == "dropped-logits")

    def namecheck(*arguments: str) -> tuple[int, list[str], str]:
        run = subprocess.run(
            [sys.executable, "-m", "namecheck", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
        )
        return run.returncode, run.stdout.splitlines(), run.stderr

    (tmp_path / "bad.py").write_text(entry.bad)
    (tmp_path / "good.py").write_text(entry.good)
    check = ("check", "--no-cache", "--output-format", "concise", "bad.py", "good.py")
    message = "bad.py:8:12: NC699 dropped-logits: Dropout sets some of these logits to 0."
    assert namecheck(*check) == (1, [message, "Found 1 error in 1 file."], "")
    assert namecheck("rule", "NC699")[1][0].startswith("NC699")

    (folder / "dropped_logits.py").write_text(block[1].replace("class Lint(", "class Other("))
    error = "namecheck.lints.dropped_logits has no class `Lint` that is a `Listener`"
    assert namecheck(*check) == (2, [], f"namecheck: the installation is damaged: {error}\n")

    (folder / "dropped_logits.py").write_text(block[1].replace("NC699", "NC601"))
    error = "NC601 is entered twice: as dropped-logits and as softmax-not-summed"
    assert namecheck(*check) == (2, [], f"namecheck: the installation is damaged: {error}\n")
