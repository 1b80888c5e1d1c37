"""Random programs of a grammar: every construct of Python, and calls of every operator.

A program is a text made of productions; `<kind>` in one stands for a text of another kind. At its
leaves are the words of programs that use tensors, so that some of it makes sense to the analysis.
What Python's compiler would refuse later, such as a `return` outside a function, is among it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from namecheck.core.parameters import REQUIRED
from namecheck.effects.words import Signature
from namecheck.operators import table

_VARIABLES: Final = ("A", "x", "y", "z", "n", "f", "C", "self", "items", "words")
_MODULES: Final = ("torch", "torch.nn", "math", "functools", "x", "einops", ".x", "..", "copy")
_ATTRIBUTES: Final = (
    *("shape", "names", "T", "mT", "dtype", "device", "ndim", "a", "b", "weight", "data", "grad"),
    *("size", "rename", "refine_names", "align_to", "align_as", "flatten", "unflatten", "relu"),
    *("sum", "mean", "permute", "view", "split", "chunk", "append", "items", "keys", "get", "join"),
    *("__class__", "__dict__", "__getitem__", "__init__", "nn", "Tensor", "Linear", "zeros", "cat"),
)
_CONSTANTS: Final = (
    *("None", "True", "False", "...", "0", "1", "2", "3", "7", str(1 << 70), "0x_f", ".5", "1e999"),
    *("2j", "b'a'", "''", "'N'", "'C'", "'N'", "'C'", "'N C -> C N'", "'batch *spatial C=3'"),
    *("'%s %d'", "'{x!r:>{n}}'", r"'\x1b\N{BULLET}'", "r'\\d'", "'a' 'b'"),
)
# Python's operators, the longer ones at their ends.
_BINARY: Final = ["+", "-", "*", "@", "/", "%", "**", "//", "<<", ">>", "|", "^", "&"]
_COMPARED: Final = (*["==", "!=", "<", "<=", ">", ">=", "is", "in"], "is not", "not in")

_EXPRESSIONS: Final = (
    "<name>",
    "<name>",
    "<constant>",
    "<atom>.<attribute>",
    "<atom>[<index>]",
    "<atom>(<arguments>)",
    "<atom>.<attribute>(<arguments>)",
    "<atom> <binary> <atom>",
    "<atom> <compared> <atom>",
    "<atom> <compared> <atom> <compared> <atom>",
    "-<atom>",
    "~<atom>",
    "not <atom>",
    "<atom> and <atom> and <atom>",
    "<atom> or <atom>",
    "<atom> if <atom> else <atom>",
    "(<items>)",
    "[<items>]",
    "{*<atom>, <atom>}",
    "{<atom>: <atom>, **<atom>}",
    "{'N': <atom>, 'C': <atom>}",
    "[<atom> <clauses>]",
    "{<atom> <clauses>}",
    "{<atom>: <atom> <clauses>}",
    "(<atom> <clauses>)",
    "(lambda <parameters>: <atom>)",
    "(<name> := <atom>)",
    "(yield <atom>)",
    "(yield)",
    "(yield from <atom>)",
    "(await <atom>)",
    "f'{<name>} {<name>.<attribute>!r:>{<name>}}{<name>=}'",
    'f"""{<name>} {<name>[0]}"""',
    "<call>",
)
_PRODUCTIONS: Final[dict[str, Sequence[str]]] = {
    "name": _VARIABLES,
    "attribute": _ATTRIBUTES,
    "module": _MODULES,
    "constant": _CONSTANTS,
    "binary": _BINARY,
    "compared": _COMPARED,
    "expression": _EXPRESSIONS,
    "atom": ("(<expression>)",),
    "items": ("", "<atom>,", "<atom>, <atom>", "*<atom>, <atom>", "<atom>, *<atom>, <call>"),
    "index": (
        *("<atom>", "<constant>", "<atom>:<atom>", "::<atom>", ":", "<atom>, <atom>", "..., None"),
        *("<atom>:, *<atom>", "None, 0", "-1", "'N'", ":, 0", "()", "<atom>:<atom>:<atom>"),
    ),
    "arguments": (
        *("", "<atom>", "<atom>, <atom>", "*<atom>", "**<atom>", "<atom>, *<atom>, dim=<atom>"),
        *("dim=<atom>", "names=<atom>", "'N'", "'N', 'C'", "<atom>, 0", "<atom>, out=<atom>"),
        *("<atom> <clauses>", "<name>=<atom>, **<atom>", "dtype=<atom>, device=<atom>"),
    ),
    "clauses": (
        *("for <target> in <atom>", "for <target> in <atom> if <atom>"),
        *("for <target> in <atom> for <target> in <atom>", "async for <target> in <atom>"),
    ),
    "target": (
        *("<name>", "<name>", "<name>", "<atom>.<attribute>", "<atom>[<index>]"),
        *("(<target>, <target>)", "[<target>, *<name>]", "(<name>, *<name>, <target>)"),
    ),
    "place": ("<name>", "<atom>.<attribute>", "<atom>[<index>]"),
    "parameters": (
        *("", "x", "self, x", "x, y=1", "*items", "**words", "x, /, y, *, z", "x, *items, n=2"),
        *("x=<atom>", "x, y=<atom>, *, n=<atom>, **words", "self, *items, **words"),
    ),
    "annotated": (
        *("", "x: <annotation>", "self, x: <annotation>, y=None", "x: <annotation> = <atom>"),
        *("x: <annotation>, y: <annotation>, *items: <annotation>, **words: <annotation>",),
    ),
    "annotation": (
        *("Tensor", "torch.Tensor", "int", "'C'", "list[Tensor]", "Tensor | None", "<atom>"),
        *("Annotated[Tensor, 'N C']", "Annotated[Tensor, '*batch N=2 C']", "Annotated[<atom>, 1]"),
        *("Float[Tensor, 'N C']", "tuple[Tensor, ...]", "Callable[[Tensor], Tensor]", "'Tensor['"),
    ),
    "pattern": (
        *("_", "<name>", "1", "'N'", "None", "-1j", "torch.float32", "<name> as <name>"),
        *("[<pattern>, <pattern>]", "(<pattern>, *<name>)", "{'k': <pattern>, **<name>}"),
        *("C()", "C(<pattern>, a=<pattern>)", "1 | 'a' | [<pattern>]", "(<pattern>) as n"),
        *("int(x)", "<pattern>", "Tensor(shape=[<pattern>, <pattern>])"),
    ),
    "statement": (
        *("<target> = <expression>", "<target> = <expression>", "<target> = <target> = <atom>"),
        *(
            "<place> <binary>= <expression>",
            "<name>.<attribute>: <annotation>",
            "<name>: <annotation> = 1",
        ),
        *("<expression>", "<expression>", "<call>", "<name> = <call>", "<name> = <call>"),
        *("return", "return <expression>", "del <place>", "assert <atom>, <atom>", "pass"),
        *("raise <atom> from <atom>", "raise", "break", "continue", "global <name>"),
        *("nonlocal <name>", "import torch as <name>", "from torch import nn as C, <name>"),
        *("from <module> import <name>, <name> as f", "from <module> import *"),
        *("x = A; <expression>; y = x", "<name>.names = <atom>", "print(<arguments>)"),
        "reveal_names(<atom>)",
    ),
}
# The lines of a compound statement; each is followed by a block.
_COMPOUND: Final = (
    ("if <expression>:",),
    ("if <expression>:", "elif <expression>:", "else:"),
    ("while <expression>:", "else:"),
    ("while True:",),
    ("for <target> in <expression>:",),
    ("for <name> in range(<constant>):", "else:"),
    ("async for <target> in <expression>:",),
    ("try:", "except <expression> as <name>:", "except:", "else:", "finally:"),
    ("try:", "finally:"),
    ("try:", "except* (<atom>, <atom>):"),
    ("with <expression> as <target>:",),
    ("with (<expression> as <name>, <expression>):",),
    ("async with <expression>:",),
    ("def <name>(<parameters>):",),
    ("def f(<annotated>) -> <annotation>:",),
    ("async def f(<annotated>):",),
    ("@<expression>\ndef <name>(<parameters>):",),
    ("class C:",),
    ("class C(torch.nn.Module):\n def __init__(<parameters>): super().__init__()",),
    ("class <name>(<atom>, *<atom>, n=<atom>):",),
    ("@dataclass\nclass C(<atom>, metaclass=<atom>):",),
    ("match <expression>:\n case <pattern>:", " case <pattern> if <atom>:", " case _:"),
)
_ARGUMENTS: Final[dict[str, Sequence[str]]] = {
    "tensor": ("x", "A", "y", "z", "x.T", "A.sum('N')", "A[0]"),
    "tensors": ("[x, A]", "(A, A)", "[x] * 3", "items"),
    "dim": ("0", "1", "-1", "n", "5"),
    "name": ("'N'", "'C'", "'H'", "n"),
    "names": ("('N', 'C')", "('N', None)", "'N'", "x.names", "['C']", "{'N': 'K'}", "None"),
    "dims": ("(0, 1)", "[-1]", "()", "0", "n"),
    "int": ("0", "1", "2", "3", "-1", "n", "x.size(0)", "x.shape[1]"),
    "ints": ("(2, 3)", "[-1, 2]", "()", "x.shape", "2", "[*items]"),
    "bool": ("True", "False", "n"),
    "float": ("0.5", "1", "n", "float('inf')"),
    "dtype": ("torch.float64", "torch.int64", "torch.bool", "x.dtype"),
    "none": ("None",),
    "str": ("'sum'", "'none'", "'mean'", "'N C -> C N'", "'same'"),
}
_SLOT: Final = re.compile(r"<([a-z]+)>")
_DEEPEST: Final = 7


@cache
def _calls() -> tuple[tuple[str, Signature], ...]:
    """What is called, `torch.sum` or `x.sum`, with its parameters: every form of every row."""
    calls: list[tuple[str, Signature]] = []
    for key, row in table().items():
        for form in row.forms:
            suffix = "_" if form in "ij" and not key.endswith("_") else ""
            head = "<atom>." if form in "mija" else "torch." if "." in key or form != "p" else ""
            calls += [(f"{head}{key}{suffix}", one) for one in row.signatures]
    return tuple(calls)


class _Writer:
    """Writes one program of about so many statements."""

    def __init__(self, chance: random.Random, statements: int, share_of_calls: float) -> None:
        self._chance = chance
        self._left = statements
        self._share_of_calls = share_of_calls

    def block(self, indent: int = 0) -> list[str]:
        """The lines of some statements."""
        lines: list[str] = []
        for _ in range(self._chance.randint(1, 4) if indent else self._left):
            self._left -= 1
            if self._left > 0 and indent < 8 and self._chance.random() < 0.3:
                for head in self._chance.choice(_COMPOUND):
                    text = self._filled(head, 2)
                    lines += [" " * indent + line for line in text.split("\n")]
                    inner = len(lines[-1]) - len(lines[-1].lstrip())
                    lines += self.block(inner + lines[-1].endswith(":"))
            else:
                lines.append(" " * indent + self._text("statement", 2))
            if not indent and self._left <= 0:
                break
        return lines

    def _text(self, kind: str, depth: int) -> str:
        if kind == "call":
            return self._call(depth + 1)
        if kind in ("expression", "atom"):
            if depth > _DEEPEST or self._chance.random() < 0.25:
                leaf = self._text(self._chance.choice(("name", "name", "constant")), depth)
                return leaf if leaf.isidentifier() else f"({leaf})"
            if self._chance.random() < self._share_of_calls:
                return self._call(depth + 1)
        productions = _PRODUCTIONS[kind]
        if depth > _DEEPEST:
            productions = [one for one in productions if "<" not in one] or productions[:1]
        return self._filled(self._chance.choice(productions), depth + 1)

    def _filled(self, production: str, depth: int) -> str:
        return _SLOT.sub(lambda slot: self._text(slot[1], depth), production)

    def _call(self, depth: int) -> str:
        """A call of an operator of the table; most of its arguments are of the right kind."""
        head, signature = self._chance.choice(_calls())
        words: list[str] = []
        parameters = signature[1:] if head.startswith("<") else signature
        by_word = False
        for parameter in parameters:
            if self._chance.random() < (0.03 if parameter.default is REQUIRED else 0.6):
                by_word = True
                continue
            kinds = sorted(parameter.kinds) or ["tensor"]
            choices = _ARGUMENTS.get(self._chance.choice(kinds))
            if choices is None or self._chance.random() < 0.1:
                choices = (self._text("atom", depth + 1),)
            by_word = by_word or parameter.keyword_only or self._chance.random() < 0.1
            word = f"{parameter.name}=" if by_word else ""
            words.append(word + self._chance.choice(choices))
        receiver = "x" if self._chance.random() < 0.7 else self._text("atom", depth + 1)
        return f"{head.replace('<atom>', receiver)}({', '.join(words)})"


_HEAD: Final = """\
import torch
from torch import Tensor, nn
from typing import Annotated
from namecheck import reveal_names
A = x = torch.zeros(2, 3, names=("N", "C"))
y, z, n, items, words = x.relu(), x.T, 1, [x, A], {"dim": 0}
"""


def program(seed: int, share_of_calls: float = 0.0) -> str:
    """The program of a seed; this share of its expressions are calls of operators."""
    chance = random.Random(seed)
    return _HEAD + "\n".join(
        _Writer(chance, chance.choice((1, 2, 3, 4, 8)), share_of_calls).block()
    )
