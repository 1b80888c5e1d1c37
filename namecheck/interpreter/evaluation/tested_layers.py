"""The tensors of a module that was tested to be a layer of torch: ``isinstance(m, nn.Linear)``.

Its weight has as many dims as the weight of that layer, and the sizes that the layer is made with,
which are attributes of the module: ``m.out_features``.
"""

from __future__ import annotations

from collections.abc import Hashable

from namecheck.core.dims import Dim, Dims, new_dim
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
from namecheck.effects.words import read_sizes
from namecheck.interpreter.domain import identities, opaque_tensors, size_symbols
from namecheck.interpreter.domain.cells import Truth
from namecheck.interpreter.domain.provenance import Attribute, Item, Provenance
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import NONE, Held, Key, Opaque, TensorValue, Value
from namecheck.interpreter.evaluation.interpreter import Interpreter


def parameter(
    interpreter: Interpreter, layer: str, unwritten: Opaque, name: str, store: Store
) -> Value:
    """A tensor of a layer; the unknown attribute where the layer may be without it."""
    row = interpreter.context.rows.get(layer)
    provenance = unwritten.key.provenance
    if row is None or name not in row.holds or not isinstance(provenance, Attribute):
        return unwritten
    cell = read_sizes(row.holds[name])
    is_none = store.fact(Truth, identities.equality_of(unwritten.key, NONE))
    if cell.condition is not None and is_none is not False:
        return unwritten
    dims = Dims(
        tuple(
            _dim(provenance.owner, unwritten.key, word, index)
            for index, word in enumerate(cell.sizes)
        )
    )
    return TensorValue(opaque_tensors.tensor_address(unwritten), Held(Tensor(dims)))


def _dim(owner_key: Hashable, tensor_key: Key, word: str, index: int) -> Dim:
    """A dim of the size that an attribute of the module has, or that the tensor itself tells."""
    size_provenance: Provenance = Attribute(owner_key, word)
    if word == "_":
        size_provenance = Item(Key(Attribute(tensor_key, "shape")), index)
    size = size_symbols.of_key(Key(size_provenance))
    return new_dim(UNKNOWN if size is None else size)
