"""Lists the names that are annotated with more than three types: ``python -m tests.house.words``.

One identifier has one meaning. A parameter or a local name that is a string here, a tensor there
and a store elsewhere does not inform a reader; its name should say what it is.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("namecheck", "mypy_plugin")
MOST_TYPES: Final = 3


@dataclass(frozen=True, slots=True)
class Use:
    """One annotation of a parameter or a local name."""

    name: str
    type: str
    file: str
    line: int


def uses() -> Iterator[Use]:
    """Every annotation of a parameter or a local name in the packages."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from _uses_in(ast.parse(path.read_text("utf-8")), str(path.relative_to(ROOT)))


def overused() -> dict[str, dict[str, list[Use]]]:
    """The names with too many types: their uses, by type."""
    by_name: defaultdict[str, defaultdict[str, list[Use]]] = defaultdict(lambda: defaultdict(list))
    for use in uses():
        by_name[use.name][use.type].append(use)
    return {
        name: dict(by_type)
        for name, by_type in sorted(by_name.items())
        if len(by_type) > MOST_TYPES
    }


def _uses_in(tree: ast.Module, file: str) -> Iterator[Use]:
    variables = _type_variables(tree)
    for name, annotation in _annotations(tree):
        type_ = normalised(annotation)
        if name not in ("self", "cls") and type_ not in variables:
            yield Use(name, type_, file, annotation.lineno)


def _annotations(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The annotated parameters and local names; fields of classes and globals are neither."""
    outside = {id(statement) for statement in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            outside.update(map(id, node.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.arg, node.annotation
        elif (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and id(node) not in outside
        ):
            yield node.target.id, node.annotation


def _type_variables(tree: ast.Module) -> set[str]:
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Name) and node.value.func.id in ("TypeVar", "ParamSpec")
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def normalised(annotation: ast.expr) -> str:
    """A type as text: the members of a union in order, without None; strings are read."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    members = sorted(set(map(ast.unparse, _members(annotation))) - {"None"})
    return " | ".join(members or ["None"])


def _members(annotation: ast.expr) -> Iterator[ast.expr]:
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        yield from _members(annotation.left)
        yield from _members(annotation.right)
    else:
        yield annotation


def main() -> None:
    """Print each name with its types, and the places of the rarer ones."""
    for name, by_type in overused().items():
        print(f"{name}: {len(by_type)} types")
        for type_, where in sorted(by_type.items(), key=lambda item: -len(item[1])):
            places = ", ".join(f"{use.file}:{use.line}" for use in where[:4])
            print(f"    {type_}  ({len(where)})  {places}")


if __name__ == "__main__":
    main()
