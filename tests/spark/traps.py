"""The traps of a source on Spark as a table, and the form of their tests: ours and a
naive version in one scenario.

Theory. A test that holds for ours may hold because there is no trap. So each trap is also set for
what one writes first (`naive_*.py` here), and the test says what that one sees: something else.
Where the trap is a fault of Spark, its repair is noticed in the same way.
"""

from __future__ import annotations

import pytest

TRAPS = {
    "4.1": "`initialOffset` is asked for again, and what is latest has moved on by then",
    "4.2": "`commit` comes one batch late, and never for the last batch of a run",
    "4.3": "a link is lost in mid-read: plain `local[n]` tries a task once, and no attempt waits for a server",
    "4.4": "a work queue refuses consumers that acknowledge nothing, an interest stream those with replicas of their own",
    "4.5": "messages vanish before they are read, a stream is made anew, and a gap is neither",
    "4.6": "the streaming source cannot import py-files",
    "4.7": "a class of a module goes to executors as a name",
    "4.8": "what no stream stores is answered with an empty 503",
    "4.9": "direct gets append headers of names that a message may have already",
    "4.10": "options come with keys in lower case, those that nobody knows too",
    "4.11": "a query may have enough before its task has read everything",
}


def trap(section, *, ours, **naive):
    """``kind`` and what is ``seen`` with it, for ours and for each naive version.

    Raises:
        ValueError: there is no such trap, no naive version, or one that sees what ours sees.
    """
    if section not in TRAPS or not naive or any(seen == ours[1] for _, seen in naive.values()):
        raise ValueError(
            f"trap {section}: expected one of the table, and naive versions that close it, got {naive}"
        )
    return pytest.mark.parametrize(("kind", "seen"), [ours, *naive.values()], ids=["ours", *naive])


def outcome(work):
    """What comes of it: a value, or the class of what it raises."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever it is, the test says what it must be
        return type(error)
