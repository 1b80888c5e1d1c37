"""Changes that code makes only where an option asks for them: ``if self.bias: x = self.bias(x)``.

What follows takes the result of unknown code as it takes the tensor that was passed. So the result
likely has the same dims, and scores are scores still. What was done to the tensor before, as the
softmax that made weights of it, the unknown code may undo.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from namecheck.core.dims import OPEN
from namecheck.core.tensors import Tensor
from namecheck.core.trees import is_name
from namecheck.interpreter.domain import joins, values
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import NO_TAGS, SCORES, tag_of, with_tag
from namecheck.interpreter.domain.values import Held, Opaque, TensorValue
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter


def settle(
    interpreter: Interpreter, if_node: ast.If, store_before: Store, ends: list[Store], frame: Frame
) -> None:
    """Give variables that a branch without an alternative has changed the dims they likely have."""
    for variable in _changed(if_node):
        with interpreter.findings.silenced(), interpreter.progress.unaffected():
            known = interpreter.evaluate(variable, store_before, frame)
        if not isinstance(known, TensorValue):
            continue
        content = joins.held(known, store_before)
        likely = content.tensor.likeliest
        if likely.open:
            continue
        for end in ends:
            with interpreter.findings.silenced(), interpreter.progress.unaffected():
                changed = interpreter.evaluate(variable, end, frame)
            if not isinstance(changed, Opaque) or changed.kind or changed.link is not None:
                continue
            if values.has_failed(changed):
                continue
            tags = with_tag(NO_TAGS, SCORES, tag_of(content.tags, SCORES))
            expected = Held(Tensor(OPEN, likely=likely), content.origins, tags)
            tensor_value = TensorValue(interpreter.new_address(), expected)
            interpreter.bind(variable, tensor_value, end, frame)


@lru_cache(maxsize=1024)
def _changed(if_node: ast.If) -> tuple[ast.Name, ...]:
    """The variables that the branch gives to a call which returns their new value."""
    if if_node.orelse:
        return ()
    return tuple(
        target
        for statement in if_node.body
        if isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(target := statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call)
        and any(is_name(argument, target.id) for argument in statement.value.args)
    )
