"""The verbs of core NATS: subscribe, request, and request to many."""
