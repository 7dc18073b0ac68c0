"""Records traffic: a connection that writes its own trace, and a tap for any client."""
