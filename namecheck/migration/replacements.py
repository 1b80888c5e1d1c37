"""The replacements of calls and attributes of named tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from namecheck import operators
from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN, Label
from namecheck.core.tensors import Tensor
from namecheck.interpreter.workspace.analysis import Application
from namecheck.migration import dim_indices, name_arguments
from namecheck.migration.dim_indices import Unsettled
from namecheck.migration.name_arguments import Key, Rows, reference_dims
from namecheck.migration.observations import Observed


class Sizes(Enum):
    """The sizes that stay of an argument whose names are removed."""

    OF_PAIRS = auto()
    OF_DICT = auto()


@dataclass(frozen=True)
class PlaceAmong:
    """The position of an argument, a name that varies, in a tuple of literal names.

    `names` is the source text of the tuple.
    """

    names: str


ArgumentChange: TypeAlias = str | Sizes | PlaceAmong
"""The replacement of an argument: another text, or what stays of the argument itself."""


@dataclass(frozen=True)
class Replacement:
    """The replacement of a call or an attribute.

    It is replaced by `text`, or by its receiver followed by `suffix` (with `text` that is `beside`,
    the receiver is still evaluated), or, as an `alias`, by another tensor with the same elements.
    Or it keeps its form, and its `arguments`, as they are counted in the source, are changed, or
    removed where there is no change. `dims` are those of a result that had names.
    """

    text: str | None = None
    suffix: str | None = None
    arguments: Mapping[Key, ArgumentChange | None] = field(default_factory=dict)
    dims: Dims | None = None
    beside: bool = False
    alias: bool = False

    def discarded(self, expression: ast.expr) -> Iterator[ast.expr]:
        """The expressions in the call, or under the attribute, that are removed."""
        if self.text is not None and not self.beside:
            read = expression.func if isinstance(expression, ast.Call) else expression
            yield read.value if isinstance(read, ast.Attribute) else read
        if not isinstance(expression, ast.Call):
            return
        words = {keyword.arg: keyword.value for keyword in expression.keywords}
        if self.text is not None or self.suffix is not None or self.alias:
            yield from (*expression.args, *words.values())
        for key, argument_change in self.arguments.items():
            if isinstance(argument_change, Sizes):
                continue
            if isinstance(key, str):
                yield from (words[key],) if key in words else ()
            elif key < len(expression.args):
                yield expression.args[key]


def replacement_of(expression: ast.expr, observed: Observed, rows: Rows) -> Replacement | None:
    """The replacement of a place; None where none is needed. Raises `Unsettled`."""
    decisive = observed.decisive
    if not decisive.each:
        return None
    plan = _Plan(expression, rows)
    counted = list(decisive.each)
    each = [plan.of(application) for application in counted]
    if all(one is None for one in each):
        return None
    if decisive.otherwise and not all(one.early for one in decisive.each):
        raise Unsettled("the receiver is not known in every call")
    for application in observed.further:
        try:
            options = plan.of(application)
        except Unsettled:
            continue
        if options is not None or not name_arguments.has_unknown(application):
            each.append(options)
            counted.append(application)
    agreed = _agreed([one or _Options({}) for one in each], counted, plan)
    if agreed is None:
        raise Unsettled(f"it is reached with several {_differences(counted)}")
    return agreed


@dataclass(frozen=True)
class _Options:
    """The options for each argument (nothing: it is removed), best first; or the whole result."""

    arguments: Mapping[Key, tuple[ArgumentChange | None, ...]]
    text: str | None = None
    suffix: str | None = None
    dims: Dims | None = None


def _agreed(
    requests: Sequence[_Options], counted: Sequence[Application], plan: _Plan
) -> Replacement | None:
    """The option that all applications have in common; None where there is none."""
    whole = {(one.text, one.suffix) for one in requests}
    if len(whole) > 1:
        return None
    [(text, suffix)] = whole
    argument_changes: dict[Key, ArgumentChange | None] = {}
    for key in dict.fromkeys(key for one in requests for key in one.arguments):
        lists = [one.arguments.get(key, ()) for one in requests]
        common = [option for option in lists[0] if all(option in listed for listed in lists)]
        common = common or list(_looked_up(key, counted))
        if not common:
            return None
        argument_changes[plan.place(key)] = common[0]
    dims = [one.dims for one in requests]
    same = dims[0] if all(_named_alike(one, dims[0]) for one in dims) else None
    return Replacement(text, suffix, argument_changes, same)


def _looked_up(key: Key, each: Sequence[Application]) -> Iterator[PlaceAmong]:
    """The position of a name in the layout, if all applications share the layout and a name."""
    layouts = {reference_dims(one) for one in each}
    names = [dict([*enumerate(one.positional), *one.keywords]).get(key) for one in each]
    [labels, *others] = {dims.names if dims.complete else () for dims in layouts}
    words = [naming.word(name) for name in labels]
    settled = all(isinstance(name, str) and words.count(name) == 1 for name in names)
    begun = any(one.begun is not None for one in each)
    if settled and not others and not begun:
        yield PlaceAmong(repr(tuple(words)))


def _differences(each: Sequence[Application]) -> str:
    """How the applications differ: in the names passed, or in the dims of the tensor."""
    names = dict.fromkeys(", ".join(map(repr, name_arguments.texts_of(one))) for one in each)
    if len(names) > 1:
        return f"names: {'; '.join(filter(None, names))}"
    layouts = dict.fromkeys(reference_dims(one).sizeless().brief() for one in each)
    return f"layouts: {'; '.join(layouts)}"


def _named_alike(dims: Dims | None, others: Dims | None) -> bool:
    return dims is not None and others is not None and dims.names == others.names


class _Plan:
    """One call or attribute, and the options for each of its applications."""

    def __init__(self, expression: ast.expr, rows: Rows) -> None:
        self._node = expression
        self._rows = rows
        self._offset = 0

    def of(self, application: Application) -> _Options | None:
        """The options of one application; None where nothing changes."""
        key = operators.key_of(application.operator)
        special = _SPECIAL.get(key)
        if special is None and not (
            name_arguments.takes_names(application, self._rows)
            or name_arguments.may_take_names(application, self._rows)
        ):
            return None
        if application.contradiction is not None:
            contradiction = application.contradiction
            raise Unsettled(f"{contradiction.code}: {contradiction.message.splitlines()[0]}")
        if special is not None:
            return special(self, application)
        options = self._arguments(application)
        # Arguments of a layer's constructor are rewritten there.
        beforehand = application.begun is not None and not options.arguments
        return None if beforehand else options

    def place(self, key: Key) -> Key:
        """The index of an argument in the source."""
        return key - self._offset if isinstance(key, int) else key

    # Calls that are removed

    def dropped(self, application: Application) -> _Options:
        """``refine_names``, ``rename``: the tensor itself."""
        self._method(application)
        return _Options({}, suffix="", dims=_dims(application.result))

    def literal(self, application: Application) -> _Options:
        """``names``, ``has_names()``: their values as literals."""
        value = application.result
        if isinstance(value, bool):
            return _Options({}, text=repr(value))
        if isinstance(value, tuple) and all(isinstance(name, Label | None) for name in value):
            return _Options({}, text=repr(value))
        raise Unsettled("the names are not known")

    def aligned(self, application: Application) -> _Options:
        """``align_to``, ``align_as``: a permutation, and new dims."""
        self._method(application)
        old, *layout = application.positional
        if operators.key_of(application.operator) == "align_as":
            model = layout[0] if layout else dict(application.keywords).get("other")
            layout = list(dim_indices.complete(_dims(model)).names)
        return _Options({}, suffix=dim_indices.alignment(_dims(old), layout))

    def _method(self, application: Application) -> None:
        node = self._node
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            raise Unsettled("it is no plain call of a method")
        if not any(isinstance(arg, ast.Starred) for arg in node.args):
            self._take(application)
            if self._offset != 1:
                raise Unsettled("it is no plain call of a method")

    def _take(self, application: Application) -> None:
        """Work out how arguments are counted in the source."""
        node = self._node
        if not isinstance(node, ast.Call):
            raise Unsettled("it is no plain call")
        words = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
        method = isinstance(node.func, ast.Attribute)
        begun, starred = application.begun, _first_star(node) < len(node.args)
        keywords, possible = {name for name, _ in application.keywords}, (0, 1) if method else (0,)
        if begun is not None and application.early:
            # The first argument of a partial function is the function.
            possible = (0 if application.operator.startswith("nn.") else -1,)
            keywords, self._offset = {*begun.words}, begun.args - len(node.args)
        elif not starred:
            self._offset = len(application.positional) - len(node.args)
            possible = possible if begun is None else (begun.args,)
        else:
            self._offset = int(method and application.operator.startswith("Tensor."))
        if self._offset not in possible or not keywords.issuperset(words) or (starred and begun):
            raise Unsettled("its arguments are not all written there")

    def _is_written(self, key: Key, application: Application) -> bool:
        """Whether an argument is in this call, and is not the receiver of its method."""
        receiver = isinstance(key, int) and key < self._offset
        return name_arguments.is_early(key, application) == application.early and not receiver

    # Arguments

    def flattened(self, application: Application) -> _Options | None:
        """``flatten``: a list of names becomes the first and the last of them."""
        arguments = list(name_arguments.arguments_of(application, self._rows))
        names_it = any(
            p is not None and p.name in name_arguments.NEW_NAMES for _, _, p in arguments
        )
        if not names_it and not name_arguments.has_names(application):
            return None
        options = self._arguments(application)
        replacing = dict(options.arguments)
        for key, value, parameter in arguments:
            if parameter is not None and parameter.name == "dims":
                dims, by_keyword = reference_dims(application), isinstance(key, str)
                replacing[key] = tuple(dim_indices.ends(value, dims, by_keyword=by_keyword))
        return _Options(replacing, dims=options.dims)

    def unflattened(self, application: Application) -> _Options | None:
        """``unflatten``: of sizes with names the sizes are kept."""
        has_names = name_arguments.has_names(application)
        options = self._arguments(application) if has_names else _Options({})
        assert isinstance(self._node, ast.Call)
        replacing = dict(options.arguments)
        for key, value, parameter in name_arguments.arguments_of(application, self._rows):
            sizes = parameter is not None and "sizes" in (parameter.name, parameter.role)
            if not sizes or not self._is_written(key, application):
                continue
            if isinstance(value, Mapping) or _has_pairs(value):
                self._take(application)
                replacing[key] = (Sizes.OF_DICT if isinstance(value, Mapping) else Sizes.OF_PAIRS,)
        return _Options(replacing, dims=options.dims) if replacing else None

    def _reduces(self, application: Application) -> bool:
        """Whether the order of several dims does not matter."""
        row = operators.row_of(application.operator, self._rows)
        return row is not None and any(
            parameter.name == "keepdim" for signature in row.signatures for parameter in signature
        )

    def _arguments(self, application: Application) -> _Options:
        self._take(application)
        replacing: dict[Key, tuple[ArgumentChange | None, ...]] = {}
        dims = None
        for key, value, parameter in name_arguments.arguments_of(application, self._rows):
            if not self._is_written(key, application):
                continue
            if parameter is None:
                if name_arguments.is_name(value, application):
                    raise Unsettled("its arguments are not all written there")
                continue
            if parameter.name in name_arguments.NEW_NAMES:
                if "tensor" not in parameter.kinds:
                    replacing[key] = (None,)
                    dims = _dims(application.result)
            elif name_arguments.is_dim(parameter) and value is not None:
                replacing[key] = self._indices(value, application)
        node = self._node
        assert isinstance(node, ast.Call)
        spelled: set[Key | None] = {keyword.arg for keyword in node.keywords}
        spelled |= {place + self._offset for place in range(_first_star(node))}
        if not spelled.issuperset(replacing):
            raise Unsettled("its arguments are not all written there")
        return _Options(replacing, dims=dims)

    def _indices(self, value: Any, application: Application) -> tuple[str, ...]:
        if value is UNKNOWN:
            raise Unsettled("the name of the dim is not known")
        dims, unordered = reference_dims(application), self._reduces(application)
        return dim_indices.indices(value, dims, unordered=unordered)


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


def _first_star(call_node: ast.Call) -> int:
    """The number of arguments before one with a star."""
    stars = (i for i, argument in enumerate(call_node.args) if isinstance(argument, ast.Starred))
    return next(stars, len(call_node.args))


def _has_pairs(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and any(isinstance(v, (tuple, list)) for v in value)


def _dims(value: Any) -> Dims:
    return value.dims if isinstance(value, Tensor) else Dims(open=True)
