"""The operands of a call if sizes are equal that only an earlier path has found equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from namecheck.interpreter.domain import equalities
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import likelihood
from namecheck.interpreter.models.torch import conversion
from namecheck.interpreter.models.torch.operands import Inputs


def lowered(
    interpreter: Interpreter,
    args: Sequence[Value],
    keyword_values: Mapping[str, Value],
    store: Store,
    frame: Frame,
) -> Inputs:
    """The lowered arguments under all equations that are possible, without likely dims."""
    layer = equalities.supposed(store) or store
    follow = interpreter.torch_devices.with_module_device
    positional = [follow(arg, conversion.lower(arg, layer), layer, frame) for arg in args]
    keywords = {
        name: follow(value, conversion.lower(value, layer), layer, frame)
        for name, value in keyword_values.items()
    }
    return likelihood.certain(Inputs(positional, keywords))
