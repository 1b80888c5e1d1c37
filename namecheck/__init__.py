"""Dimension names for PyTorch tensors, checked before anything runs."""

from namecheck.revealing import reveal_names
from namecheck.version import VERSION as __version__

__all__ = ["__version__", "reveal_names"]
