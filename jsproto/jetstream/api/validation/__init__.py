"""The server's rules for configurations and messages, to find mistakes before a request."""
