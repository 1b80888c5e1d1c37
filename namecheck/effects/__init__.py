"""Answers the attribute columns of a row: dtype, device, layout, memory, overlap."""
