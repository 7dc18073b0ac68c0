"""Push consumers: the subscribe procedure, the feed, flow control and buffer limits."""
