"""What several lints share."""
