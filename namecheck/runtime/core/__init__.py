"""What every other room of the shim uses: modes, the patch table, carried names, reporting."""
