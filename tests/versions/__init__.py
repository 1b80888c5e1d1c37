"""Runs tests with other versions of Python, mypy, torch and the other dependencies."""
