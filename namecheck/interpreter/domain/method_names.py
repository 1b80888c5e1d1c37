"""The names of the methods of lists, sets and dicts."""

from __future__ import annotations

from typing import Final

_CHANGING_WORDS: Final = """
append add appendleft extend extendleft update insert pop popleft popitem remove discard clear
reverse sort setdefault rotate intersection_update difference_update symmetric_difference_update
"""
# The methods that change a list, a set or a dict.
CHANGING: Final = frozenset(_CHANGING_WORDS.split())
# All methods of lists, sets and dicts.
OF_CONTAINERS: Final = frozenset({*dir(list), *dir(dict), *dir(set), *CHANGING})
