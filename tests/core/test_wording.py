"""What an error says about a name that nobody knows."""

from __future__ import annotations

import pytest

from jsproto.core.wording import meant, nearest
from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.settings import configured
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.publishing.options import PublishOptions, asked_for
from jsproto.jetstream.context import JetStream

KNOWN = ["durable_name", "name", "num_replicas", "max_msgs", "max_bytes"]


@pytest.mark.parametrize(
    ("word", "best"),
    [
        ("durable", "durable_name"),
        ("replicas", "num_replicas"),
        ("MAX_BYTE", "max_bytes"),
        ("msgs", "max_msgs"),
    ],
)
def test_the_nearest_name_comes_first(word, best):
    assert nearest(word, KNOWN)[0] == best


def test_a_word_that_is_a_part_of_a_name_finds_it():
    assert nearest("max", ["max_consumers_of_all"]) == ["max_consumers_of_all"]
    assert nearest("ma", ["max_consumers_of_all"]) == []


def test_a_word_like_nothing_gets_no_suggestion():
    assert meant(["zzz"], KNOWN) == ""
    assert meant([5], KNOWN) == ""


def test_each_right_name_is_said_once():
    assert meant(["durable", "durable_nam"], KNOWN) == ": did you mean durable_name?"


def test_a_name_of_another_client_has_its_own_answer():
    assert meant(["user"], KNOWN, {"user": "auth=Auth(...)"}) == ": did you mean auth=Auth(...)?"


def test_a_long_word_is_compared_by_its_beginning():
    assert meant(["durable_name" * 100_000], KNOWN) == ""


@pytest.mark.parametrize(
    ("kind", "needed", "word", "right"),
    [
        (ConsumerConfig, {}, "durable", "durable_name"),
        (ConsumerConfig, {}, "filter", "filter_subject"),
        (StreamConfig, {"name": "A"}, "subject", "subjects"),
        (StreamConfig, {"name": "A"}, "replicas", "num_replicas"),
    ],
)
def test_a_wrong_setting_is_answered_with_the_right_ones(kind, needed, word, right):
    for refused in (
        lambda: configured(kind, None, {**needed, word: "x"}),
        lambda: configured(kind, kind(**needed), {word: "x"}),
        lambda: kind(**needed).evolve(**{word: "x"}),
    ):
        with pytest.raises(InvalidConfig, match=rf"got \['{word}'\]: did you mean .*\b{right}\b"):
            refused()


def test_a_wrong_setting_of_a_publish_is_answered_with_the_right_one():
    for options in (None, PublishOptions()):
        with pytest.raises(InvalidConfig, match=r"\['msgid'\]: did you mean msg_id"):
            asked_for(options, {"msgid": "1"})


def test_a_wrong_setting_of_a_subscription_is_answered_with_the_right_one():
    with pytest.raises(InvalidConfig, match="did you mean durable_name"):
        JetStream().subscribe("A", durable="x")  # the type checker refuses it, too
