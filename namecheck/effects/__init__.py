"""How the columns of a row are answered: dtype, device, layout, memory, overlap."""
