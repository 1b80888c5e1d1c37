"""The likely dims of a tensor, where paths meet."""

from namecheck.core.dims import OPEN, Dims
from namecheck.core.tensors import Tensor, covers, join
from tests.annotated import annotated

KNOWN = annotated("b t d")
LIKELY = Tensor(Dims((), KNOWN.dims.prefix, True), likely=KNOWN.dims)


def test_what_is_likely_on_both_paths_is_likely() -> None:
    assert join(LIKELY, LIKELY) == LIKELY
    either = join(KNOWN, LIKELY)
    assert either.likely == KNOWN.dims
    assert either.dims.open


def test_what_is_likely_on_one_path_alone_is_not() -> None:
    assert join(LIKELY, Tensor(OPEN)).likely is None
    other = join(LIKELY, annotated("n"))
    assert other.likeliest == other.dims


def test_less_knowledge_covers_more() -> None:
    assert covers(Tensor(LIKELY.dims), LIKELY)
    assert covers(LIKELY, KNOWN)
    assert not covers(LIKELY, Tensor(LIKELY.dims))


def test_another_rank_that_is_certain_overrides_what_is_likely() -> None:
    certain = Tensor(annotated("n b t d").dims, likely=KNOWN.dims)
    assert certain.likeliest == certain.dims
    assert LIKELY.brief() == "b t d (likely)"
    assert KNOWN.brief() == "b t d"
