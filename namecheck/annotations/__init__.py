"""The annotation language: strings such as ``"batch *spatial C=3"``, and how they bind to dims.

`parse` reads the string of one tensor into a `Pattern`; `declarations` reads the whole annotation
of a parameter or result around it; `bind` checks a tensor against a pattern and extends the
`Bindings` of one call. The forms are those of jaxtyping
(https://docs.kidger.site/jaxtyping/api/array/); ``Annotated[Tensor, "N C"]`` is the same language
without the dtype.
"""

from namecheck.annotations.bindings import Bindings, bind, settle
from namecheck.annotations.patterns import AnnotationError, Dimension, Pattern, Several, parse

__all__ = [
    "AnnotationError",
    "Bindings",
    "Dimension",
    "Pattern",
    "Several",
    "bind",
    "parse",
    "settle",
]
