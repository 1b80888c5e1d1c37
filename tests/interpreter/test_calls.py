"""Calls: arguments are bound to parameters, and each call runs with its own arguments."""

from __future__ import annotations

import pytest

from tests.interpreting import check, dims

FUNCTIONS = """
def reduced(x, dim='C', *, keepdim=False):
    return x.sum(dim, keepdim=keepdim)

def first(x, *others):
    return x

def last(*many):
    return many[-1]

def options(x, **kwargs):
    return x.sum(**kwargs)

def chosen(x, /, other=None):
    return x if other is None else other

def outer(dim):
    def inner(x):
        return x.sum(dim)
    return inner

def twice(function):
    def wrapper(*args, **kwargs):
        return function(function(*args, **kwargs))
    return wrapper

@twice
def without_first(x):
    return x.sum(x.names[0])

def gave(names):
    for name in names:
        yield x.sum(name)

def down(x, n):
    return x if n == 0 else down(x.sum(x.names[-1]), n - 1)

x = torch.zeros(2, 3, 4, names=('N', 'C', 'T'))
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("reduced(x)", "N=2 T=4"),
        ("reduced(x, 'T')", "N=2 C=3"),
        ("reduced(dim='N', x=x)", "C=3 T=4"),
        ("reduced(x, keepdim=True)", "N=2 C=1 T=4"),
        ("reduced(*[x, 'T'])", "N=2 C=3"),
        ("reduced(*(x,), **{'dim': 'N'})", "C=3 T=4"),
        ("first(x, 1, 2)", "N=2 C=3 T=4"),
        ("last(1, 2, x)", "N=2 C=3 T=4"),
        ("options(x, dim='N', keepdim=True)", "N=1 C=3 T=4"),
        ("chosen(x)", "N=2 C=3 T=4"),
        ("chosen(x, x.sum('N'))", "C=3 T=4"),
        ("outer('C')(x)", "N=2 T=4"),
        ("without_first(x)", "T=4"),
        ("next(gave(['N', 'T']))", "C=3 T=4"),
        ("list(gave(['N', 'T']))[1]", "N=2 C=3"),
        ("down(x, 2)", "N=2"),
        ("(lambda y, d='N': y.sum(d))(x)", "C=3 T=4"),
        ("[f(x) for f in (reduced, outer('N'))][1]", "C=3 T=4"),
        ("functools.partial(reduced, dim='N')(x)", "C=3 T=4"),
        ("functools.partial(reduced, x)('T')", "N=2 C=3"),
        ("functools.reduce(torch.add, [x, x])", "N=2 C=3 T=4"),
    ],
)
def test_what_a_call_gives(call: str, expected: str) -> None:
    assert dims(f"import functools\n{FUNCTIONS}\nresult = {call}", "result") == expected


@pytest.mark.parametrize(
    "call",
    [
        "x.refine_names(*names).mean('T')",
        "x.refine_names('N', *names)",
        "x.rename(*names).mean('T')",
        "x.rename(**options).mean('T')",
        "x.rename(N='B', **options).mean('T')",
        "x.align_to(*names, 'N').mean('T')",
        "x.rename_(*names).mean('T')",
        "x.rename_(**options); x.mean('T')",
        "x.unflatten('N', *names)",
        "x.addmm(*names)",
        "torch.addmm(x, *names)",
        "torch.zeros(2, *names, names=('N', 'C', 'T')).mean('T')",
        "torch.cat(*names, dim='N')",
        "of_one(*names, y)",
        "of_one(y, *names)",
        "of_two(*names, y)",
        "functools.partial(of_two, *names)(y)",
        "functools.partial(of_two, **options)(y)",
        "list(map(of_two, *names))",
        "operator.add(*names)",
        "''.join(*names)",
        "Pair(*names).mean('C')",
    ],
)
def test_stars_of_unknown_number(call: str) -> None:
    check(f"""
    import functools
    import operator
    from dataclasses import dataclass

    @dataclass
    class Pair:
        one: int = 0
        two: int = 0

    def of_one(one, two=None, *others):
        return two.mean('C')

    def of_two(one, two):
        return two.mean('C')

    def f(names, options):
        x = torch.zeros(2, 3, names=('N', 'C'))
        y = torch.zeros(2, 3, names=('N', 'T'))
        {call}
    """)


def test_a_star_of_sizes_leaves_the_names_known() -> None:
    check("""
    def f(shape):
        x = torch.zeros(*shape, names=('N', 'C'))
        x.mean('T')  # BUG
    """)


def test_a_list_that_unknown_code_was_given_is_unknown() -> None:
    check("""
    import library
    x = torch.zeros(2, 3, names=('N', 'C'))
    names = ['T']
    library.fill(names)
    x.mean(names[0])
    options = {'dim': 'T'}
    library.fill(*unknown(), options)
    x.mean(**options)
    """)


def test_a_default_is_made_once() -> None:
    assert (
        dims(
            """
    def remember(x, seen=[]):
        seen.append(x)
        return seen[0]

    remember(torch.zeros(2, names=('A',)))
    first = remember(torch.zeros(2, names=('B',)))
    """,
            "first",
        )
        == "A=2"
    )


def test_a_call_that_cannot_be_bound_says_nothing() -> None:
    check("""
    def f(x, y):
        return x.mean('C')

    x = torch.zeros(2, 3, names=('N', 'T'))
    f(x)
    f(x, x, x)
    f(x, z=x)
    """)


def test_recursion_comes_to_an_end() -> None:
    check("""
    def forever(x):
        return forever(x.sum('C') if 'C' in x.names else x)

    def ping(x, n):
        return pong(x, n + 1)

    def pong(x, n):
        return ping(x, n + 1)

    x = torch.zeros(2, 3, names=('N', 'C'))
    forever(x)
    ping(x, 0)

    def total(xs):
        if not xs:
            return 0
        return xs[0].sum('C') + total(xs[1:])

    total([x, x, x]).mean('C')  # BUG
    """)


def test_a_closure_sees_what_was_bound_last() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    dim = 'T'
    def late():
        return x.mean(dim)
    dim = 'C'
    late()

    def counter():
        current = 'N'
        def switch():
            nonlocal current
            current = 'C'
        switch()
        return current

    x.sum(counter()).mean('N')
    dims = [lambda d=d: x.sum(d) for d in ('N', 'C')]
    dims[1]().mean('C')  # BUG
    """)


def test_a_method_passed_as_a_value() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    reduce = x.sum
    reduce('C').mean('N')
    apply = torch.Tensor.sum
    apply(x, 'C').mean('C')  # BUG
    """)


def test_a_decorator_that_says_nothing_of_what_it_returns() -> None:
    check("""
    import library

    @library.compiled
    def f(x):
        return x.refine_names('N', 'C')

    f(torch.zeros(2, 3)).mean('T')

    @torch.no_grad()
    def g(x):
        return x.refine_names('N', 'C')

    g(torch.zeros(2, 3)).mean('T')  # BUG
    """)


def test_a_generator_is_used_up() -> None:
    check("""
    def pair():
        yield torch.zeros(2, 3, names=('N', 'C'))

    rows = pair()
    for row in rows:
        row.mean('N')
    for row in rows:
        row.mean('T')
    """)


def test_awaited_calls() -> None:
    check("""
    import asyncio

    async def load():
        return torch.zeros(2, 3, names=('N', 'C'))

    async def main():
        x = await load()
        y, z = await asyncio.gather(load(), load())
        async for row in x:
            row.mean('C')
        (x + y).mean('T')
        x.mean('T')  # BUG

    asyncio.run(main())
    """)


def test_what_stands_after_a_yield_runs_only_if_it_is_asked_for() -> None:
    check(
        """
        import torch

        def parts(x):
            yield x.sum("C")
            yield x.sum("Q")

        first = next(parts(torch.rand(2, 3, names=("N", "C"))))
        first.sum("C")  # BUG
        """
    )


@pytest.mark.parametrize(
    "wrapped", ["functools.wraps(f)(wrapper)", "functools.update_wrapper(wrapper, f)"]
)
def test_a_wrapper_has_the_name_of_what_it_wraps(wrapped: str) -> None:
    """Two wrappers of one decorator are not registered under one name."""
    program = f"""
    import functools
    functions = {{}}

    def registered(f):
        if f.__name__ in functions:
            raise ValueError(f.__name__)
        functions[f.__name__] = f
        return f

    def logged(f):
        def wrapper(x):
            return f(x)
        return {wrapped}

    @registered
    @logged
    def rows(x):
        return x.sum('C')

    @registered
    @logged
    def columns(x):
        return x.sum('N')

    x = torch.zeros(2, 3, names=('N', 'C'))
    result = functions['rows'](x)
    """
    assert dims(program, "result") == "N=2"
