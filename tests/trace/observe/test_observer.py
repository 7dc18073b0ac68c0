"""The books of the Observer: which facts it tells of one link, and what it knows then.

Steps are those of `tests/trace/judge/rules/test_rules.py`: a number moves the clock, bytes with
``>`` are the client's, others the server's, a text is an event.
"""

import json
import sys

import pytest

from jsproto.jetstream.status import EndReason
from jsproto.trace.formats.recording import Happened, Received, Sent, Waited, Wished
from jsproto.trace.observe.facts import (
    Acked,
    ApiErrorSeen,
    ApiRequestSeen,
    ConnectSeen,
    FlowAnswered,
    GapNotRecovered,
    NoPull,
    PingUnanswered,
    Published,
    PubSeen,
    PullEnded,
    PullIssued,
    ServerErrorSeen,
    Silence,
    SubscriptionNotRestored,
    SubscriptionStarted,
    SubSeen,
    VerbSeen,
)
from jsproto.trace.observe.observer import MOST_LINKS, Observer

INFO = b'INFO {"server_id":"N","version":"2.15.1","cluster":"c","headers":true} \r\n'
HELLO = ["connected", INFO, b'>CONNECT {"headers":true}\r\nPING\r\n', b"PONG\r\n"]
SUB = b">SUB _INBOX.p 2\r\n"
BEATS = {"idle_heartbeat": 10**9}
ORDERED = {
    "ack_policy": "none",
    "max_deliver": 1,
    "mem_storage": True,
    "deliver_subject": "_INBOX.p",
}


class Play:
    def __init__(self) -> None:
        self.facts = []
        self.observer = Observer(self.facts.append)
        self.at = 0.0
        self.line = 1

    def __call__(self, *steps, conn="a"):
        for step in steps:
            if isinstance(step, float):
                self.at = step
                continue
            self.line += 1
            if isinstance(step, str):
                record = Happened(at=self.at, conn=conn, name=step, detail={})
            elif step.startswith(b">"):
                record = Sent(at=self.at, conn=conn, data=step[1:])
            else:
                record = Received(at=self.at, conn=conn, data=step)
            self.observer.feed(self.line, record)
        return self

    def told(self, kind):
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @property
    def pulls(self):
        return [fact.pull for fact in self.told(PullIssued)]


@pytest.fixture
def play():
    return Play()


def pub(subject, body=b"", reply=""):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f">PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n"


def msg(subject, body=b"", reply="", sid="2"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"MSG {subject} {sid} {reply} {len(body)}\r\n".encode() + body + b"\r\n"


def status(code, subject="_INBOX.p", **headers):
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    block = f"NATS/1.0 {code}\r\n{lines}\r\n".encode()
    return f"HMSG {subject} 2 {len(block)} {len(block)}\r\n".encode() + block + b"\r\n"


def pull(batch=1, reply="_INBOX.p", consumer="C", **members):
    return pub(
        f"$JS.API.CONSUMER.MSG.NEXT.S.{consumer}",
        {"batch": batch, "expires": 10**10, **members},
        reply,
    )


def delivered(number, body=b"x", consumer="C", sid="2"):
    return msg("s", body, f"$JS.ACK.S.{consumer}.1.{number}.{number}.1700000000000000000.0", sid)


def answered(verb, body, answer):
    return [pub(f"$JS.API.{verb}", body, "_INBOX.p"), msg("_INBOX.p", answer)]


def described(verb, config, name="C"):
    answer = {"stream_name": "S", "name": name, "config": config}
    return answered(f"{verb}.S.{name}", {"stream_name": "S", "config": config}, answer)


# ------------------------------------------------------------------------------------------------ links


def test_only_the_newest_links_are_kept(play):
    play(*["connected"] * (MOST_LINKS + 5))

    assert len(play.observer.links) == MOST_LINKS
    assert play.observer.links[0].number == 5
    assert [link.up for link in play.observer.links] == [False] * (MOST_LINKS - 1) + [True]


def test_an_end_without_a_beginning_and_a_second_end_change_nothing(play):
    play("eof", *HELLO, SUB, "eof", "client_close", "lost")

    assert [link.up for link in play.observer.links] == [False]
    assert play.observer.links[0].interests["2"].active is False


def test_waits_wishes_and_other_events_move_nothing_but_the_clock(play):
    play(*HELLO, b"PING\r\n")
    play.observer.feed(9, Waited(at=9.0, conn="a"))
    play.observer.feed(10, Wished(at=10.0, conn="a", name="fetch", detail={}))
    assert play.told(PingUnanswered) == []

    play.observer.feed(11, Happened(at=10.5, conn="a", name="oob", detail={}))

    assert [(fact.line, fact.after) for fact in play.told(PingUnanswered)] == [(6, 10.5)]


def test_a_link_is_ready_with_its_first_pong(play):
    play("connected", INFO)
    assert play.observer.links[0].ready is False

    play(b"PONG\r\n", b"PONG\r\n")

    assert play.observer.links[0].ready is True


def test_a_stale_link_blames_the_oldest_ping_and_no_other(play):
    play(
        *HELLO,
        1.0,
        b"PING\r\n",
        3.0,
        b"PING\r\n",
        4.0,
        b"-ERR 'Stale Connection'\r\n",
        60.0,
        b"PING\r\n",
    )

    assert [fact.text for fact in play.told(ServerErrorSeen)] == ["Stale Connection"]
    assert [(fact.line, fact.after) for fact in play.told(PingUnanswered)] == [(6, 3.0)]


def test_a_stale_link_without_pings_blames_nobody(play):
    play(*HELLO, b"-ERR 'Stale Connection'\r\n")

    assert play.told(PingUnanswered) == []


def test_a_ping_on_a_link_that_ended_is_owed_nothing(play):
    play(*HELLO, b"PING\r\n", "eof", 20.0, "oob")

    assert play.told(PingUnanswered) == []


def test_connect_that_is_no_json_has_said_nothing(play):
    play("connected", INFO, b">CONNECT what\r\n")

    assert play.observer.links[0].connect == {}
    assert play.observer.links[0].option("headers") is None


def test_bytes_that_make_no_sense_are_noted_once_for_each_direction(play):
    play(*HELLO, b"what is this\r\n", b"PING\r\n")

    assert play.observer.unreadable == [("a", "<", 6)]


@pytest.mark.parametrize(
    ("version", "read"),
    [("2.9.10", (2, 9)), ("2", None), ("dev.1", None), ("2.x", None), ("", None)],
)
def test_the_version_of_a_server_is_read_as_far_as_it_is_one(play, version, read):
    play("connected", b'INFO {"version":"%s"}\r\n' % version.encode())

    assert play.observer.links[0].version == read


def test_a_link_without_info_has_no_version(play):
    assert play("connected").observer.links[0].version is None


# ------------------------------------------------------------------------------------------------ subscriptions


def test_a_limit_ends_a_subscription_with_its_last_message(play):
    play(*HELLO, b">SUB a 2\r\nUNSUB 2 2\r\n", msg("a"))
    assert list(play.observer.links[0].interests) == ["2"]

    play(msg("a"))

    assert list(play.observer.links[0].interests) == []


def test_a_limit_that_was_reached_before_ends_a_subscription_at_once(play):
    play(*HELLO, b">SUB a 2\r\n", msg("a"), msg("a"), b">UNSUB 2 2\r\n")

    assert list(play.observer.links[0].interests) == []


def test_the_end_of_an_unknown_subscription_and_words_without_effect_change_nothing(play):
    play(*HELLO, b">UNSUB 7\r\n+OK\r\nPONG\r\n")

    assert play.observer.links[0].interests == {}
    assert play.observer.commands == 5


def test_a_second_subscription_of_a_sid_does_not_take_the_place_of_the_first(play):
    play(*HELLO, SUB, b">SUB b 2\r\n")

    assert [fact.taken and fact.taken.subject for fact in play.told(SubscriptionStarted)] == [
        None,
        "_INBOX.p",
    ]
    assert play.observer.links[0].interests["2"].subject == "_INBOX.p"


@pytest.mark.parametrize(
    ("again", "missed"),
    [
        ([], ["a"]),
        ([b">SUB a 9\r\n"], []),
        ([b">SUB > 9\r\n"], []),
        ([b">SUB other 2\r\n"], []),
        (["eof"], []),
    ],
)
def test_a_subscription_of_the_link_before_is_made_again_in_ten_seconds_or_missed(
    play, again, missed
):
    play(*HELLO, b">SUB a 2\r\n", b">SUB _INBOX.q 3\r\n", "eof", 1.0, *HELLO, *again, 20.0, "oob")

    assert [fact.interest.subject for fact in play.told(SubscriptionNotRestored)] == missed


# ------------------------------------------------------------------------------------------------ deliveries and pulls


def test_a_delivery_is_put_down_to_the_oldest_open_pull_of_its_consumer(play):
    play(*HELLO, SUB, pull(9, consumer="D"), pull(1), pull(2), delivered(1), delivered(2))

    assert [(each.got, each.end) for each in play.pulls] == [
        (0, None),
        (1, EndReason.FILLED),
        (1, None),
    ]


def test_a_delivery_that_nobody_asked_for_or_listens_to_belongs_to_no_pull(play):
    play(*HELLO, SUB, pull(2), delivered(1, consumer="D"), delivered(2, sid="7"))

    assert [each.got for each in play.pulls] == [0]


def test_a_reply_subject_that_only_looks_like_an_ack_is_no_delivery(play):
    play(*HELLO, SUB, pull(2), msg("s", b"x", "$JS.ACK.S.C"), pub("$JS.ACK.S.C"))

    assert [each.got for each in play.pulls] == [0]
    assert [(fact.delivery, fact.alike, fact.consumer) for fact in play.told(Acked)] == [
        (None, None, None)
    ]


def test_a_pull_whose_bytes_are_spent_is_over(play):
    play(*HELLO, SUB, pull(9, max_bytes=200), delivered(1, b"x" * 20))
    assert play.pulls[0].end is None
    assert 0 < play.pulls[0].left_bytes < 180

    play(delivered(2, b"x" * 100))

    assert (play.pulls[0].got, play.pulls[0].end) == (2, EndReason.BYTES_SPENT)
    assert play.pulls[0].over(0)


def test_a_pull_is_over_when_its_time_is(play):
    play(*HELLO, SUB, pull(5), 1.0, b"PING\r\n", 10.5, b"PING\r\n", pull(5), delivered(1))

    assert [each.got for each in play.pulls] == [0, 1]
    assert [(fact.owed, fact.owed_bytes) for fact in play.told(PullIssued)] == [(0, 0), (0, 0)]


def test_of_pulls_that_are_over_the_last_eight_are_kept(play):
    play(*HELLO, SUB, *[pull(1)] * 12, *map(delivered, range(1, 13)))
    kept = play.observer.links[0].interests["2"].pulls

    assert [each.end for each in kept] == [EndReason.FILLED] * 8
    assert kept == play.pulls[4:]


def test_a_status_corrects_what_was_put_down_to_a_pull_wrongly(play):
    play(*HELLO, SUB, pull(3, reply="_INBOX.p"), pull(1), pull(5))
    play(delivered(1), delivered(2))
    play(status("408 Request Timeout", Nats_Pending_Messages=3, Nats_Pending_Bytes=0))

    assert [(each.got, each.end) for each in play.pulls] == [
        (0, EndReason.EXPIRED),
        (1, EndReason.FILLED),
        (1, None),
    ]


def test_what_is_put_down_in_excess_and_fits_nowhere_is_forgotten(play):
    play(*HELLO, SUB, pull(3), delivered(1), delivered(2))
    play(status("408 Request Timeout", Nats_Pending_Messages=3, Nats_Pending_Bytes=0))

    assert [each.got for each in play.pulls] == [0]


def test_a_status_that_ends_all_pulls_leaves_those_as_they_are_that_ended_before(play):
    play(*HELLO, SUB, pull(1), delivered(1), pull(2), pull(3), status("409 Leadership Change"))

    ends = [each.end for each in play.pulls]
    assert ends[0] is EndReason.FILLED
    assert ends[1] is ends[2]
    assert ends[1] is not None
    assert [fact.pull.status for fact in play.told(PullEnded)] == ["409 Leadership Change"]


def test_a_status_that_comes_late_is_put_down_to_the_last_pull_of_its_inbox(play):
    play(*HELLO, SUB, pull(1), delivered(1), status("408 Request Timeout"))

    assert [fact.pull is play.pulls[0] for fact in play.told(PullEnded)] == [True]


def test_a_status_for_no_pull_and_one_that_ends_none_tell_nothing(play):
    play(*HELLO, SUB, status("404 No Messages"), pull(1), status("100 Idle Heartbeat"))

    assert play.told(PullEnded) == []


def test_refusals_are_counted_over_three_seconds(play):
    refused = [pull(), status("503")]
    play(*HELLO, SUB, *refused, 1.0, *refused, 3.5, *refused)

    assert [fact.refusals for fact in play.told(PullEnded)] == [1, 2, 2]


# ------------------------------------------------------------------------------------------------ what does not happen


def beats(batch):
    return pull(batch, expires=10**11, **BEATS)


def test_silence_is_told_of_the_newest_pull_only_four_beats_after_the_last_sign(play):
    play(
        *HELLO,
        SUB,
        beats(9),
        beats(1),
        3.0,
        beats(2),
        6.0,
        status("100 Idle Heartbeat"),
        9.9,
        "oob",
    )
    assert play.told(Silence) == []

    play(11.0, "oob")

    assert [(fact.pull is play.pulls[2], fact.after) for fact in play.told(Silence)] == [
        (True, 5.0)
    ]


@pytest.mark.parametrize("end", ["eof", b">UNSUB 2\r\n", status("409 Leadership Change")])
def test_nobody_waits_for_beats_of_what_has_ended(play, end):
    play(*HELLO, SUB, beats(9), beats(1), end, 6.0, "oob")

    assert play.told(Silence) == []


@pytest.mark.parametrize(
    ("then", "told"), [([], ["status"]), ([pull(3)], []), (["eof"], []), ([b">UNSUB 2\r\n"], [])]
)
def test_who_reads_on_and_on_asks_again_within_thirty_seconds_or_is_missed(play, then, told):
    play(*HELLO, SUB, pull(9), pull(1), status("409 Leadership Change"), 1.0, *then, 31.0, "oob")

    assert [fact.because for fact in play.told(NoPull)] == told


@pytest.mark.parametrize(
    ("pulls", "then", "told"),
    [
        ([pull(9), pull(1)], [], ["reconnect"]),
        ([pull(9), pull(1)], ["eof"], []),
        ([pull(9), pull(1)], [b">SUB _INBOX.q 4\r\n", pull(1, reply="_INBOX.q")], []),
        (
            [pull(9), pull(1)],
            [b">SUB _INBOX.q 4\r\n", pull(1, reply="_INBOX.q", consumer="D")],
            ["reconnect"],
        ),
        ([pull(9), pull(1), pull(1, no_wait=True)], [], []),
        ([pull(9)], [], []),
    ],
)
def test_who_read_on_and_on_asks_on_the_new_link_too(play, pulls, then, told):
    play(*HELLO, SUB, *pulls, "eof", 1.0, *HELLO, *then, 40.0, "oob")

    assert [fact.because for fact in play.told(NoPull)] == told


@pytest.mark.parametrize(
    ("then", "told"),
    [
        ([], [(2, 4)]),
        ([b">UNSUB 2\r\n"], []),
        (["eof"], []),
        ([pub("$JS.API.CONSUMER.DELETE.S.C", b"", "_INBOX.x")], []),
        ([pub("$JS.API.CONSUMER.CREATE.S.D", {"config": ORDERED}, "_INBOX.x")], []),
    ],
)
def test_a_gap_is_kept_if_nothing_is_done_for_five_seconds(play, then, told):
    play(
        *HELLO,
        SUB,
        *described("CONSUMER.CREATE", ORDERED),
        delivered(1),
        delivered(4),
        *then,
        6.0,
        "oob",
    )

    assert [(fact.expected, fact.seen) for fact in play.told(GapNotRecovered)] == told


def test_a_gap_that_nobody_listens_to_is_nobodys(play):
    play(*HELLO, SUB, *described("CONSUMER.CREATE", ORDERED), delivered(4, sid="9"), 6.0, "oob")

    assert play.told(GapNotRecovered) == []


# ------------------------------------------------------------------------------------------------ the API


def test_an_answer_with_an_error_is_told(play):
    play(
        *HELLO,
        SUB,
        *answered("STREAM.INFO.S", b"", {"error": {"err_code": 10059, "description": "not found"}}),
    )
    play(*answered("STREAM.INFO.S", b"", {"error": {"code": "?"}}))

    assert [(fact.err_code, fact.text) for fact in play.told(ApiErrorSeen)] == [
        (10059, "not found"),
        (0, ""),
    ]
    assert [fact.waiting for fact in play.told(ApiRequestSeen)] == [None, None]


@pytest.mark.parametrize("answer", [b"what", {}, {"stream_name": "S", "name": "C"}, {"config": {}}])
def test_an_answer_that_describes_no_consumer_makes_none_known(play, answer):
    play(*HELLO, SUB, *answered("CONSUMER.INFO.S.C", b"", answer))

    assert play.observer.consumers == {}
    assert play.told(ApiErrorSeen) == []


def test_an_answer_to_another_question_makes_no_consumer_known(play):
    play(*HELLO, SUB, *described("CONSUMER.DELETE", {}))

    assert play.observer.consumers == {}


def test_a_later_answer_changes_the_configuration_of_a_consumer_and_nothing_else(play):
    play(*HELLO, SUB, *described("CONSUMER.CREATE", ORDERED), delivered(1))
    known = play.observer.consumers["S", "C"]

    play(*described("CONSUMER.INFO", {**ORDERED, "metadata": {}}))

    assert play.observer.consumers["S", "C"] is known
    assert known.config == {**ORDERED, "metadata": {}}
    assert known.expected == 2


@pytest.mark.parametrize(
    ("verb", "expected"), [("CONSUMER.CREATE", 1), ("CONSUMER.INFO", 0), ("CONSUMER.RESET", 0)]
)
def test_only_of_a_new_consumer_the_first_delivery_is_known(play, verb, expected):
    play(*HELLO, SUB, *described(verb, ORDERED))

    assert play.observer.consumers["S", "C"].expected == expected


def test_nobody_is_said_to_listen_to_a_consumer_that_was_deleted(play):
    play(*HELLO, SUB, *described("CONSUMER.CREATE", {"deliver_subject": "d"}), b">SUB d 4\r\n")
    play(pub("$JS.API.CONSUMER.DELETE.S.C"), pub("$JS.API.CONSUMER.DELETE.S.X"), b">SUB d 5\r\n")

    made = play.observer.consumers["S", "C"]
    assert [fact.consumer for fact in play.told(SubscriptionStarted)] == [None, made, None]


def test_subjects_of_jetstream_that_are_no_calls_are_messages_like_others(play):
    play(
        *HELLO,
        pub("$JS.EVENT.x"),
        pub("$JS.API.WHAT"),
        pub("$JS.API.CONSUMER.MSG.NEXT.S", b"", "r"),
    )

    assert [fact.command.subject for fact in play.told(Published)] == ["$JS.EVENT.x"]
    assert [fact.request.verb for fact in play.told(ApiRequestSeen)] == ["", "CONSUMER.MSG.NEXT"]


def test_a_create_without_names_or_configuration_is_told_with_what_it_has(play):
    play(*HELLO, pub("$JS.API.CONSUMER.CREATE", {}), pub("$JS.API.CONSUMER.CREATE.S", b"what"))

    assert [fact.request.names for fact in play.told(ApiRequestSeen)] == [(), ("S",)]
    assert play.observer.links[0].creates == 1


# ------------------------------------------------------------------------------------------------ what is remembered


def test_tables_forget_the_oldest(play, monkeypatch):
    monkeypatch.setattr("jsproto.trace.observe.ledger.MOST", 3)
    play(*HELLO, SUB, pull(50), *map(delivered, range(1, 7)))
    for number in (3, 4):
        play(pub(f"$JS.ACK.S.C.1.{number}.{number}.1700000000000000000.0"))

    assert [fact.delivery is not None for fact in play.told(Acked)] == [False, True]


def test_next_asks_again_on_behalf_of_the_consumer_of_its_delivery(play):
    play(
        *HELLO,
        SUB,
        pull(1),
        delivered(1),
        pub("$JS.ACK.S.C.1.1.1.1700000000000000000.0", b"+NXT 5", "_INBOX.p"),
    )

    assert [(each.consumer, each.batch) for each in play.pulls] == [
        (("S", "C"), 1),
        (("S", "C"), 5),
    ]


def test_a_message_is_published_again_only_if_its_link_was_lost_and_its_answer_never_came(play):
    line = b"a payload of one kind"
    play(*HELLO, SUB, pub("s", line, "_INBOX.p"), "eof", *HELLO, *[pub("s", line, "_INBOX.q")] * 2)

    assert [fact.unknown and fact.unknown.line for fact in play.told(Published)] == [None, 7, None]


def test_flow_control_that_was_never_asked_for_has_no_mark(play):
    play(*HELLO, pub("$JS.FC.S.C.a"))

    assert [fact.mark for fact in play.told(FlowAnswered)] == [None]


@pytest.mark.parametrize(
    ("info", "found"),
    [
        (INFO, True),
        (INFO.replace(b'"N"', b'"M"'), True),
        (INFO.replace(b'"N"', b'"M"').replace(b'"c"', b'"d"'), False),
        (b"PING\r\n", False),
    ],
)
def test_a_pull_of_a_lost_link_survives_on_its_server_and_its_cluster(play, info, found):
    play(*HELLO, SUB, pull(), "eof", "connected", info, SUB, pull(consumer="D"), pull())

    survivors = [list(fact.survivors) for fact in play.told(PullIssued)]
    assert survivors == [[], [], play.pulls[:1] if found else []]


def test_everything_that_is_said_is_told_first(play):
    play(*HELLO, SUB, pull())

    assert [type(fact) for fact in play.facts] == [
        ConnectSeen,
        VerbSeen,
        SubSeen,
        SubscriptionStarted,
        PubSeen,
        PullIssued,
    ]


# ------------------------------------------------------------------------------------------------ the server's numbers


def test_bytes_that_were_put_down_to_the_wrong_pull_are_moved_by_the_servers_number(play):
    play(
        *HELLO,
        SUB,
        pull(9, max_bytes=500),
        pull(9, max_bytes=500),
        *[delivered(at, b"x" * 50) for at in (1, 2)],
    )
    size = play.pulls[0].size
    assert (size > 0, play.pulls[1].size) == (True, 0)

    play(status("408 Request Timeout", Nats_Pending_Messages=8, Nats_Pending_Bytes=500 - size // 2))

    assert [(each.got, each.size) for each in play.pulls] == [(1, size // 2), (1, size // 2)]
    play(pull(1, max_bytes=1))
    assert play.told(PullIssued)[-1].owed_bytes == 500 - size // 2


def test_a_pull_that_was_taken_for_filled_is_open_again_if_the_server_has_filled_another(play):
    """Servers serve waiting pulls in turn, one message each."""
    play(
        *HELLO,
        b">SUB _INBOX.* 2\r\n",
        pull(4, "_INBOX.a"),
        pull(4, "_INBOX.b"),
        *map(delivered, range(1, 6)),
    )
    assert [(each.got, each.end) for each in play.pulls] == [(4, EndReason.FILLED), (1, None)]

    play(status("408 Request Timeout", "_INBOX.b", Nats_Pending_Messages=2, Nats_Pending_Bytes=0))

    assert [(each.got, each.end) for each in play.pulls] == [(3, None), (2, EndReason.EXPIRED)]
    play(pull(1, "_INBOX.a"))
    assert play.told(PullIssued)[-1].owed == 1
    play(delivered(6))
    assert play.pulls[0].end is EndReason.FILLED


def test_a_refused_pull_got_nothing_whatever_was_put_down_to_it(play):
    play(
        *HELLO,
        SUB,
        pull(4),
        pull(3, idle_heartbeat=1.5),
        delivered(1),
        status("400 Bad Request"),
        delivered(2),
    )

    assert [(each.got, each.end) for each in play.pulls] == [(2, None), (0, EndReason.FATAL)]


def test_what_comes_behind_a_standstill_belongs_to_the_pull_that_was_sent_before_it(play):
    play(*HELLO, SUB, 1.0, pull(3), 60.0, pull(3), 61.0, *map(delivered, range(1, 5)))

    assert [each.got for each in play.pulls] == [3, 1]
    assert [fact.owed for fact in play.told(PullIssued)] == [0, 0]  # the client could know of none


def test_pulls_of_the_link_before_are_added_up(play):
    play(*HELLO, SUB, pull(3), pull(4), "eof", *HELLO, SUB, pull(5), pull(5))

    assert [sum(each.left for each in fact.survivors) for fact in play.told(PullIssued)] == [
        0,
        0,
        7,
        7,
    ]


def test_a_pull_is_told_of_a_message_of_its_own_consumer_even_if_its_time_is_up(play):
    play(
        *HELLO,
        SUB,
        pull(3),
        1.0,
        b"PING\r\n",
        11.0,
        b"PING\r\n",
        pull(2, consumer="D"),
        delivered(1),
    )

    assert [each.got for each in play.pulls] == [1, 0]


def test_subscriptions_are_found_by_their_subject_in_the_order_in_which_they_were_made(play):
    subjects = ["a.*.c", "a.b.c", ">", "a.>", "*.b.*", "x.y.z.u.v.*", "a.b.c.>", "a*.b"]
    play(
        *HELLO,
        *[f">SUB {subject} {sid}\r\n".encode() for sid, subject in enumerate(subjects)],
        b">SUB a.b.c 9\r\n",
    )
    link = play.observer.links[0]

    assert [each.subject for each in link.interest_in("a.b.c")] == [
        "a.*.c",
        "a.b.c",
        ">",
        "a.>",
        "*.b.*",
        "a.b.c",
    ]
    assert [each.sid for each in link.interest_in("x.y.z.u.v.w")] == ["2", "5"]
    assert [each.sid for each in link.interest_in("a*.b")] == ["2", "7"]

    play(*[f">UNSUB {sid}\r\n".encode() for sid in range(10)])

    assert link.interest_in("a.b.c") == []
    assert (link.exact, link.wild, link.interests) == ({}, {}, {})


def counted_calls(work):
    made = 0

    def count(*_):
        nonlocal made
        made += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


HEARTS = {"expires": 10**15, **BEATS}
MANY_PULLS = {
    "of one inbox": lambda n: [SUB, *[pull(5, **HEARTS)] * n, *map(delivered, range(n)), *[status("408 Request Timeout")] * n],
    "with an inbox each": lambda n: [b">SUB _INBOX.* 2\r\n", *(pull(5, f"_INBOX.{at}", **HEARTS) for at in range(n)), *map(delivered, range(n)), *(status("408 Request Timeout", f"_INBOX.{at}") for at in range(n))],
    "with a subscription each": lambda n: [step for at in range(n) for step in (f">SUB _INBOX.{at} {at}\r\n".encode(), pull(5, f"_INBOX.{at}", **HEARTS))] + [delivered(at, sid=str(at)) for at in range(n)],
    "with a wildcard each": lambda n: [step for at in range(n) for step in (f">SUB _INBOX.{at}.* {at}\r\n".encode(), pull(5, f"_INBOX.{at}.x", **HEARTS))],
    "and questions": lambda n: [SUB, *[pull(5, **HEARTS)] * n, *[pub("$JS.API.CONSUMER.INFO.S.C", b"", "_INBOX.p")] * n],
    "on two links": lambda n: [*(lines := [step for at in range(n) for step in (f">SUB _INBOX.{at} {at}\r\n".encode(), pull(5, f"_INBOX.{at}", **HEARTS))]), "eof", *HELLO, *lines, 99.0, b"PING\r\n"],
    "that expire": lambda n: [SUB, *[step for at in range(n) for step in (pull(5, expires=1), 1.0 + at)]],
}  # fmt: skip


@pytest.mark.parametrize("shape", MANY_PULLS)
def test_four_times_as_many_pulls_cost_about_four_times_as_much(shape):
    def cost(count):
        play, steps = Play(), [*HELLO, *MANY_PULLS[shape](count)]
        return counted_calls(lambda: play(*steps))

    assert cost(1200) < 5.5 * cost(300)


# ------------------------------------------------------------------------------------------------ links under other names

SAME = b'>CONNECT {"headers":true,"name":"app"}\r\nPING\r\n'
LOOPS = [SUB, pull(10, **BEATS), pull(5, **BEATS)]


def after_a_loss(play, *, end="eof", pause=1.0, connect=SAME, others=()):
    play("connected", INFO, SAME, b"PONG\r\n", *LOOPS, 1.0, end)
    for conn in others:
        play("connected", INFO, SAME, b"PONG\r\n", "eof", conn=conn)
    play(
        1.0 + pause,
        "connected",
        INFO,
        connect,
        b"PONG\r\n",
        60.0 + pause,
        b"PING\r\n",
        b">PONG\r\n",
        conn="b",
    )
    return [fact.because for fact in play.told(NoPull)]


def test_a_link_under_another_name_is_the_next_of_a_client_that_says_the_same_of_itself(play):
    assert after_a_loss(play) == ["reconnect"]


@pytest.mark.parametrize(
    "other",
    [
        {"end": "client_close"},
        {"pause": 61.0},
        {"connect": SAME.replace(b"app", b"tool")},
        {"others": ["c"]},
    ],
)
def test_a_link_that_may_be_somebody_elses_follows_none(play, other):
    """The client left by itself, too long ago, says something else of itself, or there are two that
    it may follow.
    """
    assert after_a_loss(play, **other) == []


def test_very_many_readers_of_links_before_are_not_looked_through(play, monkeypatch):
    monkeypatch.setattr("jsproto.trace.observe.pulls.MOST_LOOKED", 2)
    many = [
        step
        for at in range(4)
        for step in (f">SUB _INBOX.{at} {at}\r\n".encode(), pull(3, f"_INBOX.{at}"))
    ]

    play(*HELLO, *many, "eof", *HELLO, SUB, pull(3))

    assert play.told(PullIssued)[-1].survivors == []


def test_what_a_pull_with_bytes_has_too_little_of_comes_from_one_beside_it(play):
    play(
        *HELLO,
        b">SUB _INBOX.* 2\r\n",
        pull(9, "_INBOX.a", max_bytes=900),
        pull(9, "_INBOX.b", max_bytes=900),
    )
    play(*[delivered(at, b"x" * 50) for at in (1, 2)])
    size = play.pulls[0].size

    play(
        status(
            "408 Request Timeout",
            "_INBOX.b",
            Nats_Pending_Messages=8,
            Nats_Pending_Bytes=900 - size // 2,
        )
    )

    assert [(each.got, each.size) for each in play.pulls] == [(1, size // 2), (1, size // 2)]
