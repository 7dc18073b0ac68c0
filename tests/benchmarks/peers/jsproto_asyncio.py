"""This project, driven by asyncio."""

from __future__ import annotations

from jsproto.wire.parser import Parser


class Peer:
    def parser(self):
        parser = Parser()

        def feed(chunks):
            got = 0
            for chunk in chunks:
                got += len(parser.feed(chunk))
            if parser.failure:
                raise parser.failure
            return got

        return feed
