"""Writing: rows as messages, published through a window of acknowledgements."""
