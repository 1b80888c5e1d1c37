"""Uses of names visible in the text alone, where the analysis observed no tensor."""

from __future__ import annotations

import ast
from typing import Final

from namecheck import operators
from namecheck.core.trees import last_word
from namecheck.migration.observations import Observed

# Attributes that only tensors have.
_OF_TENSORS: Final = frozenset({"refine_names", "align_to", "align_as", "has_names", "rename_"})
# Keywords for names of other things than dims.
_OF_TABLES: Final = frozenset({"axis", "columns", "copy", "index", "inplace", "level", "mapper"})


def uses_names(tree: ast.AST) -> bool:
    """Whether the text of a file shows uses of the named tensors of torch 2.12."""
    return any(map(_gives_names, ast.walk(tree)))


def _gives_names(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        stored = node.attr == "names" and isinstance(node.ctx, ast.Store)
        return stored or node.attr in _OF_TENSORS or node.attr in ("rename", "unflatten")
    if isinstance(node, ast.keyword):
        return node.arg == "names"
    return isinstance(node, ast.Constant) and node.value in ("names", *_OF_TENSORS)


def may_be_left(tree: ast.AST) -> bool:
    """Whether an earlier run may have left places in a file: its annotations have the names."""
    subscripts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    annotations = [node for each in subscripts if _annotates(each) for node in ast.walk(each.slice)]
    words = {word for node in annotations for word in _text(node).split()}
    inside = set(map(id, annotations))
    return bool(words) and any(
        (isinstance(node, ast.Attribute) and node.attr == "names")
        or (_text(node) in words and id(node) not in inside)
        for node in ast.walk(tree)
    )


def _annotates(subscript: ast.Subscript) -> bool:
    return last_word(subscript.value) == "Annotated"


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def own_names(tree: ast.AST) -> frozenset[str]:
    """The classes and functions of a file, and its imports from other modules than torch."""
    defined: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            defined.add(node.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] != "torch":
            defined.update(alias.asname or alias.name for alias in node.names)
    return frozenset(defined)


def doubt(
    use: ast.Call | ast.Attribute,
    observed: Observed,
    labels: frozenset[str],
    defined: frozenset[str],
) -> str | None:
    """The reason to leave a place that uses the names of a tensor; None where it does not.

    `labels` are the names that tensors have in the file, `defined` what it defines itself.
    """
    decisive = observed.decisive
    if isinstance(use, ast.Call) and _makes(use, labels, defined):
        return "the object that is made here is never called"
    if decisive.otherwise and not (decisive.unknown or decisive.open):
        return None
    if not _uses_names(use, labels):
        return None
    if not decisive.otherwise:
        return "the analysis does not reach it"
    if decisive.open:
        return "its arguments are not known"
    return "the receiver is not known"


def _uses_names(use: ast.Call | ast.Attribute, labels: frozenset[str]) -> bool:
    if isinstance(use, ast.Attribute):
        return use.attr == "names" and may_be_tensor(use.value)
    called = use.func
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr in _OF_TENSORS:
        return True
    if called.attr == "rename":
        return may_be_tensor(called.value) and _renames(use)
    return called.attr in operators.table() and any(
        _is_of_labels(argument, labels) for argument in (*use.args, *_values(use))
    )


def _makes(call_node: ast.Call, labels: frozenset[str], defined: frozenset[str]) -> bool:
    """Whether it makes a layer, or a partial function, from a name."""
    called = call_node.func
    word = last_word(called)
    if word.startswith("partial"):
        of_own = bool(call_node.args) and getattr(call_node.args[0], "id", "") in defined
        rest = (*call_node.args[1:], *_values(call_node))
        return not of_own and any(_is_of_labels(each, labels) for each in rest)
    is_own = isinstance(called, ast.Name) and word in defined
    if is_own or f"nn.{word}" not in operators.table():
        return False
    return any(_is_of_labels(each, labels) for each in (*call_node.args, *_values(call_node)))


def _values(call_node: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call_node.keywords]


def _is_of_labels(expression: ast.expr, labels: frozenset[str]) -> bool:
    """Whether an argument is a name, or a list of names."""
    if isinstance(expression, (ast.Tuple, ast.List)):
        return bool(expression.elts) and all(
            _is_of_labels(item, labels) for item in expression.elts
        )
    return isinstance(expression, ast.Constant) and expression.value in labels


def _renames(call_node: ast.Call) -> bool:
    if call_node.keywords:
        return all(
            word.arg not in _OF_TABLES and _is_text(word.value) for word in call_node.keywords
        )
    several = len(call_node.args) > 1 and all(map(_is_name, call_node.args))
    starred = len(call_node.args) == 1 and isinstance(call_node.args[0], ast.Starred)
    return several or starred or [ast.dump(arg) for arg in call_node.args] == [_NONE]


_NONE: Final = ast.dump(ast.Constant(None))


def _is_text(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and isinstance(expression.value, str)


def _is_name(expression: ast.expr) -> bool:
    if isinstance(expression, ast.Starred):
        return True
    return isinstance(expression, ast.Constant) and isinstance(
        expression.value, str | None | type(...)
    )


def may_be_tensor(expression: ast.expr) -> bool:
    """Whether an expression may well be a tensor, and not for instance a module for files."""
    return not (
        isinstance(expression, ast.Name) and expression.id in ("os", "self", "cls", "shutil")
    )
