"""What everything speaks of: names, sizes, tensors, attributes, findings, source text."""
