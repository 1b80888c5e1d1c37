"""Call summaries are applied only where nothing can have changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from namecheck import project
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import FunctionValue, Value
from namecheck.interpreter.evaluation import calls
from namecheck.interpreter.evaluation.calls import Calls
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.summaries import CallSummaries
from namecheck.project import Walk
from tests.interpreting import codes, notes

CHAIN = """
def f0(x):
    return x.relu()
"""


def chain(length: int) -> str:
    """Helpers that each call the one before twice."""
    links = (f"def f{n}(x):\n    return f{n - 1}(f{n - 1}(x))\n" for n in range(1, length))
    return CHAIN + "\n".join(links)


def runs(source: str, name: str) -> int:
    """How often the body of a function is run for its calls, in a program without findings."""
    with counting(name) as count:
        assert codes(source) == []
    return count[0]


@contextmanager
def counting(name: str) -> Iterator[list[int]]:
    """Count how often the body of a function is run for its calls."""
    count = [0]
    run_body = Calls.run_body

    def counted(
        calls: Calls, function: FunctionValue, layer: Store, frame: Frame
    ) -> list[tuple[Store, Value]]:
        count[0] += function.name == name and frame.is_called
        return run_body(calls, function, layer, frame)

    with mock.patch.object(Calls, "run_body", counted):
        yield count


def test_a_chain_of_helpers() -> None:
    call = "f13(f13(torch.zeros(2, 3, names=('N', 'C')))).sum('K')"
    assert codes(f"{chain(14)}\n{call}\n") == ["NC103"]


PROGRAMS_THAT_CHANGE = {
    "a global is bound anew": """
DIM = 'N'
def f(x):
    return x.sum(DIM)
x = torch.zeros(2, 3, names=('N', 'C'))
reveal_names(f(x))
DIM = 'C'
reveal_names(f(x))
""",
    "a list grows": """
SEEN = []
def f(x):
    SEEN.append(x)
    return x.relu()
x = torch.zeros(2, names=('N',))
f(x), f(x)
if len(SEEN) == 2:
    reveal_names(SEEN[1])
""",
    "the argument is renamed in place": """
def f(x):
    y = x.relu()
    x.rename_('K')
    return y
x = torch.zeros(2, names=('N',))
reveal_names(f(x))
reveal_names(x)
reveal_names(f(x))
""",
    "what is handed back is the argument": """
def f(x):
    return x
x, y = torch.zeros(2, names=('N',)), torch.zeros(2, names=('N',))
a, b = f(x), f(y)
b.rename_('K')
reveal_names(x)
reveal_names(y)
""",
    "each result is a tensor of its own": """
def f(x):
    return x.relu(), x.exp()
x = torch.zeros(2, names=('N',))
(a, b), (c, d) = f(x), f(x)
c.rename_('K')
reveal_names(a)
reveal_names(c)
reveal_names(d)
""",
    "an attribute is set": """
class Options:
    dim = 'N'
def f(x):
    return x.sum(Options.dim)
x = torch.zeros(2, 3, names=('N', 'C'))
reveal_names(f(x))
Options.dim = 'C'
reveal_names(f(x))
""",
    "an error is caught once": """
def f(x):
    if 'K' not in x.names:
        raise ValueError
    return x.sum('K')
x = torch.zeros(2, names=('N',))
for _ in range(2):
    try:
        x = f(x)
    except ValueError:
        x = torch.zeros(3, names=('K',))
""",
    "parameters that a constructor sets": """
from torch import nn
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, names=('C',)))
        self.register_buffer("mean", torch.zeros(4, names=('N',)))
a, b = Shift(), Shift()
reveal_names(a.weight)
reveal_names(b.mean)
b.weight.rename_('K')
reveal_names(a.weight)
reveal_names(b.weight)
""",
    "a closure that keeps what it was made with": """
def scaled(x):
    def by(y):
        return x * y
    return by
one = scaled(torch.zeros(2, names=('N',)))
other = scaled(torch.zeros(2, names=('C',)))
reveal_names(one(torch.zeros(2)))
reveal_names(other(torch.zeros(2)))
""",
    "an object that is written twice before an error": """
class Box:
    pass
def fill(box, x):
    box.x = x
    box.x = x.rename('K')
    raise ValueError
box = Box()
for word in ('N', 'C'):
    try:
        fill(box, torch.zeros(2, names=(word,)))
    except ValueError:
        pass
    reveal_names(box.x)
""",
    "a cache in a module": """
CACHE = {}
def cached(key, x):
    if key not in CACHE:
        CACHE[key] = x
    return CACHE[key]
x, y = torch.zeros(2, names=('N',)), torch.zeros(2, names=('C',))
reveal_names(cached('a', x))
reveal_names(cached('a', y))
reveal_names(cached('b', y))
""",
    "what is linked by an argument that is given twice": """
def both(x, y):
    x.rename_('K')
    return y.relu()
a, b = torch.zeros(2, names=('N',)), torch.zeros(2, names=('N',))
reveal_names(both(a, b))
reveal_names(both(b, b))
""",
    "an equation of the axes of an argument": """
from jaxtyping import Float
def joined(x, y):
    reveal_names(x + y)
    return x
def compare(a: Float[torch.Tensor, "n"], b: Float[torch.Tensor, "m"]):
    joined(a, a)
    if a.shape[0] == b.shape[0]:
        reveal_names(joined(b, a))
    joined(a, b)
""",
    "equations that a call adds to those before it": """
from jaxtyping import Float
def joined(x, y, flag):
    if flag:
        assert x.shape[0] == y.shape[0]
    return x
def compare(
    a: Float[torch.Tensor, "n"],
    b: Float[torch.Tensor, "m"],
    c: Float[torch.Tensor, "k"],
    d: Float[torch.Tensor, "l"],
    flag,
):
    reveal_names(joined(a, b, flag))
    reveal_names(joined(c, d, flag))
    a + b
    c + d
    a + c
def certain(a: Float[torch.Tensor, "n"], b: Float[torch.Tensor, "m"]):
    reveal_names(joined(a, b, True))
    reveal_names(a + b)
def more(a: Float[torch.Tensor, "n"], b: Float[torch.Tensor, "m"], c: Float[torch.Tensor, "k"]):
    reveal_names(joined(a, b, True))
    reveal_names(a + b)
    reveal_names(joined(b, c, True))
    reveal_names(a + c)
""",
    "an attribute of an unknown name is set on objects with other attributes": """
class Box:
    pass
def renew(box, name):
    setattr(box, name, torch.zeros(2, names=('K',)))
def boxes(name):
    one, two = Box(), Box()
    one.x = two.x = two.y = torch.zeros(2, names=('N',))
    renew(one, name)
    reveal_names(two.x)
    renew(two, name)
    reveal_names(two.y)
""",
    "a fact of an unknown value is assumed": """
def f(x, other):
    return x if other is None else x.sum('N')
def both(other):
    x = torch.zeros(2, 3, names=('N', 'C'))
    reveal_names(f(x, other))
    if other is None:
        reveal_names(f(x, other))
    else:
        reveal_names(f(x, other))
""",
    "an unknown value is written to as a tensor": """
def f(y):
    return y + 1
def both(y):
    reveal_names(f(y))
    y.names = ('N',)
    reveal_names(f(y))
""",
    "sizes that differ from call to call": """
def f(x):
    return x[torch.rand(2) > 0]
x = torch.zeros(2, names=('N',))
torch.cat([f(x), f(x)], 'N') + torch.zeros(3, names=('N',))
""",
}


@pytest.mark.parametrize("name", PROGRAMS_THAT_CHANGE)
def test_what_changes_is_followed(name: str) -> None:
    source = "from namecheck import reveal_names\n" + PROGRAMS_THAT_CHANGE[name]
    told = notes(source), codes(source)
    with mock.patch.object(
        CallSummaries, "call", lambda self, function, call, follow: follow(call)
    ):
        assert (notes(source), codes(source)) == told
    assert told != ([], []) or "error" in name or "sizes" in name


def test_an_equation_of_sizes_does_not_concern_a_call_without_them() -> None:
    source = """
from jaxtyping import Float

def activated(x):
    return x.relu()

def compare(a: Float[torch.Tensor, "n"], b: Float[torch.Tensor, "m"]):
    activated(torch.zeros(2, 3))
    assert a.shape[0] == b.shape[0]
    activated(torch.zeros(2, 3))
"""
    assert runs(source, "activated") == 1


@pytest.mark.parametrize(("argument", "count"), [("e", 1), ("c", 2)])
def test_an_equation_concerns_a_call_with_an_axis_of_it(argument: str, count: int) -> None:
    source = f"""
from jaxtyping import Float
from torch import Tensor

def activated(x):
    return x.relu()

def compare(
    a: Float[Tensor, "n"],
    b: Float[Tensor, "m"],
    c: Float[Tensor, "k"],
    d: Float[Tensor, "l"],
    e: Float[Tensor, "j"],
):
    assert a.shape[0] == b.shape[0]
    activated({argument})
    assert c.shape[0] == d.shape[0]
    activated({argument})
"""
    assert runs(source, "activated") == count


def test_equations_that_are_possible_do_not_concern_a_call_that_adds_others() -> None:
    source = """
from jaxtyping import Float
from torch import Tensor

def joined(x, y, flag):
    if flag:
        assert x.shape[0] == y.shape[0]
    return x

def first(a: Float[Tensor, "n"], b: Float[Tensor, "m"], flag):
    return joined(a, b, flag) + b

def second(a: Float[Tensor, "n"], b: Float[Tensor, "m"], flag):
    return joined(a, b, flag) + b

def compare(a, b, flag):
    first(a, b, flag)
    return second(a, b, flag)
"""
    assert runs(source, "joined") == 2  # for axes that a caller binds, and for others


def test_an_object_that_a_call_gives_attributes_had_none_before() -> None:
    source = """
from torch import Tensor

from somewhere import check

class Pair:
    def __init__(self, first: Tensor, second: Tensor):
        self.first = first
        self.second = second
        check(self)

def pairs(x: Tensor):
    return Pair(x, x), Pair(x, x), Pair(x, x)
"""
    assert runs(source, "__init__") == 1


def test_an_attribute_of_an_unknown_name_is_set_once_for_objects_alike() -> None:
    source = """
from torch import Tensor

class Box:
    def __init__(self, x: Tensor):
        self.x = x

def renew(box, name):
    setattr(box, name, None)

def boxes(x: Tensor, y: Tensor, name):
    one, two = Box(x), Box(y)
    renew(one, name)
    renew(two, name)
    return one.x, two.x
"""
    assert runs(source, "renew") == 1


def test_a_far_body_that_takes_all_its_steps_is_run_once(tmp_path: Path) -> None:
    (tmp_path / "far.py").write_text(f"""
def far(x):
    {"x = x.relu(); " * 20}
    return x
""")
    (tmp_path / "main.py").write_text("""
from far import far
from jaxtyping import Float
from torch import Tensor

def both(x: Float[Tensor, "n"]):
    return far(x), far(x)
""")
    with mock.patch.object(calls, "_STEPS_ELSEWHERE", 10), counting("far") as count:
        assert project.check(Walk().entries([str(tmp_path)])).findings == ()
    assert count == [1]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return x.relu()", 1),
        # In silence a loop has fewer rounds, but their states are among those of an audible one.
        ("for y in x.things():\n        x = x.relu()\n    return x", 1),
        ("return plain(x)", 1),
        ("return looped(x)", 1),
        # A call of None ends a path in silence alone.
        ("act = None\n    if x.things():\n        act(x)\n    return x", 2),
    ],
)
def test_a_silent_call_has_the_summary_of_an_audible_one(body: str, count: int) -> None:
    source = f"""
def plain(x):
    return x.relu()

def looped(x):
    while x.things():
        x = x.relu()
    return x

def helper(x):
    {body}

x = torch.zeros(2, names=("N",))
done = 0
for each in somewhere():
    helper(x)  # twice to report findings, then in silence
    done = done + 1  # not at rest after two rounds
"""
    assert runs(source, "helper") == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return x.relu()", 1),
        # What a query answers may differ from round to round.
        ("return x.relu() if state.is_ready() else x", 2),
    ],
)
def test_a_call_in_a_loop_has_the_summary_of_one_before_it(body: str, count: int) -> None:
    source = f"""
def helper(x, state):
    {body}

def run(x, state):
    helper(x, state)
    for each in somewhere():
        helper(x, state)
"""
    assert runs(source, "helper") == count


def test_what_a_query_answers_in_a_round_is_not_the_answer_of_another_one() -> None:
    source = """
def ask(state):
    return state.is_ready()

def run(state, x):
    before = ask(state)
    for each in somewhere():
        if not before and ask(state):
            x = torch.zeros(2, names=("N",)).sum("C")
"""
    assert codes(source) == ["NC103"]


def test_a_fact_that_is_assumed_no_more_is_as_good_as_none() -> None:
    source = """
def helper(x, flag):
    if flag:
        x = x.relu()
    return x

def run(x, flag):
    helper(x, flag)
    assert x.is_ready()
    helper(x, flag)
"""
    assert runs(source, "helper") == 1
