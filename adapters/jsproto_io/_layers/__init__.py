"""Layers between the byte stream and the connection: TLS and WebSockets."""
