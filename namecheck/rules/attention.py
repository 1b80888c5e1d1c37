"""Attention: contracts queries and keys along features, weights and values along keys.

Source: torch.nn.functional.scaled_dot_product_attention, torch.nn.MultiheadAttention,
torch.nn.Transformer.
"""

from __future__ import annotations

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, Size, new_dim
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import Flag
from namecheck.rules.broadcasting import broadcast, check_one
from namecheck.rules.dim_map import joined, show_rank, without_right
from namecheck.rules.registry import rule


@rule(memory="unknown", aligns="matched")
def attends(
    query: Tensor,
    key_tensor: Tensor,
    value_tensor: Tensor,
    attn_mask: Tensor | None = None,
    enable_gqa: Flag = False,
) -> Dims:
    """The query's dims, with the value's features (scaled_dot_product_attention)."""
    call = "scaled_dot_product_attention"
    for tensor, role in ((query, "query"), (key_tensor, "key"), (value_tensor, "value")):
        _check_rank(tensor.dims, 2, call, role)
    q, k, v = query.dims, key_tensor.dims, value_tensor.dims
    if any(0 in dims.sizes for dims in (q, k, v)):
        return OPEN  # torch looks at the shapes of few tensors without elements
    what = "the features of query and key"
    features = q.from_right(1), k.from_right(1)
    check_one(call, what, *features, by_label=False, of_a=q, of_b=k)
    check_one(call, "the rows of key and value", k.from_right(2), v.from_right(2))
    batch = _batch(q, k, v, enable_gqa)
    if attn_mask is not None:
        rows = Dims((q.from_right(2) or ANY_DIM, _keys(q.from_right(2), k.from_right(2))))
        broadcast(joined(batch, rows), attn_mask.dims)
    last = (q.from_right(2) or ANY_DIM, v.from_right(1) or ANY_DIM)
    result = joined(batch, Dims(last))
    naming.check_distinct(result.names)
    return result


def _batch(q: Dims, k: Dims, v: Dims, grouped: Flag) -> Dims:
    """The batch dims of all; with `enable_gqa` the query has heads of its own."""
    if grouped is False or q.rank == 2:
        both = broadcast(without_right(q, 2), without_right(k, 2))
        return broadcast(both, without_right(v, 2))
    if q.rank is None:
        return OPEN
    both = broadcast(without_right(q, 3), without_right(k, 3))
    heads = q.prefix[-3] if grouped is True else ANY_DIM
    return joined(broadcast(both, without_right(v, 3)), Dims((heads,)))


def _keys(query_rows: Dim | None, key_rows: Dim | None) -> Dim:
    """The keys, without a label that the queries have too: which of the two it means is unknown."""
    rows = key_rows or ANY_DIM
    same = query_rows is not None and isinstance(rows.name, str) and rows.name == query_rows.name
    return Dim(None, rows.size) if same else rows


def _check_rank(dims: Dims, least: int, call: str, role: str) -> None:
    if dims.rank is not None and dims.rank < least:
        raise Contradiction(
            "NC207",
            f"{call}: expected {role} of at least {least} dims, but got {show_rank(dims)}: "
            f"{dims.show()}",
            help="The last two dims are rows and features.",
        )


@rule(memory="unknown")
def multihead_attention(
    query: Tensor,
    key_tensor: Tensor,
    value_tensor: Tensor,
    embed_dim: Size = UNKNOWN,
    num_heads: Size = UNKNOWN,
    kdim: Size | None = None,
    vdim: Size | None = None,
    batch_first: Flag = False,
    key_padding_mask: Tensor | Unknown | None = None,
    need_weights: Flag = True,
    attn_mask: Tensor | Unknown | None = None,
    average_attn_weights: Flag = True,
    add_bias_kv: Flag = False,
    add_zero_attn: Flag = False,
) -> tuple[Dims, Dims | Unknown | None]:
    """The query's dims, and the weights of queries and keys (nn.MultiheadAttention)."""
    call = "MultiheadAttention"
    q, k, v = query.dims, key_tensor.dims, value_tensor.dims
    for dims, role in ((q, "query"), (k, "key"), (v, "value")):
        if dims.rank is not None and dims.rank not in (2, 3):
            raise Contradiction(
                "NC207",
                f"{call}: expected {role} of 2 or 3 dims, but got {dims.rank}: {dims.show()}",
                help="Batch, rows and features, in the order that `batch_first` sets.",
            )
    widths = (embed_dim, embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim)
    for dims, role, width in zip((q, k, v), ("query", "key", "value"), widths, strict=True):
        what = f"the features of the {role} and the layer's"
        check_one(call, what, dims.from_right(1), new_dim(width), by_label=False)
    check_one(call, "the rows of key and value", _rows(k, batch_first), _rows(v, batch_first))
    for dims, role in ((k, "key"), (v, "value")):
        if q.rank == dims.rank == 3:
            what = f"the batches of query and {role}"
            check_one(call, what, _of_batch(q, batch_first), _of_batch(dims, batch_first))
    _check_masks(call, q, k, batch_first, key_padding_mask, attn_mask)
    result = joined(without_right(q, 1), Dims((_features(q, embed_dim),)))
    weights = _weights(q, k, batch_first, need_weights, average_attn_weights, num_heads)
    if isinstance(weights, Dims) and (add_bias_kv, add_zero_attn) != (False, False):
        weights = joined(without_right(weights, 1), Dims((ANY_DIM,)))  # more keys than were passed
    return result, weights


def _features(dims: Dims, width: Size) -> Dim:
    """The features of the result: those of the layer, which are those of the query."""
    own, made = dims.from_right(1) or ANY_DIM, new_dim(width)
    if own.name is None and made.name is not None:
        return made
    return replace(own, size=width if own.size is UNKNOWN else own.size)


def _rows(dims: Dims, batch_first: Flag) -> Dim | None:
    if dims.rank == 2:
        return dims[0]
    if dims.rank != 3 or isinstance(batch_first, Unknown):
        return None
    return dims[1 if batch_first else 0]


def _of_batch(dims: Dims, batch_first: Flag) -> Dim | None:
    if dims.rank != 3 or isinstance(batch_first, Unknown):
        return None
    return dims[0 if batch_first else 1]


def _check_masks(
    call: str,
    q: Dims,
    k: Dims,
    batch_first: Flag,
    padding: Tensor | Unknown | None,
    mask: Tensor | Unknown | None,
) -> None:
    """A padding mask has the batch and the keys, an attention mask the queries and the keys."""
    keys = _rows(k, batch_first)
    if isinstance(padding, Tensor):
        check_one(call, "the keys and those of key_padding_mask", keys, padding.dims.from_right(1))
        if padding.dims.rank == 2:
            batch = _of_batch(k, batch_first)
            check_one(call, "the batch and that of key_padding_mask", batch, padding.dims[0])
    if isinstance(mask, Tensor):
        queries = _rows(q, batch_first)
        check_one(call, "the keys and those of attn_mask", keys, mask.dims.from_right(1))
        check_one(call, "the queries and those of attn_mask", queries, mask.dims.from_right(2))


def _weights(
    q: Dims, k: Dims, batch_first: Flag, returned: Flag, averaged: Flag, heads: Size
) -> Dims | Unknown | None:
    """The batch, the heads unless they are averaged, queries and keys."""
    if isinstance(returned, Unknown) or isinstance(averaged, Unknown):
        return UNKNOWN
    if not returned:
        return None
    if q.rank is None:
        return OPEN
    batch = () if q.rank == 2 else (_of_batch(q, batch_first) or ANY_DIM,)
    each = () if averaged else (new_dim(heads),)
    queries = _rows(q, batch_first)
    last = (queries or ANY_DIM, _keys(queries, _rows(k, batch_first)))
    return Dims((*batch, *each, *last))


@rule(memory="unknown")
def transformer_layer(
    src: Tensor,
    d_model: Size = UNKNOWN,
    batch_first: Flag = UNKNOWN,
    src_mask: Tensor | Unknown | None = None,
    src_key_padding_mask: Tensor | Unknown | None = None,
) -> Dims:
    """The input's dims; the last one is the model's (nn.TransformerEncoderLayer)."""
    call, dims = "TransformerEncoderLayer", src.dims
    _check_masks(call, dims, dims, batch_first, src_key_padding_mask, src_mask)
    return _of_model(call, dims, d_model)


def _of_model(call: str, dims: Dims, width: Size) -> Dims:
    what = "the features of the input and the model's"
    check_one(call, what, dims.from_right(1), new_dim(width), by_label=False)
    return dims


@rule(memory="unknown")
def transformer_decoder_layer(
    tgt: Tensor,
    encoded: Tensor,
    d_model: Size = UNKNOWN,
    batch_first: Flag = UNKNOWN,
    tgt_mask: Tensor | Unknown | None = None,
    memory_mask: Tensor | Unknown | None = None,
    tgt_key_padding_mask: Tensor | Unknown | None = None,
    memory_key_padding_mask: Tensor | Unknown | None = None,
) -> Dims:
    """The target's dims; the last one is the model's (nn.TransformerDecoderLayer)."""
    call, source, target = "TransformerDecoderLayer", encoded.dims, tgt.dims
    _check_batches(call, source, target, batch_first)
    _check_masks(call, target, target, batch_first, tgt_key_padding_mask, tgt_mask)
    _check_masks(call, target, source, batch_first, memory_key_padding_mask, memory_mask)
    _of_model(call, source, d_model)
    return _of_model(call, target, d_model)


def _check_batches(call: str, source_dims: Dims, target_dims: Dims, batch_first: Flag) -> None:
    what = "the batches of source and target"
    check_one(call, what, _of_batch(source_dims, batch_first), _of_batch(target_dims, batch_first))


@rule(memory="unknown")
def transformer(
    src: Tensor,
    tgt: Tensor,
    d_model: Size = 512,
    batch_first: Flag = False,
    src_key_padding_mask: Tensor | Unknown | None = None,
    tgt_key_padding_mask: Tensor | Unknown | None = None,
) -> Dims:
    """The target's dims; the last one is the model's (nn.Transformer)."""
    call, source, target = "Transformer", src.dims, tgt.dims
    _check_batches(call, source, target, batch_first)
    _check_masks(call, source, source, batch_first, src_key_padding_mask, None)
    _check_masks(call, target, target, batch_first, tgt_key_padding_mask, None)
    _of_model(call, source, d_model)
    return _of_model(call, target, d_model)
