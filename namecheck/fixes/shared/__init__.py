"""Helpers of several fixes: how a fix is declared, operands, similar words, transpositions."""
