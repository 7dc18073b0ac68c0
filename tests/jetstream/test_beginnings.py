"""What push subscriptions and ordered consumers know before anything has happened: it is written
down, since a snapshot is a format.
"""

from __future__ import annotations

from collections import deque

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.ordered.consumer import SourceKind
from jsproto.jetstream.ordered.pull_source import PullSource
from jsproto.jetstream.ordered.push_source import PushSource
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.push.flow_control import FlowControl, FlowMark

FLOW = {
    "_doubted": False,
    "_sure": False,
    "answered": "",
    "answers": 0,
    "behind": 0,
    "marks": deque(),
}
SCRIPT = {"timers": {"v": 1, "armed": {}}, "started": False, "history": [], "token": 0}
RUNS = {"v": 1, "waiting": deque()}
REPLAY = {
    "_asked": 0.0,
    "_name": "",
    "_period": 0.0,
    "_stream": "",
    "gone": False,
    "reached": 0,
    "script": None,
    "unserved": 0,
}


def exact(data: object) -> str:
    """Text that tells 0 from False, and that does not depend on the order of names."""
    if isinstance(data, dict):
        return (
            "{"
            + ", ".join(f"{name}: {exact(data[name])}" for name in sorted(data) if name != "v")
            + "}"
        )
    return repr(data)


def without(data: dict[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in data.items() if name not in names}


def test_a_new_push_subscription():
    expected = {
        "_auto": False,
        "_barred": False,
        "_bounded": True,
        "_bounds": {"_bytes": 0, "_came": 0, "_runs": deque()},
        "_by_flow": False,
        "_careful": False,
        "_create": SCRIPT,
        "_deliver": "",
        "_done": None,
        "_doubt": 0,
        "_early": RUNS,
        "_early_bounds": {"_bytes": 0, "_came": 0, "_runs": deque()},
        "_fence": 0,
        "_flushed": False,
        "_guard": {"expected": 0},
        "_locate": SCRIPT,
        "_mute": False,
        "_overflowing": False,
        "_quiet": False,
        "_remove": SCRIPT,
        "_replays": False,
        "_stopping": False,
        "_watching": False,
        "backlog": RUNS,
        "dropped": 0,
        "ended": False,
        "error": None,
        "flow": FLOW,
        "held": [],
        "take_blocked": False,
        "owed": [],
        "position": None,
        "put_blocked": False,
        "replay": REPLAY,
        "returned": 0,
        "served": True,
        "state": "NEW",
        "strays": 0,
    }
    sub = JetStream().subscribe("s.a")

    assert exact(without(sub.snapshot(), "port", "liveness")) == exact(expected)
    assert exact((sub._auto, sub._careful)) == exact((False, False))


def test_a_subscription_that_acknowledges_by_itself_is_careful_from_the_beginning():
    sub = JetStream().subscribe("s.a", auto_ack=True)

    assert exact((sub._auto, sub._careful)) == exact((True, True))


@pytest.mark.parametrize("form", list(SourceKind))
def test_a_new_ordered_consumer(form):
    expected = {
        "_items": deque(),
        "_newest": False,
        "_overdue": False,
        "_pace": {"failures": 0, "not_before": None},
        "_proven": False,
        "_short_links": {"count": 0},
        "_timers": {"armed": {}},
        "backlog": RUNS,
        "census": {
            "_last": 0,
            "_not_before": None,
            "blind": False,
            "missing": None,
            "script": None,
            "seen": set(),
        },
        "ended": False,
        "error": None,
        "take_blocked": False,
        "incarnation": {
            "_deliver": "",
            "_generation": 0,
            "_start": ("all", None, None),
            "count": 0,
            "filter": "",
            "made": False,
            "name": "",
            "script": None,
            "since": 0.0,
        },
        "leftovers": {"_asked": {}, "given_up": [], "names": [], "script": None},
        "order": {"consumer": "", "guard": {"expected": 1}},
        "position": {
            "_anchor": None,
            "_created": False,
            "_due": -1,
            "_got": 0,
            "_left": 0,
            "_mark": 0,
            "caught_up": False,
            "last": 0,
        },
        "reason": None,
        "put_blocked": False,
        "repeated": 0,
        "replay": REPLAY,
        "resets": 0,
        "served": True,
        "state": "NEW",
        "strays": 0,
        "view": {},
    }
    seen = JetStream().ordered_consumer("S", form=form).snapshot()

    assert exact(without(seen, "port", "intake")) == exact(expected)
    intake = {"_replaying": False, "deliver": "", "subject": ""}
    if form is SourceKind.PUSH:
        intake |= {"_doubt": 0, "flow": FLOW}
    else:
        engine = {
            "_expires": 30.0,
            "backoff": {"failures": 0, "not_before": None},
            "retry_at": None,
        }
        assert exact(without(seen["intake"]["engine"], "credit", "ledger")) == exact(engine)
    assert exact(without(seen["intake"], "liveness", "engine")) == exact(intake)


def test_flow_control_that_was_forgotten_knows_how_many_answers_it_gave_and_nothing_else():
    flow = FlowControl()
    for _ in range(2):
        flow.met("a")
        flow.answer(flow.passed().subject)
        doubts = [flow.met("a"), flow.met("a")]
        flow.assured()
        assert doubts == [FlowMark.DOUBTED, FlowMark.KNOWN]
        assert exact((flow._doubted, flow._sure)) == exact((True, True))
    flow.forget()

    assert exact(flow.snapshot()) == exact({**FLOW, "answers": 2})
    flow.met("b")
    flow.answer(flow.passed().subject)

    assert exact(flow.snapshot()) == exact({**FLOW, "answers": 3, "answered": "b"})


@pytest.mark.parametrize("intake", [PushSource, PullSource])
def test_an_intake_watches_the_heartbeats_from_the_first_if_the_server_keeps_the_pace(intake):
    options = ConsumeOptions(idle_heartbeat=2.0, heartbeat_factor=4.0)
    watched, paced = (intake(FrameQueue(), options, paced=paced) for paced in (False, True))
    port = Port()
    port.subscribe()
    for each in (watched, paced):
        each.prepare(port)
        each.begin("$JS.API.CONSUMER.MSG.NEXT.S.C", 1.0)
        each.ask(port, 1.0)

    assert (watched.liveness.deadline, paced.liveness.deadline) == (9.0, None)
    for each in (watched, paced):
        each.heartbeat(b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", port, 5.0)
    assert (watched.liveness.deadline, paced.liveness.deadline) == (9.0, 13.0)
