"""What several fixes share: how a fix is declared, operands, similar words, transpositions."""
