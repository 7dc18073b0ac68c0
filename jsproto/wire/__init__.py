"""The grammar of the line, of both sides: frames, commands, parser, encoder, headers, subjects and
ids.
"""
