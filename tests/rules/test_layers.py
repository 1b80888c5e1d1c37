"""Layers of torch.nn: their inputs and their results."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Many, Tensor
from namecheck.operators import infer
from tests.annotated import HEADS, D, annotated, run

IN, HID, OUT, V = map(symbol, ("in", "hid", "out", "v"))


@pytest.mark.parametrize(
    ("operator", "args", "result"),
    [
        ("nn.Linear", (IN, OUT, ":b in"), "b out"),
        ("nn.Linear", (OUT, IN, ":b in"), "NC101"),
        ("nn.Linear", (HEADS * D, OUT, ":b t heads*d"), "b t out"),
        ("nn.Linear", (HEADS * D, OUT, ":b t heads d"), "NC101"),
        ("nn.Linear", (IN, 3 * D, ":b t in"), "b t 3*d"),
        ("nn.Linear", (IN, 1, ":n in"), "n _=1"),
        ("nn.Linear", (4, 5, ":b 3"), "NC202"),
        ("nn.Linear", (4, 5, ":b t d"), "b t _=5"),
        ("nn.Linear", (4, 5, ":"), "NC207"),
        ("nn.Bilinear", (IN, HID, OUT, ":b in", ":b hid"), "b out"),
        ("nn.Bilinear", (IN, HID, OUT, ":b hid", ":b in"), "NC101"),
        ("nn.LayerNorm", (D, ":b t d"), "b t d"),
        ("nn.LayerNorm", (D, ":b d t"), "NC101"),
        ("nn.LayerNorm", ((HEADS, D), ":b heads d"), "b heads d"),
        ("nn.LayerNorm", (5, ":b 4"), "NC202"),
        ("nn.RMSNorm", (D, ":b d t"), "NC101"),
        ("nn.functional.layer_norm", (":b t d", (D,), ":d", ":d"), "b t d"),
        ("nn.functional.layer_norm", (":b t d", (D,), ":t"), "NC101"),
        ("nn.BatchNorm1d", (D, ":b d t"), "b d t"),
        ("nn.BatchNorm1d", (D, ":b t d"), "NC101"),
        ("nn.GroupNorm", (4, D, ":b d h w"), "b d h w"),
        ("nn.Embedding", (V, D, ":b t"), "b t d"),
        ("nn.functional.embedding", (":b t", ":v d"), "b t d"),
        ("nn.EmbeddingBag", (V, D, ":b k"), "b d"),
        ("nn.functional.embedding_bag", (":n", ":v d", ":b"), "b d"),
        ("nn.LSTM", (IN, HID, ":t b in"), "t b hid | _=1 b hid | _=1 b hid"),
        ("nn.RNN", (IN, HID, ":t b in"), "t b hid | _=1 b hid"),
        ("nn.RNN", (IN, HID, ":t in"), "t hid | _=1 hid"),
        ("nn.GRU", (HID, IN, ":t b in"), "NC101"),
        ("nn.RNN", (4, 5, ":t b 3"), "NC202"),
        ("nn.RNNCell", (IN, HID, ":b in"), "b hid"),
        ("nn.LSTMCell", (IN, HID, ":b in"), "b hid | b hid"),
        ("nn.TransformerEncoderLayer", (D, 8, ":t b d"), "t b d"),
        ("nn.TransformerEncoderLayer", (D, 8, ":t b k"), "NC101"),
        ("nn.Transformer", (D, 8, ":s b d", ":t b d"), "t b d"),
    ],
)
def test_layers(operator: str, args: tuple[Any, ...], result: str) -> None:
    assert run(operator, *args) == result


def test_recurrent_layers_tell_what_batch_first_says() -> None:
    x = annotated("b t in")
    assert run("nn.GRU", IN, HID, x, batch_first=True) == "b t hid | _=1 b hid"
    assert run("nn.GRU", IN, HID, x, batch_first=True, num_layers=2, bidirectional=True) == (
        "b t 2*hid | _=4 b hid"
    )
    assert run("nn.GRU", IN, HID, x, batch_first=UNKNOWN) == "b t hid | _=1 ? hid"
    answer = infer("nn.LSTM", IN, HID, x, batch_first=True, proj_size=OUT).result
    assert answer[0].dims.brief() == "b t out"
    assert [state.dims.brief() for state in answer[1]] == ["_=1 b out", "_=1 b hid"]


@pytest.mark.parametrize(
    ("q", "k", "v", "result"),
    [
        ("b h t d", "b h s d", "b h s e", "b h t e"),
        ("b h t d", "b h d s", "b h s e", "NC101"),
        ("b h t d", "b h s d", "b h t e", "NC101"),
        ("b t h d", "b s h d", "b s h d", "NC101"),
        ("b h t d", "b h t d", "b h t d", "b h t d"),
        ("t d", "s d", "s e", "t e"),
        ("d", "s d", "s e", "NC207"),
    ],
)
def test_attention(q: str, k: str, v: str, result: str) -> None:
    operator = "nn.functional.scaled_dot_product_attention"
    assert run(operator, f":{q}", f":{k}", f":{v}") == result


def test_the_mask_of_attention_broadcasts_to_the_scores() -> None:
    operator = "nn.functional.scaled_dot_product_attention"
    q, k, v = annotated("b h t d"), annotated("b h s d"), annotated("b h s d")
    assert run(operator, q, k, v, annotated("t s")) == "b h t d"
    assert run(operator, q, k, v, annotated("b ~1 ~1 s")) == "b h t d"
    assert run(operator, q, k, v, annotated("s t")) == "NC101"


def test_grouped_queries_have_heads_of_their_own() -> None:
    operator = "nn.functional.scaled_dot_product_attention"
    q, k = annotated("b heads t d"), annotated("b groups s d")
    assert run(operator, q, k, k) == "NC101"
    assert run(operator, q, k, k, enable_gqa=True) == "b heads t d"
    assert run(operator, q, k, k, enable_gqa=UNKNOWN) == "b ? t d"


@pytest.mark.parametrize(
    ("args", "result"),
    [
        (("nn.functional.batch_norm", ":b c h w", ":c", ":c"), "b c h w"),
        (("nn.functional.batch_norm", ":b c h w", ":h", ":h"), "NC101"),
        (("nn.functional.group_norm", ":b c h w", 2, ":w"), "NC101"),
        (("nn.functional.group_norm", ":b c h w", 2), "b c h w"),
        (("nn.BatchNorm2d", 4, ":b c h"), "NC207"),
        (("nn.BatchNorm1d", 4, ":b c h"), "b c h"),
        (("nn.BatchNorm1d", 4, ":b c h w"), "NC207"),
        (("nn.functional.conv2d", ":b c h w", ":o c 3 3", ":o"), "b o h-2 w-2"),
        (("nn.functional.conv2d", ":b c h w", ":o c 3 3", ":c"), "NC101"),
        (("nn.functional.conv_transpose2d", ":b c h w", ":c o 2 2", ":c"), "NC101"),
    ],
)
def test_channels_meet_what_they_are_normalised_by(args: tuple[Any, ...], result: str) -> None:
    assert run(*args) == result


def test_multihead_attention() -> None:
    q, k = annotated("b t d"), annotated("b s d")
    made = infer("nn.MultiheadAttention", D, 8, q, k, k, batch_first=True).result
    assert [part.dims.brief() for part in made] == ["b t d", "b t s"]
    each = infer(
        "nn.MultiheadAttention",
        *(D, HEADS, q, k, k),
        batch_first=True,
        average_attn_weights=False,
    )
    assert each.result[1].dims.brief() == "b heads t s"
    assert run("nn.MultiheadAttention", D, 8, q, k, k) == "NC101"  # the batch is the second dim
    assert run("nn.MultiheadAttention", D, 8, q, k, annotated("b t d"), batch_first=True) == "NC101"
    assert run("nn.MultiheadAttention", D, 8, q, annotated("c s d"), k, batch_first=True) == "NC101"
    padded = infer(
        "nn.MultiheadAttention",
        *(D, 8, q, k, k),
        batch_first=True,
        key_padding_mask=annotated("b t"),
    )
    assert padded.contradiction is not None


@pytest.mark.parametrize(
    ("operator", "settings", "args", "result"),
    [
        ("nn.GRU", {}, (":t b in", ":1 b hid"), "t b hid | _=1 b hid"),
        ("nn.GRU", {}, (":t b in", ":1 t hid"), "NC101"),
        ("nn.GRU", {}, (":t b in", ":1 b in"), "NC101"),
        ("nn.GRU", {}, (":t b in", ":b hid"), "NC207"),
        ("nn.GRU", {"batch_first": True}, (":t b in", ":1 b hid"), "NC101"),
        ("nn.GRU", {"num_layers": 2}, (":t b in", ":1 b hid"), "NC202"),
        ("nn.RNN", {}, (":t in", ":1 hid"), "t hid | _=1 hid"),
        ("nn.RNNCell", {}, (":b in", ":b hid"), "b hid"),
        ("nn.RNNCell", {}, (":b in", ":c hid"), "NC101"),
        ("nn.GRUCell", {}, (":b in", ":b in"), "NC101"),
        ("nn.GRUCell", {}, (":in", ":hid"), "hid"),
    ],
)
def test_recurrent_layers_start_from_a_state(
    operator: str, settings: dict[str, Any], args: tuple[str, ...], result: str
) -> None:
    assert run(operator, IN, HID, *args, **settings) == result


def test_cells_start_from_a_state_and_a_cell() -> None:
    x, state, wrong = annotated("b in"), annotated("b hid"), annotated("b in")
    assert run("nn.LSTMCell", IN, HID, x, (state, state)) == "b hid | b hid"
    assert run("nn.LSTMCell", IN, HID, x, (state, wrong)) == "NC101"
    assert run("nn.LSTMCell", IN, HID, x, UNKNOWN) == "b hid | b hid"
    steps = annotated("t b in")
    assert run("nn.LSTM", IN, HID, steps, (annotated("1 b hid"), annotated("1 t hid"))) == "NC101"


def test_a_gate_lets_the_names_of_the_state_through() -> None:
    x, state = Tensor(Dims.of("N", "C")), Tensor(Dims.of("N", "H"))
    assert run("nn.RNNCell", 3, 4, x, state) == "N _=4"
    assert run("nn.GRUCell", 3, 4, x, state) == "N H=4"
    assert run("nn.LSTMCell", 3, 4, x, (Tensor(Dims.of("N", "G")), state)) == "N H=4 | N H=4"
    assert run("nn.GRUCell", 3, 4, x, Tensor(Dims.of("M", "H"))) == "NC101"


@pytest.mark.parametrize(
    ("args", "result"),
    [
        (("nn.TransformerEncoderLayer", D, 8, ":b t d"), "b t d"),
        (("nn.TransformerDecoderLayer", D, 8, ":q b d", ":k b d"), "q b d"),
        (("nn.TransformerDecoderLayer", D, 8, ":b q d", ":b k d"), "NC101"),
        (("nn.Transformer", D, 8, ":b k d", ":b q d"), "NC101"),
    ],
)
def test_transformers(args: tuple[Any, ...], result: str) -> None:
    assert run(*args) == result


def test_masks_of_transformers() -> None:
    layer, x = ("nn.TransformerEncoderLayer", D, 8), annotated("b t d")
    for mask, result in ((annotated("b t"), "b t d"), (annotated("t b"), "NC101")):
        assert run(*layer, x, batch_first=True, src_key_padding_mask=mask) == result
    assert run("nn.TransformerEncoder", UNKNOWN, 2, x, src_key_padding_mask=annotated("t b")) == (
        "b t d"  # which dim is the batch is unknown
    )


def test_labels_of_the_queries_stay() -> None:
    q = Tensor(Dims.of("N", "L", "E", sizes=(2, 5, 8)))
    made = infer("nn.MultiheadAttention", 8, 2, q, q, q, batch_first=True).result
    assert [part.dims.brief() for part in made] == ["N=2 L=5 E=8", "N=2 L=5 _=5"]


@pytest.mark.parametrize(
    ("operator", "args", "result"),
    [
        ("nn.functional.cross_entropy", (":b v", ":b"), ""),
        ("nn.functional.cross_entropy", (":b v t", ":b t"), ""),
        ("nn.functional.cross_entropy", (":b t v", ":b t"), "NC101"),
        ("nn.functional.cross_entropy", (":b v", ":b v"), ""),
        ("nn.functional.cross_entropy", (":b v", ":v b"), "NC101"),
        ("nn.functional.cross_entropy", (":b v t", ":b"), "NC207"),
        ("nn.functional.cross_entropy", (":b v", ":b", ":v"), ""),
        ("nn.functional.cross_entropy", (":b v", ":b", ":b"), "NC101"),
        ("nn.functional.nll_loss", (":b v", ":v"), "NC101"),
        ("nn.functional.mse_loss", (":n 1", ":n"), "NC102"),
        ("nn.functional.mse_loss", (":n d", ":n d"), ""),
        ("nn.functional.binary_cross_entropy_with_logits", (":n 1", ":n"), "NC102"),
        ("nn.functional.binary_cross_entropy_with_logits", (":n ~1", ":n"), "NC201"),
        ("nn.functional.binary_cross_entropy", (":n d", ":d"), "NC201"),
        ("nn.BCELoss", (":n d", ":n d"), ""),
        ("nn.functional.kl_div", (":n d", ":d n"), "NC101"),
        ("nn.functional.triplet_margin_loss", (":n d", ":n d", ":d n"), "NC101"),
        ("nn.functional.cosine_embedding_loss", (":n d", ":n d", ":n"), ""),
        ("nn.functional.cosine_embedding_loss", (":n d", ":n d", ":d"), "NC101"),
        ("nn.functional.gaussian_nll_loss", (":n d", ":n d", ":n d"), ""),
        ("nn.functional.ctc_loss", (":t b v", ":b s", ":b", ":b"), ""),
    ],
)
def test_losses(operator: str, args: tuple[Any, ...], result: str) -> None:
    assert run(operator, *args) == result


def test_a_loss_that_is_not_reduced_has_one_number_for_each_target() -> None:
    loss = "nn.functional.cross_entropy"
    assert run(loss, ":b v t", ":b t", reduction="none") == "b t"
    assert run(loss, ":b v", ":b v", reduction="none") == "b"
    assert run("nn.CrossEntropyLoss", ":b v", ":b", reduction="none") == "b"
    assert run("nn.functional.mse_loss", ":n d", ":n d", reduction="none") == "n d"
    assert run("nn.functional.triplet_margin_loss", ":n d", ":n d", ":n d", reduction="none") == "n"


def test_what_is_not_known_is_not_claimed() -> None:
    assert run("nn.Linear", UNKNOWN, UNKNOWN, annotated("b t d")) == "b t _"
    assert run("nn.Linear", IN, OUT, Tensor()) == "... out"
    assert run("nn.functional.cross_entropy", Tensor(), annotated("b"), reduction="none") == "..."
    assert not isinstance(infer("nn.LSTM", IN, HID, Tensor()).result, Many)
