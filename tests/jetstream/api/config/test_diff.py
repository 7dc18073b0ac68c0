"""What differs is said setting by setting, and what only looks different is not said."""

from __future__ import annotations

from datetime import timedelta

from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.diff import Difference, changes, differences
from jsproto.jetstream.api.config.stream import StreamConfig, StreamSource
from jsproto.jetstream.api.document import unechoed


def settings(wanted: object, there: object) -> list[str]:
    return [each.setting for each in differences(wanted, there)]


def test_what_is_not_wished_for_is_not_compared() -> None:
    there = StreamConfig(name="S", subjects=["a"], max_msgs=-1, metadata={"_nats.level": "0"})

    assert differences(StreamConfig(name="S"), there) == ()
    assert settings(StreamConfig(name="S", metadata={"k": "v"}), there) == ["metadata.k"]


def test_a_difference_says_both_values() -> None:
    wanted = StreamConfig(name="S", max_age=timedelta(hours=1), max_msgs=5)
    found = differences(wanted, StreamConfig(name="S", max_msgs=9))

    assert found == (
        Difference(setting="max_msgs", wanted=5, there=9),
        Difference(setting="max_age", wanted=timedelta(hours=1), there=None),
    )
    assert str(found[0]) == "max_msgs: wanted 5, is 9"


def test_no_limit_is_zero_or_minus_one_and_no_flag_is_false() -> None:
    assert settings(StreamConfig(name="S", max_msgs=0), StreamConfig(name="S", max_msgs=-1)) == []
    assert settings(StreamConfig(name="S", max_msgs=-1), StreamConfig(name="S")) == []
    assert settings(StreamConfig(name="S", first_seq=-1), StreamConfig(name="S", first_seq=0)) == [
        "first_seq"
    ]
    assert settings(StreamConfig(name="S", no_ack=False), StreamConfig(name="S")) == []
    assert settings(ConsumerConfig(max_deliver=0), ConsumerConfig(max_deliver=-1)) == []
    assert settings(ConsumerConfig(max_deliver=4), ConsumerConfig(max_deliver=-1)) == [
        "max_deliver"
    ]


def test_documents_within_and_lists_of_them_are_compared_inside() -> None:
    wanted = StreamConfig(
        name="S",
        placement=Placement(cluster="A", tags=["x"]),
        sources=[StreamSource(name="O", opt_start_seq=3)],
    )
    there = StreamConfig(
        name="S",
        placement=Placement(cluster="B", tags=["x"]),
        sources=[StreamSource(name="O", opt_start_seq=4, filter_subject=">")],
    )

    assert settings(wanted, there) == ["placement.cluster", "sources[0].opt_start_seq"]
    assert settings(wanted, StreamConfig(name="S")) == [
        "placement.cluster",
        "placement.tags",
        "sources",
    ]
    assert settings(wanted.evolve(placement=None), there.evolve(sources=there.sources * 2)) == [
        "sources"
    ]


def test_settings_that_this_version_does_not_know_are_compared_too() -> None:
    wanted = StreamConfig(name="S", extra={"new": 1})

    assert settings(wanted, StreamConfig(name="S", extra={"new": 1})) == []
    assert settings(wanted, StreamConfig(name="S", extra={"new": 2})) == ["new"]
    assert settings(
        StreamConfig(name="S", placement=Placement(extra={"new": 1})), StreamConfig(name="S")
    ) == ["placement.new"]


def test_what_has_changed_is_what_came_and_what_went_but_for_the_labels_of_the_server() -> None:
    old = StreamConfig(
        name="S",
        description="d",
        max_msgs=-1,
        placement=Placement(cluster="A"),
        metadata={"k": "v", "_nats.req.level": "0", "_nats.gone": "1"},
    )
    new = StreamConfig(name="S", max_msgs=5, metadata={"k": "w", "_nats.req.level": "1"})

    assert changes(old, old) == ()
    assert changes(old, new) == (
        Difference(setting="max_msgs", wanted=5, there=-1),
        Difference(setting="metadata.k", wanted="w", there="v"),
        Difference(setting="description", wanted=None, there="d"),
        Difference(setting="placement.cluster", wanted=None, there="A"),
    )


def test_labels_of_the_server_in_a_wish_are_no_settings() -> None:
    """A configuration that was read from one server and is wished for on another holds the labels
    of the first.
    """
    wish = StreamConfig(
        name="S", metadata={"_nats.ver": "2.14.0", "_nats.req.level": "0", "team": "a"}
    )
    there = StreamConfig(name="S", metadata={"_nats.ver": "2.15.1", "team": "a"})

    assert differences(wish, there) == ()
    assert differences(wish, StreamConfig(name="S", metadata={"team": "b"})) != ()
    assert unechoed(wish, there) == ()
    assert unechoed(wish, StreamConfig(name="S", metadata={"a": "b"})) == ("metadata.team",)
    only = wish.evolve(metadata={"_nats.ver": "2.14.0"})
    assert unechoed(only, StreamConfig(name="S")) == differences(only, StreamConfig(name="S")) == ()
