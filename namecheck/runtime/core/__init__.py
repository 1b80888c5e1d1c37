"""The base of the shim, which all its other rooms use: modes, patch table, names, reporting."""
