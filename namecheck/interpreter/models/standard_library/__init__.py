"""Models of the standard library: one file for each of its modules, of the same name."""
