"""Hostile programs: literals, expressions and modules, long or deep."""

from __future__ import annotations


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


# Literals


def long_list() -> str:
    """A list of 100,000 elements, read, sliced and looped over."""
    items = ", ".join(map(str, range(100_000)))
    return _joined(
        [
            f"ITEMS = [{items}]",
            "def f(x):",
            "    x = x.refine_names('N', 'C')",
            "    for item in ITEMS:",
            "        x = x * item",
            "    y = ITEMS[5:] + ITEMS",
            "    for item in y:",
            "        x = x + item",
            "    return x, [i + 1 for i in ITEMS], sorted(ITEMS), tuple(ITEMS)",
            "f(A)",
        ]
    )


def long_list_of_tensors() -> str:
    """A list of 10,000 tensors, and one that grows by 10,000."""
    items = ", ".join(["A", "A.relu()"] * 5_000)
    return _joined(
        [
            f"ITEMS = [{items}]",
            "x = torch.cat(ITEMS, 'N')",
            "y = torch.stack(ITEMS, 'K')",
            "GROWS = []",
            *(["GROWS.append(A)"] * 10_000),
            "z = torch.cat(GROWS, 'N')",
            "for t in GROWS:",
            "    z = z + t.sum('N')",
        ]
    )


def long_dict() -> str:
    """A dict of 50,000 entries, and one written 10,000 times."""
    items = ", ".join(f"'k{n}': {n}" for n in range(50_000))
    writes = [f"WRITTEN['k{n}'] = A" for n in range(10_000)]
    return _joined(
        [
            f"ITEMS = {{{items}}}",
            "WRITTEN = {}",
            *writes,
            "def f(x):",
            "    x = x.refine_names('N', 'C')",
            "    for key, item in ITEMS.items():",
            "        x = x * item",
            "    return x + WRITTEN['k5'] + WRITTEN['k9999']",
            "f(A)",
        ]
    )


def long_set() -> str:
    """A set of 100,000 elements."""
    items = ", ".join(f"'k{n}'" for n in range(100_000))
    return _joined(
        [
            f"ITEMS = {{{items}}}",
            "def f(x, key):",
            "    x = x.refine_names('N', 'C')",
            "    if key in ITEMS:",
            "        return x.relu()",
            "    return x",
            "f(A, 'k5')",
        ]
    )


def list_of_lists() -> str:
    """A table of 300 rows of 300 numbers as a tensor."""
    row = f"[{', '.join(map(str, range(300)))}]"
    return _joined(
        [f"T = torch.tensor([{', '.join([row] * 300)}], names=('N', 'C'))", "x = T.sum('N') + T"]
    )


def doubled_list() -> str:
    """A list doubled 30 times, and a tuple that contains itself twice, 60 times."""
    return _joined(
        [
            "items = [A]",
            *(["items = items + items"] * 30),
            "pair = A",
            *(["pair = (pair, pair)"] * 60),
            "def f(flag):",
            "    a = b = A",
            *(["    a = (a, a)", "    b = [b, b]"] * 40),
            "    if flag:",
            "        a, b = (A, a), [b, A]",
            "    return a, b",
        ]
    )


def long_string() -> str:
    """A string of 5,000 concatenated parts, and one doubled 40 times."""
    text = " + ".join(f"'part{n}'" for n in range(800))
    adjacent = "\n    ".join(f"'part{n}'" for n in range(5_000))
    return _joined(
        [
            f"TEXT = {text}",
            f"OTHER = (\n    {adjacent}\n)",
            "S = 'ab'",
            *(["S = S + S"] * 40),
            *(f"TEXT += 'x{n}'" for n in range(3_000)),
            "B = A.rename(N=S)",
        ]
    )


def format_string() -> str:
    """An f-string of 5,000 fields."""
    fields = "".join(f"{{x{n % 5}}}" for n in range(5_000))
    return _joined(["def f(x0, x1, x2, x3, x4):", f"    return f'{fields}', A"])


# Depth


def deep_operators() -> str:
    """A sum of 2,000 terms."""
    return _joined([f"x = {' + '.join(['A'] * 2_000)}"])


def deep_methods() -> str:
    """A chain of 2,000 method calls."""
    return _joined([f"x = A{'.relu()' * 2_000}"])


def deep_attributes() -> str:
    """A chain of 5,000 attributes."""
    return _joined(["def f(x):", f"    return x{'.a' * 5_000}, A"])


def deep_calls() -> str:
    """90 nested calls."""
    return _joined(["def f(x):", "    return x.relu()", f"x = {'f(' * 90}A{')' * 90}"])


def deep_parentheses() -> str:
    """90 nested lists, of two elements each."""
    return _joined([f"x = {'[A, ' * 90}A{']' * 90}", f"y = {'{1: ' * 90}A{'}' * 90}"])


def deep_subscripts() -> str:
    """A chain of 2,000 subscripts."""
    return _joined([f"x = A{'[0:1]' * 2_000}"])


def deep_blocks() -> str:
    """90 nested blocks."""
    lines = ["def f(g, x):", "    x = x.refine_names('N', 'C')"]
    lines += [f"{' ' * (n + 4)}if g({n}):" for n in range(90)]
    return _joined([*lines, f"{' ' * 94}x = x.transpose('N', 'C')", "    return x"])


def deep_comparison() -> str:
    """A comparison of 3,000 operands, and a not of 1,000 levels."""
    return _joined(
        [
            "def f(x):",
            f"    if {' < '.join(['x'] * 3_000)}:",
            "        return A",
            f"    return A if {'not ' * 1_000}x else A.relu()",
        ]
    )


# Modules


def many_variables() -> str:
    """20,000 variables of a module, and 2,000 functions that read and write them."""
    lines = [f"V{n} = A" for n in range(20_000)]
    for n in range(2_000):
        lines += [
            f"def f{n}():",
            f"    global V{n}",
            f"    V{n} = V{n + 1}.relu()",
            f"    return V{n}",
        ]
    return _joined(lines)


def long_lines() -> str:
    """One line of 20,000 statements."""
    return _joined(["; ".join(f"x{n} = A.relu()" for n in range(20_000))])


def one_function() -> str:
    """One function of 20,000 statements."""
    return _joined(
        [
            "def f(x):",
            "    x = x.refine_names('N', 'C')",
            *(f"    x{n} = x.relu()" for n in range(20_000)),
            "    return x",
        ]
    )


def branches_in_a_row() -> str:
    """5,000 branches in one function, over 100 variables."""
    head = [f"    x{n} = A" for n in range(100)]
    body = [f"    if flag:\n        x{n % 100} = x{(n * 7) % 100}.relu()" for n in range(5_000)]
    return _joined(["def f(flag):", *head, *body, "    return x0"])


def symbolic_sizes() -> str:
    """Sizes that double as expressions, 60 times."""
    return _joined(
        [
            "def f(x, n, m):",
            "    x = torch.zeros(n, m, names=('N', 'C'))",
            *(
                [
                    "    x = torch.cat([x, x], 'N').flatten(['N', 'C'], 'N')",
                    "    x = x.unflatten('N', (('N', -1), ('C', 2)))",
                    "    n, m = n * m + 1, n + m * n",
                    "    y = torch.zeros(n, m)",
                ]
                * 20
            ),
            "    return x",
        ]
    )


def annotated_parameters() -> str:
    """1,000 functions of 12 annotated parameters."""
    parameters = ", ".join(
        f"p{n}: Annotated[Tensor, 'a{n} b{n} *c{n} d{n}=3 (a{n} b{n})']" for n in range(12)
    )
    lines = ["from typing import Annotated"]
    for n in range(1_000):
        lines += [f"def f{n}({parameters}):", "    return p0.relu() + p0"]
    return _joined(lines)
