"""Containers, and the functions and methods of Python that operate on them."""

from __future__ import annotations

import pytest

from tests.interpreting import check, dims

MADE = """
import itertools
import math
import operator
from collections import OrderedDict, defaultdict, deque

x = torch.zeros(2, 3, 4, names=('N', 'C', 'T'))
xs = [x.sum('N'), x.sum('C'), x.sum('T')]
d = {'N': xs[0], 'C': xs[1]}
names = list(x.names)
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("xs[-1]", "N=2 C=3"),
        ("xs[1:][0]", "N=2 T=4"),
        ("(xs + [x])[3]", "N=2 C=3 T=4"),
        ("[*xs, x][-1]", "N=2 C=3 T=4"),
        ("(xs * 2)[4]", "N=2 T=4"),
        ("torch.zeros((3,) * -1)", ""),
        ("d['C']", "N=2 T=4"),
        ("d.get('T', x)", "N=2 C=3 T=4"),
        ("{**d, 'T': x}['T']", "N=2 C=3 T=4"),
        ("(d | {'N': x})['N']", "N=2 C=3 T=4"),
        ("d.pop('C')", "N=2 T=4"),
        ("d.setdefault('T', x)", "N=2 C=3 T=4"),
        ("list(d.values())[0]", "C=3 T=4"),
        ("dict(zip(names, xs))['T']", "N=2 C=3"),
        ("[y for y in xs if 'N' in y.names][0]", "N=2 T=4"),
        ("{n: x.sum(n) for n in names}['T']", "N=2 C=3"),
        ("[x.sum((a, b)) for a in names for b in names if a < b][0]", "C=3"),
        ("x.sum(*[n for n in names if n != 'N'][:1])", "N=2 T=4"),
        ("next(y for y in xs)", "C=3 T=4"),
        ("sum(y.sum('C') for y in [x, x])", "N=2 T=4"),
        ("max(xs, key=lambda y: y.names)", "N=2 T=4"),
        ("sorted(xs, key=lambda y: y.names[0], reverse=True)[0]", "N=2 T=4"),
        ("list(reversed(xs))[0]", "N=2 C=3"),
        ("list(map(lambda y: y.sum(y.names[0]), xs))[0]", "T=4"),
        ("list(filter(lambda y: 'C' not in y.names, xs))[0]", "N=2 T=4"),
        ("list(enumerate(xs, 1))[2][1]", "N=2 C=3"),
        ("list(itertools.chain(xs, [x]))[3]", "N=2 C=3 T=4"),
        ("deque(xs).popleft()", "C=3 T=4"),
        ("OrderedDict(d)['N']", "C=3 T=4"),
        ("operator.itemgetter(1)(xs)", "N=2 T=4"),
        ("x.sum(x.names.index('C'))", "N=2 T=4"),
        ("x.sum('nct'.upper()[1])", "N=2 T=4"),
        ("x.sum('N C T'.split()[-1])", "N=2 C=3"),
        ("x.rename(**{n: n.lower() for n in names})", "n=2 c=3 t=4"),
        ("x.sum(f'{names[0]}')", "C=3 T=4"),
        ("x.sum('%s' % names[1])", "N=2 T=4"),
        ("x.align_to(*sorted(names))", "C=3 N=2 T=4"),
        ("x.sum(tuple({'N', 'C'} & set(names)))", "T=4"),
        ("x.unflatten('T', (('A', 2), ('B', 2)))", "N=2 C=3 A=2 B=2"),
        ("len(xs) + len(d) + len(names)", "8"),
        ("math.prod(x.shape)", "24"),
        ("all('T' in y.names for y in xs)", "False"),
        ("any('T' in y.names for y in xs)", "True"),
    ],
)
def test_what_an_expression_is(expression: str, expected: str) -> None:
    assert dims(f"{MADE}\nresult = {expression}", "result") == expected


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ("names.append('A')", "names[-1]"),
        ("names.insert(0, 'A')", "names[0]"),
        ("names[1] = 'A'", "names[1]"),
        ("names[1:] = ['A']", "names[1]"),
        ("names.extend('AB')", "names[3]"),
        ("names += ['A']", "names[3]"),
        ("names.remove('N'); names[0] = 'A'", "names[0]"),
        ("names.reverse(); names.append('A')", "names[3]"),
        ("names.clear(); names.append('A')", "names[0]"),
        ("alias = names; alias[0] = 'A'", "names[0]"),
        ("held = {'n': names}; held['n'][0] = 'A'", "names[0]"),
        ("del names[0]; names[0] = 'A'", "names[0]"),
        ("copied = names.copy(); copied[0] = 'Z'; names[0] = 'A'", "names[0]"),
    ],
)
def test_what_a_change_leaves(change: str, read: str) -> None:
    assert dims(f"{MADE}\n{change}\nresult = {read}", "result") == "'A'"


def test_a_tensor_under_two_names() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    alias = x
    held = [x, x]
    alias.rename_(N='B')
    x.mean('B')
    held[1].mean('B')
    held[0].mean('N')  # BUG
    """)


def test_the_items_of_a_list_of_unknown_length() -> None:
    check("""
    def f(inputs):
        rows = [x.refine_names('N', 'C') for x in inputs]
        rows[0].rename_(N='B')
        rows[0].mean('B')
        rows[1].mean('N')
        for row in rows:
            row.rename_(C='D')
        for row in rows:
            row.mean('D')
        fresh = [x.refine_names('N', 'C') for x in inputs]
        first, second = fresh
        first.rename_(N='B')
        second.mean('N')
        fresh[0].mean('T')
    """)


def test_items_of_unknown_lists_are_told_apart() -> None:
    check("""
    def f(names, table):
        x = torch.zeros(2, 3, names=('N', 'C'))
        names = list(names)
        if names[0] == 'T':
            x.mean(names[1])
        for name in names:
            if name == 'T':
                continue
            x.mean(name)
        table = dict(table)
        if table['a'] == 'T':
            x.mean(table['b'])
        rows = iter(names)
        if next(rows) == 'T':
            x.mean(next(rows))
    """)


def test_a_list_that_is_filled_in_a_loop() -> None:
    check("""
    from collections import defaultdict

    def f(inputs):
        rows, groups = [], defaultdict(list)
        for key, x in inputs:
            rows.append(x.refine_names('N', 'C'))
            groups[key].append(x.refine_names('N', 'T'))
        for row in rows:
            row.mean('C')
        torch.cat(rows, 'N').mean('T')  # BUG
        for group in groups.values():
            for row in group:
                row.mean('C')  # BUG
    """)


def test_keys_that_are_not_known() -> None:
    check("""
    def f(key, options):
        x = torch.zeros(2, 3, names=('N', 'C'))
        table = {'rows': 'N', 'columns': 'T'}
        x.mean(options.get(key, 'N'))
        x.mean(table.get(key, 'N'))
        table[key] = 'C'
        x.mean(table['columns'])
    """)


def test_a_table_of_functions() -> None:
    check("""
    def rows(x):
        return x.mean('N')

    def columns(x):
        return x.mean('C')

    TABLE = {'rows': rows, 'columns': columns}

    def run(kind, x):
        return TABLE[kind](x)

    def f(kind):
        return run(kind, torch.zeros(2, 3, names=('N', 'C')))

    run('rows', torch.zeros(3, names=('C',)).sum('C', keepdim=True).rename(C='N'))
    """)
