"""Fixes proposed, tried, offered and written."""
