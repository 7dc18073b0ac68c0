"""What contexts of the ``nats`` CLI say, as arguments of `connect`."""
