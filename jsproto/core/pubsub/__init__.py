"""Core NATS: subscribe, request, and request to many."""
