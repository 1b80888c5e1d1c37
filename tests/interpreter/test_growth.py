"""Values that double in each line: what they are is told in general, and the limits are counted."""

from __future__ import annotations

import pytest

from namecheck.interpreter.domain.values import Const, DictValue, ListValue, TupleValue, Value
from namecheck.interpreter.workspace import analysis
from tests.interpreting import codes, dims, parsed


def reached(source: str) -> dict[str, int]:
    """The limits that a program reaches."""
    return analysis.run(parsed(source)).interpreter.context.ledger.limits


def last(source: str, variable: str) -> Value | None:
    """What a variable holds at the end."""
    return analysis.run(parsed(source)).variable(variable)


DOUBLED = {
    "a list": ("x = [1]", "x = x + x", "items of a sequence"),
    "a list in place": ("x = [1]", "x += x", "items of a sequence"),
    "a list that is extended": ("x = [1]", "x.extend(x)", "items of a sequence"),
    "a list with stars": ("x = [1]", "x = [*x, *x]", "items of a sequence"),
    "a list times a number": ("x = [1]", "x = x * 2", "items of a sequence"),
    "a tuple": ("x = (1,)", "x = x + x", "items of a sequence"),
    "a tuple times a number": ("x = (1,)", "x = 2 * x", "items of a sequence"),
    "a tuple in a tuple": ("x = 1", "x = (x, x)", "values in nested tuples"),
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
