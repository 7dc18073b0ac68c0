"""JetStream: the facade that describes operations, and the state machines that perform them."""
