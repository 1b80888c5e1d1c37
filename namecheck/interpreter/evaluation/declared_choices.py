"""Functions that declare a choice of shapes, of a parameter or of their result.

Which shape it is goes together with flags, for reasons that may be out of sight: a configuration,
an earlier check of the same flags. So on a path that took a flag, one alternative is not held
against the declarations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from namecheck.annotations.declarations import Declared, has_several_shapes
from namecheck.core.dataclasses import replace
from namecheck.core.names import Contradiction
from namecheck.interpreter.domain import equalities
from namecheck.interpreter.domain.cells import Truth
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import NO_TAGS, OF_SEVERAL_SHAPES, tag_of, with_tag
from namecheck.interpreter.domain.values import TensorValue, Union, Value
from namecheck.interpreter.evaluation import shape_tests
from namecheck.interpreter.evaluation.declared import Signature
from namecheck.interpreter.evaluation.frames import Frame


def is_undecided(
    signature: Signature, store: Store, frame: Frame, result: Value | None = None
) -> bool:
    """Whether flags that this run of a function took tell which of several shapes is meant.

    That is one of its parameters, or of its `result`: the result of another such function.
    """
    tags = result.tags if isinstance(result, TensorValue) else NO_TAGS
    is_tagged = tag_of(tags, OF_SEVERAL_SHAPES) is not None
    if frame.call is None or not (is_tagged or takes_several(signature)):
        return False
    facts = store.facts_since(frame.call.store)
    return any(isinstance(f, Truth) and not shape_tests.is_of_kind(f) for f, _ in facts)


def takes_several(signature: Signature) -> bool:
    """Whether a function declares a choice of shapes of a parameter."""
    return any(has_several_shapes(each.declared) for each in signature.parameters.values())


def result(value: Value, declared: Declared) -> Value:
    """The result of a function with this declaration, tagged if that is a choice of shapes."""
    return _tagged(value) if has_several_shapes(declared) else value


def _tagged(value: Value) -> Value:
    if isinstance(value, Union):
        return Union(tuple(replace(c, value=_tagged(c.value)) for c in value.alternatives))
    if isinstance(value, TensorValue):
        return replace(value, tags=with_tag(value.tags, OF_SEVERAL_SHAPES, True))
    return value


def fitting(union: Union, check: Callable[[Value], None]) -> Value:
    """The alternatives of a result that fit its declaration: the body is judged already."""
    choices = tuple(c for c in union.alternatives if fits(partial(check, c.value)))
    if len(choices) in (0, len(union.alternatives)):
        return union
    return choices[0].value if len(choices) == 1 else Union(choices)


def may_fit(check_in: Callable[[Store], object], store: Store) -> bool:
    """Whether a check finds no contradiction under the equations that are possible here."""
    supposed = equalities.supposed(store)
    return supposed is not None and fits(partial(check_in, supposed))


def fits(check: Callable[[], object]) -> bool:
    """Whether a check finds no contradiction."""
    try:
        check()
    except Contradiction:
        return False
    return True
