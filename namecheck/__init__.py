"""Dimension names for PyTorch tensors, checked before anything runs."""
