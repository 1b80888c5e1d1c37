"""Random programs on both sides: compares the inferred values with those of their runs.

By hand, from the root of the repository, thousands of them::

    python -m tests.compare_random --count 3000 --seed 7

Kinds alternate: chains of operators of the table, with branches and loops; programs of functions,
classes, closures and containers; and programs of 40 to 80 lines with long data flow, through calls,
hierarchies of classes, networks of layers (``--kind flows`` for these alone). They are generated on
a torch with names from namecheck's own shim, then some get a mistake in one place. Each is run once
for every choice of its flags. Where no run has a contradiction, none may be reported either. Every
program with an incorrect expression is printed, and the command then exits with 1. One seed always
generates the same programs.

Three kinds of findings are counted, because the runs cannot decide them. A finding says that a line
fails whenever it runs (docs/compare.md: unreached), so a line that no run reaches shows nothing.
Nor does a branch that no run takes, where a size decides, which may depend on the data, or where an
error does that a call may raise, as far as the analysis knows its operands. And a tensor
whose size is unknown counts as having elements where an operator refuses its dtype,
or gives another without elements (docs/semantics.md: dtypes); a run in which such a tensor happens
to have none (`x.argwhere()`) goes on where the analysis has ended, or with a dtype that was not
inferred, so this run is left out.

So is a run of a program with a mistake that goes on after a contradiction of which the analysis
cannot tell (a tensor that a refused call in place may have named): a program would have ended
there, and what is inferred holds for a program that goes on.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import torch

from namecheck.compare import join
from namecheck.compare.attributes import ATTRIBUTES
from namecheck.compare.join import Fault, Joined, Verdict
from namecheck.core import syntax
from namecheck.core.findings import Finding, Kind, register
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Position
from namecheck.effects.words import read_condition
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.analysis import Inferences
from namecheck.operators import table
from namecheck.runtime import runtime
from namecheck.runtime.programs.recording import Recording, recording
from tests.oracle import random_chains, random_flows
from tests.oracle.random_calls import Catalogue
from tests.oracle.random_chains import Chains
from tests.oracle.random_flows import Flows
from tests.oracle.random_pieces import Pieces
from tests.oracle.random_programs import PLACE, run
from tests.programs_generator import mutated

# The kinds of programs: see random_chains.py, random_pieces.py, random_flows.py.
KINDS = "chains", "pieces", "flows"
_LINES = 20, 60
_SPOILT = 0.4
_ADDRESSES = 8 << 30


# The values of a program's flags in one run.
Choice: TypeAlias = tuple[bool, ...]


@dataclass(frozen=True)
class Compared:
    """One program, with a name from which it can be generated again, and its expressions.

    `unfounded` are the findings in a program whose paths have all run without a contradiction,
    `undecided` those of which the runs show nothing.
    """

    name: str
    source: syntax.Source
    joined: tuple[Joined, ...]
    unfounded: tuple[Finding, ...]
    undecided: tuple[Finding, ...] = ()

    @property
    def incorrect(self) -> list[Joined]:
        return [one for one in self.joined if one.verdict is Verdict.INCORRECT]

    @property
    def is_wrong(self) -> bool:
        return bool(self.incorrect or self.unfounded)

    def show(self) -> str:
        """The program, and its incorrect expressions."""
        lines = [f"# program {self.name}", self.source.text]
        for one in self.incorrect:
            span = self.source.at(one.position)
            lines.append(f"{span.line}:{span.column}: {self.source.segment(span)}")
            lines.append(f"    inferred {one.static}")
            lines.append(f"    observed {' | '.join(one.observed)} ({one.fault})")
        for finding in self.unfounded:
            lines.append(f"{finding.span.line}:{finding.span.column}: {finding.code} is unfounded")
            lines.append(f"    {finding.message}")
        return "\n".join(lines)


def compared(seed: str, start: int, count: int, kinds: Sequence[str] = KINDS) -> Iterator[Compared]:
    """Compare the programs number `start` and up of a seed, the kinds alternating."""
    catalogue, inferences = Catalogue.of_table(), Inferences()
    torch.set_num_threads(1)
    with recording(Semantics.NAMECHECK) as recorded:
        for index in range(start, start + count):
            name = f"{seed}:{index}"
            grown = grown_program(random.Random(name), catalogue, kinds[index % len(kinds)])
            try:
                one = compared_program(name, grown, recorded, inferences)
            except Exception as error:
                error.add_note(f"program {name}\n{grown.text}")
                raise
            yield one


@dataclass(frozen=True)
class Grown:
    """A program, the number of its flags, and whether it has a mistake: its data may matter."""

    text: str
    flags: int
    spoilt: bool


def _grower(rng: random.Random, catalogue: Catalogue, kind: str) -> tuple[Pieces, int]:
    """The generator of programs of a kind, and the length of the program."""
    if kind == "chains":
        return Chains(rng, torch, catalogue), rng.randint(*random_chains.LENGTHS)
    if kind == "flows":
        return Flows(rng, torch), rng.randint(*random_flows.LENGTHS)
    return Pieces(rng, torch), rng.randint(*_LINES)


def grown_program(rng: random.Random, catalogue: Catalogue, kind: str) -> Grown:
    """A random program of a kind."""
    torch.manual_seed(0)
    with runtime("error"):
        grower, length = _grower(rng, catalogue, kind)
        text = grower.grow(length)
    spoilt = rng.random() < _SPOILT
    return Grown(mutated(rng, text) if spoilt else text, grower.flags, spoilt)


def compared_program(
    name: str, grown: Grown, recorded: Recording, inferences: Inferences
) -> Compared:
    """Compare one program with its runs."""
    source = syntax.parse(grown.text.encode(), PLACE)
    static = analysis.observe(source, inferences=inferences)
    lines: set[int] = set()

    def joined(choices: Sequence[Choice]) -> tuple[tuple[Joined, ...], bool]:
        """The two sides of these runs, and whether none has a contradiction."""
        recorded.watch({PLACE: source})
        passed = True
        for chosen in choices:
            torch.manual_seed(0)
            _, fault = run(grown.text, chosen, lines)
            passed = passed and fault is None
        passed = passed and not any(seen.contradictions for seen in recorded.seen[PLACE].values())
        return join.sides(static, recorded.seen, recorded.activations.ended()), passed

    choices = tuple(itertools.product((False, True), repeat=grown.flags))
    sides, passed = joined(choices)
    findings = _findings(source, inferences) if passed and not grown.spoilt else ()
    decisive: Sequence[Choice] = choices
    empty = {source.at(one.position) for one in of_no_elements(source, sides)}
    if empty:
        decisive = [each for each in choices if not of_no_elements(source, joined([each])[0])]
        sides, _ = joined(decisive)
    if grown.spoilt and any(one.verdict is Verdict.INCORRECT for one in sides):
        told = {position for position, one in static[PLACE].items() if one.findings}

        def goes_on(chosen: Choice) -> bool:
            joined([chosen])
            seen = recorded.seen[PLACE].items()
            return any(one.contradictions for position, one in seen if position not in told)

        sides, _ = joined([each for each in decisive if not goes_on(each)])
    unfounded = tuple(
        each for each in findings if _is_reached(each, lines) and each.span not in empty
    )
    if unfounded:
        taken = syntax.parse(of_taken_branches(grown.text, choices).encode(), PLACE)
        remaining = {(each.code, each.message) for each in _findings(taken, inferences)}
        unfounded = tuple(each for each in unfounded if (each.code, each.message) in remaining)
    undecided = tuple(each for each in findings if each not in unfounded)
    return Compared(name, source, sides, unfounded, undecided)


def of_no_elements(source: syntax.Source, sides: Sequence[Joined]) -> list[Joined]:
    """The expressions inferred for a tensor of unknown size that happens to have no elements.

    Where an operand is such a tensor, a refused dtype was accepted, or a call that its row says to
    be irregular without elements has another dtype. So has what is computed from the result, or it
    is accepted though that of the inferred dtype is refused.
    """
    empty = {one.position for one in sides if _has_no_elements(one)}
    wrong = {one.position: one for one in sides if _may_be_unfounded(one)}
    if not wrong or not empty:
        return []
    tree = ast.parse(source.text)
    refused = {position for position, one in wrong.items() if "NC3" in one.static}
    changed = {position for position, one in wrong.items() if one.fault is Fault.DTYPE}
    of_empty = empty | _readers(tree, empty)
    found = of_empty & (refused | (changed & _calls(tree, _irregular_without_elements())))
    while more := (_readers(tree, found & changed) & (refused | changed)) - found:
        found |= more
    return [one for position, one in wrong.items() if position in found]


def _readers(tree: ast.AST, values: Set[Position]) -> set[Position]:
    """The expressions that contain one of these, or read a variable to which one is assigned."""
    names = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr))
        and (node.value is not None and _position(node.value) in values)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    return {
        _position(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and any(_reads(part, names, values) for part in ast.walk(node))
    }


def _reads(part: ast.AST, names: Set[str], values: Set[Position]) -> bool:
    if isinstance(part, ast.Name) and part.id in names:
        return True
    return isinstance(part, ast.expr) and _position(part) in values


def _calls(tree: ast.AST, called: Set[str]) -> set[Position]:
    """The calls of functions and methods with these names."""
    return {
        _position(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in called
    }


@cache
def _irregular_without_elements() -> frozenset[str]:
    """The functions and methods whose result may have another dtype without elements."""
    return frozenset(
        row.key.rpartition(".")[-1]
        for row in table().values()
        for _, signature in (row.alternatives("") if row.irregular else ())
        for word in read_condition(row.irregular).words
        if word.name == "numel"
        and any("tensor" in one.kinds for one in signature if one.name in word.arguments)
    )


def _may_be_unfounded(one: Joined) -> bool:
    is_wrong = one.fault not in (None, Fault.MISSED)
    return is_wrong or one.verdict is Verdict.UNSETTLED


def _has_no_elements(one: Joined) -> bool:
    """Whether a run had a tensor without elements where none was known to be."""
    is_known = all("=0" in shown for shown in one.static.split(" | "))
    return not is_known and any("=0" in shown for shown in one.observed)


def _position(node: ast.expr) -> Position:
    return Position(node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)


def of_taken_branches(text: str, choices: Sequence[Choice]) -> str:
    """A program that ends on each branch that no run takes, where a size or an error decides."""
    tree = ast.parse(text)
    tests = [each for each in tree.body if isinstance(each, ast.If) and _asks_size(each.test)]
    handlers = [each for each in ast.walk(tree) if isinstance(each, ast.ExceptHandler)]
    outcomes: dict[ast.If, set[bool]] = {each: set() for each in tests}
    entered: set[ast.ExceptHandler] = set()
    for chosen in choices:
        lines: set[int] = set()
        run(text, chosen, lines)
        for each in tests:
            outcomes[each].add(each.body[0].lineno in lines)
        entered.update(each for each in handlers if each.body[0].lineno in lines)
    for each in tests:
        if True not in outcomes[each]:
            each.body = _ending()
        if False not in outcomes[each]:
            each.orelse = _ending()
    for handler in handlers:
        if handler not in entered:
            handler.body = _ending()
    return ast.unparse(tree)


def _ending() -> list[ast.stmt]:
    """A statement that ends the program."""
    return [ast.parse("raise SystemExit").body[0]]


def _asks_size(test: ast.expr) -> bool:
    """Whether a test reads a size of a tensor."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in ("size", "shape")
        for node in ast.walk(test)
    )


def _is_reached(finding: Finding, lines: set[int]) -> bool:
    """Whether a run has reached the line of a finding."""
    return not lines.isdisjoint(range(finding.span.line, finding.span.end_line + 1))


def _findings(source: syntax.Source, inferences: Inferences) -> tuple[Finding, ...]:
    """The contradictions that are reported in a program, lints and notes left out.

    As `check` does with all attributes, those about attributes are also taken from analysing each
    function by itself, where the program names no dim: in one that does, and is as small as these,
    all functions are run with what is known of their arguments.
    """
    found = analysis.check(source, inferences=inferences).findings
    if not syntax.names_something(source.text.encode()):
        found = (*found, *analysis.briefly(source, Semantics.NAMECHECK, None, inferences))
    return tuple(one for one in found if register()[one.code].kind is Kind.FINDING)


def limit_memory() -> None:
    """Let this process have 8 GiB of addresses, where the system has such a limit.

    The elements of `torch.empty` are any, and may be the size of what is computed next. Then torch
    refuses that call, and the command goes on.
    """
    if importlib.util.find_spec("resource") is not None:
        import resource  # not on Windows

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = _ADDRESSES if hard == resource.RLIM_INFINITY else min(_ADDRESSES, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def asked(description: str) -> argparse.Namespace:
    """The random programs that the command line requests."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)))
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kind", choices=KINDS, help="programs of one kind; else they take turns")
    return parser.parse_args()


def main() -> int:
    """The command line."""
    arguments = asked("Compare random programs with their runs.")
    limit_memory()
    kinds = KINDS if arguments.kind is None else (arguments.kind,)
    print(f"seed {arguments.seed}", flush=True)
    verdicts: Counter[str] = Counter()
    attributes: Counter[tuple[str, Verdict]] = Counter()
    wrong = undecided = 0
    for one in compared(arguments.seed, arguments.start, arguments.count, kinds):
        verdicts.update(each.verdict.value for each in one.joined)
        attributes.update(pair for each in one.joined for pair in each.attributes.items())
        undecided += len(one.undecided)
        if one.is_wrong:
            wrong += 1
            print(one.show(), flush=True)
    observed = verdicts.total() - verdicts[Verdict.UNREACHED.value]
    known = verdicts[Verdict.AGREE.value] / max(observed, 1)
    shown = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.most_common())
    print(f"{arguments.count:,} programs, {wrong:,} of them incorrect; expressions: {shown}")
    print(f"Of {undecided:,} findings the runs show nothing.")
    print(f"Of what ran, the names of {known:.1%} were known in full.")
    for attribute in ATTRIBUTES:
        word = attribute.word
        every = sum(attributes[word, verdict] for verdict in Verdict)
        agree = attributes[word, Verdict.AGREE] / max(every, 1)
        print(f"Of {every:,} values that were inferred, the {word} of {agree:.1%} was known.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
