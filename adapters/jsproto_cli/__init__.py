"""The command line: `jsproto`."""
