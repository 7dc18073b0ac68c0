"""No API body, however malformed, raises anything but two errors: that of an API that refuses, and
`InvalidResponse`.

Every method of the facade that asks and gives one result is found by its signature, and asked. The
server answers each question with the right document for it, in which something is missing, of
another form, too large or absurd; or with bytes that are no document.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from copy import deepcopy
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.core.conversation.message import Message
from jsproto.errors import ApiError, InvalidResponse, JsprotoError, RequestTimeout
from jsproto.jetstream.api.errors import RequestContext
from jsproto.jetstream.api.events.advisories import MessageFate, read_event
from jsproto.jetstream.api.events.monitoring import Connz, Healthz, Jsz, Statsz, UserInfo, Varz
from jsproto.jetstream.api.publishing.fast_ingest import ingest_answer
from jsproto.jetstream.api.publishing.puback import pub_ack
from jsproto.jetstream.api.requests.system import read_answer
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.push.subscribe_checks import SubscribeRefused
from jsproto.signals import ENDED
from tests.models.test_hostile_feeds import ABSURD, Liar

EXAMPLES = 60
JS = JetStream(timeout=2.0)
STREAM = JS.stream("S")
HANDLES = {
    "js": JS,
    "meta": JS.meta,
    "system": JS.system,
    "stream": STREAM,
    "messages": STREAM.messages,
    "consumer": STREAM.consumer("C"),
}
GIVES_ONE = ("Procedure[", "Gather[", "WholeBatch")
#: They never ask: the answer is known.
NEVER_ASKED = "stream_template"

#: What is given for a parameter that must be given, by its name.
GIVEN = {
    "account": "A",
    "group": "g",
    "messages": [("a", b"1"), ("a", b"2")],
    "name": "S",
    "peer": "n1",
    "seq": 1,
    "start_time": datetime(2026, 1, 1, tzinfo=UTC),
    "stream": "S",
    "subject": "a",
    "until": datetime(2026, 1, 1, tzinfo=UTC),
    "what": "ROUTEZ",
}
DELIVERY = ("9", "a", "$JS.ACK.S.C.1.1.1.1700000000000000000.0", None, b"x")
SETTINGS = {
    "create_stream": {"name": "S", "subjects": ["a"]},
    "update_stream": {"name": "S"},
    "create_or_update_stream": {"name": "S", "subjects": ["a"]},
    "stream_drift": {"name": "S"},
    "pull_subscribe": {"subject": "a", "durable_name": "C"},
    "create_consumer": {"durable_name": "C"},
    "update_consumer": {"durable_name": "C", "description": "x"},
    "create_or_update_consumer": {"durable_name": "C"},
    "consumer_drift": {"durable_name": "C"},
    "change": {"description": "x"},
    "evacuate_server": {"peer_id": "x"},
    "remove_server": {"peer_id": "x"},
    "copy": {"name": "T", "subjects": ["b"]},
    "dead_letter": {
        "event": MessageFate(type="x.max_deliver", stream="S", consumer="C", stream_seq=1),
        "subject": "dead",
    },
}


def entries():
    """Every method that asks and gives one result, and those that ask otherwise when they are told
    to.
    """
    found = {}
    for name, handle in HANDLES.items():
        for verb, method in vars(type(handle)).items():
            if verb.startswith("_") or not inspect.isfunction(method) or NEVER_ASKED in verb:
                continue
            signature = inspect.signature(method)
            if str(signature.return_annotation).startswith(GIVES_ONE):
                found[f"{name}.{verb}"] = (getattr(handle, verb), signature, {})
                if "direct" in signature.parameters:
                    found[f"{name}.{verb}, direct"] = (
                        getattr(handle, verb),
                        signature,
                        {"direct": True},
                    )
                if "compare" in signature.parameters:
                    found[f"{name}.{verb}, compared"] = (
                        getattr(handle, verb),
                        signature,
                        {"compare": True},
                    )
    return found


ENTRIES = entries()


def made(name):
    verb, signature, more = ENTRIES[name]
    given = dict(SETTINGS.get(verb.__name__, {}), **more)
    if "message" in signature.parameters:
        given["message"] = JsMessage(DELIVERY)  # its state is its own
    for each in signature.parameters.values():
        needed = (
            each.default is inspect.Parameter.empty
            and each.kind is not inspect.Parameter.VAR_KEYWORD
        )
        if needed and each.name != "self" and each.name not in given:
            given[each.name] = GIVEN[each.name]
    return verb(**given)


# ------------------------------------------------------------------------------------------------ what is right

STATE = {
    "messages": 1,
    "bytes": 9,
    "first_seq": 1,
    "first_ts": "2026-01-01T00:00:00Z",
    "last_seq": 1,
}
CLUSTER = {
    "name": "C1",
    "leader": "n1",
    "replicas": [{"name": "n2", "current": True, "active": 1, "lag": 0}],
}
STREAM_INFO = {
    "config": {
        "name": "S",
        "subjects": ["a"],
        "max_age": 0,
        "metadata": {"k": "v"},
        "num_replicas": 3,
    },
    "created": "2026-01-01T00:00:00.123456789Z",
    "state": STATE,
    "cluster": CLUSTER,
    "sources": [{"name": "X", "lag": 0, "active": -1}],
}
CONSUMER_INFO = {
    "stream_name": "S",
    "name": "C",
    "created": "2026-01-01T00:00:00Z",
    "config": {
        "durable_name": "C",
        "ack_policy": "explicit",
        "ack_wait": 30_000_000_000,
        "backoff": [1],
    },
    "delivered": {"consumer_seq": 1, "stream_seq": 1, "last_active": "2026-01-01T00:00:00Z"},
    "ack_floor": {"consumer_seq": 0, "stream_seq": 0},
    "num_pending": 0,
    "cluster": CLUSTER,
    "priority_groups": [{"group": "g", "pinned_client_id": "x"}],
}
STORED = {
    "message": {
        "subject": "a",
        "seq": 1,
        "data": "eA==",
        "hdrs": "TkFUUy8xLjANCg0K",
        "time": STATE["first_ts"],
    }
}
PAGE = {"total": 1, "offset": 0, "limit": 256}
OTHERWISE = [
    {"success": True},
    {"stream": "S", "seq": 1, "domain": "d", "val": "7", "batch": "b", "count": 2},
    {"purged": 3, "success": True},
    {"paused": True, "pause_until": "2026-01-01T00:00:00Z", "pause_remaining": 5},
    {
        "memory": 1,
        "limits": {"max_memory": -1},
        "tiers": {"R1": {"limits": {}}},
        "api": {"total": 1},
    },
    {
        "server": {"name": "n1", "id": "N", "tags": ["t"]},
        "data": {"status": "ok", "connections": [{"cid": 1}]},
    },
    {"error": {"code": 404, "err_code": 10059, "description": "stream not found"}},
    STORED,
    STREAM_INFO,
    CONSUMER_INFO,
]
#: What a right answer may lead to besides.
ALSO = {"js.pull_subscribe": (SubscribeRefused,)}
#: The right answer, by what a subject of the API holds; the first that fits.
RIGHT = {
    ".STREAM.NAMES": {**PAGE, "streams": ["S"]},
    ".STREAM.LIST": {**PAGE, "streams": [STREAM_INFO], "missing": ["T"], "offline": {"U": "why"}},
    ".CONSUMER.NAMES": {**PAGE, "consumers": ["C"]},
    ".CONSUMER.LIST": {**PAGE, "consumers": [CONSUMER_INFO], "missing": ["D"]},
    ".MSG.GET": STORED,
    ".STREAM.INFO": STREAM_INFO,
    ".STREAM.CREATE": {**STREAM_INFO, "did_create": True},
    ".STREAM.UPDATE": STREAM_INFO,
    ".CONSUMER.INFO": CONSUMER_INFO,
    ".CONSUMER.CREATE": CONSUMER_INFO,
    ".CONSUMER.DURABLE": CONSUMER_INFO,
    ".CONSUMER.RESET": {**CONSUMER_INFO, "reset_seq": 1},
}
NO_DOCUMENT = st.sampled_from(
    [
        b"",
        b"null",
        b"[]",
        b"5",
        b'"x"',
        b"\xff",
        b"\xef\xbb\xbf{}",
        b'{"a":' + b"[" * 20_000,
        b"9" * 5000,
        b"{",
        b"{}",
    ]
)


def places(document, at=()):
    """Every place in a document: the way to it."""
    items = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in items:
        yield (*at, key)
        yield from places(value, (*at, key))


def damaged(draw, document):
    """A copy in which one or two things are wrong."""
    document = deepcopy(document)
    for _ in range(draw(st.integers(1, 2))):
        ways = list(places(document))
        if not ways:
            break
        *way, last = draw(st.sampled_from(ways))
        inner = document
        for key in way:
            inner = inner[key]
        if draw(st.booleans()):
            inner[last] = deepcopy(draw(ABSURD))
        else:
            del inner[last]
    return json.dumps(document).encode()


@st.composite
def answers(draw, subject):
    """What a lying server says to a question on a subject."""
    right = next((document for part, document in RIGHT.items() if part in subject), None)
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(NO_DOCUMENT)
    if right is None or kind == 1:
        right = draw(st.sampled_from(OTHERWISE))
    return json.dumps(right).encode() if kind == 2 else damaged(draw, right)


class Answered(Liar):
    """A link to a server that answers one question after the other."""

    def read(self):
        data = self.connection.data_to_send()
        self.questions = [
            line.split(" ") for line in data.decode("latin-1").split("\r\n") if "PUB " in line[:5]
        ]
        self.sids += [
            line.split(" ")[-1].encode()
            for line in data.decode("latin-1").split("\r\n")
            if line.startswith("SUB ")
        ]
        while self.connection.next_event() is not None:
            pass


def test_every_method_that_asks_is_tried():
    assert len(ENTRIES) > 60
    for name in ENTRIES:
        made(name)


@pytest.mark.parametrize("name", ENTRIES)
def test_no_body_raises_anything_but_the_two_errors(name):
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.data())
    def lie(data):
        liar = Answered(made(name))
        asked = 0
        while not liar.conversation.ended and asked < 30:
            questions, liar.questions = liar.questions, []
            if not questions:
                due = liar.connection.next_deadline()
                liar.now = max(liar.now, due)
                liar.connection.handle_tick(liar.now)
                liar.read()
                asked += 1
            for question in questions:
                asked += 1
                body = data.draw(answers(question[1]))
                if len(question) > (3 if question[0] == "PUB" else 4):
                    reply = question[2].encode()
                    sid = b"1" if b".R." in reply else liar.sids[-1]
                    liar.feed(liar.message(sid, reply, b"", None, body))
        if not liar.conversation.ended:
            return  # it goes on asking, at its own pace
        try:
            while liar.connection.take(liar.conversation, liar.now) is not ENDED:
                pass
        except (ApiError, InvalidResponse, RequestTimeout, *ALSO.get(name, ())):
            pass
        except JsprotoError as error:
            pytest.fail(f"{type(error).__name__}: {error}, caused by {error.__cause__!r}")

    lie()


# ------------------------------------------------------------------------------------------------ bodies that nobody asked for

FATE = {
    "type": "io.nats.jetstream.advisory.v1.terminated",
    "id": "x",
    "timestamp": "2026-01-01T00:00:00Z",
    "stream": "S",
    "consumer": "C",
    "stream_seq": 1,
    "reason": "bad",
}
LEADER = {"type": "io.nats.jetstream.advisory.v1.stream_leader_elected", "stream": "S", **CLUSTER}
SERVER = {"server": {"name": "n1", "id": "N", "ver": "2.15.1", "tags": ["t"], "seq": 1}}
JETSTREAM = {
    "config": {"sync_interval": 1},
    "stats": {"api": {"total": 1}},
    "meta": {"replicas": [{"name": "n2"}]},
}


def answered(form):
    """A reader of the typed answer of one server."""
    return lambda body: read_answer(Message(("1", "r", "", None, body)), form).read()


READERS = {
    "advisory": (read_event, FATE),
    "advisory of a cluster": (read_event, LEADER),
    "acknowledgement of a publish": (
        lambda body: pub_ack(body, RequestContext(what="publish")),
        OTHERWISE[1],
    ),
    "answer of an ingest": (
        lambda body: ingest_answer(body, RequestContext(what="publish")),
        {"type": "ack", "seq": 1, "msgs": 2, "batch": "b", "count": 3},
    ),
    "varz": (
        answered(Varz),
        {
            **SERVER,
            "data": {"cpu": 0.5, "jetstream": JETSTREAM, "tags": ["t"], "start": STATE["first_ts"]},
        },
    ),
    "jsz": (
        answered(Jsz),
        {
            **SERVER,
            "data": {
                "account_details": [
                    {
                        "name": "A",
                        "stream_detail": [{**STREAM_INFO, "consumer_detail": [CONSUMER_INFO]}],
                    }
                ]
            },
        },
    ),
    "connz": (
        answered(Connz),
        {
            **SERVER,
            "data": {
                "connections": [{"cid": 1, "start": STATE["first_ts"], "subscriptions_list": ["a"]}]
            },
        },
    ),
    "healthz": (
        answered(Healthz),
        {**SERVER, "data": {"status": "ok", "errors": [{"type": "STREAM", "error": "x"}]}},
    ),
    "statsz": (
        answered(Statsz),
        {**SERVER, "statsz": {"sent": {"msgs": 1}, "jetstream": JETSTREAM}},
    ),
    "user info": (
        answered(UserInfo),
        {
            **SERVER,
            "data": {
                "user": "u",
                "permissions": {"publish": {"allow": ["a"]}, "responses": {"max": 1, "ttl": 5}},
            },
        },
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_no_body_that_is_read_raises_anything_but_the_two_errors(name):
    reader, right = READERS[name]
    reader(json.dumps(right).encode())

    @settings(max_examples=200, deadline=None)
    @given(st.data())
    def lie(data):
        body = (
            data.draw(NO_DOCUMENT)
            if data.draw(st.integers(0, 9)) == 0
            else damaged(data.draw, right)
        )
        with contextlib.suppress(ApiError, InvalidResponse):
            reader(body)

    lie()
