"""Compares the lines of two versions of a file, at a cost that grows with their number.

`difflib` compares each line with all equal ones, again for each change: a file of thousands of
equal lines takes it minutes.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final, TypeAlias, TypeVar

Line = TypeVar("Line", bound=Hashable)
Pair: TypeAlias = tuple[int, int]
# As many pairs of lines as `difflib` compares at once: blocks of 300 lines on both sides.
_MOST_PAIRS: Final = 90_000


def length_in_common(old_text: str, new_text: str) -> int:
    """The length of the common prefix of two lines."""
    pairs = zip(old_text, new_text, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class LineMatcher(difflib.SequenceMatcher[Line]):
    """A `SequenceMatcher` that matches lines in parts, between lines that either side has once.

    A part without such a line is left to `difflib`; a large one is wholly different but for its
    ends.
    """

    def __init__(self, old_lines: Sequence[Line], new_lines: Sequence[Line]) -> None:
        super().__init__(None, old_lines, new_lines, autojunk=False)
        self._old: Sequence[Line] = old_lines
        self._new: Sequence[Line] = new_lines

    def get_matching_blocks(self) -> list[difflib.Match]:
        """The equal stretches in order; the last one is empty, at the ends of both sides."""
        blocks: list[difflib.Match] = []
        for one, other, size in self._stretches():
            if blocks and blocks[-1].a + blocks[-1].size == one:
                last = blocks[-1]
                if last.b + last.size == other:
                    blocks[-1] = difflib.Match(last.a, last.b, last.size + size)
                    continue
            blocks.append(difflib.Match(one, other, size))
        return [*blocks, difflib.Match(len(self._old), len(self._new), 0)]

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        """Equal stretches in order, of which neighbours may touch."""
        parts = [(0, len(self._old), 0, len(self._new))]
        later: list[tuple[int, int, int]] = []
        while parts:
            begin, end, other_begin, other_end = parts.pop()
            if end < 0:  # the end of a part, whose inner parts are done
                yield later.pop()
                continue
            front = self._equal_ahead(begin, end, other_begin, other_end)
            if front:
                yield begin, other_begin, front
                begin, other_begin = begin + front, other_begin + front
            back = self._equal_behind(begin, end, other_begin, other_end)
            end, other_end = end - back, other_end - back
            if back:
                later.append((end, other_end, back))
                parts.append((0, -1, 0, 0))
            if begin == end or other_begin == other_end:
                continue
            anchors: list[Pair] = self._anchors(begin, end, other_begin, other_end)
            if anchors:
                marks = [(begin, other_begin), *anchors, (end, other_end)]
                inner = [
                    (one, next_one, other, next_other)
                    for (one, other), (next_one, next_other) in pairwise(marks)
                ]
                parts += inner[::-1]
            elif (end - begin) * (other_end - other_begin) <= _MOST_PAIRS:
                small = difflib.SequenceMatcher(
                    None, self._old[begin:end], self._new[other_begin:other_end], autojunk=False
                )
                for match in small.get_matching_blocks()[:-1]:
                    yield begin + match.a, other_begin + match.b, match.size

    def _equal_ahead(self, begin: int, end: int, other_begin: int, other_end: int) -> int:
        pairs = zip(range(begin, end), range(other_begin, other_end), strict=False)
        return sum(1 for _ in takewhile(self._are_equal, pairs))

    def _equal_behind(self, begin: int, end: int, other_begin: int, other_end: int) -> int:
        backwards = range(end - 1, begin - 1, -1), range(other_end - 1, other_begin - 1, -1)
        return sum(1 for _ in takewhile(self._are_equal, zip(*backwards, strict=False)))

    def _are_equal(self, line_places: Pair) -> bool:
        return self._old[line_places[0]] == self._new[line_places[1]]

    def _anchors(self, begin: int, end: int, other_begin: int, other_end: int) -> list[Pair]:
        """The most lines that both sides have once, in the same order on both."""
        there = _once(self._new, other_begin, other_end)
        pairs = [
            (place, there[line])
            for line, place in _once(self._old, begin, end).items()
            if line in there
        ]
        return _longest_rise(pairs)


def _once(stretch: Sequence[Line], begin: int, end: int) -> dict[Line, int]:
    """The place of each line that a stretch has once, in order."""
    counts = Counter(stretch[begin:end])
    return {stretch[place]: place for place in range(begin, end) if counts[stretch[place]] == 1}


def _longest_rise(pairs: Sequence[Pair]) -> list[Pair]:
    """A longest selection of pairs, in order of the first places, whose second ones rise."""
    lowest_ends: list[int] = []  # of the rises of each length
    last_pairs: list[int] = []  # of these rises
    preceding: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(lowest_ends, place)
        preceding.append(last_pairs[length - 1] if length else -1)
        lowest_ends[length : length + 1] = [place]
        last_pairs[length : length + 1] = [index]
    rise: list[Pair] = []
    index = last_pairs[-1] if last_pairs else -1
    while index >= 0:
        rise.append(pairs[index])
        index = preceding[index]
    return rise[::-1]
