"""Configurations and states of streams, consumers and accounts, as the API describes them."""
