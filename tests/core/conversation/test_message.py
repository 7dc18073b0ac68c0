"""The message is what the frame says."""

from __future__ import annotations

from jsproto.core.conversation.message import Message


def test_a_message_shows_its_frame_B098():
    message = Message(("2", "orders.new", "r", b"NATS/1.0 404 No\r\nA: 1\r\n\r\n", b"x"))

    assert ("orders.new", "r", b"x") == (message.subject, message.reply, message.payload)
    assert "1" == message.headers.first("A")
    assert message.headers is message.headers
    assert (404, "No") == message.status
    assert repr(message) == "Message(subject='orders.new', reply='r', payload=b'x')"


def test_a_message_without_headers_has_none():
    message = Message(("2", "a", "", None, b""))

    assert 0 == len(message.headers)
    assert message.headers.get("A") is None
    assert "x" == message.headers.get("A", "x")
    assert message.status is None
