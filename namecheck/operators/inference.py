"""Infers the result of a call from the row of its operator and the rule that the row names.

In-place and ``out=`` semantics live here, once (name_inference.rst, "out function and in-place
variants"; docs/semantics.md, "Where 2.12.1 differs", 6 and 7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, reduce
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.devices import META, may_be_meta
from namecheck.core.dims import Dims, join_dims, of_rank, with_occurrences
from namecheck.core.dtypes import STANDARD, Defaults
from namecheck.core.findings import is_of_attributes, is_of_dtypes, is_of_sizes
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.core.parameters import REQUIRED
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Many, Tensor, join
from namecheck.effects import attributes, dtype
from namecheck.effects.words import Parameter, Signature
from namecheck.operators import signatures
from namecheck.operators.row import Operator
from namecheck.operators.shipped import fault
from namecheck.operators.tables import table
from namecheck.rules import dim_map, refusals, registry
from namecheck.rules.broadcasting import broadcast


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operator: its key, its form (a letter, or any), whether it is in place."""

    operator: str
    form: str
    inplace: bool


@dataclass(frozen=True, slots=True)
class Inference:
    """The inferred result of a call.

    `result` is a Tensor, a tuple of tensors (`fields` names its parts), or another value. `after`
    maps an argument (0 for the first positional one, or a keyword) to its tensor after the call
    (for a tuple of tensors, a tuple). After a `contradiction` the result is UNKNOWN, as it is where
    the call fits no signature of the table (`fits` is False). `may_be_input` is whether the result
    may be the input itself.
    """

    result: Any
    after: Mapping[int | str, Any] = field(default_factory=dict)
    contradiction: Contradiction | None = None
    fields: tuple[str, ...] = ()
    fits: bool = True
    may_be_input: bool = False


def infer(
    operator: str,
    *args: Any,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    defaults: Defaults | None = STANDARD,
    out_is_input: Answer = Answer.NO,
    **kwargs: Any,
) -> Inference:
    """Infer the result of a call of `operator`, from the table and its rule.

    `defaults` are the default dtype and device; with None no attribute is checked or inferred.
    `out_is_input` is whether a tensor passed as ``out=`` is one of the inputs itself.

    `operator` is a key of the table, with a trailing underscore for the in-place form. Qualified
    as ``torch.x`` or ``Tensor.x`` it means the function or the method alone, where they differ.
    Arguments are `Tensor`, `Many`, `Constant`, plain Python values, or UNKNOWN.
    """
    rows = table() if rows is None else rows
    form, key = _form(operator)
    row, inplace = _find(key, rows)
    out = None if out_is_input is Answer.NO else kwargs.get("out")
    is_elementwise = registry.traits_of(row.names).aligns == "broadcast"
    resizes_input = out is not None and not (
        is_elementwise or _writes_to_its_only_input(row, args, kwargs, out_is_input)
    )
    try:
        inference = _apply(row, Call(key, form, inplace), args, kwargs, semantics, defaults)
        if resizes_input and not _keeps_shape(out, inference):
            return _of_resized_input(out)
        if out_is_input is Answer.YES and is_elementwise and row.out != "takes late":
            inference = _of_unresized_input(out, inference)
        refusals.check_results((inference.result, *inference.after.values()), semantics)
        return inference
    except signatures.Unbound:
        return _of_unknown(row, inplace, args, kwargs)
    except Contradiction as contradiction:
        if resizes_input and is_of_sizes(contradiction.code) and contradiction.code != _UNRESIZED:
            return _of_resized_input(out)
        arguments = (*args, *kwargs.values())
        on_meta = partial(_may_be_meta, if_unknown=defaults is not None and defaults.meta)
        if _is_unchecked_on_meta(contradiction, row, inplace=inplace) and _has_tensor(
            arguments, on_meta
        ):
            return _of_unknown(row, inplace, args, kwargs)
        if defaults is not None and is_of_attributes(contradiction.code):
            # Names and sizes are checked first, those of the target included.
            plain = infer(
                operator,
                *args,
                semantics=semantics,
                rows=rows,
                defaults=None,
                out_is_input=out_is_input,
                **kwargs,
            )
            if plain.contradiction is not None:
                return plain
            if is_of_dtypes(contradiction.code) and _has_tensor(arguments, _is_empty):
                return plain  # many operators return before they look for a kernel
        misspelling = dtype.misspelt(key, kwargs) if contradiction.code == "NC114" else None
        return Inference(UNKNOWN, contradiction=misspelling or contradiction.alone())


def _of_unknown(
    row: Operator, inplace: bool, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Inference:
    """A call of which nothing is known but what it may write to."""
    mutations: dict[int | str, Any] = {}
    if "out" in kwargs:
        mutations["out"] = _forgotten(kwargs["out"])
    if inplace and (receiver := _receiver(row, args, kwargs)):
        passed_as, mutated = receiver
        mutations[passed_as] = _forgotten(mutated)
    return Inference(UNKNOWN, mutations, fits=False)


def _writes_to_its_only_input(
    row: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any], out_is_input: Answer
) -> bool:
    """Whether ``out=`` is the one tensor whose shape the result has: nothing is resized."""
    inputs = (*args, *(value for key, value in kwargs.items() if key != "out"))
    is_alone = sum(isinstance(value, Tensor) for value in inputs) == 1
    return is_alone and row.names == "keeps_input_names" and out_is_input is Answer.YES


def _of_resized_input(out: Any) -> Inference:
    """A call whose ``out=`` may be an input of another shape than the result.

    Most operators resize it before they check or read the inputs, so that they see the input with
    the shape of the result: they may refuse, accept or compute anything. An elementwise operator
    refuses such an ``out=``.
    """
    return Inference(UNKNOWN, {"out": _forgotten(out)})


def _of_unresized_input(out: Any, inference: Inference) -> Inference:
    """An elementwise call whose ``out=`` is an input, which is refused if it has another shape."""
    written = inference.after.get("out")
    if inference.contradiction is None and isinstance(out, Tensor) and isinstance(written, Tensor):
        try:
            help = "An input is not resized; write to another tensor."
            _check_shape(out.dims, written.dims, "unifies", help)
        except Contradiction as contradiction:
            return Inference(UNKNOWN, {"out": out}, contradiction.alone())
    return inference


def _keeps_shape(out: Any, inference: Inference) -> bool:
    """Whether tensors passed as ``out=`` certainly have the shapes of the results, if any."""
    return inference.contradiction is not None or _have_one_shape(out, inference.after.get("out"))


def _have_one_shape(out: Any, result: Any) -> bool:
    if isinstance(out, (tuple, list)) and isinstance(result, (tuple, list)):
        return all(map(_have_one_shape, out, result))
    return (
        isinstance(out, Tensor)
        and isinstance(result, Tensor)
        and dim_map.same_shape(out.dims, result.dims) is Answer.YES
    )


def _is_unchecked_on_meta(contradiction: Contradiction, row: Operator, *, inplace: bool) -> bool:
    """Whether not all operators check this on the meta device.

    `softmax` and `sort` ignore the dim there, `index_select` the rank, `diagonal_scatter` that two
    dims differ, transposed convolutions the channels, and comparisons in place that the result is
    larger than the tensor. All check what they broadcast, or multiply.
    """
    code = contradiction.code
    if code == "NC201":
        broadcasts = registry.traits_of(row.names).aligns == "broadcast"
        return inplace or not broadcasts or "broadcast shape" in contradiction.message
    return code in ("NC104", "NC203", "NC207") or (code == "NC202" and row.flow != "contracts")


def _has_tensor(value: Any, fits: Callable[[Tensor], bool]) -> bool:
    """Whether an argument is a tensor that fits, or has one in it."""
    if isinstance(value, (tuple, list)):
        return any(_has_tensor(part, fits) for part in value)
    return isinstance(value, Tensor) and fits(value)


def _may_be_meta(tensor: Tensor, *, if_unknown: bool) -> bool:
    return may_be_meta(tensor.device, if_unknown=if_unknown)


def _is_on_meta(tensor: Tensor) -> bool:
    return tensor.device == META


def _is_empty(tensor: Tensor) -> bool:
    """Whether a tensor certainly has no elements."""
    return 0 in tensor.dims.sizes


def parameters(
    operator: str,
    values: Sequence[Any],
    kwargs: Mapping[str, Any],
    rows: Mapping[str, Operator] | None = None,
) -> tuple[list[Parameter | None], dict[str, Parameter]]:
    """The parameter of each argument of a call, by position and by keyword.

    The parameters are those of the first overload that fits; none where no overload fits.
    """
    form, key = _form(operator)
    row, inplace = _find(key, table() if rows is None else rows)
    alternatives = row.alternatives("i" if inplace else form)
    overloads = [signature for _, signature in alternatives]
    keywords = _declared(row, kwargs)
    try:
        [binding, *_] = signatures.bind(key, overloads, values, keywords, by_name=True)
    except (signatures.Unbound, Contradiction):
        return [None] * len(values), {}
    return signatures.places(overloads[binding.overload], len(values), kwargs)


def _find(operator: str, rows: Mapping[str, Operator]) -> tuple[Operator, bool]:
    key = operator if operator in rows else operator.removesuffix("_")
    return rows[key], is_in_place(operator)


@cache
def is_in_place(operator: str) -> bool:
    """Whether the name of an operator is that of a call in place, and of no special method."""
    special = operator.startswith("__") and operator.endswith("__") and not operator.endswith("___")
    return operator.endswith("_") and not special


def row_of(operator: str, rows: Mapping[str, Operator] | None = None) -> Operator | None:
    """The row of an operator or of its in-place form; None where there is none."""
    try:
        return _find(key_of(operator), table() if rows is None else rows)[0]
    except KeyError:
        return None


def key_of(operator: str) -> str:
    """The key of an operator that may be qualified, as ``torch.x`` or ``Tensor.x``."""
    return _form(operator)[1]


@cache
def _form(operator: str) -> tuple[str, str]:
    """The form of a qualified operator, as a letter, and its key."""
    for prefix, letter in (("torch.", "f"), ("Tensor.", "m")):
        if operator.startswith(prefix):
            return letter, operator.removeprefix(prefix)
    return "", operator


def _apply(
    row: Operator,
    call: Call,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    semantics: Semantics,
    defaults: Defaults | None,
) -> Inference:
    native = semantics is Semantics.NATIVE
    name = row.native_rule if native else row.names
    if name == "unknown" and not row.params:
        return Inference(UNKNOWN)
    rule = _unknown if name == "unknown" else _rule(name, row)
    keywords = _declared(row, kwargs)
    out = kwargs.get("out") if "o" in row.forms else None
    settings, args, keywords = _settings(row, call, args, keywords)
    if call.inplace and not (row.key.endswith("_") or {*row.forms} & {*"ij"}):
        raise signatures.Unbound
    receiver = _receiver(row, args, kwargs) if call.inplace else None
    target = receiver[1] if receiver else UNKNOWN if call.inplace else out
    alternatives = row.alternatives("i" if call.inplace else call.form) or (
        (0, signatures.of(rule)),
    )
    bindings = signatures.bind(
        call.operator,
        [signature for _, signature in alternatives],
        args,
        keywords if "o" in row.forms or row.ctor else kwargs,
        by_name=not native,
    )
    answers: list[Any] = []
    for binding in bindings:
        overload, signature = alternatives[binding.overload]
        try:
            read = signatures.read(signature, binding.arguments)
            arguments = {**row.constants, **settings, **dict(reversed(read.items()))}
            if native:
                aten = row.refused_as(overload, inplace=call.inplace, out=out is not None)
                if isinstance(out, Unknown) and not row.refused_as(
                    overload, inplace=call.inplace, out=False
                ):
                    aten = ""
                refusals.refuse_named(aten, [*arguments.values(), out])
                row.refuse_natively(arguments)
            answer = _wrap(registry.called(rule, arguments))
            if native:
                row.refuse_natively({**arguments, "result": answer}, rule_accepts=True)
            answers.append(
                attributes.attributed(answer, row.effects(overload), arguments, defaults, target)
            )
        except Contradiction as contradiction:
            answers.append(contradiction.alone())
    result = _common(answers)
    if isinstance(result, registry.Writes):
        return _with_effects(result, alternatives[bindings[0].overload][1], args)
    if call.inplace:
        return _in_place(row, result, *receiver, native=native) if receiver else Inference(UNKNOWN)
    passed_on = None if out is not None or not row.declares_out else kwargs.get("out")
    if passed_on is not None and isinstance(result, Tensor):
        # A function in Python writes to this tensor, and returns it (F.normalize); of a number
        # torch makes a tensor.
        written = Tensor(result.dims)
        is_number = isinstance(passed_on, (int, float, complex))
        return Inference(written, {} if is_number else {"out": written}, fields=row.returns)
    if out is not None:
        inputs = [value for key, value in bindings[0].arguments.items() if key != "out"]
        return _into_out(row, result, out, refusals.has_named(inputs))
    return Inference(result, fields=row.returns, may_be_input=bool(row.may_be))


def _rule(name: str, row: Operator) -> registry.Rule:
    rule = registry.find(name)
    if rule is None:
        registry.load()  # where a section cannot be imported, that is the error
        raise fault(row.key, f"there is no rule '{name}'")
    return rule


def _declared(row: Operator, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that the row declares; ``out=`` need not be among them."""
    return {key: value for key, value in kwargs.items() if key != "out" or row.declares_out}


def _settings(
    row: Operator, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]:
    """The arguments of the constructor of a layer, and those of its call.

    The arguments of the call start at the first tensor. A keyword belongs to the constructor if
    that has a parameter of this name, or if it accepts any keyword and the call has no such
    parameter.
    """
    if not row.ctor:
        return {}, args, kwargs
    signature = row.constructor
    tensors = [n for n, value in enumerate(args) if isinstance(value, (Tensor, Many))]
    needed = [
        p
        for p in row.signatures[0]
        if not p.variadic and p.default is REQUIRED and p.name not in kwargs
    ]
    cut = min([*tensors[:1], max(len(args) - len(needed), 0)])
    named = {parameter.name for parameter in signature}
    called = {parameter.name for parameter in row.signatures[0]}
    takes_any = any(parameter.mapping for parameter in signature)
    chosen = {
        key: value
        for key, value in kwargs.items()
        if key in named or (takes_any and key not in called)
    }
    rest = {key: value for key, value in kwargs.items() if key not in chosen}
    [made] = signatures.bind(call.operator, [signature], args[:cut], chosen, by_name=True)
    return signatures.read(signature, made.arguments), args[cut:], rest


def _with_effects(
    rule_answer: registry.Writes, signature: Signature, args: tuple[Any, ...]
) -> Inference:
    """The result of a rule that changes arguments itself, mapped to how each was passed."""
    positions = {parameter.name: index for index, parameter in enumerate(signature)}
    mutations: dict[int | str, Any] = {}
    for name, dims in rule_answer.after.items():
        mutations[positions[name] if positions[name] < len(args) else name] = Tensor(dims)
    return Inference(_wrap(rule_answer.result), mutations)


def _unknown() -> Unknown:
    return UNKNOWN


def _common(answers: list[Any]) -> Any:
    """The least upper bound of all alternatives of a call; a contradiction if each has one."""
    if all(isinstance(answer, Contradiction) for answer in answers):
        raise answers[0]
    if all(isinstance(answer, Tensor) for answer in answers):
        return reduce(join, answers)
    return answers[0] if all(answer == answers[0] for answer in answers) else UNKNOWN


def _wrap(answer: Any) -> Any:
    if isinstance(answer, Dims):
        # Where not all names are known, an unknown one may be this axis.
        return Tensor(with_occurrences(answer) if answer.complete else answer)
    if isinstance(answer, (tuple, list)):
        return type(answer)(_wrap(part) for part in answer)
    return answer


def _receiver(
    row: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[int | str, Any] | None:
    """The argument that an in-place call writes to, and how it is passed.

    It is the first argument, which may be passed by keyword. None where it is not among what is
    known of the call.
    """
    if args:
        return 0, args[0]
    signature = row.signatures[0] if row.signatures else ()
    _, by_keyword = signatures.places(signature, 0, kwargs)
    for keyword, parameter in by_keyword.items():
        if parameter is signature[0]:
            return keyword, kwargs[keyword]
    return None


def _in_place(
    row: Operator, result: Any, passed_as: int | str, mutated: Any, *, native: bool
) -> Inference:
    """The receiver of an in-place call, the `mutated` tensor, after the call.

    By the specification it takes the computed names; in native torch it must be unnamed or have
    them.
    """
    if not isinstance(mutated, Tensor):
        mutated = Tensor()
    if row.inplace == "keeps":
        return Inference(mutated, {passed_as: mutated})
    if not isinstance(result, Tensor):
        return Inference(UNKNOWN, {passed_as: _forgotten(mutated)})
    if row.inplace != "becomes":
        _check_shape(mutated.dims, result.dims, row.inplace)
        if native:
            result = replace(result, dims=dim_map.take_names(mutated.dims, result.dims))
        result = replace(result, dims=dim_map.of_rank_as(result.dims, mutated.dims))
    result = attributes.written_to(mutated, result, moved=row.inplace == "becomes")
    return Inference(result, {passed_as: result})


_UNSHAPED: Final = (
    "An in-place call cannot change the shape; use the call that returns a new tensor."
)


def _check_shape(own_dims: Dims, result: Dims, word: str, help: str = _UNSHAPED) -> None:
    """Refuse an in-place result of another shape than the receiver's (recorded: add_, addmm_)."""
    if dim_map.same_shape(own_dims, result) is not Answer.NO:
        return
    shapes = dim_map.show_sizes(own_dims), dim_map.show_sizes(result)
    if word == "contracts":
        text = "Bad in-place call: input tensor size {} and output tensor size {} should match"
    else:
        text = "output with shape {} doesn't match the broadcast shape {}"
    raise Contradiction(
        "NC201",
        text.format(*shapes),
        help=help,
    )


def _into_out(row: Operator, result: Any, out: Any, inputs: Answer) -> Inference:
    """The tensors passed as ``out=`` after the call, one after the other.

    On the meta device some operators neither resize nor return them.
    """
    if isinstance(result, Unknown) or _has_tensor(out, _is_on_meta):
        return Inference(UNKNOWN, {"out": _forgotten(out)})
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) > 1 and isinstance(out, Tensor):
        raise Contradiction(
            "NC114",
            f"{row.key}(): argument 'out' must be tuple of Tensors, not Tensor",
            error="TypeError",
            help="Give a tensor for each result.",
        )
    outs = out if isinstance(out, (tuple, list)) else (out,) * len(results)
    if len(outs) != len(results):
        raise Contradiction(
            "NC114",
            f"{row.key}(): out= takes {len(results)} tensors, not {len(outs)}",
            error="TypeError",
            help="Give a tensor for each result.",
        )
    filled: list[Any] = []
    try:
        for target, computed in zip(outs, results, strict=False):
            stored = _stored(row, _tensor(target), _tensor(computed), inputs)
            filled.append(attributes.written_to(_tensor(target), stored))
    except Contradiction as contradiction:
        mutations: dict[int | str, Any] = {}
        if filled:
            mutations["out"] = (*filled, *map(_tensor, outs[len(filled) :]))
        elif row.out == "reshapes" and contradiction.code != _UNRESIZED:
            mutations["out"] = _forgotten(out)  # it already has its new shape
        return Inference(UNKNOWN, mutations, contradiction.alone())
    several = result if isinstance(out, (Unknown, Many)) else out
    single = not isinstance(several, (tuple, list))
    value = filled[0] if single else tuple(filled)
    return Inference(value, {"out": value}, fields=row.returns)


_UNRESIZED: Final = "NC205"


def _forgotten(out: Any) -> Any:
    """Tensors whose dims and memory order become unknown."""
    if isinstance(out, (tuple, list)):
        return tuple(map(_forgotten, out))
    return out.of_any_dims() if isinstance(out, Tensor) else out


def _same_rank(left: Dims, right: Dims) -> bool:
    return left.rank is None or of_rank(right, left.rank) is not None


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor()


def _stored(row: Operator, out: Tensor, computed: Tensor, inputs: Answer) -> Tensor:
    """One ``out=`` tensor after the call; `inputs` is whether the inputs have names."""
    if row.out == "abandoned":
        return replace(computed, dims=_abandoned(out.dims, computed.dims))
    shaped = row.out not in _RESHAPING
    unnamed_reshape = row.out == "reshapes" and inputs is Answer.NO
    if shaped or (unnamed_reshape and not _same_rank(out.dims, computed.dims)):
        dim_map.check_resize(out.dims, computed.dims)
    if row.out == "reshapes" and computed.dims.rank == 0:
        return computed
    keeps_shape = dim_map.same_shape(out.dims, computed.dims)
    may_be_resized = keeps_shape is not Answer.YES and not dim_map.has_label(out.dims)
    if may_be_resized and keeps_shape is Answer.NO:
        return computed  # an annotation was of the former dims
    dims = _unresized(row, out.dims, computed.dims, inputs)
    return replace(computed, dims=join_dims(dims, computed.dims) if may_be_resized else dims)


def _unresized(row: Operator, out_dims: Dims, computed: Dims, inputs: Answer) -> Dims:
    """The dims of an ``out=`` tensor that has the shape of the result, with the names it gets."""
    named = out_dims.named()
    keeps = row.out == "keeps" or (row.out in _CONTRACTING and inputs is not Answer.YES)
    if keeps and named is Answer.YES:
        renamed = dim_map.renamed_as(computed, out_dims)
        annotated = any(isinstance(name, naming.Axis) for name in out_dims.names)
        if inputs is Answer.MAYBE and row.out != "keeps" and annotated:
            return join_dims(renamed, computed)  # an axis may name an unnamed dim
        return renamed
    dims = computed
    if keeps and named is Answer.MAYBE:
        dims = _perhaps_renamed_as(dims, out_dims)
    if named is Answer.YES and row.out == "unifies":
        dims = broadcast(dims, out_dims)
    dims = dim_map.take_names(out_dims, dims)
    has_own_rank = named is Answer.YES and row.out not in _RESHAPING
    return dim_map.of_same_rank(dims, out_dims) if has_own_rank else dims


def _perhaps_renamed_as(dims: Dims, model: Dims) -> Dims:
    """The dims under their own names, or under those of `model`, which may have some."""
    if dims.rank is None:
        return dims.mapped(lambda dim: replace(dim, name=UNKNOWN))
    return join_dims(dims, dim_map.renamed_as(dims, model))


def _abandoned(own_dims: Dims, computed: Dims) -> Dims:
    """A vector written over a tensor of any shape, whose first name is kept (recorded)."""
    named = own_dims.named()
    own = own_dims[0].name
    first = own if named is Answer.YES else naming.join(computed[0].name, own)
    return computed if named is Answer.NO else computed.rename([first])


# Operators that give ``out=`` a new shape before they look at its names (recorded).
_RESHAPING: Final = frozenset({"reshapes", "resized"})

# A contraction without named inputs keeps the names of `out` (recorded: mm).
_CONTRACTING: Final = frozenset({"contracts", "reshapes", "unifies"})
