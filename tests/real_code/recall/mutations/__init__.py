"""The ways in which the recall campaign breaks functions: one file each, with a `MUTATION`."""
