"""What tests of the facade share: a description is opened on a bare port, and what it asks and
answers is looked at.
"""

from __future__ import annotations

import json

from jsproto.core.conversation.conversation import Port

STREAM_INFO = {
    "config": {"name": "S", "subjects": ["s.>"]},
    "created": "2026-01-01T00:00:00Z",
    "state": {},
}
CONSUMER_INFO = {
    "stream_name": "S",
    "name": "C",
    "created": "2026-01-01T00:00:00Z",
    "config": {"durable_name": "C", "ack_policy": "explicit"},
    "delivered": {},
    "ack_floor": {},
}


def opened(conversation, now=0.0):
    conversation.port = Port()
    conversation.opened(now)
    return conversation


def asked(conversation):
    """Subject and body of the newest request."""
    command = conversation.port.commands[-1]
    return command.subject, json.loads(command.payload) if command.payload else None


def answer(conversation, members, now=0.0):
    frame = ("1", "_INBOX.R.1.1", "", None, json.dumps(members).encode())
    conversation.replied(conversation.script._token, frame, now)
    return conversation.take(now)
