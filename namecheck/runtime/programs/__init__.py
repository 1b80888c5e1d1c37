"""Whole programs: run with names on torch, recorded expression by expression, replayed."""
