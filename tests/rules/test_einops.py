"""einops: the dims that the letters of a pattern are bound to, before and after."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Many, Tensor
from namecheck.operators import infer
from tests.annotated import HEADS, B, D, S, T, annotated, run, told
from tests.interpreting import check, dims

H, W, P, C, K = map(symbol, "hwpck")


@pytest.mark.parametrize(
    ("text", "pattern", "lengths", "result"),
    [
        ("batch chan height width", "b c h w -> b (h w) c", {}, "batch height*width chan"),
        ("batch chan height width", "b h w c -> b (h w) c", {}, "batch chan*height width"),
        ("b h*w c", "b (h w) c -> b c h w", {"h": H}, "b c h w"),
        ("b h*w c", "b (h w) c -> b c h w", {"w": W}, "b c h w"),
        ("b h*w c", "b (y x) c -> b c y x", {"y": H}, "b c h w"),
        ("b h*w c", "b (w h) c -> b c h w", {"h": H}, "NC115"),
        ("b h*w c", "b (w h) c -> b c h w", {"w": W}, "NC115"),
        ("b h*w c", "b (w h) c -> b c h w", {"w": W, "h": H}, "NC115"),
        ("b h*w c", "b (h w) c -> b c h w", {}, "NC114"),
        ("b h*w c", "b (h w) c -> b c h w", {"h": UNKNOWN}, "b c ? ?"),
        ("b t heads*d", "b t (h d) -> b h t d", {"h": HEADS}, "b heads t d"),
        ("b heads t d", "b h t d -> b t (h d)", {}, "b t heads*d"),
        ("b t d", "b t (h d) -> b h t d", {"h": HEADS}, "b heads t _=d//heads"),
        ("b t d", "b t (three h d) -> three b h t d", {"three": 3, "h": HEADS}, None),
        ("b t 6", "b t (h d) -> b h t d", {"h": 2}, "b _=2 t _=3"),
        ("b t 6", "b t (h d) -> b h t d", {"h": 4}, "NC201"),
        ("b t 6", "b t (h d) -> b h t d", {"h": 2, "d": 4}, "NC201"),
        ("b c h w", "b c (h p) (w q) -> b (h w) (p q c)", {"p": P, "q": P}, None),
        ("b t d", "b ... -> ... b", {}, "t d b"),
        ("b t d", "b ... -> b (...)", {}, "b t*d"),
        ("b", "b ... -> b (...)", {}, "b _=1"),
        ("b t d", "... d -> d ...", {}, "d b t"),
        ("b t d", "a b c d ... -> a b c d ...", {}, "NC207"),
        ("b t d", "b t -> t b", {}, "NC207"),
        ("b t d", "b t d -> t b d 1", {}, "t b d _=1"),
        ("b t d", "b t d -> t () b d", {}, "t _=1 b d"),
        ("b 1 d", "b 1 d -> b d", {}, "b d"),
        ("b 1 d", "b () d -> d b", {}, "d b"),
        ("b 3 d", "b 1 d -> b d", {}, "NC201"),
        ("b t d", "b t d -> d t b", {"b": B}, "d t b"),
        ("b t d", "b t d -> d t b", {"b": T}, "NC101"),
        ("b t d", "b t d -> d t b", {"b": 4}, "d t b"),
        ("b 3 d", "b t d -> d t b", {"t": 4}, "NC201"),
        ("b t d", "b t d -> d t b", {"x": 4}, "NC114"),
        ("b t d", "b t (h d) -> b t h d", {"h": -1}, "NC209"),
        ("t t", "a b -> b a", {}, "t t"),
        ("b seq dim", "b dim seq -> b seq dim", {}, "b dim seq"),
        ("b t", "b t -> b", {}, "NC114"),
        ("b t", "b b -> b b", {}, "NC114"),
        ("b t", "b t -> b t 2", {}, "NC114"),
        ("b t", "b t", {}, "NC114"),
        ("b t", "b (t -> b t", {}, "NC114"),
        ("b t", "b t) -> b t", {}, "NC114"),
        ("b t", "b ((t)) -> b t", {}, "NC114"),
        ("b t", "b t- -> b t-", {}, "NC114"),
        ("b t", "b _ -> b _", {}, "NC114"),
        ("b t", "b t_ -> b t_", {}, "NC114"),
        ("b t", "b 2t -> b 2t", {}, "NC114"),
        ("b t", "b 0 -> b 0", {}, "NC114"),
        ("b t", "b .. -> b ..", {}, "NC114"),
        ("b t", "b t -> b t ...", {}, "NC114"),
        ("b t", "b ... -> b", {}, "NC114"),
        ("b t", "(b ...) -> (b ...)", {}, "NC114"),
    ],
)
def test_rearrange(text: str, pattern: str, lengths: dict[str, Any], result: str | None) -> None:
    found = run("einops.rearrange", f":{text}", pattern, **lengths)
    assert found == result if result else not found.startswith("NC")
    module = infer("einops.layers.torch.Rearrange", pattern, annotated(text), **lengths)
    assert told(module) == found


@pytest.mark.parametrize(
    ("text", "pattern", "lengths", "result"),
    [
        ("b c h w", "b c h w -> b c", {}, "b c"),
        ("b c h w", "b c h w -> b c 1 1", {}, "b c _=1 _=1"),
        ("b c h w", "b c ... -> b c", {}, "b c"),
        ("b c h w", "b c (h p) (w q) -> b c h w", {"p": 2, "q": 2}, "b c h//2 w//2"),
        ("b c h w", "b c (h 2) (w 2) -> b c h w", {}, "b c h//2 w//2"),
        ("b c 5 w", "b c (h 2) w -> b c h w", {}, "NC201"),
        ("b c 3", "b c 2 -> b c", {}, "NC201"),
        ("b c", "b -> b", {}, "NC207"),
        ("b c", "b c -> b d", {}, "NC114"),
        ("b c", "b c -> b 2", {}, "NC114"),
    ],
)
def test_reduce(text: str, pattern: str, lengths: dict[str, Any], result: str) -> None:
    assert run("einops.reduce", f":{text}", pattern, "mean", **lengths) == result
    assert run("einops.reduce", f":{text}", pattern, UNKNOWN, **lengths) == result
    assert run("einops.reduce", f":{text}", pattern, "median", **lengths)[:2] == "NC"
    module = infer("einops.layers.torch.Reduce", pattern, "max", annotated(text), **lengths)
    assert told(module) == result


@pytest.mark.parametrize(
    ("text", "pattern", "lengths", "result"),
    [
        ("b d", "b d -> b n d", {"n": 4}, "b _=4 d"),
        ("b d", "b d -> b n d", {"n": S}, "b s d"),
        ("b d", "b d -> b n d", {"n": 1}, "b _=1 d"),
        ("b d", "b d -> b n d", {"n": UNKNOWN}, "b ? d"),
        ("b d", "b d -> b 2 d", {}, "b _=2 d"),
        ("b d", "b d -> (n b) d", {"n": S}, "s*b d"),
        ("b d", "b d -> (b n) d", {"n": 3}, "3*b d"),
        ("b d", "b d -> b (2 d)", {}, "b 2*d"),
        ("", "-> n d", {"n": S, "d": D}, "s d"),
        ("b d", "b d -> b n d", {}, "NC114"),
        ("b d", "b d -> b n", {"n": 2}, "NC114"),
        ("b d", "... d -> ... n d", {"n": S}, "b s d"),
    ],
)
def test_repeat(text: str, pattern: str, lengths: dict[str, Any], result: str) -> None:
    assert run("einops.repeat", f":{text}", pattern, **lengths) == result


@pytest.mark.parametrize(
    ("operands", "pattern", "result"),
    [
        (["b q d", "b k d"], "batch q dim, batch k dim -> batch q k", "b q k"),
        (["b q d", "b d k"], "batch q dim, batch k dim -> batch q k", "NC101"),
        (["b t d", "d e"], "... din, din dout -> ... dout", "b t e"),
        (["n n"], "i i ->", ""),
        (["n n"], "i i -> i", "n"),
        (["n m"], "i i -> i", "NC101"),
        (["b t"], "b t -> b x", "NC114"),
        (["b t"], "b t, b t -> b", "NC114"),
        (["b t"], "b (t d) -> b", "NC114"),
        (["b t"], "b t", "NC114"),
        (["b t d"], "b t -> b", "NC207"),
    ],
)
def test_einsum(operands: list[str], pattern: str, result: str) -> None:
    assert run("einops.einsum", *(f":{text}" for text in operands), pattern) == result


def test_einmix_makes_the_letters_of_its_weight() -> None:
    layer = "einops.layers.torch.EinMix"
    mixed = infer(layer, "b t c -> b t k", "c k", None, annotated("b t c"), c=C, k=K)
    assert told(mixed) == "b t k"
    assert told(infer(layer, "b t c -> b t k", "c k", annotated("b t d"), c=C, k=K)) == "NC101"
    assert told(infer(layer, "b t c -> b t k", "c k", annotated("b t c"), c=C)) == "NC114"
    assert told(infer(layer, "b t c -> b t x", "c k", annotated("b t c"), c=C, k=K)) == "NC114"


def test_pack_and_unpack_are_each_others_reverse() -> None:
    packed = infer("einops.pack", [annotated("b h w d"), annotated("b d")], "b * d")
    assert packed.contradiction is None
    whole, shapes = packed.result
    assert whole.dims.brief() == "b h*w+1 d"
    assert shapes == [(H, W), ()]
    parts = infer("einops.unpack", whole, shapes, "b * d")
    assert told(parts) == "b h w d | b d"


@pytest.mark.parametrize(
    ("texts", "pattern", "result"),
    [
        (["b t d", "b s d"], "b * d", "b s+t d"),
        (["b t d", "c s d"], "b * d", "NC101"),
        (["b t d", "b"], "b * d", "NC207"),
        (["b t d"], "b t d", "NC114"),
        (["b t d"], "b * *", "NC114"),
        (["b t d"], "b * 2", "NC114"),
        (["b t d", "b s d"], "* d", "_=b*s+b*t d"),
        (["b", "b t"], "b *", "b t+1"),
    ],
)
def test_pack(texts: list[str], pattern: str, result: str) -> None:
    answer = infer("einops.pack", [annotated(text) for text in texts], pattern)
    found = answer.contradiction.code if answer.contradiction else answer.result[0].dims.brief()
    assert found == result


def test_unpack() -> None:
    whole = annotated("b 10 d")
    assert run("einops.unpack", whole, [(2, 3), (4,)], "b * d") == "b _=2 _=3 d | b _=4 d"
    assert run("einops.unpack", whole, [(2, 3), (5,)], "b * d") == "NC201"
    assert run("einops.unpack", whole, [(2, 3), (-1,)], "b * d") == "b _=2 _=3 d | b _=4 d"
    assert run("einops.unpack", whole, [(-1,), (-1, 2)], "b * d") == "NC114"
    assert run("einops.unpack", whole, [(10,)], "b *") == "NC207"
    assert infer("einops.unpack", whole, UNKNOWN, "b * d").result == Many(
        Tensor(Dims(annotated("b").dims.prefix, annotated("d").dims.prefix, True))
    )


def test_parse_shape() -> None:
    assert infer("einops.parse_shape", annotated("b t 3"), "batch _ c").result == {
        "batch": B,
        "c": 3,
    }
    assert infer("einops.parse_shape", annotated("b t d"), "... d").result == {"d": D}
    assert run("einops.parse_shape", ":b t d", "b t") == "NC207"
    assert run("einops.parse_shape", ":b 2 d", "b 1 d") == "NC201"
    assert run("einops.parse_shape", ":b t d", "b (t d)") == "NC114"


def test_a_list_of_tensors_is_stacked() -> None:
    images = [annotated("h w c"), annotated("h w c")]
    assert told(infer("einops.rearrange", images, "b h w c -> b c h w")) == "_=2 c h w"
    many = Many(annotated("h w c"))
    assert told(infer("einops.rearrange", many, "b h w c -> h w c b"))[:5] == "h w c"


def test_labels_move_with_their_dims() -> None:
    tensor = Tensor(Dims.of("N", "C", "T", sizes=(2, 3, 4)))
    assert run("einops.rearrange", tensor, "n c t -> t n c") == "T=4 N=2 C=3"
    assert run("einops.rearrange", tensor, "n c t -> n (c t)") == "N=2 _=12"
    assert run("einops.reduce", tensor, "n c t -> n t", "sum") == "N=2 T=4"
    assert run("einops.rearrange", tensor, "n c (a b) -> n c a b", a=2) == "N=2 C=3 _=2 _=2"


def test_what_is_not_known_is_not_claimed() -> None:
    assert run("einops.rearrange", Tensor(), "b c -> c b") == "? ?"
    assert run("einops.rearrange", UNKNOWN, "b c -> (c b)") == "?"
    assert run("einops.rearrange", ":b c", UNKNOWN) == "..."
    assert run("einops.rearrange", Tensor(), "b ... -> ... b") == "... ?"
    assert run("einops.rearrange", Tensor(), "b ... -> b (...)") == "? ?"
    assert run("einops.einsum", ":b c", UNKNOWN) == "..."
    assert run("einops.repeat", ":b t?", "b t -> (b t)") == "?"


def test_what_is_no_tensor_is_no_call_of_the_table() -> None:
    for operator in ("einops.rearrange", "einops.repeat"):
        assert not infer(operator, None, "b c -> c b").fits
    assert not infer("einsum", "ij->i", None).fits


def test_the_words_are_those_of_einops() -> None:
    answer = infer("einops.rearrange", annotated("b c"), "b h w c -> b (h w) c")
    assert answer.contradiction is not None
    assert answer.contradiction.message == "Wrong shape: expected 4 dims. Received 2-dim tensor."


IMAGE = """
    import einops
    from einops import pack, parse_shape, rearrange, unpack
    from einops.layers.torch import Rearrange

    x = torch.zeros(2, 3, 4, 5, names=("N", "C", "H", "W"))
"""


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("rearrange(x, 'n c h w -> n h w c')", "N=2 H=4 W=5 C=3"),
        ("einops.rearrange(x, 'n c h w -> n h w c')", "N=2 H=4 W=5 C=3"),
        ("einops.reduce(x, 'n c h w -> n c', 'mean')", "N=2 C=3"),
        ("einops.einsum(x, x, 'n c h w, n c h w -> n c')", "N=2 C=3"),
        ("Rearrange('n c h w -> n h w c')(x)", "N=2 H=4 W=5 C=3"),
        ("torch.nn.Sequential(Rearrange('n c h w -> n h w c'))(x)", "N=2 H=4 W=5 C=3"),
        ("pack([x, x], 'n * w')[0]", "N=2 _=24 W=5"),
        ("unpack(*pack([x, x], 'n * w'), 'n * w')[1]", "N=2 _=3 _=4 W=5"),
        ("torch.zeros(parse_shape(x, 'n _ h _')['h'])", "_=4"),
    ],
)
def test_calls_in_programs(expression: str, result: str) -> None:
    assert dims(f"{IMAGE}    y = {expression}\n", "y") == result


def test_what_einops_refuses_is_found_where_it_is_called() -> None:
    check(
        IMAGE
        + """
    rearrange(x, "n c h w -> n h w c") + x  # BUG
    rearrange(x, "n c -> c n")  # BUG
    layer = Rearrange("n c (h k) w -> n c h k w", k=3)
    layer(x)  # BUG
    """
    )


@pytest.mark.parametrize(
    ("reduction", "dtype", "result"),
    [
        ("max", "int32", "int32"),
        ("sum", "float16", "float16"),
        ("sum", "int32", UNKNOWN),  # int64, except where nothing is summed over
        ("mean", "float32", "float32"),
        (UNKNOWN, "float32", UNKNOWN),
    ],
)
def test_a_reduction_keeps_dtypes(reduction: Any, dtype: str, result: Any) -> None:
    given = Tensor(Dims.of(None, None), dtype)
    assert infer("einops.reduce", given, "a b -> a", reduction).result.dtype == result


@pytest.mark.parametrize(
    ("operation", "pattern", "lengths", "result"),
    [
        ("repeat", "b c -> b r c", {"r": 2}, "b _=2 c"),
        ("repeat", "b c -> b 2 c", {}, "b _=2 c"),
        ("repeat", "b c -> b", {}, "NC114"),
        ("repeat", "b c -> b r c", {}, "NC114"),
        ("rearrange", "b c -> c b", {}, "c b"),
        ("rearrange", "b c -> c", {}, "NC114"),
        (UNKNOWN, "b c -> b 2 c", {}, "b _=2 c"),
        (UNKNOWN, "b c -> b 2", {}, "NC114"),
    ],
)
def test_reduce_by_an_operation(
    operation: Any, pattern: str, lengths: dict[str, Any], result: str
) -> None:
    """The reductions "repeat" and "rearrange" are these operations."""
    assert run("einops.reduce", ":b c", pattern, operation, **lengths) == result
    module = infer("einops.layers.torch.Reduce", pattern, operation, annotated("b c"), **lengths)
    assert told(module) == result
