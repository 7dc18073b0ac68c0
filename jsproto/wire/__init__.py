"""The NATS client protocol: frames, commands, parser, encoder, headers, subjects and ids."""
