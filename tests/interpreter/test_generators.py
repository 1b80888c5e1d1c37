"""Generators run where items are requested, and contexts around their blocks."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.interpreting import check, dims

X = """
import contextlib, itertools
x = torch.zeros(2, 3, names=('N', 'C'))
"""
# The body of a generator: before the first yield, between two, and after the last.
PARTS = """
def parts(x):
    x.sum('A'){0}
    yield x.sum('N')
    x.sum('B'){1}
    yield x.sum('C')
    x.sum('D'){2}
"""
WHOLE = {
    "for": "for part in parts(x):\n    print(part)",
    "for with an else": "for part in parts(x):\n    print(part)\nelse:\n    print()",
    "list": "list(parts(x))",
    "tuple": "tuple(parts(x))",
    "set": "set(parts(x))",
    "sorted": "sorted(parts(x), key=len)",
    "sum": "sum(part.sum() for part in parts(x))",
    "max": "max(parts(x), key=len)",
    "a star in a call": "print(*parts(x))",
    "a star in a display": "[*parts(x)]",
    "unpacking": "a, b = parts(x)",
    "unpacking with a star": "a, *b = parts(x)",
    "a comprehension": "[part.rename(None) for part in parts(x)]",
    "extend": "kept = []\nkept.extend(parts(x))",
    "enumerate": "for index, part in enumerate(parts(x)):\n    print(index, part)",
    "map": "for part in map(print, parts(x)):\n    pass",
    "yield from": "def again(x):\n    yield from parts(x)\nfor part in again(x):\n    print(part)",
    "two of them": (
        "def again(x):\n    for part in parts(x):\n        yield part\nfor part in again(x):\n"
        "    print(part)"
    ),
    "an object": (
        "class Parts:\n    def __iter__(self):\n        yield from parts(x)\n"
        "for part in Parts():\n    print(part)"
    ),
    "join": "', '.join(parts(x))",
    "a loop that goes on": "for part in parts(x):\n    continue",
    "a loop that may break": "for part in parts(x):\n    if library.flag():\n        break",
}
PARTLY = {
    "next": "first = next(parts(x))",
    "a name and next": "all_ = parts(x)\nfirst = next(all_)",
    "break": "for part in parts(x):\n    break",
    "return": "def first(x):\n    for part in parts(x):\n        return part\nfirst(x)",
    "islice": "list(itertools.islice(parts(x), 1))",
    "zip": "for part, n in zip(parts(x), [1]):\n    print(part)",
    "any": "any(parts(x))",
    "in": "x in parts(x)",
    "unknown code": "library.first(parts(x))",
    "enumerate and break": "for index, part in enumerate(parts(x)):\n    break",
}


def judge(program: str) -> None:
    """Check the expectations of a program about x."""
    check(X + dedent(program))


@pytest.mark.parametrize("use", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_generator_that_is_used_up_is_judged_to_its_end(use: str, where: int) -> None:
    marks = ["", "", ""]
    marks[where] = "  # BUG"
    names = ["N", "N", "N"]
    names[where] = "T"
    body = PARTS.format(*marks)
    for letter, name in zip("ABD", names, strict=True):
        body = body.replace(f"'{letter}'", f"'{name}'")
    check(f"{X}{body}{use}")


@pytest.mark.parametrize("use", PARTLY.values(), ids=PARTLY)
def test_a_generator_that_may_be_left_is_judged_to_its_first_item(use: str) -> None:
    first = "" if use.startswith("library") else "  # BUG"
    check(f"{X}{PARTS.format('', '', '').replace('A', 'N')}{use}")
    check(f"{X}{PARTS.format(first, '', '')}{use}")


def test_a_generator_that_nobody_asks_does_nothing() -> None:
    judge("""
    def parts(x):
        x.rename_(N='T')
        x.sum('Q')
        yield x

    unused = parts(x)
    x.mean('N')
    x.mean('T')  # BUG
    """)


def test_what_a_loop_and_its_generator_do_takes_turns() -> None:
    judge("""
    def steps(x):
        yield x
        x.mean('K')
        x.rename_(K='T')
        yield x
        x.mean('N')

    for y in steps(x):
        y.mean('C')
        if 'N' in y.names:
            y.mean('N')
            y.rename_(N='K')
        else:
            y.mean('T')
            y.rename_(T='N')
    x.mean('N')
    x.mean('T')  # BUG
    """)


def test_a_loop_leaves_a_generator_where_it_stands() -> None:
    judge("""
    def steps(x):
        yield 1
        x.rename_(N='T')
        yield 2

    for step in steps(x):
        if step == 1:
            break
    x.mean('N')
    for step in steps(x):
        if step == 2:
            break
    x.mean('T')
    x.mean('N')  # BUG

    def first(x):
        for step in steps(x):
            value = step if step > 1 else None
            if library.flag():
                return x.mean('N' if step == 1 else 'T')

    first(x.rename(T='N'))
    """)


def test_a_generator_that_is_left_may_clean_up() -> None:
    judge("""
    def steps(x):
        try:
            yield x.sum('N')
            yield x.sum('C')
        finally:
            x.rename_(N='T')

    for step in steps(x):
        break
    x.mean('N')
    x.mean('T')
    x.mean('C')

    def first(x):
        for step in steps(x):
            return step

    x = torch.zeros(2, 3, names=('N', 'C'))
    y = first(x)
    y.mean('C')
    y.mean('N')  # BUG
    x.mean('T')
    """)


def test_a_left_loop_keeps_what_it_had_found() -> None:
    judge("""
    def steps():
        sent = yield 'N'
        sent = yield 'C'
        yield 'N'

    for name in steps():
        found = name
        if library.flag():
            break
        found = 'N'
    x.mean(found)
    """)


def test_on_each_path_a_generator_gives_its_own() -> None:
    judge("""
    def parts(x, flag):
        if flag:
            yield x.sum('N')
        else:
            yield x.sum('C')
            yield x

    flag = library.flag()
    a = list(parts(x, flag))
    if flag:
        a[0].mean('C')
    (b,) = parts(x, True)
    b.mean('C')
    b.mean('N')  # BUG
    """)


def test_endless_generators() -> None:
    judge("""
    def rows(x):
        count = 0
        while True:
            yield x.sum('N')
            count += 1
            x.mean('N')

    few = list(itertools.islice(rows(x), 2))
    few[1].mean('C')
    few[1].mean('N')  # BUG
    for row in rows(x):
        row.mean('C')
        row.mean('N')  # BUG
        if library.flag():
            break
    for a, b in zip(rows(x), [1, 2, 3]):
        a.mean('N')  # BUG
    """)


def test_items_one_by_one() -> None:
    judge("""
    def parts(x):
        yield x.sum('N')
        yield x.sum('C')
        return x

    items = parts(x)
    next(items).mean('C')
    next(items).mean('C')  # BUG
    rest = list(items)
    for item in parts(x):
        item.mean('N')  # BUG
    """)


def test_what_a_generator_returns() -> None:
    judge("""
    def inner(x):
        yield 1
        return x.sum('N')

    def outer(x):
        y = yield from inner(x)
        y.mean('C')
        y.mean('N')  # BUG

    list(outer(x))
    """)


def test_what_a_generator_hands_on() -> None:
    judge("""
    def inner(x):
        yield from [x.sum('N'), x.sum('C')]

    def outer(x):
        yield from inner(x)
        yield from (x for _ in range(2))

    a, b, c, d = outer(x)
    a.mean('C')
    a.mean('N')  # BUG
    b.mean('N')
    b.mean('C')  # BUG
    d.mean('Q')  # BUG
    """)


def test_in_unknown_number() -> None:
    judge("""
    def rows(x):
        for _ in library.items():
            yield x.sum('N')
        yield from library.items()

    for row in rows(x):
        row.mean('C')
    for row in list(rows(x)):
        pass
    def named(x):
        for _ in library.items():
            yield x.sum('N')
    for row in named(x):
        row.mean('N')  # BUG
    for row in list(named(x)):
        row.mean('N')  # BUG
    """)


def test_a_generator_may_have_done_what_it_was_not_seen_to_do() -> None:
    assert dims(
        X
        + dedent("""
    def renaming(x):
        x.rename_(N='T')
        yield x
    library.use(renaming(x))
    """),
        "x",
    ).startswith("?")


CONTEXT = """
@contextlib.contextmanager
def without_names(x):
    names = x.names
    x.rename_(None)
    try:
        yield x
    finally:
        x.rename_(*names)
"""


def test_a_context_stands_around_its_block() -> None:
    check(f"""{X}{CONTEXT}
y = x
with without_names(x) as z:
    z.mean('N')  # BUG
    y.mean('N')  # BUG
    y = y.rename('A', 'B')
x.mean('N')
x.mean('A')  # BUG
y.mean('A')
z.mean('N')
""")


def test_the_end_of_a_context_is_judged() -> None:
    check(f"""{X}
@contextlib.contextmanager
def summing(x):
    x.sum('A')  # BUG
    yield
    x.sum('N')
    x.sum('B')  # BUG

with summing(x):
    x.mean('N')

@contextlib.contextmanager
def twice(x):
    yield x
    x.sum('B')  # BUG

with twice(x) as a, twice(x.rename(N='B')) as b:
    a.mean('N')
    b.mean('B')
    b.mean('N')  # BUG
""")


@pytest.mark.parametrize("leaving", ["return x.names", "break", "continue"])
def test_a_block_that_is_left_runs_the_end_of_its_context(leaving: str) -> None:
    check(f"""{X}{CONTEXT}
def f(x):
    for _ in range(1):
        with without_names(x):
            if library.flag():
                {leaving}
            x.rename('A', 'B')
    x.mean('N')
    x.mean('Q')  # BUG

f(x)
x.mean('N')
x.mean('A')  # BUG
""")


def test_a_value_that_is_returned_from_a_context() -> None:
    check(f"""{X}{CONTEXT}
def f(x):
    with without_names(x) as y:
        return y.rename('A', 'B')

f(x).mean('A')
f(x).mean('N')  # BUG
x.mean('N')
""")


def test_a_context_that_catches() -> None:
    check(f"""{X}
@contextlib.contextmanager
def catching(x):
    try:
        yield
    except RuntimeError:
        x.rename_(N='T')

with catching(x):
    x.mean('Q')
x.mean('T')
x.mean('N')  # BUG

@contextlib.contextmanager
def other():
    try:
        yield
    except ValueError:
        pass

with other():
    x.mean('Q')  # BUG
""")


def test_a_context_that_is_an_object_or_of_a_library() -> None:
    check(f"""{X}
class Renamed:
    def __init__(self, x):
        self.x = x
    def __enter__(self):
        self.x.rename_(N='T')
        return self.x
    def __exit__(self, *error):
        self.x.rename_(T='N')

with Renamed(x) as y, torch.no_grad(), library.context() as z:
    y.mean('T')
    y.mean('N')  # BUG
    z.mean('T')
x.mean('N')
x.mean('T')  # BUG
""")


def test_generators_without_end_end_here() -> None:
    check("""
    def a(n):
        yield from b(n)
    def b(n):
        yield n
        yield from a(n)
    def c():
        for x in c():
            yield x
    for x in a(1):
        pass
    for x in c():
        pass
    list(a(1))
    """)
