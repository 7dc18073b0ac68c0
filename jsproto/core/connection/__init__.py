"""A connection to one server after another: handshake, dispatching, deadlines, and what goes out."""
