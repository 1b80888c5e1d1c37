"""Changes to source files that leave the rest of each as it was: fixes and migration.

Files are read with `ast`, as everywhere; libcst parses only those that are to be changed, and is
imported by `namecheck.rewrite.trees` alone.
"""
