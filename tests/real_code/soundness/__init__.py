"""Whether what is inferred of unannotated code holds when the code runs."""
