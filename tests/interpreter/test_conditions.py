"""Two tests of one unchanged condition agree, whatever the form of the condition."""

from __future__ import annotations

import pytest

from tests.interpreting import check

# If the first holds, the second holds.
IMPLIED = [
    ("flag", "flag"),
    ("not flag", "not flag"),
    ("not (not flag)", "flag"),
    ("flag is True", "flag is True"),
    ("flag and n", "flag and n"),
    ("flag and n", "flag"),
    ("flag and n", "n"),
    ("not (flag or n)", "not flag"),
    ("flag and n and t", "t and n"),
    ("flag", "flag or n"),
    ("n > 3", "n > 3"),
    ("n > 3", "3 < n"),
    ("n > 3", "not n <= 3"),
    ("0 < n < 3", "0 < n < 3"),
    ("n == 3", "3 == n"),
    ("n == 3", "n > 2"),
    ("n == 3", "not n != 3"),
    ("n == 3", "n"),
    ("n is None", "n is None"),
    ("n is None", "n == None"),
    ("n is None", "not n"),
    ("n == 'a'", "n in ('a', 'b')"),
    ("n == 'a'", "n.startswith('a')"),
    ("n in ('a', 'b')", "n in ['a', 'b']"),
    ("n in ('a', 'b')", "n != 'c'"),
    ("n not in ('a', 'b')", "n != 'a'"),
    ("n in ('a', 'b') and n != 'a'", "n == 'b'"),
    ("len(n) == 2", "len(n) == 2"),
    ("isinstance(n, list)", "isinstance(n, list)"),
    ("n.a.b", "n.a.b"),
    ("n['a']", "n['a']"),
    ("n['a'] == 'z'", "n['a'] == 'z'"),
    ("wide(n)", "wide(n)"),
    ("wide(n)", "n > 3"),
    ("kind(n) == 'a'", "kind(n) == 'a'"),
    ("n == Layout.ROWS", "n is Layout.ROWS"),
    ("bool(n)", "n"),
    ("hasattr(n, 'a')", "hasattr(n, 'a')"),
    ("callable(n)", "callable(n)"),
    ("int(n) == 3", "int(n) == 3"),
    ("n.dim() == 2", "n.dim() == 2"),
    ("n.ndim == 2", "n.ndim > 1"),
    ("n.startswith('a')", "n.startswith('a')"),
    ("n.get('a')", "n.get('a')"),
    ("torch.cuda.is_available()", "torch.cuda.is_available()"),
    ("torch.is_grad_enabled()", "torch.is_grad_enabled()"),
    ("y.dim() > 2", "y.dim() > 2"),
    ("y.shape[0] == 3", "y.shape[0] == 3"),
    ("y.size(0) > 1", "y.size(0) > 1"),
    ("len(y) == 1", "len(y) == 1"),
    ("y.is_cuda", "y.is_cuda"),
    ("y.requires_grad and n", "y.requires_grad"),
    ("y.dtype == torch.float16", "y.dtype == torch.float16"),
    ("torch.is_tensor(n)", "torch.is_tensor(n)"),
    ("n == Layout.ROWS", "n != Layout.COLUMNS"),
]


def _program(first: str, second: str, mark: str = "") -> str:
    return f"""
    from enum import Enum

    class Layout(Enum):
        ROWS = 1
        COLUMNS = 2

    def wide(n):
        return n > 3

    def kind(n):
        if n > 3:
            return 'a'
        return 'b'

    def f(flag, n, t, y: torch.Tensor):
        x = torch.zeros(2, 3, names=('N', 'C'))
        if {first}:
            x = x.sum('C')
        z = x + 1
        if not ({second}):
            z.mean('C'){mark}
    """


@pytest.mark.parametrize(("first", "second"), IMPLIED)
def test_what_follows_from_a_test_holds_later(first: str, second: str) -> None:
    check(_program(first, second))


@pytest.mark.parametrize("second", ["n", "t", "flag and n", "n > 3", "not flag"])
def test_what_does_not_follow_may_fail(second: str) -> None:
    check(_program("flag", second, "  # BUG"))


@pytest.mark.parametrize(
    "choice",
    [
        "dim, other = ('C', 'N') if flag else ('N', 'C')",
        "dim = 'C' if flag else 'N'\n        other = 'N' if flag else 'C'",
        "dim = flag and 'C' or 'N'\n        other = flag and 'N' or 'C'",
        "names = {'d': 'C', 'o': 'N'} if flag else {'d': 'N', 'o': 'C'}\n"
        "        dim, other = names['d'], names['o']",
    ],
)
def test_choices_made_by_one_condition_agree(choice: str) -> None:
    check(
        f"""
    def f(flag):
        x = torch.zeros(2, 3, names=('N', 'C'))
        {choice}
        return x.sum(dim).mean(other)
    """
    )


def test_a_stored_condition_stands_for_its_parts() -> None:
    check("""
    def f(a, b):
        x = torch.zeros(2, 3, names=('N', 'C'))
        both = a and b
        if both:
            x = x.sum('C')
        if a:
            if not b:
                x.mean('C')
        else:
            x.mean('C')
        if both:
            x.mean('C')  # BUG
    """)


def test_a_condition_that_was_changed_is_another_one() -> None:
    check("""
    def f(flag):
        x = torch.zeros(2, 3, names=('N', 'C'))
        if flag:
            x = x.sum('C')
            flag = False
        if not flag:
            x.mean('C')  # BUG
    """)


def test_a_flag_of_an_instance_agrees_with_itself() -> None:
    check("""
    class Reducer:
        def __init__(self, wide, n):
            self.wide = wide
            self.n = n

        @property
        def large(self):
            return self.n > 3

        def forward(self, x):
            x = x.refine_names('N', 'C')
            if self.wide and self.large:
                x = x.sum('C')
            if not self.wide or not self.large:
                return x.mean('C')
            return x.mean('N')
    """)


def test_what_is_asked_in_a_loop_may_have_changed() -> None:
    check("""
    def f(queue):
        x = torch.zeros(2, 3, names=('N', 'C'))
        last = x
        while True:
            if queue.is_empty():
                break
            queue.advance()
            last = x.sum('C')
        last.mean('C')  # BUG
    """)


def test_the_third_of_three_modes() -> None:
    check("""
    def f(mode):
        x = torch.zeros(2, 3, 4, names=('N', 'C', 'T'))
        if mode == 'a':
            x = x.sum('C')
        elif mode == 'b':
            x = x.sum('T')
        if mode == 'a':
            x.mean('T')
        elif mode == 'b':
            x.mean('C')
        else:
            x.mean('C').mean('T')
        x.mean('C')  # BUG
    """)


def test_a_path_that_no_test_allows_is_not_followed() -> None:
    check("""
    def f(mode):
        x = torch.zeros(2, 3, names=('N', 'C'))
        if mode not in ('a', 'b'):
            raise ValueError(mode)
        if mode == 'a':
            x = x.sum('C')
        if mode == 'c':
            x.mean('T')
    """)


def test_the_tests_of_a_comprehension_hold_for_its_items() -> None:
    check("""
    def f(masks):
        x = torch.zeros(2, 3, names=('N', 'C'))
        pairs = [(x, 'C'), (x.sum('C'), None)]
        return [t.mean(dim) for t, dim in pairs if dim is not None]
    """)


@pytest.mark.parametrize(
    "test",
    ["x.dim() == 2", "x.ndim == 2", "len(x.shape) == 2", "2 == x.dim()", "x.ndimension() == 2"],
)
def test_a_rank_that_is_tested_is_known(test: str) -> None:
    check(f"""
    def f(x):
        assert {test}
        x.refine_names('N', 'C')
        return x.refine_names('N', 'C', 'T')  # BUG

    def g(x):
        if {test}:
            x = x.refine_names('N', 'C', 'T')  # BUG
        else:
            x = x.refine_names('N', 'C', 'T')
        return x

    def i(x):
        if {test}:
            x.unsqueeze_(0)
            return x.refine_names('N', 'C', 'T')
    """)


def test_a_rank_makes_no_tensor_of_an_array() -> None:
    check("""
    def f(x):
        if x.ndim == 2:
            return x.mean('T'), x.sum(3)
    """)


VERSIONS = [
    "torch.__version__ >= '2.0'",
    "torch.__version__ < '2.0'",
    "torch.__version__.startswith('1.')",
    "version.parse(torch.__version__) < version.parse('1.9')",
    "not version.Version(torch.__version__) >= version.Version('1.9')",
    "tuple(map(int, torch.__version__.split('.')[:2])) < (1, 8)",
    "tuple(int(part) for part in torch.__version__.split('.')[:2]) < (1, 8)",
    "[int(part) for part in torch.__version__.split('.')][1] < 8",
    "int(torch.__version__.split('.')[1]) < 8",
    "torch.version.cuda is None",
    "'dev' in torch.__version__",
    "1 < version.parse(torch.__version__).major <= 2",
    "hasattr(torch, 'compile')",
    "importlib.metadata.version('torch') < '2'",
    "Version(__version__) < Version('2')",
    "library.compare(torch.__version__, '2')",
]


@pytest.mark.parametrize("test", VERSIONS)
@pytest.mark.parametrize(
    "use",
    [
        "if TEST:\n    x.mean('T')\nelse:\n    x.mean('K')",
        "old = TEST\nif old and library.flag():\n    x.mean('T')",
        "if TEST:\n    dim = 'T'\nelse:\n    dim = 'N'\nx.mean(dim)",
        "dim = 'T' if TEST else 'N'\nx.mean(dim)",
        "def f():\n    if TEST:\n        return 'T'\n    return 'N'\nx.mean(f())",
        "def f(y):\n    if TEST:\n        return y.mean('T')\n    return y.mean('N')\nf(x)",
    ],
)
def test_either_branch_of_a_version_may_be_for_another_torch(test: str, use: str) -> None:
    imports = (
        "import importlib.metadata, library\nfrom packaging import version\n"
        "from packaging.version import Version\nfrom torch import __version__\n"
    )
    x = "x = torch.zeros(2, 3, names=('N', 'C'))\n"
    check(f"{imports}{x}{use.replace('TEST', test)}\nx.mean('N')\nx.mean('Q')  # BUG")


@pytest.mark.parametrize("test", ["300 in b'a'", "-1 not in b'a'", "'a' in b'a'", "1 in 'a'"])
def test_a_test_that_python_refuses_is_open(test: str) -> None:
    check(f"""
    x = torch.zeros(2, names=('N',))
    if {test}:
        x.sum('K')  # BUG
    x.sum('T')  # BUG
    """)
