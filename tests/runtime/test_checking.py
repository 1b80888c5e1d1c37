"""Annotated functions of every kind, checked at their entry and their return."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import os
import pickle
import sys
import threading
import traceback
import types
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import namecheck
from namecheck import NameMismatch, checked
from namecheck.runtime.annotations import check_source, violations
from namecheck.runtime.annotations.checked_functions import check_generated
from tests import warm

if TYPE_CHECKING:
    from jaxtyping import Float  # type: ignore[import-not-found]

NC = Annotated[Tensor, "N C"]
N = Annotated[Tensor, "N"]

GOOD = torch.zeros(2, 3)
FLAT = torch.zeros(2)


@pytest.fixture(autouse=True, scope="module")
def _shim() -> Iterator[None]:
    with namecheck.runtime():
        yield


def project(x: NC, weight: Annotated[Tensor, "C D"]) -> Annotated[Tensor, "N D"]:
    return x @ weight


def refusal(call: Callable[[], Any]) -> str:
    """The first line of the error of a call."""
    with pytest.raises(NameMismatch) as raised:
        call()
    return str(raised.value).partition("\n")[0]


def named(*names: str | None, sizes: tuple[int, ...] | None = None) -> Tensor:
    tensor: Any = torch.zeros(*(sizes or (2,) * len(names)))
    found: Tensor = tensor.refine_names(*names)
    return found


def count_questions(function: Any) -> list[object]:
    """Records every call of a checked function that its memo does not have."""
    checker = function.__namecheck_checker__
    asked: list[object] = []
    enter = checker.enter

    def counted(*args: Any) -> Any:
        asked.append(args)
        return enter(*args)

    checker.enter = counted
    return asked


# Arguments and results.


def test_what_fits_passes_and_what_does_not_is_refused() -> None:
    function = checked(project)
    assert function(GOOD, torch.zeros(3, 5)).shape == (2, 5)
    assert refusal(lambda: function(GOOD, torch.zeros(4, 5))) == (
        "project(): axis 'C' has size 4 in argument 'weight', but 3 in argument 'x'"
    )
    assert function(GOOD, torch.zeros(3, 7)).shape == (2, 7)


def test_the_result_is_checked_under_the_same_bindings() -> None:
    @checked
    def total(x: NC) -> N:
        return x.sum(0)

    assert refusal(lambda: total(GOOD)) == (
        "total(): axis 'N' has size 3 in the result, but 2 in argument 'x'"
    )
    assert total(torch.zeros(3, 3)).shape == (3,)


def test_names_see_what_sizes_do_not() -> None:
    @checked
    def total(x: NC) -> N:
        return x.sum(0)

    assert refusal(lambda: total(named("batch", "chan"))) == (
        "total(): axis 'N' is dimension 'chan' in the result, but 'batch' in argument 'x'"
    )
    assert refusal(lambda: total(named("C", "N"))) == (
        "total(): dimension 0 of argument 'x' is called 'C', but 'C' is declared at dimension 1"
    )


def test_one_kind_of_call_is_looked_at_once() -> None:
    function = checked(project)
    asked = count_questions(function)
    for _ in range(3):
        function(GOOD, torch.zeros(3, 5))
    function(named("a", "b", sizes=(2, 3)), torch.zeros(3, 5))
    assert len(asked) == 2


def test_what_is_refused_is_refused_again() -> None:
    function = checked(project)
    for _ in range(3):
        assert refusal(lambda: function(GOOD, torch.zeros(4, 5)))


def test_many_shapes_are_not_all_remembered() -> None:
    @checked
    def same(x: N) -> N:
        return x

    for size in range(1100):
        same(torch.zeros(size))
    assert len(same.__namecheck_checker__.memo) < 1024  # type: ignore[attr-defined]


def test_results_of_many_shapes_are_not_all_remembered() -> None:
    @checked
    def drawn(x: N, size: int) -> Annotated[Tensor, "K"]:
        return torch.zeros(size)

    for size in range(100):
        drawn(FLAT, size)
    [known] = drawn.__namecheck_checker__.memo.values()  # type: ignore[attr-defined]
    assert len(known) < 64


def test_what_is_no_tensor_is_not_our_business() -> None:
    function: Any = checked(lambda x: x)
    assert function([1]) == [1]

    @checked
    def same(x: N) -> N:
        return x

    for value in (1.0, [1], None, "text", object()):
        assert same(value) is value  # type: ignore[arg-type]


def test_dtypes() -> None:
    @checked
    def embed(tokens: Annotated[Tensor, "n", torch.int64]) -> None: ...

    embed(torch.zeros(3, dtype=torch.int64))
    assert refusal(lambda: embed(torch.zeros(3))) == (
        "embed(): argument 'tokens' is of dtype float32, but torch.int64 is declared"
    )


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_tensors_whose_shape_cannot_be_told() -> None:
    @checked
    def same(x: N) -> N:
        return x

    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    assert same(nested) is nested


def test_parameters_and_buffers_are_tensors() -> None:
    @checked
    def same(x: N) -> N:
        return x

    parameter = torch.nn.Parameter(torch.zeros(2, 3))
    assert refusal(lambda: same(parameter)).endswith("has 2 dimensions, but 1 is declared")


# Annotations.


def test_optional_tensors() -> None:
    @checked
    def masked(x: NC, mask: NC | None = None, other: Optional[N] = None) -> NC | None:  # noqa: UP045
        return x if mask is None else mask

    assert masked(GOOD) is GOOD
    assert masked(GOOD, GOOD, FLAT) is GOOD
    assert refusal(lambda: masked(GOOD, torch.zeros(2, 4)))
    assert refusal(lambda: masked(GOOD, other=torch.zeros(3)))


def test_optional_containers_of_tensors() -> None:
    @checked
    def gathered(x: NC, parts: dict[str, N] | None = None, more: tuple[N, ...] | None = None) -> NC:
        return x

    assert gathered(GOOD) is GOOD
    assert gathered(GOOD, {"a": FLAT}, (FLAT,)) is GOOD
    assert refusal(lambda: gathered(GOOD, {"a": torch.zeros(3)}))
    assert refusal(lambda: gathered(GOOD, more=(FLAT, torch.zeros(3))))


def test_a_default_of_none_makes_optional() -> None:
    @checked
    def masked(x: NC, mask: NC = None) -> NC:  # type: ignore[assignment]
        return x

    asked = count_questions(masked)
    for _ in range(3):
        masked(GOOD)
    assert len(asked) == 1


def test_parts() -> None:
    @checked
    def unpack(
        pair: tuple[NC, N], many: list[N], table: dict[str, N], *further: N, **more: N
    ) -> tuple[N, list[NC]]:
        return pair[1], [pair[0]]

    assert unpack((GOOD, FLAT), [FLAT], {"a": FLAT}, FLAT, b=FLAT)[0] is FLAT
    three = torch.zeros(3)
    phrase = "unpack(): axis 'N' has size 3 in argument '{}', but 2 in argument 'pair[0]'"
    assert refusal(lambda: unpack((GOOD, three), [], {})) == phrase.format("pair[1]")
    assert refusal(lambda: unpack((GOOD, FLAT), [FLAT, three], {})) == phrase.format("many[1]")
    assert refusal(lambda: unpack((GOOD, FLAT), [], {"a": three})) == phrase.format("table['a']")
    assert refusal(lambda: unpack((GOOD, FLAT), [], {}, three)) == phrase.format("further[0]")
    assert refusal(lambda: unpack((GOOD, FLAT), [], {}, b=three)) == phrase.format("more['b']")


def test_parts_of_the_result() -> None:
    @checked
    def split(x: NC) -> tuple[N, N]:
        return x.sum(1), x.sum(0)

    assert refusal(lambda: split(GOOD)) == (
        "split(): axis 'N' has size 3 in 'result[1]', but 2 in argument 'x'"
    )


def test_aliases_defined_later_are_known_at_the_first_call() -> None:
    scope: dict[str, Any] = {}
    program = (
        "from __future__ import annotations\n"
        "from typing import Annotated\n"
        "from torch import Tensor\n"
        "from namecheck import checked\n"
        "@checked\n"
        "def same(x: Later) -> 'Later': return x\n"
        "Later = Annotated[Tensor, 'N C']\n"
    )
    exec(compile(program, "<program>", "exec", dont_inherit=True), scope)
    assert refusal(lambda: scope["same"](FLAT)).startswith("same(): argument 'x' has 1 dimension")


def test_names_around_a_function_are_known_in_strings() -> None:
    Local = Annotated[Tensor, "N C"]

    class Model:
        Inner = Annotated[Tensor, "N"]

        @checked
        def first(self, x: Local, y: Inner) -> None: ...

    assert refusal(lambda: Model().first(GOOD, torch.zeros(3)))
    assert refusal(lambda: Model().first(FLAT, FLAT))


def test_what_only_the_type_checker_imports_is_read_as_source() -> None:
    """``Float`` is not imported when this runs."""

    @checked
    def flat(
        x: Float[Tensor, "N 2"],  # noqa: F722
        y: Float[torch.Tensor, "N 1"] | None = None,  # noqa: F722
    ) -> None: ...

    two = torch.zeros(3, 2)
    assert refusal(lambda: flat(FLAT)) == (
        "flat(): argument 'x' has 1 dimension, but 2 are declared"
    )
    assert refusal(lambda: flat(two, torch.zeros(4, 1)))
    assert "of dtype int64, but Float is declared" in refusal(lambda: flat(two.long()))


def test_classes_like_those_of_jaxtyping() -> None:
    class Int:
        dtypes = ("int32", "int64")

    class IntTensorN:
        dim_str = "n m=3"
        dtypes = ("int32", "int64")
        dtype = Int

    def rows(x: Any) -> None: ...

    rows.__annotations__ = {"x": IntTensorN, "return": None}
    function = checked(rows)
    function(torch.zeros(2, 3, dtype=torch.int32))
    assert refusal(lambda: function(torch.zeros(2, 3))).endswith("but Int is declared")
    assert refusal(lambda: function(torch.zeros(2, 4, dtype=torch.int32)))


def test_text_that_is_no_pattern_declares_nothing() -> None:
    def scale(x: Annotated[Tensor, "the image, of any size"]) -> None: ...

    with pytest.warns(UserWarning, match="the annotation of 'x' is not checked"):
        assert checked(scale) is scale


MALFORMED = {
    "N,C": "'N,C' in \"N,C\": dimensions are separated by spaces, not by commas",
    "N +": "'+' in \"N +\": no name, number or expression",
    "... *N": "only one item can stand for several dimensions",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_annotation_is_reported_once(text: str) -> None:
    def scale(x, y): ...  # type: ignore[no-untyped-def]

    pattern = Annotated[Tensor, text]
    scale.__annotations__ = {"x": pattern, "y": N, "return": tuple[pattern, int]}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        function: Any = checked(scale)
        for _ in range(2):
            with contextlib.suppress(ValueError):
                function(GOOD, FLAT)
    messages = [str(warning.message) for warning in told]
    assert [message.split(" is not checked: ")[0].split(": ")[1] for message in messages] == [
        "the annotation of 'x'",
        "the annotation of its result",
    ]
    assert all(MALFORMED[text] in message for message in messages)
    assert all(message.startswith("test_a_malformed") for message in messages)
    assert {(w.filename, w.lineno) for w in told} == {(__file__, scale.__code__.co_firstlineno)}


def test_a_malformed_annotation_that_is_settled_later_is_reported_once() -> None:
    space: dict[str, Any] = {"checked": checked, "Annotated": Annotated}
    source = """
@checked
def scale(x: 'Annotated[Later, "N,C"]'): ...
"""
    exec(source, space)
    space["Later"] = Tensor
    with pytest.warns(UserWarning, match="dimensions are separated by spaces"):
        space["scale"](GOOD)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        space["scale"](GOOD)
    assert not told


def test_annotations_that_raise_declare_nothing() -> None:
    def scale(x: "1 / 0", y: "N") -> None: ...  # type: ignore[valid-type] # noqa: UP037

    function = checked(scale)
    function(1, FLAT)
    assert refusal(lambda: function(1, GOOD))


# Functions of every kind.


def test_what_says_nothing_of_tensors_stays_as_it_is() -> None:
    def plain(x: Tensor, y: int = 0) -> list[str]:
        return []

    def bare(x):  # type: ignore[no-untyped-def]
        return x

    for function in (plain, bare):
        assert checked(function) is function


def test_what_is_checked_stays_as_it_is() -> None:
    function = checked(project)
    assert checked(function) is function


def test_a_wrapper_looks_like_its_function() -> None:
    def attend(q: NC, /, k: NC, *more: N, scale: float = 1.0, **others: Any) -> NC:
        """Attend."""
        return q

    function = checked(attend)
    assert inspect.signature(function) == inspect.signature(attend)
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        assert getattr(function, attribute) == getattr(attend, attribute)
    assert function.__wrapped__ is attend  # type: ignore[attr-defined]
    function(GOOD, GOOD, FLAT, scale=2.0, other=1)
    assert function.__code__.co_varnames[:5] == attend.__code__.co_varnames[:5]
    assert function.__code__.co_name == "attend"
    assert function.__globals__["__name__"] == __name__
    assert copy.deepcopy(function) is function


def test_arguments_are_passed_as_they_are_given() -> None:
    @checked
    def shown(a: N, /, b: int, c: int = 3, *args: int, d: int, e: int = 5, **kwargs: int) -> object:
        return b, c, args, d, e, kwargs

    assert shown(FLAT, 2, d=4) == (2, 3, (), 4, 5, {})
    assert shown(FLAT, 1, 2, 3, 4, d=5, e=6, f=7) == (1, 2, (3, 4), 5, 6, {"f": 7})
    with pytest.raises(TypeError, match=r"shown\(\) missing 1 required keyword-only argument: 'd'"):
        shown(FLAT, 2)  # type: ignore[call-arg]


def test_names_of_parameters_like_our_own() -> None:
    @checked
    def odd(namecheck_key: NC, namecheck_known: N, getattr: N) -> N:
        return namecheck_known

    assert odd(GOOD, FLAT, FLAT) is FLAT
    assert refusal(lambda: odd(GOOD, FLAT, torch.zeros(3)))


class Model(torch.nn.Module):
    """Methods of all kinds."""

    def __init__(self, weight: Annotated[Tensor, "C D"]) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: NC) -> Annotated[Tensor, "N D"]:
        return self._product(x)

    @staticmethod
    def flat(x: N) -> N:
        return x

    @classmethod
    def made(cls, weight: Annotated[Tensor, "C D"]) -> Model:
        return cls(weight)

    @property
    def first(self) -> N:
        """The first row."""
        return self.weight

    @first.setter
    def first(self, row: N) -> None: ...

    def _product(self, x: Tensor) -> Tensor:
        return x @ self.weight


Model = checked(Model)  # type: ignore[misc]


def test_methods_of_all_kinds() -> None:
    model = Model.made(torch.zeros(3, 5))
    assert model(GOOD).shape == (2, 5)
    assert Model.flat(FLAT) is model.flat(FLAT)
    assert Model.first.__doc__ == "The first row."
    assert refusal(lambda: model(FLAT)).startswith("Model.forward(): argument 'x' has 1 dimension")
    assert refusal(lambda: Model.flat(GOOD)).startswith("Model.flat(): argument 'x' has 2")
    assert refusal(lambda: Model.made(FLAT)).startswith("Model.made(): argument 'weight' has 1")
    assert refusal(lambda: model.first).startswith("Model.first(): the result has 2 dimensions")
    assert refusal(lambda: setattr(model, "first", GOOD)).startswith(
        "Model.first(): argument 'row'"
    )


def test_decorators_may_stand_on_either_side() -> None:
    class Sides:
        @checked
        @staticmethod
        def above(x: N) -> None: ...

        @staticmethod
        @checked
        def below(x: N) -> None: ...

        @checked  # type: ignore[prop-decorator]
        @property
        def top(self) -> N:
            return GOOD

        @functools.cached_property
        @checked
        def cached(self) -> N:
            return GOOD

    assert refusal(lambda: Sides.above(GOOD))
    assert refusal(lambda: Sides.below(GOOD))
    assert refusal(lambda: Sides().top)
    assert refusal(lambda: Sides().cached)


def test_a_function_in_another_decorators_wrapper() -> None:
    def passing(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    def injecting(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(x: Any) -> Any:
            return function(x, FLAT)

        return wrapper

    def add(x: NC, y: N) -> NC:
        return x

    outer = checked(passing(add))
    assert outer(GOOD, y=FLAT) is GOOD
    assert refusal(lambda: outer(GOOD, y=torch.zeros(3)))
    with pytest.raises(TypeError, match="missing 1 required"):
        outer(GOOD)
    injected = checked(injecting(add))
    assert injected(GOOD) is GOOD
    assert refusal(lambda: injected(FLAT))


def test_a_dataclass_is_checked_when_it_is_made() -> None:
    @check_generated
    @dataclass
    class Batch:
        images: NC
        labels: N
        name: str = ""

    assert Batch(GOOD, FLAT).labels is FLAT
    assert refusal(lambda: Batch(GOOD, torch.zeros(3))) == (
        "Batch.__init__(): axis 'N' has size 3 in argument 'labels', but 2 in argument 'images'"
    )

    @checked
    @dataclass
    class Other:
        images: NC

    assert refusal(lambda: Other(FLAT))

    @check_generated
    class Plain:
        def __init__(self, x: N) -> None: ...

    Plain(GOOD)


def test_a_coroutine_function() -> None:
    @checked
    async def total(x: NC, *, fail: bool = False) -> N:
        await asyncio.sleep(0)
        return x.sum(0 if fail else 1)

    assert inspect.iscoroutinefunction(total)
    for _ in range(2):
        assert asyncio.run(total(GOOD)).shape == (2,)
    assert refusal(lambda: asyncio.run(total(FLAT)))
    assert refusal(lambda: asyncio.run(total(GOOD, fail=True)))


def test_a_generator_function_is_checked_when_it_starts() -> None:
    @checked
    def rows(x: NC) -> Any:
        sent: Any = yield x[0]
        with contextlib.suppress(KeyError):
            yield sent
        return "end"

    assert inspect.isgeneratorfunction(rows)
    for _ in range(2):
        generator: Any = rows(GOOD)
        assert next(generator).shape == (3,)
        assert generator.send("sent") == "sent"
        with pytest.raises(StopIteration, match="end"):
            generator.throw(KeyError)
    assert refusal(lambda: next(rows(FLAT)))


def test_an_asynchronous_generator_function_is_checked_when_it_starts() -> None:
    closed = []

    @checked
    async def rows(x: NC) -> AsyncIterator[Any]:
        sent: Any = None
        try:
            while True:
                try:
                    sent = yield sent
                except KeyError as error:
                    sent = error
                if sent == "end":
                    return
        finally:
            closed.append(True)

    async def use(generator: Any) -> None:
        assert await generator.__anext__() is None
        assert await generator.asend(1) == 1
        error = KeyError()
        assert await generator.athrow(error) is error
        with pytest.raises(StopAsyncIteration):
            await generator.asend("end")

    async def leave(generator: Any) -> None:
        assert await generator.__anext__() is None
        await generator.aclose()

    assert inspect.isasyncgenfunction(rows)
    for _ in range(2):
        asyncio.run(use(rows(GOOD)))
    asyncio.run(leave(rows(GOOD)))
    assert closed == [True] * 3
    assert refusal(lambda: asyncio.run(rows(FLAT).__anext__()))  # type: ignore[arg-type]


def test_a_context_manager() -> None:
    @contextlib.contextmanager
    @checked
    def held(x: NC) -> Iterator[Tensor]:
        yield x

    with held(GOOD) as x:
        assert x is GOOD
    with pytest.raises(NameMismatch), held(FLAT):
        pass


def test_recursion_and_nesting() -> None:
    """Every call has its own bindings."""

    @checked
    def halved(x: N) -> Tensor:
        return x if len(x) < 2 else halved(x[::2])

    @checked
    def inner(x: NC) -> NC:
        return x.mT

    @checked
    def outer(x: NC) -> NC:
        return inner(x)

    assert len(halved(torch.zeros(16))) == 1
    assert refusal(lambda: outer(GOOD)).startswith("inner()")


def test_many_threads() -> None:
    wrong: list[object] = []
    function = checked(project)

    def work(size: int) -> None:
        for _ in range(200):
            if function(torch.zeros(size, 3), torch.zeros(3, size)).shape != (size, size):
                wrong.append(size)
            with contextlib.suppress(NameMismatch), namecheck.runtime():
                function(torch.zeros(size, 3), torch.zeros(4, size))
                wrong.append("not refused")

    threads = [threading.Thread(target=work, args=(size,)) for size in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_exceptions_of_the_function_pass_through() -> None:
    @checked
    def failing(x: N) -> N:
        raise KeyError("inside")

    for _ in range(2):
        with pytest.raises(KeyError) as raised:
            failing(FLAT)
        assert raised.value.__context__ is None
        assert raised.value.__cause__ is None


def test_a_refusal_has_no_context() -> None:
    with pytest.raises(NameMismatch) as raised:
        checked(project)(GOOD, torch.zeros(4, 5))
    assert raised.value.__context__ is None


# A law: the memo changes no result.

_PATTERNS = ["a", "a b", "b a", "a 2", "#a b", "...", "*s a", "*#s b", "a+b", "2*a", "a a", ""]
_SHAPES: list[tuple[int, ...]] = [(), (1,), (2,), (3,), (2, 2), (2, 3), (3, 2), (1, 2), (2, 2, 3)]


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """A small tensor, perhaps with names, of one of two dtypes."""
    shape = draw(st.sampled_from(_SHAPES))
    names = draw(st.permutations(["a", "b", "x", None]))[: len(shape)]
    dtype = draw(st.sampled_from([torch.float32, torch.int64]))
    tensor: Any = torch.zeros(shape, dtype=dtype)
    found: Tensor = tensor.refine_names(*names) if draw(st.booleans()) else tensor
    return found


@given(
    st.lists(st.sampled_from(_PATTERNS), min_size=3, max_size=3),
    st.sampled_from([(), (torch.float32,)]),
    st.lists(st.tuples(tensors(), tensors(), tensors()), min_size=1, max_size=8),
)
def test_every_call_is_answered_as_if_it_were_the_first(
    patterns: list[str], dtypes: tuple[torch.dtype, ...], calls: list[tuple[Tensor, ...]]
) -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        return z

    annotated = [Annotated[(Tensor, pattern, *dtypes)] for pattern in patterns]
    names = ("x", "y", "return")
    function.__annotations__ = dict(zip(names, annotated, strict=True))
    remembering = checked(function)
    for call in [*calls, *calls]:
        answers = []
        for each in (remembering, checked(function)):
            try:
                each(*call)
            except NameMismatch as error:
                answers.append(str(error))
            else:
                answers.append("fits")
        assert answers[0] == answers[1]


# The place of the error, and its other contents.


def line_of(mark: str) -> int:
    """The line of this file that ends in a mark."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    [number] = [number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    return number


@checked
def several_returns(x: NC, first: bool) -> N:  # mark: several
    if first:
        return x.sum(0)
    return x.sum(0)


@functools.lru_cache
@checked
def one_return(x: NC) -> N:
    def inner() -> int:
        return 1

    total = x.sum(0)
    return total  # mark: one


def test_wrong_arguments_stand_at_the_call() -> None:
    function = checked(project)
    with pytest.raises(NameMismatch) as raised:
        function(
            GOOD,
            torch.zeros(4, 5),
        )  # mark: end of call
    finding = raised.value.finding
    assert finding.filename == __file__
    end = line_of("mark: end of call")
    assert (finding.span.line, finding.span.end_line) == (end - 3, end)
    [declared] = finding.related
    assert declared.message == "project() is declared here"
    assert (
        Path(__file__)
        .read_text("utf-8")
        .splitlines()[declared.span.line - 1]
        .startswith("def project(")
    )


def test_a_wrong_result_stands_at_the_only_return() -> None:
    with pytest.raises(NameMismatch) as raised:
        one_return(GOOD)
    finding = raised.value.finding
    assert finding.span.line == line_of("mark: one")
    assert [place.message for place in finding.related] == [
        "one_return() is declared here",
        "the call that returned it",
    ]


def test_a_wrong_result_of_several_returns_stands_at_the_declared_result() -> None:
    with pytest.raises(NameMismatch) as raised:
        several_returns(GOOD, True)
    span = raised.value.finding.span
    text = Path(__file__).read_text("utf-8").splitlines()[span.line - 1]
    assert text[span.column - 1 : span.end_column - 1] == "N"
    assert span.line == line_of("mark: several")


def test_the_call_of_a_module_stands_in_the_users_program() -> None:
    model = Model.made(torch.zeros(3, 5))
    with pytest.raises(NameMismatch) as raised:
        model(FLAT)
    assert raised.value.finding.filename == __file__


def test_a_function_without_source() -> None:
    scope: dict[str, Any] = {"N": N, "checked": checked}
    exec("@checked\ndef same(x: N) -> N: return x.sum()", scope)
    assert refusal(lambda: scope["same"](FLAT)).startswith("same(): the result has 0 dimensions")


def test_a_traceback_shows_both() -> None:
    try:
        checked(project)(GOOD, torch.zeros(4, 5))
    except NameMismatch as error:
        told = "".join(traceback.format_exception(error))
    assert told.endswith(
        "project(): axis 'C' has size 4 in argument 'weight', but 3 in argument 'x'\n"
        '     x: "N C" got (2, 3)\n'
        'weight: "C D" got (4, 5)\n'
        "  = NC210 axis-size\n"
        "  = help: One axis has one size; dimensions that may differ are declared under two names."
        "\n"
    )


def test_our_frames_are_marked_as_hidden() -> None:
    """pytest leaves out frames with this variable."""
    assert "__tracebackhide__" in checked(project).__code__.co_varnames


# Modes and switches.


def test_a_mode_that_does_not_raise() -> None:
    function = checked(project)
    with namecheck.runtime("record") as record, contextlib.suppress(RuntimeError):
        function(GOOD, torch.zeros(4, 5))
    [finding] = record.findings
    assert finding.code == "NC210"

    @checked
    def flat(x: NC) -> N:
        return x

    with namecheck.runtime("record") as record:
        for _ in range(3):
            assert flat(FLAT) is FLAT
            assert flat(GOOD) is GOOD
    assert [tally.count for tally in record.tallies.values()] == [3, 3]


def test_a_call_that_was_refused_leaves_its_result_alone() -> None:
    @checked
    def flat(x: NC) -> N:
        return GOOD

    with namecheck.runtime("record") as record:
        flat(FLAT)
    assert len(record.findings) == 1


ROOT = Path(__file__).parents[2]
PROGRAM = """
from typing import Annotated
import torch
from namecheck import checked

@checked
def flat(x: Annotated[torch.Tensor, "n"]) -> None: ...

flat(torch.zeros(2, 3))
"""


def test_checks_without_the_shim() -> None:
    """A decorator is checked whether torch has names or not."""
    run = warm.run("-c", PROGRAM, cwd=ROOT)
    assert "flat(): argument 'x' has 2 dimensions" in run.stderr


def test_the_environment_switches_off() -> None:
    program = f"{PROGRAM}\nassert not hasattr(flat, '__wrapped__')"
    run = warm.run("-c", program, cwd=ROOT, env={**os.environ, "NAMECHECK": "off"})
    assert (run.returncode, run.stderr) == (0, "")


def test_only_functions_and_classes_are_checked() -> None:
    for other in (1, len, functools.partial(project), functools.lru_cache(project)):
        with pytest.raises(TypeError, match="takes a function or a class, not a"):
            checked(other)


def test_functions_of_a_module_can_be_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("pickled_module")
    monkeypatch.setitem(sys.modules, "pickled_module", module)
    exec("def same(x: N) -> N: return x", {"N": N}, vars(module))
    module.same.__module__ = "pickled_module"
    module.same = checked(module.same)
    assert pickle.loads(pickle.dumps(module.same)) is module.same


def test_what_counts_as_a_tensor() -> None:
    class Array:
        shape = (2, 3)
        dtype = "float32"

    assert str(violations.abstract_value(Array())).startswith("Tensor(")
    assert check_source.key_of(Array()) == ((2, 3), None, "float32")
    assert check_source.key_of([GOOD, None, {"a": 1}]) == (
        (torch.Size([2, 3]), None, torch.float32),
        None,
        (("a", None),),
    )
