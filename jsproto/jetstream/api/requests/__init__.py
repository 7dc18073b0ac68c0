"""The requests of the JetStream API: one generator for each, which also checks the answer."""
