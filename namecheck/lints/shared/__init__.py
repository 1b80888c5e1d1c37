"""Helpers that several lints share."""
