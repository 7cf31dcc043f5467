"""Properties of the whole function that are decided from what its paths do, without comparing them
with the specification: one module each."""
