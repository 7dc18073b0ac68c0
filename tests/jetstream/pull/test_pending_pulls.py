from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.pull import pending_pulls as module
from jsproto.jetstream.pull.pending_pulls import PendingPulls
from jsproto.jetstream.pull.request import Pull
from jsproto.jetstream.status import EndReason, Remainder


def ledger_of(*batches: int, max_bytes: int = 0) -> PendingPulls:
    ledger = PendingPulls()
    for number, batch in enumerate(batches, 1):
        ledger.issue(Pull(f"p{number}", batch, max_bytes, float(number), number + 30.0))
    return ledger


def owed(ledger: PendingPulls) -> dict[str, int]:
    return {pull.token: pull.owed for pull in ledger.open.values()}


def test_the_oldest_open_pull_is_credited_first():
    ledger = ledger_of(3, 3)
    ledger.credit(4)

    assert owed(ledger) == {"p2": 2}
    assert [pull.end for pull in ledger.filled.values()] == [EndReason.FILLED]


def test_more_than_all_owe_changes_nothing_more():
    ledger = ledger_of(2)

    assert ledger.credit(5) == (0, 0)
    assert (owed(ledger), ledger.counts) == ({}, {EndReason.FILLED: 1})
    assert ledger.credit(1) == (0, 0)


def test_a_status_settles_its_own_pull_by_the_numbers_it_carries():
    ledger = ledger_of(10)
    ledger.credit(3)
    settled = ledger.settle(ledger.open["p1"], EndReason.EXPIRED, Remainder.OWED, (7, 0))

    assert (settled.messages, settled.pull.got, settled.pull.end) == (7, 3, EndReason.EXPIRED)
    assert (owed(ledger), ledger.find("p1")) == ({}, None)


def test_b029_a_status_without_numbers_settles_what_is_known():
    refused = ledger_of(10)
    partial = ledger_of(5)
    partial.credit(2)

    assert (
        refused.settle(refused.open["p1"], EndReason.REFUSED, Remainder.WHOLE, None).messages == 10
    )
    assert (
        partial.settle(partial.open["p1"], EndReason.NO_MESSAGES, Remainder.OWED, None).messages
        == 3
    )


def test_what_was_credited_to_the_wrong_pull_goes_to_the_others():
    ledger = ledger_of(5, 5)
    ledger.credit(3)  # to p1; in truth p1 got two and p2 one
    settled = ledger.settle(ledger.open["p1"], EndReason.EXPIRED, Remainder.OWED, (3, 0))

    assert settled.messages == 3
    assert owed(ledger) == {"p2": 4}


def test_a_pull_taken_for_filled_may_still_be_told_how_it_ended():
    ledger = ledger_of(5, 5)
    ledger.credit(5)  # taken for p1's; in truth it got three
    pull = ledger.find("p1")
    assert pull is not None
    settled = ledger.settle(pull, EndReason.EXPIRED, Remainder.OWED, (2, 0))

    assert settled.messages == 2
    assert owed(ledger) == {"p2": 3}
    assert ledger.find("p1") is None


def test_a_pull_taken_for_filled_is_open_again_when_its_messages_were_somebody_elses():
    ledger = ledger_of(5, 5)
    ledger.credit(5)  # taken for p1's; in truth p2 got two of them
    settled = ledger.settle(ledger.open["p2"], EndReason.PIN_LOST, Remainder.OWED, (3, 0))

    assert settled.messages == 3
    assert owed(ledger) == {"p1": 2}


def test_credit_taken_back_comes_from_those_that_had_some():
    ledger = ledger_of(5, 5, 5)
    ledger.credit(7)  # p1 full, p2 has two
    settled = ledger.settle(ledger.open["p3"], EndReason.EXPIRED, Remainder.OWED, (2, 0))

    assert settled.messages == 2
    assert owed(ledger) == {"p1": 1, "p2": 5}


def test_credit_that_nobody_had_can_not_be_taken_back():
    ledger = ledger_of(5, 5)
    settled = ledger.settle(ledger.open["p1"], EndReason.EXPIRED, Remainder.OWED, (3, 0))

    assert (settled.messages, owed(ledger)) == (3, {"p2": 5})


def test_a_pull_that_is_full_all_the_same_is_not_opened_again_and_leaves_over_more():
    """Found by ``jsproto simulate --seeds 1012 --hours 8.8 --works consume``: it was overdue at
    once, and all pulls were made anew.
    """
    ledger = ledger_of(1000, 1000, max_bytes=300)
    assert ledger.credit(3, 400) == (997, 0)  # p1 has got all its bytes, p2 100
    settled = ledger.settle(ledger.open["p2"], EndReason.EXPIRED, Remainder.OWED, (998, 200))

    assert (settled.messages, settled.size) == (998 + 2, 200)
    assert (ledger.open, [pull.got for pull in ledger.filled.values()]) == ({}, [1])


def test_a_pull_that_is_opened_again_owes_what_it_left_over():
    ledger = ledger_of(4, 4, max_bytes=100)
    assert ledger.credit(4, 40) == (0, 60)  # credited to p1; in truth p2 got two of them
    settled = ledger.settle(ledger.open["p2"], EndReason.PIN_LOST, Remainder.OWED, (2, 80))

    assert (settled.messages, settled.size) == (2, 80 - 60)
    assert [(pull.owed, pull.owed_bytes) for pull in ledger.open.values()] == [(2, 80)]


def test_bytes_are_credited_until_they_are_used_up_and_then_to_the_next():
    ledger = ledger_of(1000, 1000, max_bytes=300)
    left = ledger.credit(2, 242)

    assert left == (0, 0)
    assert [pull.owed_bytes for pull in ledger.open.values()] == [58, 300]
    assert ledger.credit(1, 100) == (997, 0)
    assert [pull.owed_bytes for pull in ledger.open.values()] == [258]
    assert [pull.end for pull in ledger.filled.values()] == [EndReason.BYTES_SPENT]


def test_a_batch_that_is_full_leaves_its_bytes_over():
    ledger = ledger_of(2, max_bytes=1000)

    assert ledger.credit(2, 400) == (0, 600)
    assert ledger.counts == {EndReason.FILLED: 1}


def test_what_a_filled_pull_left_over_is_not_settled_twice():
    ledger = ledger_of(2, 2, max_bytes=1000)
    ledger.credit(2, 400)
    pull = ledger.find("p1")
    assert pull is not None
    settled = ledger.settle(pull, EndReason.FILLED, Remainder.OWED, (0, 600))

    assert (settled.messages, settled.size) == (0, 0)


def test_a_correction_that_fills_another_pull_settles_what_that_leaves_over():
    ledger = ledger_of(2, 2, max_bytes=1000)
    ledger.credit(2, 400)  # credited to p1; in truth both were p2's
    pull = ledger.find("p1")
    assert pull is not None
    settled = ledger.settle(pull, EndReason.EXPIRED, Remainder.WHOLE, None)

    # p1: two messages that never came (its bytes were settled with it but for 400); p2 is full and
    # leaves 600 bytes.
    assert (settled.messages, settled.size) == (2, 400 + 600)
    assert owed(ledger) == {}


def test_bytes_taken_back_open_a_pull_again():
    ledger = ledger_of(1000, 1000, max_bytes=300)
    ledger.credit(2, 300)
    settled = ledger.settle(ledger.open["p2"], EndReason.BYTES_SPENT, Remainder.OWED, (999, 100))

    assert settled.size == 100
    assert [pull.owed_bytes for pull in ledger.open.values()] == [200]


def test_everything_can_end_at_once():
    ledger = ledger_of(5, 5)
    ledger.credit(6)
    ended = ledger.end_all(EndReason.DISCONNECTED)

    assert [pull.token for pull in ended] == ["p2"]
    assert (ledger.find("p1"), ledger.find("p2")) == (None, None)
    assert ledger.counts == {EndReason.FILLED: 1, EndReason.DISCONNECTED: 1}


def test_a_pull_that_nobody_ends_is_overdue_at_its_local_deadline():
    ledger = ledger_of(5, 5)
    ledger.issue(Pull("endless", 1))

    assert ledger.deadline == 31.0
    assert [ledger.overdue(now) for now in (30.9, 31.0, 32.0)] == [False, True, True]
    ledger.credit(5)
    assert (ledger.deadline, ledger.overdue(31.9)) == (32.0, False)
    ledger.credit(5)
    assert (ledger.deadline, ledger.overdue(1e9)) == (None, False)


def test_an_empty_ledger_has_no_deadline():
    assert PendingPulls().deadline is None


def test_filled_pulls_are_remembered_only_so_many(monkeypatch):
    monkeypatch.setattr(module, "FILLED_KEPT", 2)
    ledger = ledger_of(1, 1, 1, 5)
    ledger.credit(3)

    assert list(ledger.filled) == ["p2", "p3"]


def test_nothing_is_remembered_once_nobody_owes_anything():
    ledger = ledger_of(1, 1)
    ledger.credit(2)

    assert (ledger.filled, ledger.open) == ({}, {})


# ------------------------------------------------------------------ against a server that serves in turns


@given(st.data())
def test_the_sum_is_that_of_a_server_which_serves_its_pulls_in_turns(data):
    """Whatever is served in whatever turn, what the ledger says is owed is what the server owes."""
    ledger = PendingPulls()
    server: list[tuple[str, int]] = []
    asked = 0
    for number in range(data.draw(st.integers(1, 30))):
        verb = data.draw(st.sampled_from(["pull", "data", "expire"]))
        if verb == "pull":
            batch = data.draw(st.integers(1, 6))
            ledger.issue(Pull(f"p{number}", batch, 0, float(number)))
            server.append((f"p{number}", batch))
            asked += batch
        elif server and verb == "data":
            token, rest = server.pop(0)
            if rest > 1:
                server.append((token, rest - 1))
            ledger.credit(1)
            asked -= 1
        elif server:
            token, rest = server.pop(data.draw(st.integers(0, len(server) - 1)))
            pull = ledger.find(token)
            assert pull is not None
            asked -= ledger.settle(pull, EndReason.EXPIRED, Remainder.OWED, (rest, 0)).messages
        assert sum(owed(ledger).values()) == asked == sum(rest for _, rest in server)


@given(st.data())
def test_what_was_asked_and_neither_came_nor_was_settled_is_what_the_pulls_owe(data):
    """In messages and in bytes, whatever pulls are bounded by, and in whatever turn they are
    served.
    """
    ledger = PendingPulls()
    server: dict[str, tuple[int, int]] = {}
    asked = asked_bytes = 0
    sizes = data.draw(st.sampled_from([st.just(0), st.integers(1, 20)]))
    for number in range(data.draw(st.integers(1, 30))):
        verb = data.draw(st.sampled_from(["pull", "data", "data", "end"]))
        if verb == "pull":
            batch, size = data.draw(st.integers(1, 9)), data.draw(sizes)
            server[f"p{number}"] = (batch, size)
            ledger.issue(Pull(f"p{number}", batch, size, float(number)))
            asked, asked_bytes = asked + batch, asked_bytes + size
        elif verb == "data" and server:
            token = data.draw(st.sampled_from(sorted(server)))
            rest, room = server[token]
            size = data.draw(st.integers(1, room)) if room else 0
            server[token] = (rest - 1, room - size)
            if rest == 1 or 0 < room == size:
                del server[token]
            left = ledger.credit(1, size)
            asked, asked_bytes = asked - 1 - left[0], asked_bytes - size - left[1]
        elif verb == "end" and (
            known := [each for each in server if ledger.find(each) is not None]
        ):
            token = data.draw(st.sampled_from(known))
            pull = ledger.find(token)
            gone = ledger.settle(pull, EndReason.EXPIRED, Remainder.OWED, server.pop(token))
            asked, asked_bytes = asked - gone.messages, asked_bytes - gone.size
        # What came beyond all that is owed, as far as we know, was not asked for.
        asked, asked_bytes = max(0, asked), max(0, asked_bytes)
        assert asked == sum(each.owed for each in ledger.open.values())
        assert asked_bytes == sum(each.owed_bytes for each in ledger.open.values())
        assert not any(each.full for each in ledger.open.values())


@given(st.lists(st.integers(1, 5), max_size=5), st.integers(0, 20))
def test_a_snapshot_put_back_is_the_same_ledger(batches, count):
    ledger = ledger_of(*batches)
    ledger.credit(count)
    other = PendingPulls()
    other.restore(ledger.snapshot())

    assert other.snapshot() == ledger.snapshot()
    assert list(other.open) == list(ledger.open)
