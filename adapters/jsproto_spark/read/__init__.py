"""Reading: how a range is planned, read and released, and its messages as Arrow columns."""
