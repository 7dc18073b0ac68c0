"""Makes the files of the blocking clients of those with ``await``, word by word.

One source serves both colours. What the colours do in different ways is not in it: that is written
by hand, in files that have the same names in both rooms (``base.py``, ``items.py``,
``ackable.py``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

#: How the text of a file without ``await`` is made of one with it: first word by word, then name by
#: name (``AsyncMessage`` becomes ``SyncMessage``, ``async_feed`` becomes ``sync_feed``).
_UNCOLOURED: Final = (
    ("async def ", "def "),
    ("async with", "with"),
    ("async for ", "for "),
    ("await ", ""),
    ("an async iterator", "an iterator"),
    ("an async with statement", "a with statement"),
    (
        "a function or a coroutine function, and is waited for before",
        "a function, and is called before",
    ),
    (
        "Items that have come can still be taken, and after a ``drain`` another task has to take them.",
        "While there are items it returns ``None`` at once, since only the caller can take them.",
    ),
    (
        "a function with ``yield``, whose body would never run.",
        "a coroutine function, or returns something to be awaited.",
    ),
    ("AsyncIterator", "Iterator"),
    ("StopAsyncIteration", "StopIteration"),
    (") -> Awaitable[object]:", ") -> None:"),
    ("from collections.abc import Awaitable\n", ""),
    ("_schedule_flush()", "_pump()"),
    ("awaits=True", "awaits=False"),
    ("# ruff: noqa: ASYNC109 - the core keeps the time\n\n", ""),
    ("ASYNC109, ", ""),
    ("  # noqa: ASYNC109 - kept by the core", ""),
    (" - the core keeps the time;", " -"),
)
_NAMES_BY_RULE: Final = (
    (re.compile(r"__a(enter|exit|iter|next)__"), r"__\1__"),
    (re.compile(r"\bAsync(?=[A-Z])"), "Sync"),
    (re.compile(r"\b_async_client\b"), "_sync_client"),
    (re.compile(r"\basync_account\b"), "account"),
)
#: The package that the files are in.
_SOURCES: Final = Path(__file__).parent.parent
_MADE_OF: Final = '"""{about} Made by ``_client/generate.py`` from `{source}`: do not edit."""'
#: The files that are made word by word: from which file, and its first sentence.
MADE: Final = {
    "backup.py": ("async_backup.py", "Backups in folders, by a blocking client."),
    "_backup/account.py": ("_backup/async_account.py", "Streams into a folder and out of it."),
    "_sync_client/client.py": ("_async_client/client.py", "The verbs of a blocking client."),
    "_sync_client/events.py": ("_async_client/events.py", "The events of a connection."),
    "_sync_client/feed.py": ("_async_client/feed.py", "A feed in the hands of a blocking caller."),
    "_sync_client/messages.py": ("_async_client/messages.py", "Messages of a blocking client."),
    "_sync_client/sink.py": ("_async_client/sink.py", "A sink in the hands of a blocking caller."),
    "_sync_client/waits.py": ("_async_client/waits.py", "Where a blocking caller waits."),
}


def uncoloured(text: str) -> str:
    """A text without ``await``."""
    for word, other in _UNCOLOURED:
        text = text.replace(word, other)
    for name, form in _NAMES_BY_RULE:
        text = name.sub(form, text)
    return text


def blocking(name: str) -> str:
    """The text of one file without ``await``."""
    source, about = MADE[name]
    text = uncoloured((_SOURCES / source).read_text(encoding="utf-8"))
    module = f"jsproto_io.{source.removesuffix('.py').replace('/', '.')}"
    body = text[text.index('"""\n', 3) + 4 :].lstrip("\n")
    return f"{_MADE_OF.format(about=about, source=module)}\n\n{body}"
