"""Patterns that are no contradictions: one file a lint."""
