"""What the server would refuse a batch for is refused when the message is handed in, and the batch
is as before.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, InvalidHeader
from jsproto.jetstream.api.requests.publish import compose
from jsproto.jetstream.publish.batch_rules import BatchRules, batch_name
from jsproto.wire.headers import Headers


def rules(*messages, limit: int = 1000) -> BatchRules:
    made = BatchRules(limit)
    for each in messages:
        made.take(each.subject, each.headers)
    return made


FIRST = compose("s.a", b"1", msg_id="1")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (compose("s.b", msg_id="1"), "10201"),
        (compose("s.b", expected_last_msg_id="1"), "10177"),
        (compose("s.b", expected_last_sequence=0), "10164"),
        (compose("s.a", expected_last_subject_sequence=0), "10164"),
        (
            compose(
                "s.b",
                expected_last_subject_sequence=0,
                expected_last_subject_sequence_subject="s.a",
            ),
            "10164",
        ),
        (compose("s.a", rollup="sub"), "first message of a batch on its subject only .10111"),
        (compose("s.b", rollup="all"), "first message of a batch only .10111"),
        (compose("s.b", headers={"Nats-Rollup": "ALL"}), "10111"),
        (compose("s.b", headers={"Nats-Batch-Sequence": "5"}), "without Nats-Batch-Sequence"),
        (compose("s.b", headers={"nats-batch-id": "5"}), "without nats-batch-id"),
    ],
)
def test_a_message_that_would_sink_the_batch_is_refused_with_the_servers_number(
    message, words: str
) -> None:
    batch = rules(FIRST)
    before = batch.snapshot()

    with pytest.raises(InvalidConfig, match=words):
        batch.take(message.subject, message.headers)
    assert batch.snapshot() == before


@pytest.mark.parametrize(
    "message",
    [
        compose("s.b", msg_id="2"),
        compose("s.b", expected_last_subject_sequence=0),
        compose(
            "s.a", expected_last_subject_sequence=5, expected_last_subject_sequence_subject="s.*"
        ),
        compose("s.b", rollup="sub"),
        compose("s.a"),
    ],
)
def test_what_the_server_takes_is_taken(message) -> None:
    assert rules(FIRST, message).size == 2


@pytest.mark.parametrize(
    "message",
    [
        compose("s.a", expected_last_sequence=7),
        compose("s.a", rollup="all"),
        compose("s.a", rollup="sub", expected_last_subject_sequence=3),
    ],
)
def test_the_first_message_may_ask_for_more(message) -> None:
    assert rules(message).holds("s.a")
    assert not rules(message).holds("s.b")


def test_one_message_more_than_the_limit_is_refused_before_anything_is_sent() -> None:
    batch = rules(FIRST, compose("s.a"), limit=2)

    with pytest.raises(
        InvalidConfig, match=r"at most 2 messages in a batch, this is one more \(10199\)"
    ):
        batch.take("s.a", None)
    assert batch.size == 2


def test_a_snapshot_knows_ids_and_subjects() -> None:
    again = BatchRules()
    again.restore(rules(FIRST).snapshot())

    with pytest.raises(InvalidConfig, match="10201"):
        again.take("s.b", FIRST.headers)
    assert again.holds("s.a")


@pytest.mark.parametrize("batch_id", ["", "x" * 65, "ü" * 33, 5])
def test_an_id_is_text_of_1_to_64_bytes(batch_id: object) -> None:
    with pytest.raises(InvalidConfig, match="10179"):
        batch_name(batch_id)


def test_an_id_that_would_break_the_block_is_refused() -> None:
    assert batch_name("x" * 64) == "x" * 64
    for bad in ("a\r\nb", " a", "\ud800"):
        with pytest.raises(InvalidHeader):
            batch_name(bad)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "1", "2", "3"])), max_size=8))
def test_an_id_is_in_a_batch_once_at_most(messages: list[tuple[str, str]]) -> None:
    batch = BatchRules()
    taken: list[str] = []
    for subject, msg_id in messages:
        try:
            batch.take(subject, Headers({"Nats-Msg-Id": msg_id}) if msg_id else None)
        except InvalidConfig:
            assert msg_id in taken
        else:
            taken.append(msg_id)

    ids = [each for each in taken if each]
    assert len(ids) == len(set(ids))
    assert batch.size == len(taken)


def test_the_id_is_the_one_that_the_server_takes_and_another_spelling_is_refused() -> None:
    rules = BatchRules()
    rules.take("s.a", Headers([("Nats-Msg-Id", "1"), ("Nats-Msg-Id", "2")]))
    rules.take("s.a", Headers({"Nats-Msg-Id": "2"}))
    rules.take("s.a", Headers({"Nats-Msg-Id": ""}))
    with pytest.raises(InvalidConfig, match="10201"):
        rules.take("s.a", Headers({"Nats-Msg-Id": "1"}))
    with pytest.raises(InvalidConfig, match="expected the header name Nats-Msg-Id"):
        rules.take("s.a", Headers({"nats-msg-id": "3"}))

    assert rules.size == 3
