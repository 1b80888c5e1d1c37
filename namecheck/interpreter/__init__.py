"""Runs code on abstract values."""
