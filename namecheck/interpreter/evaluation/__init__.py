"""Expressions, statements and calls on abstract values."""
