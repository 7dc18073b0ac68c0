"""Recording: a connection that writes its own trace, and a tap between any client and its server."""
