"""The grammar of the line: frames, commands, parser, encoder, headers, subjects and ids."""
