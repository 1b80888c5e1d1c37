"""The distributions: what is in them, and what they are to those who install them."""
