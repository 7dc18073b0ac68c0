"""The Observer reads both directions of any client's traffic and reports facts."""
