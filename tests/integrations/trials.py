"""The hooks and the action, with the tools themselves: ``python -m tests.integrations.trials``.

It makes a clone of this checkout with its changes, and installs pre-commit, prek, zizmor and
action-validator from their registries into a temporary folder; each hook and the action install
namecheck from the clone. CONTRIBUTING.md says when this was last seen to pass.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.integrations.snippets import ACTION, ROOT, action, filled, shell, snippets

TOOLS: Final = ("pre-commit==4.7.0", "prek==0.5.11", "zizmor==1.32.0")
VALIDATOR: Final = ("@action-validator/core@0.6.0", "@action-validator/cli@0.6.0")

FIXABLE: Final = """\
import torch

x = torch.zeros(2, 3, names=("N", "C"))  # namecheck: ignore[NC101]
"""


class Trials:
    """Runs commands, and keeps which ended with another exit code than expected."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wrong: list[str] = []

    def run(
        self,
        *command: str,
        code: int = 0,
        cwd: Path | None = None,
        output: str = "",
    ) -> None:
        """Run a command; its output must have a text."""
        print("$", *command, flush=True)
        environment = {**os.environ, "PRE_COMMIT_HOME": str(self.folder / "pre-commit")}
        environment |= {"PREK_HOME": str(self.folder / "prek")}
        environment.pop("PYTHONPATH", None)
        ran = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        told = ran.stdout + ran.stderr
        print(told, flush=True)
        if ran.returncode != code or output not in told:
            self.wrong.append(" ".join(command))

    def git(self, folder: Path, *words: str) -> None:
        """Run git with an author of its own."""
        own = ("-c", "user.name=trials", "-c", "user.email=trials@example.org")
        self.run("git", *own, "-C", str(folder), *words)


def cloned(trials: Trials) -> Path:
    """A clone of this checkout, with its changes committed."""
    clone = trials.folder / "clone"
    trials.run("git", "clone", "--quiet", str(ROOT), str(clone))
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, names)):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes((ROOT / name).read_bytes())
    trials.git(clone, "add", "--all")
    trials.git(clone, "commit", "--quiet", "--allow-empty", "--message", "changes")
    return clone


def project(trials: Trials) -> Path:
    """A repository with a finding that has a fix."""
    folder = trials.folder / "project"
    folder.mkdir()
    (folder / "model.py").write_text(FIXABLE)
    trials.git(folder, "init", "--quiet")
    trials.git(folder, "add", "--all")
    trials.git(folder, "commit", "--quiet", "--message", "model")
    return folder


def try_hooks(trials: Trials, programs: Path, clone: Path) -> None:
    """Try both hooks with both runners: a finding, its fix, and a clean project."""
    folder = project(trials)
    for runner in ("pre-commit", "prek"):
        program = str(programs / runner)
        trials.run(program, "validate-manifest", str(clone / ".pre-commit-hooks.yaml"))
        for snippet in snippets():
            if snippet.path == ".pre-commit-config.yaml":
                config = trials.folder / "config.yaml"
                config.write_text(snippet.text)
                trials.run(program, "validate-config", str(config))
        attempt = (program, "try-repo", str(clone))
        (folder / "model.py").write_text(FIXABLE)
        told = "There is no NC101 here to suppress."
        trials.run(*attempt, "namecheck", "--all-files", code=1, cwd=folder, output=told)
        fixed = "1 fixed"
        trials.run(*attempt, "namecheck-fix", "--all-files", code=1, cwd=folder, output=fixed)
        trials.run(*attempt, "namecheck", "--all-files", cwd=folder, output="Passed")
        trials.git(folder, "checkout", "--quiet", "--", "model.py")


def try_action(trials: Trials, programs: Path, clone: Path) -> None:
    """Validate the action and the workflows of the pages, and run the steps of the action."""
    npm = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(trials.folder)]
    trials.run(*npm, *VALIDATOR)
    validator = str(trials.folder / "node_modules" / ".bin" / "action-validator")
    zizmor = (str(programs / "zizmor"), "--offline", "--persona", "pedantic")
    for file in (ACTION, ROOT / ".github" / "workflows" / "versions.yml"):
        trials.run(validator, str(file))
        trials.run(*zizmor, str(file))
    workflows = trials.folder / "docs" / ".github" / "workflows"
    workflows.mkdir(parents=True)
    for number, snippet in enumerate(snippets()):
        if snippet.path.startswith(".github/"):
            path = workflows / f"{number}.yml"
            # Who pins actions puts in a commit.
            path.write_text(snippet.text.replace("@v0.1.0", f"@{'0' * 40}"))
            trials.run(validator, str(path))
            trials.run(*zizmor[:2], str(path))
    outputs: dict[str, str] = {}
    values = {f"inputs.{key}": value["default"] for key, value in action()["inputs"].items()}
    values["inputs.python"] = sys.executable
    values["github.action_path"] = str(clone / ACTION.parent.relative_to(ROOT))
    values["runner.temp"] = str(trials.folder / "runner")
    (trials.folder / "runner").mkdir()
    codes = list(_steps(trials.folder, values, outputs))
    if codes != [0, 0, 1]:
        trials.wrong.append(f"the action ended with {codes}")


def _steps(folder: Path, values: dict[str, str], outputs: dict[str, str]) -> Sequence[int]:
    codes = []
    output, summary = folder / "output.txt", folder / "summary.md"
    for step in action()["runs"]["steps"]:
        if "run" in step:
            output.write_text("")
            environment: Mapping[str, str] = {
                **{key: filled(value, values) for key, value in step.get("env", {}).items()},
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                "PYTHONPATH": "",
            }
            ran = shell(step["run"], folder / "project", folder, environment)
            print(ran.stdout, ran.stderr, sep="", flush=True)
            codes.append(ran.returncode)
            for line in output.read_text().splitlines():
                key, _, value = line.partition("=")
                values[f"steps.{step['id']}.outputs.{key}"] = value
    print(summary.read_text(), flush=True)
    return codes


def main() -> None:
    """Run all trials; ends with 1 where one went wrong."""
    with tempfile.TemporaryDirectory() as name:
        trials = Trials(Path(name))
        environment = trials.folder / "tools"
        trials.run(sys.executable, "-m", "venv", str(environment))
        programs = environment / "bin"
        trials.run(str(programs / "python"), "-m", "pip", "install", "--quiet", *TOOLS)
        clone = cloned(trials)
        try_hooks(trials, programs, clone)
        try_action(trials, programs, clone)
        print(*(f"went wrong: {command}" for command in trials.wrong), sep="\n")
    sys.exit(1 if trials.wrong else 0)


if __name__ == "__main__":
    main()
