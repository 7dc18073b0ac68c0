"""Every number of the server's table that a client can provoke on one server is provoked, and comes
as a typed error.

The tables say how; `spec/errors.toml` says for the other numbers why not. What the offline rules
know is provoked by `test_checks.py`, rule by rule, and what only a cluster says by
`test_operations.py`. All of it is sent past everything of ours that would hold it up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.errors import InvalidResponse
from jsproto.jetstream.api.envelope import members_or_error, to_json
from jsproto.jetstream.api.errors import (
    ApiLevelTooLow,
    CannotServe,
    InvalidRequest,
    JetStreamError,
    RequestContext,
)
from jsproto.jetstream.stored.snapshot import Origin
from jsproto.ops.reports import stream_report
from jsproto.wire.headers import Headers
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.blocking import Client, connect
from jsproto_io.credentials import Creds
from tests.accounts import CORE_ONLY, creds, server_config

pytestmark = pytest.mark.live

FAST = RequestContext(what="fast batch.a")
THROUGH = {"name": "D", "deliver_subject": "d.x"}
LATER = "@at 2099-01-01T00:00:00Z"


class World:
    """One server with streams for all that is asked of it."""

    def __init__(self, nc: Client) -> None:
        self.nc = nc
        self.stream("S", max_msg_size=1000, allow_direct=True)
        self.stream("ONE", max_consumers=1)
        self.stream("WORK", retention="workqueue")
        self.stream("SEAL")
        self.api("STREAM.UPDATE.SEAL", {"name": "SEAL", "subjects": ["seal.>"], "sealed": True})
        self.stream("TTL", allow_msg_ttl=True)
        self.stream("COUNT", allow_msg_counter=True)
        self.stream("BATCH", allow_atomic=True, allow_batched=True)
        self.stream("PLAN", allow_msg_schedules=True, allow_rollup_hdrs=True, allow_msg_ttl=True)
        for _ in range(3):
            self.publish("s.a")
        self.consumer("S", "C", durable_name="C", ack_policy="explicit")
        self.consumer("S", "P", durable_name="P", deliver_subject="to.x", ack_policy="none")
        self.consumer("ONE", "A", ack_policy="none")
        self.consumer("WORK", "A", ack_policy="explicit", filter_subject="work.a")

    def asked(self, subject: str, payload: bytes, headers: Headers | None) -> dict[str, object]:
        def steps() -> Steps[dict[str, object]]:
            reply = yield Call(subject, payload, headers)
            return members_or_error(reply.payload, RequestContext(what=subject))

        return self.nc.run(Procedure(steps))

    def api(
        self, verb: str, body: object = None, headers: dict[str, str] | None = None
    ) -> dict[str, object]:
        payload = body if isinstance(body, bytes) else b"" if body is None else to_json(body)
        return self.asked(f"$JS.API.{verb}", payload, Headers(headers) if headers else None)

    def publish(
        self, subject: str, headers: dict[str, str] | None = None, payload: bytes = b""
    ) -> dict[str, object]:
        return self.asked(subject, payload, Headers(headers) if headers else None)

    def stream(self, name: str, **config: object) -> dict[str, object]:
        subjects = {} if "mirror" in config else {"subjects": [f"{name.lower()}.>"]}
        return self.api(f"STREAM.CREATE.{name}", {"name": name, **subjects, **config})

    def consumer(
        self, stream: str, name: str, action: str = "create", **config: object
    ) -> dict[str, object]:
        filtered = config.get("filter_subject")
        subject = f"CONSUMER.CREATE.{stream}.{name}" + (f".{filtered}" if filtered else "")
        return self.api(
            subject, {"stream_name": stream, "config": {"name": name, **config}, "action": action}
        )

    def durable(self, name: str, **config: object) -> dict[str, object]:
        return self.api(f"CONSUMER.DURABLE.CREATE.S.{name}", {"stream_name": "S", "config": config})

    def moved_away(self) -> dict[str, object]:
        """A consumer pushes to another subject, while somebody listens on the old one."""
        with self.nc.subscribe("to.x"):
            self.nc.flush()
            return self.durable("P", durable_name="P", deliver_subject="to.y", ack_policy="none")

    def batch(self, **headers: str) -> dict[str, object]:
        return self.publish(
            "batch.a", {f"Nats-Batch-{name}": value for name, value in headers.items()}
        )

    def batched(self, batch: str, headers: dict[str, str]) -> dict[str, object]:
        """The second message of an atomic batch, with whatever is wrong with it."""
        self.nc.publish("batch.a", headers={"Nats-Batch-Id": batch, "Nats-Batch-Sequence": "1"})
        return self.publish(
            "batch.a", {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": "2", **headers}
        )

    def fast(self, batch: str, rest: str) -> dict[str, object]:
        """A message of fast ingest, whose reply subject says what it is."""
        with self.nc.subscribe("fast.>") as answers:
            self.nc.publish("batch.a", reply=f"fast.{batch}.{rest}.$FI")
            said = json.loads(answers.next().payload)
            return members_or_error(
                to_json({"error": said["error"]}) if said.get("type") == "err" else to_json(said),
                FAST,
            )

    def opened(self, batches: int) -> dict[str, object]:
        """One atomic batch more than so many that nobody ends."""
        self.stream("OPEN", allow_atomic=True)
        for number in range(batches):
            self.nc.publish(
                "open.a", headers={"Nats-Batch-Id": f"b{number}", "Nats-Batch-Sequence": "1"}
            )
        return self.publish("open.a", {"Nats-Batch-Id": "more", "Nats-Batch-Sequence": "1"})

    def batch_of(self, messages: int) -> dict[str, object]:
        """An atomic batch of so many messages, past our own bound."""
        self.stream("LARGE", allow_atomic=True)
        for number in range(1, messages):
            self.nc.publish(
                "large.a", headers={"Nats-Batch-Id": "l", "Nats-Batch-Sequence": str(number)}
            )
        last = {
            "Nats-Batch-Id": "l",
            "Nats-Batch-Sequence": str(messages),
            "Nats-Batch-Commit": "1",
        }
        return self.publish("large.a", last)

    def restored(self, name: str, chunks: list[bytes] | None = None, **config: object) -> None:
        """A stream out of the archive of an ordinary one, or of these chunks, with another
        configuration.
        """
        self.stream(name)
        self.publish(f"{name.lower()}.a", None, b"x")
        js = self.nc.jetstream()
        with js.stream(name).snapshot() as feed:
            whole = list(feed)
            origin = feed.feed.origin
        js.delete_stream(name)
        changed = {**origin.members, "config": {**origin.members["config"], **config}}
        with js.restore(Origin(changed)) as sink:
            for chunk in chunks or whole:
                sink.put(chunk)
            sink.drain()
            list(sink.results())

    def overfilled(self, messages: int, **config: object) -> dict[str, object]:
        """So many messages of 50 kB in memory."""
        self.stream("MM", storage="memory", **config)
        for _ in range(messages):
            self.publish("mm.a", None, b"x" * 50_000)
        return {}

    def flooded(self, messages: int) -> None:
        """So many messages at once; the first that is refused is raised."""
        self.stream("FLOOD")
        with self.nc.jetstream().publish_window(max_pending=messages) as window:
            for _ in range(messages):
                window.put(("flood.a", b"x" * 500))
            window.drain()
            for result in window.results():
                if isinstance(result.error, JetStreamError):
                    raise result.error

    def plan(
        self, schedule: str = LATER, target: str = "plan.b", **headers: str
    ) -> dict[str, object]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.publish(
            "plan.a", {"Nats-Schedule": schedule, "Nats-Schedule-Target": target, **named}
        )


Provocation = Callable[[World], object]

PROVOKED: dict[tuple[int, str], Provocation] = {
    (10003, "a request that asks for nothing"): lambda w: w.api("STREAM.MSG.GET.S", {}),
    (10010, "step-down of a stream without a cluster"): lambda w: w.api("STREAM.LEADER.STEPDOWN.S"),
    (10012, "another ack policy for a consumer"): lambda w: w.durable(
        "C", durable_name="C", ack_policy="none"
    ),
    (10013, "a durable name that somebody listens to"): lambda w: w.moved_away(),
    (10014, "no such consumer"): lambda w: w.api("CONSUMER.INFO.S.NOPE"),
    (10015, "a snapshot to nowhere"): lambda w: w.api(
        "STREAM.SNAPSHOT.S", {"deliver_subject": "a.*"}
    ),
    (10017, "another durable name than in the subject"): lambda w: w.durable("D", durable_name="E"),
    (10018, "no durable name"): lambda w: w.durable("D", ack_policy="none"),
    (10020, "a durable name and none in the subject"): lambda w: w.api(
        "CONSUMER.CREATE.S", {"stream_name": "S", "config": {"durable_name": "E"}}
    ),
    (10022, "a delivery prefix over a source's subjects"): lambda w: w.stream(
        "X", sources=[{"name": "S"}, {"name": "Y", "external": {"api": "y.api", "deliver": "s"}}]
    ),
    (10025, "what is no JSON"): lambda w: w.api("STREAM.CREATE.Y", b"{"),
    (10026, "one consumer too many"): lambda w: w.consumer("ONE", "B", ack_policy="none"),
    (10030, "a mirror of smaller messages"): lambda w: w.stream(
        "M", mirror={"name": "S"}, max_msg_size=10
    ),
    (10037, "no such message"): lambda w: w.api("STREAM.MSG.GET.S", {"seq": 999}),
    (10038, "a body where none belongs"): lambda w: w.api("STREAM.DELETE.S", b"x"),
    (10043, "a sequence that is gone"): lambda w: [
        w.api("STREAM.MSG.DELETE.S", {"seq": 2}) for _ in range(2)
    ],
    (10046, "sources of larger messages"): lambda w: w.stream(
        "M", sources=[{"name": "S"}], max_msg_size=10
    ),
    (10057, "a sequence that never was"): lambda w: w.api("STREAM.MSG.DELETE.S", {"seq": 999}),
    (10054, "a message too large"): lambda w: w.publish("s.a", None, b"x" * 2000),
    (10056, "another name than in the subject"): lambda w: w.api("STREAM.CREATE.Z", {"name": "Q"}),
    (10058, "a name in use"): lambda w: w.stream("S", max_msgs=5),
    (10059, "no such stream"): lambda w: w.api("STREAM.INFO.NONE"),
    (10060, "another stream expected"): lambda w: w.publish("s.a", {"Nats-Expected-Stream": "T"}),
    (10062, "an archive that is none"): lambda w: w.restored("BROKEN", [b"no archive at all" * 50]),
    (10065, "a subject of another stream"): lambda w: w.stream("O", subjects=["s.a"]),
    (10070, "another last id expected"): lambda w: w.publish(
        "s.a", {"Nats-Expected-Last-Msg-Id": "77"}
    ),
    (10071, "another last sequence expected"): lambda w: w.publish(
        "s.a", {"Nats-Expected-Last-Sequence": "77"}
    ),
    (10074, "replicas without a cluster"): lambda w: w.stream("R", num_replicas=3),
    (10077, "a message for a stream that is full"): lambda w: [
        w.stream("FULL", max_msgs=1, discard="new"),
        w.publish("full.a"),
        w.publish("full.a"),
    ],
    (10097, "a header block too large"): lambda w: w.publish("ttl.a", {"k": "v" * 70_000}),
    (10099, "two readers of a work queue"): lambda w: w.consumer(
        "WORK", "B", ack_policy="explicit"
    ),
    (10100, "two readers of one filter"): lambda w: w.consumer(
        "WORK", "B", ack_policy="explicit", filter_subject="work.a"
    ),
    (10109, "a change of what is sealed"): lambda w: w.api("STREAM.PURGE.SEAL"),
    (10110, "a purge of what can't be purged"): lambda w: [
        w.stream("KEEP", deny_purge=True),
        w.api("STREAM.PURGE.KEEP"),
    ],
    (10127, "a path as consumer"): lambda w: w.consumer("S", "a/b"),
    (10128, "a path as stream"): lambda w: w.stream("a/b", subjects=["ab"]),
    (10130, "a restore over a stream"): lambda w: w.api(
        "STREAM.RESTORE.S", {"config": {"name": "S", "subjects": ["s.>"]}, "state": {}}
    ),
    (10131, "another filter than in the subject"): lambda w: w.api(
        "CONSUMER.CREATE.S.N.s.a",
        {"stream_name": "S", "config": {"name": "N", "filter_subject": "s.b"}},
    ),
    (10137, "two filters and one in the subject"): lambda w: w.api(
        "CONSUMER.CREATE.S.N.s.a",
        {"stream_name": "S", "config": {"name": "N", "filter_subjects": ["s.a", "s.b"]}},
    ),
    (10148, "a consumer that is there"): lambda w: w.consumer(
        "S", "C", durable_name="C", ack_policy="none"
    ),
    (10149, "an update of nothing"): lambda w: w.consumer("S", "NONE", "update"),
    (10160, "no such group"): lambda w: w.api("CONSUMER.UNPIN.S.C", {"group": "g"}),
    (10165, "a time to live that is none"): lambda w: w.publish("ttl.a", {"Nats-TTL": "zz"}),
    (10166, "a time to live where none is allowed"): lambda w: w.publish("s.a", {"Nats-TTL": "5s"}),
    (10168, "counting where it is not allowed"): lambda w: w.publish("s.a", {"Nats-Incr": "1"}),
    (10169, "no increment for a counter"): lambda w: w.publish("count.a"),
    (10170, "a payload for a counter"): lambda w: w.publish("count.a", {"Nats-Incr": "1"}, b"x"),
    (10171, "an increment that is none"): lambda w: w.publish("count.a", {"Nats-Incr": "zz"}),
    (10172, "a counter over what is no number"): lambda w: [
        w.restored("TALLY", allow_msg_counter=True),
        w.publish("tally.a", {"Nats-Incr": "+1"}),
    ],
    (10174, "a batch where none is allowed"): lambda w: w.publish(
        "s.a", {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1"}
    ),
    (10175, "a batch without a sequence"): lambda w: w.batch(Id="b1"),
    (10176, "a batch that begins with 2"): lambda w: w.batch(Id="b2", Sequence="2"),
    (10177, "a batch with a header that it can't have"): lambda w: w.batched(
        "b3", {"Nats-Expected-Last-Msg-Id": "x", "Nats-Batch-Commit": "1"}
    ),
    (10179, "a batch with a name too long"): lambda w: w.batch(Id="b" * 65, Sequence="1"),
    (10185, "a level that no server has"): lambda w: w.api(
        "STREAM.INFO.S", None, {"Nats-Required-Api-Level": "99"}
    ),
    (10188, "a schedule where none is allowed"): lambda w: w.publish(
        "s.a", {"Nats-Schedule": LATER, "Nats-Schedule-Target": "s.b"}
    ),
    (10189, "a schedule that is none"): lambda w: w.plan("zz"),
    (10190, "a schedule for a subject of nobody"): lambda w: w.plan(target="nobody"),
    (10191, "a schedule with a time to live that is none"): lambda w: w.plan(
        Nats_Schedule_TTL="zz"
    ),
    (10192, "a schedule that rolls up"): lambda w: w.plan(Nats_Rollup="all"),
    (10193, "a subject and no sequence expected"): lambda w: w.publish(
        "s.a", {"Nats-Expected-Last-Subject-Sequence-Subject": "s.a"}
    ),
    (10199, "a batch of too many"): lambda w: w.batch_of(1001),
    (10200, "a commit that is none"): lambda w: w.batched("b4", {"Nats-Batch-Commit": "zz"}),
    (10203, "a schedule with a source that is none"): lambda w: w.plan(Nats_Schedule_Source="a.*"),
    (10204, "a reset behind the beginning"): lambda w: [
        w.consumer("S", "NEW", deliver_policy="new", ack_policy="explicit"),
        w.api("CONSUMER.RESET.S.NEW", {"seq": 1}),
    ],
    (10206, "a word of fast ingest that is none"): lambda w: w.fast("b", "10.ok.1.9"),
    (10207, "a fast batch with a name too long"): lambda w: w.fast("b" * 65, "10.ok.1.0"),
    (10208, "a fast batch that nobody began"): lambda w: w.fast("b9", "10.ok.5.1"),
    (10210, "too many open batches"): lambda w: w.opened(60),
    (10212, "a schedule that cancels itself"): lambda w: w.publish(
        "plan.a", {"Nats-Scheduler": "plan.a", "Nats-Schedule-Next": "purge"}
    ),
    (10216, "two sources through one consumer"): lambda w: w.stream(
        "X",
        sources=[
            {"name": "S", "consumer": THROUGH},
            {"name": "S", "consumer": THROUGH, "subject_transforms": [{"src": "s.a", "dest": "q"}]},
        ],
    ),
    (10223, "a schedule in a time zone of nowhere"): lambda w: w.plan(
        "0 0 0 * * *", Nats_Schedule_Time_Zone="Mars/Base"
    ),
    (10225, "a reader of a stream that is another one"): lambda w: w.api(
        "CONSUMER.CREATE.S.ID",
        {
            "stream_name": "S",
            "config": {"name": "ID", "direct": True, "sourcing": True, "deliver_subject": "q.q"},
        },
        {"Nats-Stream-Identity": "another"},
    ),
    (10227, "a header of sources"): lambda w: w.publish("s.a", {"Nats-Stream-Source": "X 1 > >"}),
}


@pytest.fixture(scope="module")
def world(nats_server) -> Iterator[World]:
    with NatsServer(nats_server.binary) as own, connect(own.url) as nc:
        yield World(nc)


@pytest.mark.parametrize(
    ("err_code", "what"), PROVOKED, ids=lambda each: str(each).replace(" ", "_")
)
def test_a_number_that_can_be_provoked_comes_as_a_typed_error(world, err_code, what):
    with pytest.raises(JetStreamError) as caught:
        PROVOKED[err_code, what](world)

    assert caught.value.err_code == err_code
    assert str(err_code) in str(caught.value)
    assert (
        "$JS.API" in str(caught.value)
        or ".a" in str(caught.value)
        or "stream BROKEN" in str(caught.value)
    )


# ------------------------------------------------------------------------------------------ what an account may not

LIMITS = """
jetstream { max_mem: 64M, max_file: 64M }
accounts {
  FEW { users [ { user: few, password: x } ], jetstream { max_streams: 1 } }
  SMALL { users [ { user: small, password: x } ], jetstream { max_mem: 1M, max_file: 1M } }
  BOUND { users [ { user: bound, password: x } ], jetstream {
    max_file: 8M, max_bytes_required: true, disk_max_stream_bytes: 1M
  } }
  NONE { users [ { user: none, password: x } ] }
}
"""

LIMITED: dict[tuple[int, str], Provocation] = {
    (10002, "small"): lambda w: w.overfilled(30),
    (10027, "few"): lambda w: [w.stream("A"), w.stream("B")],
    (10028, "small"): lambda w: w.stream("A", storage="memory", max_bytes=2 << 20),
    (10039, "none"): lambda w: w.api("INFO"),
    (10047, "small"): lambda w: w.stream("A", max_bytes=2 << 20),
    (10113, "bound"): lambda w: w.stream("A"),
    (10122, "bound"): lambda w: w.stream("A", max_bytes=2 << 20),
}


@pytest.fixture(scope="module")
def limited(nats_server) -> Iterator[NatsServer]:
    with NatsServer(nats_server.binary, config=LIMITS) as own:
        yield own


@pytest.mark.parametrize(("err_code", "user"), LIMITED)
def test_a_limit_of_the_account_comes_as_a_typed_error(limited, err_code, user):
    with connect(limited.url, auth=Auth(user=user, password="x")) as nc:
        world = World.__new__(World)
        world.nc = nc
        with pytest.raises(JetStreamError) as caught:
            LIMITED[err_code, user](world)

    assert caught.value.err_code == err_code


# ------------------------------------------------------------------------------------------ what a server has no room for

TIGHT = """
jetstream {
  max_mem: 1M, max_file: 64M, max_buffered_msgs: 1
  limits { max_request_batch: 10, batch { max_inflight_per_stream: 1 } }
}
"""


def too_many_fast(w: World) -> None:
    """A second fast batch beside an open one."""
    w.stream("TWICE", allow_batched=True)
    with w.nc.subscribe("fast.>") as answers:
        for number in range(2):
            w.nc.publish("twice.a", reply=f"fast.b{number}.10.ok.1.0.$FI")
            said = json.loads(answers.next().payload)
            if "error" in said:
                members_or_error(to_json(said), FAST)


CROWDED: dict[int, Provocation] = {
    10023: lambda w: w.overfilled(30),
    10125: lambda w: [
        w.stream("PULL"),
        w.consumer("PULL", "C", max_batch=20, ack_policy="explicit"),
    ],
    10167: lambda w: w.flooded(5000),
    10211: too_many_fast,
}


@pytest.fixture(scope="module")
def tight(nats_server) -> Iterator[World]:
    with NatsServer(nats_server.binary, config=TIGHT) as own, connect(own.url) as nc:
        made = World.__new__(World)
        made.nc = nc
        yield made


@pytest.mark.parametrize("err_code", CROWDED)
def test_what_a_server_has_no_room_for_comes_as_a_typed_error(tight, err_code):
    with pytest.raises(JetStreamError) as caught:
        CROWDED[err_code](tight)

    assert caught.value.err_code == err_code


# ------------------------------------------------------------------------------------------ tiers, and older servers


def test_an_account_with_tiers_says_what_each_has_and_refuses_what_has_none(start_server):
    """10120: no tier for so many replicas."""
    tier = {"mem_storage": 1 << 20, "disk_storage": 2 << 20, "streams": 2, "consumer": 3}
    server = start_server(config=server_config(limits={**CORE_ONLY, "tiered_limits": {"R1": tier}}))
    with connect(server.url, credentials=Creds(creds())) as nc:
        js = nc.jetstream()
        js.create_stream(name="ONE", subjects=["one"], storage="memory")
        js.publish("one", b"x" * 1000)
        with pytest.raises(JetStreamError) as caught:
            js.create_stream(name="THREE", subjects=["three"], num_replicas=3)
        info = js.account_info()

    (name,) = info.tiers
    assert (name, info.tiers[name].streams, info.tiers[name].limits.max_storage) == (
        "R1",
        1,
        2 << 20,
    )
    assert info.tiers[name].limits.max_streams == 2
    assert info.tiers[name].memory > 1000
    assert caught.value.err_code == 10120


def test_what_an_older_server_cannot_run_is_offline_and_makes_no_list_look_complete(
    start_server, tmp_path
):
    """10194: a stream with a setting of 2.14, in the store of a server of 2.12."""
    with NatsServer(start_server().binary, store=tmp_path) as newer, connect(newer.url) as nc:
        js = nc.jetstream()
        js.create_stream(name="NEW", subjects=["new"], allow_batched=True)
        js.create_stream(name="OLD", subjects=["old"])
    older = start_server(version="2.12.8", store=tmp_path)
    with connect(older.url) as nc:
        js = nc.jetstream()
        streams = js.streams()
        with pytest.raises(CannotServe) as caught:
            js.stream_info("NEW")
        inventory = js.inventory()

    assert [each.config.name for each in streams] == ["OLD"]
    assert (streams.total, streams.complete, set(streams.missing)) == (2, False, {"NEW"})
    assert "allow_batched" in streams.offline["NEW"]
    assert caught.value.err_code == 10194
    assert any("NEW" in each for each in stream_report(inventory).problems)


# ------------------------------------------------------------------------------------------ what only older servers say

OLDER: dict[int, Provocation] = {
    10064: lambda w: [
        w.stream("MEM", storage="memory"),
        w.api("STREAM.SNAPSHOT.MEM", {"deliver_subject": "snap.x"}),
    ],
    10068: lambda w: w.api("STREAM.TEMPLATE.INFO.NONE"),
    10093: lambda w: w.consumer("MEM", "C", ack_policy="explicit", filter_subject="elsewhere"),
}


@pytest.fixture(scope="module")
def oldest(server_binary_of) -> Iterator[World]:
    with NatsServer(server_binary_of("2.9.10")) as own, connect(own.url) as nc:
        made = World.__new__(World)
        made.nc = nc
        yield made


def test_what_only_older_servers_say_comes_as_a_typed_error(oldest):
    for err_code, ask in OLDER.items():
        with pytest.raises(JetStreamError) as caught:
            ask(oldest)

        assert caught.value.err_code == err_code


def test_a_server_without_the_level_of_a_setting_says_so_and_the_error_names_it(start_server):
    older = start_server(version="2.12.8")
    with connect(older.url) as nc:
        js = nc.jetstream()
        with pytest.raises(
            ApiLevelTooLow, match=r"setting allow_batched \(level 4, server 2\.14\)"
        ):
            js.create_stream(name="NEW", subjects=["new"], allow_batched=True)
        plain = js.create_stream(
            name="OLD", subjects=["old"], allow_atomic=True, allow_msg_ttl=True
        )
        with pytest.raises(InvalidRequest):  # of consumers it reads the configuration first
            plain.create_consumer(name="C", deliver_subject="to", ack_policy="flow_control")


def test_a_stream_that_stores_the_api_itself_never_looks_like_an_empty_account(
    server_binary_of,
) -> None:
    """Up to 2.9 a stream can be made on ``>``. It acknowledges every request of the API, beside the
    API's own answer.
    """
    with NatsServer(server_binary_of("2.9.10")) as server, connect(server.url) as nc:
        js = nc.jetstream()
        js.create_stream(name="ALL", subjects=[">"], no_ack=False)
        asked = {
            "names": lambda: js.stream_names() == ("ALL",),
            "streams": lambda: [each.config.name for each in js.streams()] == ["ALL"],
            "consumers": lambda: js.stream("ALL").consumer_names() == (),
            "account": lambda: js.account_info().streams == 1,
        }
        seen: dict[str, set[object]] = {what: set() for what in asked}
        for _ in range(10):
            for what, right in asked.items():
                try:
                    seen[what].add(right())
                except InvalidResponse:
                    seen[what].add("InvalidResponse")

    assert set().union(*seen.values()) <= {True, "InvalidResponse"}, seen
    assert "InvalidResponse" in set().union(*seen.values()), (
        "the stream answered none of the requests"
    )
