"""The view of a trace: which rows there are, what stands in them, and what belongs together.

How a link stands after each frame, and the bars of pulls, have their rules in
`tests/trace/show/test_subscription_status.py`.
"""

import json
import zlib
from types import SimpleNamespace

import pytest

from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.judge.lint import RULES
from jsproto.trace.show import view as viewing
from jsproto.trace.show.view import FORMAT, Viewing

HEAD = "#jsproto-trace/2\n: server_version 2.15.1\n"
HELLO = r"""= a connected
< a INFO {"server_id":"N","version":"2.15.1","headers":true} \r\n
> a CONNECT {"lang":"go","version":"1","headers":true,"pass":"sEcReT"}\r\nPING\r\n
< a PONG\r\n
> a SUB _INBOX.p 2\r\n
"""
BODY = '{"batch":2,"expires":500000000}'
PULL = f"> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p {len(BODY)}\\r\\n{BODY}\\r\\n\n"
ACK = "$JS.ACK.S.C.1.{0}.{0}.1700000000000000000.0"
DELIVERY = "< a MSG orders.new 2 " + ACK + " 3\\r\\nabc\\r\\n\n"
ACKED = "> a PUB " + ACK + " 4\\r\\n+ACK\\r\\n\n"


def view(text, keep=Keep.FULL, first=1, last=None):
    seen = Viewing(keep, first, last)
    trace = read_trace((HEAD + text).encode())
    for line, record in trace.records():
        seen.feed(line, record)
    seen.finish()
    told = json.loads(json.dumps(seen.as_json("x.trace", trace.about)))
    details = [each for block in seen.table.blocks for each in json.loads(zlib.decompress(block))]
    columns = told["rows"]
    rows = [
        SimpleNamespace(
            **{name: column[number] for name, column in columns.items()},
            fields=fields,
            text=shown,
            said=told["kinds"][columns["kind"][number]],
            stands=dict(
                zip(told["standing"], told["standings"][columns["standing"][number]], strict=True)
            ),
        )
        for number, (fields, shown) in enumerate(details)
    ]
    assert len(rows) == len(seen.table) == len(columns["way"])
    return SimpleNamespace(told=told, rows=rows, left_out=seen.left_out, table=seen.table)


def test_a_row_is_a_frame_a_command_a_verb_or_an_event_with_its_bytes_as_the_format_shows_them():
    seen = view(HELLO + '! a fetch {"batch":2}\n' + DELIVERY.format(1) + "= a eof\n= - signal\n")

    assert [(row.line, row.way, row.said, row.words) for row in seen.rows] == [
        (3, "=", "link", "connected"),
        (4, "<", "info", "INFO 2.15.1"),
        (5, ">", "connect", "CONNECT"),
        (5, ">", "ping", "PING"),
        (6, "<", "pong", "PONG"),
        (7, ">", "subscribe", "SUB _INBOX.p as 2"),
        (8, "!", "verb", "fetch batch=2"),
        (9, "<", "delivery", "delivery 1 of S.C: message 1 on orders.new (3 bytes), 0 left"),
        (10, "=", "link", "eof"),
        (11, "=", "event", "signal"),
    ]
    assert [row.text for row in seen.rows[3:9]] == [
        "PING\\r\\n", "PONG\\r\\n", "SUB _INBOX.p 2\\r\\n", '{"batch": 2}',
        f"MSG orders.new 2 {ACK.format(1)} 3\\r\\nabc\\r\\n", "",
    ]  # fmt: skip
    assert seen.rows[7].size == len(f"MSG orders.new 2 {ACK.format(1)} 3\r\nabc\r\n")
    assert seen.told["rows"]["standing"][-1] == -1


def test_it_does_not_matter_where_bytes_were_cut():
    whole = HELLO + PULL + DELIVERY.format(1)
    cut = whole.replace("MSG orders", "MSG ord\n< a ers").replace("PONG", "PO\n< a NG")

    assert [row.words for row in view(cut).rows] == [row.words for row in view(whole).rows]


def test_no_secret_gets_into_a_view():
    seen = view(HELLO)

    assert seen.rows[2].text.startswith(
        'CONNECT {"lang":"go","version":"1","headers":true,"pass":"[redacted]"}'
    )
    assert "sEcReT" not in json.dumps(seen.told) + json.dumps([row.text for row in seen.rows])


def test_what_users_wrote_is_shown_as_far_as_was_asked_for():
    hidden = view(HELLO + DELIVERY.format(1), keep=Keep.LENGTH).rows[-1]

    assert hidden.text.endswith(" 3\\r\\n\\{3}\\r\\n")


def test_the_whole_is_told_about_itself():
    told = view(HELLO + "@ 1.5\n" + PULL).told

    assert {name: told[name] for name in ("format", "name", "about", "seconds", "left_out", "findings", "rules")} == {
        "format": FORMAT,
        "name": "x.trace",
        "about": {"server_version": "2.15.1"},
        "seconds": 1.5,
        "left_out": 0,
        "findings": [],
        "rules": {},
    }  # fmt: skip
    assert told["links"] == [{"conn": "a", "at": 0.0, "server": "2.15.1", "client": "go 1"}]


def test_a_finding_belongs_to_the_row_in_which_it_showed():
    seen = view(HELLO + DELIVERY.format(1) + ACKED.format(1) * 2)

    assert seen.told["findings"] == [
        [8, "ack-twice", "the delivery in line 8 was settled already, by b'+ACK'"]
    ]
    rule = next(rule for rule in RULES if rule.name == "ack-twice")
    assert seen.told["rules"]["ack-twice"] == {
        "severity": "error",
        "clause": rule.clause,
        "right": rule.right,
        "counted": 1,
    }


def test_what_shows_while_nobody_says_anything_is_a_row_of_time():
    text = HELLO + "< a PING\\r\\n\n@ 30\n= a waited\n"
    seen = view(text)

    assert [(row.way, row.words) for row in seen.rows[-2:]] == [("<", "PING"), (".", "time passes")]
    assert [rule for row, rule, _ in seen.told["findings"] if row == len(seen.rows) - 1] == [
        "ping-unanswered"
    ]
    assert len(view(text.replace("@ 30", "@ 1")).rows) == len(seen.rows) - 1


def test_what_answers_something_names_its_line():
    request = (
        "> a PUB $JS.API.STREAM.INFO.S _INBOX.r 0\\r\\n\\r\\n\n< a MSG _INBOX.r 3 2\\r\\n{}\\r\\n\n"
    )
    publish = "> a PUB orders.new _INBOX.s 1\\r\\n1\\r\\n\n< a MSG _INBOX.s 3 2\\r\\n{}\\r\\n\n"
    flow = (
        "< a HMSG _INBOX.p 2 $JS.FC.S.C.x 36 36\\r\\nNATS/1.0 100 FlowControl Request\\r\\n\\r\\n\\r\\n\n"
        "> a PUB $JS.FC.S.C.x 0\\r\\n\\r\\n\n"
    )
    altered = ACKED.format(1).replace("1700000000000000000.0", "1700000000000000000.9")
    seen = view(HELLO + request + publish + DELIVERY.format(1) + ACKED.format(1) + altered + flow)

    assert [row.fields.get("answers line") for row in seen.rows[7:10]] == [8, None, 10]
    assert [row.fields.get("delivered in line") for row in seen.rows[11:13]] == [12, 12]
    assert seen.rows[-1].fields["asked in line"] == 15


def test_what_answers_nothing_names_no_line():
    stray = ACKED.format(9) + "> a PUB $JS.FC.S.C.x 0\\r\\n\\r\\n\n"
    seen = view(HELLO + stray)

    assert [name for row in seen.rows for name in row.fields if name.endswith("line")] == []


def test_a_status_says_which_pull_it_ends_and_how():
    status = "< a HMSG _INBOX.p 2 28 28\\r\\nNATS/1.0 404 No Messages\\r\\n\\r\\n\\r\\n\n"
    last = view(HELLO + PULL + status).rows[-1]

    assert (last.fields["ends the pull of line"], last.fields["the pull is"]) == (8, "NO_MESSAGES")
    assert last.pull == 0


def created(ack_policy, **more):
    config = {"ack_policy": ack_policy, **more}
    asked = json.dumps({"config": config})
    answer = json.dumps({"stream_name": "S", "name": "C", "config": config})
    return (
        f"> a PUB $JS.API.CONSUMER.CREATE.S.C _INBOX.r {len(asked)}\\r\\n{asked}\\r\\n\n"
        f"< a MSG _INBOX.r 3 {len(answer)}\\r\\n{answer}\\r\\n\n"
    )


@pytest.mark.parametrize(
    ("before", "unsettled"),
    [("", [1, 2, 1]), (created("explicit"), [1, 2, 1]), (created("none"), [0, 0, 0])],
)
def test_deliveries_are_unsettled_until_their_ack_unless_the_consumer_wants_none(before, unsettled):
    seen = view(HELLO + before + DELIVERY.format(1) + DELIVERY.format(2) + ACKED.format(1))

    assert [row.stands["unsettled"] for row in seen.rows[-3:]] == unsettled


def test_behind_what_a_client_should_not_have_said_nothing_can_be_read():
    seen = view(HELLO + "> a WHAT\\r\\n\n> a PING\\r\\n\n")

    assert [row.words for row in seen.rows[-2:]] == [
        "unreadable: Unknown Protocol Operation",
        "unreadable",
    ]


@pytest.mark.parametrize(("text", "way"), [("< a WHAT\\r\\n\n", "<"), ("< a HMSG a b 9 1\\r\\n1\\r\\n\n", "<")])  # fmt: skip
def test_what_makes_no_sense_is_a_row_that_says_so(text, way):
    last = view(HELLO + text).rows[-1]

    assert (last.way, last.words, last.said) == (way, "unreadable", "unreadable")


def test_a_frame_that_never_became_whole_is_told_where_its_link_ends():
    half = "< a MSG orders.new 2 5\\r\\n12\n> a PUB b 9\n"
    ended = view(HELLO + half + "= a eof\n")
    unended = view(HELLO + half)

    told = [
        ("<", "22 bytes of a frame that never became whole"),
        (">", "7 bytes of a frame that never became whole"),
    ]
    assert [(row.way, row.words) for row in ended.rows[-3:]] == [*told, ("=", "eof")]
    assert [(row.way, row.words) for row in unended.rows[-2:]] == told


def test_lines_before_the_first_wanted_one_are_known_and_not_shown():
    seen = view(
        HELLO + PULL + DELIVERY.format(1) + ACKED.format(1) * 2 + DELIVERY.format(2), first=10
    )

    assert [row.line for row in seen.rows] == [10, 11, 12]
    assert [row.stands["messages"] for row in seen.rows] == [1, 1, 0]
    assert [(pull["row"], pull["end"], pull["got"]) for pull in seen.told["pulls"]] == [(-1, 2, 2)]
    assert [finding[:2] for finding in seen.told["findings"]] == [[1, "ack-twice"]]


def test_what_happens_behind_the_last_wanted_line_is_not_shown():
    seen = view(HELLO + PULL + DELIVERY.format(1) + ACKED.format(1) * 2 + PULL, last=9)

    assert [row.line for row in seen.rows][-2:] == [8, 9]
    assert (seen.told["findings"], seen.left_out) == ([], 0)
    assert [(pull["row"], pull["end"]) for pull in seen.told["pulls"]] == [(6, 8)]
    assert seen.told["rules"]["ack-twice"]["counted"] == 1


def test_rows_are_bounded_and_those_without_a_place_are_counted(monkeypatch):
    monkeypatch.setattr(viewing, "MOST_ROWS", 3)
    seen = view(HELLO)

    assert (len(seen.rows), seen.left_out) == (3, 3)


@pytest.mark.parametrize("before", ["", HELLO + "= a eof\n"])
def test_a_delivery_at_the_beginning_of_a_trace_or_behind_the_end_of_its_link_is_a_row(before):
    last = view(before + DELIVERY.format(1)).rows[-1]

    assert (last.said, last.stands["unsettled"]) == ("delivery", 0 if before else 1)


def test_a_pull_that_the_server_serves_behind_the_lost_link_is_told_as_served():
    seen = view(HELLO + PULL + "= a eof\n" + HELLO + DELIVERY.format(1) + DELIVERY.format(2))

    assert [(pull["got"], pull["fate"]) for pull in seen.told["pulls"]] == [(2, "FILLED")]
    assert [row.pull for row in seen.rows[-2:]] == [0, 0]


def test_what_answers_something_names_its_row():
    asked = "> a PUB $JS.API.STREAM.INFO.S _INBOX.r 0\\r\\n\\r\\n\n"
    answer = "< a MSG _INBOX.r 3 2\\r\\n{}\\r\\n\n"
    pings = "> a PING\\r\\n\n> a PING\\r\\n\n< a PING\\r\\n\n> a PONG\\r\\n\n< a PONG\\r\\n\n"
    working = ACKED.format(1).replace("+ACK", "+WPI")
    seen = view(
        HELLO
        + asked
        + answer
        + answer
        + DELIVERY.format(1)
        + working
        + ACKED.format(1)
        + ACKED.format(1)
        + pings
    )

    assert [row.pair for row in seen.rows] == [
        -1,
        -1,
        -1,
        -1,
        3,
        -1,
        -1,
        6,
        -1,
        -1,
        -1,
        9,
        -1,
        -1,
        -1,
        -1,
        15,
        13,
    ]


def test_an_answer_on_another_link_or_to_a_row_that_is_not_shown_names_none():
    asked = "> a PING\\r\\n\n"
    again = view(HELLO + asked + "= a eof\n= a connected\n< a PONG\\r\\n\n")
    cut = view(HELLO + asked + "< a PONG\\r\\n\n", first=9)

    assert again.rows[-1].pair == -1
    assert [row.pair for row in cut.rows] == [-1]


def test_a_pull_names_no_row_that_is_its_answer():
    seen = view(
        HELLO + PULL + "< a HMSG _INBOX.p 2 28 28\\r\\nNATS/1.0 404 No Messages\\r\\n\\r\\n\\r\\n\n"
    )

    assert seen.rows[-1].pair == -1


def test_the_limits_of_consumers_whose_configuration_was_seen_are_told():
    assert view(HELLO + created("explicit")).told["limits"] == {}
    assert view(HELLO + created("explicit", max_ack_pending=7)).told["limits"] == {"S.C": 7}


def test_the_bound_of_a_pull_is_what_its_reader_asks_for_where_nothing_is_owed():
    more = PULL.replace('"batch":2', '"batch":1')
    seen = view(HELLO + PULL + DELIVERY.format(1) + more + PULL.replace("_INBOX.p", "_INBOX.none"))

    assert [pull["bound"] for pull in seen.told["pulls"]] == [2, 2, 0]
