"""``connect(..., record=...)`` on every adapter, on a real server: the file is what was said, and
no secret is in it.
"""

from __future__ import annotations

import errno
import gc
import inspect
import json
import resource
import uuid
from datetime import timedelta

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.errors import InvalidConfig
from jsproto.trace.formats.reading import Trace
from jsproto.trace.formats.recording import Happened, Received, Sent, Wished
from jsproto_cli.main import main
from jsproto_io.blocking import connect
from jsproto_io.credentials import Creds, NkeySeed
from jsproto_io.recording import Keep, NewFile, TraceFile
from tests.accounts import USER, creds, public, server_config
from tests.forked import forked
from tests.live.proxy import Tap

pytestmark = pytest.mark.live

CANARY = "cAnAry"


def records(path):
    with path.open("rb") as file:
        return [record for _, record in Trace(file).records()]


@pytest.fixture
def name():
    return f"T{uuid.uuid4().hex[:12]}"


class Ear(Tap):
    """A tap that keeps all bytes that clients say, and all that the server says."""

    def __init__(self, port):
        self.said, self.heard = b"", b""
        super().__init__(port)

    def _carry(self, source, sink, reader, ends):
        super()._carry(_Spy(source, self, heard=reader is None), sink, None, ends)


class _Spy:
    def __init__(self, stream, ear, *, heard):
        self._stream, self._ear, self._heard = stream, ear, heard

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def recv(self, size):
        data = self._stream.recv(size)
        if self._heard:
            self._ear.heard += data
        else:
            self._ear.said += data
        return data


def story(name):
    """Verbs for `use`: a stream, a message with an id, a consumer that gives it, its end."""

    def play(nc):
        async def awaited():
            js = nc.jetstream()
            stream = await js.create_stream(name=name, subjects=[f"{name}.>"], storage="memory")
            await js.publish(f"{name}.a", b"payload of a user", msg_id="1")
            consumer = await stream.create_consumer(durable_name="C")
            await (await consumer.next(timeout=5)).ack()
            await stream.delete()

        def blocked():
            js = nc.jetstream()
            stream = js.create_stream(name=name, subjects=[f"{name}.>"], storage="memory")
            js.publish(f"{name}.a", b"payload of a user", msg_id="1")
            consumer = stream.create_consumer(durable_name="C")
            consumer.next(timeout=5).ack()
            stream.delete()

        return blocked() if type(nc).__module__ == "jsproto_io.blocking" else awaited()

    return play


def test_the_file_is_what_went_over_the_wire_and_is_replayed_and_judged(
    use, nats_server, name, tmp_path, capsys
):
    path = tmp_path / "incident.trace"
    ear = Ear(nats_server.port)
    try:
        use(ear.url, story(name), record=TraceFile(path, Keep.FULL))
    finally:
        ear.close()
    seen = records(path)

    assert b"".join(each.data for each in seen if isinstance(each, Received)) == ear.heard
    sent = b"".join(each.data for each in seen if isinstance(each, Sent))
    connects = [data.split(b"\r\n")[0] for data in (sent, ear.said)]
    assert all(each.startswith(b"CONNECT {") for each in connects)
    assert sent.removeprefix(connects[0]) == ear.said.removeprefix(connects[1])
    assert {"open", "close"} <= {each.name for each in seen if isinstance(each, Wished)}
    assert {"dial", "connected", "up", "taken", "over"} <= {
        each.name for each in seen if isinstance(each, Happened)
    }
    assert main(["replay", str(path)]) == 0
    assert main(["lint", str(path)]) == 0
    assert "found nothing" in capsys.readouterr().out


def busy(name):
    """Verbs for `use`: a stream is made, filled, read in three ways, and a subscription is drained."""

    def verbs(nc):
        js = nc.jetstream()
        stream = yield js.create_stream(name=name, subjects=[f"{name}.>"], storage="memory")
        for number in range(30):
            yield js.publish(f"{name}.a", b"payload of a user", msg_id=str(number))
        consumer = yield stream.create_consumer(durable_name="C")
        for _ in range(2):
            message = yield consumer.next(timeout=5)
            yield message.ack()
        for message in (yield from read((yield entered(consumer.fetch(5, timeout=5))), 5)):
            yield message.ack()
        consume = yield entered(consumer.consume(4))
        for message in (yield from read(consume, 9)):
            yield message.ack()
        yield nc.reconnect()
        for message in (yield from read(consume, 9)):
            yield message.nak()
        yield left(consume)
        pushed = yield entered(
            js.subscribe(
                f"{name}.a", stream=name, flow_control=True, idle_heartbeat=timedelta(seconds=5)
            )
        )
        ordered = yield entered(stream.ordered(idle_heartbeat=1.0))
        for feed in (pushed, ordered):
            yield from read(feed, 12)
            yield left(feed)
        plain = yield entered(nc.subscribe(f"{name}.b", queue="q"))
        yield nc.publish(f"{name}.b", b"core")
        yield nc.flush()
        yield from read(plain, 1)
        yield left(plain)
        yield stream.delete()

    def entered(feed):
        return (getattr(feed, "__aenter__", None) or feed.__enter__)()

    def left(feed):
        return (getattr(feed, "__aexit__", None) or feed.__exit__)(None, None, None)

    def read(feed, count):
        found = []
        for _ in range(count):
            message = yield feed.next(timeout=5)
            found.append(message)
        return found

    def play(nc):
        async def awaited():
            steps, given = verbs(nc), None
            while True:
                try:
                    step = steps.send(given)
                except StopIteration:
                    return
                given = await step if inspect.isawaitable(step) else step

        def blocked():
            steps, given = verbs(nc), None
            while True:
                try:
                    given = steps.send(given)
                except StopIteration:
                    return

        return blocked() if type(nc).__module__ == "jsproto_io.blocking" else awaited()

    return play


@pytest.mark.parametrize("keep", [Keep.LENGTH, Keep.FULL])
def test_a_session_with_a_real_server_is_run_again_byte_for_byte(
    use, nats_server, tmp_path, capsys, keep
):
    path = tmp_path / "session.trace"
    use(nats_server.url, busy(f"T{uuid.uuid4().hex[:12]}"), record=TraceFile(path, keep))
    found = main(["replay", "--json", str(path)])
    again = json.loads(capsys.readouterr().out)["rerun"]

    assert (found, again["words"], again["diverged"]) == (0, None, False)
    sent = [each for each in records(path) if isinstance(each, Sent)]
    assert (again["frames"] + again["given"], again["given"]) == (len(sent), 26)


def test_a_path_alone_keeps_no_payload_and_the_next_client_gets_a_file_of_its_own(
    use, nats_server, name, tmp_path
):
    path = tmp_path / "incident.trace"
    for _ in range(2):
        use(nats_server.url, story(name), record=str(path))
    text = path.read_text()

    assert "payload of a user" not in text
    assert r"\{17}" in text
    assert f"PUB {name}.a" in text
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "incident-1.trace",
        "incident.trace",
    ]
    assert records(tmp_path / "incident-1.trace")[-1].name in {"over", "client_close"}


SERVERS = {
    "password": (
        f"authorization {{ user: u, password: {CANARY} }}",
        {"auth": Auth(user="u", password=CANARY)},
    ),
    "token": (f'authorization {{ token: "{CANARY}" }}', {"auth": Auth(token=CANARY)}),
    "nkey": (
        f"authorization {{ users: [ {{ nkey: {public(USER)} }} ] }}",
        {"credentials": NkeySeed(USER)},
    ),
    "jwt": (server_config(), {"credentials": Creds(creds())}),
}


@pytest.mark.parametrize("keep", [Keep.NONE, Keep.FULL])
@pytest.mark.parametrize("way", SERVERS)
def test_no_secret_is_ever_recorded(use, start_server, tmp_path, way, keep):
    config, options = SERVERS[way]
    server = start_server(config=config)
    ear = Ear(server.port)
    path = tmp_path / "secret.trace"
    try:
        use(ear.url, lambda nc: nc.flush(), record=TraceFile(path, keep), **options)
    finally:
        ear.close()
    text = path.read_text()
    secrets = [CANARY, USER.reveal(), *(word for word in creds().split() if len(word) > 50)]

    told = ear.said.split(b"\r\n")[0].decode()
    if way == "nkey":
        secrets.append(told.partition('"sig":"')[2].partition('"')[0])
        assert len(secrets[-1]) > 80
    else:
        assert any(secret in told for secret in secrets)
    assert [secret for secret in secrets if secret in text] == []
    assert "[redacted]" in text


def test_a_reconnect_is_in_the_same_file(use, nats_server, tmp_path):
    path = tmp_path / "links.trace"
    use(
        nats_server.url,
        lambda nc: nc.flush(),
        lambda nc: nc.reconnect(),
        lambda nc: nc.flush(),
        record=path,
    )
    seen = [each.name for each in records(path) if isinstance(each, Happened | Wished)]

    assert seen.count("connected") == 2
    assert seen.index("reconnect") < seen.index("down")


def test_a_file_takes_no_more_than_it_may(nats_server, tmp_path):
    path = tmp_path / "small.trace"
    with connect(nats_server.url, record=TraceFile(path, most_bytes=4000)) as nc:
        for _ in range(2000):
            nc.publish("nobody", b"x" * 100)
        nc.flush()

    assert path.stat().st_size < 4200
    assert (records(path)[-1].name, records(path)[-1].detail) == ("full", {"bytes": 4000})


def test_a_file_that_cannot_be_made_is_said_before_anything_is_dialled(nats_server, tmp_path):
    client = connect(nats_server.url, record=tmp_path / "no" / "folder.trace")
    with pytest.raises(InvalidConfig, match="expected a file that can be recorded to"):
        client.__enter__()


def test_so_many_files_and_no_more_lie_beside_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr("jsproto_io.recording._MOST_FILES", 2)
    for _ in range(2):
        NewFile(tmp_path / "a.trace").close()
    with pytest.raises(InvalidConfig, match="expected fewer than 2 recordings"):
        NewFile(tmp_path / "a.trace")


def test_a_disk_that_is_full_is_logged_once_and_breaks_no_connection(nats_server, tmp_path, caplog):
    path = tmp_path / "cut.trace"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with connect(nats_server.url, record=path) as nc:
            for _ in range(2000):
                nc.publish("nobody", b"x" * 100)
            assert nc.flush() > 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert [each.getMessage() for each in caplog.records if "recorded" in each.getMessage()] == [
        f"{path}: not recorded any further: [Errno {errno.EFBIG}] File too large"
    ]


def test_what_waits_for_a_full_disk_until_the_end_is_logged_too(tmp_path, caplog):
    file = NewFile(tmp_path / "cut.trace")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        file.write("more than ten bytes, fewer than are written at once")
        file.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    file.write("nothing follows")

    assert len(caplog.records) == 1


def test_text_does_not_wait_for_long(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("jsproto_io.recording.monotonic", lambda: now[0])
    file = NewFile(tmp_path / "a.trace")
    file.write("a")
    now[0] = 1.5
    file.write("b")

    assert (tmp_path / "a.trace").read_text() == "ab"
    file.close()


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_fork_leaves_what_waits_to_its_parent(tmp_path):
    file = NewFile(tmp_path / "a.trace")
    file.write("a")
    code = forked(file.close)
    before = (tmp_path / "a.trace").read_text()
    file.close()

    assert (code, before, (tmp_path / "a.trace").read_text()) == (0, "", "a")


def test_what_waits_is_written_where_nobody_has_closed_the_file(tmp_path):
    file = NewFile(tmp_path / "a.trace")
    file.write("a")
    del file
    gc.collect()

    assert (tmp_path / "a.trace").read_text() == "a"


def test_much_text_does_not_wait_at_all(tmp_path):
    file = NewFile(tmp_path / "a.trace")
    file.write("a" * 70_000)

    assert (tmp_path / "a.trace").stat().st_size == 70_000
    file.close()
