"""Tools that ask native torch, run by hand."""
