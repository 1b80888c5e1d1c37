"""Two variables for one object, or perhaps for one: a write to one may show in the other."""

from __future__ import annotations

import pytest

from tests.interpreting import check, dims

MADE = "x = torch.zeros(2, 3, names=('N', 'C'))\n"

# Each makes y from x; y may be x itself, or another tensor with the same names.
PERHAPS_THE_SAME = {
    "a conditional expression": "y = x if library.flag() else torch.rand_like(x)",
    "its other branch": "y = torch.rand_like(x) if library.flag() else x",
    "a branch": "y = x\nif library.flag():\n    y = torch.rand_like(x)",
    "both branches": "if library.flag():\n    y = x\nelse:\n    y = x.clone()",
    "a third branch": (
        "if library.flag():\n    y = x\nelif library.other():\n    y = x.clone()\n"
        "else:\n    y = x + 1"
    ),
    "one of nested branches": (
        "y = x.clone()\nif library.flag():\n    if library.other():\n        y = x"
    ),
    "what a function returns": (
        "def f(z):\n    if library.flag():\n        return z\n    return z.clone()\ny = f(x)"
    ),
    "what a function returns by a conditional": (
        "def f(z, flag):\n    return z if flag else torch.rand_like(z)\ny = f(x, library.flag())"
    ),
    "a loop that may not run": "y = x\nfor _ in library.items():\n    y = y + 1",
    "a while loop": "y = x\nwhile library.flag():\n    y = y + 1",
    "a loop left early": (
        "y = x\nfor _ in range(3):\n    if library.flag():\n        break\n    y = y + 1"
    ),
    "a handler": "y = x\ntry:\n    library.call()\nexcept ValueError:\n    y = x.clone()",
    "an item of a list": "both = [x, x.clone()]\ny = both[library.index()]",
    "an item of a joined list": (
        "both = [x]\nif library.flag():\n    both = [x.clone()]\ny = both[0]"
    ),
    "an entry of a dict": "both = {'a': x, 'b': x.clone()}\ny = both[library.key()]",
    "a default of get": "both = {'a': x}\ny = both.get(library.key(), x.clone())",
    "one of a loop": "for y in [x.clone(), x, x.clone()][library.start():]:\n    pass",
    "or": "y = library.none() and x or x.clone()",
    "an attribute": (
        "class Holder:\n    pass\nholder = Holder()\nholder.y = x\n"
        "if library.flag():\n    holder.y = x.clone()\ny = holder.y"
    ),
    "a closure": ("y = x\ndef f():\n    global y\n    y = x.clone()\nif library.flag():\n    f()"),
    "a swap": ("y = x.clone()\nz = x\nif library.flag():\n    y, z = z, y"),
    "a tuple": ("pair = (x, 1)\nif library.flag():\n    pair = (x.clone(), 1)\ny, _ = pair"),
}

PERHAPS_THE_SAME |= {
    expression: f"y = {expression}"
    for expression in (
        "x.float()",
        "x.to(library.dtype)",
        "x.to('cpu')",
        "x.contiguous()",
        "x.flatten(0, 0)",
        "x.type_as(library.other)",
        "+x",
        "x.real",
        "torch.as_tensor(x)",
        "torch.nn.functional.dropout(x, training=library.training)",
        "torch.nn.Identity()(x)",
        "torch.nn.Dropout(0.5)(x)",
        "x.float().contiguous()",
        "torch.atleast_2d(x)",
    )
}

CHANGES = ["y.rename_(N='T')", "y.names = ('T', 'C')", "z = y; z.rename_(N='T')"]


@pytest.mark.parametrize("made", PERHAPS_THE_SAME.values(), ids=PERHAPS_THE_SAME)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_one_may_be_one_of_the_other(made: str, change: str) -> None:
    check(f"{MADE}{made}\n{change}\nx.mean('T' if x is y else 'N')")
    check(f"{MADE}{made}\n{change}\nx.mean('T' if 'T' in x.names else 'N')")
    check(f"{MADE}{made}\n{change}\ny.mean('T')")
    check(f"{MADE}{made}\n{change}\ny.mean('N')  # BUG")


@pytest.mark.parametrize("made", PERHAPS_THE_SAME.values(), ids=PERHAPS_THE_SAME)
def test_a_change_of_the_other_may_be_one_of_the_one(made: str) -> None:
    check(f"{MADE}{made}\nx.rename_(N='T')\ny.mean('T' if x is y else 'N')")
    check(f"{MADE}{made}\nx.rename_(N='T')\ny.mean('T' if 'T' in y.names else 'N')")
    check(f"{MADE}{made}\nx.rename_(N='T')\nx.mean('N')  # BUG")


@pytest.mark.parametrize("made", PERHAPS_THE_SAME.values(), ids=PERHAPS_THE_SAME)
def test_what_is_not_changed_is_known(made: str) -> None:
    check(f"{MADE}{made}\ny.mean('T')  # BUG")
    check(f"{MADE}{made}\nz = y.rename(N='T')\nx.mean('N')")
    check(f"{MADE}{made}\nz = y.rename(N='T')\nx.mean('T')  # BUG")


@pytest.mark.parametrize(
    "expression",
    [
        "x.clone()",
        "x.relu()",
        "x.detach()",
        "x.flatten(0, 1, 'D')",
        "x.rename(None)",
        "x[...]",
        "x.T",
        "copy.deepcopy(x)",
        "torch.nn.Parameter(x)",
        "x.expand(2, 3)",
        "x.view(2, 3)",
        "x.to(torch.float64)",
    ],
)
def test_what_is_certainly_another(expression: str) -> None:
    x = "import copy\nx = torch.zeros(2, 3, names=('N', 'C'), dtype=torch.float32)\n"
    check(f"{x}y = {expression}\ny.rename_(*'AB'[:y.dim()])\nx.mean('N')\nx.mean('A')  # BUG")


def test_attributes_may_be_what_they_were() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    if x.grad is x.grad:
        x.mean('N')
    if x.T is not x.T:
        x.mean('T')  # BUG

    def f(a: torch.Tensor, b: torch.Tensor):
        c = a.refine_names('N', 'C')
        if a is b:
            return c.mean('T')  # BUG
    """)


# Each makes y from x or from something unknown, and can no longer distinguish the two.
PERHAPS_UNKNOWN = {
    "a loop": "y = x\nfor _ in library.items():\n    y = library.next(y)",
    "many branches": "y = x\nif library.flag(1):\n    y = x + 1\n"
    + "\n".join(
        f"elif library.flag({n}):\n    y = library.made().refine_names('A', '{chr(65 + n)}')"
        for n in range(2, 12)
    )
    + "\nelse:\n    y = x if library.flag() else library.made()",
    "a dict": "y = {'a': x}.get(library.key(), library.made())",
    "a list": "y = [x, library.made()][library.index()]",
}


@pytest.mark.parametrize("made", PERHAPS_UNKNOWN.values(), ids=PERHAPS_UNKNOWN)
def test_what_may_be_one_or_unknown(made: str) -> None:
    changed = f"{MADE}{made}\ny.rename_('T', 'K')\n"
    check(f"{changed}x.mean('T' if 'T' in x.names else 'N')\ny.mean('T')\ny.mean('Q')  # BUG")
    assert dims(changed, "x") == "? ?"


def test_a_list_that_may_be_unknown() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    dims, others, last = ['N'], {'a': 'N'}, ['N']
    more = {'a': dims, 'b': others}.get(library.key(), library.made())
    for _ in library.items():
        more, last = library.next(more), library.next(last)
    more.append('T')
    x.mean(dims[-1])
    more['a'] = 'T'
    x.mean(others['a'])
    """)


def test_two_that_may_be_one() -> None:
    check(
        f"""
    {MADE}
    a = x if library.flag() else x.clone()
    b = x if library.other() else x.clone()
    a.rename_(N='T')
    b.mean('T' if 'T' in b.names else 'N')
    a.mean('N')  # BUG
    b.rename_('N', 'C')
    a.mean('T' if 'T' in a.names else 'N')
    b.mean('T')  # BUG
    """
    )


def test_what_is_one_on_every_path_is_one() -> None:
    check("""
    a, b = torch.zeros(2, 3, names=('N', 'C')), torch.ones(2, 3, names=('N', 'C'))
    if library.flag():
        x = y = a
    else:
        x = y = b
    x.rename_(N='T')
    y.mean('T')
    y.mean('N')  # BUG
    a.mean('T' if a is x else 'N')
    """)


def test_three_that_were_one_and_the_other_way_round() -> None:
    check("""
    a, b = torch.zeros(2, 3, names=('N', 'C')), torch.ones(2, 3, names=('N', 'C'))
    if library.flag():
        x, y = a, b
    else:
        x, y = b, a
    x.rename_(N='T')
    y.mean('N')
    a.mean('T' if x is a else 'N')
    b.mean('T' if x is b else 'N')
    x.mean('N')  # BUG
    """)


def test_lists_and_dicts_that_may_be_one() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    for_n, other = ['N'], ['N']
    dims = for_n if library.flag() else other
    dims[0] = 'T'
    x.mean('N' if for_n[0] == 'T' else for_n[0])
    x.mean('N' if other is dims else other[0])
    x.mean(dims[0])  # BUG
    known = {'dim': 'N'}
    again = known if library.flag() else {'dim': 'N'}
    known['dim'] = 'T'
    x.mean('N' if again is known else again['dim'])
    x.mean(known['dim'])  # BUG
    """)


def test_a_long_chain_of_branches_ends() -> None:
    chain = "\n".join(
        f"if library.flag({index}):\n    x = x + {index}\nx += 1" for index in range(300)
    )
    assert dims(f"{MADE}{chain}", "x") == "N=2 C=3"


@pytest.mark.parametrize(
    "comprehension",
    [
        "[y.rename_(N='T') for y in [x] if library.flag()]",
        "{1: y.rename_(N='T') for y in [x] if library.flag()}",
        "[x.rename_(N='T') for _ in library.items()]",
        "[x.rename_(N='T') for n in 'ab' if library.flag(n) for _ in range(1)]",
    ],
)
def test_what_a_comprehension_may_not_do(comprehension: str) -> None:
    check(f"{MADE}{comprehension}\nx.mean('N' if 'N' in x.names else 'T')\nx.mean('Q')")


def test_what_a_loop_never_comes_to_rest_with() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    y, dims, n = x, ['N'], 'a'
    while library.flag():
        y = y.align_to(n, ...)
        dims.append(n)
        n += 'a'
    y.rename_(None)
    x.mean(0)
    x.mean('N' if 'N' in x.names else 0)
    x.mean('Q')
    y.mean(dims[-1])
    y.mean('N')
    """)
