"""Models of the standard library: one file for each modelled module, with its name."""
