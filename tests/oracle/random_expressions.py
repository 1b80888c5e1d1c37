"""Random expressions on native named tensors, as source; drawn to fit the present tensors.

Most of them run; names and sizes come from a namespace in which the program so far was run. See
tests/programs_generator.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

Namespace: TypeAlias = Mapping[str, Any]

NAMES: Final = ("N", "C", "H", "W", "T", "D")
_UNARY: Final = (
    *("abs", "exp", "relu", "sigmoid", "neg", "clone", "detach", "tanh", "float", "double"),
    *("contiguous", "cos", "floor", "sign", "square", "reciprocal", "isnan", "requires_grad_"),
)
_REDUCTIONS: Final = ("sum", "mean", "std", "var", "prod", "logsumexp")
_SELECTIONS: Final = ("max", "min", "median", "mode", "kthvalue")
_SCANS: Final = ("softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp")
_OPERATORS: Final = ("+", "-", "*", "/", ">", "<=", "==", "**")
_FUNCTIONS: Final = ("add", "sub", "mul", "div", "maximum", "eq", "gt", "atan2", "pow")
_DTYPES: Final = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
_CONVERSIONS: Final = ("double", "half", "long", "int", "bool", "float", "bfloat16", "cpu")
_LIKES: Final = ("zeros_like", "ones_like", "rand_like", "empty_like", "randn_like")


class Expressions:
    """Draws expressions; `tensor` is the class of tensors."""

    def __init__(self, rng: random.Random, tensor: type) -> None:
        self.rng = rng
        self.tensor = tensor
        self._kinds: tuple[tuple[int, Callable[[str, Any, Namespace], str | None]], ...] = (
            (6, self._unary),
            (8, self._reduction),
            (3, self._selection),
            (5, self._scan),
            (5, self._transposition),
            (5, self._renaming),
            (5, self._alignment),
            (5, self._flattening),
            (7, self._index),
            (3, self._scalar),
            (10, self._binary),
            (6, self._product),
            (4, self._joining),
            (3, self._mask),
            (3, self._like),
            (3, self._expansion),
            (3, self._functional),
            (3, self._parts),
            (5, self._conversion),
        )
        self._weights = [weight for weight, _ in self._kinds]

    def tensors(self, space: Namespace) -> dict[str, Any]:
        """The variables that hold tensors."""
        return {k: v for k, v in space.items() if isinstance(v, self.tensor)}

    def named(self, names: Sequence[str | None], sizes: Sequence[int], space: Namespace) -> str:
        """A factory of a tensor with these names."""
        shape = ", ".join(map(str, sizes))
        written = self.names(names, space)
        kind = self.rng.choice(("zeros", "ones", "rand", "randn", "empty", "refine", "rename"))
        if kind == "refine" and sizes:
            return f"torch.rand({shape}).refine_names({self._starred(written)})"
        if kind == "rename" and sizes:
            return f"torch.ones({shape}).rename({self._starred(written)})"
        if kind in ("refine", "rename"):
            kind = "zeros"
        if self.rng.random() < 0.5 or not sizes:
            shape = f"({shape}{',' if len(sizes) == 1 else ''})"
        return f"torch.{kind}({shape}, names={written}{self._asked(kind)})"

    def _asked(self, kind: str) -> str:
        """The arguments of a factory besides its shape."""
        if kind in ("rand", "randn", "empty") or self.rng.random() < 0.8:
            places = ", device='cpu'", ", layout=torch.strided", ", device='meta'"
            return self.rng.choice(("", "", "", "", *places))
        return f", dtype=torch.{self.rng.choice(_DTYPES)}"

    def _starred(self, written: str) -> str:
        if written.startswith("(") and written.endswith(")"):
            return written[1:-1].rstrip(",")
        return f"*{written}"

    def names(self, names: Sequence[str | None], space: Namespace) -> str:
        """A tuple of names: a literal, or one from a variable."""
        wanted = tuple(names)
        found = [k for k, v in space.items() if isinstance(v, (tuple, list)) and tuple(v) == wanted]
        found += [f"{k}.names" for k, v in self.tensors(space).items() if v.names == wanted]
        if found and self.rng.random() < 0.6:
            return self.rng.choice(found)
        words = ", ".join("None" if n is None else self.name(n, space) for n in wanted)
        return f"({words}{',' if len(wanted) == 1 else ''})"

    def name(self, name: str, space: Namespace) -> str:
        """A dimension name: a literal, or one from a variable, a container or a tensor."""
        if self.rng.random() < 0.6:
            return repr(name)
        found = [key for key, value in space.items() if isinstance(value, str) and value == name]
        for key, value in self.tensors(space).items():
            if name in value.names:
                found.append(f"{key}.names[{value.names.index(name)}]")
        for key, value in space.items():
            if isinstance(value, (tuple, list)) and name in value and key.isidentifier():
                position = value.index(name)
                found.append(f"{key}[{self.rng.choice((position, position - len(value)))}]")
            elif isinstance(value, dict):
                found += [
                    f"{key}[{k!r}]" for k, v in value.items() if isinstance(v, str) and v == name
                ]
            elif hasattr(value, "__dict__") and not isinstance(value, (type, self.tensor)):
                fields = getattr(value, "__dict__", {})
                found += [
                    f"{key}.{k}" for k, v in fields.items() if isinstance(v, str) and v == name
                ]
        found.append(f"f'{{{name!r}}}'" if self.rng.random() < 0.3 else f"{name!r}.upper()")
        return self.rng.choice(found)

    def dim(self, tensor: Any, space: Namespace, *, names: bool = True) -> str | None:
        """A dimension of a tensor, by name or by index."""
        if not tensor.dim():
            return None
        position = self.rng.randrange(tensor.dim())
        name = tensor.names[position]
        if names and name is not None and self.rng.random() < 0.7:
            return self.name(name, space)
        return str(self.rng.choice((position, position - tensor.dim())))

    def operation(self, text: str, tensor: Any, space: Namespace) -> str:
        """Some operation on the tensor that `text` evaluates to."""
        for _ in range(10):
            draw = self.rng.choices(self._kinds, self._weights)[0][1]
            found = draw(text, tensor, space)
            if found is not None:
                return found
        return f"{text}.abs()"

    def other(self, space: Namespace, suits: Callable[[Any], bool]) -> str | None:
        """A variable with a tensor of a certain kind."""
        found = [key for key, value in self.tensors(space).items() if suits(value)]
        return self.rng.choice(found) if found else None

    def _unary(self, text: str, tensor: Any, space: Namespace) -> str | None:
        choice = self.rng.random()
        if choice < 0.2:
            form = self.rng.choice(
                ("-{}", "abs({})", "{} * 2", "1 - {}", "{} ** 2", "+{}", "({} > 0)")
            )
            return form.format(_wrapped(text))
        name = self.rng.choice(_UNARY)
        if choice < 0.5 and name not in ("double", "float", "contiguous", "requires_grad_"):
            return f"torch.{name}({text})"
        return f"{_wrapped(text)}.{name}()"

    def _reduction(self, text: str, tensor: Any, space: Namespace) -> str | None:
        if self.rng.random() < 0.08:
            return f"{_wrapped(text)}.{self.rng.choice(('sum', 'mean', 'max'))}()"
        dim = self.dim(tensor, space)
        if dim is None:
            return None
        name = self.rng.choice(_REDUCTIONS)
        present = [n for n in tensor.names if n]
        if name not in ("prod",) and len(present) > 1 and self.rng.random() < 0.3:
            dim = self.names(self.rng.sample(present, 2), space)
        keep = self.rng.choice(("", "", ", keepdim=True"))
        form = self.rng.choice(("{0}.{1}({2}{3})", "{0}.{1}(dim={2}{3})", "torch.{1}({0}, {2}{3})"))
        return form.format(_wrapped(text), name, dim, keep)

    def _selection(self, text: str, tensor: Any, space: Namespace) -> str | None:
        dim = self.dim(tensor, space)
        if dim is None:
            return None
        name = self.rng.choice(_SELECTIONS)
        first = "1, " if name == "kthvalue" else ""
        part = self.rng.choice(("[0]", ".values", ".indices"))
        keep = self.rng.choice(("", "", ", keepdim=True"))
        return f"{_wrapped(text)}.{name}({first}{dim}{keep}){part}"

    def _scan(self, text: str, tensor: Any, space: Namespace) -> str | None:
        dim = self.dim(tensor, space)
        if dim is None:
            return None
        form = self.rng.choice(("{0}.{1}({2})", "torch.{1}({0}, {2})", "torch.{1}({0}, dim={2})"))
        return form.format(_wrapped(text), self.rng.choice(_SCANS), dim)

    def _transposition(self, text: str, tensor: Any, space: Namespace) -> str | None:
        if tensor.dim() < 2:
            return None
        if tensor.dim() == 2 and self.rng.random() < 0.3:
            return f"{_wrapped(text)}.t()"
        if self.rng.random() < 0.2:
            return f"{_wrapped(text)}.mT"
        first, second = self.rng.sample(range(tensor.dim()), 2)
        a, b = tensor.names[first], tensor.names[second]
        if a and b and self.rng.random() < 0.6:
            return f"{_wrapped(text)}.transpose({self.name(a, space)}, {self.name(b, space)})"
        return f"{_wrapped(text)}.transpose({first}, {second - tensor.dim()})"

    def _renaming(self, text: str, tensor: Any, space: Namespace) -> str | None:
        text = _wrapped(text)
        free = [name for name in NAMES if name not in tensor.names]
        present = [name for name in tensor.names if name]
        if not present:
            if not tensor.dim():
                return None
            chosen = self.rng.sample(NAMES, tensor.dim())
            if tensor.dim() > 1 and self.rng.random() < 0.3:
                return f"{text}.refine_names({self.name(chosen[0], space)}, ...)"
            method = self.rng.choice(("refine_names", "rename"))
            return f"{text}.{method}({self._starred(self.names(chosen, space))})"
        kind = self.rng.choice(("one", "one", "none", "all", "same", "dots", "mapping"))
        if kind == "one" and free:
            return f"{text}.rename({self.rng.choice(present)}={self.name(free[0], space)})"
        if kind == "mapping" and free:
            old = self.name(self.rng.choice(present), space)
            return f"{text}.rename(**{{{old}: {self.name(free[-1], space)}}})"
        if kind == "none" and self.rng.random() < 0.5:
            return f"{text}.rename(None)"
        if kind == "dots":
            return f"{text}.refine_names(..., {self.name(tensor.names[-1] or free[0], space)})"
        if kind == "same" and all(tensor.names):
            return f"{text}.refine_names({self._starred(self.names(tensor.names, space))})"
        chosen = self.rng.sample(NAMES, tensor.dim())
        return f"{text}.rename({self._starred(self.names(chosen, space))})"

    def _alignment(self, text: str, tensor: Any, space: Namespace) -> str | None:
        text = _wrapped(text)
        present = [name for name in tensor.names if name]
        if not present:
            return None
        if self.rng.random() < 0.4:
            other = self.other(space, lambda o: set(present) <= set(o.names) and all(tensor.names))
            return other and f"{text}.align_as({other})"
        if self.rng.random() < 0.5:
            picked = self.name(self.rng.choice(present), space)
            return f"{text}.align_to({self.rng.choice((f'{picked}, ...', f'..., {picked}'))})"
        if not all(tensor.names):
            return None
        free = [name for name in NAMES if name not in present]
        order = self.rng.sample(present, len(present)) + self.rng.sample(
            free, self.rng.choice((0, 0, 1))
        )
        return f"{text}.align_to({self._starred(self.names(order, space))})"

    def _flattening(self, text: str, tensor: Any, space: Namespace) -> str | None:
        text = _wrapped(text)
        free = [name for name in NAMES if name not in tensor.names]
        big = [n for n, size in zip(tensor.names, tensor.shape, strict=True) if n and size % 2 == 0]
        if big and len(free) > 1 and self.rng.random() < 0.4:
            half = tensor.size(big[0]) // 2
            pairs = f"(({self.name(free[0], space)}, 2), ({self.name(free[1], space)}, {half}))"
            return f"{text}.unflatten({self.name(big[0], space)}, {pairs})"
        runs = [i for i in range(tensor.dim() - 1) if tensor.names[i] and tensor.names[i + 1]]
        if not runs or not free:
            return None
        start = self.rng.choice(runs)
        pair = tensor.names[start : start + 2]
        out = self.name(self.rng.choice((free[0], pair[0])), space)
        if self.rng.random() < 0.5:
            return f"{text}.flatten({self.names(pair, space)}, {out})"
        return f"{text}.flatten({self.name(pair[0], space)}, {self.name(pair[1], space)}, {out})"

    def _index(self, text: str, tensor: Any, space: Namespace) -> str | None:
        if not tensor.dim():
            return None
        text = _wrapped(text)
        kind = self.rng.choice(
            ("item", "part", "dots", "select", "narrow", "unbind", "squeeze", "mixed")
        )
        if kind == "item":
            return f"{text}[{self.rng.choice((0, -1))}]"
        if kind == "part":
            return f"{text}[{self.rng.choice((':1', '1:', ':', '::2', ':-1'))}]"
        if kind == "dots":
            return f"{text}[..., {self.rng.choice(('0', ':1', '-1'))}]"
        if kind == "mixed" and tensor.dim() > 1:
            return (
                f"{text}[{self.rng.choice(('0, :', ':, 0', ':1, 1:', '..., 0, :', ':, -1, ...'))}]"
            )
        dim = self.dim(tensor, space, names=kind in ("select", "unbind", "squeeze"))
        if kind == "narrow":
            return f"{text}.narrow({dim}, 0, 1)"
        if kind == "unbind":
            return f"{text}.unbind({dim})[0]"
        if kind == "squeeze":
            ones = [
                n for n, size in zip(tensor.names, tensor.shape, strict=True) if n and size == 1
            ]
            return f"{text}.squeeze({self.name(ones[0], space) if ones else ''})"
        return f"{text}.select({dim}, 0)"

    def _parts(self, text: str, tensor: Any, space: Namespace) -> str | None:
        if not tensor.dim() or not all(tensor.shape):
            return None
        position = self.rng.randrange(tensor.dim())
        form = self.rng.choice(("{}.chunk(2, {})[-1]", "{}.split(1, {})[0]", "{}.unbind({})[-1]"))
        return form.format(_wrapped(text), position)

    def _scalar(self, text: str, tensor: Any, space: Namespace) -> str | None:
        text = _wrapped(text)
        size = f"{text}.shape[0]" if tensor.dim() else "3"
        return f"{text} {self.rng.choice('+*-/')} {self.rng.choice(('1', '2.5', size))}"

    def _binary(self, text: str, tensor: Any, space: Namespace) -> str | None:
        other = self.other(space, lambda o: _broadcasts(tensor, o))
        if other is None:
            return None
        if self.rng.random() < 0.6:
            return f"({text} {self.rng.choice(_OPERATORS)} {other})"
        name = self.rng.choice(_FUNCTIONS)
        if self.rng.random() < 0.5:
            return f"torch.{name}({text}, {other})"
        return f"{_wrapped(text)}.{name}({other})"

    def _product(self, text: str, tensor: Any, space: Namespace) -> str | None:
        if not tensor.dim():
            return None

        def suits(other: Any) -> bool:
            if not other.dim() or other.dtype != tensor.dtype:
                return False
            inner = other.shape[-2] if other.dim() > 1 else other.shape[0]
            return bool(
                tensor.shape[-1] == inner and len({*tensor.names, *other.names} - {None}) > 1
            )

        other = self.other(space, suits)
        if other is None:
            return None
        form = self.rng.choice(("({} @ {})", "torch.matmul({}, {})", "torch.mm({}, {})"))
        if tensor.dim() == 2 and self.rng.random() < 0.2:
            form = "torch.mm({}, {}.t())"
        return form.format(text, other)

    def _joining(self, text: str, tensor: Any, space: Namespace) -> str | None:
        dim = self.dim(tensor, space)
        other = self.other(
            space, lambda o: bool(o.shape == tensor.shape and o.names == tensor.names)
        )
        if dim is None or other is None:
            return None
        form = self.rng.choice(("torch.cat([{0}, {1}], {2})", "torch.cat(({0}, {1}), dim={2})"))
        return form.format(text, other, dim)

    def _mask(self, text: str, tensor: Any, space: Namespace) -> str | None:
        mask = self.other(space, lambda o: str(o.dtype) == "torch.bool" and _broadcasts(tensor, o))
        mask = mask or f"({text} > 0)"
        form = self.rng.choice(
            ("{}.masked_fill({}, 0.0)", "{}.masked_fill({}, 1)", "{}.masked_select({})")
        )
        return form.format(_wrapped(text), mask)

    def _like(self, text: str, tensor: Any, space: Namespace) -> str | None:
        return f"torch.{self.rng.choice(_LIKES)}({text})"

    def _conversion(self, text: str, tensor: Any, space: Namespace) -> str | None:
        """A tensor with another dtype, device or memory order."""
        dtype, other = self.rng.choice(_DTYPES), self.other(space, lambda found: True)
        forms = [
            "{0}.{1}()",
            "{0}.to(torch.{2})",
            "{0}.to(dtype=torch.{2}, device='cpu')",
            "{0}.to({3})",
            "{0}.to({3}.dtype)",
            "{0}.type_as({3})",
            "{0}.to(device={3}.device)",
            "torch.zeros_like({0}, dtype=torch.{2})",
            "{0}.clone(memory_format=torch.contiguous_format)",
            "{0}.contiguous()",
            "{0}.sum(dtype=torch.{2})",
            "{0}.to('meta')",
            "{0}.to({3}, copy=True)",
            "{0}.to(device={3}.device, dtype=torch.{2})",
            "{0}.new_zeros(2)",
            "{0}.new_ones((3,), device='meta')",
        ]
        if tensor.dim() == 4:
            forms.append("{0}.contiguous(memory_format=torch.channels_last)")
        conversion = self.rng.choice(_CONVERSIONS)
        return self.rng.choice(forms).format(_wrapped(text), conversion, dtype, other)

    def _expansion(self, text: str, tensor: Any, space: Namespace) -> str | None:
        sizes = ", ".join(map(str, tensor.shape))
        form = self.rng.choice(
            ("{0}.expand(2, {1})", "{0}.expand({1})", "{0}.clamp(min=0)", "{0}.expand_as({0})")
        )
        return form.format(_wrapped(text), sizes) if sizes else None

    def _functional(self, text: str, tensor: Any, space: Namespace) -> str | None:
        dim = self.dim(tensor, space)
        if dim is None:
            return None
        form = self.rng.choice(
            (
                "F.softmax({0}, dim={1})",
                "F.relu({0})",
                "F.dropout({0}, 0.5)",
                "nn.ReLU()({0})",
                "nn.Softmax(dim={1})({0})",
                "F.log_softmax({0}, {1})",
                "nn.Dropout(p=0.1)({0})",
            )
        )
        return form.format(text, dim)


def _wrapped(text: str) -> str:
    """The text in a form that a dot may follow."""
    simple = text.isidentifier() or (text[0].isalpha() and text[-1] in ")]" and _closed(text))
    return text if simple or (text[0] == "(" and _closed(text)) else f"({text})"


def _closed(text: str) -> bool:
    """Whether no operator is outside of brackets."""
    depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if not depth and (sign in "+-*/@<>=" or sign == " "):
            return False
    return True


def _broadcasts(left: Any, right: Any) -> bool:
    """Whether the sizes and names of two tensors can be broadcast."""
    pairs = zip(
        zip(reversed(left.shape), reversed(left.names), strict=True),
        zip(reversed(right.shape), reversed(right.names), strict=True),
        strict=False,
    )
    return all(
        (a == b or 1 in (a, b)) and (m is None or n is None or m == n) for (a, m), (b, n) in pairs
    )
