"""Names that flow from file to file: kinds of imports, places of findings, messages."""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.interpreter.domain import meter
from namecheck.interpreter.workspace import importers
from namecheck.project import Walk, workers
from namecheck.project.settings import Settings

Check = Callable[..., list[str]]

MAKERS: Final = """
import torch

NAMES = ("N", "C")
WIDTH = 3

def make():
    return torch.zeros(2, WIDTH, names=NAMES)

class Maker:
    names = NAMES

    def __init__(self, width):
        self.weight = torch.zeros(width, names=self.names[1:])

    def __call__(self):
        return make() * self.weight
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Writes files, and checks that every order of checking them has the same result.

    Findings are given as ``file:line code``; lines marked ``# BUG`` must have a finding.
    """

    def check(files: dict[str, str], *paths: str) -> list[str]:
        marked = []
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).lstrip("\n"))
            lines = path.read_text().splitlines()
            marked += [f"{name}:{n}" for n, line in enumerate(lines, 1) if line.endswith("# BUG")]
        monkeypatch.chdir(tmp_path)
        entries = Walk().entries(paths or ["."])
        result = project.check(entries)
        for order in itertools.islice(itertools.permutations(entries), 1, 6):
            again = project.check(order)
            assert set(again.findings) == set(result.findings)
        with monkeypatch.context() as patch:
            patch.setattr(workers, "WORTH_IT", 0)
            patch.setattr(workers, "_GROUP", 1)
            assert project.check(entries, jobs=2) == result
        found = [f"{finding.filename}:{finding.span.line}" for finding in result.findings]
        assert sorted(found) == sorted(marked), result.findings
        return [f"{at} {f.code}" for at, f in zip(found, result.findings, strict=True)]

    return check


@pytest.mark.parametrize(
    ("statement", "made"),
    [
        ("from pkg.makers import make", "make()"),
        ("from pkg.makers import make as made", "made()"),
        ("from pkg import makers", "makers.make()"),
        ("import pkg.makers", "pkg.makers.make()"),
        ("import pkg.makers as m", "m.make()"),
        ("from pkg import make", "make()"),
        ("from pkg import *", "make()"),
        ("from pkg.makers import *", "make()"),
        ("from pkg.makers import Maker", "Maker(3)()"),
        ("from pkg.deep import again", "again()"),
        ("from pkg.deep.inner import relative", "relative()"),
        ("import torch\nfrom pkg.makers import NAMES", "torch.ones(2, 3, names=NAMES)"),
        ("import pkg", "pkg.deep.again()"),
        ("from pkg import \\\n    makers", "makers.make()"),
        ("import os, \\\n    pkg.makers", "pkg.makers.make()"),
        ("from pkg.makers \\\n    import make", "make()"),
        ("import os; from pkg import make; import sys", "make()"),
        ("if True: from pkg import makers", "makers.make()"),
        ("import os;import pkg.makers", "pkg.makers.make()"),
        ("try:\n    from pkg import make\nexcept ImportError:\n    make = None", "make()"),
    ],
)
def test_forms_of_import(check: Check, statement: str, made: str) -> None:
    files = {
        "pkg/__init__.py": "from .makers import *\nfrom . import deep\n",
        "pkg/makers.py": MAKERS,
        "pkg/deep/__init__.py": "from .inner import relative as again\n__all__ = ['again']\n",
        "pkg/deep/inner.py": "from .. import makers\n\ndef relative():\n    return makers.make()\n",
        "use.py": f"{statement}\n\nx = {made}\nx.sum('C')\nx.sum('T')  # BUG\n",
    }
    assert len(check(files)) == 1


def test_a_finding_stands_where_the_names_contradict(check: Check) -> None:
    files = {
        "layers.py": """
            def reduce(x, dim):
                return x.mean(dim)  # BUG
            """,
        "train.py": """
            import torch
            from layers import reduce

            x = torch.zeros(2, 3, names=("N", "C"))
            reduce(x, "C")
            reduce(x, "T")
            """,
    }
    assert check(files) == ["layers.py:2 NC103"]
    [finding] = project.check(Walk().entries(["train.py"])).findings
    told = [(place.filename, place.span.line, place.message) for place in finding.related]
    assert told[-1] == ("train.py", 6, "'reduce' is called from train.py:6 with x: [N C]")


def test_the_call_is_shown(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    check(
        {
            "pkg/__init__.py": "",
            "pkg/layers.py": "def reduce(x):\n    return x.mean('T')  # BUG\n",
            "train.py": """
                import torch
                from pkg.layers import reduce
                reduce(torch.zeros(2, 3, names=("N", "C")))
                """,
        }
    )
    assert main.main(["check", "."]) == 1
    out = capsys.readouterr().out
    assert "--> pkg/layers.py:2:12" in out
    assert "::: train.py:3:" in out
    assert "'reduce' is called from train.py:3 with x: [N C]" in out
    main.main(["check", ".", "--output-format", "json"])
    [told] = json.loads(capsys.readouterr().out)
    assert told["related"][-1]["filename"] == "train.py"
    assert "called from train.py:3 with x: [N C]" in told["related"][-1]["message"]


def test_what_several_files_find_is_reported_once(check: Check) -> None:
    callers = {
        f"use{n}.py": """
            import torch
            from layers import reduce
            reduce(torch.zeros(2, 3, names=("N", "C")))
            """
        for n in range(3)
    }
    found = check({"layers.py": "def reduce(x):\n    return x.mean('T')  # BUG\n", **callers})
    assert found == ["layers.py:2 NC103"]


def test_a_comment_suppresses_what_another_file_finds(check: Check) -> None:
    layers = "def reduce(x):\n    return x.mean('T')  # namecheck: ignore[NC103]\n"
    use = "import torch\nfrom layers import reduce\nreduce(torch.zeros(2, names=('N',)))\n"
    assert check({"layers.py": layers, "use.py": use}) == []
    assert check({"layers.py": layers, "use.py": use}, "use.py") == []


def test_a_file_that_is_left_out_is_followed_but_not_told_of(check: Check) -> None:
    files = {
        "pyproject.toml": "[tool.namecheck]\nexclude = ['vendored']\n",
        "vendored/layers.py": """
            import torch

            def make():
                return torch.zeros(2, names=("N",))

            def reduce(x):
                return x.mean("T")
            """,
        "use.py": """
            from vendored.layers import make, reduce

            reduce(make())
            make().sum("T")  # BUG
            """,
    }
    assert check(files) == ["use.py:4 NC103"]


@pytest.mark.parametrize(
    ("maker", "use", "statement"),
    [
        ("src/pkg/makers.py", "src/pkg/use.py", "from pkg.makers import make"),
        ("src/pkg/makers.py", "tests/use.py", "from pkg.makers import make"),
        ("pkg/makers.py", "scripts/use.py", "from pkg.makers import make"),
        ("pkg/sub/makers.py", "pkg/other/use.py", "from ..sub.makers import make"),
        ("pkg/sub/makers.py", "pkg/other/use.py", "from pkg.sub import makers; make=makers.make"),
        ("scripts/makers.py", "scripts/use.py", "from makers import make"),
        ("tests/makers.py", "tests/unit/use.py", "from makers import make"),
    ],
)
def test_where_modules_are_looked_for(check: Check, maker: str, use: str, statement: str) -> None:
    files = {
        "pyproject.toml": "",
        "tests/conftest.py": "",
        maker: MAKERS,
        use: f"{statement}\nmake().sum('T')  # BUG\n",
    }
    assert check(files) == [f"{use}:2 NC103"]


@pytest.mark.parametrize("inner", ["ops", "ops/deep"])
def test_a_folder_without_init_is_in_the_package_around_it(check: Check, inner: str) -> None:
    files = {
        "pyproject.toml": "",
        "lib/pkg/__init__.py": "",
        "lib/pkg/makers.py": MAKERS,
        f"lib/pkg/{inner}/use.py": "from pkg.makers import make\nmake().sum('T')  # BUG\n",
    }
    assert len(check(files)) == 1


@pytest.mark.parametrize("name", ["copy", "torch", "logging"])
def test_libraries_are_themselves(check: Check, name: str) -> None:
    files = {
        f"{name}.py": "def zeros(*sizes, names):\n    return 3\ndeepcopy = None\n",
        "use.py": f"""
            import torch
            from {name} import *
            import copy
            torch.zeros(2, 3, names=("N", "C")).sum("T")  # BUG
            """,
    }
    assert len(check(files)) == 1


def test_cycles(check: Check) -> None:
    files = {
        "pkg/__init__.py": "from .a import A\nfrom .b import B\n",
        "pkg/a.py": """
            import torch
            from . import b

            class A:
                def make(self):
                    return b.B().names(torch.zeros(2, 3))

                def wrong(self):
                    return self.make().sum("T")  # BUG

            """,
        "pkg/b.py": """
            from .a import A

            class B(A):
                def names(self, x):
                    return x.refine_names("N", "C")

                def also(self):
                    return isinstance(B(), A) and self.make().sum("T")  # BUG
            """,
        "use.py": """
            from pkg import A, B

            A().make().mean("T")  # BUG
            B().make().mean("T")  # BUG
            """,
    }
    assert len(check(files)) == 4


def test_files_that_read_each_other_at_their_top_levels(check: Check) -> None:
    files = {
        "a.py": """
            import torch
            FIRST = "N"
            import b
            NAMES = (FIRST, b.SECOND)
            x = torch.zeros(2, 3, names=NAMES)
            x.mean(FIRST)
            x.mean("T")  # BUG
            """,
        "b.py": """
            import a
            SECOND = "C"
            BOTH = (a.FIRST, SECOND)
            """,
        "c.py": """
            import torch
            import b
            torch.zeros(2, 3, names=b.BOTH).mean("T")  # BUG
            """,
    }
    assert len(check(files)) == 2


@pytest.mark.parametrize("condition", ["TYPE_CHECKING", "TYPE_CHECKING or SLOW"])
def test_a_lazy_package_has_what_it_imports_for_type_checkers(check: Check, condition: str) -> None:
    files = {
        "pkg/__init__.py": f"""
            import sys
            from typing import TYPE_CHECKING

            SLOW = bool(sys.argv[1:])
            if {condition}:
                from .models import *
                try:
                    import missing
                except ImportError:
                    from .dummies import *
                else:
                    from .makers import make
            else:
                from .lazy import Lazy
                sys.modules[__name__] = Lazy(__name__)
            """,
        "pkg/lazy.py": "class Lazy:\n    def __init__(self, name):\n        self.name = name\n",
        "pkg/makers.py": MAKERS,
        "pkg/dummies.py": "make = Maker = None\n",
        "pkg/models/__init__.py": "from .first import *\nfrom .second import *\n",
        "pkg/models/first.py": "def first(maker):\n    return maker.make()\n",
        "pkg/models/second.py": "raise ImportError(make)\n",
        "use.py": """
            from pkg import first, make, makers

            make().sum("T")  # BUG
            first(makers).sum("T")  # BUG
            """,
    }
    assert len(check(files)) == 2


@pytest.mark.parametrize(
    "binding",
    [
        "from .makers import make",
        "from .makers import (\n    NAMES,\n    make)",
        "from . import makers\nmake = makers.make",
        "from . import makers\nNAMES, make = makers.NAMES, makers.make",
        "from . import makers\nfor make in [makers.make]: pass",
        "from . import makers\nif True:\n    def make(): return makers.make()",
        "from . import makers\nglobals()['make'] = makers.make",
    ],
)
def test_a_star_import_finds_each_kind_of_binding(check: Check, binding: str) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/makers.py": MAKERS,
        "pkg/other.py": "# It does not make().\nOTHER = 1\n",
        "pkg/names.py": binding + "\n",
        "use.py": """
            from pkg.names import *
            from pkg.other import *

            make().sum("T")  # BUG
            """,
    }
    assert len(check(files)) == 1


def test_type_checkers_imports_are_followed(check: Check) -> None:
    files = {
        "kinds.py": """
            import torch

            class Batch:
                def images(self):
                    return torch.zeros(2, 3, names=("N", "C"))
            """,
        "use.py": """
            from __future__ import annotations
            from typing import TYPE_CHECKING

            if TYPE_CHECKING:
                from kinds import Batch

            def loss(batch: Batch):
                return batch.images().mean("T")  # BUG
            """,
    }
    assert len(check(files)) == 1


def test_no_code_is_run(check: Check, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    line = f"open({str(mark)!r}, 'w').close()"
    files = {
        "makers.py": f"{line}\n{MAKERS}",
        "conftest.py": line,
        "use.py": f"from makers import make\n{line}\nmake().sum('T')  # BUG\n",
    }
    check(files)
    assert not mark.exists()


def test_files_that_cannot_be_read_are_unknown(check: Check) -> None:
    files = {
        "broken.py": "def f(:\n",
        "use.py": """
            import torch
            import broken
            from broken import make
            make().sum("T")
            x = torch.zeros(2, names=("N",))
            broken.f(x).sum("T")
            x.sum("T")
            torch.zeros(2, names=("N",)).sum("T")  # BUG
            """,
    }
    assert check(files, "use.py") == ["use.py:8 NC103"]


def test_a_large_file_without_names_is_run_where_names_lead_into_it(check: Check) -> None:
    padding = "\n".join(f"def idle{n}(x):\n    return x + {n}\n" for n in range(150))
    files = {
        "helpers.py": f"def last(x):\n    return x.transpose(0, 1)\n\n{padding}\n",
        "use.py": """
            import torch
            from helpers import last

            def swapped(x: torch.Tensor):
                y = last(x.refine_names("N", "C"))
                return y + x.refine_names("N", "C")  # BUG
            """,
    }
    assert len(check(files)) == 1


def test_the_files_of_another_folder_are_another_project(check: Check) -> None:
    files = {
        "a/helpers.py": "import torch\ndef make():\n    return torch.zeros(2, names=('N',))\n",
        "b/helpers.py": "import torch\ndef make():\n    return torch.zeros(2, names=('C',))\n",
        "a/use.py": "import helpers\nhelpers.make().sum('C')  # BUG\n",
        "b/use.py": "import helpers\nhelpers.make().sum('C')\n",
    }
    assert len(check(files)) == 1


def test_standard_input_imports_from_where_it_is_said_to_be(check: Check, tmp_path: Path) -> None:
    check({"pkg/__init__.py": "", "pkg/makers.py": MAKERS})
    text = b"from .makers import make\nmake().sum('T')\n"
    result = project.check_text(text, os.path.join("pkg", "new.py"), Settings())
    assert [(f.filename, f.code) for f in result.findings] == [("pkg/new.py", "NC103")]


def test_annotations_are_followed_over_files(check: Check) -> None:
    files = {
        "shapes.py": """
            from jaxtyping import Float
            from torch import Tensor

            Image = Float[Tensor, "chan height width"]
            """,
        "lib/__init__.py": "from lib.ops import gray\n",
        "lib/ops.py": """
            import shapes
            from jaxtyping import Float
            from torch import Tensor

            def gray(x: shapes.Image) -> Float[Tensor, "height width"]:
                return x.mean(2)  # BUG
            """,
        "use.py": """
            from lib import gray
            from shapes import Image as Picture

            def brightest(x: Picture):
                rows = gray(x)
                rows + x.mean(0)
                return rows + x.mean(2)  # BUG
            """,
    }
    assert check(files) == ["lib/ops.py:6 NC112", "use.py:7 NC101"]


def test_words_of_annotations_are_passed_on_by_files(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = """
        from beartype import beartype
        import torch
        from jaxtyping import Bool as Mask
        from jaxtyping import Float, jaxtyped
        from torch import Tensor as T

        Numbers = Float
        Any = torch.Tensor

        def typecheck(function):
            if __debug__:
                return jaxtyped(typechecker=beartype)(function)
            return function

        def plainly(function):
            return jaxtyped(function, typechecker=beartype)
        """
    used = """
        from torch import Tensor
        from pkg.words import Float, plainly, typecheck

        @typecheck
        def turned(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "columns rows"]:
            return x.T

        @plainly
        def same(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
            return x

        def uses(x: Float[Tensor, "n d"], y: Float[Tensor, "m e"]):
            same(x) @ turned(x)
            return turned(x) @ y  # BUG
        """
    renamed = """
        from pkg import words
        from pkg.words import Any, Mask, Numbers, T

        def one(x: Numbers[T, "n m"], y: Numbers[Any, "k d"]):
            return x @ y  # BUG

        def two(x: Mask[T, "n m"], y: words.Mask[words.T, "n m"]) -> words.Mask[T, "m n"]:
            return x | y  # BUG
        """
    files = {"pkg/__init__.py": "", "pkg/words.py": words, "pkg/use.py": used}
    check({**files, "pkg/renamed.py": renamed})
    monkeypatch.setattr(project, "FOLLOWED_TREE", 0)
    check(files, "pkg")


def test_the_sizes_of_a_class_pass_its_bases_in_other_files(check: Check) -> None:
    check(
        {
            "pkg/__init__.py": "",
            "pkg/layers.py": """
                import torch
                from torch.nn import Module as TorchModule

                class Module(TorchModule):
                    def __setattr__(self, name, value):
                        return super().__setattr__(name=name, value=value)

                class Chain(Module):
                    def __init__(self, *layers):
                        super().__init__()

                    def __setattr__(self, name, value):
                        if isinstance(value, torch.nn.Module):
                            raise ValueError(name)
                        super().__setattr__(name, value)
                """,
            "pkg/use.py": """
                import torch
                from jaxtyping import Float
                from torch import Tensor
                from pkg import layers as fl

                class Encoder(fl.Chain):
                    def __init__(self, inner: int, outer: int):
                        self.inner = inner
                        self.outer = outer
                        super().__init__()

                    def forward(self, x: Float[Tensor, "b inner"]) -> Float[Tensor, "b outer"]:
                        return x + torch.zeros(len(x), self.inner)  # BUG

                    def project(self, x: Float[Tensor, "b inner"]) -> Float[Tensor, "b outer"]:
                        return torch.zeros(len(x), self.outer)
                """,
        }
    )


def test_aliases_that_go_round_say_nothing(check: Check) -> None:
    files = {
        "one.py": "from two import A\n\ndef f(x: A): return x\n",
        "two.py": "from one import A\n\ndef g(x: A): return x\n",
    }
    assert check(files) == []


def _tangle(chance: random.Random, count: int) -> dict[str, str]:
    """Files that import each other at random, and read each other's names at their top levels."""
    files: dict[str, str] = {}
    for number in range(count):
        others = chance.sample(range(count), k=min(3, count))
        lines = ["import torch"]
        lines += [
            chance.choice([f"import m{o}", f"from m{o} import D{o}, f{o}", f"from m{o} import *"])
            for o in others
        ]
        word = chance.choice("NCT")
        lines.append(f"D{number} = {word!r}")
        for other in others:
            read = chance.choice([f"m{other}.D{other}", f"D{other}", f"f{other}()"])
            if chance.random() < 0.2:
                lines.append(f"if torch.rand(1) > 0:\n    D{number} = {read}")
            else:
                lines.append(f"E{other} = {read}")
        lines.append(f"def f{number}():\n    return D{number}")
        lines.append(f"x = torch.zeros(2, 3, names=('A', D{number}))")
        lines.append(f"x.sum({chance.choice([f'E{others[0]}', repr(word)])})")
        lines.append(f"def g{number}(y):\n    return y.refine_names('N', 'C').sum(f{others[-1]}())")
        files[f"m{number}.py"] = "\n".join(lines) + "\n"
    return files


@pytest.mark.parametrize("seed", range(12))
def test_a_tangle_does_not_depend_on_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    for name, text in _tangle(chance, chance.randint(2, 7)).items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    entries = Walk().entries(["."])
    first = project.check(entries)
    assert first.faults == 0
    for _ in range(6):
        chance.shuffle(entries)
        assert set(project.check(entries).findings) == set(first.findings)


def _told_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What is not judged, or not followed, of some tangles: the same in any order of the files."""
    messages: set[str] = set()
    for seed in (0, 12, 20, 22, 69, 103):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        for name, text in _tangle(chance, 7 if seed < 100 else 15).items():
            (folder / name).write_text(text)
        monkeypatch.chdir(folder)
        entries = Walk().entries(["."])
        first = project.check(entries)
        assert first.faults == 0
        messages |= {one.message.partition("is not")[2] for one in first.findings}
        for _ in range(4):
            chance.shuffle(entries)
            assert set(project.check(entries).findings) == set(first.findings)
    return messages


@pytest.mark.parametrize(
    ("imports", "whole", "least"), [(600, 1_500, 250), (900, 1_200, 300), (900, 2_200, 350)]
)
def test_a_tangle_that_costs_too_much_does_not_depend_on_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports: int, whole: int, least: int
) -> None:
    # Each file costs some 400 steps, and more for each that it imports.
    for limit, steps in (("_IMPORTS", imports), ("_WHOLE", whole), ("_LEAST", least)):
        monkeypatch.setattr(meter, limit, steps)
    monkeypatch.setattr(meter, "_LINE", 0)
    messages = _told_in_any_order(tmp_path, monkeypatch)
    assert any(message.startswith(" judged") for message in messages)


@pytest.mark.parametrize(
    ("closure", "together"),
    [(900, 9_000), (1_400, 9_000), (2_200, 9_000), (3_500, 9_000), (3_500, 2_600), (9_000, 3_500)],
)
def test_a_tangle_of_too_many_files_does_not_depend_on_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closure: int, together: int
) -> None:
    monkeypatch.setattr(meter, "_CLOSURE", closure)
    monkeypatch.setattr(meter, "_TOGETHER", together)
    monkeypatch.setattr(importers, "_UNCOUNTED", 600)
    messages = _told_in_any_order(tmp_path, monkeypatch)
    assert any(message.startswith(" followed") for message in messages)


def test_imports_that_cost_too_much_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costly = "import torch\nx = torch.zeros(2, 3, names=('N', 'C'))\n" + "x.relu()\n" * 100
    for number in range(3):
        (tmp_path / f"m{number}.py").write_text(costly)
    lines = ["import m0, m1, m2", "def f():"]
    lines += [f"    m{number}.x.sum('H')" for number in range(3)]
    (tmp_path / "main.py").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    everything = project.check(Walk().entries(["."])).findings
    assert [(one.code, one.span.line) for one in everything] == [("NC103", 3 + n) for n in range(3)]
    monkeypatch.setattr(meter, "_IMPORTS", 3_000)  # that of the first, and more
    findings = project.check(Walk().entries(["."])).findings
    lines_of = [(finding.code, finding.span.line) for finding in findings]
    assert lines_of == [("NC103", 3), ("NC103", 4), ("NC091", 5)]
    assert findings[2].message.startswith("'m2' is not followed, nor are later imports")


def test_what_functions_cost_leaves_less_for_what_they_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = "def f(y):\n    from m0 import x\n    x.sum('H')\n"
    costly = "def e(y):\n" + "    y.refine_names('N', 'C')\n" * 300
    _chain(tmp_path, 3)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cheap.py").write_text("reveal_names = 1\n" + late)
    (tmp_path / "costly.py").write_text("import torch\n" + costly + late)
    assert _places(["cheap.py"]) == [("NC103", 4)]
    assert _places(["costly.py"]) == [("NC103", 305)]
    monkeypatch.setattr(meter, "_TOGETHER", 7_000)  # the files that it imports take 4,500
    assert _places(["cheap.py"]) == [("NC103", 4)]
    assert _places(["costly.py"]) == [("NC091", 305)]
    assert _places(["m0.py", "m1.py", "m2.py", "costly.py"]) == [("NC091", 305)]


def _chain(folder: Path, length: int) -> None:
    """Files that each import the next at their top, and the first of them is named by `main`."""
    for number in range(length):
        after = f"import m{number + 1}\nm{number + 1}.x.relu()\n" if number + 1 < length else ""
        text = f"import torch\n{after}x = torch.zeros(2, 3, names=('N', 'C'))\n" + "x.relu()\n" * 50
        (folder / f"m{number}.py").write_text(text)
    (folder / "main.py").write_text("from m0 import x\nx.sum('H')\nx.refine_names('N', 'C')\n")


def test_a_file_whose_imports_import_too_much_is_judged_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chain(tmp_path, 6)
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "main.py").open("a") as more:
        more.write("def f(y):\n    y.refine_names('N', 'C').sum('T')\n")
    check = functools.partial(_places, ["main.py"])
    assert check() == [("NC103", 2), ("NC103", 5)]
    monkeypatch.setattr(meter, "_CLOSURE", 3_500)  # two of them
    assert check() == [("NC091", 2), ("NC103", 5)]
    assert _places(["m4.py", "main.py"]) == check()
    assert _places(["m3.py", "m4.py", "m5.py"]) == []


def _places(paths: list[str]) -> list[tuple[str, int]]:
    return [(one.code, one.span.line) for one in project.check(Walk().entries(paths)).findings]


def test_files_that_cost_memory_to_parse_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They are not run: a name is only looked for in them.
    for number in range(9):
        (tmp_path / f"m{number}.py").write_text("-a\n" * 100)
    lines = [f"from m{number} import b{number}\nb{number}.sum('H')\n" for number in range(9)]
    (tmp_path / "main.py").write_text("import torch\nreveal_names = 1\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    assert _places(["main.py"]) == []
    monkeypatch.setattr(importers, "_UNCOUNTED", 1_000)
    monkeypatch.setattr(meter, "_CLOSURE", 10_000)
    assert _places(["main.py"]) == [("NC091", 4)]


def test_what_the_cache_keeps_depends_on_all_files_that_cost_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _chain(tmp_path, 6)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(meter, "_CLOSURE", 3_500)
    command = ["check", "--output-format", "concise", "-j", "1", "main.py"]

    def said() -> str:
        main.main(command)
        return capsys.readouterr().out

    assert "NC091" in (first := said())
    assert said() == first
    (tmp_path / "m1.py").write_text("import torch\nx = torch.zeros(2, names=('N',))\n")
    assert "NC103" in said()
