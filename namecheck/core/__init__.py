"""The concepts that all rooms share: names, sizes, tensors, attributes, findings, source text."""
