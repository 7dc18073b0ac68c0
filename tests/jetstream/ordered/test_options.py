"""What an ordered consumer may be on the server, and what is refused before anything is sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.ordered.consumer import OrderedConsumer, OrderedOptions, SourceKind
from jsproto.jetstream.ordered.options import RULES
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.pull.consume_options import ConsumeOptions, OnDeleted
from tests.jetstream.ordered_rig import CREATE, Rig

SECOND = timedelta(seconds=1)
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
SEEN_MOMENT = "Timestamp.parse('2030-01-01T00:00:00Z')"
SEEN_SECOND = "datetime.timedelta(seconds=1)"
NOTHING_ELSE = "expected no group, on_deleted or watch_gaps for the pulls of an ordered consumer"

#: Setting, a value that is refused, and what is said about it: the only value there is, the one
#: seen, and why.
REFUSED = (
    ("durable_name", "d", "none", "'d'", "an ordered consumer is never durable"),
    ("name", "n", "none", "'n'", "each incarnation has a name of its own, name_prefix begins them all"),
    ("ack_policy", "explicit", "<AckPolicy.NONE: 'none'>", "'explicit'",
     "nothing is acknowledged, the position is kept here"),
    ("ack_wait", SECOND, "datetime.timedelta(seconds=79200)", SEEN_SECOND, "nothing is acknowledged"),
    ("max_deliver", 2, "1", "2", "nothing is delivered twice, it is read again by a new incarnation"),
    ("backoff", [SECOND], "none", f"({SEEN_SECOND},)", "nothing is delivered twice"),
    ("max_ack_pending", 1, "none", "1", "nothing is acknowledged"),
    ("sample_freq", "100", "none", "'100'", "nothing is acknowledged"),
    ("deliver_subject", "d", "none", "'d'", "each incarnation has an inbox of its own"),
    ("deliver_group", "q", "none", "'q'", "the order would be lost in a queue group"),
    ("mem_storage", False, "True", "False", "an incarnation is not worth a file"),
    ("num_replicas", 3, "1", "3", "an incarnation that is lost is made anew"),
    ("flow_control", True, "none", "True", "the form of the consumer decides it"),
    ("idle_heartbeat", SECOND, "none", SEEN_SECOND,
     "it belongs to the way of reading, not to the configuration"),
    ("max_batch", 1, "none", "1", "nobody else pulls"),
    ("max_expires", SECOND, "none", SEEN_SECOND, "nobody else pulls"),
    ("max_bytes", 1, "none", "1", "nobody else pulls"),
    ("max_waiting", 1, "none", "1", "nobody else pulls"),
    ("priority_groups", ["g"], "none", "('g',)", "there is one reader"),
    ("priority_policy", "overflow", "none", "'overflow'", "there is one reader"),
    ("priority_timeout", SECOND, "none", SEEN_SECOND, "there is one reader"),
    ("pause_until", MOMENT, "none", SEEN_MOMENT, "a paused incarnation can't be told from a silent one"),
)  # fmt: skip


def test_each_rule_has_a_test():
    assert [name for name, _, _ in RULES] == [name for name, *_ in REFUSED]


@pytest.mark.parametrize(("name", "given", "allowed", "seen", "why"), REFUSED)
def test_what_no_ordered_consumer_can_have_is_refused_by_name_with_the_reason(
    name, given, allowed, seen, why
):
    with pytest.raises(InvalidConfig) as refused:
        OrderedOptions(config=ConsumerConfig(**{name: given}))

    assert (
        str(refused.value)
        == f"expected {allowed} as {name} of an ordered consumer, got {seen}: {why}"
    )


@pytest.mark.parametrize(
    "config",
    [{"ack_policy": "none"}, {"max_deliver": 1}, {"mem_storage": True}, {"num_replicas": 1}],
)
def test_what_an_ordered_consumer_has_anyway_may_be_said(config):
    assert OrderedOptions(config=ConsumerConfig(**config)).shared == OrderedOptions().shared


@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({"deliver_policy": "by_start_sequence"}, "expected opt_start_seq with"),
        ({"deliver_policy": "by_start_time"}, "expected opt_start_time with"),
        ({"opt_start_seq": 5}, "expected no opt_start_seq"),
        (
            {"deliver_policy": "new", "opt_start_time": datetime(2024, 1, 1, tzinfo=UTC)},
            "expected no opt_start_time",
        ),
        (
            {
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": 1,
                "opt_start_time": datetime(2024, 1, 1, tzinfo=UTC),
            },
            "expected no opt_start_time",
        ),
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 0}, "from 1"),
        ({"inactive_threshold": timedelta(0)}, "inactive_threshold"),
        ({"filter_subject": "a", "filter_subjects": ["b"]}, "both"),
    ],
)
def test_starts_and_filters_that_can_not_be_are_refused(config, match):
    with pytest.raises(InvalidConfig, match=match):
        OrderedOptions(config=ConsumerConfig(**config))


@pytest.mark.parametrize(
    "options",
    [
        {"pulls": ConsumeOptions(group="g")},
        {"pulls": ConsumeOptions(on_deleted=OnDeleted.RETRY)},
        {"pulls": ConsumeOptions(watch_gaps=True)},
        {"create_timeout": 0},
        {"create_timeout": float("inf")},
        {"first_attempts": 0},
    ],
)
def test_options_that_can_not_work_are_refused(options):
    with pytest.raises(InvalidConfig):
        OrderedOptions(**options)


def test_names_that_can_not_be_are_refused():
    with pytest.raises(InvalidSubject, match=r"'a\.b'"):
        OrderedOptions(name_prefix="a.b")
    with pytest.raises(InvalidSubject):
        OrderedConsumer(ApiSubjects(), "a.b", Messages())


def test_the_filter_is_in_the_subject_of_the_creation():
    rig = Rig(config={"filter_subject": "s.a"})

    assert rig.log[-1].subject == f"{CREATE}{rig.creates[0].name}.s.a"


def test_the_last_of_each_subject_is_of_all_subjects_where_none_is_named():
    policy = {"deliver_policy": "last_per_subject"}

    assert Rig(config=policy).creates[0].config["filter_subject"] == ">"
    assert (
        Rig(config={**policy, "filter_subject": "a.*"}).creates[0].config["filter_subject"] == "a.*"
    )
    assert (
        "filter_subject" not in Rig(config={**policy, "filter_subjects": ["a"]}).creates[0].config
    )


# ------------------------------------------------------------------ what nobody has said


def test_who_says_nothing_pulls_with_heartbeats_of_5_seconds_and_reads_on_for_ever():
    options = OrderedOptions()

    assert (options.form, options.until_caught_up) == (SourceKind.PULL, False)
    assert (options.pulls.heartbeat, options.pulls.expires) == (5.0, 30.0)
    assert (options.first_attempts, options.create_timeout) == (10, 5.0)
    assert Rig().creates[0].name == "8S8g6aVhigSYlICZC8RwNb-1-1"


def test_all_incarnations_acknowledge_nothing_deliver_once_and_live_in_the_memory_of_one_server():
    shared = OrderedOptions().shared

    assert (shared.ack_policy, shared.ack_wait, shared.max_deliver) == (
        "none",
        timedelta(hours=22),
        1,
    )
    assert (shared.mem_storage, shared.num_replicas) == (True, 1)


def test_an_incarnation_that_nobody_reads_is_kept_for_five_minutes_unless_it_is_said():
    given = OrderedOptions(config=ConsumerConfig(inactive_threshold=SECOND))

    assert OrderedOptions().shared.inactive_threshold == timedelta(minutes=5)
    assert given.shared.inactive_threshold == SECOND


def test_a_push_form_has_flow_control_and_the_heartbeats_of_its_pulls():
    pushed = OrderedOptions(form=SourceKind.PUSH, pulls=ConsumeOptions(idle_heartbeat=2.0)).shared
    pulled = OrderedOptions(form=SourceKind.PULL).shared

    assert (pushed.flow_control, pushed.idle_heartbeat) == (True, timedelta(seconds=2))
    assert (pulled.flow_control, pulled.idle_heartbeat) == (None, None)


def test_what_the_incarnations_share_is_made_of_the_configuration_and_never_given_or_shown():
    with pytest.raises(TypeError):
        OrderedOptions(shared=ConsumerConfig())

    assert "shared" not in repr(OrderedOptions())
    assert OrderedOptions(config=ConsumerConfig(description="d")) != OrderedOptions()
    assert OrderedOptions() == OrderedOptions()


@pytest.mark.parametrize(
    "options",
    [
        {"config": ConsumerConfig(deliver_policy="by_start_sequence", opt_start_seq=1)},
        {"create_timeout": 0.5},
        {"first_attempts": 1},
    ],
)
def test_the_least_of_each_may_be_said(options):
    OrderedOptions(**options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"pulls": ConsumeOptions(group="g")},
            f"{NOTHING_ELSE}: it has one reader, always comes back, and always watches gaps",
        ),
        (
            {"create_timeout": 0},
            "expected a finite create_timeout > 0, a number of seconds or a timedelta, got 0",
        ),
        (
            {"create_timeout": float("nan")},
            "expected a finite create_timeout > 0, a number of seconds or a timedelta, got nan",
        ),
        ({"first_attempts": 0}, "expected first_attempts >= 1, a whole number, got 0"),
        ({"first_attempts": float("inf")}, "expected first_attempts >= 1, a whole number, got inf"),
        (
            {"config": ConsumerConfig(opt_start_seq=5)},
            "expected no opt_start_seq with deliver_policy all, got 5",
        ),
    ],
)
def test_a_refusal_says_what_was_expected_and_what_was_seen(options, said):
    with pytest.raises(InvalidConfig) as refused:
        OrderedOptions(**options)

    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("config", "paced", "hurried"),
    [
        ({}, False, True),
        ({"replay_policy": "instant"}, False, True),
        ({"replay_policy": "original"}, True, False),
        ({"rate_limit_bps": 1000}, False, False),
    ],
)
def test_a_server_that_waits_has_nothing_unless_it_replays_or_is_limited(config, paced, hurried):
    options = OrderedOptions(config=ConsumerConfig(**config))

    assert (options.paced, options.hurried) == (paced, hurried)
