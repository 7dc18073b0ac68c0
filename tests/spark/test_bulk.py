"""What Arrow reads for all messages of a batch at once is what the core reads one by one, or
nothing.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jsproto.jetstream.delivery.ack import AckSubject
from jsproto.wire.headers import pairs_of
from jsproto_spark.read import bulk

FORM = b"NATS/1.0\r\nOrder: %b\r\nTrace: %b\r\n\r\n"
CONSUMER = "$JS.ACK.S.c."
DOMAIN = "$JS.ACK.hub.hash.S.c."


def block(order=b"1", trace=b"2"):
    return FORM % (order, trace)


def pairs(blocks):
    """What was read at once, message by message; ``None`` if nothing was."""
    found = bulk.headers(blocks)
    if found is None:
        return None
    names, values = found
    flat = values.to_pylist()
    return [
        tuple(zip(names, flat[at : at + len(names)], strict=True))
        for at in range(0, len(flat), len(names))
    ]


def test_headers_of_one_form_are_read_at_once():
    blocks = [block(), block(b"a\xc3\xa4 c", b"x: y")]

    assert [(("Order", "1"), ("Trace", "2")), (("Order", "a\u00e4 c"), ("Trace", "x: y"))] == pairs(
        blocks
    )


@pytest.mark.parametrize(
    "odd",
    [
        None,
        b"NATS/1.0\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\r\n\r\n",
        b"NATS/1.0\r\nTrace: 2\r\nOrder: 1\r\n\r\n",
        b"NATS/1.0\r\norder: 1\r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder:1\r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder:  1\r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\t\r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: \r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\r\nTrace: \xff2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\xff2\r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\r2\r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\r\nTrace: 2\r\n",
        b"NATS/1.0 503\r\nOrder: 1\r\nTrace: 2\r\n\r\n",
        b"NATS/1.1\r\nOrder: 1\r\nTrace: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 1\r\nTrace: 2\r\n\r\nmore",
        b"",
    ],
    ids=repr,
)
def test_one_block_of_another_form_is_left_to_the_core(odd):
    assert pairs([block(), odd, block()]) is None
    assert pairs([odd, block()]) is None


def test_blocks_that_only_together_have_the_form_are_left_to_the_core():
    whole = block() + block()

    assert pairs([whole[:20], whole[20:]]) is None


VALUES = st.one_of(
    st.binary(max_size=6),
    st.text(alphabet="ab :\u00e4\u3000\x00", max_size=6).map(str.encode),
    st.sampled_from([b"x\r\nTrace: y", b"x\r\n\r\nNATS/1.0\r\nOrder: y"]),
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
@example([(b"a\x00b", b"c")])
@example([(b"a", b"b"), (b"c", b"d")])
def test_what_is_read_at_once_is_what_the_core_reads(values):
    blocks = [block(*each) for each in values]
    found = pairs(blocks)

    assert found is None or found == list(map(pairs_of, blocks))


@given(
    st.lists(st.text("ab \u00e4", min_size=1, max_size=5).map(lambda each: f"x{each}y"), min_size=1)
)
def test_sound_blocks_are_read_at_once(values):
    blocks = [block(each.encode()) for each in values]

    assert list(map(pairs_of, blocks)) == pairs(blocks)


# ------------------------------------------------------------------------------------------------ reply subjects


def rows(replies):
    table = bulk.numbers(replies)
    return None if table is None else [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("begin", [CONSUMER, DOMAIN])
def test_numbers_of_one_consumer_are_read_at_once(begin):
    replies = [
        f"{begin}1.{seq}.{seq + 3}.1700000000000000{seq:03d}.{9 - seq}" for seq in range(1, 10)
    ]

    assert [AckSubject.parse(each)[4:9] for each in replies] == rows(replies)
    assert rows(replies[:1]) == rows(replies)[:1]


SOUND = CONSUMER + "1.2.3.4.5"


@pytest.mark.parametrize(
    "odd",
    [
        "$JS.ACK.S.d.1.2.3.4.5",
        "$JS.ACK.T.c.1.2.3.4.5",
        "$JS.ACK.hub.hash.S.c.1.2.3.4.5",
        "$JS.ACK.hub.hash.S.c.1.2.3.4.5.more",
        "$JS.ACK.S.c.1.2.3.4",
        "$JS.ACK.S.c.1.2.3.4.5.6",
        "$JS.ACK.S.c.1.2.3..5",
        "$JS.ACK.S.c.1.2.3.-4.5",
        "$JS.ACK.S.c.1.2.3.4.5x",
        "$JS.ACK.S.c.1.2.3.4.\u0665",
        f"$JS.ACK.S.c.1.{2**63}.3.4.5",
        f"$JS.ACK.S.c.1.{2**70}.3.4.5",
        "_INBOX.a",
        "",
        "$JS.ACK.S.c.1.2.3.4.5\n$JS.ACK.S.c.1.2.3.4.5",
    ],
)
def test_one_reply_of_another_form_is_left_to_the_core(odd):
    assert rows([SOUND, SOUND]) == [(1, 2, 3, 4, 5)] * 2
    assert rows([SOUND, odd, SOUND]) is None


@given(
    st.lists(st.text("01.", max_size=12).map(lambda tail: CONSUMER + tail), min_size=1, max_size=3)
)
@example([CONSUMER + "1.2.3.4.007", CONSUMER + "1.2.3.4.07"])
@example([CONSUMER + "01.2.3.4.5", CONSUMER + "011.2.3.4.5"])
@example([CONSUMER + "01.2.3.4.5", CONSUMER + "0.2.3.4.5"])
def test_numbers_that_are_read_at_once_are_those_of_the_core(replies):
    found = rows(replies)

    assert found is None or found == [AckSubject.parse(each)[4:9] for each in replies]
