"""Places that speak of names, though the analysis saw no tensor there."""

from __future__ import annotations

import ast
from typing import Final

from namecheck import operators
from namecheck.migration.survey import Seen

# Only tensors have these.
_OF_TENSORS: Final = frozenset({"refine_names", "align_to", "align_as", "has_names", "rename_"})
# Keywords of other things that are renamed.
_OF_TABLES: Final = frozenset({"axis", "columns", "copy", "index", "inplace", "level", "mapper"})


def uses_names(tree: ast.AST) -> bool:
    """Whether a file can give names to tensors as torch 2.12 did, for all that its words tell."""
    return any(map(_gives_names, ast.walk(tree)))


def _gives_names(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        stored = node.attr == "names" and isinstance(node.ctx, ast.Store)
        return stored or node.attr in _OF_TENSORS or node.attr in ("rename", "unflatten")
    if isinstance(node, ast.keyword):
        return node.arg == "names"
    return isinstance(node, ast.Constant) and node.value in ("names", *_OF_TENSORS)


def may_be_left(tree: ast.AST) -> bool:
    """Whether an earlier run may have left places in a file: its annotations tell the names."""
    subscripts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    told = [node for each in subscripts if _annotates(each) for node in ast.walk(each.slice)]
    words = {word for node in told for word in _text(node).split()}
    inside = set(map(id, told))
    return bool(words) and any(
        (isinstance(node, ast.Attribute) and node.attr == "names")
        or (_text(node) in words and id(node) not in inside)
        for node in ast.walk(tree)
    )


def _annotates(node: ast.Subscript) -> bool:
    return getattr(node.value, "attr", getattr(node.value, "id", "")) == "Annotated"


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def own_names(tree: ast.AST) -> frozenset[str]:
    """The classes and functions of a file, and what it imports from elsewhere than torch."""
    own: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            own.add(node.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] != "torch":
            own.update(alias.asname or alias.name for alias in node.names)
    return frozenset(own)


def doubt(
    node: ast.Call | ast.Attribute, seen: Seen, labels: frozenset[str], own: frozenset[str]
) -> str | None:
    """Why a place is left that speaks of the names of a tensor; None where it does not.

    `labels` are the names that tensors have in the file, `own` what it calls by names of its own.
    """
    seen_there = seen.decisive
    if isinstance(node, ast.Call) and _makes(node, labels, own):
        return "no call of what is made here is seen"
    if seen_there.otherwise and not (seen_there.unknown or seen_there.open):
        return None
    if not _speaks_of_names(node, labels):
        return None
    if not seen_there.otherwise:
        return "the analysis does not reach it"
    if seen_there.open:
        return "its arguments are not known"
    return "what this is called on is not known"


def _speaks_of_names(node: ast.Call | ast.Attribute, labels: frozenset[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "names" and may_be_tensor(node.value)
    if not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in _OF_TENSORS:
        return True
    if node.func.attr == "rename":
        return may_be_tensor(node.func.value) and _renames(node)
    return node.func.attr in operators.table() and any(
        _tells(argument, labels) for argument in (*node.args, *_values(node))
    )


def _makes(node: ast.Call, labels: frozenset[str], own: frozenset[str]) -> bool:
    """Whether it makes a layer, or a partial function, of a name."""
    called = node.func
    word = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if word.startswith("partial"):
        of_own = bool(node.args) and getattr(node.args[0], "id", "") in own
        return not of_own and any(_tells(each, labels) for each in (*node.args[1:], *_values(node)))
    is_own = isinstance(called, ast.Name) and word in own
    if is_own or f"nn.{word}" not in operators.table():
        return False
    return any(_tells(each, labels) for each in (*node.args, *_values(node)))


def _values(node: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in node.keywords]


def _tells(node: ast.expr, labels: frozenset[str]) -> bool:
    """Whether an argument is a name, or a list of names."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return bool(node.elts) and all(_tells(item, labels) for item in node.elts)
    return isinstance(node, ast.Constant) and node.value in labels


def _renames(node: ast.Call) -> bool:
    if node.keywords:
        return all(word.arg not in _OF_TABLES and _is_text(word.value) for word in node.keywords)
    several = len(node.args) > 1 and all(map(_is_name, node.args))
    starred = len(node.args) == 1 and isinstance(node.args[0], ast.Starred)
    return several or starred or [ast.dump(arg) for arg in node.args] == [_NONE]


_NONE: Final = ast.dump(ast.Constant(None))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Starred):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str | None | type(...))


def may_be_tensor(node: ast.expr) -> bool:
    """Whether an expression may well be a tensor: no module that handles files."""
    return not (isinstance(node, ast.Name) and node.id in ("os", "self", "cls", "shutil"))
