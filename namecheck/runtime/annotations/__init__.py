"""Checks of annotated functions at their entry and their return."""
