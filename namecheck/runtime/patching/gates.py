"""Puts a compiled gate in front of a wrapper, where one was built and loaded.

A gate (`namecheck/runtime/gate/source/`) makes the calls that need no decision, and passes all
others to the wrapper; so each branch of it repeats one of `wrappers` or `wrapper_source`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

import torch

from namecheck.runtime.gate import loading
from namecheck.runtime.patching.sites import REFUSALS, Site
from namecheck.runtime.patching.wrapper_source import MISSING, Shape


class Style(IntEnum):
    """Which wrapper a gate repeats; the numbers are those of structure.c."""

    EXACT = 0
    GENERAL = 1
    NAMER = 2
    INDEXER = 3


def in_front(
    site: Site,
    wrapper: Callable[..., Any],
    style: Style,
    *,
    shape: Shape | None = None,
    swift: Callable[..., Any] | None = None,
    takes_names: bool = False,
) -> Callable[..., Any]:
    """The gate of a wrapper; the wrapper itself where no gate was built, or where layouts count.

    `shape` and `swift` are those of an exact wrapper; `swift` of a namer makes an alias by an
    Ellipsis. `takes_names` marks a factory.
    """
    gate_types = loading.present()
    if gate_types is None or site.reads_layouts:
        return wrapper
    gate_type = gate_types.binding if site.binds else gate_types.plain
    parameters = () if shape is None else (*shape.names, *shape.keywords)
    if len(parameters) > _MOST:
        return wrapper
    gate: Callable[..., Any] = gate_type(
        style=style,
        wrapper=wrapper,
        original=site.original,
        swift=swift or site.original,
        run=site.remembered,
        refused=_refusing(site),
        tensor=torch.Tensor,
        parameter=torch.nn.Parameter,
        missing=MISSING,
        memos=site.exact_memos,
        memo=site.general_memo,
        parameters=tuple(map(sys.intern, parameters)),
        kinds="" if shape is None else "".join(kind[0] for _, kind in shape.positional),
        strict=shape is not None and shape.strict,
        reflected=shape is not None and shape.reflected,
        bound=shape is not None and shape.bound,
        names_result=shape is None or shape.names_result,
        takes_names=takes_names,
    )
    return gate


_MOST: Final = 32  # parameters in all, as in structure.c


def _refusing(site: Site) -> Callable[..., Any]:
    """What a gate does with an error of torch: the same as the ``except`` clause of a wrapper."""

    def refused(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            raise error
        except REFUSALS:
            return site.handle_refusal(error, args, kwargs)
        finally:
            del error  # its traceback has this frame

    return refused
