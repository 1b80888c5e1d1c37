"""One file a fix."""
