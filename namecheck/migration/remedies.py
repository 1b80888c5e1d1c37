"""What to change where a place is left: a migration can rewrite it then."""

from __future__ import annotations

import re
from typing import Final

from namecheck.migration.compilation import LeftPlace

_REFINE: Final = "add `{x} = {x}.refine_names(…)` with its names in a line above"
_REMEDIES: Final = (
    ("it is reached with several", "write one function for each, or the index instead of the name"),
    ("the analysis does not reach it", "give the files that call it, or their tests, as well"),
    ("the object that is made here", "give the files that call it, or their tests, as well"),
    ("its arguments are", "write the names into the call"),
    ("the name of the dim", "write the name into the call"),
    ("it is no plain call", "write it as a plain call of a method"),
    ("removing the names would remove", "make the call with side effects a statement of its own"),
    ("NC", "names contradict each other there: `namecheck check` shows which"),
    ("", _REFINE),
)
# The tensor whose names are to be known: that of `align_as` is its argument.
_TENSOR: Final = r".*\.align_as\((?P<other>\w+)\)$|(?P<own>\w+(?:\.\w+)*)\.\w+"


def remedy(left_place: LeftPlace) -> str:
    """What to change at a place that is left."""
    text = next(text for start, text in _REMEDIES if left_place.reason.startswith(start))
    tensor = re.match(_TENSOR, left_place.source)
    own = tensor and (tensor["own"] if tensor["other"] is None else tensor["other"])
    return text.format(x=own or "x")
