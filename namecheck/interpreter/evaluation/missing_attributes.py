"""Attributes that an object certainly lacks, as ``hasattr`` and ``getattr`` ask for them.

Only where a program is run from its first line to its last: elsewhere an object may be one of a
derived class, which nobody has seen.
"""

from __future__ import annotations

from typing import Final

from namecheck.interpreter.domain import class_lookup
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import ClassValue, External, Instance, Value
from namecheck.interpreter.evaluation.attributes import DICTS, FORGOTTEN
from namecheck.interpreter.evaluation.interpreter import Interpreter

_MODULE: Final = ("torch.nn.Module", "torch.nn.modules.module.Module")
# Base classes that give their instances no attribute without underscores.
_BARE: Final = frozenset({"abc.ABC", "builtins.object", "typing.Generic", "typing.Protocol"})
# The attributes of ``torch.nn.Module`` (torch 2.13) that are no methods with a model.
_OF_MODULES: Final = frozenset(
    {
        "T_destination", "_apply", "_backward_hooks", "_backward_pre_hooks", "_buffers",
        "_call_impl", "_compiled_call_impl", "_forward_hooks", "_forward_hooks_always_called",
        "_forward_hooks_with_kwargs", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
        "_get_backward_hooks", "_get_backward_pre_hooks", "_get_name", "_is_full_backward_hook",
        "_load_from_state_dict", "_load_state_dict_post_hooks", "_load_state_dict_pre_hooks",
        "_maybe_warn_non_full_backward_hook", "_modules", "_named_members",
        "_non_persistent_buffers_set", "_parameters", "_register_load_state_dict_pre_hook",
        "_register_state_dict_hook", "_replicate_for_data_parallel", "_save_to_state_dict",
        "_slow_forward", "_state_dict_hooks", "_state_dict_pre_hooks", "_version",
        "_wrapped_call_impl", "call_super_init", "dump_patches", "forward", "get_extra_state",
        "ipu", "mtia", "register_load_state_dict_pre_hook", "register_state_dict_post_hook",
        "set_extra_state", "set_submodule", "training",
    }
)  # fmt: skip


def lacks(interpreter: Interpreter, value: Value, name: str, store: Store) -> bool:
    """Whether an object has no attribute of a name: no class of it and no code gave it one."""
    if not interpreter.budget.is_program or not isinstance(value, Instance):
        return False
    if name.startswith("__") or name in DICTS or value.address in store.ledger.several:
        return False
    given = (FORGOTTEN, name, "__class__")
    if any(store.get((value.address, each)) is not None for each in given):
        return False
    cls = value.cls
    getters = ("__getattr__", "__getattribute__", name)
    if cls.style == "foreign" or any(class_lookup.attribute(cls, n, store) for n in getters):
        return False
    if interpreter.declarations.field(value, name, store) is not None:
        return False
    return all(_is_known(interpreter, base, value, name, store) for base in class_lookup.mro(cls))


def _is_known(
    interpreter: Interpreter, base: Value, value: Instance, name: str, store: Store
) -> bool:
    """Whether a base class is known not to give its instances an attribute."""
    if isinstance(base, ClassValue):
        return True
    if not isinstance(base, External):
        return False
    if base.path not in _MODULE:
        return base.path in _BARE
    modules = interpreter.torch_nn
    return name not in _OF_MODULES and modules.attribute(value, name, store) is None
