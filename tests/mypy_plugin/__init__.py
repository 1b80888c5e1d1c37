"""The mypy plugin, tested with real runs of mypy over real projects and the stubs of torch."""
