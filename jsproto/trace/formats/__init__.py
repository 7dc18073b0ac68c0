"""The file formats of traces: how they are read and written, and what of the bytes they keep."""
