"""``match`` statements."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    DictValue,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import comparisons, narrowing, shape_tests, type_tests
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter


class Patterns:
    """Decides which cases of a ``match`` are possible, and binds their captures."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def match(self, match_node: ast.Match, store: Store, frame: Frame) -> list[Store]:
        """The paths that leave a ``match`` at its end."""
        subject = self.interpreter.evaluate(match_node.subject, store, frame)
        ends: list[Store] = []
        certain = False
        for case in match_node.cases:
            layer = store.fork()
            answer = self.test(case.pattern, subject, layer, frame)
            if answer is False:
                continue
            paths = [layer]
            if case.guard is not None:
                paths, fails = narrowing.decide(self.interpreter, case.guard, layer, frame)
                answer = None if fails else answer
            with frame.choosing(is_undecided=answer is not True or bool(ends)):
                ends.extend(self.interpreter.execute(case.body, paths, frame))
            if answer is True:
                certain = True
                break
        if not certain:
            ends.append(store.fork())
        if len(ends) > 1 and not merges.differ_in_names(store, ends):
            return [merges.merged(store, ends)]
        return ends

    def test(
        self, case_pattern: ast.pattern, value: Value, store: Store, frame: Frame
    ) -> bool | None:
        """Whether a value fits a pattern, None where that is unknown; captures are bound."""
        if isinstance(case_pattern, ast.MatchValue):
            expected = self.interpreter.evaluate(case_pattern.value, store, frame)
            answer = comparisons.equal(value, expected, store)
            if answer is None and isinstance(value, Opaque):
                narrowing.learn_equal(value.key, expected, store)
            return answer
        if isinstance(case_pattern, ast.MatchSingleton):
            return None if isinstance(value, Opaque) else value == Const(case_pattern.value)
        if isinstance(case_pattern, ast.MatchAs):
            matches: bool | None = True
            if case_pattern.pattern is not None:
                matches = self.test(case_pattern.pattern, value, store, frame)
            if case_pattern.name is not None and matches is not False:
                self.interpreter.bind_name(case_pattern.name, value, store, frame.environment)
            return matches
        if isinstance(case_pattern, ast.MatchOr):
            return self._any(case_pattern.patterns, value, store, frame)
        if isinstance(case_pattern, ast.MatchSequence):
            return self._sequence(case_pattern.patterns, value, store, frame)
        if isinstance(case_pattern, ast.MatchMapping):
            return self._mapping(case_pattern, value, store, frame)
        if isinstance(case_pattern, ast.MatchClass):
            return self._class(case_pattern, value, store, frame)
        return None

    def _any(
        self, patterns: Sequence[ast.pattern], value: Value, store: Store, frame: Frame
    ) -> bool | None:
        """Whether a value fits one of several patterns; what each tells holds on its own path."""
        verdicts: list[bool | None] = []
        layers: list[Store] = []
        for pattern in patterns:
            layer = store.fork()
            verdicts.append(self.test(pattern, value, layer, frame))
            if verdicts[-1] is not False:
                layers.append(layer)
        if layers:
            merges.rejoin(store, layers)
        return True if True in verdicts else None if None in verdicts else False

    def _all(self, part_matches: Sequence[bool | None]) -> bool | None:
        return False if False in part_matches else None if None in part_matches else True

    def _sequence(
        self, patterns: Sequence[ast.pattern], value: Value, store: Store, frame: Frame
    ) -> bool | None:
        content: tuple[Value, ...] | Repeated
        if isinstance(value, TupleValue):
            content = value.items
        elif isinstance(value, ListValue) and value.kind == "list":
            content = joins.items(value, store)
        elif isinstance(value, (Const, DictValue, Instance)):
            return False
        else:
            content = Repeated(self.interpreter.fresh("item"))
            if isinstance(value, Opaque) and not shape_tests.fits(value.key, patterns, store):
                return False
        star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), None)
        if isinstance(content, Repeated):
            for pattern in patterns:
                item = joins.pick(content, self.interpreter.new_address(), store)
                self._capture(pattern, item, store, frame)
            return None
        if len(content) < len(patterns) - (star is not None) or (
            star is None and len(content) != len(patterns)
        ):
            return False
        if star is None:
            return self._all(
                [
                    self.test(p, item, store, frame)
                    for p, item in zip(patterns, content, strict=True)
                ]
            )
        after = len(patterns) - star - 1
        middle = content[star : len(content) - after]
        self._capture(
            patterns[star], ListValue(self.interpreter.new_address(), middle), store, frame
        )
        pairs = [
            *zip(patterns[:star], content[:star], strict=True),
            *zip(patterns[star + 1 :], content[len(content) - after :], strict=True),
        ]
        return self._all([self.test(p, item, store, frame) for p, item in pairs])

    def _capture(self, case_pattern: ast.pattern, value: Value, store: Store, frame: Frame) -> None:
        if isinstance(case_pattern, ast.MatchStar):
            if case_pattern.name is not None:
                self.interpreter.bind_name(case_pattern.name, value, store, frame.environment)
        else:
            self.test(case_pattern, value, store, frame)

    def _mapping(
        self, case_pattern: ast.MatchMapping, value: Value, store: Store, frame: Frame
    ) -> bool | None:
        if not isinstance(value, DictValue):
            return None if isinstance(value, Opaque) else False
        content = joins.entries(value, store)
        entries = dict(content.items)
        verdicts: list[bool | None] = []
        for key_node, part in zip(case_pattern.keys, case_pattern.patterns, strict=True):
            key = self.interpreter.evaluate(key_node, store, frame)
            if key in entries:
                verdicts.append(self.test(part, entries[key], store, frame))
            else:
                verdicts.append(None if content.rest is not None else False)
        if case_pattern.rest is not None:
            self.interpreter.bind_name(case_pattern.rest, value, store, frame.environment)
        return self._all(verdicts)

    def _class(
        self, case_pattern: ast.MatchClass, value: Value, store: Store, frame: Frame
    ) -> bool | None:
        kind = self.interpreter.evaluate(case_pattern.cls, store, frame)
        verdicts = [type_tests.is_instance(self.interpreter, value, kind)]
        if verdicts[0] is False:
            return False
        fields = self._match_args(value)
        if not fields and len(case_pattern.patterns) == 1:
            verdicts.append(self.test(case_pattern.patterns[0], value, store, frame))
        else:
            named = [
                *zip(fields, case_pattern.patterns, strict=False),
                *zip(case_pattern.kwd_attrs, case_pattern.kwd_patterns, strict=True),
            ]
            for name, part in named:
                attribute = self.interpreter.read_attribute(value, name, case_pattern, store, frame)
                verdicts.append(self.test(part, attribute, store, frame))
        return self._all(verdicts)

    def _match_args(self, value: Value) -> tuple[str, ...]:
        if isinstance(value, Instance):
            return tuple(name for name, _ in value.cls.fields)
        return value.fields if isinstance(value, TupleValue) else ()
