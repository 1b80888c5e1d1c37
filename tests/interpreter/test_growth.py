"""Values that double in each line are only summarised, and the limits are counted."""

from __future__ import annotations

import inspect
import sys
from typing import Any
from unittest import mock

import pytest

from namecheck.core import call_stack
from namecheck.interpreter.domain.values import Const, DictValue, ListValue, TupleValue, Value
from namecheck.interpreter.evaluation.expressions import Expressions
from namecheck.interpreter.workspace import analysis
from tests.interpreting import codes, dims, parsed


def reached(source: str) -> dict[str, int]:
    """The limits that a program reaches."""
    return analysis.run(parsed(source)).interpreter.context.ledger.limits


def last(source: str, variable: str) -> Value | None:
    """The value of a variable at the end."""
    return analysis.run(parsed(source)).variable(variable)


DOUBLED = {
    "a list": ("x = [1]", "x = x + x", "items of a sequence"),
    "a list in place": ("x = [1]", "x += x", "items of a sequence"),
    "a list that is extended": ("x = [1]", "x.extend(x)", "items of a sequence"),
    "a list with stars": ("x = [1]", "x = [*x, *x]", "items of a sequence"),
    "a list times a number": ("x = [1]", "x = x * 2", "items of a sequence"),
    "a tuple": ("x = (1,)", "x = x + x", "items of a sequence"),
    "a tuple times a number": ("x = (1,)", "x = 2 * x", "items of a sequence"),
    "a tuple in a tuple": ("x = 1", "x = (x, x)", "values in nested values"),
    "a string": ("x = 'ab'", "x = x + x", "length of a string"),
    "a string in place": ("x = 'ab'", "x += x", "length of a string"),
    "an f-string": ("x = 'ab'", "x = f'{x}{x}'", "length of a string"),
    "a string that is joined": ("x = 'ab'", "x = x.join([x, x])", "length of a string"),
    "a string that is replaced": ("x = 'ab'", "x = x.replace('a', x)", "length of a string"),
    "a string that is formatted": ("x = 'ab'", "x = '{0}{0}'.format(x)", "length of a string"),
}


@pytest.mark.parametrize("name", DOUBLED)
def test_what_doubles_is_given_up_and_the_file_is_judged(name: str) -> None:
    first, line, limit = DOUBLED[name]
    doubled = "\n".join([first, *[line] * 60])
    assert reached(doubled).get(limit, 0) > 0
    assert codes(f"{doubled}\ntorch.zeros(2, names=('N',)).sum('C')") == ["NC103"]


@pytest.mark.parametrize("name", DOUBLED)
def test_what_doubles_a_few_times_is_known(name: str) -> None:
    first, line, _ = DOUBLED[name]
    source = "\n".join([first, *[line] * 3])
    assert reached(source) == {}
    assert isinstance(last(source, "x"), (Const, ListValue, TupleValue))


def test_a_long_list_that_is_written_out_is_known() -> None:
    items = ", ".join(map(str, range(20_000)))
    source = f"x = [{items}]\ny = x[19_999]"
    assert reached(source) == {}
    assert last(source, "y") == Const(19_999)


def test_the_items_of_a_list_that_is_given_up_keep_their_names() -> None:
    lines = ["x = [torch.zeros(2, names=('N',))]", *["x = x + x"] * 30, "y = x[7]"]
    assert dims("\n".join(lines), "y") == "N=2"


def test_a_dict_that_is_written_to_very_often() -> None:
    writes = [f"x['k{n}'] = torch.zeros(2, names=('N',))" for n in range(3_000)]
    source = "\n".join(["x = {}", *writes, "y = x['k5']"])
    assert reached(source) == {"entries of a dict": 2}
    assert isinstance(last(source, "x"), DictValue)
    assert dims(source, "y") == "N=2"


HOLDING_THEMSELVES = {
    "lists that are joined": "x, y = [A], [A]\nx.append(x)\ny.append(y)\nfor i in u:\n    x = y",
    "dicts that are joined": "x, y = {}, {}\nx[1] = x\ny[1] = y\nif u:\n    x = y",
    "a list that is compared": "x, y = [A], [A]\nx.append(x)\ny.append(y)\nx == y, x in y",
    "a list that an operator takes": "x = [A]\nx.append(x)\ntorch.stack(x), torch.cat([x, x])",
    "a dict that an operator takes": "x = {}\nx['a'] = x\nA.rename(**x), torch.stack(x)",
    "lists of one list twice": "x = y = [A]\n"
    + "x, y = [x, x], [y, y]\n" * 40
    + "x == y\ntorch.stack(x)\nfor i in u:\n    x = [y]",
    "a list in a list, very deep": "x = y = [A]\n"
    + "x, y = [x], [y]\n" * 4_000
    + "x == y, torch.stack(x)\nif u:\n    x = y",
}


@pytest.mark.parametrize("name", HOLDING_THEMSELVES)
def test_what_holds_itself_is_judged(name: str) -> None:
    begun = "A = torch.zeros(2, names=('N',))"
    assert codes(f"{begun}\n{HOLDING_THEMSELVES[name]}\nA.sum('C')")[-1] == "NC103"


def steps(source: str) -> int:
    """How many expressions are evaluated while a program is analysed."""
    evaluated = 0
    plain = Expressions.evaluate

    def counted(*args: Any) -> Value:
        nonlocal evaluated
        evaluated += 1
        return plain(*args)

    with mock.patch.object(Expressions, "evaluate", counted):
        analysis.check(parsed(source))
    return evaluated


def test_the_parts_of_a_test_do_not_multiply_the_paths() -> None:
    def program(parts: int) -> str:
        test = " or ".join(f"(a[{n}] and b[{n}])" for n in range(parts))
        return f"def f(a, b, x):\n    x.refine_names('N')\n    if {test}:\n        return x"

    # 2^n paths lead to the n-th part, where none are joined.
    assert steps(program(24)) < 24 * 500
    assert reached(program(4)) == {}


def test_a_comprehension_of_many_clauses_spends_the_budget() -> None:
    def program(clauses: int) -> str:
        each = " ".join(f"for i{n} in (1, 2, 3)" for n in range(clauses))
        return f"def f(x):\n    x = x.refine_names('N')\n    return [x * 2 {each}]"

    # There are 3^12 items.
    assert steps(program(12)) < 150_000


DEEP = """
A = torch.zeros(2, names=('N',))
def f(x):
    x.refine_names('N').sum('C')
    y = A{deep}
    y.rename(None).sum('K')
    A.sum('C')
B = A.rename(N='K')
B = A{deep}
B.sum('N')
def g(x):
    x.refine_names('N').sum('C')
"""


def test_a_line_that_exhausts_the_stack_is_not_judged() -> None:
    source = parsed(DEEP.format(deep=".relu()" * 300))
    assert [finding.span.line for finding in analysis.check(source).findings] == [4, 6, 7, 12]
    # The stack of the tests is deep itself.
    depth = len(inspect.stack(0))
    limit = sys.getrecursionlimit()
    with mock.patch.object(call_stack, "_RECURSION_LIMIT", 0):
        sys.setrecursionlimit(depth + 500)
        try:
            found = analysis.check(source).findings
        finally:
            sys.setrecursionlimit(limit)
    # The rest of the function is skipped; the module continues without the variable.
    lines = [(finding.code, finding.span.line) for finding in found]
    assert lines == [("NC091", 3), ("NC103", 4), ("NC091", 9), ("NC103", 12)]


def test_a_chain_of_tests_does_not_double_the_paths_with_each() -> None:
    names, numbers = ("x", "y"), range(8)
    lines = ["A = torch.zeros(2, 3, names=('N', 'C'))"]
    for n in numbers:
        lines += [f"class K{n}:", "    def __init__(self):", f"        self.w = A.rename(N='N{n}')"]
    lines += ["def make(flag):"]
    for n in numbers:
        lines += [f"    if flag == {n}:", f"        return K{n}()"]
    lines += ["    return None", "def f(a, b):", "    x, y = make(a), make(b)"]
    for name in names:
        for n in numbers:
            lines += [
                f"    {'el' * bool(n)}if isinstance({name}, K{n}):",
                f"        u{name} = {name}.w",
            ]
    source = "\n".join([*lines, "    return ux + uy"])
    # 2^n paths lead to the n-th test: 14,589 steps, where none are joined.
    assert steps(source) < 6_000
    assert reached(source)["paths of nested branches"] > 0
