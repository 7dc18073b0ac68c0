"""What was said on the line, and what the machines look like: recordings and diagrams, as text."""
