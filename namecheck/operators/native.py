"""The column ``native`` of a row: the calls that torch 2.12 refuses under a condition.

A row whose result is the same in torch 2.12 lists the kernels that torch calls and that do not
support names, in the order in which torch meets them::

    native = "refuses(view(input) if dim is None; gather(input, index)) then refuses(sort(input))"

Each clause is a kernel of the dispatcher with the arguments that reach it, and perhaps a condition.
The call is refused where one of these arguments certainly has a name and the condition certainly
holds. The clauses after ``then`` are checked once the rule has accepted the call, and may use its
``result``. A kernel that takes ``out`` is refused under the name of its ``out=`` variant. A word of
`refusals.TEXTS` may replace the kernel; a clause without arguments refuses every call.

A condition is an expression of Python over the parameters of the row: comparisons, ``and``, ``or``,
numbers, strings, None, and the functions in `FUNCTIONS`. A parameter that the overload does not
have is None. ``each`` is every single tensor of the clause: only those for which the condition
holds are refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.dims import product
from namecheck.core.names import UNKNOWN, Answer, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Constant, Tensor
from namecheck.rules import refusals

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Clause:
    """One kernel (or text) that refuses some arguments, perhaps under a condition."""

    kernel: str
    operands: tuple[str, ...]
    condition: ast.expr | None

    @property
    def names(self) -> frozenset[str]:
        """The arguments that the clause uses."""
        return frozenset(self.operands).union(_names(self.condition) if self.condition else ())

    def check(self, key: str, arguments: Arguments) -> None:
        """Raise `Contradiction` where torch 2.12 certainly refuses a call of the operator `key`."""
        operands = [arguments.get(operand) for operand in self.operands]
        if self.condition is not None:
            if "each" in _names(self.condition):
                operands = [
                    tensor
                    for tensor in _flat(operands)
                    if _value(self.condition, {**arguments, "each": tensor}) is True
                ]
            elif _value(self.condition, arguments) is not True:
                return
        if text := refusals.TEXTS.get(self.kernel):
            if not self.operands or refusals.named(operands) is Answer.YES:
                raise text(key)
        else:
            into = "out" in self.operands and arguments.get("out") is not None
            kernel = refusals.variant(self.kernel, inplace=False, out=into)
            refusals.refuse_named(kernel, operands)


@dataclass(frozen=True, slots=True)
class Refusals:
    """The clauses of a row, those before its rule and those after it."""

    before: tuple[Clause, ...] = ()
    after: tuple[Clause, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The arguments that the clauses use."""
        return frozenset().union(*(clause.names for clause in self.before + self.after))


_NONE: Final = Refusals()


def is_conditional(text: str) -> bool:
    """Whether the column holds clauses, and is neither a rule nor the plain ``refuses``."""
    return "(" in text


@cache
def parse(text: str) -> Refusals:
    """Parse the column; raises ValueError where it is malformed."""
    if not is_conditional(text):
        return _NONE
    before, then, after = text.rpartition("then ")
    if not then:
        before, after = after, ""
    return Refusals(tuple(_clauses(before.strip())), tuple(_clauses(after.strip())))


def _clauses(text: str) -> Iterator[Clause]:
    if not text:
        return
    inside = text.removeprefix("refuses(").removesuffix(")")
    if len(text) - len(inside) != len("refuses()"):
        raise ValueError(f"{text!r} is not refuses(kernel(argument, …) if condition; …)")
    for clause in inside.split(";"):
        head, _, condition = clause.partition(" if ")
        kernel, parenthesis, operands = head.strip().removesuffix(")").partition("(")
        if not parenthesis or not head.strip().endswith(")"):
            raise ValueError(f"{head.strip()!r} is not kernel(argument, …)")
        names = tuple(name.strip() for name in operands.split(",") if name.strip())
        yield Clause(kernel, names, _condition(condition) if condition else None)


def _condition(text: str) -> ast.expr:
    try:
        condition = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text.strip()!r}: {error.msg}") from error
    for node in ast.walk(condition):
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in FUNCTIONS:
            allowed = ", ".join(sorted(FUNCTIONS))
            raise ValueError(
                f"unknown function '{ast.unparse(node.func)}'; the functions are {allowed}"
            )
        if isinstance(node, ast.cmpop) and type(node) not in _COMPARISONS:
            raise ValueError(f"{text.strip()!r}: compare with is, is not, ==, !=, < or >")
    try:
        _value(condition, {})
    except ValueError as error:
        raise ValueError(f"{text.strip()!r} is no condition: {error}") from error
    return condition


def _names(expression: ast.expr) -> frozenset[str]:
    """The arguments that an expression uses."""
    called = {id(call.func) for call in ast.walk(expression) if isinstance(call, ast.Call)}
    return frozenset(
        name.id
        for name in ast.walk(expression)
        if isinstance(name, ast.Name) and id(name) not in called
    )


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from value
        else:
            yield value


def _value(expression: ast.expr, arguments: Arguments) -> Any:
    """The value of an expression with these arguments, or UNKNOWN."""
    match expression:
        case ast.Name(id=name):
            value = arguments.get(name)
            return value.name if isinstance(value, Constant) else value
        case ast.Call(func=ast.Name(id=function), args=[operand]):
            return FUNCTIONS[function](_value(operand, arguments))
        case ast.BoolOp(op=connective, values=parts):
            answers = [_value(part, arguments) for part in parts]
            decisive = isinstance(connective, ast.Or)
            if decisive in answers:
                return decisive
            return UNKNOWN if UNKNOWN in answers else not decisive
        case ast.Compare(left=left, ops=comparisons, comparators=others):
            values = [_value(part, arguments) for part in (left, *others)]
            answers = list(map(_compared, comparisons, values, values[1:]))
            if False in answers:
                return False
            return UNKNOWN if UNKNOWN in answers else True
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            one, other = _value(left, arguments), _value(right, arguments)
            return one - other if isinstance(one, int) and isinstance(other, int) else UNKNOWN
        case _:
            return ast.literal_eval(expression)


_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}


def _compared(comparison: ast.cmpop, left_value: Any, right_value: Any) -> bool | Unknown:
    values = left_value, right_value
    if any(isinstance(value, (Unknown, Expression)) for value in values):
        return UNKNOWN
    orders = isinstance(comparison, (ast.Lt, ast.Gt))
    if orders and not all(isinstance(value, (int, float)) for value in values):
        return UNKNOWN
    return _COMPARISONS[type(comparison)](left_value, right_value)


def _rank(value: Any) -> int | Unknown:
    """The number of dims of a tensor."""
    rank = value.dims.rank if isinstance(value, Tensor) else None
    return UNKNOWN if rank is None else rank


def _min_rank(value: Any) -> int | Unknown:
    """The least possible number of dims of a tensor."""
    return value.dims.min_rank if isinstance(value, Tensor) else UNKNOWN


def _numel(value: Any) -> Any:
    """The number of elements of a tensor, or of a tensor with this size or these sizes."""
    if isinstance(value, Tensor):
        return UNKNOWN if value.dims.open else product(value.dims.sizes)
    if isinstance(value, (tuple, list)):
        return product(size if isinstance(size, (int, Expression)) else UNKNOWN for size in value)
    return value


def _count(value: Any) -> int | Unknown:
    """The number of tensors in a list."""
    return len(value) if isinstance(value, (tuple, list)) else UNKNOWN


def _is_tensor(value: Any) -> bool | Unknown:
    return UNKNOWN if isinstance(value, Unknown) else isinstance(value, Tensor)


FUNCTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "rank": _rank,
    "min_rank": _min_rank,
    "numel": _numel,
    "count": _count,
    "is_tensor": _is_tensor,
}
