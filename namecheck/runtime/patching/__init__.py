"""The patches of torch's operators, modules and conversions, and the calls that they make."""
