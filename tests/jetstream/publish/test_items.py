"""What can be handed in to be sent."""

from __future__ import annotations

import pytest

from jsproto.errors import InvalidSubject, LocalProtocolError
from jsproto.jetstream.publish.items import outgoing
from jsproto.wire.commands import Publish
from jsproto.wire.headers import Headers

BLOCK = Headers({"A": "1"})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (("s.a", b"x"), ("s.a", b"x", None)),
        (("s.a", b"x", None), ("s.a", b"x", None)),
        (("s.a", b"x", BLOCK), ("s.a", b"x", BLOCK)),
        (("s.a", "é", BLOCK), ("s.a", b"\xc3\xa9", BLOCK)),
        (("s.a", bytearray(b"x")), ("s.a", b"x", None)),
        (Publish("s.a", "é"), ("s.a", b"\xc3\xa9", None)),
        (Publish("s.a", b"x"), ("s.a", b"x", None)),
        (Publish("s.a", b"x", "", BLOCK), ("s.a", b"x", BLOCK)),
    ],
)
def test_a_message_is_a_publish_or_a_tuple(item: object, message: tuple[object, ...]) -> None:
    assert outgoing(item) == message


@pytest.mark.parametrize(
    ("item", "seen"),
    [
        ("s.a", "got .str"),
        (("s.a",), "got .str"),
        (("s.a", 5), "got .str, int"),
        (("s.a", "a\udc80"), "a lone surrogate at character 1"),
        (Publish("s.a", "\ud800"), "a lone surrogate at character 0"),
        (("s.a", b"x", {"A": "1"}), "got .str, bytes, dict"),
        (["s.a", 5], "got .list"),
        (Publish("s.a", b"x", "_INBOX.1"), "without a reply"),
    ],
)
def test_anything_else_is_refused_with_what_was_seen(item: object, seen: str) -> None:
    with pytest.raises(LocalProtocolError, match=seen):
        outgoing(item)


@pytest.mark.parametrize("item", [("s.*", b""), ("", b"", BLOCK), Publish("s a")])
def test_the_subject_is_literal(item: object) -> None:
    with pytest.raises(InvalidSubject):
        outgoing(item)
