"""Tools that record native torch, run by hand."""
