"""What the code itself says to be meant, although it contradicts the names of its dims."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.findings import Place
from namecheck.core.names import Axis, Contradiction
from namecheck.core.sizes import Expression
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.core.trees import is_name, last_word, nodes
from namecheck.interpreter.domain import equalities
from namecheck.interpreter.domain.scopes import bound, defaults
from namecheck.interpreter.domain.size_symbols import CHOICE
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import LEARNED, tag_of
from namecheck.interpreter.domain.values import TensorValue, Value
from namecheck.interpreter.evaluation.both_ways import is_aligned_both_ways
from namecheck.interpreter.evaluation.frames import Frame, is_within, outside_comprehensions
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.repeated_factors import is_chain
from namecheck.interpreter.models.observed_results import is_unordered
from namecheck.interpreter.models.observed_sizes import declare
from namecheck.interpreter.models.torch import origins

# The words in the names of functions whose views are no mistaken transposes: among them those that
# pack weights in the order in which a kernel reads them, or tell the layout of these.
_CUTTING: Final = re.compile(
    r"shift(?![a-z])|skew|interleave|shuffle|icnr|swizzle|pack\w*(?:weight|scale|zero|int\d)"
    r"|(?:weight|filter)s?_layout"
)
_EXCHANGING: Final = frozenset({"movedim", "permute", "swapaxes", "swapdims", "transpose"})
# The words of the sides of an image.
_HEIGHTS: Final = frozenset({"h", "height"})
_WIDTHS: Final = frozenset({"w", "width"})
# Contradictions about the place of a name in a broadcast.
_OF_PLACES: Final = ("NC101", "NC102")
# Contradictions about sizes that are sums.
_OF_SIZES: Final = ("NC201", "NC202")
# Contradictions about dims, and those about their number.
_OF_DIMS: Final = ("NC1", "NC2")
_OF_RANKS: Final = ("NC203", "NC206", "NC207")


def is_on_purpose(
    contradiction: Contradiction,
    node: Node,
    lowered_operands: Sequence[Any],
    every: Sequence[Value],
    store: Store,
    frame: Frame,
) -> bool:
    """Whether the code around a call says that what contradicts its names is meant.

    A function may cut the rows of a tensor anew, as it says itself: `relative_shift`; so may one
    that packs weights for a kernel. The elements of a parameter have the order in which the program
    reads them, and those that were just drawn have none. Where a flag says whether dims are
    exchanged before a view, or in it, either order of the elements is meant. One vector for the
    rows and for the columns is that of a symmetric matrix. The matrices that a loop multiplies have
    sides of their own.
    """
    if declare(lowered_operands):
        return False
    if contradiction.code in _OF_PLACES:
        scope = frame.environment.scope
        return is_aligned_both_ways(node, scope) or is_chain(node, scope)
    if contradiction.code != "NC115":
        return False
    if any(isinstance(value, TensorValue) and tag_of(value.tags, LEARNED) for value in every):
        return True
    if any(is_unordered(value, store) for value in every):
        return True
    if _CUTTING.search(frame.name.lower()) is not None:
        return True
    callee = node.func if isinstance(node, ast.Call) else None
    viewed = callee.value if isinstance(callee, ast.Attribute) else None
    scope = frame.environment.scope
    if not isinstance(callee, ast.Attribute) or not isinstance(viewed, ast.Name):
        return False
    return _is_exchanged_by_flag(viewed.id, scope) or _is_viewed_both_ways(callee, scope)


def _is_viewed_both_ways(viewing: ast.Attribute, definition: ast.AST) -> bool:
    """Whether a view in one branch of a test exchanges sizes of a view of the same variable there.

    The branches differ by the order that the elements have: ``x.view(b, m, h)``, ``x.view(b, h,
    m)``.
    """
    for node in nodes(definition):
        if isinstance(node, ast.If) and node.orelse:
            own, others = (_views(branch, viewing) for branch in (node.body, node.orelse))
            is_here = any(view.func is viewing for view in (*own, *others))
            if is_here and any(_exchange(one, other) for one, other in product(own, others)):
                return True
    return False


def _views(branch: Sequence[ast.stmt], viewing: ast.Attribute) -> list[ast.Call]:
    """The views in a branch of the variable of a view."""
    text = ast.dump(viewing.value)
    return [
        node
        for node in nodes(*branch)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == viewing.attr
        and ast.dump(node.func.value) == text
    ]


def _exchange(view: ast.Call, other_view: ast.Call) -> bool:
    """Whether two views have some sizes in another order."""
    texts = [[ast.dump(size) for size in each.args] for each in (view, other_view)]
    common = set(texts[0]) & set(texts[1])
    own, others = ([text for text in each if text in common] for each in texts)
    return own != others


def of_height_one(
    contradiction: Contradiction, lowered_operands: Sequence[Any], store: Store, frame: Frame
) -> Store | None:
    """A layer in which the height of an image is 1 that a function reads, but never uses.

    A line of text has the height 1 behind the layers that read it: ``n, c, h, w = x.shape``, then
    ``x.transpose(1, 3).reshape(-1, w, c)``.
    """
    if contradiction.code != "NC115":
        return None
    for operand in lowered_operands:
        axes = [
            (naming.bare(dim.name.name), dim.size)
            for dim in (operand.dims.prefix if isinstance(operand, Tensor) else ())
            if isinstance(dim.name, Axis) and isinstance(dim.size, Expression)
        ]
        if not any(word.lower() in _WIDTHS for word, _ in axes):
            continue
        for word, size in axes:
            if word.lower() in _HEIGHTS and _is_never_read(word, frame.environment.scope):
                layer = store.fork()
                equalities.equate(size, 1, layer)
                return layer
    return None


def _is_never_read(word: str, definition: ast.AST) -> bool:
    uses = [each for each in nodes(definition) if isinstance(each, ast.Name) and each.id == word]
    return len(uses) == 1 and isinstance(uses[0].ctx, ast.Store)


def _is_exchanged_by_flag(word: str, definition: ast.AST) -> bool:
    """Whether a flag alone decides if the dims of a variable are exchanged: ``if self.mix:``."""
    for node in nodes(definition):
        if not isinstance(node, ast.If) or not isinstance(node.test, (ast.Name, ast.Attribute)):
            continue
        for statement in node.body:
            if not isinstance(statement, ast.Assign) or not is_name(statement.targets[0], word):
                continue
            called = [each.func for each in nodes(statement.value) if isinstance(each, ast.Call)]
            if any(getattr(each, "attr", "") in _EXCHANGING for each in called):
                return True
    return False


def may_be_nothing(
    interpreter: Interpreter, contradiction: Contradiction, lowered_operands: Sequence[Any]
) -> bool:
    """Whether a size has a summand that may be 0, as the file itself says: ``controls > 0``.

    One of several numbers may be 0 as well, ``extra if wide else 0``, and so may a parameter that
    is 0 by default, or None.
    """
    if contradiction.code not in _OF_SIZES:
        return False
    words = set(_summands(lowered_operands))
    if CHOICE in words:
        return True
    return bool(words) and not words.isdisjoint(_possibly_zero(interpreter.source.tree))


def _summands(lowered_operands: Sequence[Any]) -> Iterator[str]:
    """The words of the numbers that are added in a size."""
    for operand in lowered_operands:
        sizes = operand.dims.sizes if isinstance(operand, Tensor) else [operand]
        for size in sizes:
            terms = size.terms if isinstance(size, Expression) else ()
            for monomial, _ in terms if len(terms) > 1 else ():
                for atom in monomial:
                    if isinstance(atom, str) and naming.is_number(atom):
                        yield naming.bare(atom).rpartition(".")[2]


def _possibly_zero(tree: ast.AST) -> Iterator[str]:
    """The words that tests compare with 0, but for those that end the program otherwise.

    And those of the parameters that are 0 by default, or None, which nothing replaces: who has
    none of these things passes 0.
    """
    for node in nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (name for name, default in defaults(node.args) if _is_zero(default))
            yield from _left_out(node)
        if isinstance(node, ast.IfExp) or (isinstance(node, ast.If) and not _raises(node)):
            for part in nodes(node.test):
                if isinstance(part, ast.Compare) and _is_zero(part.comparators[-1]):
                    yield last_word(part.left)
            yield from _tested(node.test)


def _left_out(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The parameters that are None by default, and for which the function has no other value."""
    optional = {
        name
        for name, default in defaults(definition.args)
        if isinstance(default, ast.Constant) and default.value is None
    }
    if optional:
        yield from optional.difference(*map(bound, definition.body))


def _tested(test: ast.expr) -> Iterator[str]:
    """The words of which a test asks whether they are 0, as ``if not extra:``."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _tested(part)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _tested(test.operand)
    elif isinstance(test, (ast.Name, ast.Attribute)):
        yield last_word(test)


def _raises(branch: ast.If) -> bool:
    return any(isinstance(statement, ast.Raise) for statement in branch.body)


def _is_zero(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value == 0


def is_of_another_case(
    interpreter: Interpreter,
    contradiction: Contradiction,
    lowered_operands: Sequence[Any],
    every: Sequence[Value],
    store: Store,
    frame: Frame,
) -> bool:
    """Whether a function that was called handles a case here that may not be that of its caller.

    It has branched on what nobody knows, as the rank or the kind of an argument, or a flag of its
    object, or has returned for another case, and neither it nor a function that it calls there has
    read what contradicts: one size that it has read says nothing of the rank.
    """
    undecided = _undecided(frame, deep=contradiction.code.startswith(_OF_DIMS))
    if undecided is None or declare(lowered_operands):
        return False
    if contradiction.code in _OF_RANKS:
        return True
    places = origins.gather(every, store)
    read = [place for word, place in places.items() if word in contradiction.names]
    return not read or not all(_is_within(interpreter, each, frame, undecided) for each in read)


def is_in_undecided_case(frame: Frame) -> bool:
    """Whether a function that was called has branched on what nobody knows."""
    return _undecided(frame) is not None


def _undecided(frame: Frame, *, deep: bool = False) -> Frame | None:
    """The function that is running, if it was called and has branched on what nobody knows.

    After a branch that returns, the rest of the function is another case.

    If `deep`, the nearest one of the functions that have called each other.
    """
    frames = [*map(outside_comprehensions, frame.stack())]
    called = (each for each in frames[: None if deep else 1] if each.is_called)
    return next((each for each in called if each.undecided or each.exits), None)


def _is_within(interpreter: Interpreter, place: Place, frame: Frame, outermost: Frame) -> bool:
    """Whether a place is in one of the functions that are running from the outermost one on."""
    for each in map(outside_comprehensions, frame.stack()):
        if is_within(place, each, interpreter.context.source_of(each.environment)):
            return True
        if each is outermost:
            break
    return False
