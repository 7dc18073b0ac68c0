"""Leaders, peers and moves: what is asked, and how a new leader is waited for."""

from __future__ import annotations

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, InvalidSubject, RequestTimeout
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.errors import CannotServe, StreamNotFound
from jsproto.jetstream.api.requests import cluster as ops
from jsproto.jetstream.api.subjects import ApiSubjects
from tests.jetstream.api.asking import refusal, run

API = ApiSubjects()
DONE = {"success": True}
CANCELLED = {"type": "io.nats.jetstream.api.v1.stream_cancel_move_response"}
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


def all_led(leader: str | None) -> dict[str, object]:
    """What the leader of all says of itself, below its identity."""
    return {"server": {"name": leader or ""}, "data": {"meta_cluster": group(leader)}}


def test_the_leader_of_all_is_asked_of_the_servers_until_there_is_another() -> None:
    leader, asked = run(
        ops.step_down_meta(API),
        all_led("n1"),
        DONE,
        all_led("n1"),
        RequestTimeout("nobody leads"),
        all_led("n2"),
    )

    assert leader == "n2"
    assert asked[1] == ("$JS.API.META.LEADER.STEPDOWN", None)
    assert [each for number, each in enumerate(asked) if number != 1] == [
        ("$SYS.REQ.SERVER.PING.JSZ", {"leader_only": True})
    ] * 4


@pytest.mark.parametrize(
    "ask", [ops.evacuate_peer, lambda api, name, peer: ops.evacuate_server(api, peer)]
)
def test_a_server_that_does_not_know_to_evacuate_is_silent_and_the_error_says_since_when(
    ask,
) -> None:
    with pytest.raises(RequestTimeout, match=r"evacuate .* n1.*servers before 2\.15"):
        run(ask(API, "S", "n1"), RequestTimeout("silence"))


def test_the_old_leader_is_a_new_one_behind_a_moment_without_any() -> None:
    leader, _ = run(
        ops.step_down_stream(API, "S"), stream_led("n1"), DONE, stream_led(None), stream_led("n1")
    )

    assert leader == "n1"


def test_somebody_must_lead_before_he_can_step_down() -> None:
    leader, asked = run(
        ops.step_down_meta(API), RequestTimeout("nobody leads"), all_led("n1"), DONE, all_led("n2")
    )
    with pytest.raises(
        RequestTimeout, match="meta leader step-down: expected a new leader in time"
    ):
        run(ops.step_down_meta(API, timeout=0.2), RequestTimeout("nobody leads"))

    assert leader == "n2"
    assert [subject for subject, _ in asked].index("$JS.API.META.LEADER.STEPDOWN") == 2


def test_who_is_alone_leads_again() -> None:
    leader, _ = run(
        ops.step_down_stream(API, "S"),
        stream_led("n1", alone=True),
        DONE,
        stream_led("n1", alone=True),
    )

    assert leader == "n1"


def test_nobody_is_waited_for_if_that_is_not_wished() -> None:
    assert run(ops.step_down_stream(API, "S", wait=False), DONE) == (
        "",
        [("$JS.API.STREAM.LEADER.STEPDOWN.S", None)],
    )


def test_an_election_without_an_end_is_an_error_in_time() -> None:
    with pytest.raises(RequestTimeout, match=r"stream S: expected a new leader in time"):
        run(
            ops.step_down_stream(API, "S", timeout=0.5),
            stream_led("n1"),
            DONE,
            *[stream_led(None)] * 3,
        )


def test_a_server_on_its_own_says_so() -> None:
    with pytest.raises(CannotServe, match="stream leader step-down, stream S"):
        run(
            ops.step_down_stream(API, "S", wait=False),
            refusal(503, 10010, "clustering support required"),
        )


@pytest.mark.parametrize(
    ("steps", "answer", "subject", "body"),
    [
        (lambda: ops.step_down_meta(API, wait=False), DONE, "META.LEADER.STEPDOWN", None),
        (
            lambda: ops.step_down_meta(API, placement=N2, wait=False),
            DONE,
            "META.LEADER.STEPDOWN",
            {"placement": {"preferred": "n2"}},
        ),
        (lambda: ops.remove_peer(API, "S", "n1"), DONE, "STREAM.PEER.REMOVE.S", {"peer": "n1"}),
        (lambda: ops.evacuate_peer(API, "S", "n1"), DONE, "STREAM.PEER.EVACUATE.S", {"peer": "n1"}),
        (lambda: ops.cancel_stream_move(API, "S"), CANCELLED, "STREAM.CANCEL_MOVE.S", None),
        (lambda: ops.evacuate_server(API, "n1"), DONE, "SERVER.EVACUATE", {"peer": "n1"}),
        (lambda: ops.remove_server(API, "n1"), DONE, "SERVER.REMOVE", {"peer": "n1"}),
        (
            lambda: ops.remove_server(API, peer_id="abc"),
            DONE,
            "SERVER.REMOVE",
            {"peer": "", "peer_id": "abc"},
        ),
        (
            lambda: ops.move_stream(API, "A", "S", server="n1", tags=["ssd"]),
            {"config": {"name": "S"}},
            "ACCOUNT.STREAM.MOVE.A.S",
            {"server": "n1", "tags": ["ssd"]},
        ),
        (
            lambda: ops.cancel_move(API, "A", "S"),
            CANCELLED,
            "ACCOUNT.STREAM.CANCEL_MOVE.A.S",
            {},
        ),
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
        (lambda: ops.evacuate_peer(API, "S", ""), InvalidConfig),
        (lambda: ops.evacuate_server(API), InvalidConfig),
        (lambda: ops.remove_server(API), InvalidConfig),
        (lambda: ops.purge_account(API, "a.b"), InvalidSubject),
        (lambda: ops.purge_account(API, "*"), InvalidSubject),
        (lambda: ops.purge_account(API, "a b"), InvalidSubject),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    steps, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(steps())


def test_a_purge_that_did_not_begin_is_an_error() -> None:
    with pytest.raises(InvalidResponse, match="initiated"):
        run(ops.purge_account(API, "A"), {"initiated": False})


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(StreamNotFound, match="stream S"):
        run(ops.move_stream(API, "A", "S"), refusal(404, 10059))
