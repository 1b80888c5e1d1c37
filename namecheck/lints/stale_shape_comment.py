"""A comment says another shape than the value of its line has, or a docstring than a parameter.

`pooled = x.mean(dim=1)  # (B, T, C)` is read before the code is, and believed. It is reported where
the value certainly has another rank, its dims in another order, or another literal size than the
comment at the end of the assignment's line says, and the comment has a word of its dims. A shape
within a sentence, `# maximum of (B, T, C) over T`, is no claim.

So is the entry of a parameter in a docstring, `x: features of shape (B, C, T)`, where the function
takes no such tensor, on any path that ends without an error: it reads `B, T, C = x.shape`.

Bad:

    import torch


    def pool(x):
        B, T, C = x.shape
        return_value = x.mean(dim=1)  # (B, T, C)
        return return_value

Good:

    import torch


    def pool(x):
        B, T, C = x.shape
        return_value = x.mean(dim=1)  # (B, C)
        return return_value
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from namecheck.core import names as naming
from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Span
from namecheck.core.names import Axis, Name
from namecheck.core.syntax import Source
from namecheck.core.trees import nodes
from namecheck.interpreter.domain.values import TensorValue, Value
from namecheck.interpreter.evaluation.events import Applied, EntryRun, Listener
from namecheck.lints.shared import shape_comments
from namecheck.lints.shared.doubts import Doubts
from namecheck.lints.shared.shape_comments import Claim

CODE: Final = "NC604"


class Lint(Listener):
    """Compares the results of assigned expressions with the comments of their lines.

    Source: docs/evidence.md.
    """

    on_request: ClassVar[str] = "evidence"

    def __init__(self) -> None:
        self._doubts: Doubts[ast.AST] = Doubts()
        self._parameters: Doubts[tuple[ast.AST, str]] = Doubts()
        self._claims: dict[str, dict[ast.AST, Claim]] = {}

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """Compare a result with the claim about it."""
        if not isinstance(result, TensorValue) or not isinstance(applied.node, ast.AST):
            return result
        claims = self._claims.get(applied.source.filename)
        if claims is None:
            claims = self._claims[applied.source.filename] = dict(_claims(applied.source))
        claim = claims.get(applied.node)
        if claim is not None:
            dims = result.initial.tensor.dims
            problem = (
                None
                if dims.open
                else _problem(claim, dims, [each.dims for each in applied.operands], "the value")
            )
            if problem is None:
                self._doubts.excuse(applied.node)
            elif not applied.silent:
                message = (
                    f"The comment says ({', '.join(claim.words)}), but {problem}: {dims.show()}."
                )
                finding = applied.finding(CODE, message, "Correct the comment.", ())
                self._doubts.add(applied.node, finding)
        return result

    def on_entry_run(self, entry_run: EntryRun) -> None:
        """Compare the parameters of a function with the claims in its docstring."""
        from namecheck.annotations import docstrings  # only where asked for

        function = entry_run.function
        documentation = docstrings.of_function(function.node, function.environment.scope)
        if documentation is None:
            return
        for word, (shape, line) in documentation.claims.items():
            key, dims = (function.node, word), entry_run.dims.get(word)
            words = Claim(shape.terms, None)
            problem = (
                None
                if dims is None or shape.gap is not None
                else _problem(words, dims, [dims], "it")
            )
            if problem is None or dims is None:
                self._parameters.excuse(key)
            elif not entry_run.silent:
                message = (
                    f"The docstring says that '{word}' is ({', '.join(shape.terms)}), but "
                    f"{problem}: {dims.show()}."
                )
                span = _line_of(documentation.node, line, entry_run.source)
                help = "Correct the docstring."
                finding = Finding(CODE, message, entry_run.source.filename, span, help)
                self._parameters.add(key, finding)

    def findings(self, source: Source) -> Iterable[Finding]:
        """The comments and docstrings that no run agrees with."""
        yield from self._doubts.findings()
        yield from self._parameters.findings()


def _line_of(docstring_node: ast.Constant, line: int, source: Source) -> Span:
    """The span of a line of a docstring; that of its first line where the text tells no lines."""
    start, end = docstring_node.lineno, docstring_node.end_lineno or docstring_node.lineno
    is_plain = end - start == str(docstring_node.value).count("\n")
    number = start + line if is_plain else start
    text = source.lines[number - 1].rstrip()
    return Span(number, len(text) - len(text.lstrip()) + 1, number, len(text) + 1)


def _claims(source: Source) -> Iterator[tuple[ast.AST, Claim]]:
    """The assigned expressions with a comment about a shape at the end of their line."""
    every = nodes(source.tree)
    variable_names: set[str] = set()
    for node in every:
        if not isinstance(node, (ast.Assign, ast.Return)) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if target is not None and not isinstance(target, ast.Name):
            continue
        span = source.span(node)
        rest = source.lines[span.end_line - 1][span.end_column - 1 :].strip()
        if rest.startswith("#"):
            variable_names = variable_names or _variables(every)
            name = None if target is None else target.id
            claim = shape_comments.claim(rest[1:], name, variable_names)
            if claim is not None:
                yield node.value, claim


def _variables(file_nodes: Sequence[ast.AST]) -> set[str]:
    """The variables and parameters among these nodes."""
    return {node.id for node in file_nodes if isinstance(node, ast.Name)} | {
        node.arg for node in file_nodes if isinstance(node, ast.arg)
    }


def _problem(claim: Claim, dims: Dims, operand_dims: Sequence[Dims], subject: str) -> str | None:
    """What is wrong with a claim about the dims of a subject; None where it may be right.

    A claim may begin with dims of the batch which this call does without: no operand has them. One
    with an arrow may leave out as many dims before it as behind it.
    """
    words = [_word(name) for name in dims.names]
    said = [word.lower() for word in claim.words]
    if not set(said) & {word for word in words if word is not None}:
        return None
    ahead = len(said) - len(words)
    before = claim.dims_before
    if before is not None and ahead < 0 and before - ahead in [each.rank for each in operand_dims]:
        return None
    if ahead > 0 and not set(said[:ahead]) & {
        _word(n) for each in operand_dims for n in each.names
    }:
        said = said[ahead:]
    if len(said) != len(words):
        return f"{subject} has {len(words)} dims"
    for position, (says, word) in enumerate(zip(said, words, strict=True)):
        size = dims.prefix[position].size
        if says.isdecimal() and isinstance(size, int) and int(says) != size:
            return f"dim {position} has the size {size}"
        if says != word and word in said and says in words:
            return f"dim {position} is '{naming.word(dims.names[position])}'"
    return None


def _word(axis: Name) -> str | None:
    """The word of an axis of its own, in lower case."""
    if not isinstance(axis, Axis) or len(axis.factors) > 1 or naming.is_number(axis.name):
        return None
    return naming.bare(axis.name).lower()
