"""JetStream: parts, conversations, and the one facade of descriptions."""
