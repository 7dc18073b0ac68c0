import pytest

from jsproto.testing.simserver.consumers.acks import (
    AckAddress,
    AckWord,
    ack_subject,
    ack_word,
    nak_delay,
    parse_ack_subject,
)

NUMBERS = (2, 7, 9, 1_800_000_000_000_000_000, 3)
ADDRESS = ("S", "C", 2, 7, 9, 1_800_000_000_000_000_000)


def test_the_first_form_has_nine_tokens():
    subject = ack_subject("S", "C", NUMBERS, v2=False)

    assert subject == "$JS.ACK.S.C.2.7.9.1800000000000000000.3"
    assert parse_ack_subject(subject, v2=False) == AckAddress(*ADDRESS)
    assert parse_ack_subject(subject, v2=True) == AckAddress(*ADDRESS)


def test_the_second_form_begins_with_domain_and_account():
    subject = ack_subject("S", "C", NUMBERS, v2=True, domain="hub")

    assert subject == "$JS.ACK.hub.szMpdrwD.S.C.2.7.9.1800000000000000000.3"
    assert parse_ack_subject(subject + ".more", v2=True, domain="hub") == AckAddress(*ADDRESS)
    assert parse_ack_subject(subject, v2=True, domain="other") is None
    assert parse_ack_subject(subject, v2=False, domain="hub") is None
    assert parse_ack_subject(subject.replace("szMpdrwD", "xxxxxxxx"), v2=True, domain="hub") is None


def test_numbers_that_are_none_are_zero():
    subject = "$JS.ACK.S.C.x.-1." + "9" * 30 + ".²4.5"

    assert parse_ack_subject(subject, v2=False) == AckAddress("S", "C", 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("payload", "word"),
    [
        (b"", AckWord.ACK),
        (b"+ACK", AckWord.ACK),
        (b"+OK", AckWord.ACK),
        (b"+ACK ", AckWord.UNKNOWN),
        (b"+ack", AckWord.UNKNOWN),
        (b"-NAK", AckWord.NAK),
        (b"-NAKgarbage", AckWord.NAK),
        (b"+WPI", AckWord.PROGRESS),
        (b"+WPI ", AckWord.UNKNOWN),
        (b"+TERM", AckWord.TERM),
        (b"+TERM why", AckWord.TERM),
        (b"+NXT", AckWord.NEXT),
        (b'+NXT{"batch":1}', AckWord.NEXT),
    ],
)
def test_words_are_compared_as_the_server_compares_them(payload, word):
    assert ack_word(payload, term_reason=True) is word


def test_on_2_9_a_reason_makes_a_termination_void():
    assert ack_word(b"+TERM why", term_reason=False) is AckWord.UNKNOWN
    assert ack_word(b"+TERM", term_reason=False) is AckWord.TERM


@pytest.mark.parametrize(
    ("payload", "delay"),
    [
        (b"-NAK", None),
        (b'-NAK {"delay":500}', 500),
        (b"-NAK 1.5s", 1_500_000_000),
        (b"-NAK {}", 0),
        (b'-NAK {"delay":"1s"}', None),
        (b"-NAK {", None),
        (b"-NAK soon", None),
    ],
)
def test_delays_of_a_nak(payload, delay):
    assert nak_delay(payload) == delay
