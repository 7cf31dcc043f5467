"""What the paths do, against what the specification does under their conditions."""
