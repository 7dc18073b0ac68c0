"""Folders with backups, and the progress of writing and reading them."""
