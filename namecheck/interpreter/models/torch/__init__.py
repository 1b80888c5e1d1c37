"""torch: its operators, which the table has, its layers, and its default dtype and device."""
