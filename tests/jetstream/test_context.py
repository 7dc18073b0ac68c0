"""The facade gives descriptions: each is opened on a bare port, and what it asks and answers is
looked at.
"""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import ForwardRef

import attrs
import pytest

from jsproto.core.conversation.procedure import Procedure
from jsproto.errors import InvalidConfig, InvalidSubject, RequestTimeout
from jsproto.jetstream.api.config import settings
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.enums import AckPolicy
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.context import Consumer, JetStream, Stream
from jsproto.jetstream.delivery.ack import AckState, Term
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.fetch import Fetch
from jsproto.jetstream.pull.fetch_options import FetchMode
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish
from tests.jetstream.context_rig import CONSUMER_INFO, STREAM_INFO, answer, asked, opened

DELIVERY = ("2", "s.a", "$JS.ACK.S.C.1.7.3.1700000000000000000.0", None, b"x")


@pytest.fixture
def js():
    return JetStream()


@pytest.fixture
def stream(js):
    return js.stream("S")


@pytest.fixture
def consumer(stream):
    return stream.consumer("C")


# ---------------------------------------------------------------------------------------------- where


def test_the_api_is_that_of_the_own_domain_of_another_or_behind_a_prefix():
    assert asked(opened(JetStream().account_info()))[0] == "$JS.API.INFO"
    assert asked(opened(JetStream(domain="hub").account_info()))[0] == "$JS.hub.API.INFO"
    assert asked(opened(JetStream(prefix="their.js").account_info()))[0] == "their.js.INFO"


def test_a_domain_and_a_prefix_exclude_each_other():
    with pytest.raises(InvalidConfig, match="a domain or a prefix"):
        JetStream(domain="a", prefix="b")


@pytest.mark.parametrize(
    "where", [{"domain": "a.b"}, {"domain": "a b"}, {"prefix": "a\r\nPUB x 0"}]
)
def test_no_domain_or_prefix_can_add_a_frame(where):
    with pytest.raises(InvalidSubject):
        JetStream(**where)


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_a_timeout_must_be_above_zero(js, timeout):
    with pytest.raises(InvalidConfig, match="timeout > 0"):
        JetStream(timeout=timeout)
    with pytest.raises(InvalidConfig, match="timeout > 0"):
        js.account_info(timeout=timeout)


def test_a_timeout_is_the_facades_unless_a_method_is_told_otherwise():
    js = JetStream(timeout=2.0)

    assert opened(js.account_info(), now=10.0).deadline == 12.0
    assert opened(js.account_info(timeout=7.0), now=10.0).deadline == 17.0


def test_handles_are_values(js):
    assert js.stream("S") == Stream(js=js, name="S")
    assert js.stream("S").consumer("C") == Consumer(stream=js.stream("S"), name="C")
    assert js.stream("S") != js.stream("T")
    assert JetStream(domain="a") != js
    assert len({js.stream("S"), js.stream("S")}) == 1


@pytest.mark.parametrize("name", ["", "a.b", "a b", "a*", "a\r\nX"])
def test_a_handle_has_a_name_that_the_server_can_have(stream, name):
    with pytest.raises(InvalidSubject):
        stream.js.stream(name)
    with pytest.raises(InvalidSubject):
        stream.consumer(name)


# ---------------------------------------------------------------------------------------------- publishing


def test_publish_is_a_request_on_the_subject_with_its_headers(js):
    publish = opened(
        js.publish("s.a", b"x", headers={"A": "1"}, msg_id="7", expected_last_sequence=3)
    )
    command = publish.port.commands[-1]

    assert (command.subject, command.payload) == ("s.a", b"x")
    assert dict(command.headers.items()) == {
        "A": "1",
        "Nats-Msg-Id": "7",
        "Nats-Expected-Last-Sequence": "3",
    }
    assert answer(publish, {"stream": "S", "seq": 4}).seq == 4


def test_a_bad_subject_is_refused_before_anything_is_sent(js):
    publish = opened(js.publish("s a", b"x"))

    assert isinstance(publish.error, InvalidSubject)
    assert publish.port.commands == []


def test_a_window_has_the_bounds_that_it_was_given(js):
    window = js.publish_window(max_pending=1, ack_timeout=1.0)
    opened(window)

    assert isinstance(window, PublishWindow)
    assert window.offered(("s.a", b"1"), 0.0) is True
    assert window.offered(("s.a", b"2"), 0.0) is False
    assert window.deadline == 1.0


def test_a_confirmation_settles_once_and_says_whether_it_did(js):
    message = JsMessage(DELIVERY)
    confirm = opened(js.confirm(message, Term("why"), timeout=1.0))

    assert message.state is AckState.ASKED
    assert confirm.port.commands[-1].payload == b"+TERM why"

    confirm.replied(confirm.script._token, ("1", "_INBOX.R.1.1", "", None, b""), 0.0)

    assert confirm.take(0.0) is True
    assert opened(js.confirm(message)).take(0.0) is False


# ---------------------------------------------------------------------------------------------- streams


def test_creating_a_stream_gives_its_handle(js):
    create = opened(js.create_stream(name="S", subjects=["s.>"]))

    assert asked(create) == ("$JS.API.STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})

    stream = answer(create, STREAM_INFO)

    assert stream == Stream(js=js, name="S")
    assert stream.cached.config.subjects == ("s.>",)


def test_a_configuration_and_settings_can_be_given_together(js):
    config = StreamConfig(name="S", subjects=["s.>"], max_msgs=5)
    create = opened(js.create_stream(config, max_msgs=7))

    assert asked(create)[1] == {"name": "S", "subjects": ["s.>"], "max_msgs": 7}
    assert config.max_msgs == 5


def test_update_and_create_or_update_ask_their_own_verbs(js):
    update = opened(js.update_stream(name="S", max_age=timedelta(seconds=1)))
    either = opened(js.create_or_update_stream(name="S"))

    assert asked(update) == ("$JS.API.STREAM.UPDATE.S", {"name": "S", "max_age": 1_000_000_000})
    assert asked(either) == ("$JS.API.STREAM.UPDATE.S", {"name": "S"})
    compared = opened(js.create_or_update_stream(name="S", compare=True))
    assert asked(compared) == ("$JS.API.STREAM.INFO.S", None)
    assert answer(update, STREAM_INFO) == js.stream("S")
    assert answer(either, STREAM_INFO) == js.stream("S")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "with name, got none"),
        ({"name": "S", "subject": "s"}, r"expected settings.*\['subject'\]"),
        (
            {"config": "S", "subjects": ["s"]},
            "expected a StreamConfig or settings by name, got 'S'",
        ),
        ({"config": {"name": "S"}}, "expected a StreamConfig or settings by name, got"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(js, given, match):
    with pytest.raises(InvalidConfig, match=match):
        js.create_stream(**given)


def test_changing_a_stream_writes_back_what_was_read(js, stream):
    change = opened(stream.change(max_msgs=9))

    assert asked(change)[0] == "$JS.API.STREAM.INFO.S"

    read = {**STREAM_INFO, "config": {**STREAM_INFO["config"], "of_tomorrow": 1}}

    assert answer(change, read) is NEED_DATA
    assert asked(change) == (
        "$JS.API.STREAM.UPDATE.S",
        {"name": "S", "subjects": ["s.>"], "max_msgs": 9, "of_tomorrow": 1},
    )
    assert answer(change, STREAM_INFO) == stream


def test_questions_about_streams(js, stream):
    info = opened(stream.info(subjects_filter=">", deleted_details=True))

    assert asked(info) == (
        "$JS.API.STREAM.INFO.S",
        {"subjects_filter": ">", "deleted_details": True},
    )
    assert answer(info, STREAM_INFO).config.name == "S"

    delete = opened(stream.delete())

    assert asked(delete) == ("$JS.API.STREAM.DELETE.S", None)
    assert answer(delete, {"success": True}) is None

    names = opened(js.stream_names(subject="s.a"))

    assert asked(names) == ("$JS.API.STREAM.NAMES", {"subject": "s.a"})
    assert answer(names, {"streams": ["S"], "total": 1}) == ("S",)

    every = opened(js.streams())

    assert asked(every) == ("$JS.API.STREAM.LIST", None)
    assert [each.config.name for each in answer(every, {"streams": [STREAM_INFO], "total": 1})] == [
        "S"
    ]

    account = opened(js.account_info())

    assert answer(account, {"memory": 5, "storage": 0, "streams": 1, "consumers": 0}).memory == 5


# ---------------------------------------------------------------------------------------------- consumers


def test_creating_a_consumer_gives_its_handle_and_acks_are_explicit(stream, consumer):
    create = opened(stream.create_consumer(durable_name="C", filter_subject="s.a"))
    subject, body = asked(create)

    assert subject == "$JS.API.CONSUMER.CREATE.S.C.s.a"
    assert body["action"] == "create"
    assert body["config"] == {
        "durable_name": "C",
        "filter_subject": "s.a",
        "ack_policy": "explicit",
    }

    made = answer(create, CONSUMER_INFO)

    assert made == consumer
    assert made.cached.config.ack_policy is AckPolicy.EXPLICIT


def test_an_ack_policy_that_was_given_stays(stream):
    create = opened(stream.create_consumer(ConsumerConfig(name="C", ack_policy="none")))

    assert asked(create)[1]["config"] == {"name": "C", "ack_policy": "none"}


def test_update_and_create_or_update_of_a_consumer_say_their_action(stream):
    update = opened(stream.update_consumer(durable_name="C"))
    either = opened(stream.create_or_update_consumer(durable_name="C"))

    assert asked(update)[1]["action"] == "update"
    assert "action" not in asked(either)[1]
    compared = opened(stream.create_or_update_consumer(durable_name="C", compare=True))
    assert asked(compared) == ("$JS.API.CONSUMER.INFO.S.C", None)


def test_changing_a_consumer_writes_back_what_was_read(consumer):
    change = opened(consumer.change(max_deliver=3))
    answer(change, CONSUMER_INFO)

    assert asked(change)[1]["config"] == {
        "durable_name": "C",
        "ack_policy": "explicit",
        "max_deliver": 3,
    }
    assert answer(change, CONSUMER_INFO) == consumer


def test_a_handle_can_be_refreshed_and_keeps_within_what_it_hears(consumer):
    refresh = opened(consumer.refresh())

    assert asked(refresh) == ("$JS.API.CONSUMER.INFO.S.C", None)
    config = {**CONSUMER_INFO["config"], "max_ack_pending": 20}
    fresh = answer(refresh, {**CONSUMER_INFO, "config": config})
    assert (consumer.cached, fresh.cached.config.max_ack_pending) == (None, 20)
    assert fresh.consume().options.max_messages == 20


def test_questions_about_consumers(stream, consumer):
    info = opened(consumer.info())

    assert asked(info) == ("$JS.API.CONSUMER.INFO.S.C", None)
    assert answer(info, CONSUMER_INFO).name == "C"

    delete = opened(consumer.delete())

    assert asked(delete) == ("$JS.API.CONSUMER.DELETE.S.C", None)
    assert answer(delete, {"success": True}) is None

    names = opened(stream.consumer_names())

    assert asked(names)[0] == "$JS.API.CONSUMER.NAMES.S"
    assert answer(names, {"consumers": ["C"], "total": 1}) == ("C",)

    every = opened(stream.consumers())

    assert asked(every)[0] == "$JS.API.CONSUMER.LIST.S"
    assert [each.name for each in answer(every, {"consumers": [CONSUMER_INFO], "total": 1})] == [
        "C"
    ]


# ---------------------------------------------------------------------------------------------- pulling


def test_fetch_and_consume_pull_on_the_consumers_next_subject(consumer):
    fetch = opened(consumer.fetch(10, expires=2.0))
    consume = opened(consumer.consume(100, expires=2.0))

    assert isinstance(fetch, Fetch)
    assert isinstance(consume, Consume)
    assert asked(fetch)[0] == asked(consume)[0] == "$JS.API.CONSUMER.MSG.NEXT.S.C"
    assert (asked(fetch)[1]["batch"], asked(consume)[1]["batch"]) == (10, 100)
    assert asked(fetch)[1]["expires"] == 2_000_000_000


def test_what_a_fetch_or_consume_cannot_be_is_refused_at_once(consumer):
    with pytest.raises(InvalidConfig):
        consumer.fetch()
    with pytest.raises(InvalidConfig):
        consumer.consume(10, max_bytes=10)


def test_next_is_one_message(consumer):
    following = opened(consumer.next(timeout=3.0))

    assert asked(following)[1]["batch"] == 1
    assert following.take(0.0) is NEED_DATA

    following.delivered([DELIVERY], 0.0)

    assert following.take(0.0).payload == b"x"
    assert following.take(0.0) is ENDED


def test_next_belongs_to_a_priority_group_like_any_pull(consumer):
    following = opened(
        consumer.next(
            timeout=3.0, group="A", min_pending=5, min_ack_pending=6, priority=2, pin="p1"
        )
    )

    body = asked(following)[1]
    assert {
        name: body[name] for name in ("group", "min_pending", "min_ack_pending", "priority", "id")
    } == {
        "group": "A",
        "min_pending": 5,
        "min_ack_pending": 6,
        "priority": 2,
        "id": "p1",
    }
    with pytest.raises(InvalidConfig, match="a group"):
        consumer.next(priority=2)


def test_how_long_a_silence_is_an_alarm_is_the_users_choice(consumer):
    feeds = (
        consumer.consume(idle_heartbeat=5.0, heartbeat_factor=3.0),
        consumer.fetch(5, idle_heartbeat=5.0, heartbeat_factor=3.0),
        consumer.ack_next(idle_heartbeat=5.0, heartbeat_factor=3.0),
    )

    assert [feed.liveness.period for feed in feeds] == [15.0] * 3


def test_next_without_a_message_is_a_timeout_that_says_why(consumer):
    following = opened(consumer.next(timeout=3.0))
    following.ticked(3.0)

    with pytest.raises(RequestTimeout, match=r"within 3 s, got none \(DEADLINE\)"):
        following.take(3.0)


def test_next_without_waiting_is_a_timeout_too(consumer):
    following = opened(consumer.next(mode=FetchMode.NO_WAIT))
    token = following.port.commands[-1].reply
    following.delivered([("2", token, "", b"NATS/1.0 404 No Messages\r\n\r\n", b"")], 0.0)

    with pytest.raises(RequestTimeout, match="got none"):
        following.take(0.0)


# ---------------------------------------------------------------------------------------------- settings by name


@pytest.mark.parametrize(
    ("named", "document"),
    [(settings.StreamSettings, StreamConfig), (settings.ConsumerSettings, ConsumerConfig)],
)
def test_settings_by_name_are_the_fields_of_the_configuration(named, document):
    wanted = {each.name: str(each.type) for each in attrs.fields(document)}
    given = {
        name: kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
        for name, kind in named.__annotations__.items()
    }

    # A user may give numbers of seconds; the document keeps durations.
    seconds = {
        "timedelta | None": "timedelta | float | None",
        "Sequence[timedelta]": "Sequence[timedelta | float]",
    }
    assert {name: seconds.get(kind, kind) for name, kind in wanted.items()} == given


def test_a_description_is_made_anew_by_every_call(js):
    first, second = js.account_info(), js.account_info()

    assert first is not second
    assert isinstance(first, Procedure)
    assert copy.copy(js) == js


# ---------------------------------------------------------------------------------------------- a consumer that is known


@pytest.fixture
def known(stream):
    """A handle that knows the consumer's configuration."""

    def make(**config):
        info = ConsumerInfo(stream_name="S", name="C", config=ConsumerConfig(**config))
        return Consumer(stream=stream, name="C", cached=info)

    return make


def taken(feed):
    opened(feed).delivered([DELIVERY], 0.0)
    return feed.take(0.0)


def test_never_more_is_asked_for_than_a_known_consumer_could_deliver(known, consumer):
    few = known(max_ack_pending=20)

    assert asked(opened(few.consume()))[1]["batch"] == 20
    assert asked(opened(consumer.consume()))[1]["batch"] == 500


def test_messages_of_a_known_consumer_begin_as_its_ack_policy_has_it(known):
    silent = known(ack_policy="none")

    for feed in (silent.next(), silent.fetch(1), silent.consume(), silent.ack_next()):
        assert taken(feed).state is AckState.MUTE


def test_wishes_and_what_is_known_come_together(known, consumer):
    feed = known(ack_policy="explicit", ack_wait=timedelta(seconds=30)).fetch(
        1, acking=AckOptions(in_progress=True)
    )

    assert (feed.acking.every, feed.acking.keeps) == (10.0, True)
    with pytest.raises(InvalidConfig, match="ack_wait"):
        consumer.next(acking=AckOptions(in_progress=True))
    assert consumer.next(acking=AckOptions(in_progress=2.0)).acking.every == 2.0


def test_ack_next_asks_for_one_message(consumer):
    feed = opened(consumer.ack_next(stop_after=3))

    assert asked(feed)[1]["batch"] == 1
    assert feed.options.stop_after == 3


def test_a_handle_binds_without_asking_anybody(consumer):
    feed = opened(consumer.consume())

    assert [each.subject for each in feed.port.commands if isinstance(each, Publish)] == [
        "$JS.API.CONSUMER.MSG.NEXT.S.C"
    ]
