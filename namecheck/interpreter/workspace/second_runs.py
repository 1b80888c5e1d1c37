"""Runs an entry point a second time, with the dims that its first run has told of its parameters.

A function that reads ``B, T, C = x.shape`` in its third line has such a tensor in its first two as
well, or it fails. So where asked for, with the dims that its docstring claims. What the values of
expressions are is recorded of the second run; findings, and what lints hear, are of the first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from namecheck.core import names as naming
from namecheck.core.dims import ANY_DIM, Dim, Dims, new_dim
from namecheck.core.faults import Exhausted
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins, opaque_tensors
from namecheck.interpreter.domain.addresses import ParameterTensor
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import FunctionValue, Held, TensorValue, Value
from namecheck.interpreter.evaluation.frames import Arguments, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.observations import Recorder, Trial
from namecheck.interpreter.workspace import told_dims

Run = Callable[[Arguments, Store], None]


def record(
    interpreter: Interpreter,
    recorder: Recorder,
    function: FunctionValue,
    arguments: Arguments,
    store: Store,
    run: Run,
) -> None:
    """Run an entry point, and once more if that, or its docstring, tells the dims of a parameter.

    What a docstring says is not followed where it contradicts the code. A function whose name, or
    that of its class, begins with an underscore is called in its own file: what its parameters are
    is known of these calls, if there are any.
    """
    try:
        with recorder.trial() as runs:
            _record(interpreter, recorder, function, arguments, store, run)
    finally:
        if _is_private(function):
            recorder.defer(runs)
        else:
            recorder.keep(runs)


def _is_private(function: FunctionValue) -> bool:
    """Whether the author says that a function, or its class, is for its own file alone."""
    outer = function.cls.name if function.cls is not None else ""
    is_helper = function.name.startswith("_") and not function.name.endswith("__")
    return is_helper or outer.startswith("_")


def _record(
    interpreter: Interpreter,
    recorder: Recorder,
    function: FunctionValue,
    arguments: Arguments,
    store: Store,
    run: Run,
) -> None:
    left = interpreter.budget.left
    end_store = store.fork()
    with recorder.trial() as first, _keeping_if_ended(recorder, first):
        run(arguments, end_store)
    if first.has_findings:
        recorder.keep(first)
        return
    told = _told(interpreter, function, arguments, store, end_store)
    known = arguments if told is None else told
    claimed = _claimed(interpreter, function, known, store)

    def again(informed: Arguments) -> Trial:
        interpreter.budget.left = max(left, interpreter.budget.left)
        with (
            interpreter.findings.silenced(),
            interpreter.listeners.muted(),
            recorder.trial() as trial,
            _keeping_if_ended(recorder, first),
        ):
            run(informed, store.fork())
        return trial

    if claimed is not known:
        with contextlib.suppress(PathEnds):
            trial = again(claimed)
            if not trial.contradicted:
                recorder.keep(trial)
                recorder.keep(first, beside=trial)
                return
    recorder.keep(first if told is None else again(told))


def _claimed(
    interpreter: Interpreter, function: FunctionValue, arguments: Arguments, store: Store
) -> Arguments:
    """The arguments with the dims that a docstring claims, where that is asked for."""
    if not interpreter.context.evidence.is_claimed:
        return arguments
    from namecheck.interpreter.workspace import claimed_dims  # only where asked for

    return claimed_dims.informed(interpreter, function, arguments, store)


@contextmanager
def _keeping_if_ended(recorder: Recorder, trial: Trial) -> Iterator[None]:
    """Keep the records of a trial if the block ends in an error."""
    try:
        yield
    except (PathEnds, Exhausted, RecursionError):
        recorder.keep(trial)
        raise


def _told(
    interpreter: Interpreter,
    function: FunctionValue,
    arguments: Arguments,
    start_store: Store,
    end_store: Store,
) -> Arguments | None:
    """The arguments with the dims that a run has told of them; None where it has told nothing."""
    end_dims = told_dims.told(function, arguments, end_store)
    if not end_dims:
        return None

    def informed(word: str, value: Value) -> Value:
        return _informed(interpreter, word, value, start_store, end_dims.get(word))

    changed = told_dims.changed(function, arguments, informed)
    is_same = changed.args == arguments.args and changed.kwargs == arguments.kwargs
    return None if is_same else changed


def _informed(
    interpreter: Interpreter, word: str, value: Value, store: Store, dims: Dims | None
) -> Value:
    """A parameter as the tensor that it was at the end of a run, if its rank was not known."""
    start = opaque_tensors.known_tensor(value, store)
    if dims is None or (start is not None and not joins.held(start, store).tensor.dims.open):
        return value
    number = interpreter.new_address()
    named = [_sized(dim, f"{word}.shape[{index}]", number) for index, dim in enumerate(dims.prefix)]
    address = ParameterTensor(interpreter.new_address())
    return TensorValue(address, Held(Tensor(Dims(tuple(named)))))


def _sized(dim: Dim, path: str, number: int) -> Dim:
    """A dim of which nothing is known, with the expression that reads its size as its size."""
    if dim != ANY_DIM:
        return dim
    return new_dim(symbol(naming.of_number(path, number)))
