"""Selects the definitions of a file that may contribute to names.

Most functions neither name a dim nor call one that does: run on arguments without names, they have
no finding. The selection goes by identifiers. A definition is relevant if it uses a word of the
naming API, or the name of a relevant definition, or if its own name is used, directly or through
others, by a definition that uses a word of the naming API, for it may make the names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from namecheck.annotations.declarations import DTYPES
from namecheck.core.syntax import LAYERS, Source
from namecheck.core.trees import add_children, children, is_reversed, last_word, nodes
from namecheck.interpreter.domain import scopes
from namecheck.operators.shipped import column

SIZES: Final = frozenset(
    {
        "shape", "size", "rearrange", "einsum", "reduce", "repeat",
        "check_shape", "assert_shape", "ensure_shape", "validate_shape", "KORNIA_CHECK_SHAPE",
    }
)  # fmt: skip
"""The words that read or check the sizes of a tensor, or name its dims in a pattern."""
SIZED: Final = LAYERS | {
    "arange", "eye", "expand", "linspace", "meshgrid", "reshape", "unflatten", "view",
}  # fmt: skip
"""The words of what makes tensors or weights of the sizes that are given, and reads none."""
REDUCED: Final = "reduced along a dim"
"""Stands for a reduction along a dim that is not the first one, and is not kept: ``x.mean(1)``."""
# Words that are no operators: keywords of calls, and classes that have a dtype.
_OF_ATTRIBUTES: Final = frozenset({"memory_format", "out", "finfo", "iinfo", "Parameter"})
# Libraries whose arrays, images and frames have a shape.
_OF_ARRAYS: Final = frozenset(
    {
        "PIL", "SimpleITK", "awkward", "casadi", "cupy", "cv2", "cvxpy", "dask", "h5py",
        "imageio", "jax", "mlx", "mxnet", "netCDF4", "nibabel", "numpy", "open3d", "paddle",
        "pandas", "polars", "pyarrow", "scipy", "shapely", "skimage", "sklearn", "sympy",
        "tensorflow", "tinygrad", "trimesh", "xarray", "zarr",
    }
)  # fmt: skip


@cache
def naming_words() -> frozenset[str]:
    """The words of the naming API: those of the rows with ``relevance = "names"``."""
    return _words("names") | {"reveal_names"}


@cache
def attribute_words() -> frozenset[str]:
    """The words that set or query the dtype, device or memory order of a tensor.

    They are those of the rows with ``relevance = "attributes"``, and a few that are in no row.
    """
    return _words("attributes") | _OF_ATTRIBUTES


@cache
def _reductions() -> frozenset[str]:
    """The words of the operators that reduce a dim."""
    return _words("reduces", "flow") | _words("selects", "flow")


def _words(cell: str, name: str = "relevance") -> frozenset[str]:
    words = column(name).items()
    return frozenset(key.rpartition(".")[2] for key, word in words if word == cell)


@cache
def in_place() -> frozenset[str]:
    """The methods that rename their receiver, permute its names, or give it another shape."""
    words = column("inplace").items()
    return frozenset(f"{key.removesuffix('_')}_" for key, word in words if word == "becomes")


def mentions_attributes(definition: ast.AST, cached: dict[ast.AST, bool]) -> bool:
    """Whether a definition has a word of `attribute_words`.

    `cached` has the answers for the definitions of the file so far.
    """
    answer = cached.get(definition)
    if answer is None:
        answer = cached[definition] = _mentions(definition, cached)
    return answer


def _mentions(definition: ast.AST, cached: dict[ast.AST, bool]) -> bool:
    words = attribute_words()
    inner_definitions: list[ast.AST] = []
    own = [definition]
    for node in own:  # the loop appends to it
        if isinstance(node, ast.Attribute):
            if node.attr in words:
                return True
        elif isinstance(node, ast.keyword):
            if node.arg in words:
                return True
        elif isinstance(node, _DEFINITIONS) and node is not definition:
            inner_definitions.append(node)
            continue
        add_children(node, own)
    return any(mentions_attributes(node, cached) for node in inner_definitions)


def renames_in_place(source: Source) -> bool:
    """Whether a file renames tensors or permutes their names in place."""
    methods = in_place()
    text = source.text
    if text.isascii() and "names" not in text and not any(word in text for word in methods):
        return False
    for node in nodes(source.tree):
        if isinstance(node, ast.Attribute):
            set_ = node.attr == "names" and isinstance(node.ctx, ast.Store)
            if set_ or node.attr in methods:
                return True
    return False


def has_arrays(source: Source) -> bool:
    """Whether a file imports a library whose arrays, images or frames have a shape.

    So does one that has arrays from elsewhere, which it takes backwards, ``x[:, ::-1]``, or casts.
    """
    for statement in scopes.statements(source.tree):
        if isinstance(statement, ast.Import):
            modules = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            modules = [statement.module or ""]
        else:
            continue
        if any(module.partition(".")[0] in _OF_ARRAYS for module in modules):
            return True
    return any(map(_is_of_arrays, nodes(source.tree)))


def _is_of_arrays(node: ast.AST) -> bool:
    """Whether only an array has a method, or can be sliced so: a list has no second dim."""
    if isinstance(node, ast.Attribute):
        return node.attr == "astype"
    return is_reversed(node) and isinstance(node.slice, ast.Tuple)


def relevant_definitions(tree: ast.Module, vocabulary: frozenset[str]) -> frozenset[ast.AST]:
    """The functions, lambdas and classes of a file that are relevant to a vocabulary."""
    units: list[_Unit] = []
    _collect(tree, units)
    naming = [unit for unit in units if unit.words & vocabulary]
    users = _spread(units, vocabulary, lambda unit: unit.words, lambda unit: unit.binds)
    words = frozenset().union(*(unit.words for unit in naming))
    suppliers = _spread(units, words, lambda unit: unit.binds, lambda unit: unit.words)
    return frozenset(unit.node for unit in (*users, *suppliers))


class _Unit(NamedTuple):
    """A definition or an assignment: the words that it uses, and the words that it binds."""

    node: ast.AST
    words: frozenset[str]
    binds: frozenset[str]


def _spread(
    units: list[_Unit],
    vocabulary: frozenset[str],
    asks: Callable[[_Unit], frozenset[str]],
    gives: Callable[[_Unit], frozenset[str]],
) -> list[_Unit]:
    """The units reached from some words: a unit that asks for a reached word adds its own."""
    asking: dict[str, list[int]] = {}
    for number, unit in enumerate(units):
        for word in asks(unit):
            asking.setdefault(word, []).append(number)
    reached: dict[int, None] = {}
    words = list(vocabulary)
    while words:
        # Each word is looked up once: the units that ask for it are removed with it.
        for number in asking.pop(words.pop(), ()):
            if number not in reached:
                reached[number] = None
                words += gives(units[number])
    return [units[number] for number in reached]


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LEAVES: Final = (ast.Name, ast.Constant)
_BINDINGS: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Expr)


def _collect(root: ast.AST, units: list[_Unit]) -> None:
    """Add every unit below a node, inner ones first, with all the words below it."""
    # Each entry: a node, its words and bound words so far, the children that are still to visit.
    stack = [(root, set[str](), set[str](), iter(children(root)))]
    while stack:
        node, words, binds, rest = stack[-1]
        child = next(rest, None)
        if isinstance(child, _LEAVES):
            _note(child, words, binds)
            continue
        if child is not None:
            stack.append((child, set(), set(), iter(children(child))))
            continue
        stack.pop()
        _note(node, words, binds)
        if isinstance(node, _DEFINITIONS):
            units.append(_Unit(node, frozenset(words), frozenset({node.name})))
            binds = {node.name}
        elif isinstance(node, (ast.Lambda, *_BINDINGS)):
            units.append(_Unit(node, frozenset(words), frozenset(binds)))
        if stack:
            stack[-1][1].update(words)
            stack[-1][2].update(binds)


def _note(node: ast.AST, words: set[str], binds: set[str]) -> None:
    """Add the word that a node itself uses or binds."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        word = node.id if isinstance(node, ast.Name) else node.attr
        words.add(word)
        if isinstance(node.ctx, ast.Store):
            binds.add(word)
    elif isinstance(node, ast.keyword) and node.arg:
        words.add(node.arg)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _reductions() and _loses_a_dim(node):
            words.add(REDUCED)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value == "names" or ("[" in node.value and re.search(_QUOTED, node.value)):
            words.add("names")
    elif isinstance(node, ast.Subscript) and _declares(node):
        words.add("names")


def _loses_a_dim(call_node: ast.Call) -> bool:
    """Whether a reduction is along a dim that is counted from the first, and loses it."""
    if any(keyword.arg == "keepdim" for keyword in call_node.keywords):
        return False
    dims = [*call_node.args, *(word.value for word in call_node.keywords if word.arg == "dim")]
    last = dims[-1] if dims else None
    each = last.elts if isinstance(last, (ast.Tuple, ast.List)) else [last]
    indices = [part.value for part in each if isinstance(part, ast.Constant)]
    return any(type(index) is int and index > 0 for index in indices)


_ANNOTATIONS: Final = frozenset({*DTYPES, "Annotated"})
_QUOTED: Final = rf"\b(?:{'|'.join(sorted(_ANNOTATIONS))})\["


def _declares(subscript: ast.Subscript) -> bool:
    """Whether a subscript is an annotation of dims: ``Float[Tensor, "batch dim"]``.

    Its word may be an alias, so that a tensor before a text is one too.
    """
    parts = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else []
    if not any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts):
        return False
    return last_word(subscript.value) in _ANNOTATIONS or last_word(parts[0]) == "Tensor"
