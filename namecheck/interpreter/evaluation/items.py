"""Items and iteration of abstract values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from namecheck.core.dataclasses import replace
from namecheck.core.sizes import symbol
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import class_lookup, identities, joins, limits
from namecheck.interpreter.domain.addresses import Submodules
from namecheck.interpreter.domain.provenance import Attribute, Item, Result, UnmeantTensor
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    External,
    FunctionValue,
    Generator,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    SliceValue,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
    size_of,
    sized,
)
from namecheck.interpreter.evaluation import shape_tests
from namecheck.interpreter.evaluation.attributes import DICTS
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

_SOMEWHERE: Final = sized(symbol("?"))
# How many dims a tensor is taken to have of which the code reads so many sizes at once.
_FEW: Final = 6


class Items:
    """Reads, writes and iterates the items of values."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def read(self, value: Value, index: Value, node: Node, store: Store, frame: Frame) -> Value:
        """``value[index]``."""
        if isinstance(value, TensorValue):
            operands = [(getattr(node, "value", node), value)]
            return self.interpreter.torch.call(
                "__getitem__", [value, _index(index)], {}, node, store, frame, operands
            )
        if isinstance(value, Opaque) and self._is_of_tensor(value, index, node, frame):
            tensor_value = self.interpreter.torch.promote(value, store)
            return self.read(tensor_value, index, node, store, frame)
        item = self._of_no_tensor(value, index, node, store, frame)
        # On another path the value may be a tensor, which this one does not contradict.
        self.interpreter.findings.judged.hear(frame.environment.number, node)
        return item

    def _of_no_tensor(
        self, value: Value, index: Value, node: Node, store: Store, frame: Frame
    ) -> Value:
        """The item of what is no tensor, as far as is known."""
        if isinstance(value, (TupleValue, ListValue, Repeated)):
            return self._item_of(value, index, store)
        if isinstance(value, DictValue):
            return self._entry(value, index, node, store, frame)
        if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
            return self._item_of_text(value, index)
        if isinstance(value, Instance):
            method = class_lookup.method(value, "__getitem__", store)
            if method is not None:
                bound = BoundMethod(method, value)
                return self.interpreter.call_values(bound, [index], node, store, frame)
            own = joins.inherited(value, store)
            missing = class_lookup.method(value, "__missing__", store)
            if missing is not None and isinstance(own, DictValue) and _lacks(own, index, store):
                bound = BoundMethod(missing, value)
                return self.interpreter.call_values(bound, [index], node, store, frame)
            if own is not None:
                part = self.read(own, index, node, store, frame)
                return self._part(value, part, index, store)
        if isinstance(value, Opaque) and isinstance(index, SliceValue):
            return self._sizes(value, index) or self.interpreter.made_of([value], "item")
        if isinstance(value, Opaque) and isinstance(index, (Const, Opaque)):
            if isinstance(index, Const) and type(index.value) is int:
                size = shape_tests.size_at(value.key, index.value)
                if size is not None:
                    return sized(size)
            from namecheck.interpreter.evaluation import written_items  # only for unknown values

            return written_items.read(self.interpreter, value, index, store)
        if isinstance(value, (External, ClassValue)):
            return value  # a generic alias: Batch[int] is Batch
        if isinstance(value, TorchModule):
            return self.interpreter.fresh("layer")
        return self.interpreter.made_of([value], "item")

    def _is_of_tensor(self, opaque: Opaque, index: Value, node: Node, frame: Frame) -> bool:
        """Whether only a tensor has such an index, as the code itself tells."""
        if not self.interpreter.context.evidence.is_observed:
            return False
        from namecheck.interpreter.evaluation import observed_methods  # only where asked for

        return observed_methods.subscripted(opaque, index, node, frame)

    def _sizes(self, all_sizes: Opaque, slice_value: SliceValue) -> TupleValue | None:
        """Some sizes of a tensor of unknown rank: ``x.shape[:2]``; None where they may be fewer.

        Whoever reads two sizes of a tensor takes it to have two dims, which is evidence.
        """
        cut = slice_bounds(slice_value)
        is_observed = self.interpreter.context.evidence.is_observed
        places = (
            None
            if cut is None
            else shape_tests.places_of(all_sizes.key, cut, _FEW if is_observed else 0)
        )
        if places is None:
            return None
        sizes = [(place, shape_tests.size_at(all_sizes.key, place)) for place in places]
        return TupleValue(
            tuple(
                Opaque(Item(all_sizes.key, place, "int")) if size is None else sized(size)
                for place, size in sizes
            )
        )

    def _part(self, value: Instance, part: Value, index: Value, store: Store) -> Value:
        """An item; a slice of a module is a module again."""
        if not isinstance(index, SliceValue) or not self.interpreter.torch_nn.is_module(value):
            return part
        whole = replace(value, address=self.interpreter.new_address())
        joins.inherit(whole, part, store)
        return whole

    def _item_of(
        self, sequence: TupleValue | ListValue | Repeated, index: Value, store: Store
    ) -> Value:
        content: tuple[Value, ...] | Repeated
        if isinstance(sequence, TupleValue):
            content = sequence.items
        else:
            content = joins.items(sequence, store) if isinstance(sequence, ListValue) else sequence
        if isinstance(index, SliceValue):
            return self._slice_of(sequence, content, index, store)
        if isinstance(index, TupleValue):
            return self._no_item_of(sequence)
        if isinstance(content, Repeated):
            return joins.pick(content, identities.of(index, store), store)
        if isinstance(index, Const) and isinstance(index.value, int):
            position = index.value
            if -len(content) <= position < len(content):
                return content[position]
            self.interpreter.fail("IndexError")
        return joins.pick(content, identities.of(index, store), store)

    def _no_item_of(self, sequence: TupleValue | ListValue | Repeated) -> Value:
        """What ``x[:, 0]`` is of a sequence: an error; where it may be something else, unknown."""
        if isinstance(sequence, TupleValue):
            self.interpreter.fail("TypeError")
        return self.interpreter.fresh("item")

    def _slice_of(
        self,
        sequence: TupleValue | ListValue | Repeated,
        content: tuple[Value, ...] | Repeated,
        slice_value: SliceValue,
        store: Store,
    ) -> Value:
        bounds = slice_bounds(slice_value)
        if isinstance(content, Repeated):
            items_between: tuple[Value, ...] | Repeated = content
        elif bounds is not None:
            items_between = content[bounds]
        else:
            items_between = Repeated(joins.either(content, store))
        if isinstance(sequence, ListValue):
            return ListValue(self.interpreter.new_address(), items_between, sequence.kind)
        return items_between if isinstance(items_between, Repeated) else TupleValue(items_between)

    def _item_of_text(self, constant: Const, index: Value) -> Value:
        text_key: Any = None
        if isinstance(index, Const):
            text_key = index.value
        elif isinstance(index, SliceValue):
            text_key = slice_bounds(index)
        try:
            return Const(constant.value[text_key])
        except (TypeError, IndexError, ValueError):
            return self.interpreter.fresh("item", "str")

    def _entry(
        self, dict_value: DictValue, index: Value, node: Node, store: Store, frame: Frame
    ) -> Value:
        content = joins.entries(dict_value, store)
        for key, entry in (*content.items, *content.maybe):
            if key == index:
                return entry
        if _is_constant(index):
            if dict_value.factory is not None and content.unlisted is None:
                created = self._made(dict_value.factory, node, store, frame)
                joins.write(dict_value, store, limits.with_entry(content, index, created, store))
                return created
            if content.unlisted is None:
                if self.interpreter.expects("KeyError", frame):
                    self.interpreter.fail("KeyError")
                return self.interpreter.fresh("entry")
            return joins.pick(Repeated(content.unlisted), index, store)
        choices = [entry for _, entry in content.items]
        choices += [] if content.rest is None else [content.rest]
        if dict_value.factory is not None and content.rest is None:
            choices.append(self._made(dict_value.factory, node, store, frame))
            joins.write(dict_value, store, Entries(content.items, choices[-1]))
        return joins.pick(tuple(choices), identities.of(index, store), store)

    def _made(self, factory: Value, node: Node, store: Store, frame: Frame) -> Value:
        """The value that a defaultdict makes for a missing key."""
        return self.interpreter.call_values(factory, [], node, store, frame)

    def write(
        self,
        target: Value,
        index: Value,
        value: Value,
        node: Node,
        store: Store,
        frame: Frame,
    ) -> None:
        """``target[index] = value``."""
        if isinstance(target, TensorValue):
            operands = [(getattr(node, "value", node), target), (node, value)]
            operand_values = [target, _index(index), value]
            self.interpreter.torch.call(
                "__setitem__", operand_values, {}, node, store, frame, operands[:1]
            )
        elif isinstance(target, DictValue):
            self._write_entry(target, index, value, store)
            if isinstance(target.address, Submodules):
                self.interpreter.torch_nn.on_entry(target.address.module, index, value, store)
        elif isinstance(target, ListValue):
            self._write_list(target, index, value, node, store, frame)
        elif isinstance(target, Instance):
            method = class_lookup.method(target, "__setitem__", store)
            if method is not None:
                bound = BoundMethod(method, target)
                self.interpreter.call_values(bound, [index, value], node, store, frame)
            elif (own := joins.inherited(target, store)) is not None:
                self.write(own, index, value, node, store, frame)
        elif isinstance(target, Opaque) and target.link is not None:
            self.interpreter.havoc_containers(target.link.origins, store)
        elif isinstance(target, Opaque):
            match target.key.provenance:
                case Result("globals", (int() as number,)):
                    if isinstance(index, Const):
                        store.set((number, index.value), value)
                case Attribute(Instance() | TorchModule() as owner, str() as part) if part in DICTS:
                    self.interpreter.set_attribute(owner, index, value, store)
                case _:
                    from namecheck.interpreter.evaluation import written_items

                    written_items.write(self.interpreter, target, index, store)

    def _write_entry(self, dict_value: DictValue, index: Value, value: Value, store: Store) -> None:
        content = joins.entries(dict_value, store)
        if isinstance(index, (Const, TupleValue)):
            joins.write(dict_value, store, limits.with_entry(content, index, value, store))
            return
        join = joins.Joiner(store, store).value
        items = {key: join(entry, value) for key, entry in content.items}
        rest = value if content.rest is None else join(content.rest, value)
        joins.write(dict_value, store, Entries(tuple(items.items()), rest))

    def _write_list(
        self,
        list_value: ListValue,
        index: Value,
        value: Value,
        node: Node,
        store: Store,
        frame: Frame,
    ) -> None:
        content = joins.items(list_value, store)
        if isinstance(index, SliceValue):
            more = self.iterate(value, node, store, frame)
            bounds = slice_bounds(index)
            if isinstance(content, Repeated) or isinstance(more, Repeated) or bounds is None:
                joins.write(list_value, store, Repeated(self.interpreter.fresh("item")))
                return
            items = list(content)
            with suppress(ValueError):  # a slice with a step takes as many items as it has
                items[bounds] = more
            joins.write(list_value, store, tuple(items))
            return
        if isinstance(content, Repeated):
            each = joins.either((content.each, value), store)
            joins.write(list_value, store, Repeated(each))
        elif isinstance(index, Const) and isinstance(index.value, int):
            if -len(content) <= index.value < len(content):
                items = list(content)
                items[index.value] = value
                joins.write(list_value, store, tuple(items))
        else:
            joins.write(list_value, store, Repeated(self.interpreter.fresh("item")))

    def unasked_generator(
        self, value: Value, node: Node, store: Store, frame: Frame
    ) -> Generator | None:
        """The generator behind a value's items, if it was not started yet."""
        if isinstance(value, Instance):
            method = class_lookup.method(value, "__iter__", store)
            if isinstance(method, FunctionValue) and self.interpreter.scope(method.node).generator:
                value = self.interpreter.call_values(
                    BoundMethod(method, value), [], node, store, frame
                )
        if not isinstance(value, Generator):
            return None
        return value if self.interpreter.generators.rest(value, store) is None else None

    def iterate(
        self,
        value: Value,
        node: Node,
        store: Store,
        frame: Frame,
        *,
        whole: bool = True,
    ) -> tuple[Value, ...] | Repeated:
        """The items of a value, or a cover for each of them.

        `whole` says that iteration certainly exhausts it.
        """
        if isinstance(value, Generator):
            return self._generated(value, node, store, frame, whole)
        if isinstance(value, TupleValue):
            return value.items
        if isinstance(value, ListValue):
            content = joins.items(value, store)
            if value.kind == "iterator":
                joins.write(value, store, ())
            return content
        if isinstance(value, Repeated):
            return value
        if isinstance(value, DictValue):
            entries = joins.entries(value, store)
            if entries.rest is None:
                return tuple(key for key, _ in entries.items)
            return Repeated(self.interpreter.fresh("key"))
        if isinstance(value, Const) and isinstance(value.value, str):
            return tuple(Const(letter) for letter in value.value)
        if isinstance(value, TensorValue):
            return self._rows_of(value, node, store, frame)
        if isinstance(value, Instance):
            return self._iterate_instance(value, node, store, frame, whole)
        if isinstance(value, ClassValue) and value.style == "enum":
            return tuple(
                member for name, _ in value.fields if (member := store.get((value.address, name)))
            )
        if isinstance(value, Opaque) and isinstance(value.key.provenance, UnmeantTensor):
            return Repeated(Opaque(UnmeantTensor(self.interpreter.new_address())))
        return Repeated(self.interpreter.made_of([value], "item"))

    def _generated(
        self,
        generator: Generator,
        node: Node,
        store: Store,
        frame: Frame,
        whole: bool,
    ) -> tuple[Value, ...] | Repeated:
        content = self.interpreter.generators.rest(generator, store)
        if content is None:
            ask = (
                self.interpreter.generators.collect if whole else self.interpreter.generators.sample
            )
            content = ask(generator, node, store, frame)
        self.interpreter.generators.keep(
            generator, content if isinstance(content, Repeated) else (), store
        )
        return content

    def _rows_of(
        self, tensor_value: TensorValue, node: Node, store: Store, frame: Frame
    ) -> tuple[Value, ...] | Repeated:
        if not self.interpreter.torch.has("unbind", "m"):
            return Repeated(self.interpreter.fresh("row"))
        rows = self.interpreter.torch.call("unbind", [tensor_value], {}, node, store, frame)
        if isinstance(rows, TupleValue):
            return rows.items
        if isinstance(rows, Repeated):
            return rows
        return Repeated(self.interpreter.fresh("row"))

    def _iterate_instance(
        self, value: Instance, node: Node, store: Store, frame: Frame, whole: bool
    ) -> tuple[Value, ...] | Repeated:
        for name in ("__iter__", "__getitem__"):
            method = class_lookup.method(value, name, store)
            if method is None:
                continue
            if name == "__getitem__":
                index = [self.interpreter.fresh("index", "int")]
                return Repeated(
                    self.interpreter.call_values(
                        BoundMethod(method, value), index, node, store, frame
                    )
                )
            result = self.interpreter.call_values(
                BoundMethod(method, value), [], node, store, frame
            )
            if isinstance(result, Instance):
                step = class_lookup.method(result, "__next__", store)
                if step is None:
                    return Repeated(self.interpreter.fresh("item"))
                bound = BoundMethod(step, result)
                return Repeated(self.interpreter.call_values(bound, [], node, store, frame))
            return self.iterate(result, node, store, frame, whole=whole)
        own = joins.inherited(value, store)
        if own is not None:
            return self.iterate(own, node, store, frame, whole=whole)
        return Repeated(self.interpreter.fresh("item"))


def _is_constant(index: Value) -> bool:
    """Whether a key is a constant, or a tuple of constants: it equals no other one."""
    if isinstance(index, TupleValue):
        return all(map(_is_constant, index.items))
    return isinstance(index, Const)


def _lacks(dict_value: DictValue, index: Value, store: Store) -> bool:
    """Whether a dict certainly has no entry for a key."""
    content = joins.entries(dict_value, store)
    keys = [key for key, _ in content.items]
    constant = isinstance(index, Const) and all(isinstance(key, Const) for key in keys)
    return constant and content.rest is None and index not in keys


def slice_bounds(slice_value: SliceValue) -> slice | None:
    """The slice, where all its parts are constants."""
    parts = (slice_value.lower, slice_value.upper, slice_value.step)
    limits = [part.value for part in parts if isinstance(part, Const)]
    if len(limits) < 3 or not all(isinstance(part, (int, type(None))) for part in limits):
        return None
    if limits[2] == 0:
        return None
    return slice(*limits)


def _index(index: Value) -> Value:
    """An index of a tensor; an int with an unknown value is some position."""
    if isinstance(index, TupleValue):
        return replace(index, items=tuple(map(_index, index.items)))
    if isinstance(index, Opaque) and index.kind == "int" and size_of(index) is None:
        return _SOMEWHERE
    return index
