"""The server's own rules for configurations and messages, so that a mistake is named before
anything is sent.
"""
