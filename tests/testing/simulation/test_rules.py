"""Each rule that public faults have taught the oracle finds the fault that it was made for, put
back into the machines from outside.
"""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from jsproto.jetstream.api.requests import manage
from jsproto.jetstream.delivery.replay_check import ReplayWatch
from jsproto.jetstream.ordered.push_source import PushSource
from jsproto.jetstream.ordered.resume_point import ResumePoint
from jsproto.jetstream.pull.base import PullFeed
from jsproto.jetstream.push.base import PushFeed
from jsproto.testing.simulation import RuleBroken, Simulation, SimulationReport, drawn
from jsproto.testing.simulation.faults import Fault
from jsproto.testing.simulation.oracle import DeliveryRecord
from jsproto.testing.simulation.scenario import CALM
from jsproto.testing.simulation.trouble import FOREIGN

SEEDS = range(12)


def lived(seed: int, kind: str, *faults: Fault, **changes: object) -> SimulationReport:
    """A world of one worker and three messages a second, in which these are all the faults there
    are.
    """
    scenario = evolve(
        drawn(seed, 0.05, (kind,)),
        rate=3.0,
        burst=1,
        retention="limits",
        storms=((10.0, 90.0),),
        seconds=90.0 + CALM,
        faults=faults,
    )
    return Simulation(scenario=evolve(scenario, **changes)).run()


def broken(kind: str, *faults: Fault, **changes: object) -> str:
    """The rule that is broken in the first world where one is; empty if every rule holds in all of
    them.
    """
    found = (lived(seed, kind, *faults, **changes).failure for seed in SEEDS)
    failure = next((each for each in found if each is not None), None)
    assert failure is None or isinstance(failure, RuleBroken), failure
    return "" if failure is None else failure.rule


def fault(kind: str, at: float, span: float = 0.0, size: float = 0.0) -> Fault:
    return Fault(kind=kind, at=at, host=0, span=span, size=size)


# ------------------------------------------------------------------------------------------------ given up


@pytest.mark.parametrize("kind", ["fetch", "next"])
def test_what_was_at_hand_when_a_fetch_is_given_up_goes_back_at_once(monkeypatch, kind):
    assert not broken(kind)

    monkeypatch.setattr(PullFeed, "_abandon", lambda self: self.backlog.pop_run())

    assert broken(kind) == "lost"


# ------------------------------------------------------------------------------------------------ caught up


def test_who_reads_what_is_there_is_told_that_it_was_all_however_much_is_written(monkeypatch):
    assert not broken("read")

    unsure = ResumePoint.unsure
    monkeypatch.setattr(
        ResumePoint, "unsure", property(lambda self: unsure.fget(self) and not self._left)
    )

    assert broken("read") == "caught up"


def test_who_is_told_too_early_that_it_was_all_is_seen(monkeypatch):
    monkeypatch.setattr(
        ResumePoint, "unsure", property(lambda self: not self.caught_up and self._got > 0)
    )

    assert broken("read") == "caught up"


# ------------------------------------------------------------------------------------------------ deleted under the reader


def test_a_listener_whose_consumer_is_deleted_hears_that_it_is_silent(monkeypatch):
    away = fault("remove", 60.0, 5.0)
    assert not broken("push", away)

    monkeypatch.setattr(PushFeed, "watch", lambda self, now: None)
    monkeypatch.setattr(PushFeed, "_heartbeat", lambda self, block, now: None)

    assert broken("push", away) in {"silence", "progress"}


def test_a_listener_that_asks_nobody_in_the_silence_of_a_replay_is_seen(monkeypatch):
    """Before its first heartbeat nothing but a question tells that the consumer was deleted."""
    world = Simulation(scenario=drawn(17, 0.05, ("push",)))
    assert world.consumers["W0"]["replay_policy"] == "original"
    away = fault("remove", 60.0, 5.0)
    assert lived(17, "push", away).failure is None

    monkeypatch.setattr(ReplayWatch, "due", lambda self, since: None)

    assert lived(17, "push", away).failure.rule == "silence"


def test_an_ordered_reader_whose_consumer_is_deleted_goes_on_with_another_in_each_form_and_replay(
    monkeypatch,
):
    away = fault("remove", 60.0)
    assert not broken("ordered", away)

    monkeypatch.setattr(PushSource, "heartbeat", lambda self, block, port, now, holds: True)
    monkeypatch.setattr(PushSource, "begin", lambda self, subject, now: None)

    assert broken("ordered", away) in {"lost", "progress"}


def test_an_ordered_reader_that_asks_nobody_in_the_silence_of_a_replay_is_seen(monkeypatch):
    """Beside a steady writer a replay never ends, and no heartbeat comes."""
    monkeypatch.setattr(ReplayWatch, "due", lambda self, since: None)

    assert broken("ordered", fault("remove", 60.0)) in {"lost", "progress"}


# ------------------------------------------------------------------------------------------------ listings


@pytest.mark.parametrize("said", range(len(FOREIGN)))
def test_no_foreign_answer_is_taken_for_a_listing(said):
    usurped = fault("foreign", 12.0, 70.0, said / len(FOREIGN) + 0.01)

    assert not broken("list", usurped)


def test_an_answer_that_is_taken_for_an_empty_listing_is_seen(monkeypatch):
    monkeypatch.setattr(manage, "answer", lambda body, about, expected: {"total": 0})

    assert broken("list") == "outcome"


# ------------------------------------------------------------------------------------------------ consumers left behind


@pytest.mark.parametrize("rate", [0.3231, 1.0])
@pytest.mark.parametrize("size", [0.317, 0.33, 0.35])
def test_an_ordered_reader_deletes_its_consumers_as_fast_as_it_makes_them_where_answers_are_late(
    size, rate
):
    """Every answer takes about as long as this reader waits for one, so it begins anew all the
    time.
    """
    for at in (12.0, 15.0, 20.0):
        assert lived(10211, "ordered", fault("slow", at, 70.0, size), rate=rate).failure is None


# ------------------------------------------------------------------------------------------------ made anew while a replay holds a message


@pytest.mark.parametrize("version", ["2.9", "2.10", "2.15"])
def test_a_consumer_that_is_made_anew_passes_over_no_message_that_a_replay_holds_back(
    client_of, version
):
    """An old server tells a floor that lies behind that message."""
    world = Simulation(scenario=evolve(drawn(0, 0.05, ("fetch",)), version=version, faults=()))
    server, [name] = world.network.server, world.consumers
    server.request(f"CONSUMER.DELETE.S.{name}", None, 0.0)
    world.consumers[name]["replay_policy"] = "original"
    for moment in (0.0, 50.0):
        server.publish("s.side", b"x", moment)
    server.request(
        f"CONSUMER.DURABLE.CREATE.S.{name}",
        {"stream_name": "S", "config": world.consumers[name]},
        60.0,
    )
    client = client_of(server, now=60.0)
    client.say("SUB in.> 1\r\n")
    client.pull(consumer=name, batch=2, expires=10**10)
    [reply] = re.findall(r"\$JS\.ACK\.[^ ~]+", client.hear())
    client.pub(reply, "+ACK")
    world.trouble.do(fault("delete_consumer", 60.0))

    assert world.consumers[name]["opt_start_seq"] == 2


# ------------------------------------------------------------------------------------------------ books of a consumer that replays


def test_what_a_replay_has_not_come_to_yet_is_owed_at_the_end_of_a_later_calm():
    books = DeliveryRecord("W0")
    books.settled([b"1", b"2"], paced=True)

    assert books.owed == [b"1", b"2"]
    with pytest.raises(RuleBroken, match="W0 has not handed out"):
        books.settled([])
