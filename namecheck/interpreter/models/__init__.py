"""What libraries do: torch, builtins, the standard library."""
