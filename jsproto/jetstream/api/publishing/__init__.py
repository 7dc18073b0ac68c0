"""Options that a publisher sends with a message, and the answers of the stream."""
