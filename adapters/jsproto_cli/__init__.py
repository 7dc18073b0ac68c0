"""The command line tool ``jsproto``."""
