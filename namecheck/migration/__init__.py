"""The way off the named tensors that torch 2.13 has no more."""
