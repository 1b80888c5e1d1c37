"""Random projects in which files call each other's functions, and some lines have comments."""

from __future__ import annotations

from random import Random
from typing import Final

_DIMS: Final = ("N", "C", "T", "D")
_COMMENTS: Final = ("", "", "", "  # namecheck: ignore[NC103]", "  # namecheck: ignore")


def random_tree(drawn: Random, packages: int = 4, modules: int = 5) -> dict[str, str]:
    """The files of a project: contradictions in some lines, most of them found through calls."""
    names = [f"p{one}.m{two}" for one in range(packages) for two in range(modules)]
    files = {f"p{one}/__init__.py": "" for one in range(packages)}
    files["p0/__init__.py"] = "from .m1 import f as first\n"
    files["pyproject.toml"] = "[project]\nname = 'tree'\n"
    for name in names:
        text = _module(drawn, name, names)
        files[f"{name.replace('.', '/')}.py"] = text
    return files


def _module(drawn: Random, name: str, names: list[str]) -> str:
    used = drawn.sample([other for other in names if other != name], drawn.randrange(4))
    lines = ["import torch"]
    for number, module in enumerate(used):
        package, _, last = module.partition(".")
        if module.split(".")[0] == name.split(".")[0] and drawn.random() < 0.5:
            lines.append(f"from .{last} import f as g{number}")
        elif drawn.random() < 0.3:
            lines += [f"import {module}", f"g{number} = {module}.f"]
        else:
            lines.append(f"from {package}.{last} import f as g{number}")
    lines += [
        "",
        "def f(x):",
        f"    y = x.sum({drawn.choice(_DIMS)!r}){drawn.choice(_COMMENTS)}",
    ]
    if used and drawn.random() < 0.5:
        lines.append(f"    g{drawn.randrange(len(used))}(x){drawn.choice(_COMMENTS)}")
    lines += ["    return x", ""]
    for _ in range(drawn.randrange(3)):
        function = f"g{drawn.randrange(len(used))}" if used else "f"
        dims = drawn.sample(_DIMS, 2)
        lines.append(
            f"{function}(torch.zeros(2, 3, names={tuple(dims)!r})){drawn.choice(_COMMENTS)}"
        )
    return "\n".join([*lines, ""])
