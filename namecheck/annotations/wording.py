"""The messages for calls that contradict their annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from namecheck.annotations.expressions import Expression
from namecheck.annotations.patterns import Dimension, Pattern
from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dim, Dims, Size, own_size
from namecheck.core.names import UNKNOWN, Axis, Contradiction, Name


@dataclass(frozen=True, slots=True)
class Site:
    """Where a declared dimension was checked: the value, its declaration and its actual dims.

    `position` counts from the left, or from the right (negative) where the rank is unknown. A
    `number` is an argument that is a size itself.
    """

    value: str
    returned: bool
    pattern: Pattern
    dims: Dims
    position: int = 0
    number: Size | None = None

    def at(self, position: int) -> Site:
        """The same value at another dimension."""
        return replace(self, position=position)

    @property
    def phrase(self) -> str:
        """The value as a phrase of a sentence."""
        if not self.returned:
            return f"argument '{self.value}'"
        return "the result" if self.value == "result" else f"'{self.value}'"


def shown(dims: Dims) -> str:
    """Dims as a shape with the names there are: ``(N=2, 3)``."""
    shown_dims = [_shown(dim) for dim in dims.prefix]
    if dims.open:
        shown_dims.append("...")
    shown_dims += [_shown(dim) for dim in dims.suffix]
    return f"({', '.join(shown_dims)}{',' if len(shown_dims) == 1 else ''})"


def _shown(dim: Dim) -> str:
    name, size = naming.word(dim.name), "?" if dim.size is UNKNOWN else str(dim.size)
    if name is None:
        return size
    own = isinstance(dim.name, Axis) and dim.size == own_size(dim.name)
    return name if own or dim.size is UNKNOWN else f"{name}={size}"


def rank(function: str, site: Site) -> Contradiction:
    """A tensor with too many or too few dimensions."""
    declared_rank, own_rank = site.pattern.min_rank, site.dims.rank
    least = "at least " if site.pattern.several else ""
    had = f"at least {site.dims.min_rank}" if own_rank is None else str(own_rank)
    message = (
        f"{function}(): {site.phrase} has {had} dimension{'' if had == '1' else 's'}, "
        f"but {least}{declared_rank} {'is' if declared_rank == 1 else 'are'} declared"
    )
    more = site.dims.min_rank > declared_rank and not site.pattern.several
    further = f' Written "... {site.pattern.text}", it would take further ones in front.'
    help = f"Pass a tensor with the dimensions of {_quoted(site.pattern)}."
    return _contradiction("NC211", message, [site], help=help + (further if more else ""))


def order(
    function: str, site: Site, label: str, position: int, declared_position: int
) -> Contradiction:
    """A label that the annotation has at another position."""
    message = (
        f"{function}(): dimension {position} of {site.phrase} is called '{label}', "
        f"but '{label}' is declared at dimension {declared_position}"
    )
    items = site.pattern.items
    item_names = [item.name for item in items if isinstance(item, Dimension)]
    labels = [naming.word(dim.name) for dim in site.dims.known]
    help = "Transpose it, or give the annotation the order of the tensor."
    if None not in item_names and sorted(map(str, item_names)) == sorted(map(str, labels)):
        listed = ", ".join(f"'{name}'" for name in item_names)
        help = f"Bring it into the declared order: {site.value}.align_to({listed})."
        if site.returned:
            help = f"Bring it into the declared order with align_to({listed})."
    return _contradiction("NC112", message, [site], words=[label], help=help)


def axis_name(
    function: str, axis: str, site: Site, name: Name, first: Site, bound: Name
) -> Contradiction:
    """An axis that would be two different dimensions of the caller."""
    here, there = str(naming.word(name)), str(naming.word(bound))
    if site.returned and there == axis:
        return _declared(function, site, f"is '{here}'", axis, [here, axis])
    message = (
        f"{function}(): axis '{axis}' is dimension '{here}' in {site.phrase}, "
        f"but '{there}' in {first.phrase}"
    )
    help = f"One axis is one dimension: pass '{there}' at both places, or declare two axes."
    return _contradiction("NC112", message, [first, site], words=[here, there], help=help)


def lost(function: str, site: Site, axis: str) -> Contradiction:
    """A dimension of size 1 where an axis is declared."""
    return _declared(function, site, "has size 1", axis, [axis])


def computed_name(
    function: str, site: Site, expression: Expression, name: Name, declared_name: Name
) -> Contradiction:
    """A dimension other than the one its expression declares."""
    here, there = str(naming.word(name)), str(naming.word(declared_name))
    declaration = expression.text
    if there != expression.text:
        declaration = f"{expression.text} ({there})"
    return _declared(function, site, f"is '{here}'", declaration, [here, there])


def computed_axis(
    function: str, site: Site, expression: Expression, declared_size: Size
) -> Contradiction:
    """A dimension with another size than its expression has under the axes of the call."""
    declaration = (
        expression.text
        if str(declared_size) == expression.text
        else f"{expression.text}={declared_size}"
    )
    words = sorted(expression.axes)
    wrong = _declared(function, site, f"has size {_size(site)}", declaration, words)
    return _contradiction("NC210", wrong.message.splitlines()[0], [site], words=words)


def _declared(
    function: str, site: Site, fact: str, declared: str, words: Sequence[str]
) -> Contradiction:
    message = (
        f"{function}(): dimension {site.position} of {site.phrase} {fact}, "
        f"but '{declared}' is declared"
    )
    help = f"Give it the dimensions of {_quoted(site.pattern)}, or declare what it is."
    return _contradiction("NC112", message, [site], words=words, help=help)


def axis_size(
    function: str, axis: str, site: Site, size: Size, first: Site, bound_size: Size
) -> Contradiction:
    """An axis that has two different sizes."""
    if site.returned and str(first.number) == axis:  # its own size, which no argument fixes
        mismatch = _declared(function, site, f"has size {size}", axis, [axis])
        return _contradiction("NC210", mismatch.message.splitlines()[0], [site], words=[axis])
    same = first.value == site.value and first.returned == site.returned
    places = (
        f"at dimension {site.position} of {site.phrase}, "
        f"but {bound_size} at dimension {first.position}"
        if same
        else f"in {site.phrase}, but {bound_size} in {first.phrase}"
    )
    message = f"{function}(): axis '{axis}' has size {size} {places}"
    help = "One axis has one size; dimensions that may differ are declared under two names."
    return _contradiction("NC210", message, [first, site], words=[axis], help=help)


def fixed_size(function: str, site: Site, dimension: Dimension, size: Size) -> Contradiction:
    """A dimension without the size that the annotation fixes."""
    message = (
        f"{function}(): dimension {site.position} of {site.phrase} has size {size}, "
        f"but {dimension.fixed} is declared"
    )
    names = [dimension.name] if dimension.name else []
    help = f"Pass a tensor with the dimensions of {_quoted(site.pattern)}."
    return _contradiction("NC210", message, [site], words=names, help=help)


def computed_size(
    function: str,
    site: Site,
    expression: Expression,
    computed: int,
    axes: Mapping[str, tuple[Size, Site | None]],
) -> Contradiction:
    """A dimension without the size of its expression."""
    message = (
        f"{function}(): dimension {site.position} of {site.phrase} has size {_size(site)}, "
        f"but {expression.text} is {computed}"
    )
    origins = [
        f"'{axis}' is {size} in {origin.phrase}" for axis, (size, origin) in axes.items() if origin
    ]
    sites = list({origin.value: origin for _, origin in axes.values() if origin}.values())
    help = f"{'; '.join(origins)}." if origins else None
    return _contradiction("NC210", message, [*sites, site], words=list(axes), help=help)


def no_solution(function: str, site: Site, expression: Expression, axis: str) -> Contradiction:
    """A dimension whose size the expression has for no value of its axis."""
    message = (
        f"{function}(): dimension {site.position} of {site.phrase} has size {_size(site)}, "
        f"which is {expression.text} for no size of '{axis}'"
    )
    help = f"Pass a tensor with the dimensions of {_quoted(site.pattern)}."
    return _contradiction("NC210", message, [site], words=[axis], help=help)


def run(
    function: str,
    name: str,
    site: Site,
    run_dims: tuple[Dim, ...],
    first: Site,
    bound_dims: tuple[Dim, ...],
) -> Contradiction:
    """``*name`` bound to different dimensions."""
    message = (
        f"{function}(): '*{name}' is {shown(Dims(run_dims))} in {site.phrase}, "
        f"but {shown(Dims(bound_dims))} in {first.phrase}"
    )
    help = "One name stands for the same dimensions throughout a call, also behind a star."
    code = "NC210" if _names_match(run_dims, bound_dims) else "NC112"
    return _contradiction(code, message, [first, site], words=[name], help=help)


def dtype(function: str, site: Site, dtype_passed: str, declared: str) -> Contradiction:
    """A tensor with another dtype than declared."""
    message = f"{function}(): {site.phrase} is of dtype {dtype_passed}, but {declared} is declared"
    help = "Convert it, or declare what it is."
    return _contradiction("NC301", message, [], help=help)


def device(function: str, site: Site, device_passed: str, declared: str) -> Contradiction:
    """A tensor on another device than declared."""
    message = f"{function}(): {site.phrase} is on {device_passed}, but {declared} is declared"
    return _contradiction("NC410", message, [], help=f"Move it with `.to('{declared}')`.")


def _names_match(first_dims: tuple[Dim, ...], second_dims: tuple[Dim, ...]) -> bool:
    if len(first_dims) != len(second_dims):
        return True
    pairs = zip(first_dims, second_dims, strict=True)
    return all(naming.match(a.name, b.name) is not naming.Answer.NO for a, b in pairs)


def _size(site: Site) -> Size:
    return site.dims[site.position].size


def _quoted(pattern: Pattern) -> str:
    return f'"{pattern.text}"'


def _contradiction(
    code: str,
    message: str,
    sites: Sequence[Site],
    *,
    words: Sequence[str] = (),
    help: str | None = None,
) -> Contradiction:
    """A contradiction whose further lines show the declared and the actual dims."""
    tensors = [site for site in sites if site.number is None]
    rows = list(dict.fromkeys((site.value, site.pattern, site.dims) for site in tensors))
    numbers = {site.value: site.number for site in sites if site.number is not None}
    width = max((len(value) for value in [*numbers, *(value for value, _, _ in rows)]), default=0)
    quoted = max((len(_quoted(pattern)) for _, pattern, _ in rows), default=0)
    lines = [f"{value:>{width}}: {number}" for value, number in numbers.items()]
    lines += [
        f"{value:>{width}}: {_quoted(pattern):<{quoted}} got {shown(dims)}"
        for value, pattern, dims in rows
    ]
    return Contradiction(code, "\n".join([message, *lines]), names=words, help=help)
