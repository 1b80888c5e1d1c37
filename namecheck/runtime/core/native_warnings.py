"""The warnings of native torch about names, at the expression of the user.

They have the texts of torch 2.12, which warns about experimental features once a process, and about
names of gradients each time.
"""

from __future__ import annotations

import warnings
from typing import Final

from namecheck.runtime.core import call_sites

EXPERIMENTAL: Final = (
    "Named tensors and all their associated APIs are an experimental feature and subject to "
    "change. Please do not use them for anything important until they are released as stable."
)
NAMED_GRADIENT: Final = (
    "Autograd was passed a named grad tensor with dims {}. Autograd does not yet support named "
    "tensor semantics, so all names will be ignored. In practice all computed gradients will "
    "still be correct according to regular tensor semantics."
)


def warn(text: str) -> None:
    """Issue a `UserWarning` at the line of the user's code that is running."""
    frame = call_sites.user_frame()
    if frame is None:
        warnings.warn(text, UserWarning, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__") or "<string>"  # without a name nothing is warned of
    file, line = frame.f_code.co_filename, frame.f_lineno
    warnings.warn_explicit(text, UserWarning, file, line, module, registry)
