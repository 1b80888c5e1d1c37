"""The column ``native`` of a row: the calls that torch 2.12 refuses under a condition.

A row whose result is the same in torch 2.12 lists the kernels that torch calls and that do not
support names, in the order in which torch meets them::

    native = "refuses(view(input) if dim = None; gather(input, index)) then refuses(sort(input))"

Each clause is a kernel of the dispatcher with the arguments that reach it, and perhaps a condition
(`namecheck.effects.conditions`); `namecheck.effects.words` has the grammar. The call is refused
where one of these arguments certainly has a name and the condition certainly holds. The clauses
after ``then`` are checked once the rule has accepted the call, and may use its ``result``. A kernel
that takes ``out`` is refused under the name of its ``out=`` variant. A word of `refusals.TEXTS` may
replace the kernel; a clause without arguments refuses every call. A condition may mention ``each``,
every single tensor of the clause: only those for which the condition holds are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from namecheck.core.names import Answer
from namecheck.effects import conditions
from namecheck.effects.words import Clause, RefusalCell, read_refusals
from namecheck.rules import refusals

Arguments = Mapping[str, Any]

OF_CLAUSES: Final = frozenset({"each", "result", "out"})
"""What a clause may mention beside the parameters of its row."""


def is_conditional(text: str) -> bool:
    """Whether the column holds clauses, and is neither a rule nor the plain ``refuses``."""
    return "(" in text


@cache
def read(text: str) -> RefusalCell:
    """Parse the column; raises `WordError` where it is malformed."""
    if not is_conditional(text):
        return RefusalCell()
    cell = read_refusals(text)
    for clause in cell.clauses:
        if clause.condition is not None:
            conditions.check(clause.condition)
    return cell


_OF_TENSORS: Final = frozenset({"numel", "is_complex"})


def reads_tensors(text: str) -> bool:
    """Whether a clause depends on the elements of a tensor, or on its dtype."""
    return not _OF_TENSORS.isdisjoint(_measures(text))


def reads_layouts(text: str) -> bool:
    """Whether a clause depends on the layout of a tensor."""
    return "layout" in _measures(text)


@cache
def _measures(text: str) -> frozenset[str]:
    conditions_of_clauses = (clause.condition for clause in read(text).clauses)
    return frozenset(
        word.name
        for condition in conditions_of_clauses
        if condition is not None
        for word in condition.words
    )


def check(clauses: Sequence[Clause], key: str, arguments: Arguments) -> None:
    """Raise `Contradiction` where torch 2.12 certainly refuses a call of the operator `key`."""
    for clause in clauses:
        _check(clause, key, arguments)


def _check(clause: Clause, key: str, arguments: Arguments) -> None:
    kernel, condition = clause.kernel, clause.condition
    operands = [arguments.get(operand) for operand in kernel.arguments]
    if condition is not None:
        if "each" in condition.parameters:
            operands = [
                tensor
                for tensor in _flat(operands)
                if conditions.holds(condition, {**arguments, "each": tensor})
            ]
        elif not conditions.holds(condition, arguments):
            return
    if text := refusals.TEXTS.get(kernel.name):
        if not kernel.arguments or refusals.has_named(operands) is Answer.YES:
            raise text(key, arguments)
    else:
        into = "out" in kernel.arguments and arguments.get("out") is not None
        name = refusals.variant(kernel.name, inplace=False, out=into)
        refusals.refuse_named(name, operands)


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from value
        else:
            yield value
