"""Makes the mutants of one function, and tells how wrong each is."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tests.real_code.recall.mutation import Mutation, Source, Wrongness, all_mutations

_RANK: Final = re.compile(
    r"values to unpack|Dimension out of range|number of (?:dim|sizes|subscripts)|too many ind|"
    r"must have (?:the same|at least|equal) (?:number of )?dim|[Ee]xpected \d-?[dD]|\dD tensor|"
    r"[Ee]xpected .*-dimensional|[Ww]rong shape: expected|existing dimensions|"
    r"Tensors must have same number|must be matrices|not compatible with input tensor's size|"
    r"same number of dim|batch1 must be|only one element"
)
"""What torch, einops and Python say where the number of dims is wrong, whatever their sizes."""

_UNRELATED: Final = ("TypeError", "AttributeError", "KeyError", "NameError", "RecursionError")
"""Errors of a mistake that every type checker sees, or any run of other code."""


class Place(NamedTuple):
    """What identifies a mutant: the bytes of a file that it replaces, and by what."""

    file: str
    begin: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A function with one mistake.

    `file` is relative to the folder of installed packages, `begin` and `end` are bytes of it;
    `part` is the set to which its function belongs. `effect` is what a run showed: `crash`,
    `changed`, `same`, `timeout`, or `other` for an error that is not about sizes.
    """

    file: str
    function: str
    line: int
    begin: int
    end: int
    before: str
    text: str
    mutation: str
    wrongness: str
    part: str
    effect: str = ""
    error: str = ""

    @property
    def place(self) -> Place:
        """What identifies it."""
        return Place(self.file, self.begin, self.end, self.text)

    @property
    def is_wrong(self) -> bool:
        """Whether a run showed that it is wrong."""
        return self.effect in ("crash", "changed")

    def changed(self, text: str) -> str:
        """The file with the mistake."""
        return Source(text).changed((self.begin, self.end), self.text)

    def judged(self, effect: str, error: str) -> Mutant:
        """The mutant after a run; the error tells how wrong it is, where there is one."""
        wrongness = self.wrongness
        if effect == "crash" and error.startswith(_UNRELATED):
            effect = "other"
        elif effect == "crash":
            wrongness = Wrongness.CERTAIN if _RANK.search(error) else Wrongness.NAMES
        return replace(self, wrongness=str(wrongness), effect=effect, error=error)


def mutants_of(text: str, file: str, line: int, most: int) -> Iterator[Mutant]:
    """Mutants of the function whose first line is given, `most` of each mutation."""
    source = Source(text)
    for function in _functions(ast.parse(text)):
        if min([function.lineno, *(item.lineno for item in function.decorator_list)]) == line:
            for mutation in all_mutations():
                places = list(_places(function, mutation, source, file))
                yield from sorted(places, key=_order)[:most]


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node


def _places(
    function: ast.FunctionDef, mutation: Mutation, source: Source, file: str
) -> Iterator[Mutant]:
    part = "check" if _number(f"{file} {function.name}") % 3 == 0 else "training"
    for replacement in mutation.replacements(function, source):
        before = source.of(replacement.node)
        begin, end = source.span(replacement.node)
        yield Mutant(
            file,
            function.name,
            replacement.node.lineno,
            begin,
            end,
            before,
            replacement.text,
            mutation.name,
            str(mutation.silent),
            part,
        )


def _order(mutant: Mutant) -> int:
    """Where several places could be broken, an arbitrary one, always the same."""
    return _number(str(mutant.place))


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
