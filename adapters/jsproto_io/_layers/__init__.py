"""Layers between the byte stream and the connection: TLS, WebSockets and proxies."""
