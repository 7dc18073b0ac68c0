"""What the API had once and has no more. Servers are silent about it, so the answer is ours: a typed error, at once, instead of a timeout.

Stream templates made a stream for each new subject. Servers up to 2.11 still answer, 2.14 and later do not; nothing took their place but
making streams, or one stream with a limit for each subject.
"""

from __future__ import annotations

from jsproto.errors import LocalProtocolError


class RemovedFromServer(LocalProtocolError):
    """Servers do not do this any more; nothing was sent."""


def no_templates(verb: str) -> RemovedFromServer:
    """Why there are no stream templates."""
    return RemovedFromServer(
        f"expected something that servers do, seen {verb}: stream templates were removed from the server (2.14); make a stream for "
        f"each, or one stream with max_msgs_per_subject"
    )
