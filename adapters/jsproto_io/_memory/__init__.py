"""Lines of a model server in memory, as the transports of each adapter, and the clocks with them."""
