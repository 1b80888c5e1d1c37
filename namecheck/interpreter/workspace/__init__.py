"""The modules of a project: imports, entry points, relevance."""
