"""Nodes are found where `ast` locates an expression, and generated code keeps its form."""

from __future__ import annotations

import ast

import libcst
import pytest

from namecheck.editing.documents import Document
from namecheck.editing.edits import applied
from namecheck.editing.trees import Tree

PROGRAM = '''\
"""Doc."""
\x0cif (a + b):
\x0c  y = f(x for x in (y))
  z = (f
    .g(1)  # c
    .h)
  w = "a" "b"; q = not (x), *r
  k[1:2, ...] += (yield)
  \x0c  z9 = 1
  "é"; m(
      "ü",  # first
      n (1 ,2) ,
  )
  text = """
\x0c  kept {a}"""; lambda: (b, c)
'''.replace("  \x0c  z9", "\x0c  z9")


def calls(document: Document) -> list[ast.Call]:
    return [node for node in ast.walk(document.source.tree) if isinstance(node, ast.Call)]


def test_every_expression_is_found() -> None:
    document = Document.of(PROGRAM.encode(), "a.py")
    tree = Tree(document)
    passed = (ast.Starred, ast.Slice, ast.GeneratorExp, ast.Tuple)  # no expressions in libcst
    for node in ast.walk(document.source.tree):
        if isinstance(node, ast.expr) and not isinstance(node, passed):
            found = tree.expression(document.source.span(node))
            assert found is not None, ast.unparse(node)
            if isinstance(node, ast.Name):
                assert isinstance(found, libcst.Name)
                assert found.value == node.id


def test_a_change_that_changes_nothing() -> None:
    document = Document.of(PROGRAM.replace("\n", "\r\n").encode(), "a.py")
    tree = Tree(document)
    nodes = [tree.expression(document.source.span(call)) for call in calls(document)]
    edits = tree.edits({node: lambda same: same for node in nodes if node is not None})
    assert len(edits) == 3
    assert applied(document, edits).data == document.data


def test_changes_inside_changes() -> None:
    document = Document.of(b"if x:\n    y = (f(g(1),\n           2)  # c\n        .h(3))\n", "a.py")
    tree = Tree(document)
    h, f, g = (tree.expression(document.source.span(call)) for call in calls(document))
    assert h is not None
    assert f is not None
    assert g is not None

    def without_call(node: libcst.BaseExpression) -> libcst.BaseExpression:
        assert isinstance(node, libcst.Call)
        assert isinstance(node.func, libcst.Attribute)
        return node.func.value

    edits = tree.edits({h: without_call, g: lambda node: libcst.Name("new")})
    after = applied(document, edits)
    assert after.data == b"if x:\n    y = (f(new,\n           2))\n"


def test_further_lines_are_indented_as_before() -> None:
    text = """\
class A:
    @d(
        f(
            1
        )
    )
    def m(x):
        match (f(
            2
        )):
            case 1:
                f(
                    3
                )
"""
    document = Document.of(text.encode(), "a.py")
    tree = Tree(document)
    nodes = [tree.expression(document.source.span(call)) for call in calls(document)]
    edits = tree.edits({node: lambda same: same for node in nodes if node is not None})
    assert len(edits) == 3
    assert applied(document, edits).data == document.data


def test_what_libcst_cannot_parse() -> None:
    with pytest.raises(ValueError, match="libcst cannot parse it"):
        Tree(Document.of(b"x = = 1\n", "a.py"))
