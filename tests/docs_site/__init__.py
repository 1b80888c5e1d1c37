"""Builds the documentation as a site: ``python -m tests.docs_site`` (docs/contributing/site.md)."""
