"""The verbs of the command that have modules of their own."""
