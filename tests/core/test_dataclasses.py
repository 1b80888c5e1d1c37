"""The dataclasses of this package behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from namecheck.core import dataclasses as quick

KINDS: tuple[dict[str, bool], ...] = (
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {},
)


def declared(library: Any, **options: bool) -> type[Any]:
    """A class with every kind of field, made by one of the two libraries."""

    @library.dataclass(**options)
    class Point:
        """A class."""

        scale: ClassVar[int] = 3
        x: int
        y: int = 2
        tags: list[str] = library.field(default_factory=list, hash=False)
        note: str = library.field(default="", compare=False, repr=False)

        def __post_init__(self) -> None:
            assert self.x is not None

    return Point


def answer(call: Callable[[], object]) -> object:
    """The outcome of a call: a value, or the type of an error."""
    try:
        return call()
    except Exception as error:
        return type(error)


def behaviour(cls: type[Any]) -> list[object]:
    """The results of all operations on a class."""
    one, equal, other = cls(1), cls(1, note="other"), cls(2, y=3, tags=["a"])
    fields = dataclasses.fields(cls)
    return [
        repr(other),
        [one == equal, one != other, one == 1, one == (1, 2, [])],
        answer(lambda: hash(one) == hash(equal)),
        answer(lambda: [one < other, one <= other, one > other, one >= other]),
        [answer(cls), answer(lambda: cls(1, 2, [], "", 5)), answer(lambda: cls(None))],
        answer(lambda: setattr(one, "x", 5)),
        isinstance(answer(lambda: setattr(one, "z", 5)), type),
        answer(lambda: delattr(other, "y")),
        cls.__match_args__,
        getattr(cls, "__slots__", None),
        [hasattr(cls, "x"), cls.scale, hasattr(cls, "tags")],
        [(each.name, each.type, each.hash, each.compare, each.repr) for each in fields],
        dataclasses.astuple(cls(4)),
        cls(1).tags is cls(1).tags,
    ]


@pytest.mark.parametrize("options", [*KINDS, {**KINDS[0], "order": True}, {"eq": False}])
def test_they_do_as_the_standard_ones(options: dict[str, bool]) -> None:
    ours, theirs = (declared(library, **options) for library in (quick, dataclasses))
    assert behaviour(ours) == behaviour(theirs)


@quick.dataclass(frozen=True, slots=True)
class Base:
    """A base class."""

    name: str
    size: int = 1


@quick.dataclass(frozen=True, slots=True)
class Derived(Base):
    """A class with one more field, and another default for one."""

    size: int = 2
    kind: str = "plain"


@quick.dataclass(frozen=True)
class Cached:
    """A class without slots."""

    number: int

    @cached_property
    def double(self) -> int:
        """Kept in the instance."""
        return self.number * 2


class Plain(Base):
    """A plain class that derives from a frozen one."""

    extra: int


def test_inheritance() -> None:
    assert Derived("a") == Derived("a", 2, "plain")
    assert vars(Derived)["__slots__"] == ("kind",)
    assert Base("a", 2) != Derived("a")
    assert repr(Derived("a")) == "Derived(name='a', size=2, kind='plain')"
    plain = Plain("a")
    plain.extra = 5
    assert (plain.extra, plain.size) == (5, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.name = "b"  # type: ignore[misc]


def test_instances_are_copied_replaced_and_pickled() -> None:
    derived = Derived("a", kind="other")
    assert pickle.loads(pickle.dumps(derived)) == copy.deepcopy(derived) == derived
    assert (
        quick.replace(derived, size=3)
        == dataclasses.replace(derived, size=3)
        == Derived("a", 3, "other")
    )
    with pytest.raises(TypeError):
        quick.replace(derived, weight=3)  # type: ignore[call-arg]
    assert Cached(2).double == 4
    assert {Cached(2): 1}[Cached(2)] == 1


def test_a_class_may_define_methods_itself() -> None:
    @quick.dataclass(frozen=True, slots=True)
    class Loose:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Loose) and other.name.lower() == self.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

        def __repr__(self) -> str:
            return f"<{self.name}>"

    assert {Loose("A"), Loose("a")} == {Loose("a")}
    assert repr(Loose("a")) == "<a>"


def test_an_instance_in_itself_is_shown() -> None:
    @quick.dataclass(slots=True)
    class Node:
        inner: list[Node]

    node = Node([])
    node.inner.append(node)
    assert repr(node).endswith("Node(inner=[...])")


@quick.dataclass(frozen=True, slots=True)
class Counted:
    """A value that counts how often it is hashed."""

    hashed: ClassVar[list[Counted]] = []
    number: int

    def __hash__(self) -> int:
        self.hashed.append(self)
        return self.number


@quick.dataclass(frozen=True, slots=True)
class Keeping:
    """A class whose instances keep their hashes."""

    keeps_hash: ClassVar[bool] = True
    part: Counted
    other: int = 0


@quick.dataclass(frozen=True, slots=True)
class AlsoKeeping(Keeping):
    """A class that does so because its base does."""

    more: int = 0


@pytest.mark.parametrize("cls", [Keeping, AlsoKeeping])
def test_a_hash_is_kept(cls: type[Keeping]) -> None:
    Counted.hashed.clear()
    one, equal = cls(Counted(1)), cls(Counted(1))
    assert {one: 2}[equal] == 2
    assert hash(one) == hash(one) == hash(equal)
    assert len(Counted.hashed) == 2
    other = quick.replace(one, part=Counted(2))
    assert hash(other) == hash(cls(Counted(2))) != hash(one)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)
    assert dataclasses.astuple(one)[1:] == tuple(0 for _ in dataclasses.fields(one)[1:])
