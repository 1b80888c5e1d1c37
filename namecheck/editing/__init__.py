"""Source text and its changes: documents, edits, trees."""
