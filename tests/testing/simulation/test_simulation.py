"""Simulated worlds in short: they hold, they are the same each time, and whatever breaks a rule is
found.

The sabotage is done to the machines from outside; `tests/long/mutants.py` does it to their text.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from jsproto.core.connection.connection import Connection
from jsproto.jetstream.credit import Credit
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.fetch import Fetch
from jsproto.jetstream.pull.pending_pulls import PendingPulls
from jsproto.jetstream.status import EndReason
from jsproto.testing.network import Restless
from jsproto.testing.simserver.consumers.push_consumers import PushConsumer
from jsproto.testing.simulation import RuleBroken, Simulation, SimulationReport, drawn, measured
from jsproto.testing.simulation.faults import Fault
from jsproto.testing.simulation.scenario import CALM


def lived(seed: int, *kinds: str, hours: float = 0.05) -> SimulationReport:
    scenario = drawn(seed, hours, kinds)
    return Simulation(scenario=evolve(scenario, rate=3.0, burst=3)).run()


def failure(*kinds: str) -> Exception | None:
    """What goes wrong in the first world where something does."""
    return next(
        (found for seed in range(8) if (found := lived(seed, *kinds).failure) is not None), None
    )


def broken(*kinds: str) -> str:
    """The rule that is broken there."""
    found = failure(*kinds)
    assert isinstance(found, (RuleBroken, Restless))
    return found.rule if isinstance(found, RuleBroken) else "rest"


@pytest.mark.parametrize("seed", range(6))
def test_the_rules_hold_in_a_world_of_any_seed(seed):
    report = Simulation(seed, hours=0.05).run()

    assert report.failure is None
    assert report.seconds >= 180.0
    assert report.faults > 0


@pytest.mark.parametrize(
    "kind", ["consume", "fetch", "next", "push", "window", "ordered", "request"]
)
def test_the_rules_hold_for_each_workload_alone(kind):
    assert lived(7, kind).failure is None


def test_one_seed_is_one_run_byte_for_byte():
    one, other, third = Simulation(5).run(), Simulation(5).run(), Simulation(6).run()

    assert one == other
    assert one.digest != third.digest


def test_a_stream_that_was_deleted_and_comes_back_with_the_disk_owes_what_is_new_in_it():
    """Found by ``jsproto simulate --measure --seeds 6 --hours 16``: the oracle wanted all of it to
    be handed out again.
    """
    before = Fault(kind="delete_stream", at=230.0, host=0, span=0.1, size=0.0)
    after = Fault(kind="power", at=240.0, host=0, span=1.0, size=15.0)
    scenario = evolve(
        measured(6, 0.05),
        rate=1.0,
        burst=1,
        storms=((10.0, 70.0), (215.0, 260.0)),
        seconds=260.0 + CALM,
        faults=(before, after),
    )
    report = Simulation(scenario=scenario).run()

    assert (report.failure, report.faults) == (None, 2)


@pytest.mark.parametrize("seed", [11, 17])
def test_what_an_overdue_pull_owed_is_not_taken_for_that_of_the_next(seed):
    """Found by ``jsproto simulate --seeds 1822 --hours 8.8 --works ordered``: 10 were believed to
    be owed, and 14 were.
    """
    scenario = evolve(
        drawn(seed, 0.05, ("ordered",)),
        rate=2.2,
        burst=1,
        size=60,
        retention="limits",
        storms=((10.0, 60.0),),
        seconds=60.0 + CALM,
        faults=(Fault(kind="partition", at=56.0, host=0, span=4.0453, size=0.0),),
    )
    report = Simulation(scenario=scenario).run()

    assert (report.failure, report.faults) == (None, 1)


@pytest.mark.parametrize("kind", ["fetch", "next"])
def test_nobody_is_late_while_the_time_of_a_connection_stands_still(kind):
    """Found by ``jsproto simulate --seeds 94 --hours 8.8``: a clock leapt back, and the oracle went
    by it and not by the connection.
    """
    moments = range(12, 120, 6)
    leaps = (Fault(kind="back", at=float(at), host=0, span=0.0, size=4.9) for at in moments)
    silences = (Fault(kind="deaf", at=at + 1.0, host=0, span=5.0, size=0.0) for at in moments)
    faults = tuple(sorted((*leaps, *silences), key=lambda fault: fault.at))
    scenario = evolve(
        drawn(7, 0.05, (kind,)), storms=((10.0, 130.0),), seconds=130.0 + CALM, faults=faults
    )
    report = Simulation(scenario=scenario).run()

    assert (report.failure, report.faults) == (None, 2 * len(moments))


def tried(seed: int, kind: str, *faults: Fault) -> Simulation:
    """A world of one reader and ten messages a second, in which these are all the faults there are."""
    return Simulation(
        scenario=evolve(
            drawn(seed, 0.05, (kind,)),
            version="2.15",
            rate=10.0,
            burst=1,
            retention="limits",
            storms=((10.0, 90.0),),
            seconds=90.0 + CALM,
            faults=faults,
        )
    )


@pytest.mark.parametrize("kind", ["consume", "fetch", "push"])
def test_a_consumer_that_is_made_anew_on_a_disk_gone_back_begins_where_that_ends(kind):
    """Found by ``jsproto simulate --seeds 1929 --hours 8.8 --works push``: it was made to begin
    behind what the disk had lost.
    """
    world = tried(
        1,
        kind,
        Fault(kind="delete_consumer", at=20.0, host=0, span=1.0, size=0.0),
        Fault(kind="delete_consumer", at=60.0, host=0, span=0.5, size=0.0),
        Fault(kind="power", at=70.0, host=0, span=2.0, size=49.5),
    )
    report = world.run()

    assert (report.failure, report.faults) == (None, 3)


def test_what_an_ack_of_a_deleted_stream_has_settled_is_owed_no_more():
    """Found by ``jsproto simulate --seeds 1969 --hours 8.8 --works push``: acks were on their way
    while the stream was made anew.
    """
    world = tried(
        1,
        "push",
        Fault(kind="delete_stream", at=20.0, host=0, span=0.1, size=0.0),
        Fault(kind="mute", at=24.0, host=0, span=10.0, size=0.0),
        Fault(kind="delete_stream", at=26.0, host=0, span=0.1, size=0.0),
    )
    report = world.run()

    assert (report.failure, report.faults) == (None, 3)
    assert len(world.truth.server.mistaken) > 5


def test_what_is_on_the_lines_is_told():
    records: list[object] = []
    Simulation(3, hours=0.01, tap=records.append).run()

    assert len(records) > 100


# ------------------------------------------------------------------------------------------------ sabotage


def test_a_message_that_is_swallowed_is_missed(monkeypatch):
    kept = OrderedConsumer.take_all
    count = iter(range(10**9))

    def swallows(self, now):
        items = kept(self, now)
        return items[1:] if isinstance(items, list) and next(count) % 20 == 19 else items

    monkeypatch.setattr(OrderedConsumer, "take_all", swallows)

    assert broken("ordered") in {"order", "lost"}


@pytest.mark.parametrize(
    ("machine", "workload", "rule"),
    [(Consume, "consume", "twice"), (PublishWindow, "window", "outcome")],
)
def test_what_is_handed_out_twice_is_seen(monkeypatch, machine, workload, rule):
    kept = machine.take_all

    def repeats(self, now):
        items = kept(self, now)
        return items + items[:1] if isinstance(items, list) else items

    monkeypatch.setattr(machine, "take_all", repeats)

    assert broken(workload) == rule


def test_a_counter_that_is_not_reduced_is_seen(monkeypatch):
    monkeypatch.setattr(Credit, "received", lambda self, amount: None)

    assert broken("consume") in {"counters", "progress"}


def test_an_end_of_a_pull_that_is_waited_for_in_vain_is_seen(monkeypatch):
    kept = PendingPulls.credit
    monkeypatch.setattr(
        PendingPulls, "credit", lambda self, count, size=0: kept(self, count - (count > 2), size)
    )

    assert broken("ordered") == "silence"


def test_heartbeats_that_do_not_come_in_a_calm_are_seen(monkeypatch):
    def mute(self, now):
        self._beat_at = now + self._heartbeat

    monkeypatch.setattr(PushConsumer, "_beat", mute)

    assert broken("push") == "silence"


def test_an_ack_that_is_never_written_is_seen(monkeypatch):
    def nothing(self, write):
        return True

    monkeypatch.setattr(JsMessage, "settle_by", nothing)

    assert broken("consume") == "progress"


def test_a_fetch_that_does_not_end_in_time_is_seen(monkeypatch):
    monkeypatch.setattr(Fetch, "ticked", lambda self, now: None)

    assert broken("fetch") in {"outcome", "rest"}


def test_a_fetch_that_ends_for_no_reason_is_seen(monkeypatch):
    kept = Fetch._finish

    def wrong(self, reason, *args, **options):
        kept(self, EndReason.FATAL if reason is EndReason.EXPIRED else reason, *args, **options)

    monkeypatch.setattr(Fetch, "_finish", wrong)

    assert broken("fetch") == "outcome"


def test_a_client_that_leaves_a_timer_behind_is_seen(monkeypatch):
    kept = Connection.next_deadline
    monkeypatch.setattr(
        Connection, "next_deadline", lambda self: 1e12 if self.closed else kept(self)
    )

    assert broken("request") == "residue"


def test_an_input_that_raises_is_a_failure_like_any_other(monkeypatch):
    def raises(self, now):
        raise ZeroDivisionError

    monkeypatch.setattr(Consume, "link_up", raises)

    assert isinstance(failure("consume"), ZeroDivisionError)
