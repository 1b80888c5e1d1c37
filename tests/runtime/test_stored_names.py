"""Names in files: those that no tensor can have are refused, and nothing fails later on them."""

from __future__ import annotations

import contextlib
import copy
import enum
import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

import namecheck
from namecheck.runtime import Contradicted, runtime
from namecheck.runtime.core.tensor_names import names_of
from tests.runtime.tensors import called, names


class Word(enum.StrEnum):
    """Names as a program may declare them, so that its checker knows them."""

    N = "N"
    C = "C"


class Hostile(tuple[Any, ...]):
    """A class of names that a file may refer to; none of its methods works."""

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    __len__ = __hash__ = __eq__ = __repr__ = __str__ = __iter__  # type: ignore[assignment]


class WithoutHash(str):
    """A text that is hashed for the first time when a call is looked up."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise ZeroDivisionError


class WithoutLength(str):
    """A text whose length is asked for when a dim is looked up by its name."""

    __slots__ = ()

    def __len__(self) -> int:
        raise ZeroDivisionError


class TupleWithoutLength(tuple[Any, ...]):
    """Names that are found where names are remembered, and have no length."""

    __slots__ = ()

    def __len__(self) -> int:
        raise ZeroDivisionError


class Classless:
    """An object that does not tell its class."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise ZeroDivisionError


class Meta(type):
    """The class of a class without a hash."""

    def __hash__(cls) -> int:
        raise ZeroDivisionError

    def __eq__(cls, other: object) -> bool:
        raise ZeroDivisionError


class OfMeta(metaclass=Meta):
    """What is looked up by its class fails."""


# What a file may hold as the names of a tensor of two dims, with a part of the error.
CRAFTED: Final[dict[str, tuple[Any, str]]] = {
    "a number": (5, "must either be None or a tuple"),
    "a text": ("NC", "must either be None or a tuple"),
    "a list": (["N", "C"], "must either be None or a tuple"),
    "a dict": ({"N": 0}, "must either be None or a tuple"),
    "numbers": ((0, 1), "expected None or string for Dimname but got int"),
    "texts that are no identifiers": (("N", "C\n\x1b[31m"), "a valid identifier contains only"),
    "the sign for no name": (("N", "*"), "a valid identifier contains only"),
    "duplicates": (("N", "N"), "duplicate names"),
    "too few": (("N",), "Number of names \\(1\\) and number of dimensions in tensor \\(2\\)"),
    "too many": (("N", "C", "H"), "Number of names \\(3\\)"),
    "nested": ((("N",), "C"), "expected None or string for Dimname but got tuple"),
}


# What only a file that may refer to any class can hold.
OF_CLASSES: Final[dict[str, tuple[Any, str]]] = {
    "members of an enumeration": (
        (Word.N, "C"),
        "expected None or string for Dimname but got Word",
    ),
    "a derived tuple": (Hostile(("N", "C")), "must either be None or a tuple"),
    "what has no length": ((Hostile(), "C"), "expected None or string for Dimname but got Hostile"),
    "half of a character": (("N", "\ud800"), "a valid identifier contains only"),
}


def stored(carried: Any, tensor: torch.Tensor | None = None) -> bytes:
    """The file of a tensor with this attribute, made without namecheck."""
    tensor = torch.zeros(2, 3) if tensor is None else tensor
    if carried is not None:
        vars(tensor)["_names"] = carried
    buffer = io.BytesIO()
    torch.save(tensor, buffer)
    return buffer.getvalue()


def crafted() -> list[Any]:
    return [pytest.param(*pair, id=title) for title, pair in CRAFTED.items()]


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("carried", "message"), crafted())
def test_names_that_no_tensor_can_have_are_not_loaded(
    carried: Any, message: str, weights_only: bool
) -> None:
    file = stored(carried)
    with runtime(), pytest.raises(Contradicted, match=message) as raised:
        torch.load(io.BytesIO(file), weights_only=weights_only)
    assert raised.value.finding.filename == __file__


@pytest.mark.parametrize(("carried", "message"), crafted())
def test_a_parameter_is_checked_too(carried: Any, message: str) -> None:
    file = stored(carried, torch.nn.Parameter(torch.zeros(2, 3)))
    with runtime(), pytest.raises(Contradicted, match=message):
        torch.load(io.BytesIO(file), weights_only=True)


def test_nothing_is_no_name() -> None:
    tensor = torch.zeros(2, 3)
    vars(tensor)["_names"] = None
    with runtime():
        loaded: Any = pickle.loads(pickle.dumps(tensor))
        assert names_of(loaded) is None


@pytest.mark.parametrize(("carried", "message"), crafted())
def test_what_was_loaded_before_the_installation_has_unknown_names(
    carried: Any, message: str
) -> None:
    tensor: Any = torch.load(io.BytesIO(stored(carried)), weights_only=True)
    with runtime():
        assert repr(tensor).startswith("tensor([[0., 0., 0.]")
        assert str(tensor) == f"{tensor}"
        if "duplicate" in message:  # native torch has such tensors, too
            assert names_of(tensor) == carried
            return
        assert names_of(tensor) == ("?", "?")
        assert repr(tensor) == repr(tensor.clone()) == repr(copy.copy(tensor))
        for _ in range(2):  # the second call is remembered
            assert (
                names(tensor.rename(None)) == names(tensor.unflatten(0, (2, 1))[0]) == (None, None)
            )
        assert names(tensor + 1) == names(tensor.relu()) == names(tensor.sum(0, True))
        assert names(tensor.t()) == names(tensor[:1]) == (None, None)
        with pytest.raises(namecheck.NameMismatch):
            tensor.sum("N")
        assert names(called(tensor, "N", "C")) == ("N", "C")


@pytest.mark.parametrize("carried", [2, 2.0])
def test_a_number_is_not_the_rank_of_a_tensor_without_names(carried: Any) -> None:
    tensor: Any = torch.load(io.BytesIO(stored(carried)), weights_only=True)
    plain: Any = torch.zeros(2, 3)
    with runtime():
        other: Any = called(torch.zeros(3, 3), "N", "C")
        for _ in range(2):  # what is remembered of the former is not used for the latter
            assert names(torch.matmul(tensor, other)) == (None, "C")
            assert names_of(torch.matmul(plain, other)) == (None, "C")
            assert names(plain.rename(None)) == names(tensor.rename(None)) == (None, None)
            assert names(plain.rename("N", "C")) == names(tensor.rename("N", "C")) == ("N", "C")
            assert names(plain.refine_names("N", ...)) == ("N", None)
            assert names(tensor.refine_names("N", ...)) == ("N", None)


@pytest.mark.parametrize("carried", [("N", None), (None, None), ("?", "C"), None])
@pytest.mark.parametrize("weights_only", [True, False])
def test_names_are_loaded(carried: Any, weights_only: bool) -> None:
    with runtime():
        tensor: Any = torch.load(io.BytesIO(stored(carried)), weights_only=weights_only)
        assert names_of(tensor) == carried
        assert names_of(pickle.loads(pickle.dumps(tensor))) == carried


def test_a_tensor_of_another_rank_than_it_was_named_with_is_stored_with_unknown_names() -> None:
    with runtime():
        tensor: Any = called(torch.zeros(2, 3), "N", "C")
        torch.ops.aten.unsqueeze_(tensor, 0)
        for other in (copy.copy(tensor), copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
            assert names_of(other) == ("?", "?", "?")


@pytest.mark.parametrize(("carried", "message"), OF_CLASSES.values(), ids=OF_CLASSES)
def test_names_of_other_classes_are_not_loaded(carried: Any, message: str) -> None:
    file = stored(carried)
    with runtime(), pytest.raises(Contradicted, match=message) as raised:
        torch.load(io.BytesIO(file), weights_only=False)
    str(raised.value).encode()
    tensor: Any = torch.load(io.BytesIO(file), weights_only=False)
    with runtime():
        assert names(tensor) == (None, None)
        assert names_of(tensor) == ("?", "?")


# By titles, because pytest asks values for their class.
HOSTILE: Final[dict[str, Callable[[], Any]]] = {
    "a derived tuple": lambda: Hostile(("N", "C")),
    "what has no length": lambda: (Hostile(), "C"),
    "texts without a hash": lambda: (WithoutHash("N"), "C"),
    "a text without a hash": lambda: WithoutHash("N"),
    "a text without a length": lambda: WithoutLength("NC"),
    "a number": lambda: 2,
    "what tells no class": Classless,
    "a tuple of what tells no class": lambda: (Classless(), "C"),
    "a class without a hash": OfMeta,
    "a tuple of classes without a hash": lambda: (OfMeta(), OfMeta()),
}
# These equal names, so that what is remembered of those may be used for them.
EQUAL: Final[dict[str, Callable[[], Any]]] = {
    "texts without a length": lambda: (WithoutLength("N"), "C"),
    "a tuple without a length": lambda: TupleWithoutLength(("N", "C")),
}


@pytest.mark.parametrize("title", HOSTILE)
def test_no_class_of_names_makes_a_call_fail(title: str) -> None:
    tensor: Any = torch.zeros(2, 3)
    vars(tensor)["_names"] = HOSTILE[title]()
    with runtime():
        for _ in range(2):  # the second call is remembered
            assert repr(tensor).startswith("tensor([[0., 0., 0.]")
            assert names_of(tensor) == ("?", "?")
            assert names_of(tensor + tensor) == names_of(tensor.relu()) == ("?", "?")
            assert names_of(tensor[0]) == names_of(tensor.sum(0)) == ("?",)
            assert names_of(torch.cat([tensor, tensor])) == names_of(tensor.t()) == ("?", "?")
            assert names_of(tensor.rename(None)) is None
            assert tensor.size() == (2, 3)


TORCH: Any = torch  # with names, which type checkers do not know


@pytest.mark.parametrize("title", [*HOSTILE, *EQUAL])
@pytest.mark.parametrize(
    "call",
    [
        lambda tensor: tensor.sum("N"),
        lambda tensor: tensor.sum(dim=("N",)),
        lambda tensor: tensor.softmax("C"),
        lambda tensor: TORCH.cumsum(tensor, "N"),
        lambda tensor: tensor.size("N"),
        lambda tensor: tensor.stride("N"),
        lambda tensor: tensor.select("N", 0),
        lambda tensor: tensor.transpose("N", "C"),
        lambda tensor: tensor.unbind("N"),
        lambda tensor: tensor.unflatten("C", (("H", 3), ("W", 1))),
        lambda tensor: tensor.align_to("N", "C"),
        lambda tensor: tensor.align_to("N", ...),
        lambda tensor: tensor.align_as(TORCH.zeros(2, 3, names=("N", "C"))),
        lambda tensor: TORCH.cat([tensor, tensor], dim="N"),
        lambda tensor: TORCH.logsumexp(tensor, dim=["N"], keepdim=True),
    ],
)
def test_no_class_of_names_makes_a_look_up_of_a_dim_fail(title: str, call: Any) -> None:
    tensor: Any = torch.zeros(2, 3)
    vars(tensor)["_names"] = {**HOSTILE, **EQUAL}[title]()
    with runtime():
        for named_tensor in (called(torch.zeros(2, 3), "N", "C"), tensor, tensor):
            with contextlib.suppress(namecheck.NameMismatch):  # "N" is not known to be a dim
                call(named_tensor)


@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize(
    "call",
    [
        lambda n, c: TORCH.zeros(2, 3, names=(n, c)),
        lambda n, c: TORCH.zeros(2, 3, names=[n, c]),
        lambda n, c: TORCH.tensor([[1.0]], names=(n, c)),
        lambda n, c: TORCH.zeros(2, 3).refine_names(n, c),
        lambda n, c: TORCH.zeros(2, 3).refine_names(n, ...).refine_names(..., c),
        lambda n, c: TORCH.zeros(2, 3).rename(n, c),
        lambda n, c: TORCH.zeros(2, 3).rename_(n, c),
        lambda n, c: TORCH.zeros(2, 3, names=("N", "X")).rename(X=c),
        lambda n, c: TORCH.zeros(2, 3, names=("N", "X")).rename(**{"N": n, "X": c}),
        lambda n, c: TORCH.zeros(2, names=("N",)).align_to(n, c),
        lambda n, c: TORCH.zeros(6, names=("X",)).unflatten("X", ((n, 2), (c, 3))),
        lambda n, c: TORCH.zeros(6, names=("X",)).unflatten("X", OrderedDict([(n, 2), (c, 3)])),
        lambda n, c: TORCH.zeros(2, 3, 4, names=("N", "X", "Y")).flatten(("X", "Y"), c),
    ],
)
def test_members_of_an_enumeration_give_plain_names(
    call: Callable[[Any, Any], Any], remembered: bool
) -> None:
    with runtime():
        if remembered:
            call(Word.N, Word.C)
        tensor = call(Word.N, Word.C)
        assert [type(name) for name in tensor.names] == [str, str]
        assert repr(tensor.names) == "('N', 'C')"
        buffer = io.BytesIO()
        torch.save(tensor, buffer)
        buffer.seek(0)
        assert names(torch.load(buffer, weights_only=True)) == ("N", "C")


def test_an_attribute_gets_plain_names() -> None:
    with runtime():
        tensor: Any = torch.zeros(2, 3)
        tensor.names = (Word.N, Word.C)
        assert repr(tensor.names) == "('N', 'C')"
