"""The clauses of the column ``native``: the calls that torch 2.12 refuses, and its messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Many, Tensor
from namecheck.operators import Operator, TableError, infer, native, read, table

NAMED = Tensor(Dims.of("N", "C", sizes=(2, 3)))
VECTOR = Tensor(Dims.of("N", sizes=(2,)))
BARE = Tensor(Dims.of(None, None, sizes=(2, 3)))


def refusal(text: str, **arguments: Any) -> str | None:
    """The first words of the error that the clauses before the rule raise for these arguments."""
    try:
        native.check(native.read(text).before, "some_operator", arguments)
    except Contradiction as contradiction:
        return contradiction.message.split(" is ")[0]
    return None


def test_a_clause_refuses_the_arguments_that_reach_its_kernel_and_have_names() -> None:
    text = "refuses(view(input); gather(other))"
    assert refusal(text, input=NAMED, other=BARE) == "aten::view"
    assert refusal(text, input=BARE, other=NAMED) == "aten::gather"
    assert refusal(text, input=BARE, other=BARE) is None
    assert refusal(text, input=Tensor(), other=Tensor()) is None


def test_a_clause_with_a_condition_refuses_where_it_certainly_holds() -> None:
    text = "refuses(view(input) if rank(other) = 1 and dim = None)"
    assert refusal(text, input=NAMED, other=VECTOR, dim=None) == "aten::view"
    assert refusal(text, input=NAMED, other=BARE, dim=None) is None
    assert refusal(text, input=NAMED, other=Tensor(), dim=None) is None
    assert refusal(text, input=NAMED, other=VECTOR, dim=UNKNOWN) is None


def test_a_condition_on_each_tensor_of_a_list() -> None:
    text = "refuses(view(tensors) if rank(each) < 2)"
    assert refusal(text, tensors=(NAMED, VECTOR)) == "aten::view"
    assert refusal(text, tensors=[NAMED, Tensor(Dims.of(None))]) is None
    assert refusal(text, tensors=Many(NAMED)) is None


def test_a_kernel_that_writes_is_refused_under_the_name_of_its_variant() -> None:
    text = "refuses(sort(input, out))"
    assert refusal(text, input=NAMED, out=None) == "aten::sort"
    assert refusal(text, input=BARE, out=NAMED) == "aten::sort.out"


def test_the_texts_that_name_no_kernel() -> None:
    device = "DispatchKey Named doesn't correspond to a device"
    assert refusal("refuses(no_device(input))", input=NAMED) == device
    assert refusal("refuses(no_device(input))", input=BARE) is None
    assert refusal("refuses(not_implemented())") == "`some_operator` not yet implemented."


def natively(operator: str, *arguments: Any, **keywords: Any) -> str:
    """The error of torch 2.12 for a call, empty where it accepts the call."""
    answer = infer(operator, *arguments, semantics=Semantics.NATIVE, **keywords)
    return "" if answer.contradiction is None else answer.contradiction.message


def test_the_clauses_after_the_rule_see_its_result_and_its_refusal_goes_first() -> None:
    assert natively("trapezoid", NAMED, dim=0).startswith("aten::mul.Scalar is not yet supported")
    assert natively("trapezoid", VECTOR) == ""
    assert natively("logdet", NAMED).startswith("logdet: A must be batches of square")


ROW = """
[operators]
mine = {{ forms = "f", names = "keeps_input_names", native = "{}", params = "input:tensor" }}
"""
FAULTS = {
    "refuses(view)": "'view' is not kernel(argument, …)",
    "refuses view(input)": "'view' is misplaced in 'refuses view(input)'",
    "view(input)": "'view' is misplaced in 'view(input)'",
    "refuses(view(other))": "unknown parameter 'other'; the parameters are input",
    "refuses(view(input) if ranks(input) = 1)": "unknown measure 'ranks'; did you mean 'rank'?; ",
    "refuses(view(input) if input = other)": "unknown parameter 'other'; the parameters are input",
    "refuses(view(input) if rank(input) >= 1)": "'=' is misplaced in ",
    "refuses(view(input) if rank(input)": "breaks off",
    "refuses(view(input)) and": "'and' is misplaced in ",
}


@pytest.mark.parametrize(("text", "message"), FAULTS.items())
def test_a_mistake_in_the_column_is_a_fault_of_the_row(text: str, message: str) -> None:
    with pytest.raises(
        TableError, match=r"mine\.toml:3: operator 'mine', column 'native': "
    ) as raised:
        read(ROW.format(text), "mine.toml")
    assert message in str(raised.value)


def test_a_row_with_clauses_follows_its_own_rule() -> None:
    row = Operator("mine", "f", "keeps_input_names", native="refuses(view(input))")
    assert row.native_rule == "keeps_input_names"
    assert replace(row, native="squeeze_natively").native_rule == "squeeze_natively"
    assert native.read("squeeze_natively").clauses == ()


def test_the_clauses_of_the_table_ask_for_parameters_of_their_row() -> None:
    for row in table().values():
        called = {p.role or p.name for signature in row.signatures for p in signature}
        made = {p.name for p in row.constructor}
        mentioned = {name for each in native.read(row.native).clauses for name in each.parameters}
        assert mentioned - native.OF_CLAUSES <= called | made, row.key
