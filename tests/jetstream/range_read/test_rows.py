"""A run of messages as columns: each says what the messages say one by one, and only if it is
asked.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidResponse
from jsproto.jetstream.delivery.ack import AckSubject
from jsproto.jetstream.range_read.rows import DeliveredRows, Row, Rows, StoredRows, instant

BLOCK = b"NATS/1.0\r\nOrder: %d\r\n\r\n"
SHORT = "$JS.ACK.S.C"
LONG = "$JS.ACK.hub.ACCHASH.S.C"


def delivered(replies):
    return DeliveredRows(
        "S", [("7", f"s.{at}", reply, None, b"%d" % at) for at, reply in enumerate(replies)]
    )


def replies(count, names=SHORT, tail=""):
    return [f"{names}.1.{10 + n}.{1 + n}.{10**18 + n}.{count - n}{tail}" for n in range(count)]


def stored(*sequences, block=b"NATS/1.0\r\nOrder: 1\r\n\r\n"):
    said = b"Nats-Stream: S\r\nNats-Subject: s.%d\r\nNats-Sequence: %d\r\nNats-Time-Stamp: 2026-01-01T00:00:00.00000000%dZ\r\n"
    frames = [
        (
            "7",
            "_INBOX.1",
            "",
            block[:-2] + said % (n, n, n % 10) + b"Nats-Num-Pending: 4\r\n\r\n",
            b"x",
        )
        for n in sequences
    ]
    return StoredRows("S", frames)


@pytest.mark.parametrize("names", [SHORT, LONG])
@pytest.mark.parametrize("tail", ["", ".more", ".a.b"])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_the_columns_of_a_run(names, tail, count):
    if names == SHORT and tail:
        return  # there is no such form
    rows = delivered(replies(count, names, tail))

    assert rows.sequences == list(range(10, 10 + count))
    assert rows.timestamps == list(range(10**18, 10**18 + count))
    assert rows.consumer_sequences == list(range(1, 1 + count))
    assert rows.deliveries == [1] * count
    assert rows.pending == list(range(count, 0, -1))
    assert (rows.first, rows.last) == (10, 9 + count)
    assert rows.consumer == "C"
    assert rows.domain == ("" if names == SHORT else "hub")
    assert rows.replies == replies(count, names, tail)
    assert rows.subjects == [f"s.{n}" for n in range(count)]
    assert rows.payloads == [b"%d" % n for n in range(count)]
    assert len(rows) == count


def test_nothing_is_read_before_it_is_asked_for():
    rows = delivered(replies(3))

    assert (rows.payloads, rows.subjects, rows.blocks, len(rows)) == (
        [b"0", b"1", b"2"],
        ["s.0", "s.1", "s.2"],
        [None] * 3,
        3,
    )
    assert rows.parsed == frozenset()
    assert rows.timestamps
    assert rows.parsed == {"places"}
    assert rows.headers == [(), (), ()]
    assert rows.parsed == {"places", "headers"}


def test_what_was_read_is_kept():
    rows = delivered(replies(3))

    assert rows.sequences is rows.sequences
    assert rows.timestamps is rows.timestamps
    assert rows.headers is rows.headers


def test_one_row_after_the_other():
    frame = ("7", "s.a", f"{SHORT}.1.3.1.17.0", BLOCK % 5, b"x")

    assert list(DeliveredRows("S", [frame])) == [Row(3, 17, "s.a", (("Order", "5"),), b"x")]


def test_it_shows_how_many_there_are_and_no_payload():
    assert repr(delivered(replies(2))) == "<DeliveredRows S: 2 messages>"


#: Replies that no run of one form can hold, among others that are sound.
OTHERS = {
    "another consumer": f"{SHORT}X.1.99.99.99.99",
    "the long form": f"{LONG}.1.99.99.99.99",
    "another stream": "$JS.ACK.T.C.1.99.99.99.99",
    "leading zeros": f"{SHORT}.01.099.99.0099.99",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_run_of_several_forms_is_read_one_by_one(other, at):
    mixed = replies(4)
    mixed[at] = other
    rows = delivered(mixed)

    assert rows.sequences == [AckSubject.parse(each).stream_sequence for each in mixed]
    assert rows.deliveries == [1] * 4
    assert rows.pending == [AckSubject.parse(each).num_pending for each in mixed]


DAMAGE = {
    "too few": f"{SHORT}.1.2.3.4",
    "none": "",
    "no number": f"{SHORT}.1.x.3.4.5",
    "empty": f"{SHORT}.1..3.4.5",
    "signed": f"{SHORT}.1.-2.3.4.5",
    "other digits": f"{SHORT}.1.\u0663.3.4.5",
    "too large": f"{SHORT}.1.{2**64}.3.4.5",
    "far too large": f"{SHORT}.1.{'9' * 5000}.3.4.5",
    "no ack": "_INBOX.ACK.S.C.1.2.3.4.5",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("at", [0, 2])
def test_a_message_that_does_not_say_where_it_stands(damage, at):
    broken = replies(3)
    broken[at] = damage

    with pytest.raises(InvalidResponse):
        _ = delivered(broken).sequences


def test_tokens_that_are_missing_here_are_not_made_up_for_by_others():
    """Together they are as many as they must be."""
    long = "$JS.ACK.hub.HASH.S.C"
    rows = delivered([f"{long}.1.2.3.4.5.more", f"{long}.1.3.4.5.6", f"{long}.1.4.5.6.7.a.b"])

    assert rows.sequences == [2, 3, 4]
    assert rows.pending == [5, 6, 7]


NUMBERS = st.integers(0, 2**64 - 1)
FORMS = st.sampled_from([("", "", "S", "C"), ("", "H", "S", "C"), ("hub", "H", "S", "D")])


@given(
    st.lists(
        st.builds(
            lambda form, numbers, tail: AckSubject(
                *form, *numbers, tail=tail if form[1] else ""
            ).subject(),
            FORMS,
            st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
            st.sampled_from(["", "x", "1.2"]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_columns_are_what_the_replies_say_one_by_one(said):
    rows = delivered(said)
    read = [AckSubject.parse(each) for each in said]

    assert rows.sequences == [each.stream_sequence for each in read]
    assert rows.timestamps == [each.timestamp_ns for each in read]
    assert rows.consumer_sequences == [each.consumer_sequence for each in read]
    assert rows.deliveries == [each.num_delivered for each in read]
    assert rows.pending == [each.num_pending for each in read]


# ------------------------------------------------------------------------------------------------ directly


def test_what_a_direct_get_says():
    rows = stored(3, 5)

    assert rows.sequences == [3, 5]
    assert rows.subjects == ["s.3", "s.5"]
    assert [each % 10 for each in rows.timestamps] == [3, 5]
    assert rows.blocks == [b"NATS/1.0\r\nOrder: 1\r\n\r\n"] * 2
    assert rows.headers == [(("Order", "1"),)] * 2
    assert (
        rows.replies,
        rows.consumer_sequences,
        rows.deliveries,
        rows.pending,
        rows.consumer,
    ) == (None,) * 5
    assert rows.domain == ""


def test_names_that_a_stored_message_has_too_are_its_own():
    """A republished message carries them already (trap 4.9 in ``tests/spark/traps.py``): what the answer adds counts, and only
    that is cut off.
    """
    own = b"NATS/1.0\r\nNats-Stream: OLD\r\nNats-Subject: old\r\nNats-Sequence: 99\r\n\r\n"
    rows = stored(3, block=own)

    assert (rows.sequences, rows.subjects) == ([3], ["s.3"])
    assert rows.blocks == [own]
    assert rows.headers[0][2] == ("Nats-Sequence", "99")


@pytest.mark.parametrize(
    "block",
    [
        None,
        b"NATS/1.0\r\n\r\n",
        b"NATS/1.0\r\nNats-Sequence: x\r\nNats-Subject:\r\nNats-Time-Stamp: 0001-01-01T00:00:00Z\r\n\r\n",
    ],
)
@pytest.mark.parametrize("column", ["sequences", "subjects", "timestamps"])
def test_an_answer_without_a_place(block, column):
    rows = StoredRows("S", [("7", "_INBOX.1", "", block, b"x")])

    with pytest.raises(InvalidResponse):
        getattr(rows, column)


def test_the_base_reads_nothing():
    rows = Rows("S", [("7", "s", "", None, b"")])

    for column in ("sequences", "timestamps"):
        with pytest.raises(NotImplementedError):
            getattr(rows, column)


def test_the_time_that_says_nothing_is_shown():
    with pytest.raises(
        InvalidResponse, match="expected the time of a stored message, got '0001-01-01T00:00:00Z'"
    ):
        instant("0001-01-01T00:00:00Z")
