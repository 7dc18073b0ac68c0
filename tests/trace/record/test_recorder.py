"""The recorder on the model server: it is the same connection, byte for byte, and what it wrote
down is all that was said.
"""

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import StopMode
from jsproto.core.pubsub.request import Flush
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import ConversationClosed, InvalidConfig
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.signals import NEED_DATA
from jsproto.testing import Pair, SimServer
from jsproto.testing.simserver import Login as Asked
from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.recording import INNER, Happened, Received, Sent, Wished
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.judge.lint import lint
from jsproto.trace.record.recorder import GRAIN, Recorder, moment
from jsproto.trace.record.tape import Tape
from jsproto.trace.replay.replay import Replay
from jsproto.wire.commands import Publish

CANARY = "cAnAry"


class Paper:
    def __init__(self):
        self.text = ""
        self.closed = 0
        self.write = self.add

    def add(self, text):
        self.text += text

    def close(self):
        self.closed += 1

    def records(self):
        """All but what only a rerun reads."""
        records = [record for _, record in read_trace(self.text.encode()).records()]
        return [each for each in records if not (isinstance(each, Happened) and each.name in INNER)]


def entropy():
    count = 0

    def give(size):
        nonlocal count
        count += 1
        return bytes((count * 7 + at * 13) % 256 for at in range(size))

    return give


class Wire:
    """What went over the line, got from the server's side of a pair."""

    def __init__(self, server):
        self._server = server
        self.said = b""
        self.heard = b""

    def __getattr__(self, name):
        return getattr(self._server, name)

    def receive_data(self, cid, data, now):
        self.heard += data
        self._server.receive_data(cid, data, now)

    def data_to_send(self, cid):
        data = self._server.data_to_send(cid)
        self.said += data
        return data


def story(machine, **asked):
    """Two links, a subscription on both, a publish, and the end; gives the line."""
    server = Wire(SimServer(auth=Asked(**asked)) if asked else SimServer())
    auth = Auth(user="u", password=CANARY) if asked else None
    pair = Pair(machine, server, auth=auth)
    pair.step()
    reader = machine.open(Subscription("a"), pair.now)
    assert machine.take(reader, pair.now) is NEED_DATA
    for payload in (b"one", b"two", b"three"):
        machine.send(Publish("a", payload, "answers"), pair.now)
    pair.step()
    assert machine.take(reader, pair.now).payload == b"one"
    assert [each.payload for each in machine.take_all(reader, pair.now)] == [b"two", b"three"]
    assert machine.take_all(reader, pair.now) is NEED_DATA
    pair.drop()
    pair.advance(5.0)
    machine.reconnect(pair.now)
    pair.advance(5.0)
    machine.open(Flush(), pair.now)
    pair.step()
    machine.tell(reader, StopMode.DRAIN, pair.now)
    pair.step()
    machine.close(reader, pair.now)
    machine.close(None, pair.now)
    pair.step()
    assert machine.closed
    return server


OPTIONS = Options(servers="nats://sim", max_payload=1 << 20)


def recorder(paper, keep=Keep.FULL, options=OPTIONS):
    return Recorder(options, entropy=entropy(), now=0.0, tape=Tape(paper, keep=keep))


def test_a_recorder_is_the_connection_that_it_records_byte_for_byte():
    plain, taped = Connection(OPTIONS, entropy=entropy(), now=0.0), recorder(Paper())

    assert story(plain).heard == story(taped).heard


def test_with_everything_kept_the_trace_is_what_went_over_the_line():
    paper = Paper()
    line = story(recorder(paper))
    records = paper.records()
    said = b"".join(each.data for each in records if isinstance(each, Received))
    heard = b"".join(each.data for each in records if isinstance(each, Sent))

    def without_connect(data):
        return [each for each in data.split(b"\r\n") if not each.startswith(b"CONNECT ")]

    assert said == line.said
    assert without_connect(heard) == without_connect(line.heard)
    assert heard.count(b"CONNECT {") == 3
    assert paper.closed == 1


@pytest.mark.parametrize("keep", Keep)
def test_a_recording_is_replayed_and_judged_without_a_word_of_blame(keep):
    paper = Paper()
    story(recorder(paper, keep))
    replay = Replay()
    for line, record in read_trace(paper.text.encode()).records():
        replay.feed(line, record)

    assert replay.unknown == []
    assert replay.counted["INFO"] >= 3
    assert replay.counted["MSG"] == 3
    assert list(lint(read_trace(paper.text.encode()).records())) == []


def test_verbs_and_events_stand_beside_the_bytes():
    paper = Paper()
    story(recorder(paper))
    records = paper.records()
    wishes = [(each.name, each.detail.get("of")) for each in records if isinstance(each, Wished)]
    events = [each for each in records if isinstance(each, Happened)]

    assert wishes == [
        ("open", "Subscription"),
        ("reconnect", None),
        ("open", "Flush"),
        ("drain", "Subscription"),
        ("close", "Subscription"),
        ("close", None),
    ]
    assert [each.name for each in events] == [
        *("dial", "connected", "up", "taken", "taken", "lost", "down"),
        *("dial", "connected", "up", "client_close", "down", "dial", "connected", "up"),
        *("client_close", "over"),
    ]
    assert [each.detail for each in events if each.name == "taken"] == [
        {"of": "Subscription", "number": 1, "count": 1},
        {"of": "Subscription", "number": 1, "count": 2, "all": True},
    ]
    assert {each.conn for each in records} == {"a"}


@pytest.mark.parametrize("keep", Keep)
def test_a_secret_is_on_no_tape(keep):
    paper = Paper()
    options = Options(
        servers=(Server(host="sim", user="v", password=CANARY),), ask_for_credentials=True
    )
    line = story(recorder(paper, keep, options), user="u", password=CANARY)

    assert CANARY.encode() in line.heard
    assert CANARY not in paper.text
    assert "! a authenticate\n" in paper.text


def test_what_fails_and_what_is_told_is_named_by_its_class():
    paper = Paper()
    machine = recorder(paper, options=Options(servers="nats://sim", connect_sweeps=1))
    machine.next_event()
    machine.transport_down(OSError(CANARY), 1.0)
    while machine.next_event() is not None:
        pass
    assert machine.data_to_send() == b""
    with pytest.raises(ConversationClosed):
        machine.open(Subscription("a"), 1.0)

    assert CANARY not in paper.text
    assert [(each.name, each.detail) for each in paper.records()] == [
        ("dial", {"server": "sim:4222"}),
        ("lost", {"error": "OSError"}),
        ("notice", {"kind": "ATTEMPT_FAILED"}),
        ("over", {"error": "ConnectFailed"}),
    ]


def test_notices_of_a_conversation_name_it_and_a_lame_duck_is_told():
    paper = Paper()
    machine = recorder(paper)
    pair = Pair(machine, SimServer())
    pair.step()
    reader = machine.open(Subscription("a", max_messages=1), pair.now)
    pair.step()
    frame = f"MSG a {reader.port.sid} 1\r\nx\r\n".encode()
    machine.transport_up(pair.now)  # what stands already is no new link
    machine.receive_data(frame * 2 + b'INFO {"ldm":true,"max_payload":10}\r\n', pair.now)
    pair.step()

    told = {each.name: each.detail for each in paper.records() if isinstance(each, Happened)}
    assert told["notice"] == {"kind": "SLOW_CONSUMER", "of": "Subscription", "number": 1}
    assert told["lame_duck"] == {}
    assert paper.text.count("connected") == 1


def test_a_limit_is_a_verb_and_one_that_is_refused_is_none():
    paper = Paper()
    machine = recorder(paper)
    pair = Pair(machine, SimServer())
    pair.step()
    reader = machine.open(Subscription("a"), pair.now)
    machine.limit(reader, 3, pair.now)
    with pytest.raises(InvalidConfig):
        machine.limit(reader, 4, pair.now)
    machine.close(None, pair.now)
    pair.step()

    (said,) = [
        each.detail for each in paper.records() if isinstance(each, Wished) and each.name == "limit"
    ]
    assert (said["of"], said["count"]) == ("Subscription", 3)


def test_a_delivery_that_is_taken_is_named_by_its_reply_subject():
    paper = Paper()
    machine = recorder(paper)
    pair = Pair(machine, SimServer())
    pair.step()
    reader = machine.open(Subscription("a"), pair.now)
    pair.step()
    frame = f"MSG a {reader.port.sid} $JS.ACK.S.C.1.1.1.1.0 1\r\nx\r\n"
    machine.receive_data(frame.encode(), pair.now)
    machine.take(reader, pair.now)

    assert paper.records()[-1].detail["reply"] == "$JS.ACK.S.C.1.1.1.1.0"


def test_what_is_put_in_and_opened_twice_is_as_without_a_recorder():
    machine = recorder(Paper())
    pair = Pair(machine, SimServer())
    pair.step()
    window = machine.open(PublishWindow(), pair.now)
    with pytest.raises(ConversationClosed):
        machine.open(window, pair.now)

    assert machine.put(window, Publish("a", b"x"), pair.now)


def test_moments_are_never_before_the_time_and_each_is_told_by_six_digits():
    for seconds in (0.0, 1.0, 1 / 3, 86_400.123_456_789, 1e7 + 0.1):
        at = moment(seconds)

        assert 0 <= at - seconds < 1 / GRAIN
        assert round(float(f"{at:.6f}") * GRAIN) / GRAIN == at
