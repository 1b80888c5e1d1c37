"""Tags: facts that lints attach to tensors, one for each lint, under its own key.

There are two places for a tag. A tag in `Held.tags` belongs to the content of the tensor's cell:
the next write to the tensor removes it, and call summaries and copies include it. A tag in
`TensorValue.tags` belongs to one reference to the tensor: two variables that hold the same tensor
may have different tags. Tags fork and merge with the paths, like the values that have them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeAlias

Tags: TypeAlias = tuple[tuple[str, Hashable], ...]
"""The tags by key; tags of equal content are equal."""

NO_TAGS: Final[Tags] = ()
OF_MODULE: Final = "module"
"""The tag of a reference to a parameter or a buffer that the program makes; no lint has it."""
LEARNED: Final = "learned"
"""The tag of a reference to a parameter that the program makes; no lint has it."""
OF_SEVERAL_SHAPES: Final = "of several shapes"
"""The tag of the result of a function that declares several shapes of it; no lint has it."""

UNORDERED: Final = "unordered"
"""The tag of a content whose elements have no order: drawn, or all alike; no lint has it."""

OBSERVED_SCOPE: Final = "observed scope"
"""The tag of a content whose sizes were read: the scope of its axes; no lint has it."""

SCORES: Final = "scores"
"""The tag of a product that is one of scores, whatever an option adds to it (NC601)."""


def tag_of(tags: Tags, key: str) -> Hashable | None:
    """The tag under a key; None where there is none."""
    for own, tag in tags:
        if own == key:
            return tag
    return None


def with_tag(tags: Tags, key: str, tag: Hashable | None) -> Tags:
    """The tags with the one under a key replaced; removed if it is None."""
    others = tuple(entry for entry in tags if entry[0] != key)
    return others if tag is None else (*others, (key, tag))


def common_tags(tags: Tags, other_tags: Tags) -> Tags:
    """The tags that two paths have in common."""
    if tags == other_tags:
        return tags
    return tuple(entry for entry in tags if entry in other_tags)
