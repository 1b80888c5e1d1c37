"""What a call leaves behind is dropped; what something still leads to is kept."""

from __future__ import annotations

import pytest

from namecheck.interpreter.workspace import analysis
from tests.interpreting import codes, dims, parsed

# A class of which many objects are made, and a function that leaves them behind.
PREAMBLE = """
class Item:
    def __init__(self, x):
        self.x = x
        self.y = x.relu()
        self.z = [x]

def waste(x):
    for _ in range(8):
        item = Item(x)
        item.z.append(item)

x = torch.zeros(2, 3, names=('N', 'C'))
"""


def cells(source: str) -> int:
    """How many cells a program leaves."""
    return len(analysis.run(parsed(PREAMBLE + source)).store.gathered())


@pytest.mark.parametrize(
    "line",
    ["waste(x)", "for _ in range(3): waste(x)", "[waste(x)] * 2"],
)
def test_what_nothing_leads_to_is_dropped(line: str) -> None:
    def repeated(times: int) -> int:
        return cells("\n".join([line] * times))

    assert repeated(6) == repeated(2)


KEPT = {
    "an object that is returned": """
def f(x):
    waste(x)
    return Item(x)
found = f(x).y
""",
    "an object in a list that was there before": """
def f(x, items):
    items.append(Item(x))
    waste(x)
items = []
f(x, items)
found = items[0].z[0]
""",
    "what a closure holds": """
def f(x):
    item = Item(x)
    waste(x)
    def g():
        return item.y
    return g
g = f(x)
waste(x)
found = g()
""",
    "what a partial function holds": """
def f(x):
    waste(x)
    return functools.partial(lambda item: item.y, Item(x))
found = f(x)()
""",
    "the receiver of a bound method": """
class Reader(Item):
    def read(self):
        return self.y
def f(x):
    waste(x)
    return Reader(x).read
found = f(x)()
""",
    "items of a generator that is collected": """
def f(x):
    for _ in range(2):
        waste(x)
        yield Item(x)
found = list(f(x))[1].y
""",
    "an item of a generator that is followed": """
def f(x):
    for _ in range(2):
        waste(x)
        yield Item(x)
for item in f(x):
    waste(x)
found = item.y
""",
    "a generator that is suspended": """
def f(x):
    item = Item(x)
    waste(x)
    yield item
    yield Item(item.y)
def g(x):
    items = f(x)
    waste(x)
    next(items)
    return items
found = next(g(x)).y
""",
    "an object that a loop keeps": """
kept = None
for _ in range(3):
    waste(x)
    kept = Item(x)
found = kept.y
""",
    "an object of a while loop": """
kept, n = None, 0
while n < 3:
    waste(x)
    kept = Item(x)
    n += 1
found = kept.y
""",
    "an attribute of a class": """
def f(x):
    waste(x)
    Item.last = Item(x)
f(x)
found = Item.last.y
""",
    "what is made before an error": """
kept = []
try:
    kept.append(Item(x))
    waste(x)
    raise ValueError
except ValueError:
    found = kept[0].y
""",
    "temporaries of the caller": """
def f(x):
    waste(x)
    return x
def both(first, second):
    return first.y
found = both(Item(x), f(x))
""",
}


@pytest.mark.parametrize("source", KEPT.values(), ids=KEPT)
def test_what_something_leads_to_is_kept(source: str) -> None:
    assert dims(f"import functools\n{PREAMBLE}{source}", "found") == "N=2 C=3"


def test_a_function_that_is_called_after_what_defined_it() -> None:
    source = """
def f(x):
    item = Item(x)
    waste(x)
    def never_called(n):
        return item.y.sum('K')
    waste(x)
f(x)
"""
    assert codes(PREAMBLE + source) == ["NC103"]
