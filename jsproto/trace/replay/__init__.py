"""Running a trace again: through the parsers, and through our own machines."""
