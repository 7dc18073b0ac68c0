"""The contract of adapters, and the servers that it is checked against."""
