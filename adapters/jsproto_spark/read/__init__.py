"""Reading: planning, reading and releasing ranges, and messages as Arrow columns."""
