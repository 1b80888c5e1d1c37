"""Source text and changes to it: documents, edits, trees."""
