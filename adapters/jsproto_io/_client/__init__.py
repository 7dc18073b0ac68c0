"""The clients: what all adapters share, the async and the blocking colour, and the generated
facades.
"""
