"""Hostile programs: functions, classes and unions, many or deep."""

from __future__ import annotations


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


# Functions


def nested_functions(size: int = 5_000) -> str:
    """5,000 functions in one function."""
    body = [f"    def f{n}(x):\n        return f{max(n - 1, 0)}(x.relu())" for n in range(size)]
    return _joined(
        ["def f(x):", "    x = x.refine_names('N', 'C')", *body, f"    return f{size - 1}(x)"]
    )


def functions_within_functions() -> str:
    """90 functions, each in the one before."""
    lines = []
    for n in range(90):
        lines += [f"{' ' * n}def f{n}(x{n}):", f"{' ' * n} y{n} = x{n}.relu()"]
    lines += [f"{' ' * 90}return {' + '.join(f'y{n}' for n in range(90))}"]
    lines += [f"{' ' * n}return f{n}(y{n - 1})" for n in range(89, 0, -1)]
    return _joined([*lines, "f0(A)"])


def recursion_chain(size: int = 2_000) -> str:
    """A chain of 2,000 functions that call the next."""
    body = [f"def f{n}(x):\n    return f{n + 1}(x.relu())" for n in range(size)]
    return _joined([*body, f"def f{size}(x):\n    return x", "f0(A)"])


def hands_on(size: int = 8) -> str:
    """8 functions that give themselves and the next to unknown code."""
    lines = ["import somewhere", "pool = somewhere.Pool()", "tasks = {}", "running = None"]
    for n in range(size):
        lines += [
            f"def f{n}(key):",
            "    global running",
            "    try:",
            "        tasks[key] = somewhere.load(key)",
            "    except Exception as error:",
            "        running = error",
            f"        pool.submit(f{(n + 1) % size}, key)",
            "    finally:",
            "        running = None",
            f"        pool.submit(f{n}, key)",
        ]
    return _joined(lines)


def calls_twice(size: int = 60) -> str:
    """A chain of 60 methods that call the next twice."""
    lines = ["class M:", "    def __init__(self):", "        self.w = A"]
    for n in range(size):
        lines += [
            f"    def f{n}(self, x):",
            f"        return self.f{n + 1}(x) + self.f{n + 1}(x * self.w)",
        ]
    lines += [f"    def f{size}(self, x):", "        return x * self.w"]
    return _joined([*lines, "M().f0(A)"])


def builds_twice(size: int = 40) -> str:
    """A chain of 40 classes that make the next twice."""
    lines = ["class M0:", "    def __init__(self):", "        self.w = A"]
    for n in range(1, size):
        lines += [
            f"class M{n}:",
            "    def __init__(self):",
            f"        self.a = M{n - 1}()",
            f"        self.b = M{n - 1}()",
            "    def forward(self, x):",
            "        return self.a.forward(x) + self.b.forward(x)",
        ]
    lines[3:3] = ["    def forward(self, x):", "        return x * self.w"]
    return _joined([*lines, f"M{size - 1}().forward(A)"])


def mutual_recursion(size: int = 2_000) -> str:
    """2,000 functions that all may call each other."""
    lines = []
    for n in range(size):
        lines += [
            f"def f{n}(x, n):",
            f"    if n == {n}:",
            f"        return f{(n * 7 + 1) % size}(x, n)",
            f"    return f{(n * 13 + 5) % size}(x.relu(), n) + f{(n + 1) % size}(x, n)",
        ]
    return _joined([*lines, "f0(A, 1)"])


def fibonacci() -> str:
    """Recursion like that of Fibonacci's numbers, on tensors."""
    return """\
def fib(x, n):
    x = x.refine_names("N", "C")
    if n < 2:
        return x
    return fib(x.relu(), n - 1) + fib(x.exp(), n - 2) + fib(x, n - 3) + fib(x * 2, n - 4)


fib(A, 40)


def g(x, n):
    return fib(x, n)
"""


def ackermann() -> str:
    """Ackermann's function on sizes, and on tensors."""
    return """\
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def on_tensors(x, y):
    if x.size("N") == 0:
        return y.relu()
    if y.size("N") == 0:
        return on_tensors(x[1:], A)
    return on_tensors(x[1:], on_tensors(x, y[1:]))


B = torch.zeros(ackermann(3, 6), names=("N",))
on_tensors(A, A)
"""


def callbacks() -> str:
    """Functions that take functions, 30 deep."""
    lines = ["def f0(g, x):", "    return g(g(x))"]
    for n in range(1, 30):
        lines += [f"def f{n}(g, x):", f"    return f{n - 1}(lambda y: g(f{n - 1}(g, y)), x)"]
    return _joined([*lines, "f29(lambda z: z.relu(), A)"])


def closures() -> str:
    """Closures that return closures, each made of the two before."""
    lines = [
        "def twice(f):",
        "    def inner(x):",
        "        return f(f(x))",
        "    return inner",
        "g0 = lambda x: x.relu()",
    ]
    lines += [f"g{n} = twice(g{n - 1})" for n in range(1, 40)]
    return _joined([*lines, "g39(A)"])


def decorators() -> str:
    """500 decorators on one function."""
    head = [
        "import functools",
        "def wrap(f):",
        "    @functools.wraps(f)",
        "    def inner(*args, **kwargs):",
        "        return f(*args, **kwargs).relu()",
        "    return inner",
    ]
    return _joined(
        [*head, *["@wrap"] * 500, "def f(x):", "    return x.refine_names('N', 'C')", "f(A)"]
    )


def generators() -> str:
    """Generators that yield generators, 30 deep."""
    lines = ["def g0(x):", "    yield x", "    yield x.relu()"]
    for n in range(1, 30):
        lines += [
            f"def g{n}(x):",
            f"    for y in g{n - 1}(x):",
            "        yield y",
            f"    yield from g{n - 1}(x.relu())",
            f"    yield g{n - 1}(x)",
        ]
    return _joined(
        [
            *lines,
            "def f(x):",
            "    x = x.refine_names('N', 'C')",
            "    return [y for y in g29(x)]",
            "list(g29(A))",
        ]
    )


def lambdas() -> str:
    """80 nested lambdas."""
    text = "x79.relu()"
    for n in reversed(range(80)):
        text = f"(lambda x{n}: {text})"
    calls = "".join("(A)" for _ in range(80))
    return _joined([f"f = {text}{calls}"])


def defaults() -> str:
    """1,000 functions of 30 parameters with tensors as defaults."""
    parameters = ", ".join(f"p{n}=A" for n in range(30))
    body = [f"def f{n}({parameters}):\n    return p0 + p29" for n in range(1_000)]
    return _joined([*body, *(f"f{n}()" for n in range(1_000))])


# Classes


def methods(size: int = 5_000) -> str:
    """A class of 5,000 methods."""
    lines = [
        "class M(torch.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        "        self.w = A",
    ]
    for n in range(size):
        lines += [
            f"    def f{n}(self, x):",
            f"        self.a{n} = x.refine_names('N', 'C') + self.w",
            f"        return self.a{n}",
        ]
    return _joined(lines)


def attributes(size: int = 5_000) -> str:
    """A class of 5,000 attributes, and 100 methods that read them."""
    lines = ["class M(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [f"        self.a{n} = A.rename(C='C{n}')" for n in range(size)]
    for n in range(size // 50):
        lines += [
            f"    def f{n}(self, x):",
            f"        return x.refine_names('N', 'C{n}') + self.a{n}",
        ]
    return _joined(lines)


def inheritance(size: int = 300) -> str:
    """A chain of 300 classes, each of which calls super()."""
    lines = [
        "class M0:",
        "    def __init__(self):",
        "        self.w = A",
        "    def forward(self, x):",
        "        return x * self.w",
    ]
    for n in range(1, size):
        lines += [
            f"class M{n}(M{n - 1}):",
            "    def __init__(self):",
            "        super().__init__()",
            "    def forward(self, x):",
            "        return super().forward(x.relu())",
        ]
    return _joined([*lines, f"M{size - 1}().forward(A)"])


def diamonds() -> str:
    """Diamonds of bases, 25 deep."""
    lines = [
        "class A0:",
        "    def f(self, x):",
        "        return x.refine_names('N', 'C')",
        "class B0(A0):",
        "    pass",
        "class C0(A0):",
        "    pass",
    ]
    for n in range(1, 25):
        lines += [
            f"class A{n}(B{n - 1}, C{n - 1}):",
            "    def f(self, x):",
            "        return super().f(x)",
            f"class B{n}(A{n}):",
            "    pass",
            f"class C{n}(A{n}):",
            "    pass",
        ]
    return _joined([*lines, "A24().f(A)"])


def linked_instances() -> str:
    """2,000 instances, each of which refers to the one before."""
    return _joined(
        [
            "class Node:",
            "    def __init__(self, x, rest):",
            "        self.x = x",
            "        self.rest = rest",
            "n = Node(A, None)",
            *(["n = Node(A.relu(), n)"] * 2_000),
            "n.rest.rest.x + A",
        ]
    )


# Unions


def unions() -> str:
    """Unions of 20 layouts, added to each other."""
    lines = ["def pick(flag):"]
    for n in range(20):
        lines += [f"    if flag == {n}:", f"        return A.rename(N='N{n}')"]
    lines += [
        "    return A",
        "def f(a, b, c):",
        "    return pick(a) + pick(b) + pick(c) + pick(a) * pick(b)",
    ]
    return _joined(lines)


def isinstance_unions() -> str:
    """20 classes distinguished by isinstance, three times over."""
    lines = []
    for n in range(20):
        lines += [f"class K{n}:", "    def __init__(self):", f"        self.w = A.rename(N='N{n}')"]
    lines += ["def make(flag):"]
    for n in range(20):
        lines += [f"    if flag == {n}:", f"        return K{n}()"]
    lines += ["    return None", "def f(a, b, c):", "    x, y, z = make(a), make(b), make(c)"]
    for name in "xyz":
        for n in range(20):
            lines += [
                f"    {'el' * bool(n)}if isinstance({name}, K{n}):",
                f"        u{name} = {name}.w",
            ]
    classes = " | ".join(f"K{n}" for n in range(20))
    return _joined(
        [
            *lines,
            "    return ux + uy + uz",
            f"def g(x: {classes}):",
            *(f"    if isinstance(x, K{n}): return x.w" for n in range(20)),
        ]
    )


def unions_of_arguments() -> str:
    """An operator of 12 arguments, each one of two values."""
    lines = ["def f(flags):"]
    for n in range(12):
        lines += [f"    if flags[{n}]:", f"        x{n} = A", "    else:", f"        x{n} = None"]
    return _joined(
        [
            *lines,
            f"    return torch.cat([{', '.join(f'x{n}' for n in range(12))}], 'N')",
            "def g(flags):",
            "    return [x for x in (f(flags), f(flags), f(flags))]",
        ]
    )
