"""Columns that other rooms read: `flow` for lints, `relevance`, `runtime`.

Each test here fails if a row that is like another one lacks a column of that row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Final

import pytest

from namecheck.core.semantics import Semantics
from namecheck.effects.dtype_words import WORDS
from namecheck.effects.words import read_items, words_in
from namecheck.interpreter.workspace import relevance
from namecheck.operators import Operator, shipped, table


@pytest.mark.parametrize("name", ["flow", "relevance", "runtime", "inplace", "out"])
def test_a_column_found_in_the_lines_is_that_of_the_rows(name: str) -> None:
    default = Operator.__dataclass_fields__[name].default
    words = {key: getattr(row, name) for key, row in table().items()}
    assert shipped.column(name) == {key: word for key, word in words.items() if word != default}


def test_the_words_that_tell_of_names() -> None:
    assert relevance.naming_words() == {
        *("names", "refine_names", "rename", "rename_", "align_to", "align_as", "align_tensors"),
        *("unflatten", "reveal_names"),
    }


# `flatten` is usually called without names, `has_names` is only a query.
UNTELLING: Final = {"flatten", "has_names"}


def test_the_naming_api_tells_of_names() -> None:
    for key, row in table().items():
        if "See documentation" in row.documented.values() and key not in UNTELLING:
            assert row.relevance == "names", f'{key}: say relevance = "names"'


def test_the_words_that_tell_of_attributes() -> None:
    assert relevance.attribute_words() == {
        *("dtype", "device", "layout", "memory_format", "out", "to", "type", "type_as"),
        *("cpu", "cuda", "long", "int", "short", "char", "byte", "bool", "half", "float"),
        *("double", "bfloat16", "zeros", "ones", "empty", "full", "arange", "rand", "randn"),
        *("randint", "tensor", "as_tensor", "from_numpy", "eye", "linspace", "zeros_like"),
        *("ones_like", "empty_like", "full_like", "argmax", "argmin", "topk", "sort", "argsort"),
        *("nonzero", "one_hot", "bernoulli", "multinomial", "randperm", "view", "stride"),
        *("to_sparse", "to_dense", "sparse_coo_tensor", "finfo", "iinfo", "Parameter"),
        *("requires_grad_", "logical_not", "isnan", "eq", "ne", "gt", "ge", "lt", "le"),
        *("is_floating_point", "is_complex", "bincount", "searchsorted", "bucketize"),
    }


def test_a_row_that_chooses_a_dtype_says_whether_it_is_relevant() -> None:
    """Rows whose first result has a fixed or the default dtype, whatever the operands are."""
    for key, row in table().items():
        if not row.dtype or not {*row.forms} & {*"fm"}:
            continue
        word = words_in(read_items(row.dtype))[0].name
        constant = word not in WORDS or WORDS[word].constant is not None or WORDS[word].bare
        if constant or word in ("counts", "ranges"):
            assert row.relevance, f'{key}: say relevance = "attributes", or "rare"'


def test_what_becomes_its_result_in_place_is_seen() -> None:
    assert relevance.in_place() == {
        *("addbmm_", "as_strided_", "rename_", "resize_", "resize_as_", "squeeze_", "swapaxes_"),
        *("swapdims_", "t_", "transpose_", "unsqueeze_"),
    }


def like(row: Operator) -> Hashable:
    """The common properties of two rows for one operator under two names."""
    return (row.forms, row.names, row.params, row.dtype, row.device, row.memory, row.lacks)


# Rows that are alike, but lints follow only some of them.
UNFOLLOWED: Final = {
    **dict.fromkeys(["nn.functional.softmin", "nn.Softmin"], "its weights are of the smallest"),
    **dict.fromkeys(
        ["nn.AlphaDropout", "nn.Dropout2d", "nn.Dropout3d", "nn.FeatureAlphaDropout"],
        "nobody drops channels of attention weights",
    ),
    **dict.fromkeys(
        ["nn.functional.dropout2d", "nn.functional.dropout3d"],
        "nobody drops channels of attention weights",
    ),
    **dict.fromkeys(
        ["nn.ChannelShuffle", "nn.Identity", "nn.PReLU", "nn.Threshold"], "other functions"
    ),
    **dict.fromkeys(["alias_copy", "detach_copy", "conj", "positive"], "no copies of weights"),
    **dict.fromkeys(["resolve_conj", "resolve_neg", "coalesce"], "no copies of weights"),
    **dict.fromkeys(["transpose_copy", "t_copy", "unsqueeze_copy"], "no code calls them"),
}


def test_lints_follow_an_operator_under_each_of_its_names() -> None:
    alike: dict[Hashable, list[str]] = defaultdict(list)
    for key, row in table().items():
        alike[like(row)].append(key)
    followed = {key for key, row in table().items() if row.flow}
    for keys in alike.values():
        words = {table()[key].flow for key in keys if key not in UNFOLLOWED}
        assert len(words) < 2, f"say flow = … for each of {keys}"
    assert not followed & UNFOLLOWED.keys()


def test_lints_follow_an_operator_in_place_too() -> None:
    for key, row in table().items():
        if row.flow and f"{key}_" in table():
            assert table()[f"{key}_"].flow == row.flow, f"{key}_: say flow = {row.flow!r}"


def test_the_shim_replaces_each_place_once() -> None:
    """A hand-written function without the mark in its row would be patched twice."""
    from namecheck.runtime import shim
    from namecheck.runtime.core.patch_table import Patch

    places: dict[tuple[str, str], int] = defaultdict(int)
    for patch in shim.patches(Semantics.NAMECHECK):
        if isinstance(patch, Patch):
            places[repr(patch.owner), patch.attribute] += 1
    assert [place for place, count in places.items() if count > 1] == []
    by_hand = {row.key.rstrip("=") for row in table().values() if row.runtime == "by hand"}
    replaced = {attribute for _, attribute in places}
    assert by_hand - replaced == {"grad", "shape", "ndim", "__iter__"}
