"""The algebra of dimension names: match, unify, look-up, alignment, and native torch's wording.

A name is one of four things:

- ``None``: known to be unnamed, the specification's wildcard, which matches everything;
- ``UNKNOWN``: might be anything, so no question about it has a definite answer;
- a label, a plain ``str``, given by ``names=`` or ``refine_names``;
- an ``Axis``, given by an annotation, with an occurrence that distinguishes the two of ``"t t"``.

Labels and axes follow different laws (docs/semantics.md, "Two kinds of name"): whether two
different axes may share a position depends on their sizes, see `namecheck.rules.broadcasting`.

Every question has three answers (`Answer`): a contradiction is reported only on NO.
Source of the laws: named_tensor.rst, "match semantics"; name_inference.rst,
"Unifies names from inputs".
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Final, TypeAlias, TypeVar

from namecheck.core.dataclasses import dataclass, replace

_Item = TypeVar("_Item", bound=Hashable)


class Unknown(enum.Enum):
    """The unknown value; never equal to ``None``, the wildcard."""

    UNKNOWN = "?"

    # It is part of every key of the inference cache.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __str__(self) -> str:
        return str(self.value)  # as messages show it


UNKNOWN: Final = Unknown.UNKNOWN


class Answer(enum.Enum):
    """The answer to a question about partly unknown values."""

    NO = 0
    MAYBE = 1
    YES = 2


SOME: Final = -1


@dataclass(frozen=True, slots=True)
class Axis:
    """A name that an annotation gives to a dimension.

    A merged dimension has its factors, the outermost first: ``heads*dim``. Their order is unknown
    where it is not `ordered`, as in ``zeros(h*w)``. In a tensor that has a name more than once, the
    occurrences are 1, 2, … (`with_occurrences`); 0 is the only one, and SOME is an unknown one of
    them. A `scoped` axis differs from axes of the same name in other scopes. Its `size` is the
    declared one: ``rgb=3``.
    """

    name: str
    occurrence: int = 0
    ordered: bool = True
    size: int | None = None

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of the merged axes, outermost first; for a single axis its own name."""
        return tuple(self.name.split("*"))


Label: TypeAlias = str
Name: TypeAlias = Label | Axis | Unknown | None


class Contradiction(Exception):
    """Names, sizes or arguments that cannot go together: what native torch would have raised.

    `code` is a code of `namecheck.core.findings`, `error` the type of the exception that torch
    raises, `message` its text (the native wording where native has one), `names` the labels that
    it is about, most telling first, `help` the way out in one sentence.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        error: str = "RuntimeError",
        names: Sequence[Name] = (),
        help: str | None = None,
    ) -> None:
        message = bare(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.error = error
        self.names = tuple(name for name in names if isinstance(name, str))
        self.help = None if help is None else bare(help)

    def alone(self) -> Contradiction:
        """A copy without the stack frames: a cached contradiction must not keep them alive.

        A frame keeps its local objects alive: one of torch's, while torch prints a tensor, keeps
        functorch switched off.
        """
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)


def scoped(name: str, scope: int) -> str:
    """The name of an axis in one scope: in one call, or in one instance.

    Whether it equals an axis of another scope is unknown. It is a Python identifier, as names are.
    """
    return f"{name}{_SCOPE}{scope}"


def of_number(path: str, scope: int) -> str:
    """The name of a number that is used as a size: ``self.n_head``, ``config.hidden_size``.

    Such an axis differs from no other one: two numbers may be equal. It is a Python identifier.
    """
    return scoped(_as_identifier(path) + _NUMBER, scope)


def of_unpacking(variable: str, scope: int, *, of_many: bool = False) -> str:
    """The name of an observed axis: of the dim whose size a variable is, in one reading of sizes.

    Axes of one scope are dims of one tensor, which has four dims at least if it is `of_many`. It is
    a Python identifier. Instead of a variable it may be the expression that reads the size:
    ``x.shape[0]``.
    """
    return scoped(_as_identifier(variable) + _OBSERVED + (_MANY if of_many else ""), scope)


def of_letter(letter: str, pattern_scope: int, scope: int) -> str:
    """The name of a dim that a letter stands for, in one call with a pattern.

    Two letters of a pattern have scopes of their own, and the scope of the pattern in common: they
    are two words for dims of one tensor (`are_siblings`), which may have one size.
    """
    return scoped(scoped(letter + _OBSERVED + _LETTER, pattern_scope), scope)


def are_siblings(name: str, other_name: str) -> bool:
    """Whether two observed axes were named at once: by one unpacking, or by one pattern."""
    return scopes(name)[:1] == scopes(other_name)[:1] and name != other_name


def _as_identifier(path: str) -> str:
    path = path.replace("['", _QUOTE).replace("']", _UNQUOTE)
    return path.replace(".", _DOT).replace("[", _BRACKET).replace("]", "")


def is_observed(name: str) -> bool:
    """Whether a name, or a factor of it, is that of an observed axis (`of_unpacking`)."""
    return _OBSERVED in name


def is_inline(name: str) -> bool:
    """Whether an observed axis has no variable, but the expression that reads its size."""
    return _BRACKET in name and is_observed(name)


def may_be_square(axis_names: Collection[str]) -> bool:
    """Whether dims of one tensor may be the sides of a square.

    So may those whose sizes no variable has, and `i` and `j`, the two sides of all pairs. The first
    dim of many is none of the sides: a batch of images is not as long as they are wide.
    """
    if all(is_observed(name) and bare(name) in OF_PAIRS for name in axis_names):
        return True
    if not all(map(is_inline, axis_names)):
        return False
    firsts = [name for name in axis_names if f"{_BRACKET}0{_OBSERVED}{_MANY}" in name]
    return len(firsts) in (0, len(axis_names))


def is_batch(name: str) -> bool:
    """Whether an observed axis is the batch, as the code calls it."""
    return is_observed(name) and bare(name).lower() in _BATCH


def is_letter(name: str) -> bool:
    """Whether a name, or a factor of it, is that of a letter of a pattern (`of_letter`)."""
    return _LETTER in name


def is_wordless(name: str) -> bool:
    """Whether the code has no word for an axis: the rest of a view."""
    return name.startswith("_" + _OBSERVED)


def is_number(name: str) -> bool:
    """Whether a name, or a factor of it, is that of a number (`of_number`)."""
    return _NUMBER in name


def is_undeclared(name: str) -> bool:
    """Whether only the code itself names an axis or a number, and no declaration does."""
    return is_observed(name) or is_number(name)


_NUMBER: Final = "ʹ"
_OBSERVED: Final = "ʺ"
_LETTER: Final = "ʻ"
_MANY: Final = "ʼ"
# They stand for a dot, a bracket and a key in the name of a path; letters to Python.
_DOT: Final = "ˑ"
_BRACKET: Final = "ː"
_QUOTE: Final = "ˀ"
_UNQUOTE: Final = "ˁ"
_SCOPE: Final = "·"
_SCOPES: Final = f"{_SCOPE}([0-9]+)"
# Letters for the two sides of all pairs of one sequence.
OF_PAIRS: Final = frozenset("ijk")
_BATCH: Final = frozenset({"b", "bs", "bsz", "batch", "batch_size", "batchsize"})
_SEVERAL: Final = "several"
# Between the words of a dim that is one of two.
_OR: Final = "_or_"


def scopes(text: str) -> tuple[int, ...]:
    """The scopes of the axes in a text."""
    return parted(text)[1] if _SCOPE in text else ()


@lru_cache(maxsize=4096)
def parted(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The pieces of a text before, between and after the scopes in it, and the scopes."""
    pieces = re.split(_SCOPES, text)
    return tuple(pieces[::2]), tuple(map(int, pieces[1::2]))


def rescoped(text: str, rescope: Callable[[int], int]) -> str:
    """A text with the axes in it in other scopes."""
    if _SCOPE not in text:
        return text
    (first, *others), numbers = parted(text)
    pairs = zip(numbers, others, strict=True)
    return first + "".join([f"{_SCOPE}{rescope(scope)}{piece}" for scope, piece in pairs])


def is_scoped(text: str, scope: int) -> bool:
    """Whether an axis name in a text belongs to a scope."""
    return str(scope) in re.findall(_SCOPES, text)


def is_foreign(name: Name) -> bool:
    """Whether an axis belongs to another scope, so that its size is unknown here."""
    return isinstance(name, Axis) and _SCOPE in name.name


def unscoped(name: str, scope: int) -> str:
    """The name of an axis without this scope, if it has it."""
    return name.removesuffix(f"{_SCOPE}{scope}")


def bare(text: str) -> str:
    """A text whose axes have the names that their author wrote, without scopes."""
    if _SCOPE not in text:
        return text
    plain = re.sub(f"[{_NUMBER}{_OBSERVED}{_LETTER}{_MANY}]*{_SCOPES}", "", text)
    plain = plain.replace(_QUOTE, "['").replace(_UNQUOTE, "']")
    return re.sub(f"{_BRACKET}(-?[0-9]+)", r"[\1]", plain).replace(_DOT, ".")


def word(name: Name) -> str | None:
    """The plain word of a label or an axis; None for any other name."""
    if isinstance(name, Axis):
        return bare(name.name)
    return name if isinstance(name, str) else None


def words(names: Sequence[Name]) -> list[str]:
    """The plain words of the names that have one."""
    return [one for one in map(word, names) if one is not None]


def match(name: Name, other_name: Name) -> Answer:
    """Whether two names can share one position (named_tensor.rst, "match semantics")."""
    if name is None or other_name is None:
        return Answer.YES
    if name is UNKNOWN or other_name is UNKNOWN:
        return Answer.MAYBE
    if isinstance(name, Axis) and isinstance(other_name, Axis):
        if name.name == other_name.name or _same_factors(name, other_name):
            return Answer.YES
        if _scope(name) != _scope(other_name) or _scope(name) == _SEVERAL:
            return Answer.MAYBE
        return Answer.MAYBE if _is_either(name, other_name) else Answer.NO
    if word(name) == word(other_name):
        return Answer.YES
    return Answer.NO if _is_unscoped(name) and _is_unscoped(other_name) else Answer.MAYBE


def _is_either(axis: Axis, other_axis: Axis) -> bool:
    """Whether the word of one says that it may be the other: `rows_or_columns` and `rows`."""
    word, other_word = bare(axis.name), bare(other_axis.name)
    return word in other_word.split(_OR) or other_word in word.split(_OR)


def _scope(axis: Axis) -> str:
    """The scope of an axis: "" for the code being read, a fixed word for several scopes."""
    if _is_unscoped(axis):
        return ""
    if is_number(axis.name):
        return _SEVERAL
    scopes = {" ".join(re.findall(_SCOPES, factor)) for factor in axis.factors}
    return scopes.pop() if len(scopes) == 1 else _SEVERAL


def _is_unscoped(name: Name) -> bool:
    return not is_foreign(name)


def _same_factors(name: Name, other_name: Name) -> bool:
    """Whether two merged axes have the same factors; one of them may be in any order."""
    if not isinstance(name, Axis) or not isinstance(other_name, Axis):
        return False
    return not (name.ordered and other_name.ordered) and sorted(name.factors) == sorted(
        other_name.factors
    )


def unify(name: Name, other_name: Name) -> Name:
    """The more specific of two matching names; of an unknown and a known one the known label.

    Defined only where `match` is not NO.
    """
    if name is None:
        return other_name
    if other_name is None:
        return name
    if name is UNKNOWN or other_name is UNKNOWN:
        return either(other_name if name is UNKNOWN else name)
    if isinstance(name, Axis) and isinstance(other_name, Axis):
        if match(name, other_name) is Answer.MAYBE:
            return min(name, other_name, key=_vagueness)
        return _unified_axes(name, other_name)
    return name if isinstance(name, Axis) else other_name


def _vagueness(axis: Axis) -> tuple[bool, bool, str]:
    return not _is_unscoped(axis), is_wordless(axis.name), axis.name


def either(name: Name) -> Name:
    """The name with an unknown occurrence."""
    return replace(name, occurrence=SOME) if isinstance(name, Axis) else name


def _unified_axes(axis: Axis, other_axis: Axis) -> Axis:
    """The meet of two forms of one axis: its occurrence, and the order of its factors."""
    ordered = axis if axis.ordered else other_axis
    occurrence = axis.occurrence or other_axis.occurrence
    return replace(ordered, occurrence=occurrence, size=axis.size or other_axis.size)


def join(name: Name, other_name: Name) -> Name:
    """The least upper bound of both names."""
    if name == other_name:
        return name
    if not isinstance(name, Axis) or not isinstance(other_name, Axis):
        return UNKNOWN
    if name.name == other_name.name and name.ordered and other_name.ordered:
        return replace(name, occurrence=SOME, size=name.size or other_name.size)
    if sorted(name.factors) == sorted(other_name.factors):
        return replace(unordered(name.factors), occurrence=SOME)
    return UNKNOWN


def unordered(factors: Sequence[str]) -> Axis:
    """The axis merged of these, in unknown order."""
    return Axis("*".join(sorted(factors)), ordered=len(factors) < 2)


def covers(general_name: Name, specific_name: Name) -> bool:
    """Whether `general_name` covers `specific_name`."""
    if general_name is UNKNOWN or general_name == specific_name:
        return True
    if not isinstance(general_name, Axis) or not isinstance(specific_name, Axis):
        return False
    same_occurrence = (
        general_name.occurrence <= 0 or general_name.occurrence == specific_name.occurrence
    )
    return (
        same_occurrence
        and match(general_name, specific_name) is Answer.YES
        and general_name.ordered <= specific_name.ordered
    )


def with_occurrences(names: Sequence[Name]) -> tuple[Name, ...]:
    """The names of one tensor, with occurrences for an axis that it has twice.

    They count from 1 on the left; a square that has occurrences keeps them when it is transposed.
    """
    axes = [name for name in names if isinstance(name, Axis)]
    words = [axis.name for axis in axes]
    doubtful = {axis.name for axis in axes if axis.occurrence == SOME}
    several = {*repeated(words)} - doubtful
    numbers = {word: _numbers(word, axes) for word in several}
    return tuple(
        replace(name, occurrence=next(numbers[name.name]))
        if isinstance(name, Axis) and not name.occurrence and name.name in numbers
        else name
        for name in names
    )


def _numbers(word: str, axes: Sequence[Axis]) -> Iterator[int]:
    """The occurrences for the dims of an axis that have none yet."""
    occurrences = {axis.occurrence for axis in axes if axis.name == word}
    return (number for number in count(1) if number not in occurrences)


_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*\Z"


def check_label(label: str) -> None:
    """Refuse a label that is no identifier (recorded: ``''``, ``'1a'``, ``'N C'``, ``'é'``)."""
    if not re.match(_IDENTIFIER, label):
        raise Contradiction(
            "NC105",
            "Invalid name: a valid identifier contains only digits, alphabetical characters, "
            f"and/or underscore and starts with a non-digit. got: '{label}'.",
            names=(label,),
            help="Name the dimension with letters, digits and underscores, as a Python variable.",
        )


def read_name(given_name: object) -> Name:
    """A name argument as torch reads it: ``'*'`` is None (recorded: zeros, names).

    Raises `Contradiction`: for a string that is no identifier, and (a TypeError) for other values.
    """
    if isinstance(given_name, str):
        if given_name == "*":
            return None
        check_label(given_name)
        return given_name
    if given_name is None or isinstance(given_name, (Axis, Unknown)):
        return given_name
    raise not_a_name(given_name)


def not_a_name(given_name: object) -> Contradiction:
    """The error of torch where a value stands for a name and is none."""
    message = f"expected None or string for Dimname but got {type(given_name).__name__}"
    return Contradiction("NC114", message, error="TypeError")


def nameless(help: str) -> Contradiction:
    """The error of torch where None is looked up as a name (recorded: cumsum, sum)."""
    message = "Please look up dimensions by name, got: name = None."
    return Contradiction("NC109", message, help=help)


def repeated(possibly_repeated: Sequence[_Item]) -> list[_Item]:
    """What stands more than once, each in the order of its first place."""
    if len(set(possibly_repeated)) == len(possibly_repeated):
        return []
    return [item for item, times in Counter(possibly_repeated).items() if times > 1]


def check_distinct(names: Sequence[Name]) -> None:
    """Refuse a label that a tensor has twice; an axis may repeat."""
    labels = [name for name in names if isinstance(name, str)]
    for label in repeated(labels):
        raise Contradiction(
            "NC104",
            f"Cannot construct a tensor with duplicate names. Got names: {show(names)}.",
            names=(label,),
            help=f"Give one of the dimensions '{label}' another name with `rename`.",
        )


def show_name(name: Name) -> str:
    """One name as torch prints it: ``'N'`` or ``None``; an unknown name as ``?``."""
    if name is None:
        return "None"
    return "?" if name is UNKNOWN else f"'{word(name)}'"


def show(dim_names: Iterable[Name]) -> str:
    """A list of names as torch prints it: ``['N', None]``."""
    return "[" + ", ".join(show_name(name) for name in dim_names) + "]"
