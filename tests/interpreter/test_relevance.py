"""Which functions can matter to names, and what finding it costs."""

from __future__ import annotations

import ast
from unittest import mock

from namecheck.core.evidence import Evidence
from namecheck.core.syntax import Source
from namecheck.interpreter.workspace import relevance
from namecheck.interpreter.workspace.file_facts import FileFacts
from tests.interpreting import parsed


def relevant(source: str) -> set[str]:
    """The names of the functions that can matter to names."""
    found = relevance.relevant_definitions(ast.parse(source), relevance.naming_words())
    return {node.name for node in found if isinstance(node, ast.FunctionDef)}


def test_who_calls_what_names_dims_and_who_is_called_by_it() -> None:
    source = """
def name(x):
    return helper(x).refine_names("N")
def helper(x):
    return deeper(x)
def deeper(x):
    return x
def caller(x):
    return name(x)
def outer(x):
    return caller(x)
def other(x):
    return x
"""
    assert relevant(source) == {"name", "helper", "deeper", "caller", "outer"}


def test_a_chain_of_calls_is_walked_once() -> None:
    count = 300
    chain = "\n".join(f"def f{n}(x):\n    return f{n + 1}(x)" for n in range(count))
    source = f"{chain}\ndef f{count}(x):\n    return x.refine_names('N')"
    asked = 0
    plain = relevance._spread

    def counted(units, vocabulary, asks, gives):  # type: ignore[no-untyped-def]
        def counting(unit):  # type: ignore[no-untyped-def]
            nonlocal asked
            asked += 1
            return asks(unit)

        return plain(units, vocabulary, counting, gives)

    with mock.patch.object(relevance, "_spread", counted):
        assert len(relevant(source)) == count + 1
    assert asked <= 4 * (count + 1)


def test_the_text_of_a_file_is_searched_for_names_once() -> None:
    searches: list[str] = []

    def names_dims(source: Source) -> bool:
        searches.append(source.filename)
        return True

    facts = FileFacts(names_dims, evidence=Evidence.OBSERVED)
    source = parsed("import torch\n" * 500)
    for _ in range(3):
        assert facts.names_dims(source)
        assert not facts.can_matter(ast.parse("def f(): pass").body[0], source)
    assert searches == [source.filename]


def test_a_helper_that_makes_a_tensor_of_given_sizes_matters_to_observed_evidence() -> None:
    helper = "def grid(h, w):\n    return torch.meshgrid(torch.arange(h), torch.arange(w))\n"
    source = parsed("import torch\n" * 500 + helper)
    definition = source.tree.body[-1]
    for evidence in Evidence:
        facts = FileFacts(lambda source: False, evidence=evidence)
        assert facts.can_matter(definition, source) is (evidence.is_observed)


def test_an_annotation_may_have_any_word() -> None:
    source = """
def renamed(x: Shaped[Tensor, "n"]):
    return x
def of_a_module(x: t.A[torch.Tensor, "n"]):
    return x
def plain(x: dict[str, int], y: Union[Tensor, int]):
    return x
"""
    assert relevant(source) == {"renamed", "of_a_module"}
