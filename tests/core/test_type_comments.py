"""Type comments as annotations."""

import ast

from namecheck.core.type_comments import parsed


def test_a_text_without_type_comments_is_left_alone() -> None:
    assert parsed("x = 3") is None
    assert parsed("x = f()  # type: int") is None
    assert parsed("x = f()  # type: ignore['x']") is None


def test_a_comment_is_the_annotation_at_its_place() -> None:
    tree = parsed("y = 1\nx = f()  # type: Float[Tensor, 'n']\n")
    assert tree is not None
    assignment = tree.body[1]
    assert isinstance(assignment, ast.AnnAssign)
    assert ast.unparse(assignment.annotation) == "Float[Tensor, 'n']"
    assert (assignment.annotation.lineno, assignment.annotation.col_offset) == (2, 17)


def test_a_signature_leaves_out_self_and_what_is_annotated() -> None:
    signature = "    def f(self, x, y: int):\n        # type: (F['n'], str) -> F['m']\n"
    tree = parsed(f"class A:\n{signature}        pass")
    assert tree is not None
    assert "def f(self, x: F['n'], y: int) -> F['m']:" in ast.unparse(tree)


def test_a_comment_at_another_place_is_no_error() -> None:
    assert (
        parsed("# type: Float[Tensor, 'n']\nf(\n    1,\n)\nif x:  # type: F['n']\n    pass\n")
        is None
    )


def test_a_comment_that_is_no_expression_is_ignored() -> None:
    tree = parsed("x = f()  # type: 'see above' for its use\n")
    assert tree is not None
    assert isinstance(tree.body[0], ast.Assign)
