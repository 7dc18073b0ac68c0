"""Leaders, peers and moves: what is asked, and how a new leader is waited for."""

from __future__ import annotations

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, InvalidSubject, RequestTimeout
from jsproto.jetstream.api import operations as ops
from jsproto.jetstream.api.errors import StreamNotFound, Unavailable
from jsproto.jetstream.api.stream import Placement
from jsproto.jetstream.api.subjects import ApiSubjects
from tests.jetstream.api.asking import refusal, run

API = ApiSubjects()
DONE = {"success": True}
N2 = Placement(preferred="n2")


def group(leader: str | None, *, alone: bool = False) -> dict[str, object]:
    return {"name": "C1", "leader": leader, "replicas": [] if alone else [{"name": "other"}]}


def stream_led(leader: str | None, *, alone: bool = False) -> dict[str, object]:
    return {"config": {"name": "S"}, "cluster": group(leader, alone=alone)}


def consumer_led(leader: str | None) -> dict[str, object]:
    return {"stream_name": "S", "name": "C", "config": {}, "cluster": group(leader)}


def test_a_new_leader_is_waited_for_through_the_election() -> None:
    leader, asked = run(
        ops.step_down_stream(API, "S"),
        stream_led("n1"),
        DONE,
        stream_led("n1"),
        stream_led(None),
        refusal(503, 10008),
        RequestTimeout("nobody leads"),
        stream_led("n3"),
    )

    assert leader == "n3"
    assert asked[1] == ("$JS.API.STREAM.LEADER.STEPDOWN.S", None)
    assert [subject for subject, _ in asked[2:]] == ["$JS.API.STREAM.INFO.S"] * 5


def test_the_one_that_was_wished_for_may_lead_already() -> None:
    leader, asked = run(
        ops.step_down_consumer(API, "S", "C", placement=N2),
        consumer_led("n2"),
        DONE,
        consumer_led("n1"),
        consumer_led("n2"),
    )

    assert leader == "n2"
    assert asked[1] == ("$JS.API.CONSUMER.LEADER.STEPDOWN.S.C", {"placement": {"preferred": "n2"}})


def test_who_is_alone_leads_again() -> None:
    leader, _ = run(
        ops.step_down_stream(API, "S"), stream_led("n1", alone=True), DONE, stream_led("n1", alone=True)
    )

    assert leader == "n1"


def test_nobody_is_waited_for_if_that_is_not_wished() -> None:
    assert run(ops.step_down_stream(API, "S", wait=False), DONE) == (
        "",
        [("$JS.API.STREAM.LEADER.STEPDOWN.S", None)],
    )


def test_an_election_without_an_end_is_an_error_in_time() -> None:
    with pytest.raises(RequestTimeout, match=r"new leader within 0\.5 s"):
        run(
            ops.step_down_stream(API, "S", timeout=0.5),
            stream_led("n1"),
            DONE,
            *[stream_led(None)] * 3,
        )


def test_a_server_on_its_own_says_so() -> None:
    with pytest.raises(Unavailable, match="stream leader step-down, stream S"):
        run(ops.step_down_stream(API, "S", wait=False), refusal(503, 10010, "clustering support required"))


@pytest.mark.parametrize(
    ("steps", "answer", "subject", "body"),
    [
        (lambda: ops.step_down_meta(API), DONE, "META.LEADER.STEPDOWN", None),
        (
            lambda: ops.step_down_meta(API, placement=N2),
            DONE,
            "META.LEADER.STEPDOWN",
            {"placement": {"preferred": "n2"}},
        ),
        (lambda: ops.remove_peer(API, "S", "n1"), DONE, "STREAM.PEER.REMOVE.S", {"peer": "n1"}),
        (lambda: ops.remove_server(API, "n1"), DONE, "SERVER.REMOVE", {"peer": "n1"}),
        (
            lambda: ops.remove_server(API, peer_id="abc"),
            DONE,
            "SERVER.REMOVE",
            {"peer": "", "peer_id": "abc"},
        ),
        (
            lambda: ops.move_stream(API, "A", "S", server="n1", tags=["ssd"]),
            {},
            "ACCOUNT.STREAM.MOVE.A.S",
            {"server": "n1", "tags": ["ssd"]},
        ),
        (lambda: ops.cancel_move(API, "A", "S"), {}, "ACCOUNT.STREAM.CANCEL_MOVE.A.S", {}),
        (lambda: ops.purge_account(API, "A"), {"initiated": True}, "ACCOUNT.PURGE.A", None),
    ],
)
def test_each_request_has_its_subject_and_body(steps, answer, subject: str, body: object) -> None:
    _, asked = run(steps(), answer)

    assert asked == [(f"$JS.API.{subject}", body)]


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        (lambda: ops.remove_peer(API, "S", ""), InvalidConfig),
        (lambda: ops.remove_server(API), InvalidConfig),
        (lambda: ops.purge_account(API, "a.b"), InvalidSubject),
        (lambda: ops.purge_account(API, "*"), InvalidSubject),
        (lambda: ops.purge_account(API, "a b"), InvalidSubject),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(steps, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(steps())


def test_a_purge_that_did_not_begin_is_an_error() -> None:
    with pytest.raises(InvalidResponse, match="initiated"):
        run(ops.purge_account(API, "A"), {"initiated": False})


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(StreamNotFound, match="stream S"):
        run(ops.move_stream(API, "A", "S"), refusal(404, 10059))
