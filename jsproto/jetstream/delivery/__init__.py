"""A delivered message, and its acknowledgement: subject, state, progress and floor."""
