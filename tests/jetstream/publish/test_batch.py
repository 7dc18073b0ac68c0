"""An atomic batch is stored as a whole or not at all, and its error says which, or that nobody
knows.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    ConversationClosed,
    InvalidConfig,
    InvalidHeader,
    InvalidSubject,
    JsprotoError,
    LinkError,
    LocalProtocolError,
    NoResponders,
    PayloadTooLarge,
    PermissionViolation,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.errors import (
    BatchUnsupported,
    InvalidBatch,
    InvalidPubAck,
    WrongLastSequence,
)
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.requests.publish import compose
from jsproto.jetstream.errors import BatchAbandoned
from jsproto.jetstream.publish.batch import ASK_EVERY, IDLE, BatchPublish, BatchState, WholeBatch
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish
from jsproto.wire.headers import Headers

NOBODY = b"NATS/1.0 503\r\n\r\n"
INCOMPLETE = {
    "error": {"code": 400, "err_code": 10176, "description": "incomplete"},
    "stream": "S",
    "seq": 0,
}


def begun(batch: BatchPublish, *, up: bool = True, now: float = 0.0) -> BatchPublish:
    batch.port = Port(up=up)
    batch.opened(now)
    return batch


def batch(**options: object) -> BatchPublish:
    return begun(BatchPublish(**{"batch_id": "b", **options}))


def sent(of: BatchPublish) -> list[Publish]:
    return [each for each in of.port.commands if isinstance(each, Publish)]


def words(of: BatchPublish) -> list[str]:
    """Subject, number and commit of what was sent, with ``?`` where an answer is asked for."""
    said = []
    for each in sent(of):
        headers = each.headers
        assert headers["Nats-Batch-Id"] == of.batch_id
        commit = headers.last("Nats-Batch-Commit")
        said.append(
            f"{each.subject} {headers['Nats-Batch-Sequence']}{' ' + commit if commit else ''}{'?' if each.reply else ''}"
        )
    return said


def answer(
    of: BatchPublish,
    members: object = b"",
    now: float = 0.0,
    block: bytes | None = None,
    at: int = -1,
) -> None:
    """Answer the newest message that asks for it."""
    asking = [each for each in sent(of) if each.reply]
    payload = members if isinstance(members, bytes) else json.dumps(members).encode()
    of.replied(int(asking[at].reply.rsplit(".", 1)[1]), ("1", "r", "", block, payload), now)


def stored(count: int, seq: int = 9) -> dict[str, object]:
    return {"stream": "S", "seq": seq, "batch": "b", "count": count}


def put(of: BatchPublish, *subjects: str, now: float = 0.0) -> None:
    for subject in subjects:
        assert of.offered((subject, b"x"), now)


# ---------------------------------------------------------------------------------------------- the good road


def test_the_first_is_answered_before_others_follow_and_the_last_commits() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    assert words(of) == ["s.a 1?"]
    put(of, "s.c")
    assert not of.offered(("s.d", b"x"), 0.0)
    answer(of)
    assert words(of)[1:] == ["s.b 2"]
    assert of.room
    put(of, "s.d")
    of.told(StopMode.DRAIN, 0.0)

    assert words(of)[2:] == ["s.c 3", "s.d 4 1?"]
    assert of.take(0.0) is NEED_DATA
    answer(of, stored(4))
    assert of.take(0.0) == PubAck(stream="S", seq=9, batch="b", count=4)
    assert of.take(0.0) is ENDED
    assert of.state is BatchState.OVER
    assert of.deadline is None


def test_one_message_is_first_and_last() -> None:
    of = batch()
    put(of, "s.a")
    of.told(StopMode.STOP, 0.0)

    assert words(of) == ["s.a 1 1?"]
    answer(of, stored(1))
    assert of.take(0.0).count == 1


def test_none_is_no_batch() -> None:
    of = batch()
    of.told(StopMode.DRAIN, 0.0)

    assert sent(of) == []
    assert of.take(0.0) is ENDED


def test_a_batch_that_is_told_to_end_early_waits_for_the_first_answer() -> None:
    of = batch()
    put(of, "s.a", "s.b", "s.c")
    of.told(StopMode.DRAIN, 0.0)
    assert words(of) == ["s.a 1?"]
    answer(of)

    assert words(of)[1:] == ["s.b 2", "s.c 3 1?"]


def test_with_eob_nothing_is_held_back_and_the_end_is_no_message() -> None:
    of = batch(eob=True)
    put(of, "s.a")
    assert words(of) == ["s.a 1?"]
    put(of, "s.b")
    assert not of.room
    answer(of)
    assert words(of)[1:] == ["s.b 2"]
    of.told(StopMode.DRAIN, 0.0)

    assert words(of)[2:] == ["s.b 3 eob?"]
    assert sent(of)[-1].payload == b""
    answer(of, stored(2))
    assert of.take(0.0).count == 2
    assert of.sent == of.taken == 2


def test_with_eob_the_end_waits_for_the_first_answer_too() -> None:
    of = batch(eob=True)
    put(of, "s.a")
    of.told(StopMode.DRAIN, 0.0)
    assert words(of) == ["s.a 1?"]
    answer(of)

    assert words(of)[1:] == ["s.a 2 eob?"]


def test_headers_of_the_user_go_along_and_are_not_changed() -> None:
    own = Headers({"A": "1"})
    of = batch()
    of.offered(("s.a", b"x", own), 0.0)
    of.told(StopMode.DRAIN, 0.0)

    assert sent(of)[0].headers.items() == (
        ("A", "1"),
        ("Nats-Batch-Id", "b"),
        ("Nats-Batch-Sequence", "1"),
        ("Nats-Batch-Commit", "1"),
    )
    assert own == Headers({"A": "1"})


def test_two_batches_of_two_ports_have_two_ids() -> None:
    one, other = begun(BatchPublish()), BatchPublish()
    other.port = Port(2)
    other.opened(0.0)

    assert len(one.batch_id) == 22
    assert one.batch_id != other.batch_id


def test_every_so_many_messages_ask_for_an_answer_and_two_may_be_owed() -> None:
    of = WholeBatch([("s.a", b"x")] * 400, batch_id="b")
    begun(of)
    answer(of)
    assert [each for each in words(of) if each.endswith("?")] == [
        "s.a 1?",
        f"s.a {ASK_EVERY}?",
        f"s.a {2 * ASK_EVERY}?",
    ]
    assert of.sent == 2 * ASK_EVERY
    answer(of, at=1)
    assert of.sent == 3 * ASK_EVERY
    answer(of, at=2)
    assert words(of)[-1] == "s.a 400 1?"
    answer(of, stored(400))

    assert of.take(0.0).count == 400


def test_what_was_handed_in_without_a_link_is_sent_on_the_next() -> None:
    of = begun(BatchPublish(batch_id="b"), up=False)
    put(of, "s.a", "s.b")
    of.link_down(LinkError("gone"), 0.0)
    assert sent(of) == []
    of.port.up = True
    of.link_up(0.0)

    assert words(of) == ["s.a 1?"]


# ---------------------------------------------------------------------------------------------- what is refused here


def test_a_message_that_would_sink_the_batch_is_refused_and_the_batch_goes_on() -> None:
    of = batch(limit=2)
    of.offered(compose("s.a", msg_id="1"), 0.0)
    with pytest.raises(InvalidConfig, match="10201"):
        of.offered(compose("s.b", msg_id="1"), 0.0)
    put(of, "s.b")
    answer(of)
    with pytest.raises(InvalidConfig, match="10199"):
        of.offered(("s.c", b""), 0.0)
    of.told(StopMode.DRAIN, 0.0)

    assert words(of)[1:] == ["s.b 2 1?"]


def test_what_is_no_message_is_refused() -> None:
    of = batch()
    for item, error in ((("s.*", b""), InvalidSubject), ("s.a", LocalProtocolError)):
        with pytest.raises(error):
            of.offered(item, 0.0)
    assert of.taken == 0


def test_a_batch_that_is_committed_takes_nothing_more() -> None:
    of = batch()
    of.told(StopMode.DRAIN, 0.0)
    with pytest.raises(ConversationClosed):
        of.offered(("s.a", b""), 0.0)


def test_a_batch_that_has_failed_says_why_to_whoever_puts() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    answer(of, INCOMPLETE)

    with pytest.raises(InvalidBatch):
        of.offered(("s.c", b""), 0.0)
    assert not of.room


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"limit": True},
        {"retries": -1},
        {"retries": 1.5},
        {"idle": 0.0},
        {"timeout": float("inf")},
        {"retry_wait": float("nan")},
        {"batch_id": ""},
        {"batch_id": "x" * 65},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidConfig, match="expected"):
        BatchPublish(**options)


def test_an_id_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(InvalidHeader):
        BatchPublish(batch_id="a\r\nb")


def test_a_whole_batch_is_checked_before_anything_is_sent() -> None:
    with pytest.raises(InvalidConfig, match="at least one message"):
        WholeBatch([])
    with pytest.raises(InvalidConfig, match="10199"):
        WholeBatch([("s.a", b"")] * 3, limit=2)
    with pytest.raises(InvalidConfig, match="10177"):
        WholeBatch([compose("s.a", expected_last_msg_id="1")])
    with pytest.raises(InvalidSubject):
        WholeBatch([("s.>", b"")])


# ---------------------------------------------------------------------------------------------- what the server says


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (10174, InvalidBatch),
        (10199, InvalidBatch),
        (10201, InvalidBatch),
        (10071, WrongLastSequence),
    ],
)
def test_a_refusal_is_its_typed_error_wherever_it_comes(
    code: int, error: type[JsprotoError]
) -> None:
    refusal = {
        "error": {"code": 400, "err_code": code, "description": "no"},
        "stream": "S",
        "seq": 0,
    }
    early, late = batch(), batch()
    for of in (early, late):
        put(of, "s.a", "s.b")
    answer(early, refusal)
    answer(late)
    late.told(StopMode.DRAIN, 0.0)
    answer(late, refusal)

    for of in (early, late):
        with pytest.raises(error) as caught:
            of.take(0.0)
        assert caught.value.err_code == code
        assert "batch b" in str(caught.value)


@pytest.mark.parametrize("whole", [True, False])
def test_a_server_without_batches_has_stored_one_message_and_that_is_told(whole: bool) -> None:
    of = begun(WholeBatch([("s.a", b"x")], batch_id="b")) if whole else batch()
    if not whole:
        put(of, "s.a", "s.b")
    answer(of, {"stream": "S", "seq": 7})

    with pytest.raises(
        BatchUnsupported, match=r"knows atomic batches \(2\.12\).*stream 'S', sequence 7"
    ) as caught:
        of.take(0.0)
    assert (caught.value.stream, caught.value.seq) == ("S", 7)
    assert len(sent(of)) == 1


@pytest.mark.parametrize(
    "members", [b"pong", {"stream": "S", "seq": 1, "batch": "other", "count": 1}, b""]
)
def test_an_answer_that_is_not_that_of_the_batch_is_no_acknowledgement(members: object) -> None:
    of = begun(WholeBatch([("s.a", b"x")], batch_id="b"))
    answer(of, members)

    with pytest.raises(InvalidPubAck):
        of.take(0.0)


def test_the_acknowledgement_of_the_whole_cannot_come_early() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    answer(of, stored(2))

    with pytest.raises(InvalidPubAck, match="acknowledgement of batch 'b'"):
        of.take(0.0)


def test_nobody_at_first_is_asked_again_and_then_it_is_told() -> None:
    of = batch(retries=1, retry_wait=0.5)
    put(of, "s.a", "s.b")
    answer(of, block=NOBODY)
    assert of.deadline == 0.5
    of.ticked(0.5)
    assert words(of) == ["s.a 1?", "s.a 1?"]
    answer(of, block=NOBODY, now=0.6)

    with pytest.raises(
        NoResponders, match=r"nobody listens there \(503\); nothing of batch 'b' is stored"
    ):
        of.take(1.0)


def test_a_single_message_that_nobody_heard_is_sent_again_as_it_was() -> None:
    of = begun(WholeBatch([("s.a", b"x")], batch_id="b", retry_wait=0.5))
    answer(of, block=NOBODY)
    of.ticked(0.5)
    assert words(of) == ["s.a 1 1?", "s.a 1 1?"]
    answer(of, stored(1), now=0.6)

    assert of.take(1.0).count == 1


def test_nobody_in_the_middle_is_the_end() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    answer(of)
    of.told(StopMode.DRAIN, 0.0)
    answer(of, block=NOBODY)

    with pytest.raises(NoResponders):
        of.take(0.0)


def test_another_status_is_the_end() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    answer(of, block=b"NATS/1.0 429 Too Many Requests\r\n\r\n")

    with pytest.raises(StatusError):
        of.take(0.0)


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    of.replied(999, ("1", "r", "", None, b"pong"), 0.0)
    answer(of)
    answer(of, b"pong")

    assert of.state is BatchState.OPEN


# ---------------------------------------------------------------------------------------------- time and the link


def test_silence_of_the_server_leaves_nothing_stored_before_the_commit_and_is_unknown_behind_it() -> (
    None
):
    early, late = batch(timeout=2.0), batch(timeout=2.0)
    for of in (early, late):
        put(of, "s.a", "s.b")
    early.ticked(2.0)
    answer(late, now=1.0)
    late.told(StopMode.DRAIN, 1.0)
    late.ticked(2.9)
    late.ticked(3.0)

    with pytest.raises(RequestTimeout, match="nothing of it is stored"):
        early.take(2.0)
    with pytest.raises(RequestTimeout, match="unknown if stored"):
        late.take(3.0)


def test_silence_of_the_user_beyond_the_servers_patience_ends_it_with_nothing_stored() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    answer(of, now=0.2)
    assert of.deadline == IDLE
    put(of, "s.c", now=5.0)
    assert of.deadline == 5.0 + IDLE
    of.ticked(14.9)
    assert not of.ended
    of.ticked(15.0)

    with pytest.raises(BatchAbandoned, match=r"within 10\.0 s.*nothing of it is stored"):
        of.offered(("s.d", b"x"), 15.0)
    of.told(StopMode.DRAIN, 15.0)
    with pytest.raises(BatchAbandoned):
        of.take(15.0)
    assert len(sent(of)) == 2


def test_before_anything_is_sent_time_does_not_matter() -> None:
    of = batch()
    put(of, "s.a")

    assert of.deadline is None


def test_a_lost_link_leaves_nothing_stored_before_the_commit_and_is_unknown_behind_it() -> None:
    early, late = batch(), batch()
    for of in (early, late):
        put(of, "s.a", "s.b")
        answer(of)
    late.told(StopMode.DRAIN, 0.0)
    for of in (early, late):
        of.link_down(LinkError("gone"), 0.0)

    with pytest.raises(ConnectionLost, match="nothing of it is stored"):
        early.take(0.0)
    with pytest.raises(ConnectionLost, match="unknown if stored"):
        late.take(0.0)
    late.link_down(LinkError("again"), 0.0)
    late.link_up(0.0)


@pytest.mark.parametrize("error", [PermissionViolation("no", "s.b"), PayloadTooLarge("too large")])
def test_a_message_that_cannot_go_out_ends_the_batch_and_the_server_drops_it(
    error: JsprotoError,
) -> None:
    of = batch()
    put(of, "s.a", "s.b", "s.c")
    answer(of)
    of.refused("t.x", error, 0.0)
    assert not of.ended
    of.refused("s.b", error, 0.0)

    with pytest.raises(type(error)):
        of.take(0.0)
    assert words(of)[-1] == "s.b 4"
    of.refused("s.b", error, 0.0)


def test_a_batch_whose_answers_nobody_may_hear_ends() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    of.refused(of.port.answers, PermissionViolation("no", of.port.answers, "subscription"), 0.0)

    with pytest.raises(PermissionViolation):
        of.take(0.0)


def test_a_refusal_before_anything_was_sent_is_of_somebody_else() -> None:
    of = batch()
    put(of, "s.a")
    of.refused("s.a", PermissionViolation("no", "s.a"), 0.0)

    assert not of.ended


def test_whoever_closes_it_lets_go_of_it_with_a_gap() -> None:
    of = batch()
    put(of, "s.a", "s.b")
    answer(of)
    of.closed(None, 0.0)
    of.closed(None, 0.0)

    assert words(of)[1:] == ["s.a 3"]
    assert of.take(0.0) is ENDED


def test_no_gap_is_sent_where_no_batch_is_or_no_link() -> None:
    new, beginning, offline, closing = batch(), batch(), batch(), batch()
    for of in (beginning, offline, closing):
        put(of, "s.a", "s.b")
    for of in (offline, closing):
        answer(of)
    offline.port.up = False
    for of in (new, beginning, offline):
        of.closed(None, 0.0)
    closing.closed(ConnectionClosed("closed"), 0.0)

    assert [len(sent(of)) for of in (new, beginning, offline, closing)] == [0, 1, 1, 1]
    with pytest.raises(ConnectionClosed):
        closing.take(0.0)


# ---------------------------------------------------------------------------------------------- whatever happens


ANSWERS = st.sampled_from(
    [
        b"",
        b"pong",
        b"{}",
        json.dumps(stored(1)).encode(),
        json.dumps(INCOMPLETE).encode(),
        b'{"stream":"S","seq":1}',
    ]
)
STEP = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(["s.a", "s.b"])),
    st.tuples(st.just("answer"), ANSWERS),
    st.tuples(st.just("status"), st.sampled_from([NOBODY, b"NATS/1.0 429\r\n\r\n"])),
    st.tuples(st.just("tick"), st.sampled_from([0.1, 1.0, 11.0])),
    st.tuples(st.sampled_from(["down", "up", "drain", "close"]), st.none()),
)


@given(st.lists(STEP, max_size=14), st.booleans())
def test_whatever_happens_numbers_are_in_order_and_it_ends_once(steps, eob: bool) -> None:
    of = batch(eob=eob)
    now = 0.0
    for what, detail in steps:
        match what:
            case "put":
                try:
                    of.offered((detail, b"x"), now)
                except JsprotoError:
                    assert of.ended or of._draining
            case "answer" | "status":
                asking = [each for each in sent(of) if each.reply]
                if asking:
                    block = detail if what == "status" else None
                    answer(of, b"" if block else detail, now, block)
            case "tick":
                now += detail
                of.ticked(now)
            case "down":
                of.port.up = False
                of.link_down(LinkError("gone"), now)
            case "up":
                of.port.up = True
                of.link_up(now)
            case "drain":
                of.told(StopMode.DRAIN, now)
            case _:
                of.closed(None, now)
        again = BatchPublish(batch_id="b", eob=eob)
        again.restore(of.snapshot())
        assert again.snapshot() == of.snapshot()
    numbers = [int(each.headers["Nats-Batch-Sequence"]) for each in sent(of)]
    distinct = list(dict.fromkeys(numbers))

    assert distinct == sorted(distinct)
    assert of.ended == (of.state is BatchState.OVER)
    if of.ended:
        assert of.deadline is None
    commits = [each for each in sent(of) if each.headers.last("Nats-Batch-Commit")]
    assert len({each.headers["Nats-Batch-Sequence"] for each in commits}) <= 1


def test_a_snapshot_of_a_stored_batch_still_has_its_result() -> None:
    of = begun(WholeBatch([("s.a", b"x")], batch_id="b"))
    answer(of, stored(1))
    again = WholeBatch([("s.a", b"x")], batch_id="b")
    again.restore(of.snapshot())

    assert again.take(0.0) == of.take(0.0)


# ---------------------------------------------------------------------------------------------- cases of others


def committed(**options: object) -> BatchPublish:
    """Three messages, and the commit under way."""
    of = batch(**options)
    put(of, "s.a")
    if not options.get("eob"):
        put(of, "s.a")
    answer(of)
    while of.taken < 3:
        put(of, "s.a")
    of.told(StopMode.DRAIN, 0.0)
    return of


@pytest.mark.parametrize("eob", [False, True])
def test_the_acknowledgement_counts_the_messages_that_were_sent_n073(eob: bool) -> None:
    of = committed(eob=eob)
    answer(of, {"stream": "S", "seq": 1003, "batch": "b", "count": 3})

    ack = of.take(0.0)
    assert isinstance(ack, PubAck)
    assert (ack.batch, ack.count, ack.seq) == ("b", 3, 1003)


@pytest.mark.parametrize(
    "members",
    [
        {"batch": "c", "count": 3},
        {"batch": "b", "count": 2},
        {"batch": "b", "count": 4},
        {"batch": "b"},
    ],
)
def test_an_acknowledgement_of_another_batch_or_another_count_is_none_n073(
    members: dict[str, object],
) -> None:
    of = committed()
    body = {"stream": "S", "seq": 1003, **members}
    answer(of, body)

    with pytest.raises(InvalidPubAck) as caught:
        of.take(0.0)
    assert json.loads(caught.value.body) == body


def test_an_ordinary_acknowledgement_of_the_first_message_ends_the_batch_n074() -> None:
    of = batch()
    put(of, "s.a", "s.a")
    answer(of, {"stream": "S", "seq": 12})

    assert len(sent(of)) == 1
    with pytest.raises(BatchUnsupported, match="sequence 12") as caught:
        of.take(0.0)
    assert (caught.value.stream, caught.value.seq) == ("S", 12)
    known = batch()
    put(known, "s.a", "s.a", "s.a")
    answer(known)
    assert len(sent(known)) == 2


def test_a_refusal_of_the_size_names_what_was_sent_and_what_the_server_counts_n070() -> None:
    of = committed(eob=True)
    answer(
        of,
        {
            "error": {
                "code": 400,
                "err_code": 10199,
                "description": "atomic publish batch is too large: 3",
            },
            "stream": "S",
            "seq": 0,
        },
    )

    with pytest.raises(
        InvalidBatch,
        match=r"too large: 3 .*10199.* of 3 messages and an end marker, .* count as one more",
    ):
        of.take(0.0)


def test_one_message_above_the_limit_is_refused_before_it_is_sent_n070() -> None:
    of = batch(limit=3)
    put(of, "s.a", "s.a")
    answer(of)
    put(of, "s.a")
    with pytest.raises(InvalidConfig, match="at most 3"):
        of.offered(("s.a", b""), 0.0)

    assert len(sent(of)) == 2


def test_a_duplicate_id_is_a_typed_refusal_of_the_whole_n071() -> None:
    of = committed()
    answer(
        of,
        {
            "error": {
                "code": 400,
                "err_code": 10201,
                "description": "atomic publish batch contains duplicate message id",
            },
            "stream": "S",
            "seq": 0,
        },
    )

    with pytest.raises(InvalidBatch, match="contains duplicate message id") as caught:
        of.take(0.0)
    assert caught.value.err_code == 10201


def test_a_complete_batch_waits_for_a_link_no_longer_than_for_an_answer() -> None:
    of = begun(WholeBatch([("s.a", b"x")], timeout=2.0), up=False)
    assert of.deadline == 2.0
    of.ticked(2.0)

    with pytest.raises(RequestTimeout, match="nothing of it is stored") as caught:
        of.take(2.0)
    assert caught.value.sent is False
