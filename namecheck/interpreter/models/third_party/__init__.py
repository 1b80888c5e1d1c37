"""Models of libraries that are neither torch nor the standard library: one file each."""
