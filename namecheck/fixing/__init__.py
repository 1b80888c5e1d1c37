"""Proposes, tries, offers and writes fixes."""
