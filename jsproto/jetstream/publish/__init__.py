"""Publish to a stream: a window of acknowledgements, batches, fast ingest, exactly once."""
