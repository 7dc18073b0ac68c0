"""What a publisher says to a stream beside the message, and what the stream answers."""
