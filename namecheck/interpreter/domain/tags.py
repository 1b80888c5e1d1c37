"""What lints keep of a tensor while it goes from call to call: each one tag, under its own key.

There are two places for a tag. One in `Held.tags` is of what the tensor's cell holds: with the
next write to the tensor it is gone, and a call summary and a copy have it too. One in
`TensorValue.tags` is of one reference to the tensor: two variables that hold the same tensor may
have different ones. The tags fork and merge with the paths, as the values do that have them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeAlias

Tags: TypeAlias = tuple[tuple[str, Hashable], ...]
"""The tags by key; tags of equal content are equal."""

NO_TAGS: Final[Tags] = ()


def tag_of(tags: Tags, key: str) -> Hashable | None:
    """The tag under a key; None where there is none."""
    for own, tag in tags:
        if own == key:
            return tag
    return None


def with_tag(tags: Tags, key: str, tag: Hashable | None) -> Tags:
    """The tags with another one under a key; with none there if it is None."""
    others = tuple(entry for entry in tags if entry[0] != key)
    return others if tag is None else (*others, (key, tag))


def common_tags(tags: Tags, other_tags: Tags) -> Tags:
    """The tags that are the same on both of two paths."""
    if tags == other_tags:
        return tags
    return tuple(entry for entry in tags if entry in other_tags)
