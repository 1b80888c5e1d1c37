"""Tensors of a rank that code refuses: ``b, c, h, w = x.shape`` of three dims, a test that raises.

The finding is made where the tensor was passed: a function says by its unpackings and tests which
ranks it takes. Where it branched before on what nobody knows, its caller may mean another branch.
"""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.dims import Dims
from namecheck.core.names import Contradiction
from namecheck.core.syntax import Located as Node
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import TensorValue
from namecheck.interpreter.evaluation import guards, shape_tests
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# The place of a tensor that no call has passed.
_HERE: Final = ""


def refuse(
    interpreter: Interpreter,
    tensor_value: TensorValue,
    node: Node,
    demand: str,
    store: Store,
    frame: Frame,
    *,
    error: str = "ValueError",
) -> None:
    """Report a tensor whose rank the code at a node does not take; `demand` says what it takes."""
    where = _passed(tensor_value, node, frame, error)
    if where is None:
        return
    if frame.catches(error):
        interpreter.fail(error)  # the function itself has another case for such a tensor
    caller, site, argument = where
    content = joins.held(tensor_value, store)
    contradiction = wrong_rank(content.tensor.dims, demand, error)
    here = interpreter.place(node, "read here")
    source = interpreter.context.source_of(caller.environment)
    with interpreter.file.switched(source), interpreter.findings.judged.stage(argument):
        origins = tuple(content.origins.values())[:1]
        places = origins if site is node else (here, *origins)
        there = store if frame is caller else _store_of(frame, caller) or store
        interpreter.report(
            contradiction, site, there, caller, (), places, by_axes=True, is_observed=True
        )


def demand_of_sizes(count: int, shape_text: str, *, is_least: bool) -> str:
    """What code that reads so many sizes demands: ``3 sizes are read of x.shape``."""
    return f"{'at least ' if is_least else ''}{count} sizes are read of {shape_text}"


def wrong_rank(dims: Dims, demand: str, error: str = "ValueError") -> Contradiction:
    """The contradiction between the dims of a tensor and what code demands of their number."""
    count = len(dims.prefix)
    plural = "" if count == 1 else "s"
    message = f"{demand}, but the tensor has {count} dim{plural}: {dims.show()}."
    words = [str(name) for name in dims.names]
    help = "Pass a tensor with the dims that the code takes."
    return Contradiction("NC207", message, error=error, names=words, help=help)


def accept(interpreter: Interpreter, tensor_value: TensorValue, node: Node, frame: Frame) -> None:
    """Note that the code at a node takes a tensor: on this path its rank is right."""
    where = _passed(tensor_value, node, frame)
    if where is not None:
        caller, site, argument = where
        interpreter.findings.judged.hear_argument(caller.environment.number, site, argument)


def check_guard(
    interpreter: Interpreter,
    test: ast.expr,
    raised: ast.expr | None,
    store: Store,
    frame: Frame,
) -> None:
    """Report a test of the rank of an argument that certainly leads to a ``raise``."""
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        error = guards.error_of(interpreter, raised, store, frame)
    demand = f"'{frame.name}' raises an error where `{ast.unparse(test)}`"
    _check(interpreter, test, demand, store, frame, error or "RuntimeError")


def check_assertion(interpreter: Interpreter, test: ast.expr, store: Store, frame: Frame) -> None:
    """Report an assertion about the rank of an argument that certainly fails."""
    demand = f"'{frame.name}' asserts `{ast.unparse(test)}`"
    _check(interpreter, test, demand, store, frame, "AssertionError")


def _check(
    interpreter: Interpreter, test: ast.expr, demand: str, store: Store, frame: Frame, error: str
) -> None:
    subject = _subject(test)
    if subject is None:
        return
    with interpreter.findings.silenced(), interpreter.progress.unaffected():
        value = interpreter.evaluate(subject, store, frame)
    if not isinstance(value, TensorValue) or joins.held(value, store).tensor.dims.open:
        return
    where = _passed(value, subject, frame)
    if where is None or where[0] is frame:
        return
    refuse(interpreter, value, subject, demand, store, frame, error=error)


def _subject(test: ast.expr) -> ast.Name | None:
    """The variable whose rank alone a test is about."""
    expressions = [each for each in nodes(test) if isinstance(each, ast.expr)]
    subjects = list(map(shape_tests.subject_of_rank, expressions))
    words = {each.id for each in subjects if isinstance(each, ast.Name)}
    others = {each.id for each in nodes(test) if isinstance(each, ast.Name)} - {"len"}
    # ``x.ndim != len(names)`` is about the rank of one tensor, whatever it is compared with.
    if len(words) != 1 or (others != words and not isinstance(test, ast.Compare)):
        return None
    return next(each for each in subjects if isinstance(each, ast.Name))


def _passed(
    tensor_value: TensorValue, node: Node, frame: Frame, error: str | None = None
) -> tuple[Frame, Node, str] | None:
    """Where a tensor was passed to the code that reads its rank: at a call, or here.

    Of a call it tells the argument, too: another one may have the right rank. None where a branch
    on the way may be another one than that of the caller, or where a function on the way catches
    the error.
    """
    if frame.undecided or frame.exits:
        return None
    argument = _argument(tensor_value, frame) if frame.is_called else None
    if argument is None:
        return frame, node, _HERE
    caller, site = frame.caller, frame.site
    if caller is None or site is None:
        return None
    where = _passed(tensor_value, site, caller, error)
    if where is not None and where[0] is caller:
        return caller, site, argument
    return None if error is not None and caller.catches(error) else where


def _argument(tensor_value: TensorValue, frame: Frame) -> str | None:
    """Which argument of the call that entered a frame a tensor is: its keyword, or its number."""
    call = frame.call
    if call is None:
        return None
    by_word = {str(number): value for number, value in enumerate(call.args)} | call.kwargs
    for word, value in by_word.items():
        if isinstance(value, TensorValue) and value.address == tensor_value.address:
            return word
    return None


def _store_of(frame: Frame, caller: Frame) -> Store | None:
    """The store of a caller when it made the call that led to a frame."""
    current = frame
    while current.caller is not None and current.caller is not caller:
        current = current.caller
    return None if current.call is None else current.call.store
