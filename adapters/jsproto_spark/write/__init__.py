"""Writing: rows become messages and are published through a window of acknowledgements."""
