"""Hostile programs: branches and loops, with too many paths to follow."""

from __future__ import annotations


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


# Branches


def branches() -> str:
    """2^20 paths: branches that rename a tensor."""
    body = [f"    if flags[{n}]:\n        x = x.rename(C='C{n}').rename(None)" for n in range(20)]
    return _joined(["def f(x, flags):", "    x = x.refine_names('N', 'C')", *body, "    return x"])


def branches_of_tensors() -> str:
    """2^20 paths: each branch binds a tensor of its own."""
    body = [
        f"    if flags[{n}]:\n        x{n} = A.rename(C='C{n}')\n"
        f"    else:\n        x{n} = A.rename(N='N{n}')"
        for n in range(20)
    ]
    use = " + ".join(f"x{n}.sum()" for n in range(20))
    return _joined(["def f(flags):", *body, f"    return {use}"])


def branches_in_a_chain() -> str:
    """2^20 paths: 20 calls, each with two outcomes."""
    lines = []
    for n in range(20):
        inner = f"f{n - 1}(x, flags)" if n else "x"
        lines += [
            f"def f{n}(x, flags):",
            f"    x = {inner}",
            f"    if flags[{n}]:",
            f"        return x.rename(None).refine_names('N', 'C{n}')",
            "    return x",
        ]
    return _joined([*lines, "def g(flags):", "    return f19(A, flags)"])


def conditional_expressions() -> str:
    """2^20 paths: nested conditional expressions."""
    text = "A"
    for n in range(20):
        text = f"({text}).rename(C='D{n}') if flags[{n}] else ({text[:0]}A).rename(N='M{n}')"
    return _joined(["def f(flags):", f"    return {text}"])


def early_returns() -> str:
    """500 early returns of different layouts."""
    body = [f"    if flag == {n}:\n        return A.rename(C='C{n}')" for n in range(500)]
    return _joined(["def f(flag):", *body, "    return A", "def g(y):", "    return f(y) + f(y)"])


def tries() -> str:
    """20 nested try blocks."""
    lines = ["def f(g, x):", "    x = x.refine_names('N', 'C')"]
    for n in range(19):
        lines.append(f"{' ' * (4 + n)}try:")
        lines.append(f"{' ' * (5 + n)}x = g(x).refine_names('N', 'C{n}')")
    lines.append(f"{' ' * 23}x = g(x)")
    for n in reversed(range(19)):
        lines.append(f"{' ' * (4 + n)}except ValueError:")
        lines.append(f"{' ' * (5 + n)}x = A.rename(N='E{n}')")
        lines.append(f"{' ' * (4 + n)}finally:")
        lines.append(f"{' ' * (5 + n)}y = g(x)")
    return _joined([*lines, "    return x"])


def withs() -> str:
    """2,000 with statements that may swallow errors."""
    body = [f"    with g({n}):\n        x = x.relu().rename(C='C')" for n in range(2_000)]
    return _joined(["def f(g, x):", "    x = x.refine_names('N', 'C')", *body, "    return x"])


def matches() -> str:
    """One match statement of 2,000 cases."""
    body = [
        f"        case ['{n}', *rest]:\n            return A.rename(C='C{n}')" for n in range(1000)
    ]
    body += [f"        case {{'k{n}': value}}:\n            return A" for n in range(1000)]
    return _joined(["def f(x):", "    match x:", *body, "    return A"])


def boolean_operators() -> str:
    """A test of 1,000 terms, and as many tests of one variable."""
    terms = " or ".join(f"x == {n} and y != {n}" for n in range(1_000))
    tests = [f"    if x == {n}:\n        a = A.relu()" for n in range(1_000)]
    return _joined(
        [
            "def f(x, y):",
            "    a = A",
            f"    if {terms}:",
            "        a = A.exp()",
            *tests,
            "    return a",
        ]
    )


def elifs() -> str:
    """A chain of 900 elif, a tensor on each."""
    body = [f"    elif x == {n}:\n        a = A.rename(C='C{n}')" for n in range(900)]
    return _joined(
        [
            "def f(x):",
            "    a = A",
            "    if x is None:",
            "        pass",
            *body,
            "    return a.relu()",
        ]
    )


# Loops


def nested_loops() -> str:
    """12 nested loops over a tensor that changes."""
    lines = ["def f(items, x):", "    x = x.refine_names('N', 'C')"]
    lines += [f"{'    ' * (n + 1)}for i{n} in items[{n}]:" for n in range(12)]
    lines += [f"{'    ' * 13}x = x.transpose('N', 'C')"]
    return _joined([*lines, "    return x"])


def nested_whiles() -> str:
    """12 nested while loops with breaks."""
    lines = ["def f(g, x):", "    x = x.refine_names('N', 'C')"]
    for n in range(12):
        lines.append(f"{'    ' * (n + 1)}while g({n}):")
        lines.append(f"{'    ' * (n + 2)}if g(x):\n{'    ' * (n + 3)}break")
    lines += [f"{'    ' * 13}x = x.rename(C='D') if g(1) else x.rename(None)"]
    return _joined([*lines, "    return x"])


def nested_known_loops() -> str:
    """12 nested loops over three items each."""
    lines = ["def f(x):", "    x = x.refine_names('N', 'C')"]
    lines += [f"{'    ' * (n + 1)}for i{n} in (1, 2, 3):" for n in range(12)]
    lines += [f"{'    ' * 13}x = x.relu() * i11"]
    return _joined([*lines, "    return x"])


def known_loops_of_calls() -> str:
    """8 functions, each of which calls the next in a loop of 8."""
    lines = ["def f0(x):", "    return x.relu()"]
    for n in range(1, 9):
        lines += [
            f"def f{n}(x):",
            "    for i in range(8):",
            f"        x = f{n - 1}(x) + i",
            "    return x",
        ]
    return _joined([*lines, "f8(A)"])


def comprehensions() -> str:
    """A nest of 12 comprehensions, and one with 12 clauses."""
    text = "x.relu()"
    for n in range(12):
        text = f"[{text} for i{n} in items]"
    clauses = " ".join(f"for i{n} in (1, 2, 3) if i{n} != x" for n in range(12))
    return _joined(
        [
            "def f(items, x):",
            "    x = x.refine_names('N', 'C')",
            f"    y = {text}",
            f"    z = [A * i11 {clauses}]",
            "    return y, z",
        ]
    )


def many_loops() -> str:
    """2,000 loops one after the other."""
    body = [f"    for i in items:\n        x = x.relu() + {n}" for n in range(2_000)]
    return _joined(["def f(items, x):", "    x = x.refine_names('N', 'C')", *body, "    return x"])


def variables_in_a_loop() -> str:
    """A loop over 2,000 variables that pass a tensor on."""
    body = [f"        x{n} = x{n + 1}" for n in range(2_000)]
    head = [f"    x{n} = A.rename(C='C{n % 7}')" for n in range(2_001)]
    return _joined(["def f(items):", *head, "    for item in items:", *body, "    return x0"])
