"""Generators: run when items are requested, interleaved with the code that uses the items."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.syntax import Located as Node
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.cells import CollectedItems, GeneratorItems
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Generator, Repeated, Value
from namecheck.interpreter.evaluation.frames import Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.part_protocols import Content, Each

# Variables of the loop that replaces a ``yield from``: no program has such names.
_ITEM: Final = "yield from: item"
_ITEMS: Final = "yield from: items"


class Generators:
    """Runs generators.

    A generator that was started but not run to its end has, in the store under its address, the
    items that it may still yield.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._loops: dict[ast.YieldFrom, ast.For] = {}

    def rest(self, generator: Generator, store: Store) -> Content | None:
        """The items that a generator may still yield; None where it was not started."""
        content: Content | None = store.get(GeneratorItems(generator.environment.number))
        return content

    def keep(self, generator: Generator, content: Content, store: Store) -> None:
        """Store the items that a generator may still yield."""
        store.set(GeneratorItems(generator.environment.number), content)

    def run(
        self,
        generator: Generator,
        on_item: Each,
        node: Node,
        store: Store,
        frame: Frame,
        *,
        guarded: bool = False,
    ) -> list[tuple[Store, Value]] | None:
        """Run a generator from its start; the paths that reach its end, and what they return.

        `guarded` says that it catches errors of the code that uses its items. None where the
        generator is not followed.
        """
        if (
            self.interpreter.too_deep(generator.function, frame)
            or not self.interpreter.budget.spend()
        ):
            return None
        self.keep(generator, (), store)
        inner = Frame(generator.environment, frame, node, None, generator.function.name)
        source = self.interpreter.source

        def take_turns(item: Value, layer: Store) -> list[Store]:
            for change in generator.changes:
                item = change(item, layer)
            exits = frame.exits
            caught = list(inner.guards) if guarded else []
            frame.guards += caught
            try:
                with self.interpreter.file.switched(source):
                    return on_item(item, layer)
            finally:
                del frame.guards[len(frame.guards) - len(caught) :]
                inner.escaped += frame.exits != exits

        inner.on_yield = take_turns
        ends = self.interpreter.run_body(generator.function, store.fork(), inner)
        self.interpreter.progress.errors.discard("GeneratorExit")
        return ends

    def collect(self, generator: Generator, node: Node, store: Store, frame: Frame) -> Content:
        """All items of a generator, run to its end at once."""
        key = CollectedItems(generator.environment.number)

        def each(item: Value, layer: Store) -> list[Store]:
            layer.set(key, _appended(layer.get(key, ()), item, layer))
            return [layer]

        moment = self.interpreter.moment()
        ends = self.run(generator, each, node, store, frame)
        if ends is None:
            self.abandon(generator, store)
            return Repeated(self.interpreter.fresh("item"))
        if not ends:
            raise PathEnds
        self.interpreter.leave_function(ends, generator.environment, store, moment)
        content: Content = store.get(key, ())
        return content

    def sample(
        self,
        generator: Generator,
        node: Node,
        store: Store,
        frame: Frame,
        *,
        asked: bool = True,
    ) -> Content:
        """The items of a generator that may be abandoned after any item.

        Findings are reported up to its first item, if the item is certainly `asked` for; the later
        code may or may not have run.
        """
        key = CollectedItems(generator.environment.number)
        positions_seen: list[list[Value]] = []
        findings, ledger = self.interpreter.findings, self.interpreter.context.ledger
        with findings.until_silenced(silent=not asked) as silence, ledger.logging() as log:

            def each(item: Value, layer: Store) -> list[Store]:
                silence()
                content: Content = layer.get(key, ())
                if not isinstance(content, Repeated):
                    positions_seen[len(content) :] = positions_seen[len(content) :] or [[]]
                    positions_seen[len(content)].append(item)
                layer.set(key, _appended(content, item, layer))
                return [layer]

            ends = self.run(generator, each, node, store, frame)
        store.absorb(merges.at_any_time(store, log).changes_since(store))
        if ends is None:
            self.abandon(generator, store)
            return Repeated(self.interpreter.fresh("item"))
        if asked and not ends and not positions_seen:
            raise PathEnds
        items = tuple(joins.either(choices, store) for choices in positions_seen)
        lengths = {_length(end.get(key, ())) for end, _ in ends}
        return items if lengths <= {len(items)} else Repeated(joins.either(items, store))

    def abandon(self, generator: Generator, store: Store) -> None:
        """Make unknown what a generator has done and what it will yield."""
        self.keep(generator, Repeated(self.interpreter.fresh("item")), store)

    def give_away(self, generator: Generator, store: Store, frame: Frame) -> None:
        """Pass a generator to unknown code, which may run it any number of steps."""
        if self.rest(generator, store) is None:
            self.sample(generator, generator.site, store, frame, asked=False)
        self.abandon(generator, store)

    def step(self, generator: Generator, node: Node, store: Store, frame: Frame) -> Value | None:
        """The next item; None where there is none."""
        content = self.rest(generator, store)
        if content is None:
            content = self.sample(generator, node, store, frame)
        if isinstance(content, Repeated):
            self.keep(generator, content, store)
            return joins.pick(content, self.interpreter.new_address(), store)
        self.keep(generator, content[1:], store)
        return content[0] if content else None

    def cleans_up(self, generator: Generator) -> bool:
        """Whether a generator that is closed early has clean-up code."""
        inner = nodes(generator.function.node)
        return any(isinstance(node, (ast.Try, ast.With, ast.AsyncWith)) for node in inner)

    def loop_of(self, yield_node: ast.YieldFrom) -> tuple[ast.For, str]:
        """The loop ``for x in items: yield x`` for ``yield from items``, and its items variable."""
        loop = self._loops.get(yield_node)
        if loop is None:
            target, item = ast.Name(_ITEM, ast.Store()), ast.Name(_ITEM, ast.Load())
            body: list[ast.stmt] = [ast.Expr(ast.Yield(item))]
            loop = ast.For(target, ast.Name(_ITEMS, ast.Load()), body, [])
            for part in ast.walk(loop):
                ast.copy_location(part, yield_node)
            self._loops[yield_node] = loop
        return loop, _ITEMS

    def changed(self, generator: Generator, change: Callable[[Value, Store], Value]) -> Generator:
        """A generator each of whose items is changed before it is yielded."""
        return replace(generator, changes=(*generator.changes, change))


def _appended(content: Content, item: Value, store: Store) -> Content:
    if isinstance(content, Repeated):
        return Repeated(joins.either((content.each, item), store))
    return (*content, item)


def _length(content: Content) -> int | None:
    return None if isinstance(content, Repeated) else len(content)
