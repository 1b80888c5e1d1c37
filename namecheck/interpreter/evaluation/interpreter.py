"""The protocol by which the parts of the evaluation reach each other, and the models of libraries.

Evaluating an expression may call a function, whose body runs statements, which evaluate
expressions: the parts need each other in a circle. None of them imports another for that; each is
given an `Interpreter`, which `workspace.assembly` puts together.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn, Protocol

from namecheck.core.faults import Exhausted
from namecheck.core.findings import Facts, Place
from namecheck.core.names import Contradiction
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.reachability import Stretch
from namecheck.interpreter.domain.scopes import ScopeInfo
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Environment,
    FunctionValue,
    Generator,
    Opaque,
    Operand,
    Repeated,
    Value,
)
from namecheck.interpreter.evaluation.context import (
    Budget,
    Context,
    Definitions,
    Moment,
    Progress,
)
from namecheck.interpreter.evaluation.events import Listeners
from namecheck.interpreter.evaluation.findings import CurrentFile, Findings
from namecheck.interpreter.evaluation.frames import UNKNOWN_ERROR, Call, Frame, Guard
from namecheck.interpreter.evaluation.model_protocols import (
    ContainerMethods,
    Libraries,
    TorchDefaults,
    TorchDevices,
    TorchNN,
    TorchOperators,
)
from namecheck.interpreter.evaluation.part_protocols import (
    Classes,
    Declarations,
    Generators,
    Imports,
    WithStatements,
)


class Interpreter(Protocol):
    """The interface passed to each part: the state of the analysis, and all other parts."""

    # The state of the analysis

    @property
    def context(self) -> Context:
        """The context of the analysis."""

    @property
    def findings(self) -> Findings:
        """The sink of findings."""

    @property
    def budget(self) -> Budget:
        """The budget for running functions."""

    @property
    def progress(self) -> Progress:
        """The counts of progress so far."""

    @property
    def definitions(self) -> Definitions:
        """The functions and classes that were defined so far."""

    @property
    def file(self) -> CurrentFile:
        """The file whose code is running."""

    @property
    def source(self) -> Source:
        """The same file, parsed."""

    @property
    def listeners(self) -> Listeners:
        """The listeners to the events of the analysis: lints."""

    # Parts with several verbs

    @property
    def declarations(self) -> Declarations:
        """Checks values against annotations, and makes values from annotations."""

    @property
    def generators(self) -> Generators:
        """Runs generators."""

    @property
    def imports(self) -> Imports:
        """Runs import statements."""

    @property
    def classes(self) -> Classes:
        """Makes classes and instances."""

    @property
    def with_statements(self) -> WithStatements:
        """Enters and leaves the contexts of ``with`` statements."""

    # Models of libraries

    @property
    def libraries(self) -> Libraries:
        """Functions, classes and decorators of libraries, by dotted name."""

    @property
    def methods(self) -> ContainerMethods:
        """Methods of strings, tuples, lists, sets and dicts."""

    @property
    def torch(self) -> TorchOperators:
        """Operators of the table."""

    @property
    def torch_nn(self) -> TorchNN:
        """Modules of ``torch.nn``."""

    @property
    def torch_devices(self) -> TorchDevices:
        """Devices, and the devices of modules."""

    @property
    def torch_defaults(self) -> TorchDefaults:
        """The default dtype and device."""

    # Values

    def fresh(self, reason: str, kind: str | None = None) -> Opaque:
        """An opaque value that equals no other."""

    def failed(self) -> Opaque:
        """The missing result of an operator that failed: nothing may be concluded from it."""

    def made_of(self, escaped: Iterable[Value], reason: str, kind: str | None = None) -> Opaque:
        """A fresh opaque value; foreign or failed if one of these is."""

    def new_address(self) -> int:
        """A new, unique address."""

    def scope(self, node: ast.AST) -> ScopeInfo:
        """The names that a scope binds."""

    # Findings

    def place(self, node: Node, message: str) -> Place:
        """A stretch of the current file, with a message."""

    def report(
        self,
        contradiction: Contradiction,
        node: Node,
        store: Store,
        frame: Frame,
        marks: tuple[Place, ...] = (),
        origins: tuple[Place, ...] = (),
        *,
        by_axes: bool = False,
        facts: Facts | None = None,
        is_observed: bool = False,
    ) -> None:
        """Add a finding at a node; where an error is expected the path ends instead."""

    def note(self, code: str, message: str, node: Node) -> None:
        """Add a note, once for each place and message."""

    def give_up(self, node: Node, cause: RecursionError | Exhausted) -> None:
        """Note that a function, or a statement at the top level, is not judged to its end."""

    def expects(self, error: str, frame: Frame) -> bool:
        """Whether the program expects an error of this type in a frame."""

    def fail(self, error: str = UNKNOWN_ERROR) -> NoReturn:
        """End a path with an error of this built-in type."""

    # Expressions

    def evaluate(self, node: Node, store: Store, frame: Frame) -> Value:
        """The value of an expression."""

    def evaluate_whole(self, expression: ast.expr, store: Store, frame: Frame) -> Value:
        """The value of an expression that is run as a whole: the sizes that it reads are read."""

    def truth(self, value: Value, store: Store) -> bool | None:
        """Whether a value is true; None where that is unknown."""

    def negate(self, value: Value, store: Store) -> Value:
        """``not value``."""

    def spread(
        self, store: Store, choices: Sequence[Value], apply: Callable[[Store, list[Value]], Value]
    ) -> Value:
        """Apply a function to each combination of alternatives that the path facts allow."""

    def operate(
        self, operator: str, node: Node, operands: list[Operand], store: Store, frame: Frame
    ) -> Value:
        """A Python operator, by the name of its node; on tensors it goes through the table."""

    def owner_of(self, name: str, environment: Environment) -> Environment | None:
        """The scope that a name belongs to, seen from an environment."""

    def yielded(self, yield_node: ast.Yield, store: Store, frame: Frame) -> list[Store]:
        """Yield an item: the paths on which the next item is requested."""

    def iterate(
        self, value: Value, node: Node, store: Store, frame: Frame, *, whole: bool = True
    ) -> tuple[Value, ...] | Repeated:
        """The items of a value; `whole` says that iteration certainly exhausts it."""

    def iterate_any(
        self, value: Value, node: Node, store: Store, frame: Frame, *, whole: bool = True
    ) -> tuple[Value, ...] | Repeated:
        """The items of a value that may be one of several."""

    def read_attribute(
        self, value: Value, name: str, node: Node, store: Store, frame: Frame, *, alone: bool = True
    ) -> Value:
        """``value.name``; the path ends where one of several alternatives has no such attribute."""

    def write_attribute(
        self, target: Value, name: str, value: Value, node: Node, store: Store, frame: Frame
    ) -> None:
        """``target.name = value``."""

    def set_attribute(self, target: Value, name: Value, value: Value, store: Store) -> None:
        """``object.__setattr__(target, name, value)``; an unknown name may be any attribute."""

    def forget_attributes(self, target: Value, store: Store, pattern: str | None = None) -> None:
        """Make the attributes that were set on a value unknown."""

    def read_item(
        self, value: Value, index: Value, node: Node, store: Store, frame: Frame
    ) -> Value:
        """``value[index]``."""

    def write_item(
        self, target: Value, index: Value, value: Value, node: Node, store: Store, frame: Frame
    ) -> None:
        """``target[index] = value``."""

    def unasked_generator(
        self, value: Value, node: Node, store: Store, frame: Frame
    ) -> Generator | None:
        """The generator behind a value's items, if it was not started yet."""

    def attribute_truth(self, value: Value, store: Store) -> bool | None:
        """The truth of a value that is no constant, container or tensor."""

    # Statements

    def execute(self, body: Sequence[ast.stmt], stores: list[Store], frame: Frame) -> list[Store]:
        """The paths that reach the end of a block; none where all leave it."""

    def bind(self, target_node: Node, value: Value, store: Store, frame: Frame) -> None:
        """Assign a value to a target."""

    def declare(self, assignment: ast.AnnAssign, store: Store, frame: Frame) -> None:
        """Note an annotation without a value: it declares what is assigned later."""

    def bind_name(self, name: str, value: Value, store: Store, environment: Environment) -> None:
        """Assign a value to a variable of the scope that it belongs to."""

    def define_function(
        self,
        definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        store: Store,
        frame: Frame,
    ) -> FunctionValue:
        """The function of a definition, its defaults evaluated here."""

    def augment(
        self, name: str, node: Node, operands: list[Operand], store: Store, frame: Frame
    ) -> Value:
        """``target op= value`` without binding the target."""

    def protected(
        self,
        run_block: Callable[[Store], list[Store]],
        new_guards: Sequence[Guard],
        store: Store,
        frame: Frame,
    ) -> tuple[list[Store], Store | None, set[str]]:
        """Run a block whose errors are handled."""

    def unroll_limit(self, frame: Frame) -> int:
        """How many items of a loop are followed one by one here."""

    # Calls

    def call(self, callee: Value, call: Call) -> Value:
        """Call any callable; an unknown one returns an unknown value."""

    def call_values(
        self,
        callee: Value,
        args: Sequence[Value],
        node: Node,
        store: Store,
        frame: Frame,
        named_arguments: Mapping[str, Value] | None = None,
    ) -> Value:
        """Call a value with evaluated arguments."""

    def call_operator(self, operator: str, positional: list[Value], call: Call) -> Value:
        """Call an operator of the table, with the nodes of its operands."""

    def call_unknown(self, callee: Value, name: str, call: Call, kind: str | None = None) -> Opaque:
        """Call unknown code; a repeated query (``is_available()``) has the same answer."""

    def call_function(self, function: FunctionValue, call: Call) -> Value:
        """The result of a function of the program."""

    def evaluate_call(self, call_node: ast.Call, store: Store, frame: Frame) -> Value:
        """Evaluate a call expression."""

    def leave_function(
        self,
        returns: list[tuple[Store, Value]],
        environment: Environment,
        store: Store,
        moment: Moment,
    ) -> None:
        """Write the changes of the paths through a function to the caller's store."""

    def stretch(self) -> Stretch:
        """The part of the analysis that begins here."""

    def moment(self) -> Moment:
        """The present moment of the analysis."""

    def swept(self, store: Store, base: Store, moment: Moment) -> Store:
        """A path from `base` without the unreachable objects that were made since a moment."""

    def run_body(
        self, function: FunctionValue, layer: Store, frame: Frame
    ) -> list[tuple[Store, Value]]:
        """Run the body of a function: the paths that leave it, and their return values."""

    def can_matter(self, function: FunctionValue) -> bool:
        """Whether a function can affect names."""

    def too_deep(self, function: FunctionValue, frame: Frame, *, is_short: bool = False) -> bool:
        """Whether calls are nested too deeply to follow another function."""

    def is_handed_on(self, frame: Frame) -> bool:
        """Whether unknown code called the functions on the stack, so that it calls no further."""

    # Unknown code

    def havoc_arguments(self, call: Call, name: str = "", *, stranger: bool = False) -> None:
        """Pass the arguments of a call to code that is known by name only; a stranger renames."""

    def havoc_variables(self, function: FunctionValue, store: Store) -> None:
        """Forget what a function may write to the variables around it, and to their containers."""

    def havoc_labels(self, escaped: Iterable[Value], store: Store) -> None:
        """Make the labels of these tensors unknown, and those of tensors in them."""

    def havoc_containers(self, escaped: Iterable[Value], store: Store) -> None:
        """Make these lists and dicts unknown, and those in them."""

    def call_from_elsewhere(self, function: FunctionValue, store: Store, frame: Frame) -> None:
        """Call a function with unknown arguments and with its defaults; a method for each class."""

    def call_as_stranger(
        self, function: FunctionValue, receivers: list[Value], store: Store, frame: Frame
    ) -> None:
        """Call a function with its receiver, if it has one, and unknown arguments."""

    def value_of_type(self, annotation: ast.expr, store: Store, frame: Frame) -> Value:
        """A value of the type in an annotation, of which no more is known."""
