"""Terms in simpler forms, and questions to the solver about what holds on a path."""
