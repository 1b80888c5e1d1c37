"""What becomes of the calls and attributes of named tensors where no tensor has names.

Which arguments are names is read from the signatures of the table.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from namecheck import operators
from namecheck.core import names as naming
from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN, Answer, Label
from namecheck.core.syntax import Source
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.workspace.analysis import Application
from namecheck.migration.survey import Seen
from namecheck.operators import Operator, signatures
from namecheck.operators.signatures import Parameter
from namecheck.rules.naming import is_ellipsis

Rows = Mapping[str, Operator] | None

# An argument of a call as the analysis has it: by its place (0 may be the receiver), or by keyword.
Key = int | str


# In place of an argument: of pairs of names and sizes, or of a dict of them, the sizes are left.
SIZES: Final = "sizes"
VALUES: Final = "values"


# In place of a name that is not always the same: of where it stands in the literal names.
PLACE: Final = ".index(named)"


# In place of methods that are called on: what is another tensor of the same elements.
ALIAS: Final = "[...]"


class Unsettled(Exception):
    """What a place becomes is not the same, or not known, each time; the message tells why."""


@dataclass(frozen=True)
class Becomes:
    """What becomes of a call or an attribute.

    It is replaced by `text`, or by its receiver followed by `suffix` (with `text` that is `beside`
    the receiver is still evaluated); or it keeps its form, and its `arguments`, as they are counted
    in the source, are replaced (by SIZES, VALUES: the sizes are left; by what ends with PLACE: with
    themselves in it), or removed where there is no text.
    `dims` are those of the result where it had names that go.
    """

    text: str | None = None
    suffix: str | None = None
    arguments: Mapping[Key, str | None] = field(default_factory=dict)
    dims: Dims | None = None
    beside: bool = False


def becomes(node: ast.expr, seen: Seen, source: Source, rows: Rows) -> Becomes | None:
    """What becomes of a place; None where nothing needs to. Raises `Unsettled`."""
    decisive = seen.decisive
    if not decisive.each:
        return None
    plan = _Plan(node, source, rows)
    counted = list(decisive.each)
    each = [plan.of(application) for application in counted]
    if all(one is None for one in each):
        return None
    if decisive.otherwise and not all(one.early for one in decisive.each):
        raise Unsettled("what this is called on is not known each time")
    for application in seen.further:
        try:
            options = plan.of(application)
        except Unsettled:
            continue
        if options is not None or not _has_unknown(application):
            each.append(options)
            counted.append(application)
    agreed = _agreed([one or _Options({}) for one in each], counted, plan)
    if agreed is None:
        raise Unsettled(f"it is reached with several {_differences(counted)}")
    return agreed


@dataclass(frozen=True)
class _Options:
    """What may stand for each argument (nothing: it goes), best first; or the whole result."""

    arguments: Mapping[Key, tuple[str | None, ...]]
    text: str | None = None
    suffix: str | None = None
    dims: Dims | None = None


def _agreed(
    each: Sequence[_Options], counted: Sequence[Application], plan: _Plan
) -> Becomes | None:
    """What all times agree on; None where they do not."""
    whole = {(one.text, one.suffix) for one in each}
    if len(whole) > 1:
        return None
    [(text, suffix)] = whole
    arguments: dict[Key, str | None] = {}
    for key in dict.fromkeys(key for one in each for key in one.arguments):
        lists = [one.arguments.get(key, ()) for one in each]
        common = [option for option in lists[0] if all(option in other for other in lists)]
        if not common:
            common = _looked_up(key, counted)
        if not common:
            return None
        arguments[plan.place(key)] = common[0]
    dims = [one.dims for one in each]
    same = dims[0] if all(_named_alike(one, dims[0]) for one in dims) else None
    return Becomes(text, suffix, arguments, same)


def _looked_up(key: Key, each: Sequence[Application]) -> list[str | None]:
    """The place of a name in the layout, if all times have one layout, and a name of it."""
    layouts = {_reference(one) for one in each}
    told = [dict([*enumerate(one.given), *one.keywords]).get(key) for one in each]
    [dims, *others] = {dims.names if dims.complete else () for dims in layouts}
    words = [naming.word(name) for name in dims]
    known = all(isinstance(name, str) and words.count(name) == 1 for name in told)
    begun = any(one.begun is not None for one in each)
    return [] if others or begun or not known else [f"{tuple(words)!r}{PLACE}"]


def _differences(each: Sequence[Application]) -> str:
    """How the times differ: in the names that are told, or in the dims of the tensor."""
    told = dict.fromkeys(", ".join(map(repr, _texts(one))) for one in each)
    if len(told) > 1:
        return f"names: {'; '.join(filter(None, told))}"
    layouts = dict.fromkeys(_reference(one).sizeless().brief() for one in each)
    return f"layouts: {'; '.join(layouts)}"


def _texts(application: Application) -> Iterator[str]:
    """The texts among the arguments of a call."""
    values = [*application.given, *(value for _, value in application.keywords)]
    for value in values:
        if isinstance(value, (tuple, list)):
            values += value
        elif isinstance(value, str):
            yield value


def _named_alike(left: Dims | None, right: Dims | None) -> bool:
    return left is not None and right is not None and left.names == right.names


class _Plan:
    """One call or attribute, and what its applications ask for."""

    def __init__(self, node: ast.expr, source: Source, rows: Rows) -> None:
        self._node = node
        self._source = source
        self._rows = rows
        self._offset = 0

    def of(self, application: Application) -> _Options | None:
        """What one application asks for; None for nothing."""
        key = operators.key_of(application.operator)
        special = _SPECIAL.get(key)
        if special is None and not (self._speaks(application) or self._may_speak(application)):
            return None
        if application.contradiction is not None:
            contradiction = application.contradiction
            raise Unsettled(f"{contradiction.code}: {contradiction.message.splitlines()[0]}")
        if special is not None:
            return special(self, application)
        options = self._arguments(application)
        # What was given where a layer was made is rewritten there.
        beforehand = application.begun is not None and not options.arguments
        return None if beforehand else options

    def place(self, key: Key) -> Key:
        """An argument as it is counted in the source."""
        return key - self._offset if isinstance(key, int) else key

    def _speaks(self, application: Application) -> bool:
        """Whether a dim is told by name, or new names are given."""
        return _speaks_of_names(application) and any(
            key in _NEW_NAMES or (_has_text(value) and (parameter is None or _is_dims(parameter)))
            for key, value, parameter in self._given(application)
        )

    def _may_speak(self, application: Application) -> bool:
        """Whether a dim of a tensor that has names may be told by name, for all that is known."""
        if not _has_unknown(application) or _first_dims(application) is None:
            return False
        dims = any(
            value is UNKNOWN and parameter is not None and _is_dims(parameter)
            for _, value, parameter in self._given(application)
        )
        return dims and _reference(application).named() is Answer.YES

    # Calls that go

    def dropped(self, application: Application) -> _Options:
        """``refine_names``, ``rename``: the tensor itself."""
        self._method(application)
        return _Options({}, suffix="", dims=_dims(application.result))

    def literal(self, application: Application) -> _Options:
        """``names``, ``has_names()``: what they give."""
        value = application.result
        if isinstance(value, bool):
            return _Options({}, text=repr(value))
        if isinstance(value, tuple) and all(isinstance(name, Label | None) for name in value):
            return _Options({}, text=repr(value))
        raise Unsettled("the names are not known")

    def aligned(self, application: Application) -> _Options:
        """``align_to``, ``align_as``: a permutation, and new dims."""
        self._method(application)
        old, *rest = application.given
        if operators.key_of(application.operator) == "align_as":
            other = rest[0] if rest else dict(application.keywords).get("other")
            wanted: list[Any] = list(_complete(_dims(other)).names)
        else:
            wanted = rest
        return _Options({}, suffix=_alignment(_dims(old), wanted))

    def _method(self, application: Application) -> None:
        node = self._node
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            raise Unsettled("it is no plain call of a method")
        if not any(isinstance(arg, ast.Starred) for arg in node.args):
            self._take(application)
            if self._offset != 1:
                raise Unsettled("it is no plain call of a method")

    def _take(self, application: Application) -> None:
        """How arguments are counted in the source."""
        node = self._node
        if not isinstance(node, ast.Call):
            raise Unsettled("it is no plain call")
        words = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
        method = isinstance(node.func, ast.Attribute)
        begun, starred = application.begun, _first_star(node) < len(node.args)
        known, possible = {name for name, _ in application.keywords}, (0, 1) if method else (0,)
        if begun is not None and application.early:
            # What a partial function is of is its first argument.
            possible = (0 if application.operator.startswith("nn.") else -1,)
            known, self._offset = {*begun.words}, begun.args - len(node.args)
        elif not starred:
            self._offset = len(application.given) - len(node.args)
            possible = possible if begun is None else (begun.args,)
        else:
            self._offset = int(method and application.operator.startswith("Tensor."))
        if self._offset not in possible or not known.issuperset(words) or (starred and begun):
            raise Unsettled("its arguments are not all written there")

    def _is_written(self, key: Key, application: Application) -> bool:
        """Whether an argument is given in this call, and is not what its method is called on."""
        receiver = isinstance(key, int) and key < self._offset
        return _is_early(key, application) == application.early and not receiver

    # Arguments

    def flattened(self, application: Application) -> _Options | None:
        """``flatten``: a list of names becomes the first and the last of them."""
        given = list(self._given(application))
        names_it = any(p is not None and p.name in _NEW_NAMES for _, _, p in given)
        if not names_it and not _speaks_of_names(application):
            return None
        options = self._arguments(application)
        arguments = dict(options.arguments)
        for key, value, parameter in given:
            if parameter is not None and parameter.name == "dims":
                pairs = [_position(word, _reference(application)) for word in (value[0], value[-1])]
                word = isinstance(key, str)
                arguments[key] = tuple(_range(pairs, word))
        return _Options(arguments, dims=options.dims)

    def unflattened(self, application: Application) -> _Options | None:
        """``unflatten``: of sizes with names the sizes are left."""
        options = self._arguments(application) if _speaks_of_names(application) else _Options({})
        assert isinstance(self._node, ast.Call)
        arguments = dict(options.arguments)
        for key, value, parameter in self._given(application):
            sizes = parameter is not None and "sizes" in (parameter.name, parameter.role)
            if not sizes or not self._is_written(key, application):
                continue
            if isinstance(value, Mapping) or _has_pairs(value):
                self._take(application)
                arguments[key] = (VALUES if isinstance(value, Mapping) else SIZES,)
        return _Options(arguments, dims=options.dims) if arguments else None

    def _given(self, application: Application) -> Iterator[tuple[Key, Any, Parameter | None]]:
        given, words = application.given, dict(application.keywords)
        by_place, by_keyword = operators.parameters(application.operator, given, words, self._rows)
        row, begun = operators.row_of(application.operator, self._rows), application.begun
        if begun is not None and row is not None and row.ctor:
            made = map(_of_layer, signatures.parse(row.ctor))
            before, named = signatures.places(tuple(made), begun.args, begun.words)
            by_place[: begun.args] = before
            by_keyword |= named
        for place, (value, parameter) in enumerate(zip(given, by_place, strict=True)):
            yield place, value, parameter
        for word, value in words.items():
            yield word, value, by_keyword.get(word)

    def _reduces(self, application: Application) -> bool:
        """Whether it makes no difference in which order several dims are told."""
        row = operators.row_of(application.operator, self._rows)
        return row is not None and any(
            parameter.name == "keepdim" for signature in row.signatures for parameter in signature
        )

    def _arguments(self, application: Application) -> _Options:
        self._take(application)
        arguments: dict[Key, tuple[str | None, ...]] = {}
        dims = None
        for key, value, parameter in self._given(application):
            if not self._is_written(key, application):
                continue
            if parameter is None:
                if _tells_name(value, application):
                    raise Unsettled("its arguments are not all written there")
                continue
            if parameter.name in _NEW_NAMES:
                if "tensor" not in parameter.kinds:
                    arguments[key] = (None,)
                    dims = _dims(application.result)
            elif _is_dims(parameter) and value is not None:
                arguments[key] = _indices(value, application, unordered=self._reduces(application))
        node = self._node
        assert isinstance(node, ast.Call)
        written: set[Key | None] = {keyword.arg for keyword in node.keywords}
        written |= {place + self._offset for place in range(_first_star(node))}
        if not written.issuperset(arguments):
            raise Unsettled("its arguments are not all written there")
        return _Options(arguments, dims=dims)


_NEW_NAMES: Final = frozenset({"names", "out_dim", "outdim"})
_DIMS: Final = frozenset({"dim", "dims", "name", "names"})
_OF_LAYERS: Final = frozenset({"dim", "start_dim", "end_dim"})
_TEXT: Final = frozenset({"any", "str"})
_SPECIAL: Final[Mapping[str, Callable[[_Plan, Application], _Options | None]]] = {
    "refine_names": _Plan.dropped,
    "rename": _Plan.dropped,
    "rename_": _Plan.dropped,
    "names": _Plan.literal,
    "has_names": _Plan.literal,
    "align_to": _Plan.aligned,
    "align_as": _Plan.aligned,
    "flatten": _Plan.flattened,
    "unflatten": _Plan.unflattened,
    "nn.Unflatten": _Plan.unflattened,
}


def is_of_names(application: Application) -> bool:
    """Whether a call needs tensors that have names: torch 2.13 refuses it."""
    words = dict(application.keywords)
    if operators.key_of(application.operator) in _OF_NAMES or words.keys() & _NEW_NAMES:
        return True
    return any(_tells_name(value, application) for value in (*application.given, *words.values()))


def reshapes(application: Application, rows: Rows) -> bool:
    """Whether a call changes in place which dims its tensor has, or may: `out` without names."""
    out = dict(application.keywords).get("out")
    if isinstance(out, Tensor) and _may_resize(out, application.result):
        return True
    key = operators.key_of(application.operator)
    row = operators.row_of(key, rows)
    in_place = key.endswith("_") and key != "rename_"
    return in_place and row is not None and row.inplace == "becomes"


def _may_resize(out: Tensor, result: Any) -> bool:
    """Whether what is written to may have other sizes from then on, as none with names may."""
    if out.dims.named() is Answer.YES or not isinstance(result, Tensor):
        return False
    sizes = [[dim.size for dim in each.prefix] for each in (out.dims, result.dims)]
    known = out.dims.complete and result.dims.complete and UNKNOWN not in sizes[0]
    return not (known and sizes[0] == sizes[1])


def _tells_name(value: Any, application: Application) -> bool:
    """Whether an argument has the name of a dim of the tensor."""
    texts = [value] if isinstance(value, str) else value if isinstance(value, (tuple, list)) else ()
    texts = [text for text in texts if isinstance(text, str)]
    if not texts:
        return False
    try:
        words = {naming.word(name) for name in _reference(application).names}
    except Unsettled:
        return False
    return not words.isdisjoint(texts)


_OF_NAMES: Final = frozenset({"names=", *_SPECIAL}) - {"flatten", "unflatten", "nn.Unflatten"}


def _has_unknown(application: Application) -> bool:
    return UNKNOWN in application.given or UNKNOWN in dict(application.keywords).values()


def _speaks_of_names(application: Application) -> bool:
    arguments: list[tuple[Key, Any]] = [*enumerate(application.given), *application.keywords]
    return any(
        key in _NEW_NAMES or _has_text(value)
        for key, value in arguments
        if _is_early(key, application) == application.early
    )


def _is_early(key: Key, application: Application) -> bool:
    """Whether an argument was given beforehand, where a layer or a partial function was made."""
    begun = application.begun
    if begun is None:
        return False
    return key < begun.args if isinstance(key, int) else key in begun.words


def _has_text(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_text, value))
    return isinstance(value, str)


def _first_star(node: ast.Call) -> int:
    """How many arguments are written before one with a star."""
    stars = (i for i, arg in enumerate(node.args) if isinstance(arg, ast.Starred))
    return next(stars, len(node.args))


def _has_pairs(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and any(isinstance(v, (tuple, list)) for v in value)


def _of_layer(parameter: Parameter) -> Parameter:
    """A parameter of a constructor, which takes whatever its layer does."""
    dims = parameter.name in _OF_LAYERS
    return replace(parameter, kinds=frozenset({"dim", "name"})) if dims else parameter


def _is_dims(parameter: Parameter) -> bool:
    return bool(parameter.kinds & _DIMS) and not parameter.kinds & _TEXT


def _dims(value: Any) -> Dims:
    if isinstance(value, Tensor):
        return value.dims
    return Dims(open=True)


def _complete(dims: Dims) -> Dims:
    if not dims.complete:
        raise Unsettled("the names are not known")
    return dims


def _reference(application: Application) -> Dims:
    """The dims that names are looked up in: those of the first tensor."""
    dims = _first_dims(application)
    if dims is None:
        raise Unsettled("what it is applied to is not known")
    return dims


def _first_dims(application: Application) -> Dims | None:
    for value in (*application.given, *(value for _, value in application.keywords)):
        first = value[0] if isinstance(value, (tuple, list)) and value else value
        if isinstance(first, Many):
            first = first.each
        if isinstance(first, Tensor):
            return first.dims
    return None


def _position(word: Any, dims: Dims) -> tuple[int | None, int | None]:
    """Where a dim stands, from the left and from the right; the index that it is, if it is one."""
    if isinstance(word, int) and not isinstance(word, bool):
        rank = dims.rank
        if rank is None:
            return (word, None) if word >= 0 else (None, word)
        return (word, word - rank) if word >= 0 else (word + rank, word)
    if not isinstance(word, str):
        raise Unsettled("the name of the dim is not known")
    found = [
        (part, index)
        for part in ("prefix", "suffix")
        for index, dim in enumerate(getattr(dims, part))
        if naming.word(dim.name) == word
    ]
    if len(found) != 1:
        raise Unsettled(f"where '{word}' stands is not known")
    [(part, index)] = found
    if part == "suffix":
        return None, index - len(dims.suffix)
    return index, None if dims.open else index - len(dims.prefix)


def _indices(value: Any, application: Application, *, unordered: bool) -> tuple[str, ...]:
    """What may stand for a name or an index, or for a list of them, in any order if it is."""
    if value is UNKNOWN:
        raise Unsettled("the name of the dim is not known")
    dims = _reference(application)
    if not isinstance(value, (tuple, list)):
        return tuple(str(index) for index in _position(value, dims) if index is not None)
    pairs = [_position(word, dims) for word in value]
    options = []
    for side in range(2):
        chosen = [index for pair in pairs if (index := pair[side]) is not None]
        if len(chosen) == len(pairs):
            options.append(_tuple(list(map(str, sorted(chosen) if unordered else chosen))))
    if not options:
        raise Unsettled("the rank is not known")
    return tuple(options)


def _range(pairs: Sequence[tuple[int | None, int | None]], keywords: bool) -> Iterator[str]:
    """Two ends, as two arguments."""
    for side in range(2):
        start, end = (pair[side] for pair in pairs)
        if start is not None and end is not None:
            yield f"start_dim={start}, end_dim={end}" if keywords else f"{start}, {end}"


def _tuple(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _alignment(dims: Dims, wanted: Sequence[Any]) -> str:
    """The methods that bring dims into an order of names, in which there may be new ones."""
    place = next((i for i, word in enumerate(wanted) if is_ellipsis(word)), None)
    if place is not None and _is_in_place(dims, wanted[:place], wanted[place + 1 :]):
        return ""
    dims = _complete(dims)
    words = [naming.word(dim.name) for dim in dims.prefix]
    asked = [word for word in wanted if not is_ellipsis(word)]
    if any(not isinstance(word, str) for word in asked):
        raise Unsettled("the names to align to are not known")
    rest = [index for index, word in enumerate(words) if word is None or word not in asked]
    order: list[int | None] = []
    for word in wanted:
        if is_ellipsis(word):
            order += rest
        else:
            order.append(words.index(word) if word in words else None)
    old = [index for index in order if index is not None]
    moved = "" if old == sorted(old) else f".permute({', '.join(map(str, old))})"
    new = [index for index, from_ in enumerate(order) if from_ is None]
    return moved + "".join(f".unsqueeze({index})" for index in new)


def _is_in_place(dims: Dims, front: Sequence[Any], back: Sequence[Any]) -> bool:
    """Whether the dims that are named before and after an Ellipsis stand there already."""
    last = dims.suffix if dims.open else dims.prefix
    first = [naming.word(dim.name) for dim in dims.prefix]
    ends = [naming.word(dim.name) for dim in last]
    if not dims.open and len(front) + len(back) > len(first):
        return False
    return first[: len(front)] == [*front] and ends[len(ends) - len(back) :] == [*back]
