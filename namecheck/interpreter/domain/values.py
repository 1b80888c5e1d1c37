"""The abstract values that an expression can have.

Values are frozen. Mutable content (a tensor's names, a list's items, an instance's attributes) is
in a `Store`, under the value's address; a value has the initial content, and the store holds only
later content.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from namecheck.core import tensors
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Place
from namecheck.core.sizes import Known
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain.addresses import OpaqueTensor
from namecheck.interpreter.domain.provenance import (
    Failed,
    Provenance,
    SizeOf,
    UnmeantTensor,
    Version,
)
from namecheck.interpreter.domain.tags import NO_TAGS, Tags

if TYPE_CHECKING:
    from namecheck.interpreter.domain.store import Store

# What an analysis makes is numbered: no number that a program writes is as high. The numbers are
# given in blocks.
FIRST_NUMBER: Final = 1 << 72
NUMBERS_OF_BLOCK: Final = 1 << 40

Address: TypeAlias = Hashable
Facts: TypeAlias = tuple[tuple[Hashable, Hashable], ...]


# Parts of a provenance that no key stands in.
_WORDS: Final = frozenset({str, int, bool, type(None)})


class Key:
    """The identity of an opaque value: how it was made, and from which other values.

    Keys contain keys, so the hash is computed once. A `foreign` key depends on the
    version of a library, or on a value that is not meant: no finding is certain where it is tested.
    A `failed` key depends on the missing result of an operator that raised a contradiction: nothing
    may be concluded from it.
    `size` is the number of keys in it, itself included; a key in two others counts twice. `newest`
    are the newest numbers in it, once `recordings.newest` has found them.
    """

    __slots__ = ("_hash", "failed", "foreign", "newest", "provenance", "size")

    def __init__(self, provenance: Provenance) -> None:
        self.provenance = provenance
        foreign = isinstance(provenance, (Version, UnmeantTensor))
        failed, size = isinstance(provenance, Failed), 1
        for part in provenance.parts():
            if part.__class__ not in _WORDS:
                for key in _keys(part):
                    foreign = foreign or key.foreign
                    failed = failed or key.failed
                    size += key.size
        self.foreign: bool = foreign
        self.failed: bool = failed
        self.size: int = size
        self._hash = hash(provenance)
        self.newest: tuple[int, ...] | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Key) or self._hash != other._hash:
            return False
        if self.provenance is not other.provenance:
            if self.provenance != other.provenance:
                return False
            # A key that is part of many others is compared once.
            other.provenance = self.provenance
        return True

    def __hash__(self) -> int:
        return self._hash


def _keys(part: object) -> Iterator[Key]:
    """The keys that a value, or the identity of a value, contains."""
    if isinstance(part, Key):
        yield part
    elif isinstance(part, Opaque):
        yield part.key
    elif isinstance(part, (tuple, TupleValue)):
        for item in part if isinstance(part, tuple) else part.items:
            yield from _keys(item)
    elif isinstance(part, Repeated):
        yield from _keys(part.each)
    elif isinstance(part, OpaqueTensor):
        yield from _keys(part.key)


def is_foreign(part: object) -> bool:
    """Whether a value, or the identity of one, depends on a library version."""
    return any(key.foreign for key in _keys(part))


def has_failed(part: object) -> bool:
    """Whether a value, or the identity of one, depends on the result of an operator that failed."""
    if isinstance(part, Opaque):
        return part.key.failed
    if isinstance(part, _MADE):
        return any(key.failed for key in _keys(part))
    return False


class Opaque:
    """A value that is unknown except for its identity: equal keys are one value.

    `made` is its key, or the provenance of a new one. `kind` is the name of its type where that is
    known ("int", "str", …). Where it may be one of some mutable values, `link` is the address of
    the pick.
    """

    __slots__ = ("key", "kind", "link")

    def __init__(
        self,
        made: Key | Provenance,
        kind: str | None = None,
        link: Picked | None = None,
    ) -> None:
        self.key = made if isinstance(made, Key) else Key(made)
        self.kind = kind
        self.link = link

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Const:
    """A plain Python constant, or a constant of torch (`values.Constant`)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Const)
            and type(self.value) is type(other.value)
            and bool(self.value == other.value)
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


# The kind of the result of a decorator with options, or of a context: it may be anything else too.
TRANSPARENT: Final = "transparent"
NONE: Final = Const(None)
TRUE: Final = Const(True)
# How many picks are followed back from a picked value.
_CHAIN: Final = 32
# Of how many values a picked one is known to be one.
_MOST_ORIGINS: Final = 256
FALSE: Final = Const(False)


def sized(size: Known) -> Opaque | Const:
    """A size as a value: an int, or an opaque value identified by its symbols."""
    return Const(size) if isinstance(size, int) else Opaque(SizeOf(size), "int")


def size_of(value: Value) -> Known | None:
    """The size in a value, if it is a known one."""
    if isinstance(value, Const):
        return value.value if type(value.value) is int else None
    provenance = value.key.provenance if isinstance(value, Opaque) else None
    return provenance.size if isinstance(provenance, SizeOf) else None


class Picked:
    """The address of one of some mutable values, where it is unknown which.

    `of` are the values that it was picked from, `origins` these and all that they may be.

    A write to it may be a write to any of them, and vice versa. `where` distinguishes it from other
    picks of the same values; `born` is the ledger's number at the pick. Only a limited number of
    picks is followed back: a value further back counts as another object. Equal picks share a
    `_representative` once they are compared: their values are picks too, down to the first.
    """

    __slots__ = ("_hash", "_representative", "born", "of", "origins", "where")

    def __init__(self, of: Iterable[Value], where: Hashable, born: int) -> None:
        mutable = (value for value in of if isinstance(value, (TensorValue, ListValue, DictValue)))
        links = dict.fromkeys(mutable)
        origins = dict(links)
        for value in links:
            if isinstance(value.address, Picked):
                origins.update(dict.fromkeys(value.address.origins))
        is_short = sum(isinstance(value.address, Picked) for value in origins) <= _CHAIN
        is_short = is_short and len(origins) <= _MOST_ORIGINS
        self.of: tuple[Mutable, ...] = tuple(links) if is_short else ()
        self.origins: tuple[Mutable, ...] = tuple(origins) if is_short else ()
        self.where = where
        self.born = born
        self._hash = hash((self.of, where))
        self._representative = object()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Picked) or self._hash != other._hash:
            return False
        if self._representative is other._representative:
            return True
        if (self.where, self.of) != (other.where, other.of):
            return False
        self._representative = other._representative
        return True

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a tensor's cell: the abstract tensor, and the origins of its names.

    `tags` are those that lints attach to this content.
    """

    tensor: tensors.Tensor
    origins: Mapping[str, Place] = field(default_factory=dict, compare=False, hash=False)
    tags: Tags = NO_TAGS


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor; `initial` is its content when it was made.

    `tags` are those that lints attach to this reference to it.
    """

    keeps_hash: ClassVar[bool] = True
    address: Address
    initial: Held = field(compare=False)
    tags: Tags = field(default=NO_TAGS, compare=False)


@dataclass(frozen=True, slots=True)
class Repeated:
    """An unknown number of items with one description: the items of a loop over an unknown value.

    `endless` ones do not end (``itertools.count()``).
    """

    each: Value
    endless: bool = False


def each_of(content: tuple[Value, ...] | Repeated) -> tuple[Value, ...]:
    """The items of a sequence, or the one that describes them where their number is unknown."""
    return (content.each,) if isinstance(content, Repeated) else content


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple; `fields` has the names of a named tuple's items, `cls` its class, if any."""

    items: tuple[Value, ...]
    fields: tuple[str, ...] = ()
    cls: ClassValue | None = None


@dataclass(frozen=True, slots=True)
class ListValue:
    """A list, a set, or an iterator (`kind`); its items are in the store."""

    address: Address
    initial: tuple[Value, ...] | Repeated = field(compare=False)
    kind: str = "list"


# How many entries of a dict are known that may be missing.
_MOST_MISSING: Final = 16


@dataclass(frozen=True, slots=True)
class Entries:
    """The content of a dict: its known items in order, and the value of other possible items.

    Where the others have constant keys, `maybe` has each with its value; `rest` covers them all.
    """

    items: tuple[tuple[Value, Value], ...] = ()
    rest: Value | None = None
    maybe: tuple[tuple[Value, Value], ...] = ()

    @property
    def unlisted(self) -> Value | None:
        """The value of items under keys of which nothing is known; None if there are none."""
        return None if self.maybe else self.rest

    def missing(
        self, other_entries: Entries, join: Callable[[Value, Value], Value]
    ) -> tuple[tuple[Value, Value], ...] | None:
        """The entries that one of two dicts may lack; None where some are under unknown keys."""
        if self.unlisted is not None or other_entries.unlisted is not None:
            return None
        certain = {key for key, _ in self.items} & {key for key, _ in other_entries.items}
        left, right = (
            dict((*self.items, *self.maybe)),
            dict((*other_entries.items, *other_entries.maybe)),
        )
        found = {key: value for key, value in {**right, **left}.items() if key not in certain}
        if len(found) > _MOST_MISSING or not all(isinstance(key, Const) for key in found):
            return None
        both = {key: join(left[key], right[key]) for key in found if key in left and key in right}
        return tuple({**found, **both}.items())

    def without(self, index: Value) -> Entries:
        """The entries but that of a constant key."""
        items = tuple(item for item in self.items if item[0] != index)
        maybe = tuple(item for item in self.maybe if item[0] != index)
        rest = None if self.maybe and not maybe else self.rest
        return Entries(items, rest, maybe)


@dataclass(frozen=True, slots=True)
class DictValue:
    """A dict; `factory` makes the values of a defaultdict, `ordered` marks an OrderedDict."""

    address: Address
    initial: Entries = field(compare=False)
    factory: Value | None = field(default=None, compare=False)
    ordered: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class SliceValue:
    """A slice in a subscript."""

    lower: Value
    upper: Value
    step: Value


@dataclass(frozen=True, slots=True)
class Environment:
    """The place of a scope's variables in the store, and the enclosing scopes."""

    number: int
    scope: ast.AST = field(compare=False, hash=False)
    enclosing: Environment | None = field(default=None, compare=False, hash=False)
    cls: ClassValue | None = field(default=None, compare=False, hash=False)
    receiver: Value | None = field(default=None, compare=False, hash=False)

    @property
    def module(self) -> Environment:
        """The environment of the module that this one belongs to."""
        environment = self
        while environment.enclosing is not None:
            environment = environment.enclosing
        return environment


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function or lambda with the scope it closes over, its defaults, and its class if any."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    environment: Environment
    defaults: tuple[Value, ...] = ()
    keyword_defaults: tuple[tuple[str, Value], ...] = ()
    cls: ClassValue | None = None

    @property
    def name(self) -> str:
        """The name of the function in messages."""
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(frozen=True, slots=True)
class Generator:
    """The iterator of a function with ``yield``; the function runs when items are requested.

    `frame` has its variables, `site` is the call that made it; each item is passed through the
    `changes` (`enumerate`, `map`).
    """

    environment: Environment
    function: FunctionValue = field(compare=False)
    site: Node = field(compare=False)
    changes: tuple[Callable[[Value, Store], Value], ...] = ()


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A callable that takes `receiver` as its first argument."""

    function: Value
    receiver: Value


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A function under a decorator of the standard library: property, staticmethod, ….

    `kind` is one of property, cached, staticmethod, classmethod, partialmethod, contextmanager.
    A property may have a `setter`.
    """

    kind: str
    function: Value
    setter: Value | None = None


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """``dataclasses.field(…)`` in the body of a class; None for an option without a value."""

    default: Value | None
    default_factory: Value | None
    init: Value


@dataclass(frozen=True, slots=True)
class Partial:
    """``functools.partial`` of a callable; `open` where a star passes more arguments.

    `made` is the call that made it.
    """

    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    open: bool = False
    made: ast.AST | None = None


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A class of the program; its attributes are in the store under its address.

    `style` is one of plain, dataclass, namedtuple, typeddict, enum, or foreign, where unknown code
    (a decorator, a base, a metaclass) may construct the instances; `fields` are the annotated
    names with their defaults, or the members of an enum; `environment` is the scope around it.
    `linear` is made of the bases, never passed: the class and its bases, in the order in which an
    attribute is looked up.
    """

    address: Address
    name: str = field(compare=False)
    bases: tuple[Value, ...] = field(default=(), compare=False)
    node: ast.ClassDef | None = field(default=None, compare=False)
    fields: tuple[tuple[str, Value | None], ...] = field(default=(), compare=False)
    style: str = field(default="plain", compare=False)
    environment: Environment | None = field(default=None, compare=False)
    linear: tuple[Value, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        # A base of several classes comes after all of them: its last occurrence counts. It
        # is made of the orders of the bases, so that diamonds over diamonds stay cheap.
        orders = [base.linear if isinstance(base, ClassValue) else (base,) for base in self.bases]
        inherited = tuple(itertools.chain.from_iterable(orders))
        if len(orders) > 1:
            inherited = tuple(dict.fromkeys(inherited[::-1]))[::-1]
        object.__setattr__(self, "linear", (self, *inherited))


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a class of the program; its attributes are in the store."""

    address: Address
    cls: ClassValue


@dataclass(frozen=True, slots=True)
class Super:
    """``super()`` in a method."""

    cls: ClassValue
    receiver: Value


@dataclass(frozen=True, slots=True)
class External:
    """A module, class or function of a library, by its dotted name: ``torch.nn.functional``."""

    path: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The binding of an import statement: a name of a project file, which runs when it is read.

    `module` is the location of the file.
    """

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class TorchMethod:
    """A method in the table of operators, bound to its tensor."""

    operator: str
    receiver: Value


@dataclass(frozen=True, slots=True)
class TorchModule:
    """An instance of a class of ``torch.nn``, with the constructor's arguments and call site."""

    address: Address
    key: str
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()
    made: ast.AST | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class BuiltinMethod:
    """A method of a built-in value: ``'NCHW'.lower``, ``layouts.append``."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the possible values of an expression, with the path facts under which it holds."""

    value: Value
    facts: Facts = ()


@dataclass(frozen=True, slots=True)
class Union:
    """Several values, one of which the expression has."""

    alternatives: tuple[Alternative, ...]


Value: TypeAlias = (
    Opaque
    | Const
    | TensorValue
    | Repeated
    | TupleValue
    | ListValue
    | DictValue
    | SliceValue
    | FunctionValue
    | Generator
    | BoundMethod
    | Wrapped
    | FieldOptions
    | Partial
    | ClassValue
    | Instance
    | Super
    | External
    | Imported
    | TorchMethod
    | TorchModule
    | BuiltinMethod
    | Union
)

Mutable = TensorValue | ListValue | DictValue
Operand: TypeAlias = tuple[Node, Value]

# What has keys in it, beside an opaque value.
_MADE: Final = (Key, tuple, TupleValue, Repeated, OpaqueTensor)
