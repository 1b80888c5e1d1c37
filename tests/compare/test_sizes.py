"""Sizes on both sides: numbers, and expressions under what the run binds."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from namecheck.compare.sizes import by_file, followed, places, wrong_sizes
from namecheck.core import names as naming
from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import Known, symbol
from namecheck.core.syntax import Position
from namecheck.core.tensors import Tensor
from namecheck.interpreter.workspace.analysis import Observation
from namecheck.runtime.programs.activations import Activation, Activations, Shape, Shapes

T, C = (symbol(naming.of_unpacking(word, 1)) for word in ("T", "C"))
HEADS = symbol(naming.of_number("self.heads", 1))
DECLARED = symbol("channels")
FIRST, SECOND, THIRD = (Position(line, 0, line, 1) for line in (1, 2, 3))


def inferred(*each: tuple[Known | None, ...]) -> Observation:
    tensors = [
        Tensor(Dims(tuple(Dim(UNKNOWN, UNKNOWN if size is None else size) for size in sizes)))
        for sizes in each
    ]
    return Observation(tuple(tensors), gave=1)


def ran(**shapes: Shape) -> Shapes:
    places = {"first": FIRST, "second": SECOND, "third": THIRD}
    return {places[word]: (shape,) for word, shape in shapes.items()}


def test_an_expression_has_the_value_of_what_is_bound() -> None:
    static = {FIRST: inferred((T, C)), SECOND: inferred((HEADS, T, C // HEADS))}
    assert not wrong_sizes([ran(first=(5, 12), second=(3, 5, 4))], static)
    wrong = wrong_sizes([ran(first=(5, 12), second=(5, 3, 4))], static)
    assert [*wrong] == [SECOND]
    assert wrong[SECOND].text == "(5, 3, 4), where T = 5, C = 12, self.heads = 5"


def test_one_size_at_two_dims_is_one_number() -> None:
    static = {FIRST: inferred((T, T))}
    assert not wrong_sizes([ran(first=(5, 5))], static)
    assert wrong_sizes([ran(first=(5, 6))], static)


def test_each_activation_binds_anew() -> None:
    static = {FIRST: inferred((T,)), SECOND: inferred((T * 2,))}
    runs = [ran(first=(5,), second=(10,)), ran(first=(7,), second=(14,))]
    assert not wrong_sizes(runs, static)


def test_an_expression_of_many_shapes_binds_nothing() -> None:
    """It is in a loop, and each round may have a size of its own."""
    static = {FIRST: inferred((T, T)), SECOND: inferred((T * 2,))}
    assert not wrong_sizes([{FIRST: ((5, 5), (6, 6)), SECOND: ((12,),)}], static)
    assert [*wrong_sizes([{FIRST: ((5, 5), (6, 7)), SECOND: ((12,),)}], static)] == [FIRST]


def test_one_of_several_tensors_must_fit() -> None:
    static = {FIRST: inferred((T,)), SECOND: inferred((T * 2,), (T * 3,))}
    assert not wrong_sizes([ran(first=(5,), second=(15,))], static)
    assert [*wrong_sizes([ran(first=(5,), second=(20,))], static)] == [SECOND]


def test_what_is_declared_binds_nothing() -> None:
    """Its author says it, and a run may not keep to it."""
    static = {FIRST: inferred((DECLARED,)), SECOND: inferred((DECLARED,))}
    assert not wrong_sizes([ran(first=(5,), second=(6,))], static)


def test_an_unknown_value_may_have_any_size() -> None:
    static = {FIRST: inferred((T,)), SECOND: Observation((UNKNOWN, *inferred((T,)).values))}
    assert not wrong_sizes([ran(first=(5,), second=(6,))], static)


def test_the_later_dims_of_an_open_tensor_are_compared() -> None:
    tensor = Tensor(Dims((), (Dim(UNKNOWN, T),), open=True))
    static = {FIRST: inferred((T,)), SECOND: Observation((tensor,), gave=1)}
    assert not wrong_sizes([ran(first=(5,), second=(2, 3, 5))], static)
    assert wrong_sizes([ran(first=(5,), second=(5, 3, 2))], static)


def test_each_run_of_a_function_is_an_activation() -> None:
    activations = Activations()

    def note(size: int, again: bool) -> None:
        activations.note(sys._getframe(), FIRST, (size,))
        if again:
            note(size + 1, False)
        activations.note(sys._getframe(), SECOND, (size,))

    note(3, True)
    note(7, False)
    assert [each.shapes for each in activations.ended() if each.shapes] == [
        {FIRST: ((3,),), SECOND: ((3,),)},
        {FIRST: ((4,),), SECOND: ((4,),)},
        {FIRST: ((7,),), SECOND: ((7,),)},
    ]


def test_a_generator_that_waits_is_no_other_activation() -> None:
    activations = Activations()

    def sizes() -> Iterator[None]:
        for size in (3, 4):
            activations.note(sys._getframe(), FIRST, (size,))
            yield

    def other() -> None:
        activations.note(sys._getframe(), SECOND, (9,))

    for _ in sizes():
        other()
    assert all(len(each.shapes) <= 1 for each in activations.ended())


def test_not_all_runs_of_a_function_are_kept() -> None:
    activations = Activations()

    def note(size: int) -> None:
        activations.note(sys._getframe(), FIRST, (size,))

    for size in range(1000):
        note(size)
    assert 10 < sum(bool(each.shapes) for each in activations.ended()) < 100


def test_only_what_the_analysis_follows_is_compared() -> None:
    known, unknown = Observation(times=1), Observation(times=1, followed=False)
    top = Activation("main.py", True)
    called = Activation("main.py", False, top, FIRST)
    inner = Activation("main.py", False, called, SECOND)
    by_library = Activation("main.py", False)
    each = [top, called, inner, by_library]
    static = {"main.py": {FIRST: known, SECOND: known}}
    assert followed(each, static) == {top, called, inner}
    static["main.py"][FIRST] = unknown
    assert followed(each, static) == {top}


def test_the_shapes_and_the_places_of_activations() -> None:
    shapes: dict[Position, tuple[Shape, ...]] = {FIRST: ((3,),), SECOND: ()}
    each = [Activation("main.py", True, shapes=shapes), Activation("other.py", False)]
    assert by_file(each) == {"main.py": [shapes], "other.py": [{}]}
    assert places(each) == {("main.py", FIRST), ("main.py", SECOND)}


@pytest.mark.parametrize("kind", [list, set, tuple])
def test_a_comprehension_is_part_of_the_function_around_it(kind: type) -> None:
    activations = Activations()

    def note(size: int) -> int:
        activations.note(sys._getframe(1), SECOND, (size,))
        return size

    def sizes(*of: int) -> None:
        activations.note(sys._getframe(), FIRST, (len(of),))
        kind(note(size) for size in of)
        [note(size) for size in of]

    sizes(3)
    sizes(4, 5)
    ends = [each.shapes for each in activations.ended() if FIRST in each.shapes]
    assert ends == [
        {FIRST: ((1,),), SECOND: ((3,),)},
        {FIRST: ((2,),), SECOND: ((4,), (5,))},
    ]
