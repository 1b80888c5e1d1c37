"""The action, the hooks, the template and the snippets of the pages: valid, and their steps run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from ruamel.yaml import YAML

from namecheck.version import VERSION
from tests.integrations.snippets import (
    ACTION,
    ROOT,
    TEMPLATE,
    Snippet,
    action,
    filled,
    program,
    programs,
    shell,
    snippets,
)

SNIPPETS: Final = list(snippets())
WORKFLOWS: Final = [one for one in SNIPPETS if one.path.startswith(".github/")]
JOBS: Final = [one for one in SNIPPETS if one.path.startswith(".gitlab")]
HOOKS: Final = [one for one in SNIPPETS if one.path == ".pre-commit-config.yaml"]

# Of three shards the one that has the only file.
SHARD: Final = "2"

BAD: Final = """\
import torch

x = torch.zeros(2, 3, names=("N", "C"))
y = torch.zeros(2, 3, names=("N", "H"))
z = x + y
"""


def ids(snippet: Snippet) -> str:
    return f"{snippet.page}:{snippet.path}"


def valid(schema: str, path: Path, *flags: str) -> None:
    """Check a file against one of the published schemas that check-jsonschema has."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    ran = subprocess.run([*command, *flags, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_snippet_is_of_a_kind_that_is_tested() -> None:
    assert len(WORKFLOWS) == 4
    assert len(JOBS) == 2
    assert len(HOOKS) == 2
    assert len(SNIPPETS) == 8


@pytest.mark.parametrize("snippet", WORKFLOWS, ids=ids)
def test_a_workflow_is_valid(snippet: Snippet, tmp_path: Path) -> None:
    path = tmp_path / "workflow.yml"
    path.write_text(snippet.text)
    valid("github-workflows", path)


def test_the_workflow_of_this_project_is_valid() -> None:
    valid("github-workflows", ROOT / ".github" / "workflows" / "versions.yml")


@pytest.mark.parametrize("snippet", JOBS, ids=ids)
def test_a_job_of_gitlab_is_valid(snippet: Snippet, tmp_path: Path) -> None:
    path = tmp_path / ".gitlab-ci.yml"
    path.write_text(snippet.text)
    valid("gitlab-ci", path, "--data-transform", "gitlab-ci")


def test_the_action_is_valid() -> None:
    valid("github-actions", ACTION)


def test_a_schema_finds_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "action.yml"
    path.write_text(ACTION.read_text().replace("using: composite", "using: nothing"))
    with pytest.raises(AssertionError, match="nothing"):
        valid("github-actions", path)


def test_the_page_shows_the_template() -> None:
    [shown] = [one for one in JOBS if one.path == ".gitlab/namecheck.yml"]
    assert shown.text == TEMPLATE.read_text()


def steps_of(content: Any) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for job in content["jobs"].values():
        steps += job["steps"]
    return steps


def test_actions_are_pinned_by_their_commits() -> None:
    used = [step["uses"] for one in WORKFLOWS for step in steps_of(one.content) if "uses" in step]
    used += [step["uses"] for step in action()["runs"]["steps"] if "uses" in step]
    foreign = {name for name in used if not name.startswith("OWNER/namecheck/")}
    assert len(foreign) == 4
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in foreign)
    assert {name for name in used if name not in foreign} == {
        f"OWNER/namecheck/.github/actions/namecheck@v{VERSION}"
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a finding."""
    folder = tmp_path / "project"
    (folder / "src" / ".git").parent.mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "src" / "bad.py").write_text(BAD)
    (folder / "pyproject.toml").write_text('[project]\nname = "p"\n')
    return folder


@pytest.mark.parametrize(
    "snippet",
    [one for one in WORKFLOWS if one.page == "ci.md" and "pip install" in one.text],
    ids=ids,
)
def test_the_steps_of_a_workflow_run(snippet: Snippet, project: Path, tmp_path: Path) -> None:
    path = programs(tmp_path / "bin")
    values = {"matrix.shard": SHARD}
    ran = [
        shell(
            step["run"],
            project,
            path,
            {key: filled(value, values) for key, value in step.get("env", {}).items()},
        )
        for step in steps_of(snippet.content)
        if "run" in step
    ]
    *installs, check = ran
    assert [each.returncode for each in installs] == [0]
    assert (path / "pip.txt").read_text() == "install torch-namecheck\n"
    assert check.returncode == 1, check.stderr
    assert check.stdout.startswith("::error title=namecheck (NC101),file=src/bad.py,line=5,")
    assert (project / ".namecheck_cache").is_dir()


@pytest.mark.parametrize("snippet", JOBS, ids=ids)
def test_the_script_of_a_job_runs(snippet: Snippet, project: Path, tmp_path: Path) -> None:
    path = programs(tmp_path / "bin")
    content = snippet.content
    variables = {**content.get("variables", {}), "CI_NODE_INDEX": SHARD, "CI_NODE_TOTAL": "3"}
    job = content["namecheck"]
    *installs, check = [shell(line, project, path, variables) for line in job["script"]]
    assert [each.returncode for each in installs] == [0]
    assert (path / "pip.txt").read_text().endswith("torch-namecheck\n")
    assert check.returncode == 1, check.stderr
    assert "NC101" in check.stdout
    for report in job.get("artifacts", {}).get("reports", {}).values():
        assert "src/bad.py" in (project / report).read_text()


def test_a_job_checks_the_paths_that_it_is_given(project: Path, tmp_path: Path) -> None:
    (project / "good.py").write_text("x = 1\n")
    (project / "broken.py").write_text("x = (\n")
    job = YAML(typ="safe").load(TEMPLATE.read_text())["namecheck"]
    path = programs(tmp_path / "bin")
    check = shell(job["script"][-1], project, path, {"NAMECHECK_PATHS": "good.py broken.py"})
    assert "broken.py:1:5: NC001" in check.stdout
    assert "bad.py" not in check.stdout


class ActionRun(NamedTuple):
    """What a run of the action left behind."""

    codes: dict[str, int]
    outputs: dict[str, str]
    summary: str
    out: str
    pip: str


def run_action(project: Path, tmp_path: Path, **inputs: str) -> ActionRun:
    """Run the shell steps of the action in order, with a Python that installs nothing."""
    path = programs(tmp_path / "bin")
    own = f'"{sys.executable}"'
    python = f"""#!/bin/sh
if [ "$3" = venv ]; then
  mkdir -p "$4/bin"
  printf '#!/bin/sh\\necho "$@" >> "{path}/pip.txt"\\n' > "$4/bin/python"
  printf '#!/bin/sh\\nexec {own} -m namecheck "$@"\\n' > "$4/bin/namecheck"
  chmod +x "$4/bin/python" "$4/bin/namecheck"
fi
"""
    program(path / "python3", python)
    content = action()
    defaults = {key: value["default"] for key, value in content["inputs"].items()}
    values = {f"inputs.{key}": value for key, value in {**defaults, **inputs}.items()}
    values["github.action_path"] = str(ACTION.parent)
    values["runner.temp"] = str(tmp_path)
    summary, output = tmp_path / "summary.md", tmp_path / "output.txt"
    summary.write_text("before\n")
    codes: dict[str, int] = {}
    outputs: dict[str, str] = {}
    out = ""
    for step in content["runs"]["steps"]:
        if "run" not in step:
            continue
        output.write_text("")
        environment = {key: filled(value, values) for key, value in step.get("env", {}).items()}
        environment |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        folder = filled(step.get("working-directory", "."), values)
        ran = shell(step["run"], project / folder, path, environment)
        codes[step["name"]] = ran.returncode
        out += ran.stdout + ran.stderr
        own_outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        if "id" in step:
            prefix = f"steps.{step['id']}.outputs."
            values |= {f"{prefix}{key}": value for key, value in own_outputs.items()}
        outputs |= own_outputs
    return ActionRun(codes, outputs, summary.read_text(), out, (path / "pip.txt").read_text())


def test_the_action_reports_findings(project: Path, tmp_path: Path) -> None:
    ran = run_action(project, tmp_path)
    assert ran.codes == {"Install namecheck": 0, "Check": 0, "Report the outcome": 1}, ran.out
    assert "::error title=namecheck (NC101),file=src/bad.py,line=5," in ran.out
    assert ran.summary.startswith("before\n### namecheck: Found 1 error in 1 file.\n")
    assert "| src/bad.py:5:5 | NC101 name-mismatch | " in ran.summary
    assert ran.outputs["exit-code"] == "1"
    [log] = json.loads(Path(ran.outputs["sarif-file"]).read_text())["runs"]
    assert log["results"][0]["ruleId"] == "NC101"
    installed = ran.pip.split()[-1]
    assert Path(installed).resolve() == ROOT


def test_the_action_passes_without_findings(project: Path, tmp_path: Path) -> None:
    (project / "src" / "bad.py").write_text("x = 1\n")
    ran = run_action(project, tmp_path, version="1.2.3")
    assert set(ran.codes.values()) == {0}
    assert ran.summary.endswith("### namecheck: All checks passed.\n")
    assert ran.pip.split()[-1] == "torch-namecheck==1.2.3"


def test_the_action_takes_paths_arguments_and_a_folder(project: Path, tmp_path: Path) -> None:
    (project / "src" / "a b.py").write_text(BAD)
    (project / "src" / "-c.py").write_text(BAD)
    inputs = {"working-directory": "src", "paths": "a b.py\n-c.py\n"}
    ran = run_action(project, tmp_path, arguments="--ignore\nNC2\n", **inputs)
    assert "file=src/a b.py," in ran.out
    assert "file=src/-c.py," in ran.out
    assert "bad.py" not in ran.out
    assert ran.codes["Report the outcome"] == 1


@pytest.mark.parametrize(
    "inputs",
    [
        {"paths": "$(touch owned)\n`touch owned`; touch owned"},
        {"arguments": "--select\n$(touch owned)\n"},
        {"version": "1; touch owned"},
    ],
)
def test_no_input_is_run(project: Path, tmp_path: Path, inputs: Mapping[str, str]) -> None:
    ran = run_action(project, tmp_path, **inputs)
    assert not list(tmp_path.rglob("owned"))
    assert ran.codes["Report the outcome"] == (1 if "version" in inputs else 2)


def test_an_error_of_the_command_fails_the_job(project: Path, tmp_path: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.namecheck]\nwrong = 1\n")
    ran = run_action(project, tmp_path)
    assert ran.codes == {"Install namecheck": 0, "Check": 0, "Report the outcome": 2}
    assert "sarif-file" not in ran.outputs


def test_the_page_has_the_inputs_of_the_action() -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| ", page, re.MULTILINE)
    assert rows == list(action()["inputs"])


def test_the_hooks_are_commands_that_exist(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["namecheck", "namecheck-fix"]
    path = programs(tmp_path / "bin")
    for hook in hooks:
        names = "" if hook.get("pass_filenames") is False else " src/bad.py"
        ran = shell(hook["entry"] + names, project, path, {})
        assert ran.returncode == 1, ran.stderr
        assert "NC101" in ran.stdout
    used = [hook["id"] for one in HOOKS for repo in one.content["repos"] for hook in repo["hooks"]]
    assert used == ["namecheck", "namecheck-fix", "mypy"]


def test_named_files_that_are_excluded_are_left_out(project: Path, tmp_path: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.namecheck]\nexclude = ["src"]\n')
    path = programs(tmp_path / "bin")
    named = shell("namecheck check src/bad.py", project, path, {})
    assert named.returncode == 1
    left_out = shell("namecheck check --force-exclude src/bad.py", project, path, {})
    assert (left_out.returncode, left_out.stdout) == (0, "All checks passed.\n"), left_out.stderr


def test_the_report_for_reviewdog_is_written(project: Path, tmp_path: Path) -> None:
    """By the command of the page; reviewdog itself is not run."""
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    [block] = [
        block for block in re.findall(r"```sh\n(.*?)```", page, re.S) if "reviewdog" in block
    ]
    ours, theirs = block.splitlines()
    assert shell(ours, project, programs(tmp_path / "bin"), {}).returncode == 0
    [diagnostic] = json.loads((project / theirs.split()[-1]).read_text())["diagnostics"]
    assert diagnostic["location"]["path"] == "src/bad.py"


def test_shards_are_merged_as_the_page_shows(project: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    [block] = [block for block in re.findall(r"```sh\n(.*?)```", page, re.S) if "shard-" in block]
    each, merge = re.findall(r"^(?!#)(.+)$", block, re.MULTILINE)
    path = programs(tmp_path / "bin")
    codes = [shell(each, project, path, {"I": str(number)}).returncode for number in (1, 2, 3)]
    assert sorted(codes) == [0, 0, 1]
    assert shell(merge, project, path, {}).stdout.startswith("src/bad.py:5:5: NC101")
