"""The subject of an acknowledgement, its bodies, and the automaton."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, InvalidResponse, RemoteProtocolError
from jsproto.jetstream.api.timestamps import Duration
from jsproto.jetstream.delivery import ack
from jsproto.jetstream.delivery.ack import (
    ACK,
    IN_PROGRESS,
    NAK,
    TERM,
    TRANSITIONS,
    Ack,
    AckFact,
    AckState,
    AckSubject,
    InProgress,
    InvalidAckSubject,
    Nak,
    Next,
    Term,
    nanoseconds,
)

# ------------------------------------------------------------------------------------------------ bodies


def test_b109_ack_bodies_are_fixed_bytes():
    bodies = [verb.payload() for verb in (Ack(), Nak(), InProgress(), Term())]

    assert bodies == [b"+ACK", b"-NAK", b"+WPI", b"+TERM"]


def test_ready_made_verbs_equal_new_ones():
    assert [Ack(), Nak(), InProgress(), Term()] == [ACK, NAK, IN_PROGRESS, TERM]


@pytest.mark.parametrize(
    ("delay", "body"),
    [
        (1.5, b'-NAK {"delay":1500000000}'),
        (0, b"-NAK"),
        (None, b"-NAK"),
        (0.0, b"-NAK"),
        (0.3, b'-NAK {"delay":300000000}'),
        (3, b'-NAK {"delay":3000000000}'),
        (1e-9, b'-NAK {"delay":1}'),
        (1e-10, b"-NAK"),
        (timedelta(milliseconds=1), b'-NAK {"delay":1000000}'),
        (Duration.from_ns(1_000_001), b'-NAK {"delay":1000001}'),
        (1_000_000, b'-NAK {"delay":1000000000000000}'),
    ],
)
def test_b110_a_delay_is_an_integer_of_nanoseconds(delay, body):
    assert Nak(delay).payload() == body


@pytest.mark.parametrize(
    "delay",
    [
        -1,
        -0.001,
        float("nan"),
        float("inf"),
        1e300,
        10**12,
        timedelta(seconds=-1),
        timedelta.max,
        "1s",
        True,
        b"1",
    ],
)
def test_b110_an_impossible_delay_is_refused_by_name(delay):
    with pytest.raises(InvalidConfig, match="the delay of a nak"):
        Nak(delay)


def test_a_delay_of_any_whole_number_of_seconds_is_exact():
    assert nanoseconds(9_223_372_036, "x") == 9_223_372_036_000_000_000


@given(st.integers(0, 2**62))
def test_a_duration_keeps_its_nanoseconds(ns):
    assert nanoseconds(Duration.from_ns(ns), "x") == ns


def test_the_reason_of_a_term_is_trimmed_and_kept_in_utf_8():
    assert Term("  gar\r\nbage ü ").payload() == b"+TERM gar\r\nbage \xc3\xbc"
    assert Term("   ").payload() == b"+TERM"


@pytest.mark.parametrize("reason", [None, b"x", 1, "\ud800"])
def test_a_reason_that_is_no_text_is_refused(reason):
    with pytest.raises(InvalidConfig, match="reason"):
        Term(reason)


def test_next_says_what_a_pull_says():
    assert Next().payload() == b"+NXT 1"
    assert Next(batch=7).payload() == b"+NXT 7"
    assert Next(max_bytes=512).payload() == b'+NXT {"batch":1,"max_bytes":512}'
    assert (
        Next(batch=5, expires=1.5, max_bytes=1024, no_wait=True).payload()
        == b'+NXT {"batch":5,"expires":1500000000,"max_bytes":1024,"no_wait":true}'
    )
    assert Next(batch=2, expires=timedelta(seconds=1)).expires_ns == 1_000_000_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 0},
        {"batch": True},
        {"batch": 1.0},
        {"max_bytes": -1},
        {"expires": -1},
        {"expires": "1s"},
    ],
)
def test_next_refuses_what_no_pull_can_ask(wrong):
    with pytest.raises(InvalidConfig, match=r"batch|max_bytes|expiry"):
        Next(**wrong)


# ------------------------------------------------------------------------------------------------ the subject

V1 = "$JS.ACK.S.C.1.2.3.1700000000000000000.4"
V2 = "$JS.ACK.hub.szMpdrwD.S.P.1.1.1.1795811605093017101.12"


def test_b106_nine_tokens_are_the_short_form():
    assert AckSubject.parse(V1) == AckSubject(
        "", "", "S", "C", 1, 2, 3, 1_700_000_000_000_000_000, 4
    )


def test_b106_eleven_tokens_and_more_are_the_long_form():
    parsed = AckSubject.parse(V2)

    assert parsed == AckSubject("hub", "szMpdrwD", "S", "P", 1, 1, 1, 1_795_811_605_093_017_101, 12)
    assert AckSubject.parse(V2 + ".abcd.ef") == parsed._replace(tail="abcd.ef")
    assert AckSubject.parse("$JS.ACK._.h.S.C.1.2.3.4.5.r").domain == ""


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "$JS.ACK",
        "$JS.ACK.a.S.C.1.2.3.4.5",  # ten
        "$JS.ACK.S.C.1.2.3.4",  # eight
        "$JS.ACK.S.C.x.2.3.4.5",
        "$JS.ACK.S.C.1.2.3.4.",
        "$JS.ACK.S.C..2.3.4.5",
        "$JS.ACK.S.C.1.2.3.4.-5",
        "$JS.ACK.S.C.1.2.3.4.+5",
        "$JS.ACK.S.C.1.2.3.4.5_0",
        "$JS.ACK.S.C.1.2.3.4.\N{ARABIC-INDIC DIGIT FIVE}",
        "$JS.ACK.S.C.1.2.3.4.²",
        "$JS.ACK.S.C.1.2.3.4.18446744073709551616",
        "$JS.ACK.S.C.1.2.3.4." + "9" * 5000,
        "$JS.ACK..C.1.2.3.4.5",
        "$JS.ACK.S..1.2.3.4.5",
        "$JS.ACK..h.S.C.1.2.3.4.5",
        "$JS.ACK.d..S.C.1.2.3.4.5",
        "$js.ack.S.C.1.2.3.4.5",
        "$JS.NAK.S.C.1.2.3.4.5",
        "_INBOX.a.b.c.d.e.f.g.h",
    ],
)
def test_b106_everything_else_is_no_delivery(reply):
    with pytest.raises(InvalidAckSubject, match="expected") as caught:
        AckSubject.parse(reply)

    assert isinstance(caught.value, InvalidResponse)
    assert isinstance(caught.value, RemoteProtocolError)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 250


U64 = st.integers(0, 2**64 - 1)
TOKEN = st.text(
    st.characters(codec="utf-8", exclude_characters=". \t\r\n", exclude_categories=["Cs"]),
    min_size=1,
)


@given(
    st.tuples(TOKEN, TOKEN),
    st.tuples(U64, U64, U64, U64, U64),
    st.none() | st.tuples(TOKEN, TOKEN, st.lists(TOKEN, max_size=3)),
)
def test_invariant_45_sound_subjects_parse_to_their_one_meaning_exactly(names, numbers, long):
    domain, account, tail = long or ("", "", [])
    front = f"{domain}.{account}." if long else ""
    reply = ".".join([f"$JS.ACK.{front}{'.'.join(names)}", *map(str, numbers), *tail])

    parsed = AckSubject.parse(reply)

    assert parsed == ("" if domain == "_" else domain, account, *names, *numbers, ".".join(tail))
    assert parsed.subject() == reply


@given(
    st.text(max_size=80)
    | st.lists(
        st.text(st.sampled_from("0123456789SCx_"), max_size=22), min_size=5, max_size=12
    ).map(lambda tokens: ".".join(["$JS.ACK", *tokens]))
    | st.builds(
        lambda names, numbers: ".".join(["$JS.ACK", *names, *map(str, numbers)]),
        st.sampled_from([["S", "C"], ["_", "A", "S", "C"], ["hub", "A", "S", "C"]]),
        st.lists(st.integers(0, 2**65), min_size=5, max_size=6),
    )
)
@example("$JS.ACK.S.C.1.2.3.4.5")
@example("$JS.ACK.S.C.1.2.3.4.5.6")
def test_invariant_45_parsing_is_total(reply):
    try:
        parsed = AckSubject.parse(reply)
    except InvalidAckSubject:
        return

    assert max(parsed[4:9]) <= 2**64 - 1
    assert AckSubject.parse(parsed.subject()) == parsed


@pytest.fixture
def indian_time():
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Kolkata"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_b107_the_timestamp_is_utc_whatever_the_zone_of_the_host(indian_time):
    parsed = AckSubject.parse("$JS.ACK.S.C.1.2.3.1700000000123456789.4")

    assert parsed.timestamp_ns == 1_700_000_000_123_456_789
    assert parsed.timestamp == datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)
    assert parsed.timestamp.utcoffset() == timedelta(0)


def test_even_the_largest_timestamp_has_a_datetime():
    assert AckSubject.parse(f"$JS.ACK.S.C.1.2.3.{2**64 - 1}.4").timestamp.year == 2554


# ------------------------------------------------------------------------------------------------ the automaton


def test_the_table_knows_every_state():
    assert set(TRANSITIONS) == set(AckState)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(AckFact), max_size=12))
def test_invariant_44_progress_then_at_most_one_terminal_ack_then_nothing(facts):
    """Whatever is tried, two terminal acks are only ever sent with the news between them that the
    first failed.
    """
    state = AckState.OPEN
    terminal_out = False
    for fact in facts:
        following = TRANSITIONS[state].get(fact)
        if following is None:
            continue
        if fact in {AckFact.SENT, AckFact.SENT_ASKING}:
            assert not terminal_out
            terminal_out = True
        elif fact is AckFact.PROGRESSED:
            assert not terminal_out
        elif fact in {AckFact.UNSENT, AckFact.UNCONFIRMED}:
            terminal_out = False
        state = following

    assert (state is AckState.OPEN) == (not terminal_out)


@pytest.mark.parametrize("version", ["2.9.10", "v2.9.25", "2.8.0", "1.4.1"])
def test_a_reason_is_left_out_for_a_server_that_would_not_understand_it(version):
    assert Term("bad").known_to(version).payload() == b"+TERM"


@pytest.mark.parametrize(
    "version", ["2.10.0", "2.10.26", "2.15.0-dev", "3.0.0", "", "unknown", "2"]
)
def test_a_reason_is_said_to_any_other_server(version):
    assert Term("bad").known_to(version).payload() == b"+TERM bad"


# ------------------------------------------------------------------ names and words


def test_the_names_for_the_hot_path_are_the_states_themselves():
    assert [ack.OPEN, ack.CUMULATIVE, ack.ASKED, ack.SETTLED, ack.MUTE] == list(AckState)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            lambda: Nak(delay="soon"),
            "expected seconds or a timedelta as the delay of a nak, got str 'soon'",
        ),
        (
            lambda: Nak(delay=-1.5),
            f"expected the delay of a nak between 0 and {2**63 - 1} ns, got -1.5",
        ),
        (
            lambda: Next(expires=-2),
            f"expected the expiry of a pull between 0 and {2**63 - 1} ns, got -2",
        ),
        (lambda: Term(7), "expected text as the reason of a term, got int"),
        (lambda: Term("\udc80"), "expected a reason that UTF-8 can carry, got '\\udc80'"),
        (lambda: Next(batch=0), "expected a whole number of at least 1 as batch, got 0"),
        (lambda: Next(max_bytes=-1), "expected a whole number of at least 0 as max_bytes, got -1"),
    ],
)
def test_what_can_not_be_said_is_refused_with_what_was_expected_and_seen(made, text):
    with pytest.raises(InvalidConfig) as caught:
        made()

    assert str(caught.value) == text


def test_verbs_are_made_by_the_names_of_what_they_say():
    assert Nak(delay=0.5).payload() == b'-NAK {"delay":500000000}'
    assert Next(expires=1).payload() == b'+NXT {"batch":1,"expires":1000000000}'
    assert Next().no_wait is False


def test_digits_are_counted_before_they_are_read():
    reply = f"$JS.ACK.S.C.{'1' * 97}.1.1.1.1"

    with pytest.raises(InvalidAckSubject, match="expected five decimal numbers"):
        AckSubject.parse(reply)
    with pytest.raises(InvalidAckSubject, match="expected numbers of at most 64 bits"):
        AckSubject.parse(f"$JS.ACK.S.C.{'1' * 96}.1.1.1.1")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("$JS.ACK.S.C.1", "9 or at least 11 tokens, not 5,"),
        ("$JS.ACK.._hash.S.C.1.1.1.1.0", "a domain and an account hash"),
        ("$JS.ACK._..S.C.1.1.1.1.0", "a domain and an account hash"),
        ("$JS.ACK..C.1.1.1.1.0", "$JS.ACK, a stream and a consumer"),
        ("$JS.NAK.S.C.1.1.1.1.0", "$JS.ACK, a stream and a consumer"),
        ("$JX.ACK.S.C.1.1.1.1.0", "$JS.ACK, a stream and a consumer"),
        ("$JS.ACK.S..1.1.1.1.0", "$JS.ACK, a stream and a consumer"),
        ("$JS.ACK.S.C.1.1.x.1.0", "five decimal numbers"),
        ("$JS.ACK.S.C.1.1..1.0", "five decimal numbers"),
        ("$JS.ACK.S.C.1.1.1.1.18446744073709551616", "numbers of at most 64 bits"),
    ],
)
def test_a_reply_that_is_no_ack_subject_is_refused_with_what_was_expected_and_seen(reply, expected):
    with pytest.raises(InvalidAckSubject) as caught:
        AckSubject.parse(reply)

    assert (
        str(caught.value)
        == f"expected {expected} in the reply subject of a JetStream message, got {reply!r}"
    )


def test_the_largest_numbers_are_read():
    most = 2**64 - 1

    assert AckSubject.parse(f"$JS.ACK.S.C.1.{most}.1.1.0").stream_sequence == most


@pytest.mark.parametrize("at", range(5))
def test_each_of_the_five_numbers_has_at_most_64_bits(at):
    numbers = ["1"] * 5
    numbers[at] = str(2**64)

    with pytest.raises(InvalidAckSubject, match="numbers of at most 64 bits"):
        AckSubject.parse(f"$JS.ACK.S.C.{'.'.join(numbers)}")


@pytest.mark.parametrize("domain", ["_", "hub"])
def test_the_long_form_is_written_as_it_was_read(domain):
    reply = f"$JS.ACK.{domain}.hash.S.C.1.2.3.4.5"

    assert AckSubject.parse(reply).subject() == reply
