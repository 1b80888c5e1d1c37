"""The patches of torch's operators, modules and conversions, and what a patched call does."""
