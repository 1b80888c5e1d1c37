"""Sweeping: removes what a part of the analysis has made and nothing refers to any more."""

from __future__ import annotations

from namecheck.interpreter.domain.reachability import Stretch
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.evaluation.context import Moment
from namecheck.interpreter.evaluation.interpreter import Interpreter


class Sweeping:
    """Marks the beginning of parts of the analysis, and sweeps the paths through them."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def stretch(self) -> Stretch:
        """The part of the analysis that begins here."""
        context = self.interpreter.context
        return Stretch(range(context.ledger.new(), context.ledger.block.stop), context.numbering)

    def moment(self) -> Moment:
        """The present moment of the analysis."""
        definitions = self.interpreter.definitions
        return Moment(self.stretch(), len(definitions.functions), len(definitions.classes))

    def swept(self, store: Store, base: Store, moment: Moment) -> Store:
        """A path from `base` without the unreachable objects that were made since a moment."""
        cells = store.changes_since(base)
        roots = self.interpreter.definitions.since(moment)
        store.ledger.meter.spend(4 * len(cells))
        kept = moment.stretch.without_garbage(cells, roots)
        if kept is cells:
            return store
        clean = base.fork()
        clean.absorb(kept)
        return clean
