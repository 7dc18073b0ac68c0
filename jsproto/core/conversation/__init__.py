"""Conversations: exchanges with the server as pure machines, and procedures as generators."""
