"""Random programs made of the fixtures: parts of one stand in another, at places of their kind.

The fixtures have every construct that the analysis knows, in programs that make sense; a graft has
them together with others, in loops, handlers and functions, where nobody has written them.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from functools import cache
from typing import Final

from tests import fixture_reader

_FOLDERS: Final = ("annotated", "natural", "programs", "silent", "unannotated")
_LARGEST: Final = 4_000
# Blocks around some statements; the last statement is where they go.
_FRAMES: Final = (
    "for _ in range(3):\n    pass",
    "while x:\n    pass",
    "if x:\n    pass",
    "try:\n    pass\nexcept Exception:\n    x = None",
    "with x as y:\n    pass",
    "def f(x, *args, y=1):\n    pass",
    "async def f(x):\n    pass",
    "class C(x):\n    pass",
    "match x:\n    case [y, *z]:\n        pass",
)


@cache
def _texts() -> Sequence[str]:
    """The fixtures that are not too large."""
    folders = [program for folder in _FOLDERS for program in fixture_reader.programs(folder)]
    texts = [program.text for program in (*folders, *fixture_reader.pages())]
    return sorted({text for text in texts if len(text) < _LARGEST})


def _tree(chance: random.Random) -> ast.Module:
    while True:
        try:
            return ast.parse(chance.choice(_texts()))
        except SyntaxError:  # a page shows what Python refuses
            continue


class _Parts:
    """The expressions that are read, and the lists of statements."""

    def __init__(self, tree: ast.AST) -> None:
        self.places: list[tuple[ast.AST, str, int | None]] = []
        self.bodies: list[list[ast.stmt]] = []
        for node in ast.walk(tree):
            for name, value in ast.iter_fields(node):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    self.bodies.append(value)
                elif isinstance(value, list):
                    self.places += [(node, name, n) for n, one in enumerate(value) if _reads(one)]
                elif _reads(value) and not isinstance(node, ast.FormattedValue | ast.MatchValue):
                    self.places.append((node, name, None))


def _reads(value: object) -> bool:
    """Whether something is an expression that any other may replace."""
    special = ast.Slice | ast.Starred | ast.JoinedStr | ast.FormattedValue
    context = getattr(value, "ctx", None)
    return (
        isinstance(value, ast.expr)
        and not isinstance(value, special)
        and (context is None or isinstance(context, ast.Load))
    )


def _expression(chance: random.Random, tree: ast.Module) -> ast.expr:
    """An expression of a tree."""
    places = _Parts(tree).places
    if not places:
        return ast.Constant(0)
    node, name, number = chance.choice(places)
    value: ast.expr | list[ast.expr] = getattr(node, name)
    return value if isinstance(value, ast.expr) else value[number or 0]


def _graft(chance: random.Random, tree: ast.Module, other: ast.Module) -> None:
    """Change one thing in a tree."""
    parts = _Parts(tree)
    body = chance.choice(parts.bodies or [tree.body])
    place = chance.randrange(len(body) + 1)
    match chance.randrange(8):
        case 0 | 1 | 2 if parts.places:
            source = other if chance.random() < 0.5 else tree
            node, name, number = chance.choice(parts.places)
            expression = ast.parse(ast.unparse(_expression(chance, source)), mode="eval").body
            if number is None:
                setattr(node, name, expression)
            else:
                getattr(node, name)[number] = expression
        case 3:
            pieces: list[list[ast.stmt]] = _Parts(other).bodies or [[ast.Pass()]]
            statements = chance.choice(pieces)
            body[place:place] = statements[: chance.randint(1, 4)]
        case 4:
            body[place:place] = body[: chance.randint(1, 3)]
        case 5 if len(body) > 1:
            del body[place : place + chance.randint(1, 2)]
        case 6:
            frame = ast.parse(chance.choice(_FRAMES)).body[0]
            block: ast.AST = frame
            while isinstance(block, ast.Match):
                block = block.cases[0]
            inner = body[place : place + 3]
            block.body = inner or [ast.Pass()]  # type: ignore[attr-defined]
            body[place : place + 3] = [frame]
        case _:
            chance.shuffle(body)


def program(seed: int) -> str:
    """The program of a seed."""
    chance = random.Random(seed)
    tree, other = _tree(chance), _tree(chance)
    text = ast.unparse(tree)
    for _ in range(chance.choice((1, 2, 4, 8))):
        tree = ast.parse(text)
        try:
            _graft(chance, tree, other)
            text = ast.unparse(ast.parse(ast.unparse(ast.fix_missing_locations(tree))))
        except (SyntaxError, ValueError):  # such as a slice outside of brackets
            continue
    return text
