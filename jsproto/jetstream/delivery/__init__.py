"""A delivered message and its acknowledgement, and whether the consumer that delivers is there."""
