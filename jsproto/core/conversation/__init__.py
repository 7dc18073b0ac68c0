"""A conversation: one exchange with the server, as a pure machine with one port; and procedures,
written as generators.
"""
