"""What the Observer keeps books of, one part each; `jsproto.trace.observer.Observer` reads the bytes and asks them."""
