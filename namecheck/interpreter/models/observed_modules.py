"""Modules that nobody sees, by what they are called: a norm or a dropout keeps the dims.

Which class a module is, is often a parameter of a constructor: ``self.norm1 = norm_layer(dim)``.
What is called a norm or a dropout has one input, and a result of the same shape. So has an
activation, unless it is gated: then it halves the features.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from namecheck.core.dims import ANY_DIM, OPEN, Dims, Size, observed
from namecheck.core.sizes import Expression
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import Held, TensorValue
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

# No `patch_drop`, `token_drop`: they drop dims of the data.
_KEEPING: Final = (
    r"(?x) (\w+_)? (layer_?|batch_?|group_?|rms_?)? (norm|ln) \d* (_\w{1,4})? s? | [nl]n_\w+ "
    r"| (pos_|attn_|attention_|proj_|ffn?_|mlp_|hidden_|resid_|emb\w*_)? drop(out|_?path)? \d* s?"
)

_ACTIVATION: Final = (
    r"(?x) (\w+_)? (act|activation|nonlin|non_?linearity|relu|gelu|silu) (_fn|_func|_layer)? \d* s?"
)


def kept(interpreter: Interpreter, call: Call) -> TensorValue | None:
    """The result of an unknown module that keeps the dims of its input; None for any other one."""
    word = _word(call.node)
    if word is None or len(call.args) != 1 or call.kwargs or call.arguments.open:
        return None
    is_activation = re.fullmatch(_ACTIVATION, word) is not None
    keeps = is_activation or re.fullmatch(_KEEPING, word) is not None
    if not keeps or not isinstance(call.args[0], TensorValue):
        return None
    content = joins.held(call.args[0], call.store)
    dims, likely = content.tensor.dims, content.tensor.likely
    if dims == OPEN and likely is None:
        return None
    if is_activation:
        dims, likely = _activated(dims), None if likely is None else _activated(likely)
    known = Tensor(dims, likely=likely)
    return TensorValue(interpreter.new_address(), Held(known, content.origins))


def _activated(dims: Dims) -> Dims:
    """The dims after an activation, which may halve the features: those of a layer's size."""
    return dims.mapped(lambda dim: ANY_DIM if _is_of_layer(dim.size) else dim)


def _is_of_layer(size: Size) -> bool:
    return isinstance(size, Expression) and not observed(size)


def _word(node: Node) -> str | None:
    """The word by which a module is called: that of ``self.norms[i](x)`` is ``norms``."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Subscript):
        function = function.value
    # A function `norm(x)` may well be the norm of a vector.
    return function.attr if isinstance(function, ast.Attribute) else None
