"""Statements: every possible path is followed, and no other."""

from __future__ import annotations

import pytest

from tests.interpreting import check, codes, dims

X = "    x = torch.zeros(2, 3, names=('N', 'C'))"


@pytest.mark.parametrize(
    "before",
    [
        "if False:",
        "if 0:",
        "if not True:",
        "while False:",
        "for _ in ():",
        "if x.dim() == 3:",
        "if 'T' in x.names:",
        "if x.names != ('N', 'C'):",
        "if isinstance(x, str):",
        "if x is None:",
        "if TYPE_CHECKING:",
        "if kind == 'b':",
        "if len(x.shape) > 2:",
        "if not callable(print) and False:",
    ],
)
def test_code_that_cannot_run_is_not_reported(before: str) -> None:
    check(f"""
    from typing import TYPE_CHECKING
    kind = 'a'
{X}
    {before}
        x.mean('T')
    """)


@pytest.mark.parametrize(
    "leaving",
    ["return x", "raise ValueError", "continue", "break", "sys.exit(1)", "assert False", "stop()"],
)
def test_what_follows_a_leap_does_not_run(leaving: str) -> None:
    check(f"""
    import sys

    def stop():
        raise SystemExit

    def f(xs):
        for _ in xs:
            x = torch.zeros(2, 3, names=('N', 'C'))
            {leaving}
            x.mean('T')
    """)


def test_each_branch_is_judged_before_they_meet() -> None:
    check("""
    def f(flag):
        x = torch.zeros(2, 3, names=('N', 'C'))
        if flag:
            x = x.sum('C')
            x.mean('C')  # BUG
        else:
            x.mean('C')
        x.mean('N')
        x.mean('C')  # BUG
    """)


def test_a_loop_is_judged_in_its_first_and_second_state() -> None:
    check("""
    def f(xs):
        x = torch.zeros(2, 3, names=('N', 'C'))
        for _ in xs:
            x = x.sum('C')  # BUG
        y = torch.zeros(2, 3, 4, 5, 6, 7, 8, names=('A', 'B', 'C', 'D', 'E', 'F', 'G'))
        for _ in xs:
            y = y.sum(y.names[-1])
        y.mean('A')
    """)


def test_a_loop_that_is_followed_to_its_end() -> None:
    check("""
    x = torch.zeros(2, 3, 4, names=('N', 'C', 'T'))
    for name in x.names[1:]:
        x = x.sum(name)
    x.mean('N')
    y = torch.zeros(2, 3, 4, names=('N', 'C', 'T'))
    while y.dim() > 1:
        y = y.sum(y.names[-1])
    y.mean('C')  # BUG
    """)


def test_what_a_loop_may_leave_unchanged() -> None:
    check("""
    def f(xs):
        total, done = None, False
        x = torch.zeros(2, 3, names=('N', 'C'))
        for row in xs:
            row = row.refine_names('N', 'C')
            total = row if total is None else total + row
            if not done:
                x = x.sum('C')
                done = True
        if done:
            x.mean('N')
        else:
            x.mean('C')
        if total is not None:
            total.mean('C')
            total.mean('T')  # BUG
    """)


def test_break_and_else() -> None:
    check("""
    def f(xs):
        for row in xs:
            found = row.refine_names('N', 'C')
            if row.sum() > 0:
                break
        else:
            found = torch.zeros(2, 3, names=('N', 'T'))
        found.mean('N')
        found.mean('C')  # BUG
    """)


def test_loops_that_never_come_to_rest_end() -> None:
    check("""
    def f():
        n, names, x = 0, [], torch.zeros(2, 3, names=('N', 'C'))
        while True:
            n += 1
            names.append(f'a{n}')
            x = x.rename(*names[:2]) if n > 2 else x
            for m in range(n):
                x = x.rename(None) if m % 2 else x.rename('N', 'C')
    """)


@pytest.mark.parametrize(
    "write",
    [
        "item.done = True",
        "item.data = item.data + 1",
        "del item.first.last",
        "if isinstance(item, torch.Tensor):\n                item += 1",
    ],
)
def test_a_loop_that_writes_to_what_each_round_makes_comes_to_rest(write: str) -> None:
    check(f"""
    def f(items, x):
        x = x.refine_names('N', 'C')
        for item in items():
            {write}
            y = x.sum('C')
        y.sum('C')  # BUG
    """)


@pytest.mark.parametrize(
    "guard",
    [
        "with pytest.raises(RuntimeError):\n        {}",
        "with pytest.raises(RuntimeError, match='x'):\n        {}",
        "with case.assertRaises(RuntimeError):\n        {}",
        "with case.assertRaisesRegex(RuntimeError, 'x'):\n        {}",
        "with contextlib.suppress(RuntimeError):\n        {}",
        "with Ignoring():\n        {}",
        "with ignoring():\n        {}",
        "try:\n        {}\n    except RuntimeError:\n        pass",
        "try:\n        {}\n    except (ValueError, RuntimeError) as error:\n        print(error)",
        "try:\n        {}\n    except Exception:\n        pass",
        "try:\n        {}\n    except:\n        pass",
    ],
)
@pytest.mark.parametrize("failing", ["x.mean('T')", "helper(x)"])
def test_an_error_that_is_expected_is_no_finding(guard: str, failing: str) -> None:
    source = f"""
    import contextlib
    import pytest

    class Ignoring:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return True

    @contextlib.contextmanager
    def ignoring():
        try:
            yield
        except RuntimeError:
            pass

    def helper(x):
        return x.mean('T')

    case = unknown()
{X}
    {guard.format(failing)}
    x.mean('C')
    """
    found = codes(source)
    catches_only_here = "Exception" in guard or "except:" in guard
    assert found == (["NC103"] if catches_only_here and "helper" in failing else [])


def test_a_context_that_lets_errors_through() -> None:
    check(f"""
    import contextlib

    class Timed:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            print(error)

    @contextlib.contextmanager
    def timed():
        try:
            yield 1
        finally:
            print()

{X}
    with Timed():
        x.mean('T')  # BUG
    with timed():
        x.mean('T')  # BUG
    with torch.no_grad(), Timed():
        x.mean('T')  # BUG
    """)


@pytest.mark.parametrize(
    "unnamed",
    [
        """
    class unnamed:
        def __init__(self, x):
            self.x = x

        def __enter__(self):
            self.names = self.x.names
            self.x.rename_(None)
            return self.x

        def __exit__(self, *error):
            self.x.rename_(*self.names)
        """,
        """
    import contextlib

    @contextlib.contextmanager
    def unnamed(x):
        names = x.names
        x.rename_(None)
        try:
            yield x
        finally:
            x.rename_(*names)
        """,
        """
    import contextlib

    @contextlib.contextmanager
    def unnamed(x):
        yield x.rename(None)
        """,
    ],
)
def test_a_context_that_takes_the_names_away_and_gives_them_back(unnamed: str) -> None:
    check(f"""
    {unnamed}
    x = torch.zeros(2, 3, names=('N', 'C'))
    with unnamed(x) as y:
        y.refine_names('A', 'B')
    x.mean('C')
    x.mean('T')  # BUG
    """)


def test_a_handler_runs_if_its_block_may_raise() -> None:
    check("""
    class Missing(Exception):
        pass

    def get(flag):
        if flag:
            raise Missing
        return 'T'

    def f(flag, table):
        try:
            name = get(flag)
            x = torch.zeros(2, 3, names=('N', 'T'))
        except Missing:
            name = 'C'
            x = torch.zeros(2, 3, names=('N', 'C'))
        x.mean(name)

    def g(table):
        y = torch.zeros(2, 3, names=('N', 'C'))
        try:
            y = y.mean('C')
        except RuntimeError:
            y = y.mean('T')
        try:
            dim = table['dim']
        except KeyError:
            dim = 'T'
        y.mean(dim)  # BUG
    """)


def test_finally_runs_on_every_path() -> None:
    check("""
    def f(x):
        x = x.refine_names('N', 'C')
        try:
            return x.mean('C')
        finally:
            x.mean('T')  # BUG
    """)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("'rows'", "C=3"),
        ("('columns', 1)", "N=2"),
        ("['many', 1, 2]", "N=2"),
        ("{'kind': 'rows'}", "C=3"),
        ("Point(1, 'C')", "N=2"),
        ("None", "C=3"),
        ("7", "N=2"),
    ],
)
def test_match(subject: str, expected: str) -> None:
    source = f"""
    from dataclasses import dataclass

    @dataclass
    class Point:
        y: int
        dim: str

    x = torch.zeros(2, 3, names=('N', 'C'))
    match {subject}:
        case 'rows' | None:
            dim = 'N'
        case ('columns', _):
            dim = 'C'
        case ['many', *rest] if len(rest) == 2:
            dim = 'C'
        case {{'kind': 'rows'}}:
            dim = 'N'
        case Point(dim=d):
            dim = d
        case int(n) if n > 5:
            dim = 'C'
        case _:
            dim = 'T'
    result = x.sum(dim)
    """
    assert dims(source, "result") == expected


def test_unpacking() -> None:
    check(f"""
{X}
    (a, b), *rest, last = ('N', 'C'), 1, 2, 'T'
    x.sum(a).mean(b)
    a = b = 'C'
    a, b = 'N', a
    x.sum(a).mean(b)
    n, c = x.shape
    x.mean(last)  # BUG
    """)


def test_a_variable_that_was_deleted_is_unknown() -> None:
    check(f"""
{X}
    del x
    x.mean('T')
    """)
