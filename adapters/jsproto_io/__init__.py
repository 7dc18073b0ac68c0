"""Adapters: the pure machines of jsproto on real transports. One module for each way of waiting."""
