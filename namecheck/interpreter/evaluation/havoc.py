"""Havoc: makes everything unknown that unknown code may have changed through its arguments.

Unknown code may change lists, dicts and attributes of instances, run generators, and call
functions. Code that is not found may also rename the tensors that it receives, alone or in an
object: their labels become unknown. An axis stays what its annotation declares. A library that is
known to leave torch alone renames nothing, except by code whose name contains ``name``
(``set_names``) or ends in an underscore (``relabel_``): its tensors become unknown.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dim
from namecheck.core.names import UNKNOWN, Axis
from namecheck.core.tensors import Tensor
from namecheck.core.trees import CHANGING, changed_container, nodes
from namecheck.interpreter.domain import class_lookup, joins, merges, opaque_tensors
from namecheck.interpreter.domain.cells import AttributeNames
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Address,
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    External,
    FunctionValue,
    Generator,
    Held,
    Imported,
    Instance,
    ListValue,
    Opaque,
    Partial,
    Repeated,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
    Wrapped,
    each_of,
)
from namecheck.interpreter.evaluation.frames import Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.frames import Call

# The libraries that leave torch alone: they neither patch it, nor rename the tensors that they
# receive. The list has those that code with torch imports most often.
_COMMON: Final = """
PIL absl accelerate aiohttp anndata apex argparse attr attrs ax beartype biotite boto3 botorch bs4
cattrs chex click cloudpickle clip colorama configargparse cv2 cycler dask dataclasses_json datasets
decord deepspeed diffusers dill docopt dotenv einops einx equinox evaluate faiss fairscale fire
flask flax fsspec fvcore gin gpytorch gym gymnasium h5py huggingface_hub hydra hypothesis ignite
imageio ipdb IPython jax jaxlib jaxtyping joblib jsonargparse jsonlines kornia lightning
lightning_fabric linear_operator loguru lpips matplotlib mlflow mpi4py msgpack multiprocess mypy
namecheck nerfacc networkx nibabel nltk numba numexpr numpy omegaconf open_clip openai opt_einsum
optax optuna orjson pandas parameterized peft plotly polars progressbar psutil pyarrow pydantic
pydicom pygame pylab pyro pytest pytest_mock pytorch_lightning pytorch_metric_learning rasterio ray
regex requests rich safetensors scanpy scipy seaborn sentencepiece setuptools shapely simplejson
six skimage sklearn soundfile spacy statsmodels structlog submitit sympy tabulate tensorboard
tensorboardX tensordict tensorflow tensorstore termcolor tifffile tiktoken timm tokenizers toml
tomli torch torch_geometric torchaudio torchdata torcheval torchinfo torchmetrics torchrl
torchsparse torchsummary torchtext torchtyping torchvision tqdm transformer_lens transformers
triton trimesh typeguard typer tyro typing_extensions ujson umap wandb webdataset wget xarray
xformers yaml yacs zarr
"""
_BYSTANDERS: Final = sys.stdlib_module_names | frozenset(_COMMON.split())
# The methods of tensors that are in no table, and rename nothing.
_OF_TENSORS: Final = frozenset({"backward", "register_hook"})
# How deep nested containers are searched.
_DEEP: Final = 3
# How often a function is called: the second call sees the changes of the first.
_CALLS: Final = 2


class Havoc:
    """Makes everything unknown that unknown code may have changed."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._effects: dict[ast.AST, bool] = {}
        self._written: dict[ast.ClassDef, frozenset[str]] = {}
        self._filled: dict[ast.ClassDef, frozenset[str]] = {}
        self._elsewhere: dict[ast.Module, frozenset[str]] = {}

    def arguments(self, call: Call, name: str = "", *, stranger: bool = False) -> None:
        """Apply havoc to the arguments of a call of unknown code; only its name is known.

        What is passed as ``out=`` may get any shape. A `stranger` may also rename tensors.
        `containers` is enough for arguments without instances, generators and functions.
        """
        values = (*call.args, *call.kwargs.values())
        self._patched(call.args, call.store)
        if stranger:
            self.labels(values, call.store)
        self._forget(values, call.store, call.frame)
        self.interpreter.torch.forget(name, (), call.kwargs, call.store)
        if name.endswith("_") or "name" in name.lower():
            for value in values:
                tensor = self._tensor(value, call.store)
                if tensor is not None:
                    joins.write(tensor, call.store, Held(Tensor()))

    def _patched(self, call_arguments: Sequence[Value], store: Store) -> None:
        """``patch.object(torch, "sum")``, ``patch("torch.sum")``: the attribute may be another."""
        words = [str(v.value) if isinstance(v, Const) else "" for v in call_arguments]
        owners: list[tuple[Value, str]] = list(zip(call_arguments, words[1:], strict=False))
        owners += [(External(word.rpartition(".")[0]), word.rpartition(".")[2]) for word in words]
        for owner, name in owners:
            library = isinstance(owner, External) and owner.path.partition(".")[0] == "torch"
            if self._has(owner, name, store) or (library and name.isidentifier()):
                self.interpreter.set_attribute(
                    owner, Const(name), self.interpreter.fresh("patched"), store
                )

    def _has(self, value: Value, name: str, store: Store) -> bool:
        """Whether an object, a class or a layer is known to have an attribute."""
        if isinstance(value, TorchModule):
            return self.interpreter.torch_nn.attribute(value, name, store) is not None
        if isinstance(value, Instance) and store.get((value.address, name)) is not None:
            return True
        cls = value.cls if isinstance(value, Instance) else value
        return isinstance(cls, ClassValue) and class_lookup.attribute(cls, name, store) is not None

    def labels(self, escaped: Iterable[Value], store: Store) -> None:
        """Make the labels of tensors unknown, also of those in containers and instances."""
        for value in list(_within(escaped, store)):
            parts = self._attributes(value, store) if isinstance(value, Instance) else [value]
            for part in parts:
                tensor = self._tensor(part, store)
                if tensor is None:
                    continue
                content = joins.held(tensor, store)
                if any(isinstance(name, str) for name in content.tensor.dims.names):
                    dims = content.tensor.dims.mapped(_without_label)
                    joins.write(tensor, store, Held(replace(content.tensor, dims=dims)))

    def _attributes(self, value: Instance, store: Store) -> Iterator[Value]:
        for name in store.get(AttributeNames(value.address), ()):
            part: Value | None = store.get((value.address, name))
            if part is not None:
                yield from _within([part], store)

    def _tensor(self, value: Value, store: Store) -> TensorValue | None:
        if isinstance(value, Opaque) and opaque_tensors.is_tensor(value, store):
            return self.interpreter.torch.promote(value, store)
        return value if isinstance(value, TensorValue) else None

    def containers(self, escaped: Iterable[Value], store: Store) -> None:
        """Make the items of lists and dicts unknown, and of those in them."""
        for value in list(_within(escaped, store)):
            if isinstance(value, ListValue):
                joins.write(value, store, Repeated(self.interpreter.fresh("item")))
            elif isinstance(value, DictValue):
                joins.write(value, store, Entries((), self.interpreter.fresh("item")))

    def _forget(self, escaped: Sequence[Value], store: Store, frame: Frame) -> None:
        inner = list(_within(escaped, store))
        self.containers(escaped, store)
        for value in inner:
            if isinstance(value, Generator):
                self.interpreter.generators.give_away(value, store, frame)
            elif isinstance(value, (Instance, TorchModule)):
                self.interpreter.torch_nn.havoc(value, store)
                if isinstance(value, Instance):
                    self._instance(value, store)
            elif isinstance(value, (Wrapped, Partial)):
                self._forget([value.function], store, frame)
            elif isinstance(value, (FunctionValue, BoundMethod)):
                self._function(value, store, frame)

    def _instance(self, value: Instance, store: Store) -> None:
        """Make the attributes unknown that the methods of an instance set, or other functions."""
        self.containers([joins.opened(value, store)], store)
        for cls in class_lookup.mro(value.cls):
            node = cls.node if isinstance(cls, ClassValue) else None
            if node is None:
                continue
            if node not in self._written:
                self._written[node] = frozenset(_written_by_methods(node))
            for name in sorted(self._written[node] | self._written_elsewhere()):
                key = (value.address, name)
                before: Value | None = store.get(key)
                if before is not None:
                    store.write(key, before, self.interpreter.fresh("written"))
            self.containers(self._filled_parts(value, node, store), store)

    def _filled_parts(
        self, value: Instance, class_node: ast.ClassDef, store: Store
    ) -> Iterator[Value]:
        """The lists and dicts of an instance that the methods of a class fill."""
        if class_node not in self._filled:
            self._filled[class_node] = frozenset(_filled_by_methods(class_node))
        for name in self._filled[class_node]:
            part: Value | None = store.get((value.address, name))
            if isinstance(part, (DictValue, ListValue)):
                yield part

    def _written_elsewhere(self) -> frozenset[str]:
        """The attributes that the current file writes to anything but ``self``."""
        tree = self.interpreter.source.tree
        if tree not in self._elsewhere:
            self._elsewhere[tree] = frozenset(
                node.attr
                for node in nodes(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and getattr(node.value, "id", "") != "self"
            )
        return self._elsewhere[tree]

    def _function(
        self, function_value: FunctionValue | BoundMethod, store: Store, frame: Frame
    ) -> None:
        """Apply the effects of a function as if it were called repeatedly, on any arguments."""
        function = (
            function_value.function if isinstance(function_value, BoundMethod) else function_value
        )
        if not isinstance(function, FunctionValue) or not self._has_effects(function):
            return
        if self.interpreter.is_handed_on(frame):
            self.interpreter.havoc_variables(function, store)
            if isinstance(function_value, BoundMethod):
                self._forget([function_value.receiver], store, frame)
            return
        if self.interpreter.too_deep(function, frame) or not self.interpreter.budget.spend():
            return
        receiver = [function_value.receiver] if isinstance(function_value, BoundMethod) else []
        with self.interpreter.findings.silenced():
            for _ in range(_CALLS):
                stretch = self.interpreter.stretch()
                with self.interpreter.context.ledger.logging() as log:
                    self._call(function, receiver, store.fork(), frame)
                store.absorb(merges.at_any_time(store, log, stretch).changes_since(store))

    def _call(
        self,
        function: FunctionValue,
        receivers: list[Value],
        store: Store,
        frame: Frame,
    ) -> None:
        with self.interpreter.progress.unaffected(), suppress(PathEnds):
            self.interpreter.call_as_stranger(function, receivers, store, frame)

    def _has_effects(self, function: FunctionValue) -> bool:
        """Whether a function may change anything but the objects that it makes."""
        if self.interpreter.context.recorder is not None:
            return True  # the recorder needs the values in its body
        has_effects = self._effects.get(function.node)
        if has_effects is None:
            has_effects = self._effects[function.node] = any(map(_changes, nodes(function.node)))
        return has_effects


def variables(number: int, store: Store, only: Set[str] | None = None) -> None:
    """Make variables of a module unknown that unknown code may have bound again.

    Its functions, classes and imports stay; `only` has the names that are meant, if not all are.
    """
    kept = (FunctionValue, ClassValue, External, Imported)
    for word in store.members_of(number):
        key = number, word
        is_meant = not isinstance(store.get(key), kept) if only is None else word in only
        if is_meant and isinstance(word, str):
            store.set(key, store.ledger.fresh("rebound"))


def is_bystander(path: str) -> bool:
    """Whether the library at the start of a dotted name leaves torch alone."""
    return path.partition(".")[0] in _BYSTANDERS


def may_be_stranger(base: Value) -> bool:
    """Whether a class of unknown code is among the bases of a class."""
    if isinstance(base, External):
        return not is_bystander(base.path)
    return isinstance(base, Opaque)


def is_stranger(callee: Value, name: str) -> bool:
    """Whether an unknown callee of this name may rename the tensors that it receives."""
    if isinstance(callee, External) and is_bystander(callee.path):
        return False
    return name not in _OF_TENSORS


def _without_label(dim: Dim) -> Dim:
    """A dim that may have any label now, where it may have had one."""
    return dim if isinstance(dim.name, Axis) else replace(dim, name=UNKNOWN)


def _within(escaped: Iterable[Value], store: Store) -> Iterator[Value]:
    """Some values, and the values in the tuples, lists and dicts among them, level by level."""
    level = list(escaped)
    addresses: set[Address] = set()
    for depth in range(_DEEP + 1):
        next_level: list[Value] = []
        store.ledger.meter.spend(len(level))
        for value in level:
            if isinstance(value, (ListValue, DictValue)):
                if value.address in addresses:
                    continue
                addresses.add(value.address)
            yield value
            if depth == _DEEP:
                continue
            if isinstance(value, TupleValue):
                next_level += value.items
            elif isinstance(value, ListValue):
                next_level += each_of(joins.items(value, store))
            elif isinstance(value, DictValue):
                next_level += (entry for _, entry in joins.entries(value, store).items)
        level = next_level


def _changes(node: ast.AST) -> bool:
    """Whether a node changes something in place, or a variable of another scope."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in CHANGING or node.func.attr.endswith("_")
    return isinstance(node, ast.AugAssign)


def _written_by_methods(class_node: ast.ClassDef) -> Iterator[str]:
    """The attributes that methods other than ``__init__`` set."""
    for inner in _in_methods(class_node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            yield inner.attr


def _filled_by_methods(class_node: ast.ClassDef) -> Iterator[str]:
    """The attributes whose containers methods other than ``__init__`` change."""
    for inner in _in_methods(class_node):
        container = changed_container(inner)
        while isinstance(container, ast.Subscript):
            container = container.value
        if isinstance(container, ast.Attribute):
            yield container.attr


def _in_methods(class_node: ast.ClassDef) -> Iterator[ast.AST]:
    """The nodes of the methods of a class other than ``__init__``."""
    for method in class_node.body:
        if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if method.name != "__init__":
            yield from nodes(method)
