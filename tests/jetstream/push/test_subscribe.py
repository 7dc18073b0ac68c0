"""The subscribe workflow (ADR-15): its questions in order, and what each answer leads to."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import CurrentTime
from jsproto.errors import (
    InvalidConfig,
    InvalidResponse,
    InvalidSubject,
    NoResponders,
    RequestTimeout,
)
from jsproto.jetstream.api import errors
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.push import subscribe_checks as refused
from jsproto.jetstream.push.subscribe import (
    BoundConsumer,
    BoundPullConsumer,
    ConsumerLookup,
    Subscribe,
    bind_pull,
    ensure,
    locate,
)

API = ApiSubjects()
SECOND = timedelta(seconds=1)
NAMES, INFO, CREATE = (
    "$JS.API.STREAM.NAMES",
    "$JS.API.CONSUMER.INFO.S.C",
    "$JS.API.CONSUMER.CREATE.S",
)
NO_CONSUMER = {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}}
EXISTS = {"error": {"code": 400, "err_code": 10148, "description": "consumer already exists"}}


def info(name: str = "C", *, bound: bool = False, **config: object) -> dict[str, object]:
    settings = {"durable_name": name, "ack_policy": "explicit", "deliver_policy": "all", **config}
    return {"stream_name": "S", "name": name, "config": settings, "push_bound": bound}


def pushed(**more: object) -> dict[str, object]:
    return info(deliver_subject="d.x", **more)


def timed(steps, step):
    """The next question behind one for the time, which stands still."""
    while isinstance(step, CurrentTime):
        step = steps.send(0.0)
    return step


def play(steps, *answers):
    """Run steps over the answers; gives the questions and the result, or what was raised."""
    asked = []
    try:
        step = timed(steps, next(steps))
        for answer in answers:
            assert isinstance(step, Call)
            asked.append((step.subject, json.loads(step.payload) if step.payload else None))
            if isinstance(answer, Exception):
                step = timed(steps, steps.throw(answer))
            else:
                body = json.dumps(answer).encode()
                step = timed(steps, steps.send(Message(("1", "_INBOX", "", None, body))))
    except StopIteration as stop:
        return asked, stop.value
    except Exception as error:  # noqa: BLE001 - the test looks at it
        return asked, error
    pytest.fail(f"asked once more than there are answers: {step}")


def found(answer: dict[str, object]) -> ConsumerInfo:
    return ConsumerInfo.from_wire(answer)


# ------------------------------------------------------------------ what is asked


def test_the_queue_is_the_durable_name_if_nothing_else_is_named():
    assert Subscribe(subject="s.a", queue="workers").durable == "workers"
    assert Subscribe(subject="s.a", queue="workers", consumer="C").durable == ""
    assert Subscribe(subject="s.a", queue="w", settings=ConsumerConfig(name="N")).durable == ""
    assert (
        Subscribe(subject="s.a", queue="w", settings=ConsumerConfig(durable_name="D")).durable
        == "D"
    )


def test_what_is_looked_for_is_the_consumer_the_durable_or_the_name():
    assert Subscribe(subject="s.a").name == ""
    assert Subscribe(subject="s.a", consumer="C").name == "C"
    assert Subscribe(subject="s.a", settings=ConsumerConfig(durable_name="D")).name == "D"
    assert Subscribe(subject="s.a", settings=ConsumerConfig(name="N")).name == "N"


def test_only_a_consumer_without_a_name_of_ours_is_owned_unless_it_is_said():
    assert Subscribe(subject="s.a").owned
    assert not Subscribe(subject="s.a", queue="workers").owned
    assert not Subscribe(subject="s.a", settings=ConsumerConfig(name="N")).owned
    assert Subscribe(subject="s.a", settings=ConsumerConfig(durable_name="D"), owner=True).owned
    assert not Subscribe(subject="s.a", owner=False).owned


def test_group_and_filter_of_the_settings_are_queue_and_subject():
    asked = Subscribe(settings=ConsumerConfig(filter_subject="s.a", deliver_group="g"))

    assert (asked.subject, asked.queue) == ("s.a", "g")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"subject": "s.a", "settings": ConsumerConfig(filter_subject="s.b")}, "expected one subject"),
        ({"subject": "s.a", "queue": "q", "settings": ConsumerConfig(deliver_group="r")}, "expected one queue"),
        ({"subject": "s.a", "consumer": "C", "settings": ConsumerConfig(durable_name="D")}, "expected one consumer"),
        ({"subject": "s.a", "settings": ConsumerConfig(filter_subjects=["s.b"])}, "a subject or filter_subjects"),
        ({"subject": "s.a", "queue": "q", "pull": True}, "no queue for a pull"),
        ({"subject": "s.a", "settings": ConsumerConfig(name="N", durable_name="D")}, "to be equal"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(given, match):
    with pytest.raises(InvalidConfig, match=match):
        Subscribe(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"subject": "s a"},
        {"subject": "s.a", "stream": "S.T"},
        {"subject": "s.a", "consumer": "C\r\nPUB x 0"},
        {"subject": "s.a", "queue": "q\r\n"},
        {"subject": "s.a", "queue": "no.durable"},
        {"subject": "s.a", "settings": ConsumerConfig(deliver_subject="d.*")},
    ],
)
def test_names_that_nothing_can_have_are_refused_before_anything_is_sent(given):
    with pytest.raises(InvalidSubject):
        Subscribe(**given)


def test_what_is_made_has_the_filter_the_group_and_an_ack_policy():
    asked = Subscribe(subject="s.a", queue="q", settings=ConsumerConfig(max_deliver=3))

    assert asked.created("d.x").to_wire() == {
        "durable_name": "q",
        "ack_policy": "explicit",
        "max_deliver": 3,
        "filter_subject": "s.a",
        "deliver_subject": "d.x",
        "deliver_group": "q",
    }


def test_settings_that_were_given_are_never_changed():
    settings = ConsumerConfig(ack_policy="none")
    made = Subscribe(stream="S", settings=settings).created("d.x")

    assert (made.ack_policy, made.filter_subject) == ("none", None)
    assert settings == ConsumerConfig(ack_policy="none")


def test_what_was_not_said_is_empty():
    asked = Subscribe(stream="S")

    assert (asked.subject, asked.consumer, asked.queue, asked.pull, asked.owner) == (
        "",
        "",
        "",
        False,
        None,
    )
    assert Subscribe(subject="s.a").stream == ""


def test_settings_that_were_not_given_are_empty_and_never_given_or_shown_twice():
    with pytest.raises(TypeError):
        Subscribe(stream="S", config=ConsumerConfig())

    assert Subscribe(stream="S").config == ConsumerConfig()
    assert "config=" not in repr(Subscribe(stream="S"))
    assert Subscribe(stream="S", consumer="C") == Subscribe(stream="S", consumer="C")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"subject": "s.a", "settings": ConsumerConfig(filter_subject="s.b")},
            "expected one subject, got 's.a' and, in the settings, 's.b'",
        ),
        (
            {"subject": "s.a", "settings": ConsumerConfig(filter_subjects=["s.b"])},
            "expected a subject or filter_subjects, got both: 's.a' and ('s.b',)",
        ),
        (
            {"subject": "s.a", "queue": "q", "pull": True},
            "expected no queue for a pull subscription, got 'q'",
        ),
    ],
)
def test_a_contradiction_is_named(given, said):
    with pytest.raises(InvalidConfig) as error:
        Subscribe(**given)

    assert str(error.value) == said


# ------------------------------------------------------------------ locate


def test_the_stream_is_found_by_the_subject():
    asked = Subscribe(subject="s.a")

    assert play(locate(API, asked), {"streams": ["S"], "total": 1}) == (
        [(NAMES, {"subject": "s.a"})],
        ConsumerLookup("S", None),
    )


def test_a_stream_that_is_named_is_not_looked_for():
    assert play(locate(API, Subscribe(stream="S", subject="s.a"))) == (
        [],
        ConsumerLookup("S", None),
    )


@pytest.mark.parametrize("streams", [None, [], ["S", "T"]])
def test_anything_but_one_stream_is_an_error(streams):
    _, error = play(
        locate(API, Subscribe(subject="s.a")), {"streams": streams, "total": len(streams or [])}
    )

    assert isinstance(error, refused.NoMatchingStream)
    assert error.streams == tuple(streams or ())
    assert "exactly one stream for subject 's.a'" in str(error)


def test_a_named_consumer_is_looked_up_and_given():
    asked, located = play(locate(API, Subscribe(stream="S", consumer="C")), pushed())

    assert asked == [(INFO, None)]
    assert located == ConsumerLookup("S", found(pushed()))


def test_a_named_consumer_that_is_not_there_is_an_error():
    _, error = play(locate(API, Subscribe(stream="S", consumer="C")), NO_CONSUMER)

    assert isinstance(error, errors.ConsumerNotFound)


def test_a_durable_that_is_not_there_is_to_be_made():
    asked = Subscribe(stream="S", settings=ConsumerConfig(durable_name="C"))

    assert play(locate(API, asked), NO_CONSUMER) == ([(INFO, None)], ConsumerLookup("S", None))


def waits(steps, *answers) -> list[float]:
    """How long each question waits for its answer."""
    step, waited = timed(steps, next(steps)), []
    for answer in answers:
        waited.append(step.timeout)
        try:
            step = timed(
                steps, steps.send(Message(("1", "_INBOX", "", None, json.dumps(answer).encode())))
            )
        except StopIteration:
            return waited
    pytest.fail(f"asked once more than there are answers: {step}")


def test_every_question_waits_as_long_as_was_said():
    one = {"streams": ["S"], "total": 1}
    durable = Subscribe(subject="s.a", settings=ConsumerConfig(durable_name="C"))
    queue = Subscribe(subject="s.a", queue="C")
    pull = Subscribe(subject="s.a", pull=True, settings=ConsumerConfig(durable_name="C"))
    there = pushed(deliver_group="C")

    assert waits(locate(API, durable, timeout=7.0), one, NO_CONSUMER) == [7.0, 7.0]
    assert waits(ensure(API, queue, "S", "d", timeout=7.0), EXISTS, there) == [7.0, 7.0]
    assert waits(bind_pull(API, pull, timeout=7.0), one, NO_CONSUMER, info()) == [7.0, 7.0, 7.0]


def test_what_an_error_names_is_cut_to_200_characters():
    _, error = play(locate(API, Subscribe(subject="s." + 300 * "a")), {"streams": [], "total": 0})

    assert f"for subject 's.{194 * 'a'}..., got ()" in str(error)


def test_a_lookup_that_fails_otherwise_is_an_error():
    asked = Subscribe(stream="S", settings=ConsumerConfig(durable_name="C"))
    _, error = play(locate(API, asked), RequestTimeout("none came"))

    assert isinstance(error, RequestTimeout)


# ------------------------------------------------------------------ what was found


def checked(answer: dict[str, object], **asked: object):
    _, result = play(locate(API, Subscribe(stream="S", consumer="C", **asked)), answer)
    return type(result)


def test_push_bound_without_a_group_is_a_duplicate_subscription():
    assert checked(pushed(bound=True)) is refused.DuplicateSubscription


def test_a_consumer_with_a_group_needs_the_queue_bound_or_not():
    assert checked(pushed(deliver_group="g")) is refused.ConsumerHasGroup
    assert checked(pushed(deliver_group="g", bound=True)) is refused.ConsumerHasGroup


def test_another_queue_than_the_group_is_refused():
    assert checked(pushed(deliver_group="g"), queue="h") is refused.OtherGroup


def test_a_queue_needs_a_group():
    assert checked(pushed(), queue="g") is refused.ConsumerHasNoGroup
    assert checked(pushed(bound=True), queue="g") is refused.ConsumerHasNoGroup


def test_members_of_the_group_may_be_many():
    assert checked(pushed(deliver_group="g", bound=True), queue="g") is ConsumerLookup


def test_B094_a_group_consumer_with_heartbeats_or_flow_control_is_refused_by_name():
    heartbeat = pushed(deliver_group="g", idle_heartbeat=5_000_000_000)
    flow = pushed(deliver_group="g", idle_heartbeat=5_000_000_000, flow_control=True)
    _, error = play(locate(API, Subscribe(stream="S", consumer="C", queue="g")), heartbeat)

    assert isinstance(error, refused.ConsumerHasHeartbeat)
    assert "idle_heartbeat" in str(error)
    assert checked(flow, queue="g") is refused.ConsumerHasFlowControl


def test_B094_queue_with_heartbeat_or_flow_control_is_refused_before_anything_is_sent():
    with pytest.raises(refused.QueueWithHeartbeat):
        Subscribe(subject="s.a", queue="q", settings=ConsumerConfig(idle_heartbeat=5 * SECOND))
    with pytest.raises(refused.QueueWithFlowControl):
        Subscribe(subject="s.a", queue="q", settings=ConsumerConfig(flow_control=True))


def test_B097_flow_control_without_heartbeats_is_refused():
    with pytest.raises(refused.FlowControlWithoutHeartbeat):
        Subscribe(subject="s.a", settings=ConsumerConfig(flow_control=True))


def test_the_filter_must_be_the_subject_if_there_is_one():
    assert checked(pushed(filter_subject="s.b"), subject="s.a") is refused.FilterMismatch
    assert checked(pushed(filter_subject="s.>"), subject="s.a") is refused.FilterMismatch
    assert checked(pushed(filter_subjects=["s.a", "s.b"]), subject="s.a") is refused.FilterMismatch
    assert checked(pushed(filter_subject="s.a"), subject="s.a") is ConsumerLookup
    assert checked(pushed(filter_subject="s.b")) is ConsumerLookup
    assert checked(pushed(), subject="s.a") is ConsumerLookup


def test_several_filters_are_compared_as_a_set():
    wanted = {"settings": ConsumerConfig(filter_subjects=["s.a", "s.b"])}

    assert checked(pushed(filter_subjects=["s.b", "s.a"]), **wanted) is ConsumerLookup
    assert checked(pushed(filter_subjects=["s.b", "s.c"]), **wanted) is refused.FilterMismatch


def test_push_on_pull_and_pull_on_push_are_refused():
    assert checked(info()) is refused.PushOnPull
    assert checked(pushed(), pull=True) is refused.PullOnPush


def test_settings_that_differ_are_named_field_by_field():
    settings = ConsumerConfig(
        max_deliver=3, ack_wait=SECOND, description="d", replay_policy="instant"
    )
    there = pushed(max_deliver=5, ack_wait=30_000_000_000, replay_policy="instant")
    _, error = play(locate(API, Subscribe(stream="S", consumer="C", settings=settings)), there)

    assert isinstance(error, refused.ConfigMismatch)
    assert error.differences == (
        ("description", "d", None),
        ("ack_wait", 1_000_000_000, 30_000_000_000),
        ("max_deliver", 3, 5),
    )
    assert "max_deliver" in str(error)


def test_what_was_not_asked_for_never_differs():
    assert (
        checked(pushed(max_deliver=5, metadata={"_nats.level": "1"}, num_replicas=3))
        is ConsumerLookup
    )


def test_labels_that_the_server_adds_do_not_differ():
    settings = ConsumerConfig(metadata={"a": "1"})

    assert (
        checked(pushed(metadata={"a": "1", "_nats.ver": "2.15.1"}), settings=settings)
        is ConsumerLookup
    )
    assert checked(pushed(metadata={"a": "2"}), settings=settings) is refused.ConfigMismatch


def test_labels_of_a_server_that_are_asked_for_are_no_settings():
    """A configuration that was read from one server holds its labels, and another server answers
    with its own.
    """
    settings = ConsumerConfig(metadata={"a": "1", "_nats.ver": "2.14.0"})

    assert (
        checked(pushed(metadata={"a": "1", "_nats.ver": "2.15.1"}), settings=settings)
        is ConsumerLookup
    )
    assert (
        checked(pushed(), settings=ConsumerConfig(metadata={"_nats.ver": "2.14.0"}))
        is ConsumerLookup
    )
    assert checked(pushed(), settings=settings) is refused.ConfigMismatch


def test_the_deliver_subject_alone_may_differ():
    assert checked(pushed(), settings=ConsumerConfig(deliver_subject="mine")) is ConsumerLookup


@pytest.mark.parametrize("there", [{}, {"filter_subject": "s.a"}, {"filter_subjects": ["s.a"]}])
def test_a_filter_among_the_settings_is_compared_as_a_subject_is(there):
    asked = Subscribe(stream="S", settings=ConsumerConfig(durable_name="C", filter_subject="s.a"))

    assert type(play(locate(API, asked), pushed(**there))[1]) is ConsumerLookup


def test_a_name_does_not_differ_where_the_server_says_none_and_what_is_behind_it_is_compared():
    named, longer = ConsumerConfig(name="C"), ConsumerConfig(name="C", max_deliver=3)
    _, error = play(locate(API, Subscribe(stream="S", settings=longer)), pushed(max_deliver=5))

    assert (
        type(play(locate(API, Subscribe(stream="S", settings=named)), pushed())[1])
        is ConsumerLookup
    )
    assert error.differences == (("max_deliver", 3, 5),)


def test_labels_that_were_asked_for_and_are_not_there_differ():
    settings = ConsumerConfig(metadata={"a": "1"})

    assert checked(pushed(), settings=settings) is refused.ConfigMismatch


def test_empty_and_unset_are_the_same():
    assert (
        checked(pushed(), settings=ConsumerConfig(max_deliver=0, headers_only=False))
        is ConsumerLookup
    )


# ------------------------------------------------------------------ what is said

#: Class of the refusal, what was asked, what was found (names of streams, or the consumer C), and
#: all that is said.
SAID = (
    (refused.QueueWithHeartbeat, {"subject": "s.a", "queue": "q", "settings": ConsumerConfig(idle_heartbeat=SECOND)}, None,
     "expected no idle_heartbeat beside a queue, got idle_heartbeat datetime.timedelta(seconds=1) with queue 'q'"),
    (refused.QueueWithFlowControl, {"subject": "s.a", "queue": "q", "settings": ConsumerConfig(flow_control=True)}, None,
     "expected no flow_control beside a queue, got flow_control with queue 'q'"),
    (refused.NoSubject, {}, None, "expected a subject or a stream, got neither"),
    (refused.PullAckPolicy, {"stream": "S", "pull": True, "settings": ConsumerConfig(ack_policy="all")}, None,
     "expected ack_policy explicit for a pull subscription, got 'all'"),
    (refused.PullWithDeliverSubject, {"stream": "S", "pull": True, "settings": ConsumerConfig(deliver_subject="d")}, None,
     "expected no deliver_subject for a pull subscription, got 'd'"),
    (refused.FlowControlWithoutHeartbeat, {"subject": "s.a", "settings": ConsumerConfig(flow_control=True)}, None,
     "expected an idle_heartbeat beside flow_control, got none"),
    (refused.NoMatchingStream, {"subject": "s.a"}, ["S", "T"],
     "expected exactly one stream for subject 's.a', got ('S', 'T')"),
    (refused.PullOnPush, {"pull": True}, pushed(),
     "expected a consumer without deliver_subject for a pull subscription, got 'd.x' of consumer 'C'"),
    (refused.PushOnPull, {}, info(),
     "expected a consumer with a deliver_subject, got none at consumer 'C': it needs a pull subscription"),
    (refused.DuplicateSubscription, {}, pushed(bound=True),
     "expected consumer 'C' to be free, got it is bound to a subscription already"),
    (refused.ConsumerHasGroup, {}, pushed(deliver_group="g"),
     "expected queue 'g' for consumer 'C', which was made for it, got no queue"),
    (refused.OtherGroup, {"queue": "h"}, pushed(deliver_group="g"),
     "expected queue 'g' for consumer 'C', which was made for it, got queue 'h'"),
    (refused.ConsumerHasNoGroup, {"queue": "g"}, pushed(),
     "expected consumer 'C' to have the deliver group 'g', got it has none"),
    (refused.FilterMismatch, {"subject": "s.a"}, pushed(filter_subject="s.b"),
     "expected consumer 'C' to filter 's.a', got 's.b'"),
    (refused.FilterMismatch, {"settings": ConsumerConfig(filter_subjects=["s.a", "s.b"])}, pushed(filter_subjects=["s.c", "s.d"]),
     "expected consumer 'C' to filter 's.a, s.b', got 's.c, s.d'"),
    (refused.ConsumerHasFlowControl, {"queue": "g"}, pushed(deliver_group="g", idle_heartbeat=1_000_000_000, flow_control=True),
     "expected consumer 'C' to have no flow_control for a queue, got it has"),
    (refused.ConsumerHasHeartbeat, {"queue": "g"}, pushed(deliver_group="g", idle_heartbeat=1_000_000_000),
     "expected consumer 'C' to have no idle_heartbeat for a queue, got Duration.from_ns(1000000000)"),
    (refused.ConfigMismatch, {"settings": ConsumerConfig(max_deliver=3, description="d")}, pushed(max_deliver=5),
     "expected consumer 'C' to be as asked for, got \"description None for 'd'; max_deliver 5 for 3\"; a subscription does not change it"),
    (refused.RaceLost, None, pushed(),
     "expected consumer 'C' to be made here, got somebody else made it at the same moment"),
)  # fmt: skip


def refusing(asked: dict[str, object] | None, there: object) -> Exception:
    """What a subscription is refused with; ``None`` asked is a race that was lost for the durable
    C.
    """
    if asked is None:
        durable = Subscribe(stream="S", settings=ConsumerConfig(durable_name="C"))
        return play(ensure(API, durable, "S", "m"), EXISTS, there)[1]
    if isinstance(there, list):
        return play(locate(API, Subscribe(**asked)), {"streams": there, "total": len(there)})[1]
    if there is not None:
        return play(locate(API, Subscribe(stream="S", consumer="C", **asked)), there)[1]
    with pytest.raises(refused.SubscribeRefused) as error:
        Subscribe(**asked)
    return error.value


@pytest.mark.parametrize(("kind", "asked", "there", "said"), SAID)
def test_a_refusal_says_what_was_expected_and_what_was_seen(kind, asked, there, said):
    error = refusing(asked, there)

    assert type(error) is kind
    assert str(error) == said


def test_every_refusal_is_said():
    assert {kind for kind, *_ in SAID} == set(refused.SubscribeRefused.__subclasses__())


# ------------------------------------------------------------------ ensure


def test_a_consumer_is_made_with_the_subject_we_listen_on():
    asked = Subscribe(subject="s.a", settings=ConsumerConfig(durable_name="C"))
    questions, result = play(ensure(API, asked, "S", "_INBOX.P.1.1.1"), pushed())

    assert questions == [
        (
            f"{CREATE}.C.s.a",
            {
                "stream_name": "S",
                "config": {
                    "durable_name": "C",
                    "ack_policy": "explicit",
                    "filter_subject": "s.a",
                    "deliver_subject": "_INBOX.P.1.1.1",
                },
                "action": "create",
            },
        )
    ]
    assert result == BoundConsumer(found(pushed()), created=True)


def test_a_lost_race_is_looked_up_and_checked_again_and_shared_by_a_queue():
    asked = Subscribe(subject="s.a", stream="S", queue="C")
    there = pushed(deliver_group="C", filter_subject="s.a", bound=True)
    questions, result = play(ensure(API, asked, "S", "mine"), EXISTS, there)

    assert [subject for subject, _ in questions] == [f"{CREATE}.C.s.a", INFO]
    assert result == BoundConsumer(found(there), created=False)


def test_a_lost_race_is_an_error_without_a_queue():
    asked = Subscribe(stream="S", settings=ConsumerConfig(durable_name="C"))

    assert isinstance(
        play(ensure(API, asked, "S", "m"), EXISTS, pushed(bound=True))[1],
        refused.DuplicateSubscription,
    )
    assert isinstance(play(ensure(API, asked, "S", "m"), EXISTS, pushed())[1], refused.RaceLost)


def test_a_lost_race_is_held_to_all_checks():
    asked = Subscribe(stream="S", queue="C")

    assert isinstance(
        play(ensure(API, asked, "S", "m"), EXISTS, pushed(deliver_group="x"))[1], refused.OtherGroup
    )


def test_a_consumer_without_a_name_cannot_have_lost_a_race():
    assert isinstance(
        play(ensure(API, Subscribe(stream="S"), "S", "m"), EXISTS)[1], errors.ConsumerExists
    )


# ------------------------------------------------------------------ the pull form


def test_a_pull_subscription_finds_its_consumer():
    asked = Subscribe(subject="s.a", consumer="C", pull=True)
    questions, result = play(
        bind_pull(API, asked), {"streams": ["S"], "total": 1}, info(filter_subject="s.a")
    )

    assert [subject for subject, _ in questions] == [NAMES, INFO]
    assert result == BoundPullConsumer("S", "C", found(info(filter_subject="s.a")), created=False)


@pytest.mark.parametrize(
    "failure",
    [NO_CONSUMER, RequestTimeout("none came"), NoResponders("nobody", INFO)],
    ids=lambda f: type(f).__name__,
)
def test_a_pull_subscription_goes_on_where_the_lookup_of_a_named_consumer_fails(failure):
    asked = Subscribe(stream="S", consumer="C", pull=True)

    assert play(bind_pull(API, asked), failure) == (
        [(INFO, None)],
        BoundPullConsumer("S", "C", None, created=False),
    )


def test_a_pull_subscription_makes_a_consumer_without_a_deliver_subject():
    asked = Subscribe(stream="S", pull=True, settings=ConsumerConfig(durable_name="C"))
    questions, result = play(bind_pull(API, asked), NO_CONSUMER, info())

    assert questions[1] == (
        f"{CREATE}.C",
        {
            "stream_name": "S",
            "config": {"durable_name": "C", "ack_policy": "explicit"},
            "action": "create",
        },
    )
    assert result == BoundPullConsumer("S", "C", found(info()), created=True)


def test_a_pull_subscription_fails_where_the_lookup_of_a_durable_fails():
    asked = Subscribe(stream="S", pull=True, settings=ConsumerConfig(durable_name="C"))

    assert isinstance(play(bind_pull(API, asked), RequestTimeout("none came"))[1], RequestTimeout)


def test_a_stream_that_cannot_be_called_so_is_no_stream():
    asked = Subscribe(subject="s.a", pull=True)

    assert isinstance(
        play(bind_pull(API, asked), {"streams": [""], "total": 1})[1], InvalidResponse
    )


def test_after_a_lost_race_a_pull_subscription_checks_only_that_it_pulls():
    asked = Subscribe(
        stream="S",
        subject="s.a",
        pull=True,
        settings=ConsumerConfig(durable_name="C", max_deliver=3),
    )
    other = info(filter_subject="s.b", max_deliver=9)

    assert play(bind_pull(API, asked), NO_CONSUMER, EXISTS, other)[1] == BoundPullConsumer(
        "S", "C", found(other), created=False
    )
    assert isinstance(
        play(bind_pull(API, asked), NO_CONSUMER, EXISTS, pushed())[1], refused.PullOnPush
    )
    assert isinstance(play(bind_pull(API, asked), other)[1], refused.FilterMismatch)


def test_a_pull_subscription_may_not_ask_for_other_acks_or_a_deliver_subject():
    with pytest.raises(refused.PullAckPolicy):
        Subscribe(stream="S", pull=True, settings=ConsumerConfig(ack_policy="none"))
    with pytest.raises(refused.PullAckPolicy):
        Subscribe(stream="S", pull=True, settings=ConsumerConfig(ack_policy="all"))
    with pytest.raises(refused.PullWithDeliverSubject):
        Subscribe(stream="S", pull=True, settings=ConsumerConfig(deliver_subject="d"))


def test_the_pull_form_is_for_what_pulls():
    with pytest.raises(InvalidConfig, match="expected a subscription that pulls"):
        next(bind_pull(API, Subscribe(stream="S")))
