"""The order in which the bases of a class are searched, and the cost of the search."""

from __future__ import annotations

from dataclasses import dataclass

from namecheck.interpreter.domain.class_lookup import mro
from namecheck.interpreter.domain.values import ClassValue, External


def made(name: str, *bases: ClassValue | External) -> ClassValue:
    """A class at an address equal to its name."""
    return ClassValue(name, name, bases)


def test_a_base_of_several_classes_stands_behind_all_of_them() -> None:
    root = made("root", External("torch.nn.Module"))
    left, right = made("left", root), made("right", root)
    bottom = made("bottom", left, right)
    assert mro(bottom) == (bottom, left, right, root, External("torch.nn.Module"))


@dataclass
class Counter:
    """How often an address was read."""

    times: int = 0


@dataclass(frozen=True)
class Looks:
    """An address that counts its reads."""

    counter: Counter

    def __hash__(self) -> int:
        self.counter.times += 1
        return 0


def test_each_diamond_over_diamonds_costs_as_much_as_the_one_below() -> None:
    counter = Counter()
    root = ClassValue(Looks(counter), "root")
    bottom = root
    for level in range(40):
        left, right = made(f"left{level}", bottom), made(f"right{level}", bottom)
        bottom = made(f"bottom{level}", left, right)
    assert mro(bottom)[-1] == root
    assert counter.times < 40 * 10
