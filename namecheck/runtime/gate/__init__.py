"""The compiled gate: its source, its compiler, its cache."""
