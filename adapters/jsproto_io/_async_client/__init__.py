"""Clients with ``await``: their verbs, feeds and sinks, and the facade that is made for them."""
