"""How a link stands after each frame, and where the bars of its pulls end.

A step is a frame of the client (``>``), of the server, an event, or a number that moves the clock;
each frame or event is a row.
"""

import json

import pytest

from jsproto.trace.formats.recording import Happened, Received, Sent
from jsproto.trace.judge.lint import Lint
from jsproto.trace.show.subscription_status import DOWN, LATE, Standings
from tests.lines_run import lines_run

SUB = ">SUB _INBOX.p 2"


class Play:
    def __init__(self, *steps):
        self.standings = Standings()
        self.lint = Lint(lambda fact: self.standings.hear(fact, self.row, self.at))
        self.row, self.at = 0, 0.0
        self.stands, self.pulls = [], []
        self(*steps)

    def __call__(self, *steps, conn="a"):
        for step in steps:
            if isinstance(step, float):
                self.at = step
                continue
            data = f"{step.removeprefix('>')}\r\n".encode()
            if step[0].islower():
                record, sid = Happened(at=self.at, conn=conn, name=step, detail={}), ""
            elif step.startswith(">"):
                record, sid = Sent(at=self.at, conn=conn, data=data), ""
            else:
                record, sid = (
                    Received(at=self.at, conn=conn, data=data),
                    "2" if "MSG" in step else "",
                )
            self.lint.feed(self.row + 1, record)
            link, consumer = self.lint.observer.link(conn), None
            if " $JS.ACK." in step and not step.startswith(">"):
                self.standings.delivered(link, self.row, self.at)
                consumer = ("S", "C")
            changed = self.lint.observer.changed
            stands, pull = self.standings.after(
                link, sid, self.row, self.at, changed=changed, consumer=consumer
            )
            self.stands.append(stands)
            self.pulls.append(pull)
            self.row += 1
        return self

    def finish(self):
        self.standings.finish(self.row, self.at)
        return [(bar.row, bar.end_row, bar.until, bar.fate) for bar in self.standings.bars.values()]

    def column(self, name):
        return [getattr(stands, name) for stands in self.stands]


def pull(batch=2, expires=10, reply="_INBOX.p", **members):
    body = json.dumps({"batch": batch, "expires": expires * 10**9, **members})
    return f">PUB $JS.API.CONSUMER.MSG.NEXT.S.C {reply} {len(body)}\r\n{body}"


def delivery(number, payload="x"):
    return (
        f"MSG s 2 $JS.ACK.S.C.1.{number}.{number}.1700000000000000000.0 {len(payload)}\r\n{payload}"
    )


def ack(number, body="+ACK"):
    return f">PUB $JS.ACK.S.C.1.{number}.{number}.1700000000000000000.0 {len(body)}\r\n{body}"


def status(line, subject="_INBOX.p"):
    block = f"NATS/1.0 {line}\r\n\r\n"
    return f"HMSG {subject} 2 {len(block)} {len(block)}\r\n{block}"


def test_what_was_asked_for_and_has_not_come_is_pending():
    play = Play("connected", SUB, pull(2), delivery(1), pull(3), delivery(2), delivery(3))

    assert play.column("messages") == [0, 0, 2, 1, 4, 3, 2]
    assert play.column("pulls") == [0, 0, 1, 1, 2, 1, 1]
    assert play.pulls == [-1, -1, 0, 0, 1, 0, 1]
    assert play.finish() == [(2, 5, 0.0, "FILLED"), (4, 7, 0.0, "OPEN")]


def test_bytes_are_pending_where_they_were_asked_for():
    play = Play(
        "connected", SUB, pull(5, max_bytes=1000), delivery(1, "x" * 100), status("404 No Messages")
    )

    assert play.column("bytes")[2] == 1000
    assert 700 < play.column("bytes")[3] < 900
    assert play.column("bytes")[4] == play.column("messages")[4] == 0
    assert play.finish() == [(2, 4, 0.0, "NO_MESSAGES")]


def test_a_pull_whose_time_is_up_is_not_pending_and_the_server_has_a_while_to_say_so():
    told = Play("connected", SUB, pull(expires=1), 1.1, "PING", status("408 Request Timeout"))
    untold = Play("connected", SUB, pull(expires=1), 1.1, "PING", 2.0 + LATE, delivery(1))
    unread = Play("connected", SUB, pull(expires=1), 2.0, "PING")

    # Nothing was heard of the server from the pull to its end: it may not have read it yet.
    assert told.column("messages") == [0, 0, 2, 2, 0]
    assert told.finish() == [(2, 4, 1.1, "EXPIRED")]
    assert untold.column("messages") == [0, 0, 2, 2, 0]
    assert untold.finish() == [(2, 4, 1.0, "DEADLINE")]
    assert unread.finish() == [(2, 4, 2.0, "OPEN")]


def test_a_pull_that_the_server_has_read_is_over_when_its_time_is():
    read = Play("connected", SUB, pull(expires=1), 0.5, "PING", 1.1, "PING")

    assert read.column("messages") == [0, 0, 2, 2, 0]
    assert read.finish() == [(2, 5, 1.0, "DEADLINE")]


def test_a_pull_that_waits_while_the_server_is_silent_is_over_an_expiry_after_it_was_heard_again():
    stopped = Play(
        "connected",
        SUB,
        pull(expires=1),
        5.0,
        ">PING",
        6.0,
        "PONG",
        6.9,
        ">PING",
        7.1,
        ">PING",
        7.2,
        ">PING",
    )

    assert stopped.column("messages") == [0, 0, 2, 2, 2, 2, 0, 0]


def test_a_pull_can_wait_for_ever():
    play = Play("connected", SUB, pull(expires=0), 9999.0, "PING")

    assert play.column("messages") == [0, 0, 2, 2]
    assert play.finish() == [(2, 4, 9999.0, "OPEN")]


def test_a_pull_ends_with_its_subscription():
    play = Play("connected", SUB, pull(), ">UNSUB 2", "PING")

    assert play.column("messages") == [0, 0, 2, 0, 0]
    assert play.column("subscriptions") == [0, 1, 1, 0, 0]
    assert play.finish() == [(2, 3, 0.0, "UNSUBSCRIBED")]


def test_a_pull_that_nobody_listens_for_is_none_that_waits():
    play = Play("connected", pull(), "PING")

    assert play.column("pulls") == [0, 0, 0]
    assert play.pulls == [-1, 0, -1]
    assert play.finish() == [(1, 1, 0.0, "UNHEARD")]


@pytest.mark.parametrize("end", ["eof", "connected"])
def test_a_pull_ends_with_its_link(end):
    play = Play("connected", SUB, pull(), delivery(1), 0.5, end)

    assert play.column("messages") == [0, 0, 2, 1, 0]
    assert play.column("unsettled") == [0, 0, 0, 1, 0]
    assert (play.stands[-1] == DOWN) is (end == "eof")
    assert play.finish() == [(2, 4, 0.5, "DISCONNECTED")]


def test_a_pull_on_a_link_that_has_ended_ends_at_once():
    play = Play("connected", SUB, "eof", pull(), "eof")

    assert play.stands[3] == play.stands[4] == DOWN
    assert play.finish() == [(3, 3, 0.0, "DISCONNECTED")]


def test_the_time_of_a_pull_on_a_link_that_has_ended_is_nothing_any_more():
    play = Play("connected", SUB, pull(expires=1), "eof", 5.0)("PING", conn="b")

    assert play.finish() == [(2, 3, 0.0, "DISCONNECTED")]


def test_each_link_stands_for_itself():
    play = Play("connected", SUB, pull(2))("connected", SUB, pull(3), conn="b")(delivery(1))

    assert play.column("messages") == [0, 0, 2, 0, 0, 3, 1]


def test_a_delivery_is_unsettled_until_its_first_terminal_ack():
    play = Play(
        "connected",
        SUB,
        delivery(1),
        delivery(2),
        ack(1, "+WPI"),
        ack(1),
        ack(1),
        ack(2, ""),
        ack(9),
    )

    assert play.column("unsettled") == [0, 0, 1, 2, 2, 1, 1, 0, 0]


def test_an_ack_on_another_link_settles_nothing_of_this_one():
    play = Play("connected", SUB, delivery(1), "connected", SUB, delivery(2), ack(1))

    assert play.column("unsettled") == [0, 0, 1, 0, 0, 1, 1]


def test_questions_requests_and_pings_wait_for_their_answers():
    question = "HMSG s 2 $JS.FC.S.x 36 36\r\nNATS/1.0 100 FlowControl Request\r\n\r\n"
    answer = ">PUB $JS.FC.S.x 0\r\n"
    asked = ">PUB $JS.API.INFO _INBOX.r 0\r\n"
    play = Play(
        "connected", SUB, question, answer, answer, asked, "MSG _INBOX.r 3 2\r\n{}", "PING", ">PONG"
    )

    assert play.column("questions") == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert play.column("requests") == [0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert play.column("pings") == [0, 0, 0, 0, 0, 0, 0, 1, 0]
    assert play.column("up") == [1] * 9


def test_bars_are_told_as_far_as_they_are_in_sight():
    play = Play("connected", SUB, pull(1), delivery(1), pull(1), 0.25, delivery(2), pull(3))
    play.finish()
    play.standings.bars[0].end_row = -1

    assert play.standings.as_json(rows=5) == [
        {
            "number": 1,
            "row": 4,
            "end": 5,
            "line": 5,
            "at": 0.0,
            "until": 0.25,
            "conn": "a",
            "consumer": "S.C",
            "batch": 1,
            "max_bytes": 0,
            "bound": 1,
            "heartbeat": 0.0,
            "got": 1,
            "fate": "FILLED",
            "status": "",
        }
    ]


# ------------------------------------------------------------------------------------------------ pulls that were served


def told(play):
    """Each pull as the page tells it: how much of how much came, and how it ended."""
    play.finish()
    return [(bar["got"], bar["batch"], bar["fate"]) for bar in play.standings.as_json(rows=99)]


@pytest.mark.parametrize("inbox", ["_INBOX.p", "_INBOX.*"])
def test_a_pull_that_is_served_on_the_link_behind_the_lost_one_is_served(inbox):
    again = f">SUB {inbox} 2"
    play = Play("connected", SUB, pull(2), "eof", "connected", again, delivery(1), 0.5, delivery(2))

    assert play.pulls[-2:] == [0, 0]
    assert play.finish() == [(2, 7, 0.5, "FILLED")]
    assert told(play) == [(2, 2, "FILLED")]


def test_a_pull_that_is_served_in_part_behind_its_link_says_how_much_came():
    play = Play(
        "connected", SUB, pull(20), delivery(1), "eof", "connected", SUB, delivery(2), delivery(3)
    )

    assert told(play) == [(3, 20, "DISCONNECTED")]


def test_what_comes_on_a_new_link_is_for_its_own_pulls_first_and_then_for_those_of_the_lost_one():
    play = Play(
        "connected", SUB, pull(1), "eof", "connected", SUB, pull(1), *map(delivery, (1, 2, 3))
    )

    assert play.pulls == [-1, -1, 0, -1, -1, -1, 1, 1, 0, -1]
    assert told(play) == [(1, 1, "FILLED"), (1, 1, "FILLED")]


@pytest.mark.parametrize(
    "again",
    [
        ("connected", ">SUB _INBOX.other 2"),  # nobody listens where the pull was to be answered
        ("connected",),
        (11.0, "connected", SUB),  # its time is up
    ],
)
def test_a_pull_that_nothing_can_come_for_behind_its_link_stays_as_it_was(again):
    play = Play("connected", SUB, pull(2), "eof", *again, delivery(1))

    assert told(play) == [(0, 2, "DISCONNECTED")]


def test_a_delivery_of_a_consumer_that_no_lost_pull_asked_is_for_none():
    assert Play("connected", SUB, delivery(1)).pulls == [-1, -1, -1]


def test_what_was_received_before_the_link_ended_and_is_told_behind_its_end_counts():
    play = Play("connected", SUB, pull(2), "eof", delivery(1), delivery(2))

    assert play.stands[-1] == DOWN
    assert told(play) == [(2, 2, "FILLED")]


def test_a_delivery_may_be_the_first_that_is_known_of_a_link():
    assert Play(delivery(1)).column("unsettled") == [1]


def test_a_pull_is_open_again_where_what_was_put_down_to_it_was_for_another():
    left = "408 Request Timeout\r\nNats-Pending-Messages: 2\r\nNats-Pending-Bytes: 0"
    play = Play(
        "connected", ">SUB _INBOX.* 2", pull(2, reply="_INBOX.a"), pull(3, reply="_INBOX.b")
    )
    play(delivery(1), delivery(2), status(left, "_INBOX.a"))

    # Two came for the second pull, so the server has one to send for it and none for the first.
    assert play.column("messages") == [0, 0, 2, 5, 4, 3, 1]
    assert play.pulls[-1] == 0
    assert told(play) == [(0, 2, "EXPIRED"), (2, 3, "OPEN")]


def test_a_pull_that_was_not_filled_after_all_is_a_bar_that_goes_on():
    first, second = pull(1, reply="_INBOX.a"), pull(2, reply="_INBOX.b")
    left = "408 Request Timeout\r\nNats-Pending-Messages: 1\r\nNats-Pending-Bytes: 0"
    play = Play(
        "connected", ">SUB _INBOX.* 2", first, second, delivery(1), status(left, "_INBOX.b")
    )

    assert play.column("pulls") == [0, 0, 1, 2, 1, 1]
    assert play.column("messages") == [0, 0, 1, 3, 2, 1]
    assert told(play) == [(0, 1, "OPEN"), (1, 2, "EXPIRED")]
    play = Play(
        "connected",
        ">SUB _INBOX.* 2",
        pull(1, 0, "_INBOX.a"),
        second,
        delivery(1),
        status(left, "_INBOX.b"),
        "eof",
    )
    assert told(play) == [(0, 1, "DISCONNECTED"), (1, 2, "EXPIRED")]


def test_a_pull_that_is_filled_long_behind_its_time_is_filled():
    late = Play(
        "connected", SUB, pull(1, expires=1), 0.5, "PING", 9.0, "PING", 99.0, "PING", delivery(1)
    )

    assert late.column("pulls") == [0, 0, 1, 1, 0, 0, 0]
    assert late.finish() == [(2, 6, 99.0, "FILLED")]


# ------------------------------------------------------------------------------------------------ cost


@pytest.mark.parametrize("silent", [False, True])
def test_the_work_for_many_open_pulls_of_one_subscription_grows_with_their_number_only(silent):
    def work(count):
        waited = [each for number in range(count) for each in (2 + number / 100, ">PING")]
        came = waited if silent else map(delivery, range(1, count + 1))
        steps = (
            "connected",
            SUB,
            *[pull(2, expires=1)] * count,
            *came,
            count + 99.0,
            "PING",
            "PING",
        )
        return lines_run(lambda: told(Play(*steps)))

    assert work(400) < 2.4 * work(200)
