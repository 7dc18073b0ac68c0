"""Publishing to a stream: a window of acknowledgements, atomic batches, fast ingest, and exactly
once.
"""
