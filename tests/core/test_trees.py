"""Walks over syntax trees, compared with `ast.walk`, over this package and unusual syntax."""

from __future__ import annotations

import ast
from pathlib import Path

import namecheck
from namecheck.core.trees import children, nodes

ODD = """
import a.b as c
from ..d import e as f, g
def h(i, /, j: int = 1, *k, l, m=2, **n) -> "o":
    global p, q
    def r():
        nonlocal i
        yield (yield from s)
    async with t as u, v: pass
    return {**w, 1: 2}, [*x], {y for y in z if y}, f"{i!r:{j}}", (lambda *, a, b=1: a)(b=c, **d)
match a:
    case {"b": 1, **rest}: pass
    case [1, *others] | None: pass
    case Point(x=0, y=Other()) as point if point: pass
try: pass
except (A, B) as error: raise C from error
else: del d[1:2, ...], d.e
if (walrus := 1) < 2 <= -3 and not x: x += 1
"""


def _all_but_words(tree: ast.AST) -> list[ast.AST]:
    words = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    return [node for node in ast.walk(tree) if not isinstance(node, words)]


def test_nodes_are_those_of_ast() -> None:
    folder = Path(namecheck.__file__).parent
    texts = [path.read_text() for path in (folder / "core").glob("*.py")]
    for text in [ODD, *texts]:
        tree = ast.parse(text)
        assert nodes(tree) == _all_but_words(tree)


def test_children_of_made_nodes() -> None:
    made = ast.Expr(ast.Yield(ast.Name("item", ast.Load())))
    assert nodes(made) == _all_but_words(made)
    assert children(ast.Name("item")) == []
