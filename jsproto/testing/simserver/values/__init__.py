"""Values as the server reads and writes them: JSON, times, headers, subjects, errors, and what
differs between versions.
"""
