"""A compiled gate makes a call as its wrapper would, and holds on to nothing."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import random
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import pytest
import torch
from torch.nn import functional as F

from namecheck.runtime.gate.loading import GateTypes
from namecheck.runtime.patching.gates import Style
from namecheck.runtime.patching.wrapper_source import LONGEST, MISSING
from tests.oracle.random_calls import Catalogue, draw
from tests.oracle.record_random import record
from tests.runtime.gates import built_in, gated, needs_compiler

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def gate_types(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateTypes]:
    """The type of gates, which is built for these tests."""
    with pytest.MonkeyPatch.context() as patch:
        yield built_in(tmp_path_factory.mktemp("cache"), patch)


def named(*names: str | None) -> Any:
    """A tensor with these names, of sizes 2, 3, ..."""
    size = range(2, 2 + len(names))
    tensor: Any = torch.arange(float(torch.Size(size).numel())).reshape(*size)
    tensor.names = names
    return tensor


def plain() -> Any:
    """A tensor without names."""
    return torch.arange(6.0).reshape(2, 3)


class Box:
    """An object that is no tensor, but has an attribute of this name."""

    _names = ("N", "C")


Call: TypeAlias = Callable[[], Any]
TORCH: Any = torch  # called as its types do not allow
# Each is made three times: to learn, from the memo, and from the last look-up.
CALLS: Final[dict[str, Call]] = {
    "unary": lambda: torch.relu(named("N", "C")),
    "unary, unnamed": lambda: torch.relu(plain()),
    "binary": lambda: named("N", "C") + named("N", "C"),
    "binary, a number": lambda: (named("N", "C") * 2, 2 * named("N", "C"), 1 - plain()),
    "binary, reflected": lambda: 3 / named("N", "C"),
    "binary, one unnamed": lambda: (named("N", "C") + plain(), plain() - named("N", "C")),
    "binary, ranks": lambda: named("N", "C") + named("N", "C")[0],
    "binary, refused": lambda: named("N", "C") + named("C", "N").transpose(0, 1),
    "binary, text": lambda: named("N", "C") == "C",
    "binary, no operand": lambda: plain() + object(),
    "comparison": lambda: named("N", "C") < plain(),
    "in place": lambda: (lambda x: x.add_(1) is x)(named("N", "C")),
    "in place, names": lambda: plain().add_(named("N", "C")),
    "matmul": lambda: named("N", "C") @ named("C", "D").new_ones(3, 4),
    "by name": lambda: named("N", "C").sum("C"),
    "by index": lambda: named("N", "C").sum(-1),
    "by keyword": lambda: named("N", "C").sum(dim="C"),
    "rare keyword": lambda: named("N", "C").sum("C", keepdim=True),
    "rare keywords, unnamed": lambda: plain().sum(dtype=torch.float64, dim=1, keepdim=True),
    "a gap": lambda: plain().sum(keepdim=True),
    "a list": lambda: named("N", "C").sum(["C", "N"]),
    "a list of indices": lambda: named("N", "C").sum([0]),
    "no such name": lambda: named("N", "C").sum("Q"),
    "no such dim": lambda: plain().sum(7),
    "no such keyword": lambda: plain().sum(nonsense=1),
    "twice": lambda: plain().sum(1, dim=1),
    "too many": lambda: TORCH.relu(plain(), 1, 2, 3),
    "too few": lambda: TORCH.relu(),
    "names without": lambda: plain().sum("C"),
    "no tensor": lambda: TORCH.relu(3),
    "not a tensor": lambda: TORCH.relu(Box()),
    "out": lambda: torch.add(named("N", "C"), 1, out=torch.empty(2, 3)),
    "alpha": lambda: torch.add(named("N", "C"), plain(), alpha=2),
    "stale names": lambda: (lambda x: (x.resize_(6), x.sum("C")))(_resizable()),
    "softmax": lambda: named("N", "C").softmax("C"),
    "transpose": lambda: named("N", "C").transpose("N", "C"),
    "cat": lambda: TORCH.cat([named("N", "C"), named("N", "C")], dim="N"),
    "cat, unnamed": lambda: TORCH.cat((plain(), plain()), dim=1),
    "cat, refused": lambda: TORCH.cat([named("N", "C"), named("N", "D")]),
    "factory": lambda: TORCH.ones(2, 3, names=("N", "C")),
    "factory, unnamed": lambda: torch.ones(2, 3),
    "factory, wrong": lambda: TORCH.ones("x"),
    "rename": lambda: named("N", "C").rename("A", "B"),
    "rename, by keyword": lambda: named("N", "C").rename(N="A"),
    "rename, nothing": lambda: named("N", "C").rename(None),
    "rename, wrong": lambda: named("N", "C").rename("A"),
    "refine": lambda: plain().refine_names("N", ...),
    "align": lambda: named("N", "C").align_to("C", "N"),
    "flatten": lambda: named("N", "C", "D").flatten(["N", "C"], "X"),
    "unflatten": lambda: named("N", "C").unflatten("C", (("A", 3), ("B", 1))),
    "index": lambda: (named("N", "C")[0], named("N", "C")[..., None, 1], named("N", "C")[:, 1:]),
    "index, a tensor": lambda: named("N", "C")[torch.tensor([0])],
    "index, a mask": lambda: plain()[plain() > 1],
    "index, a list": lambda: named("N", "C")[[0, 1]],
    "index, too many": lambda: named("N", "C")[0, 0, 0],
    "size": lambda: (named("N", "C").size("C"), named("N", "C").size(), plain().size(0)),
    "stride": lambda: (named("N", "C").stride("C"), named("N", "C").stride()),
    "size, no such name": lambda: named("N", "C").size("Q"),
    "property": lambda: (plain().T, named("N", "C").mT),
    "several results": lambda: named("N", "C").max("C"),
    "split": lambda: named("N", "C").split(1, "N"),
    "linear": lambda: F.linear(
        named("N", "C"), torch.ones(4, 3), torch.nn.Parameter(plain()[0, 0])
    ),
    "parameter": lambda: torch.nn.Parameter(plain()) + named("N", "C"),
    "dropout": lambda: F.dropout(named("N", "C"), training=False),
    "where": lambda: torch.where(named("N", "C") > 2, named("N", "C"), plain()),
}


def _resizable() -> Any:
    tensor: Any = torch.arange(6.0)
    tensor = tensor.clone().resize_(2, 3)
    tensor.names = ("N", "C")
    return tensor


def outcome(call: Call) -> Any:
    """What a call returns, or raises, as values that can be compared."""
    try:
        return _shown(call())
    except Exception as error:
        context = error.__context__
        return type(error), str(error), type(context), str(context)


def _shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return type(value), value.tolist(), value.dtype, vars(value)
    if isinstance(value, (tuple, list)):
        return type(value), *map(_shown, value)
    return value


@pytest.fixture(scope="module")
def in_python() -> dict[str, Any]:
    """The outcomes of the calls without a gate."""
    with gated(None):
        return {name: [outcome(call) for _ in range(3)] for name, call in CALLS.items()}


@pytest.fixture(scope="module")
def shim(gate_types: GateTypes, in_python: dict[str, Any]) -> Iterator[None]:
    """The shim with the gate, after the calls without it."""
    with gated(gate_types):
        yield


@pytest.mark.usefixtures("shim")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_has_the_outcome_that_it_has_in_python(name: str, in_python: dict[str, Any]) -> None:
    assert [outcome(CALLS[name]) for _ in range(3)] == in_python[name]


@pytest.mark.usefixtures("shim")
@pytest.mark.parametrize(
    "function", [torch.Tensor.relu, torch.Tensor.__add__, torch.Tensor.__getitem__]
)
def test_a_method_is_bound(function: Any) -> None:
    method = getattr(plain(), function.__name__)
    assert isinstance(method, (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType))


@pytest.mark.usefixtures("shim")
def test_a_gate_is_a_function_to_everyone_who_asks() -> None:
    relu: Any = torch.relu
    kinds = isinstance(relu, types.FunctionType), inspect.isfunction(relu)
    assert kinds == (True, True)
    assert (relu.__name__, relu.__module__, relu.__qualname__) == ("relu", "torch", "relu")
    assert relu.__wrapped__ is not relu
    assert relu.__code__.co_filename.startswith("<namecheck")
    assert inspect.unwrap(relu) is relu.__wrapped__
    assert repr(relu).startswith("<function relu at ")
    assert "__code__" in dir(relu)
    relu.mark = 1
    assert vars(relu)["mark"] == 1
    del relu.mark
    assert not hasattr(relu, "mark")
    assert {relu: 1}[torch.relu] == 1


@pytest.mark.usefixtures("shim")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_gate_is_pickled_and_copied_as_a_function_is(protocol: int) -> None:
    for function in (torch.relu, torch.Tensor.add, F.relu):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
        assert copy.copy(function) is function
        assert copy.deepcopy([function])[0] is function
    bound = pickle.loads(pickle.dumps(named("N", "C").sum, protocol))
    assert bound("C").names == ("N",)


@pytest.mark.usefixtures("shim")
def test_names_keep_other_attributes_of_a_result() -> None:
    tensor = named("N", "C")
    tensor.mark = "kept"
    assert tensor.add_(1) is tensor
    assert vars(tensor) == {"_names": ("N", "C"), "mark": "kept"}


# The gate itself, in front of functions of this file


RANDOM_CALLS: Final = 150


def _recorded() -> list[Any]:
    """Random calls of the whole table, each made twice: to learn, and from the memo."""
    catalogue = Catalogue.of_table()
    lines: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(RANDOM_CALLS):
            call = draw(random.Random(f"gate/{number}"), catalogue, torch)
            lines += [record(torch, call, str(number)) for _ in range(2)]
    return lines


def test_random_calls_have_the_results_that_they_have_in_python(gate_types: GateTypes) -> None:
    with gated(None):
        in_python = _recorded()
    with gated(gate_types):
        differing = [
            (one, other) for one, other in zip(_recorded(), in_python, strict=True) if one != other
        ]
    assert not differing


def gate_of(gate_types: GateTypes, style: Style, original: Any, **settings: Any) -> Any:
    """A gate in front of `original`, with its own memo; the wrapper counts as a failure."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the gate has passed the call on")

    def refused(error: Exception, args: Any, kwargs: Any) -> Any:
        return "refused", type(error), args, kwargs

    arguments: dict[str, Any] = {
        "wrapper": wrapper,
        "original": original,
        "swift": original,
        "run": original,
        "refused": refused,
        "tensor": torch.Tensor,
        "parameter": torch.nn.Parameter,
        "missing": MISSING,
        "memos": tuple({} for _ in range(LONGEST + 1)),
        "memo": {},
        "parameters": ("input", "dim", "keepdim"),
        "kinds": "tv",
        "strict": False,
        "reflected": False,
        "bound": False,
        "names_result": True,
        "takes_names": False,
    }
    return gate_types.binding(style=style, **{**arguments, **settings})


@pytest.mark.parametrize(
    "wrong",
    [
        {"memos": ()},
        {"memos": tuple([] for _ in range(7))},
        {"kinds": "tvvvv"},
        {"parameters": (1, 2)},
        {"parameters": tuple(map(str, range(40)))},
        {"tensor": 3},
    ],
)
def test_a_gate_needs_a_description_that_fits(gate_types: GateTypes, wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        gate_of(gate_types, Style.EXACT, id, **wrong)


def fresh(*args: Any, **kwargs: Any) -> Any:
    """What a function of torch returns: the tensor here is always the same."""
    return RESULT


RESULT: Final = torch.ones(2)
NAMES: Final = ("N", "C")


def _calls(gate_types: GateTypes) -> list[Call]:
    """Calls of all kinds, none of which the gate passes on."""
    x = torch.ones(2, 3)
    x._names = NAMES  # type: ignore[attr-defined]
    y = torch.ones(2, 3)
    y._names = None  # type: ignore[attr-defined]
    memos: Any = ({NAMES: NAMES}, {"C": {NAMES: (1, ("N",))}}, *({} for _ in range(5)))
    exact = gate_of(gate_types, Style.EXACT, fresh, memos=memos)
    nothing = gate_of(gate_types, Style.EXACT, len, memos=memos)
    binary: dict[str, Any] = {"kinds": "te", "strict": True, "parameters": ("self", "other")}
    pairs: Any = ({}, {NAMES: {NAMES: NAMES, 2: NAMES, MISSING: NAMES}}, *({} for _ in range(5)))
    pair = gate_of(gate_types, Style.EXACT, fresh, memos=pairs, **binary)
    loose: Any = {(NAMES, ("C",), ()): (((0,), {"a": 1}), NAMES), (NAMES, (), ()): (None, NAMES)}
    general = gate_of(gate_types, Style.GENERAL, fresh, memo=loose)
    namer = gate_of(gate_types, Style.NAMER, fresh, memo={**loose, (2, ("N",), ()): (None, NAMES)})
    slots: Any = ({}, {NAMES: {int: ("C",), (slice, int): NAMES}}, *({} for _ in range(5)))
    indexer = gate_of(gate_types, Style.INDEXER, fresh, memos=slots)
    failing = gate_of(gate_types, Style.GENERAL, torch.ops.aten.relu)
    return [
        lambda: exact(x),
        lambda: exact(y),
        lambda: exact(x, "C"),
        lambda: exact(x, dim="C"),
        lambda: exact(y, dim=1, keepdim=True),
        lambda: nothing(y, 1),
        lambda: pair(x, x),
        lambda: pair(x, y),
        lambda: pair(x, 2),
        lambda: pair(y, 2),
        lambda: general(x, "C"),
        lambda: general(x),
        lambda: general(y, [y, (y, 1)], key=3),
        lambda: namer(x, "C"),
        lambda: namer(y, "N"),
        lambda: indexer(x, 0),
        lambda: indexer(x, (slice(None), 1)),
        lambda: indexer(y, [1, y]),
        lambda: failing("text"),
    ]


def test_no_call_holds_on_to_anything(gate_types: GateTypes) -> None:
    for call in _calls(gate_types):
        for _ in range(10):
            call()
        values = [NAMES, RESULT, None, True, "C", MISSING, int, 2, fresh, torch.Tensor]
        values += [cell.cell_contents for cell in call.__closure__ or ()]
        before = [sys.getrefcount(value) for value in values]
        for _ in range(500):
            call()
        after = [sys.getrefcount(value) for value in values]
        # Frames and the caches of the interpreter may hold a few.
        assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True)), (before, after)


def test_a_million_calls_leak_nothing(gate_types: GateTypes) -> None:
    calls = _calls(gate_types)
    rounds = 1_000_000 // len(calls) + 1

    def run(count: int) -> int:
        for _ in range(count):
            for call in calls:
                call()
        gc.collect()
        return sys.getallocatedblocks()

    run(100)
    assert run(rounds) - run(100) < 500


def test_names_of_fresh_results_leak_nothing(gate_types: GateTypes) -> None:
    x = torch.ones(2, 3)
    x._names = NAMES  # type: ignore[attr-defined]
    memos: Any = ({NAMES: NAMES}, *({} for _ in range(6)))
    relu = gate_of(gate_types, Style.EXACT, torch._C._VariableFunctions.relu, memos=memos)
    kept = [relu(x) for _ in range(100)]
    assert all(vars(tensor) == {"_names": NAMES} for tensor in kept)
    del kept
    before = sys.getallocatedblocks()
    for _ in range(20_000):
        relu(x)
    assert sys.getallocatedblocks() - before < 200


def test_a_circle_through_a_gate_is_collected(gate_types: GateTypes) -> None:
    def original(input: Any) -> Any:
        return input

    gate = gate_of(gate_types, Style.EXACT, original)
    original.gate = gate  # type: ignore[attr-defined]
    reference = weakref.ref(gate)
    del gate, original
    gc.collect()
    assert reference() is None


class Naughty:
    """An argument whose hash or comparison raises, or empties the memo."""

    def __init__(self, action: Call) -> None:
        self.action = action

    def __hash__(self) -> int:
        self.action()
        return 0


def test_a_key_may_do_anything(gate_types: GateTypes) -> None:
    x = torch.ones(2, 3)
    x._names = NAMES  # type: ignore[attr-defined]
    memos: Any = ({}, {1: {NAMES: (1, NAMES)}}, *({} for _ in range(5)))

    def interrupt() -> None:
        raise KeyboardInterrupt

    def passed(*args: Any) -> str:
        return "passed on"

    gate = gate_of(gate_types, Style.EXACT, fresh, memos=memos, wrapper=passed)
    with pytest.raises(KeyboardInterrupt):
        gate(x, Naughty(interrupt))
    assert gate(x, Naughty(memos[1].clear)) == "passed on"
    assert gate(x, {}) == "passed on"
    assert gate(x, Naughty(lambda: setattr(x, "_names", None))) == "passed on"


def test_a_list_that_holds_itself(gate_types: GateTypes) -> None:
    gate = gate_of(gate_types, Style.GENERAL, fresh)
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        gate(endless)


def test_threads(gate_types: GateTypes) -> None:
    memos: Any = ({NAMES: NAMES, ("A", "B"): ("A", "B")}, *({} for _ in range(6)))
    relu = gate_of(
        gate_types,
        Style.EXACT,
        torch._C._VariableFunctions.relu,
        memos=memos,
        wrapper=_relearn(memos),
    )
    wrong: list[Any] = []

    def work(names: tuple[str, ...]) -> None:
        x = torch.ones(2, 3)
        x._names = names  # type: ignore[attr-defined]
        for count in range(3_000):
            if relu(x)._names != names:
                wrong.append(names)
            if count % 100 == 0:
                memos[0].clear()

    threads = [threading.Thread(target=work, args=(n,)) for n in (NAMES, ("A", "B"), NAMES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _relearn(memos: Any) -> Callable[..., Any]:
    def wrapper(x: Any) -> Any:
        memos[0][x._names] = x._names
        result: Any = torch._C._VariableFunctions.relu(x)
        result._names = x._names
        return result

    return wrapper
