"""``match`` statements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.cells import ConstantOf
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
from namecheck.interpreter.evaluation import (
    comparisons,
    narrowing,
    remaining,
    shape_tests,
    type_tests,
)
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# Of how many cases the later ones are told: no value has as many candidates.
_MOST: Final = 32


def _is_of_type(class_pattern: ast.MatchClass) -> bool:
    """Whether a pattern accepts all values of its class: ``int()``, ``int(n)``."""
    named = [*class_pattern.patterns, *class_pattern.kwd_patterns]
    return all(isinstance(part, ast.MatchAs) and part.pattern is None for part in named)


class Patterns:
    """Decides which cases of a ``match`` are possible, and binds their captures."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def match(self, match_node: ast.Match, store: Store, frame: Frame) -> list[Store]:
        """The paths that leave a ``match`` at its end."""
        subject = self.interpreter.evaluate(match_node.subject, store, frame)
        levels: list[tuple[Store, list[Store]]] = []
        base, rest = store, [store]
        is_undecided = False
        for number, case in enumerate(match_node.cases):
            going: list[Store] = []
            going_on: list[Store] = []
            for path in rest:
                holds, fails = self._decide(case, subject, path, frame, learns=number < _MOST)
                going += holds
                going_on += fails
            base = rest[0] if len(rest) == 1 else base
            rest = narrowing.few(going_on, base)
            is_undecided = is_undecided or (bool(going) and bool(rest))
            with frame.choosing(is_undecided=is_undecided):
                levels.append((base, self.interpreter.execute(case.body, going, frame)))
            if not rest:
                break
        ends = [path.fork() for path in rest]
        differ = False
        # The paths of a case join with those of all later ones, as the branches of an `elif` do.
        for before, case_ends in reversed(levels):
            ends = [*case_ends, *ends]
            differ = differ or (len(ends) > 1 and merges.differ_in_names(before, ends))
            if len(ends) > 1 and not differ:
                ends = [merges.merged(before, ends)]
        return ends

    def _decide(
        self, case: ast.match_case, value: Value, store: Store, frame: Frame, *, learns: bool
    ) -> tuple[list[Store], list[Store]]:
        """The paths that enter a case, and those that go on to the next one."""
        layer = store.fork()
        answer = self.test(case.pattern, value, layer, frame)
        if answer is False:
            return [], [store]
        unfitting: list[Store] = []
        if answer is None:
            unfitting = self.unfit(case.pattern, value, store.fork(), frame) if learns else [store]
        if case.guard is None:
            return [layer], unfitting
        holds, fails = narrowing.decide(self.interpreter, case.guard, layer, frame)
        return holds, [*unfitting, *fails]

    def unfit(
        self, case_pattern: ast.pattern, value: Value, store: Store, frame: Frame
    ) -> list[Store]:
        """The paths on which a value does not fit a pattern that it may fit."""
        value = self._now(value, store)
        if isinstance(case_pattern, ast.MatchAs) and case_pattern.pattern is not None:
            return self.unfit(case_pattern.pattern, value, store, frame)
        if isinstance(case_pattern, ast.MatchOr):
            paths = [store]
            for option in case_pattern.patterns:
                paths = [end for path in paths for end in self.unfit(option, value, path, frame)]
            return narrowing.few(paths, store)
        if isinstance(case_pattern, ast.MatchSequence) and isinstance(value, TupleValue):
            if len(value.items) == len(case_pattern.patterns):
                return self._unfit_items(case_pattern.patterns, value.items, store, frame)
        elif isinstance(value, Opaque):
            self._learn(case_pattern, value, store, frame, fits=False)
        return [] if self.test(case_pattern, value, store.fork(), frame) is True else [store]

    def _unfit_items(
        self,
        patterns: Sequence[ast.pattern],
        element_values: Sequence[Value],
        store: Store,
        frame: Frame,
    ) -> list[Store]:
        """The paths on which one item, the first of them, does not fit its pattern."""
        paths: list[Store] = []
        layer = store
        for pattern, item in zip(patterns, element_values, strict=True):
            paths += self.unfit(pattern, item, layer.fork(), frame)
            layer = layer.fork()
            if self.test(pattern, item, layer, frame) is False:
                break
        return narrowing.few(paths, store)

    def _learn(
        self,
        case_pattern: ast.pattern,
        opaque: Opaque,
        store: Store,
        frame: Frame,
        *,
        fits: bool,
    ) -> None:
        """Write what follows from an unknown value fitting a pattern of one constant or type."""
        if isinstance(case_pattern, ast.MatchValue):
            expected = self.interpreter.evaluate(case_pattern.value, store, frame)
            narrowing.learn_equal(opaque.key, expected, store, truth=fits)
        elif isinstance(case_pattern, ast.MatchSingleton):
            if opaque.kind == "bool":
                narrowing.learn_truth(opaque.key, case_pattern.value is fits, store)
            else:
                expected = Const(case_pattern.value)
                narrowing.learn_equal(opaque.key, expected, store, truth=fits)
        elif isinstance(case_pattern, ast.MatchClass) and (fits or _is_of_type(case_pattern)):
            kind = self.interpreter.evaluate(case_pattern.cls, store, frame)
            remaining.learn_type(opaque.key, kind, store, truth=fits)

    def _now(self, value: Value, store: Store) -> Value:
        """The constant that an unknown value is, by the cases before this one."""
        if not isinstance(value, Opaque):
            return value
        if value.kind == "bool":
            truth = self.interpreter.truth(value, store)
            return value if truth is None else Const(truth)
        known: Value = store.fact(ConstantOf, value.key, value)
        return known

    def test(
        self, case_pattern: ast.pattern, value: Value, store: Store, frame: Frame
    ) -> bool | None:
        """Whether a value fits a pattern, None where that is unknown; captures are bound."""
        value = self._now(value, store)
        if isinstance(case_pattern, ast.MatchValue):
            expected = self.interpreter.evaluate(case_pattern.value, store, frame)
            answer = comparisons.equal(value, expected, store)
            if answer is None and isinstance(value, Opaque):
                self._learn(case_pattern, value, store, frame, fits=True)
            return answer
        if isinstance(case_pattern, ast.MatchSingleton):
            if not isinstance(value, Opaque):
                return value == Const(case_pattern.value)
            if comparisons.excluded(value, Const(case_pattern.value), store) is False:
                return False
            self._learn(case_pattern, value, store, frame, fits=True)
            return None
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
        if verdicts[0] is None and isinstance(value, Opaque):
            verdicts[0] = type_tests.is_candidate_instance(value, kind, store)
            self._learn(case_pattern, value, store, frame, fits=True)
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
