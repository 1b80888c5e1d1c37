"""torch: its operators (see the table), its layers, and its default dtype and device."""
