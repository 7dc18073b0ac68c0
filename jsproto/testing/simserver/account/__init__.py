"""JetStream of one account: its streams, its API, its disk, and which subject reaches what."""
