"""The fixes: each module of this folder is one, with its examples in it; they are discovered."""
