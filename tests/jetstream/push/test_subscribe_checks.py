"""The checks of the subscribe workflow (ADR-15): as a table, and each of them provoked on real
servers.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from jsproto.core.conversation.procedure import Procedure, Script
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.errors import ConsumerNotFound
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.push import subscribe_checks as refused
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import Subscribe, bind_pull, ensure, locate
from jsproto.jetstream.push.subscribe_checks import (
    CHECKS,
    CheckPhase,
    Condition,
    SubscribeRefused,
    as_toml,
    refusal,
)
from jsproto.jetstream.push.subscription import PushState, PushSubscription
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.blocking import Client, connect

ROOT = Path(__file__).resolve().parents[3]
API = ApiSubjects()
HEARTBEAT = timedelta(seconds=5)


# ------------------------------------------------------------------ the table


def test_the_spec_is_the_table():
    assert (ROOT / "spec" / "subscribe_checks.toml").read_text(encoding="utf-8") == as_toml()


def test_the_spec_is_toml_with_one_table_per_check():
    read = tomllib.loads(as_toml())["check"]

    assert [each["code"] for each in read] == [check.code for check in CHECKS]
    assert [each["code"] for each in read if each.get("after_race")] == ["PULL_ON_PUSH"]


def test_each_check_has_a_code_a_class_and_a_live_test_of_its_own():
    tests = {
        f"tests/jetstream/push/test_subscribe_checks.py::{node.name}"
        for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }

    assert (
        len({check.code for check in CHECKS})
        == len({check.error for check in CHECKS})
        == len(CHECKS)
    )
    assert [check.test for check in CHECKS if check.test not in tests] == []


def test_every_class_of_refusal_is_raised_by_a_check():
    assert set(SubscribeRefused.__subclasses__()) == {check.error for check in CHECKS} - {
        ConsumerNotFound
    }


def test_every_fact_decides_something():
    assert {fact for check in CHECKS for fact in check.when | check.unless} == set(Condition)


def test_a_message_names_what_was_expected_and_seen_and_never_formats_what_it_names():
    found = refusal(
        CheckPhase.FOUND,
        [Condition.PULL, Condition.FOUND_PUSH],
        {"deliver": "'{x}'", "consumer": "'C'"},
    )

    assert found.check.error is refused.PullOnPush
    assert (
        found.message
        == "expected a consumer without deliver_subject for a pull subscription, got '{x}' of consumer 'C'"
    )


def test_a_consumer_that_is_named_and_not_there_is_missed_by_name():
    found = refusal(CheckPhase.LOOKUP, {Condition.NAMED, Condition.NOT_FOUND}, {"consumer": "'C'"})

    assert (found.check.error, found.message) == (
        ConsumerNotFound,
        "expected a consumer 'C', got none",
    )
    assert (
        refusal(CheckPhase.LOOKUP, {Condition.NAMED, Condition.NOT_FOUND, Condition.PULL}, {})
        is None
    )


def test_a_check_holds_or_does_not():
    by_code = {check.code: check for check in CHECKS}
    raced = frozenset(
        {Condition.PULL, Condition.RACED, Condition.FOUND_PUSH, Condition.CONFIG_DIFFERS}
    )

    assert by_code["PULL_ON_PUSH"].holds(raced) is True
    assert by_code["CONFIG_MISMATCH"].holds(raced) is False
    assert by_code["CONFIG_MISMATCH"].holds(raced - {Condition.RACED}) is True
    assert {check.after_race for check in CHECKS} == {True, False}


def test_a_refusal_of_no_kind_names_no_check():
    assert SubscribeRefused.check == ""
    assert refused.NoMatchingStream("said").streams == ()
    assert refused.ConfigMismatch("said").differences == ()


def test_where_no_check_holds_nothing_is_refused():
    assert refusal(CheckPhase.FOUND, [Condition.FOUND_PUSH], {}) is None


def test_after_a_lost_race_a_pull_subscription_is_held_to_the_basic_checks_alone():
    facts = [Condition.PULL, Condition.RACED, Condition.FILTER_DIFFERS, Condition.CONFIG_DIFFERS]

    assert refusal(CheckPhase.FOUND, facts, {}) is None
    assert refusal(
        CheckPhase.FOUND, [*facts, Condition.FOUND_PUSH], {"deliver": 1, "consumer": 2}
    ).check.after_race


# ------------------------------------------------------------------ on real servers


@pytest.fixture(scope="module", params=["2.9.10", "2.11.11", "2.15.1"])
def server(request, server_binary_of) -> Iterator[NatsServer]:
    with NatsServer(server_binary_of(request.param)) as one:
        yield one


@pytest.fixture
def nc(server) -> Iterator[Client]:
    """A client of a server with the empty stream S over s.>."""
    with connect(server.url) as client:
        js = client.jetstream()
        js.create_stream(name="S", subjects=["s.>"], storage="memory")
        yield client
        js.delete_stream("S")


def consumer(nc: Client, name: str = "C", **config: object) -> None:
    """A consumer that is there."""
    nc.jetstream().stream("S").create_consumer(
        durable_name=name, **{"ack_policy": "explicit", **config}
    )


def pushed(nc: Client, **config: object) -> None:
    consumer(nc, **{"deliver_subject": "d.x", **config})


def names(nc: Client) -> list[str]:
    return list(nc.jetstream().stream("S").consumer_names())


def subscription(
    options: PushOptions | None = None, **asked: object
) -> PushSubscription[JsMessage]:
    return PushSubscription(API, Subscribe(**asked), options)


def driven(nc: Client, sub: PushSubscription[JsMessage]) -> PushSubscription[JsMessage]:
    """Until the workflow is over, one way or the other."""
    for _ in range(200):
        if sub.ended or sub.state is PushState.BOUND:
            return sub
        nc.flush()
    pytest.fail(f"expected the workflow to end, it is {sub.state}")


def attached(nc: Client, sub: PushSubscription[JsMessage]) -> PushSubscription[JsMessage]:
    """Until it is bound."""
    assert (driven(nc, sub).state, sub.error) == (PushState.BOUND, None)
    return sub


def bound_is(nc: Client, *, bound: bool, name: str = "C") -> None:
    """Wait until the server has noticed that somebody listens, or that nobody does: it is not at
    once.
    """
    for _ in range(2000):
        if nc.jetstream().stream("S").consumer(name).info().push_bound is bound:
            return
    pytest.fail(f"expected push_bound {bound}")


def refuses(nc: Client, kind: type[Exception], **asked: object) -> Exception:
    """Subscribing raises it."""
    sub = subscription(**asked)
    with nc.stream(sub) as feed:
        assert driven(nc, sub).ended
        with pytest.raises(kind) as seen:
            next(feed)
    assert sub.finished
    return seen.value


def pulls(nc: Client, kind: type[Exception], **asked: object) -> Exception:
    with pytest.raises(kind) as seen:
        nc.run(Procedure(lambda: bind_pull(API, Subscribe(pull=True, **asked))))
    return seen.value


@pytest.mark.live
def test_live_queue_with_heartbeat(nc):
    with pytest.raises(refused.QueueWithHeartbeat):
        subscription(subject="s.a", queue="q", settings=ConsumerConfig(idle_heartbeat=HEARTBEAT))
    pushed(nc, deliver_group="q", idle_heartbeat=HEARTBEAT)  # the server would take it

    assert names(nc) == ["C"]


@pytest.mark.live
def test_live_queue_with_flow_control(nc):
    settings = {"flow_control": True, "idle_heartbeat": HEARTBEAT}
    with pytest.raises(refused.QueueWithFlowControl):
        subscription(subject="s.a", queue="q", settings=ConsumerConfig(flow_control=True))
    pushed(nc, deliver_group="q", **settings)  # the server would take it

    assert names(nc) == ["C"]


@pytest.mark.live
def test_live_no_subject(nc):
    with pytest.raises(refused.NoSubject):
        subscription(consumer="C")

    assert names(nc) == []


@pytest.mark.live
def test_live_pull_ack_policy(nc):
    for policy in ("none", "all"):
        pulls(nc, refused.PullAckPolicy, stream="S", settings=ConsumerConfig(ack_policy=policy))

    assert names(nc) == []


@pytest.mark.live
def test_live_pull_with_deliver_subject(nc):
    pulls(
        nc, refused.PullWithDeliverSubject, stream="S", settings=ConsumerConfig(deliver_subject="d")
    )

    assert names(nc) == []


@pytest.mark.live
def test_live_flow_control_without_heartbeat(nc):
    with pytest.raises(refused.FlowControlWithoutHeartbeat):
        subscription(subject="s.a", settings=ConsumerConfig(flow_control=True))

    assert names(nc) == []


@pytest.mark.live
def test_live_no_matching_stream(nc):
    js = nc.jetstream()
    js.create_stream(name="T", subjects=["t.>"], storage="memory")
    try:
        nothing = refuses(nc, refused.NoMatchingStream, subject="nowhere")
        both = refuses(nc, refused.NoMatchingStream, subject="*.a")
    finally:
        js.delete_stream("T")

    assert (nothing.streams, sorted(both.streams)) == ((), ["S", "T"])
    assert names(nc) == []


@pytest.mark.live
def test_live_consumer_not_found(nc):
    error = refuses(nc, ConsumerNotFound, stream="S", consumer="C")

    assert (error.stream, error.consumer) == ("S", "C")
    assert (
        nc.run(
            Procedure(lambda: bind_pull(API, Subscribe(stream="S", consumer="C", pull=True)))
        ).consumer
        == "C"
    )


@pytest.mark.live
def test_live_pull_on_push(nc):
    pushed(nc)

    assert "'d.x' of consumer 'C'" in str(pulls(nc, refused.PullOnPush, stream="S", consumer="C"))


@pytest.mark.live
def test_live_push_on_pull(nc):
    consumer(nc)

    assert "needs a pull subscription" in str(
        refuses(nc, refused.PushOnPull, stream="S", consumer="C")
    )


@pytest.mark.live
def test_live_duplicate_subscription(nc):
    pushed(nc)
    first = subscription(stream="S", consumer="C")
    with nc.stream(first) as feed:
        attached(nc, first)
        bound_is(nc, bound=True)
        refuses(nc, refused.DuplicateSubscription, stream="S", consumer="C")
        nc.publish("s.a", b"1")

        assert next(feed).payload == b"1"


@pytest.mark.live
def test_live_consumer_has_group(nc):
    pushed(nc, deliver_group="g")

    refuses(nc, refused.ConsumerHasGroup, stream="S", consumer="C")


@pytest.mark.live
def test_live_other_group(nc):
    pushed(nc, deliver_group="g")

    refuses(nc, refused.OtherGroup, stream="S", consumer="C", queue="h")


@pytest.mark.live
def test_live_consumer_has_no_group(nc):
    pushed(nc)

    refuses(nc, refused.ConsumerHasNoGroup, stream="S", consumer="C", queue="g")


@pytest.mark.live
def test_live_filter_mismatch(nc):
    pushed(nc, filter_subject="s.b")

    refuses(nc, refused.FilterMismatch, subject="s.a", consumer="C")
    sub = subscription(subject="s.b", consumer="C")
    with nc.stream(sub):
        attached(nc, sub)


@pytest.mark.live
def test_live_consumer_has_flow_control(nc):
    pushed(nc, deliver_group="g", flow_control=True, idle_heartbeat=HEARTBEAT)

    refuses(nc, refused.ConsumerHasFlowControl, stream="S", consumer="C", queue="g")


@pytest.mark.live
def test_live_consumer_has_heartbeat(nc):
    pushed(nc, deliver_group="g", idle_heartbeat=HEARTBEAT)

    refuses(nc, refused.ConsumerHasHeartbeat, stream="S", consumer="C", queue="g")


#: Settings as they can be asked for, and other values of the same: each must be told apart, and
#: found equal to itself.
SETTINGS: dict[str, tuple[object, object]] = {
    "description": ("one", "other"),
    "deliver_policy": ("new", "all"),
    "ack_policy": ("all", "explicit"),
    "ack_wait": (timedelta(seconds=7), timedelta(seconds=8)),
    "max_deliver": (4, 5),
    "replay_policy": ("original", "instant"),
    "rate_limit_bps": (100_000, 200_000),
    "sample_freq": ("30%", "40%"),
    "max_ack_pending": (11, 12),
    "headers_only": (True, None),
    "idle_heartbeat": (HEARTBEAT, 2 * HEARTBEAT),
    "flow_control": (True, None),
    "inactive_threshold": (timedelta(hours=1), timedelta(hours=2)),
}


@pytest.mark.live
def test_live_config_mismatch(nc):
    asked = {name: one for name, (one, _) in SETTINGS.items()}
    pushed(nc, **asked)
    same = subscription(stream="S", settings=ConsumerConfig(durable_name="C", **asked))
    with nc.stream(same):
        assert not attached(nc, same).created
    bound_is(nc, bound=False)
    for name, (_, other) in SETTINGS.items():
        if other is not None:
            error = refuses(
                nc,
                refused.ConfigMismatch,
                stream="S",
                consumer="C",
                settings=ConsumerConfig(**{name: other}),
            )
            assert [differs[0] for differs in error.differences] == [name]


@pytest.mark.live
def test_live_race_lost(nc, server):
    asked = Subscribe(stream="S", settings=ConsumerConfig(durable_name="C"))
    with connect(server.url) as other, other.subscribe("theirs") as winner:
        other.flush()
        consumer(other, deliver_subject="theirs")
        bound_is(other, bound=True)

        def steps():
            made = ensure(API, asked, "S", "ours")
            reply = yield next(made)  # the create, which loses; then the winner goes away
            winner.close()
            bound_is(other, bound=False)
            return (yield from _rest(made, reply))

        with pytest.raises(refused.RaceLost):
            nc.run(Procedure(steps))


def _rest(steps, reply):
    try:
        step = steps.send(reply)
        while True:
            step = steps.send((yield step))
    except StopIteration as stop:
        return stop.value


# ------------------------------------------------------------------ what passes them


@pytest.mark.live
def test_live_a_queue_that_loses_the_race_goes_on_as_a_member(nc, server):
    with connect(server.url) as other:
        winner, loser = (
            subscription(PushOptions(auto_ack=True), subject="s.a", queue="C") for _ in range(2)
        )
        first = other.stream(winner)

        def other_binds():
            first.__enter__()
            attached(other, winner)

        loser._locate = Script(lambda: _meanwhile(loser.asked, other_binds))

        with nc.stream(loser) as second:
            attached(nc, loser)
            assert (winner.created, loser.created) == (True, False)
            assert loser.info.config.deliver_subject == winner.info.config.deliver_subject != ""
            for number in range(40):
                nc.jetstream().publish("s.a", b"%d" % number)
            got: list[list[bytes]] = [[], []]
            for _ in range(400):
                nc.flush()
                other.flush()
                for mine, sub in zip(got, (winner, loser), strict=True):
                    while sub.readable:
                        mine.append(next(first if sub is winner else second).payload)
                if sum(map(len, got)) == 40:
                    break
        first.close()

    assert sorted(got[0] + got[1], key=int) == [b"%d" % number for number in range(40)]
    assert all(got)


def _meanwhile(asked, happens):
    """Locate, and let something happen before the answer is used."""
    located = yield from locate(API, asked)
    happens()
    return located


@pytest.mark.live
def test_live_an_ephemeral_is_made_read_and_deleted(nc):
    for number in range(5):
        nc.jetstream().publish("s.a", b"%d" % number)
    sub = subscription(PushOptions(auto_ack=True), subject="s.a")
    with nc.stream(sub) as feed:
        assert [next(feed).payload for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
        assert names(nc) == [sub.info.name]
        feed.stop()
        assert list(feed) == []

    assert names(nc) == []


@pytest.mark.live
def test_live_a_durable_stays_and_goes_on_where_it_was(nc):
    for number in range(4):
        nc.jetstream().publish("s.a", b"%d" % number)
    asked = {"subject": "s.a", "settings": ConsumerConfig(durable_name="C")}
    seen = []
    for _ in range(2):
        sub = subscription(PushOptions(auto_ack=True), **asked)
        with nc.stream(sub) as feed:
            seen += [next(feed).payload, next(feed).payload]
            feed.stop()
            assert list(feed) == []
        bound_is(nc, bound=False)

    assert seen == [b"0", b"1", b"2", b"3"]
    assert names(nc) == ["C"]


@pytest.mark.live
def test_live_a_drain_hands_out_everything_and_deletes_what_is_ours(nc, eventually):
    for number in range(50):
        nc.jetstream().publish("s.a", b"%d" % number)
    sub = subscription(PushOptions(auto_ack=True), subject="s.a")
    with nc.stream(sub) as feed:
        first = next(feed).payload
        feed.drain()
        rest = [each.payload for each in feed]
        eventually(lambda: nc.flush() and sub.finished)

    assert [first, *rest] == [b"%d" % number for number in range(1 + len(rest))]
    assert names(nc) == []


@pytest.mark.live
def test_live_the_pull_form_makes_and_finds_a_consumer(nc):
    asked = Subscribe(subject="s.a", pull=True, settings=ConsumerConfig(durable_name="P"))
    first = nc.run(Procedure(lambda: bind_pull(API, asked)))
    second = nc.run(Procedure(lambda: bind_pull(API, asked)))

    assert [(bound.stream, bound.consumer, bound.created) for bound in (first, second)] == [
        ("S", "P", True),
        ("S", "P", False),
    ]
