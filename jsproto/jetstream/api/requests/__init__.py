"""The requests of the JetStream API: one generator for each, which asks and judges the answer."""
