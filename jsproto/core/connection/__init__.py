"""The connection to one server after another: handshake, dispatching, deadlines, output."""
