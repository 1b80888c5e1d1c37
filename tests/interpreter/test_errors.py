"""Errors that the program expects, the state in which a handler starts, and the end of a path."""

from __future__ import annotations

import pytest

from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings
from tests.interpreting import check

MADE = "import contextlib, pytest, unittest\nx = torch.zeros(2, 3, names=('N', 'C'))\n"

CATCHING = {
    "the error itself": ("RuntimeError", True),
    "what all errors are": ("Exception", True),
    "what all exceptions are": ("BaseException", True),
    "another error": ("ValueError", False),
    "an error derived from it": ("NotImplementedError", False),
    "one of several": ("(ValueError, RuntimeError)", True),
    "none of several": ("(ValueError, KeyError)", False),
    "by its module": ("builtins.RuntimeError", True),
    "of a library": ("library.Error", False),
    "of the program": ("Mine", False),
    "under a name": ("errors", True),
    "not known": ("library.errors()", True),
}
NAMED = (
    "import builtins, library\nclass Mine(RuntimeError): pass\nerrors = (KeyError, RuntimeError)\n"
)


@pytest.mark.parametrize(("error", "caught"), CATCHING.values(), ids=CATCHING)
@pytest.mark.parametrize(
    "form",
    [
        "try:\n    x.mean('T')\nexcept ERROR:\n    pass",
        "with pytest.raises(ERROR):\n    x.mean('T')",
        "with pytest.raises(ERROR, match='T'):\n    x.mean('T')",
        "with contextlib.suppress(ERROR):\n    x.mean('T')",
        "with unittest.TestCase().assertRaises(ERROR):\n    x.mean('T')",
        "def f(y):\n    try:\n        y.mean('T')\n    except ERROR as e:\n        print(e)\nf(x)",
    ],
)
def test_an_error_is_expected_where_it_is_caught(form: str, error: str, caught: bool) -> None:
    lines = form.replace("ERROR", error).split("\n")
    if not caught:
        lines = [f"{line}  # BUG" if line.endswith("mean('T')") else line for line in lines]
    check(MADE + NAMED + "\n".join(lines))


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("x.mean('T')", "RuntimeError"),
        ("x.mean(5)", "IndexError"),
        ("x.mean(5)", "LookupError"),
    ],
)
def test_every_error_is_expected_by_its_type(statement: str, error: str) -> None:
    check(f"{MADE}try:\n    {statement}\nexcept {error}:\n    pass")
    check(f"{MADE}try:\n    {statement}  # BUG\nexcept KeyError:\n    pass")


def test_a_callee_may_raise_what_its_caller_expects() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    def f(y):
        return y.mean('T')
    try:
        f(x)
    except RuntimeError:
        pass

    def g(y):
        return y.mean('T')  # BUG
    try:
        g(x)
    except Exception:
        pass
    try:
        g(x)
    except ValueError:
        pass
    """)


# Each changes the value of `dim`, or the dims of x, at a place after which an error may occur.
BEFORE_AN_ERROR = {
    "a statement": "dim = 'T'\nlibrary.call()\ndim = 'N'",
    "the same statement": "dim = 'T'; library.call(); dim = 'N'",
    "in a branch": "if library.flag():\n    dim = 'T'\n    library.call()\ndim = 'N'",
    "in a loop": "for dim in ('T', 'N'):\n    library.call()",
    "in a loop that ends otherwise": (
        "for _ in library.items():\n    dim = 'T'\n    library.call()\n    dim = 'N'"
    ),
    "in a with": "with library.context():\n    dim = 'T'\n    library.call()\n    dim = 'N'",
    "in a call": "def f():\n    global dim\n    dim = 'T'\n    library.call()\n    dim = 'N'\nf()",
    "by a walrus": "library.call(dim := 'T')\ndim = 'N'",
    "in another try": (
        "try:\n    dim = 'T'\n    library.call()\n    dim = 'N'\nfinally:\n    library.call()"
    ),
    "in its handler": (
        "try:\n    library.call()\nexcept ValueError:\n    dim = 'T'\n    library.call()\n"
        "    dim = 'N'"
    ),
    "in an attribute": (
        "box.dim = 'T'\ntry:\n    library.call()\nfinally:\n    dim = box.dim\nbox.dim = dim = 'N'"
    ),
    "in a comprehension": "[library.call(dim := other) for other in ('T', 'N')]",
}


@pytest.mark.parametrize("body", BEFORE_AN_ERROR.values(), ids=BEFORE_AN_ERROR)
@pytest.mark.parametrize(
    "form",
    [
        "try:\n    BODY\nexcept ValueError:\n    x.mean(dim)",
        "with contextlib.suppress(ValueError):\n    BODY\nx.mean(dim)",
        "def handle():\n    global dim\n    try:\n        BODY\n    except ValueError:\n"
        "        return x.mean(dim)\nhandle()",
    ],
)
def test_a_handler_finds_any_state_of_the_body(form: str, body: str) -> None:
    before = "class Box: pass\nbox = Box()\ndim = 'N'\n"
    indent = next(line for line in form.split("\n") if "BODY" in line).split("BODY")[0]
    program = form.replace("BODY", body.replace("\n", f"\n{indent}"))
    if "except" in form:
        check(MADE + before + program.replace("x.mean", "x.rename(N='T').mean"))
    check(MADE + before + program)


def test_a_handler_knows_what_the_body_leaves_alone() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = torch.zeros(2, 3, names=('N', 'C'))
    try:
        y.rename_(N='T')
        library.call()
        z = x + 1
    except ValueError:
        x.mean('T')  # BUG
        y.mean('T')
        y.mean('N')
        y.mean('C')
        y.mean('Q')
        z.mean('T')  # BUG
    """)


def test_a_handler_finds_what_was_changed_in_place() -> None:
    check("""
    dims = ['N']
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = torch.zeros(2, 3, names=('N', 'C'))
    try:
        for _ in library.items():
            dims[0] = 'T'
            y.rename_(N='T')
            library.call()
            dims[0] = 'N'
            y.rename_(T='N')
    except (ValueError, KeyError):
        x.mean(dims[0])
        y.mean('T')
        y.mean('N')
        x.mean('T')  # BUG
    """)


def test_what_pytest_expects_is_raised() -> None:
    check("""
    import pytest
    x = torch.zeros(2, 3, names=('N', 'C'))
    dim = 'N'
    with pytest.raises(ValueError):
        dim = 'T'
        raise ValueError
    x.mean(dim)
    with pytest.raises(ValueError):
        raise ValueError
    x.mean('T')  # BUG
    """)


def test_a_handler_is_judged_where_its_error_may_be_raised() -> None:
    check("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    def g(y):
        if library.flag():
            raise KeyError
        return y.mean('N')
    try:
        x.mean('T')
    except ValueError:
        x.mean('Q')
    except RuntimeError:
        x.mean('R')  # BUG
    except Exception:
        x.mean('S')
    try:
        x[0] if x.dim() == 2 else library.call()
        raise ValueError('no')
    except RuntimeError:
        x.mean('Q')
    except ValueError:
        x.mean('R')  # BUG
    try:
        a, b = (1, 2, 3)
    except KeyError:
        x.mean('Q')
    except:
        x.mean('R')  # BUG
    try:
        y = {'a': x}['b']
    except KeyError:
        y = x.sum('N')
    y.mean('N')  # BUG
    try:
        g(x)
    except LookupError:
        x.mean('R')  # BUG
    y = x if library.flag() else x.rename(N='T')
    try:
        z = y.sum('N')
    except RuntimeError:
        z = x.mean('R')  # BUG
    try:
        z = x.masked_select(x > 0) + x.masked_select(x > 1)
    except RuntimeError:
        z = x.mean('R')  # BUG
    try:
        library.call()
    except (OSError, KeyError):
        x.mean('R')  # BUG
    except TypeError:
        x.mean('S')  # BUG
    """)


@pytest.mark.parametrize("item", ["...", "b'N'", "{}", "[0]", "2.5", "1j", "slice(2)"])
@pytest.mark.parametrize(
    "call", ["permute(n, {0})", "sum((n, {0}))", "movedim((n, {0}), (0, 1))", "flip((n, {0}))"]
)
def test_a_list_of_dims_has_any_item_behind_an_unknown_one(call: str, item: str) -> None:
    text = f"import torch\n\ndef f(n):\n    x = torch.zeros(2, 3, names=('N', 'C'))\n    x.{call}\n"
    outcome = Checker().text(text.format(item).encode(), "a.py", Settings(), True, True)
    assert "NC005" not in [finding.code for finding in outcome.findings]
