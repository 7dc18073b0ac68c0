"""A peer that lies, floods or breaks: one typed error, bounded memory, work in step with its bytes,
never an exception.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Closed, Disconnected, Notice, NoticeKind
from jsproto.core.connection.link import OPEN
from jsproto.core.connection.options import Options
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import JsprotoError, RemoteProtocolError
from jsproto.signals import NEED_DATA
from tests.core.world import Puller

MOST = 1024 * 1024
CHUNK = 64 * 1024
KIB = 1024


def peer(info, *, up):
    """A connection whose server has said INFO, or is up with a subscription (sid 2); its events are
    read.
    """
    connection = Connection(Options(max_payload=MOST, max_reconnects=1), entropy=bytes, now=0.0)
    connection.transport_up(0.0)
    sub = connection.open(Subscription("a"), 0.0)
    if up:
        connection.receive_data(info() + b"PONG\r\n", 0.0)
    drained(connection)
    return connection, sub


def drained(connection):
    """All events; the bytes go away."""
    connection.data_to_send()
    events = []
    while (event := connection.next_event()) is not None:
        events.append(event)
    return events


def failures(events):
    """Every word of a link that failed."""
    return [event.error for event in events if isinstance(event, Disconnected)] + [
        event.detail
        for event in events
        if isinstance(event, Notice)
        and event.kind in (NoticeKind.ATTEMPT_FAILED, NoticeKind.SERVER_ERROR)
    ]


def chunks(head, size, filling=b"x"):
    """``head`` and then ``size`` bytes, a chunk at a time; only one chunk is ever there."""
    yield head
    piece = filling * (CHUNK // len(filling))
    for _ in range(size // CHUNK):
        yield piece


def growth(connection, pieces):
    """Most memory that the connection held beyond what it held before, and its events."""
    events = []
    pieces = iter(pieces)
    first = next(pieces)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        connection.receive_data(first, 0.0)
        events += drained(connection)
        for piece in pieces:
            connection.receive_data(piece, 0.0)
            events += drained(connection)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return most - before, events


NESTED = b'{"a":' + b"[" * 50_000
LIES = {
    "2 GB announced": (b"MSG a 2 2147483648\r\n", 200 * MOST),
    "2 GB of headers announced": (b"HMSG a 2 2147483648 2147483648\r\n", 200 * MOST),
    "more than the limit announced": (b"MSG a 2 %d\r\n" % (MOST + 65_536 + 1), 2 * MOST),
    "headers longer than the message": (b"HMSG a 2 30 20\r\n", CHUNK),
    "no line end for 200 MB": (b"", 200 * MOST),
    "an argument without end": (b"MSG ", 200 * MOST),
    "an INFO without end": (b"INFO {", 200 * MOST),
    "an error without end": (b"-ERR '", 200 * MOST),
    "blanks without end": (b" " * CHUNK, 2 * MOST),
    "INFO nested 50,000 deep": (b"INFO " + NESTED + b"\r\n", 0),
    "INFO nested 50,000 deep without end": (b"INFO " + NESTED, 2 * MOST),
    "60,000 servers": (
        b'INFO {"connect_urls":['
        + b",".join(b'"h%d:4222"' % at for at in range(60_000))
        + b"]}\r\n",
        0,
    ),
    "a number of 5,000 digits in INFO": (b'INFO {"max_payload":' + b"9" * 5000 + b"}\r\n", 0),
    "a negative limit in INFO": (b'INFO {"max_payload":-1}\r\n', 0),
    "INFO that is no object": (b"INFO []\r\n", 0),
    "INFO that is no text": (b"INFO {\xff\xfe}\r\n", 0),
    "INFO with NaN": (b'INFO {"port":NaN}\r\n', 0),
    "a negative size": (b"MSG a 2 -3\r\n", CHUNK),
    "a size of 5,000 digits": (b"MSG a 2 " + b"9" * 5000 + b"\r\n", CHUNK),
    "a sid of 5,000 digits": (b"MSG a " + b"9" * 5000 + b" 3\r\n", CHUNK),
    "a negative sid": (b"MSG a -2 3\r\n", CHUNK),
    "a size in Arabic digits": ("MSG a 2 \u0663\r\n".encode(), CHUNK),
    "a payload without its line end": (b"MSG a 2 3\r\nabcd\r\n", CHUNK),
    "zeros": (b"\0", 2 * MOST),
    "garbage": (bytes(range(256)) * 256, 2 * MOST),
    "another protocol": (b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", 0),
    "no operation at all": (b"\r\n", 0),
}


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("up", [True, False], ids=["up", "greeted"])
def test_a_lie_is_one_typed_error_in_bounded_memory(info, name, up):
    head, more = LIES[name]
    connection, sub = peer(info, up=up)
    held, events = growth(connection, chunks(head, more))
    (error,) = failures(events)

    assert type(error) is RemoteProtocolError
    assert len(str(error)) < 400
    assert connection.state not in OPEN
    assert up or isinstance(events[-1], Closed)
    assert 0 == sub.readable
    assert held < 2 * MOST + 256 * KIB


@pytest.mark.parametrize("piece", [1000, 4096, CHUNK])
def test_the_largest_message_is_held_at_most_twice(info, piece):
    size = MOST + 65_536
    connection, sub = peer(info, up=True)
    data = bytes(piece)

    def pieces():
        yield b"MSG a 2 %d\r\n" % size
        for _ in range(size // piece):
            yield data
        yield bytes(size % piece)
        yield b"\r\n"

    held, events = growth(connection, pieces())

    assert [] == failures(events)
    assert size == len(connection.take(sub, 0.0).payload)
    assert held < 2 * size + 256 * KIB


def test_ten_thousand_headers_are_a_message_like_any_other(info):
    connection, sub = peer(info, up=True)
    block = b"NATS/1.0\r\n" + b"".join(b"h%d: %d\r\n" % (at, at) for at in range(10_000)) + b"\r\n"
    held, events = growth(
        connection, [b"HMSG a 2 %d %d\r\n" % (len(block), len(block)) + block + b"\r\n"]
    )
    message = connection.take(sub, 0.0)

    assert [] == failures(events)
    assert "9999" == message.headers["h9999"]
    assert held < 2 * MOST


@pytest.mark.parametrize(
    "frame",
    [
        b"PING\r\n",
        b"PONG\r\n",
        b"+OK\r\n",
        b"-ERR 'maximum subscriptions exceeded'\r\n",
        b"INFO {}\r\n",
        b"MSG a 999 0\r\n\r\n",
        b"MSG x 1 0\r\n\r\n",
        b"MSG a 2 0\r\n\r\n",
        b'INFO {"connect_urls":["h:1","h:2","h:3"]}\r\n',
    ],
)
def test_a_flood_of_one_frame_is_worked_off_and_leaves_nothing(info, frame):
    connection, sub = peer(info, up=True)
    connection.receive_data(
        b"MSG a 2 0\r\n\r\n", 0.0
    )  # so it is none of those that the server refuses
    flood = frame * (8 * KIB // len(frame))

    def rounds(count):
        for _ in range(count):
            connection.receive_data(flood, 0.0)

            assert not [event for event in drained(connection) if isinstance(event, Disconnected)]

            connection.take_all(sub, 0.0)

    def held(count):
        rounds(count)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        few, many = held(3), held(3)
    finally:
        tracemalloc.stop()

    assert connection.connected
    assert many - few < 16 * KIB


def test_gossip_is_taken_up_to_a_limit_and_the_rest_is_told(info):
    connection, _ = peer(info, up=True)
    connection.receive_data(info(connect_urls=[f"h{at}:1" for at in range(3000)]), 0.0)
    told = {event.kind: event.detail for event in drained(connection) if isinstance(event, Notice)}

    assert 257 == len(connection.servers)
    assert 3000 - 256 == told[NoticeKind.POOL_TRUNCATED]


# ---------------------------------------------------------------------------------------------- work


def operations(work):
    """How many operations of the interpreter a piece of work takes, in our own code and below."""
    count = 0
    worker = threading.Thread(
        target=lambda: counted(work)
    )  # by thread, since another one's tracing may be coverage's

    def instruction(_code, _offset):
        nonlocal count
        count += threading.current_thread() is worker

    def traced(frame, event, _argument):
        nonlocal count
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return traced

    def counted(work):
        if sys.version_info < (3, 12):
            sys.settrace(traced)
            work()
            return
        watch = (
            sys.monitoring
        )  # settrace tells of no operation in frames that begin later, from 3.12 on
        watch.use_tool_id(4, "operations")
        try:
            watch.register_callback(4, watch.events.INSTRUCTION, instruction)
            watch.set_events(4, watch.events.INSTRUCTION)
            work()
        finally:
            watch.set_events(4, 0)
            watch.free_tool_id(4)

    worker.start()
    worker.join()
    return count


def many_messages(info, count):
    connection, _ = peer(info, up=True)
    return lambda: connection.receive_data(b"MSG a 2 1\r\nx\r\n" * count, 0.0)


def many_lines(info, count):
    connection, _ = peer(info, up=True)
    return lambda: connection.receive_data(b"PING\r\nMSG b 7 0\r\n\r\n" * count, 0.0)


def one_message_in_many_pieces(info, count):
    connection, _ = peer(info, up=True)
    connection.receive_data(b"MSG a 2 %d\r\n" % count, 0.0)

    def work():
        for _ in range(count):
            connection.receive_data(b"x", 0.0)

    return work


def one_line_in_many_pieces(info, count):
    connection, _ = peer(info, up=True)
    connection.receive_data(b"INFO ", 0.0)

    def work():
        for _ in range(count):
            connection.receive_data(b" ", 0.0)

    return work


def many_subscriptions_that_end(info, count):
    connection, _ = peer(info, up=True)
    opened = [connection.open(Subscription("s"), 0.0) for _ in range(count)]

    def work():
        for each in opened:
            connection.close(each, 0.0)

    return work


def many_requests_beside_many_subscriptions(info, count):
    connection, _ = peer(info, up=True)
    for _ in range(count):
        connection.open(Subscription("s"), 0.0)

    def work():
        for _ in range(count):
            connection.close(connection.open(request("svc"), 0.0), 0.0)

    return work


def many_that_are_due(info, count):
    connection, _ = peer(info, up=True)
    for _ in range(count):
        connection.open(request("svc", timeout=1.0), 0.0)
    return lambda: connection.handle_tick(1.0)


def a_link_lost_and_restored(info, count):
    connection, _ = peer(info, up=True)
    for _ in range(count):
        connection.open(Subscription("s"), 0.0)

    def work():
        connection.transport_down(None, 0.0)
        connection.handle_tick(1.0)
        connection.transport_up(1.0)
        connection.receive_data(info() + b"PONG\r\n", 1.0)

    return work


def a_close(info, count):
    connection, _ = peer(info, up=True)
    for _ in range(count):
        connection.open(Subscription("s"), 0.0)
        connection.open(Flush(), 0.0)
    return lambda: connection.close(None, 0.0)


def gossip(info, count):
    connection, _ = peer(info, up=True)
    data = info(connect_urls=[f"h{at}:1" for at in range(count)])
    return lambda: connection.receive_data(data, 0.0)


@pytest.mark.parametrize(
    "make",
    [
        many_messages,
        many_lines,
        one_message_in_many_pieces,
        one_line_in_many_pieces,
        many_subscriptions_that_end,
        many_requests_beside_many_subscriptions,
        many_that_are_due,
        a_link_lost_and_restored,
        a_close,
        gossip,
    ],
)
def test_twice_as_much_is_at_most_twice_the_work(info, make):
    few, many = operations(make(info, 100)), operations(make(info, 200))

    assert few > 100
    assert many < 2.2 * few


# ---------------------------------------------------------------------------------------------- anything at all

MUX = "_INBOX.R.0000000000000000000000"
FRAMES = st.sampled_from(
    [
        b"INFO "
        + json.dumps({"max_payload": 1000, "connect_urls": ["b:1", "[::1]:2"]}).encode()
        + b"\r\n",
        b'INFO {"ldm":true,"nonce":"n","tls_available":true}\r\n',
        b"PING\r\n",
        b"PONG\r\n",
        b"PONG\r\n",
        b"+OK\r\n",
        b"-ERR 'Permissions Violation for Subscription to \"a\"'\r\n",
        b"-ERR 'Permissions Violation for Publish to \"svc\"'\r\n",
        b"-ERR 'Some New Error'\r\n",
        b"-ERR 'Authorization Violation'\r\n",
        b"MSG a 2 1\r\nx\r\n",
        b"MSG a 2 r 3\r\nx\r\n\r\n",
        b"HMSG a 2 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
        b"HMSG a 3 16 17\r\nNATS/1.0 100\r\n\r\ny\r\n",
        f"MSG {MUX}.2.1 1 2\r\nok\r\n".encode(),
        f"HMSG {MUX}.2.1 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n".encode(),
        b"MSG x 1 0\r\n\r\n",
        b"MSG .. 1 0\r\n\r\n",
        b"MSG a 4 1\r\nx\r\n",
    ]
)


@st.composite
def mutated(draw):
    """A frame with a wound: a byte changed, a piece lost, a piece twice, another frame inside."""
    frame = draw(FRAMES)
    at = draw(st.integers(0, len(frame) - 1))
    to = draw(st.integers(at, min(len(frame), at + 6)))
    return draw(
        st.sampled_from(
            [
                frame[:at] + bytes([draw(st.integers(0, 255))]) + frame[at + 1 :],
                frame[:at] + frame[to:],
                frame[:to] + frame[at:],
                frame[:at] + draw(FRAMES) + frame[at:],
                frame[:at],
            ]
        )
    )


STEPS = st.one_of(
    FRAMES,
    FRAMES,
    mutated(),
    st.binary(max_size=20),
    st.sampled_from(["up", "up", "greet", "greet", "down", "tick", "take", "open"]),
)
GREETING = b'INFO {"max_payload":1000}\r\n'


def led(script, cut):
    """All that comes out of a connection that is told anything at all; conversations are opened on
    the way.
    """
    connection = Connection(
        Options(
            servers="a,b",
            randomize=False,
            reconnect_wait=0.001,
            max_payload=5000,
            connect_sweeps=None,
        ),
        entropy=bytes,
        now=0.0,
    )
    opened = [
        connection.open(each, 0.0)
        for each in (Subscription("a"), request("svc"), Puller(), Flush())
    ]
    out = []
    for now, step in enumerate(script):
        if step in ("up", "greet"):
            connection.handle_tick(float(now))
            connection.transport_up(float(now))
            for data in (GREETING, b"PONG\r\n") if step == "greet" else ():
                connection.receive_data(data, float(now))
        elif step == "down":
            connection.transport_down(OSError("gone") if now % 2 else None, float(now))
        elif step == "tick":
            connection.handle_tick(float(now))
        elif step == "open" and not connection.closed:
            opened += [
                connection.open(each, float(now))
                for each in (request("svc"), Subscription("b"), Flush())
            ]
        elif step == "take":
            for each in opened:
                try:
                    out.append(repr(connection.take(each, float(now))))
                except JsprotoError as error:
                    out.append(repr(error))
        elif isinstance(step, bytes):
            for at in range(0, len(step), cut):
                connection.receive_data(step[at : at + cut], float(now))
        out.append(connection.data_to_send())
        out.append(connection.next_deadline())
        for event in drained(connection):
            assert isinstance(getattr(event, "error", None), JsprotoError | None)

            out.append(type(event).__name__)
    return out


@settings(max_examples=250, deadline=None)
@given(
    st.lists(STEPS, min_size=3, max_size=40).map(lambda steps: ["greet", *steps]),
    st.integers(1, 50),
)
def test_whatever_is_said_nothing_is_raised_and_it_is_the_same_each_time(script, cut):
    assert led(script, cut) == led(script, cut)


def test_a_message_for_the_mux_with_no_address_is_counted_and_nothing_else(info):
    connection, sub = peer(info, up=True)
    asked = connection.open(request("svc"), 0.0)
    for subject in ("x", "x.y", "..", f"{MUX}.2.0", f"{MUX}.2.-1", f"{MUX}.999.1"):
        connection.receive_data(f"MSG {subject} 1 1\r\nx\r\n".encode(), 0.0)

    assert NEED_DATA is connection.take(asked, 0.0)
    assert 6 == connection.stats.unknown_sid
    assert 0 == sub.readable
