"""What a restore says of each stream."""

from __future__ import annotations

from typing import final

from attrs import frozen

from jsproto.ops.backup import BackupAction


@final
@frozen(kw_only=True)
class Restored:
    """What became of one stream.

    Attributes:
        stream: its name.
        deed: what was done.
        consumers: names of consumers that were made or brought up to date.
        words: what there is to say.
    """

    stream: str
    deed: BackupAction
    consumers: tuple[str, ...] = ()
    words: str = ""
