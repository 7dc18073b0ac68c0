"""Offsets: what is written into a checkpoint, and the range between two."""

import json

import pytest
from attrs import evolve

from jsproto_spark.errors import ChangedQuery
from jsproto_spark.read.offsets import Offset, asked_for, meaning, same_query, unread


def offset(seq=1, init=1, created="2026-01-01T00:00:00Z", stream="S", what="w"):
    return Offset(stream=stream, created=created, seq=seq, init=init, what=what)


def test_an_offset_survives_the_checkpoint():
    made = offset(seq=17, init=3)

    assert made == Offset.parse(json.loads(json.dumps(made.to_json())))


@pytest.mark.parametrize(
    "data",
    [{}, {"partition-1": 0}, {**offset().to_json(), "v": 2}, {**offset().to_json(), "seq": "1"}],
    ids=["empty", "another source", "newer", "wrong type"],
)
def test_what_is_no_offset_of_ours_is_refused(data):
    with pytest.raises(ChangedQuery, match="expected an offset of version 1"):
        Offset.parse(data)


def test_the_range_goes_from_one_to_the_other():
    assert (11, 21) == unread(offset(seq=11), offset(seq=21))


def test_a_crash_in_the_first_batch_does_not_move_its_beginning():
    # Trap 4.1: the new process begins at the new "latest", behind the end that is logged. A
    # naive range is [1801, 1501).
    logged = offset(seq=1501, init=1001)
    anew = offset(seq=1801, init=1801)

    assert (1001, 1501) == unread(anew, logged)


def test_another_incarnation_is_read_from_its_own_beginning():
    # Trap 4.5: by sequence alone the query would go on in the middle of the new stream.
    before = offset(seq=900)
    after = offset(seq=51, init=1, created="2026-02-02T00:00:00Z")

    assert (1, 51) == unread(before, after)


def test_the_digest_knows_which_messages_are_meant_and_not_the_order_of_subjects():
    one = meaning("S", ("a", "b"), None, None)

    assert one == meaning("S", ("b", "a"), None, None)
    assert (
        len(
            {
                one,
                meaning("T", ("a", "b"), None, None),
                meaning("S", ("a",), None, None),
                meaning("S", ("a", "b"), "hub", None),
            }
        )
        == 4
    )


def test_a_restart_with_other_messages_is_refused_unless_it_is_allowed():
    same_query(offset(what="w"), "S", "w", allowed=False)
    same_query(offset(what="v"), "S", "w", allowed=True)

    with pytest.raises(ChangedQuery, match="allowOptionChange"):
        same_query(offset(what="v"), "S", "w", allowed=False)


def test_what_differs_is_named_as_far_as_the_checkpoint_knows_it():
    made = evolve(offset(what="v", stream="S"), asked=asked_for("S", ("b", "a"), None, None))
    again = Offset.parse(json.loads(json.dumps(made.to_json())))

    with pytest.raises(ChangedQuery, match="subjects was 'a, b', is 'a'; allow it"):
        same_query(again, "S", "w", allowed=False, asked=asked_for("S", ("a",), None, None))
    with pytest.raises(
        ChangedQuery, match="stream was 'S', is 'T'; domain was '', is 'hub'; allow it"
    ):
        same_query(again, "T", "w", allowed=False, asked=asked_for("T", ("a", "b"), "hub", None))
    older = offset(what="v", stream="S")
    with pytest.raises(ChangedQuery, match="stream was 'S', is 'T'; allow it"):
        same_query(older, "T", "w", allowed=False, asked=asked_for("T", (), None, None))
    with pytest.raises(ChangedQuery, match="the checkpoint does not contain which of them differs"):
        same_query(older, "S", "w", allowed=False, asked=asked_for("S", (), None, None))


def test_an_offset_says_who_releases_and_leaves_out_what_it_does_not_know():
    assert offset() == Offset.parse(offset().to_json())
    assert {"v", "stream", "created", "seq", "init", "what"} == set(offset().to_json())
    made = evolve(offset(), owner="me")
    assert "me" == Offset.parse(made.to_json()).owner
    assert "" == Offset.parse({**made.to_json(), "owner": 1}).owner
