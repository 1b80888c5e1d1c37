"""Puts the parts of an interpreter together: the evaluation, and the models of libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from namecheck.core.names import Contradiction
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.meter import Meter
from namecheck.interpreter.domain.provenance import MadeOf
from namecheck.interpreter.domain.values import FunctionValue, Opaque, Value, has_failed, is_foreign
from namecheck.interpreter.evaluation.attributes import Attributes
from namecheck.interpreter.evaluation.calls import Calls
from namecheck.interpreter.evaluation.classes import Classes
from namecheck.interpreter.evaluation.context import Budget, Context, Definitions, Progress
from namecheck.interpreter.evaluation.declarations import Declarations
from namecheck.interpreter.evaluation.events import Listener, Listeners
from namecheck.interpreter.evaluation.expressions import Expressions
from namecheck.interpreter.evaluation.findings import CurrentFile, Findings, Reporter
from namecheck.interpreter.evaluation.following import Following
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.generators import Generators
from namecheck.interpreter.evaluation.havoc import Havoc
from namecheck.interpreter.evaluation.imports import Imports
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.items import Items
from namecheck.interpreter.evaluation.statements import Statements
from namecheck.interpreter.evaluation.sweeping import Sweeping
from namecheck.interpreter.evaluation.targets import Targets
from namecheck.interpreter.evaluation.with_statements import WithStatements
from namecheck.interpreter.models.libraries import Libraries
from namecheck.interpreter.models.methods import Methods
from namecheck.interpreter.models.torch.defaults import TorchDefaults
from namecheck.interpreter.models.torch.devices import TorchDevices
from namecheck.interpreter.models.torch.nn import TorchNN
from namecheck.interpreter.models.torch.operators import TorchOperators
from namecheck.interpreter.workspace.entry_points import EntryPoints

MakeImports: TypeAlias = Callable[[Interpreter], Imports]


class Assembly:
    """The interpreter of one file: it implements the protocol `Interpreter`.

    Each verb is bound once to the method of the part that implements it, so that a call through the
    protocol costs as much as a call of the part itself.
    """

    def __init__(
        self,
        source: Source,
        context: Context,
        make_imports: MakeImports,
        listeners: Iterable[Listener] = (),
        *,
        is_program: bool = False,
    ) -> None:
        self.context = context
        if context.recorder is not None:
            context.ledger.on_limit = self._reach
        context.ledger.meter = Meter(source.text, context.purse, is_program=is_program)
        self.findings = Findings()
        self.budget = Budget.of_program() if is_program else Budget()
        self.progress = Progress()
        self.definitions = Definitions()
        self.file = CurrentFile(context.files.sources.setdefault(source.tree, source))
        self.listeners = Listeners(listeners)

        self.fresh = context.ledger.fresh
        self.failed = context.ledger.failed
        self.new_address = context.ledger.new
        self.scope = context.files.scope

        self._assemble_models()
        self._assemble_reporter()
        self._assemble_evaluation(make_imports)

    def _reach(self, limit: str) -> None:
        """Record a limit of the analysis at the statement that is being run."""
        if self.context.recorder is not None:
            self.context.recorder.limit(limit, self.file.source, self.file.statement)

    @property
    def source(self) -> Source:
        """The current file."""
        return self.file.source

    def made_of(self, ingredients: Iterable[Value], reason: str, kind: str | None = None) -> Opaque:
        """A fresh opaque value; foreign or failed if one of these is."""
        made = self.fresh(reason, kind)
        sources = [value for value in ingredients if is_foreign(value) or has_failed(value)]
        return Opaque(MadeOf(made, tuple(sources)), kind) if sources else made

    def can_matter(self, function: FunctionValue) -> bool:
        """Whether a function can affect names."""
        files = self.context.files
        if self.budget.brief:
            return files.mentions_attributes(function.node)
        return files.can_matter(function.node, self.context.source_of(function.environment))

    def _are_apart(self, contradiction: Contradiction, frame: Frame) -> bool:
        declarations: Declarations = self.declarations
        return declarations.are_apart(contradiction, frame)

    def _assemble_models(self) -> None:
        self.torch_defaults = TorchDefaults(self)
        self.torch_devices = TorchDevices(self)
        self.torch = TorchOperators(self)
        self.torch_nn = TorchNN(self)
        self.methods = Methods(self)
        self.libraries = Libraries(self)

    def _assemble_reporter(self) -> None:
        reporter = Reporter(
            self.context,
            self.findings,
            self.progress,
            self.file,
            self.torch.brief,
            self._are_apart,
        )
        self.place = reporter.place
        self.report = reporter.report
        self.note = reporter.note
        self.fail = reporter.fail
        self.expects = reporter.expects
        self.give_up = reporter.give_up

    def _assemble_evaluation(self, make_imports: MakeImports) -> None:
        self.imports = make_imports(self)
        self.generators = Generators(self)
        self.declarations = Declarations(self)
        self.classes = Classes(self)
        self.with_statements = WithStatements(self)

        expressions = Expressions(self)
        self.evaluate = expressions.evaluate
        self.evaluate_whole = expressions.evaluate_whole
        self.truth = expressions.truth
        self.negate = expressions.negate
        self.spread = expressions.spread
        self.operate = expressions.operate
        self.owner_of = expressions.owner_of
        self.yielded = expressions.yielded
        self.iterate_any = expressions.iterate_any

        attributes = Attributes(self)
        self.read_attribute = attributes.read
        self.write_attribute = attributes.write
        self.set_attribute = attributes.set
        self.forget_attributes = attributes.forget
        self.attribute_truth = attributes.truth

        items = Items(self)
        self.iterate = items.iterate
        self.read_item = items.read
        self.write_item = items.write
        self.unasked_generator = items.unasked_generator

        targets = Targets(self)
        self.bind = targets.bind
        self.bind_name = targets.bind_name
        self.declare = targets.declare

        statements = Statements(self)
        self.execute = statements.execute
        self.define_function = statements.define_function
        self.augment = statements.augment
        self.protected = statements.protected
        self.unroll_limit = statements.unroll_limit

        sweeping = Sweeping(self)
        self.stretch = sweeping.stretch
        self.moment = sweeping.moment
        self.swept = sweeping.swept

        following = Following(self)
        self.too_deep = following.too_deep
        self.is_handed_on = following.is_handed_on
        self.havoc_variables = following.havoc_variables
        calls = Calls(self, following)
        self.call = calls.call
        self.call_values = calls.call_values
        self.call_operator = calls.call_operator
        self.call_unknown = calls.call_unknown
        self.call_function = calls.call_function
        self.evaluate_call = calls.evaluate_call
        self.leave_function = calls.leave_function
        self.run_body = calls.run_body

        havoc = Havoc(self)
        self.havoc_arguments = havoc.arguments
        self.havoc_containers = havoc.containers
        self.havoc_labels = havoc.labels
        entry_points = EntryPoints(self)
        self.call_from_elsewhere = entry_points.call
        self.call_as_stranger = entry_points.call_once
        self.value_of_type = entry_points.values.of
