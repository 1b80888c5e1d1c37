"""Two arguments stand at each other's parameters.

`attend(key, query)` calls `def attend(query, key)`: each variable is called as the parameter at the
other's place. Where both tensors have the same dims, nothing raises. Words are compared without
what says only that they are tensors: `key_states`, `keys` and `k` are all `key`; what both begin
with says whose they are: `qkv_bias` and `qkv_weight`. It is reported of functions of the program,
and of functions and layers of `torch.nn`. So is the one of three calls or more, each for a level of
its own, that has two arguments in another order: `decoder4(enc3, dec3)` beside
`decoder3(dec2, enc2)` and `decoder2(dec1, enc1)`.

It is not reported where an exchange is likely meant: words that are numbered or that come in pairs
(`x1` and `x2`, `bi` and `bj`, `left` and `right`, `row` and `col`), single letters, a function that
only makes this call, or whose name says so (`inverse`, `swap`), a function that passes the two in
the other order as well, to another layer perhaps (but for a function whose parameters are called as
they are, in that order), or assigns them to each other, a call whose
results go to the same words in the order of its arguments, an argument that is transposed, in the
call or before, a tensor that is passed twice (`attention(keys, queries, queries)`), losses that are
symmetric, functions that compare (`distance`, `error`), and constructors: a decoder's layer has its
encoder's sizes the other way round.

Bad:

    import torch


    def attend(query, key, value):
        weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1)
        return weights @ value


    def read(x, query, key, value):
        B, T, C = x.shape
        found = attend(key, query, value)
        return x + found

Good:

    import torch


    def attend(query, key, value):
        weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1)
        return weights @ value


    def read(x, query, key, value):
        B, T, C = x.shape
        found = attend(query, key, value)
        return x + found
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple

from namecheck import operators
from namecheck.core.findings import Facts, Finding, OperandFacts, Place
from namecheck.core.syntax import Source
from namecheck.core.trees import children, last_word, nodes
from namecheck.interpreter.domain.values import Opaque, TensorValue, Union, Value
from namecheck.interpreter.evaluation.events import Applied, Entered, Listener
from namecheck.lints.shared import turned_tensors
from namecheck.lints.shared.doubts import Doubts

CODE: Final = "NC605"

_LAYERS: Final = "nn."
_TENSORS: Final = (TensorValue, Opaque, Union)
# How many calls and assignments of one scope are compared with a call.
_MOST: Final = 256
_VARIABLES: Final = (ast.Name, ast.Attribute)
# Functions and layers of `torch.nn` to which the order of two tensors means nothing.
_SYMMETRIC: Final = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cosine_similarity",
    "pairwise_distance", "cosine_embedding_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss",
    "CosineSimilarity", "PairwiseDistance", "CosineEmbeddingLoss",
)  # fmt: skip
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
# Words of a variable that do not say which tensor it is.
_GENERIC: Final = (
    "emb", "embeds", "features", "feats", "heads", "hidden", "input", "inputs", "layer", "proj",
    "state", "states", "tensor", "tensors",
)  # fmt: skip
_ROLES: Final = {
    "q": "query", "k": "key", "v": "value", "queries": "query", "keys": "key", "values": "value"
}  # fmt: skip
_PAIRS: Final = tuple(
    frozenset(pair.split())
    for pair in (
        "left right", "lhs rhs", "src dst", "src tgt", "source target", "source destination",
        "row col", "rows cols", "row column", "rows columns", "head tail", "heads tails",
        "first second", "start end", "begin end", "lower upper", "low high", "old new",
        "self other", "send recv", "send receive", "sent received", "input output", "in out",
        "inputs outputs", "from to", "up down", "previous next", "prev next", "parent child",
        "forward backward", "positive negative", "pos neg", "anchor positive", "cos sin",
        "real imag", "width height", "noise clean",
    )
)  # fmt: skip
_EXCHANGES: Final = (
    "adjoint", "backward", "bwd", "cycle", "dual", "exchange", "flip", "inverse", "inverted", "jvp",
    "mirror", "reverse", "swap", "symmetric", "transpose", "vjp",
)  # fmt: skip
# How many calls show the order of their arguments.
_LEAST_LEVELS: Final = 2
# Words in the names of functions of two things of one kind, mostly in any order.
_COMPARES: Final = (
    "agree", "close", "compare", "contain", "contained", "contains", "corr", "dice", "diff",
    "distance", "equal", "error", "iou", "jaccard", "overlap", "similarity",
    # The inverse of a ratio is one, too: that of a signal and its noise.
    "nsr", "ratio", "snr",
)  # fmt: skip


class _Callee(NamedTuple):
    """The only function that a call has entered, and the arguments called as its parameters."""

    sole_definition: ast.FunctionDef | ast.AsyncFunctionDef | None
    own: frozenset[str]


class _Converse(NamedTuple):
    """A call's function, the words of two arguments, and the calls with the other order."""

    definition: ast.FunctionDef | ast.AsyncFunctionDef
    words: frozenset[str]
    calls: tuple[ast.Call, ...]


class Lint(Listener):
    """Compares the words of positional arguments with those of the parameters they are bound to.

    Source: docs/evidence.md.
    """

    on_request: ClassVar[str] = "evidence"

    def __init__(self) -> None:
        self._doubts: Doubts[ast.Call] = Doubts()
        self._callees: dict[ast.Call, _Callee] = {}
        self._converse: dict[ast.Call, _Converse] = {}

    def on_enter(self, entered: Entered) -> None:
        """Compare the arguments of a call of a function of the program."""
        function, call_node = entered.function.node, entered.call_node
        bound = len(entered.args) - len(call_node.args)
        if isinstance(function, ast.Lambda) or function.name == "__init__" or bound not in (0, 1):
            self._doubts.excuse(call_node)
            return
        parameter_words = _parameters(function)[bound:]
        self._note_callee(call_node, function, parameter_words)
        exchanged = None if function is entered.around else _crossed(call_node, parameter_words)
        if exchanged is None:
            self._doubts.excuse(call_node)
            return
        if not _are_unlike(function, [bound + at for at in exchanged]):
            calls = tuple(_converse_calls(call_node, exchanged, entered.around))
            words = frozenset(last_word(call_node.args[at]) for at in exchanged)
            self._converse[call_node] = _Converse(function, words, calls)
        values = [entered.args[bound + at] for at in exchanged]
        of_tensors = all(isinstance(value, TensorValue) for value in values)
        if _is_meant(
            call_node,
            exchanged,
            function.name,
            entered.around,
            of_tensors=of_tensors,
        ):
            self._doubts.excuse(call_node)
            return
        if not entered.silent and any(isinstance(value, _TENSORS) for value in values):
            finding = _finding(entered.source, call_node, exchanged, parameter_words)
            self._doubts.add(call_node, finding)

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """Compare the arguments of a function or layer of `torch.nn`."""
        call_node = applied.node
        if not applied.operator.startswith(_LAYERS) or not isinstance(call_node, ast.Call):
            return result
        if applied.operator.rpartition(".")[2] in _SYMMETRIC:
            return result
        row = operators.row_of(applied.operator)
        if row is None or applied.silent or len(applied.inputs) < len(call_node.args):
            return result  # the inputs of a layer begin with those of its constructor
        for signature in row.signatures:
            words = [each.name for each in signature]
            self._compare(applied.source, call_node, words, "", of_tensors=True)
        return result

    def findings(self, source: Source) -> Iterable[Finding]:
        """The calls of which no callee takes the arguments in their order."""
        for call_node, callee in _of_chosen(source):
            self._compare(source, call_node, _parameters(callee), callee.name)
        for call_node, converse in self._converse.items():
            if not all(self._is_straight(each, converse) for each in converse.calls):
                self._doubts.excuse(call_node)
        found = {finding.span: finding for finding in self._doubts.findings()}
        for call_node, exchanged, beside in _out_of_step(source):
            finding = _finding_beside(source, call_node, exchanged, beside)
            found.setdefault(finding.span, finding)
        return found.values()

    def _note_callee(
        self,
        call_node: ast.Call,
        definition: ast.FunctionDef | ast.AsyncFunctionDef,
        parameter_words: Sequence[str],
    ) -> None:
        """Note the arguments that are called as the parameters they are bound to."""
        own = frozenset(
            last_word(argument)
            for argument, parameter in zip(call_node.args, parameter_words, strict=False)
            if _stem(last_word(argument)) == _stem(parameter)
        )
        known = self._callees.setdefault(call_node, _Callee(definition, own))
        if known.sole_definition is not definition:
            self._callees[call_node] = _Callee(None, known.own & own)

    def _is_straight(self, one_call: ast.Call, converse: _Converse) -> bool:
        """Whether another function takes two words in the other order, which is its own."""
        callee = self._callees.get(one_call)
        return (
            callee is not None
            and callee.sole_definition not in (None, converse.definition)
            and converse.words <= callee.own
        )

    def _compare(
        self,
        source: Source,
        call_node: ast.Call,
        parameter_words: Sequence[str],
        own_name: str,
        *,
        of_tensors: bool = False,
    ) -> None:
        """Compare the arguments of a call in a file with the parameters of its callee."""
        exchanged = _crossed(call_node, parameter_words)
        if exchanged is None:
            return
        around = _scopes(source.tree).get(call_node, source.tree)
        if any(_converse_calls(call_node, exchanged, around)):
            return
        if not _is_meant(call_node, exchanged, own_name, around, of_tensors=of_tensors):
            self._doubts.add(call_node, _finding(source, call_node, exchanged, parameter_words))


def _parameters(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The words of the parameters that arguments are bound to by their positions."""
    return [each.arg for each in (*definition.args.posonlyargs, *definition.args.args)]


def _of_chosen(source: Source) -> Iterator[tuple[ast.Call, ast.FunctionDef]]:
    """The calls of variables that hold what a look-up gave, with a function as its default.

    ``attend = registry.get(kind, eager)``, then ``attend(query, key)`` as ``def eager`` takes them.
    """
    functions = {each.name: each for each in source.tree.body if isinstance(each, ast.FunctionDef)}
    chosen: dict[str, ast.FunctionDef | None] = {}
    by_variable: list[tuple[str, ast.Call]] = []
    for each in nodes(source.tree):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            by_variable.append((each.func.id, each))
        value = each.value if isinstance(each, (ast.Assign, ast.AnnAssign)) else None
        if not isinstance(value, ast.Call):
            continue
        is_looked_up = isinstance(value.func, ast.Attribute) and value.func.attr.startswith("get")
        words = [last_word(argument) for argument in value.args[1:]] if is_looked_up else []
        handed = [functions[word] for word in words if word in functions]
        for word in _targets(each):
            known = chosen.setdefault(word, handed[0] if len(handed) == 1 else None)
            if handed[:1] != [known]:
                chosen[word] = None
    for word, call_node in by_variable:
        callee = chosen.get(word)
        if callee is not None:
            yield call_node, callee


def _out_of_step(source: Source) -> Iterator[tuple[ast.Call, tuple[int, int], ast.Call]]:
    """The one of several calls, each of a level of its own, that has another order than the others.

    ``decoder4(enc3, dec3)`` beside ``decoder3(dec2, enc2)`` and ``decoder2(dec1, enc1)``: the call,
    the positions of its two arguments, and a call with the other order.
    """
    for scope in nodes(source.tree):
        if not isinstance(scope, _DEFINITIONS):
            continue
        alike: dict[tuple[str, str, str], list[ast.Call]] = {}
        for each in _written(scope)[0]:
            if not _is_of_a_level(each):
                continue
            one, other = (_unnumbered(last_word(argument)) for argument in each.args)
            if _differ(one, other):
                alike.setdefault((_unnumbered(ast.unparse(each.func)), one, other), []).append(each)
        for (called, first, second), calls in alike.items():
            others = alike.get((called, second, first), [])
            if len(calls) == 1 and len({last_word(one.args[0]) for one in others}) >= _LEAST_LEVELS:
                yield calls[0], (0, 1), others[0]


def _is_of_a_level(call_node: ast.Call) -> bool:
    """Whether a call has two arguments, variables with the number of a level."""
    words = [last_word(argument) for argument in call_node.args]
    return len(words) == 2 and all(word != _unnumbered(word) for word in words)


def _targets(node: ast.AST) -> list[str]:
    """The variables that an assignment binds to its whole value."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _crossed(call_node: ast.Call, parameter_words: Sequence[str]) -> tuple[int, int] | None:
    """The positions of two arguments of which each is called as the other's parameter."""
    if len(call_node.args) < 2 or any(isinstance(each, ast.Starred) for each in call_node.args):
        return None
    said = [_stem(last_word(argument)) for argument in call_node.args[: len(parameter_words)]]
    meant = [_stem(parameter) for parameter in parameter_words[: len(said)]]
    places = {word: at for at, word in enumerate(meant)}
    for first, word in enumerate(said):
        for ending in _endings(word):
            second = places.get(ending, 0)
            if second <= first or not _differ(ending, meant[first]):
                continue
            if said[second] == word.removesuffix(ending) + meant[first]:
                return first, second
    return None


def _endings(word: str) -> Iterator[str]:
    """A word, and what is left of it without its first parts: `weight` of `qkv_weight`."""
    while word:
        yield word
        word = word.partition("_")[2]


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """A word without what it has in common with those of other tensors."""
    parts = word.strip("_").lower().split("_")
    while len(parts) > 1 and parts[-1] in _GENERIC:
        del parts[-1]
    return "_".join(_ROLES.get(part, part) for part in parts)


def _differ(word: str, other_word: str) -> bool:
    """Whether two words are neither letters, nor numbered or lettered, nor opposites."""
    if max(len(word), len(other_word)) < 2 or _unnumbered(word) == _unnumbered(other_word):
        return False
    if word[:-1] == other_word[:-1] and not {word[-1], other_word[-1]} & _ROLES.keys():
        return False
    different = frozenset(word.split("_")) ^ frozenset(other_word.split("_"))
    return different not in _PAIRS and not all(len(part) < 2 for part in different)


def _unnumbered(word: str) -> str:
    return re.sub(r"\d", "", word)


def _are_unlike(
    definition: ast.FunctionDef | ast.AsyncFunctionDef, positions: Sequence[int]
) -> bool:
    """Whether two parameters are annotated as of two types, such as a word and a flag."""
    every = [*definition.args.posonlyargs, *definition.args.args]
    annotations = [every[at].annotation for at in positions]
    texts = {ast.dump(each) for each in annotations if each is not None}
    return len(texts) == len(annotations)


def _is_meant(
    call_node: ast.Call,
    exchanged: tuple[int, int],
    own_name: str,
    around: ast.AST,
    *,
    of_tensors: bool = False,
) -> bool:
    """Whether the code around a call says that its arguments are exchanged on purpose.

    One of two tensors may have been transposed, or the image whose two sides they are.
    """
    names = [own_name, around.name] if isinstance(around, _DEFINITIONS) else [own_name]
    if "__init__" in names or _is_passed_twice(call_node, exchanged):
        return True
    if _speaks_of(own_name, _COMPARES):
        return True
    names += [last_word(each) for each in nodes(call_node) if isinstance(each, _VARIABLES)]
    if any(_speaks_of(name, _EXCHANGES) for name in names):
        return True
    if isinstance(around, _DEFINITIONS) and _only(around) is call_node:
        return True
    words = [last_word(call_node.args[at]) for at in exchanged]
    assignments = _written(around)[1]
    turned = turned_tensors.variables(assignments).intersection(names)
    if len(turned.intersection(words)) == 1 or (turned and not of_tensors):
        return True
    return any(
        _exchanges(each, words) or _keeps_order(each, call_node, words) for each in assignments
    )


@lru_cache(maxsize=4096)
def _speaks_of(name: str, beginnings: tuple[str, ...]) -> bool:
    """Whether a part of a name begins with one of some words: `transposed_a`, `InverseFlow`."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return any(part.lower().startswith(beginnings) for part in parts)


@lru_cache(maxsize=8)
def _scopes(tree: ast.Module) -> Mapping[ast.AST, ast.AST]:
    """The function around each call of a file that stands in one."""
    scopes: dict[ast.AST, ast.AST] = {}
    inside: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    for node, scope in inside:  # it grows meanwhile
        if isinstance(node, ast.Call) and scope is not tree:
            scopes[node] = scope
        own = node if isinstance(node, _DEFINITIONS) else scope
        inside += ((child, own) for child in children(node))
    return scopes


@lru_cache(maxsize=8)
def _written(around: ast.AST) -> tuple[Sequence[ast.Call], Sequence[ast.Assign]]:
    """The first calls and assignments in a scope."""
    every = nodes(around)
    calls = [each for each in every if isinstance(each, ast.Call)]
    return calls[:_MOST], [each for each in every if isinstance(each, ast.Assign)][:_MOST]


def _only(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """The value of the only statement of a function but for its docstring."""
    *before, last = definition.body
    if all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in before):
        return last.value if isinstance(last, (ast.Return, ast.Expr)) else None
    return None


def _is_passed_twice(call_node: ast.Call, exchanged: tuple[int, int]) -> bool:
    """Whether one of two arguments is passed again: ``attention(keys, queries, queries)``."""
    every = [ast.dump(each) for each in call_node.args]
    every += [ast.dump(each.value) for each in call_node.keywords]
    return any(every.count(every[at]) > 1 for at in exchanged)


def _converse_calls(
    call_node: ast.Call, exchanged: tuple[int, int], around: ast.AST
) -> Iterator[ast.Call]:
    """The calls beside a call that pass two of its arguments in the other order."""
    return (each for each in _written(around)[0] if _is_converse(each, call_node, exchanged))


def _is_converse(one_call: ast.Call, call_node: ast.Call, exchanged: tuple[int, int]) -> bool:
    """Whether a call with as many arguments has two of them in the other order.

    It may be of another function: of the layer for the other direction. A tuple of the two is one
    argument, and has no order that a function gives it.
    """
    if len(one_call.args) + len(one_call.keywords) != len(call_node.args) + len(call_node.keywords):
        return False
    first, second = (last_word(call_node.args[at]) for at in exchanged)
    passed = [*one_call.args, *(each.value for each in one_call.keywords)]
    words = [
        {last_word(node) for node in nodes(each) if isinstance(node, _VARIABLES)} for each in passed
    ]
    order = [each & {first, second} for each in words if not each.isdisjoint((first, second))]
    return order[:2] == [{second}, {first}]


def _exchanges(assignment: ast.Assign, words: Sequence[str]) -> bool:
    """Whether an assignment, as ``a, b = b, a``, gives variables of these words another order."""
    target, value = assignment.targets[0], assignment.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return False
    to, of = ([last_word(each) for each in side.elts] for side in (target, value))
    return to != of and sorted(to) == sorted(of) and not set(words).isdisjoint(to)


def _keeps_order(assignment: ast.Assign, call_node: ast.Call, words: Sequence[str]) -> bool:
    """Whether a call's results go to variables in the order of its arguments: ``a, b = f(a, b)``.

    Its function does the same to both.
    """
    target = assignment.targets[0]
    if assignment.value is not call_node or not isinstance(target, ast.Tuple):
        return False
    return [word for word in map(last_word, target.elts) if word in words] == list(words)


def _finding(
    source: Source, call_node: ast.Call, exchanged: tuple[int, int], parameter_words: Sequence[str]
) -> Finding:
    """The finding at a call, with the two arguments under its line."""
    one, other = (source.segment(source.span(call_node.args[at])) for at in exchanged)
    message = (
        f"Two arguments stand at each other's parameters: `{one}` is passed as "
        f"'{parameter_words[exchanged[0]]}', and `{other}` as '{parameter_words[exchanged[1]]}'."
    )
    notes = [f"parameter '{parameter_words[at]}'" for at in exchanged]
    return _marked(source, call_node, exchanged, message, notes)


def _finding_beside(
    source: Source, call_node: ast.Call, exchanged: tuple[int, int], beside: ast.Call
) -> Finding:
    """The finding at a call whose arguments have another order than those of a call beside it."""
    one, other = (source.segment(source.span(call_node.args[at])) for at in exchanged)
    usual = source.segment(source.span(beside))
    message = (
        f"Two arguments stand in another order than in the calls of the other levels: `{one}` "
        f"before `{other}`, but `{usual}`."
    )
    notes = [f"where `{source.segment(source.span(beside.args[at]))}` stands" for at in exchanged]
    return _marked(source, call_node, exchanged, message, notes)


def _marked(
    source: Source,
    call_node: ast.Call,
    exchanged: tuple[int, int],
    message: str,
    notes: Sequence[str],
) -> Finding:
    """A finding at a call, with a note under each of two arguments."""
    marks = tuple(
        Place(source.filename, source.span(call_node.args[at]), note)
        for at, note in zip(exchanged, notes, strict=True)
    )
    return Finding(
        CODE,
        message,
        source.filename,
        source.span(call_node),
        help="Exchange them, or pass them by keyword if this is meant.",
        marks=marks,
        facts=Facts(operands=tuple(OperandFacts(place.span) for place in marks)),
    )
