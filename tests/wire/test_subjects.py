import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidSubject
from jsproto.wire import subjects
from jsproto.wire.subjects import (
    consumer_name,
    publish_subject,
    queue_name,
    reply_subject,
    sid_token,
    stream_name,
    subject_matches,
    subject_prefix,
    subscription_subject,
)

LITERAL = [publish_subject, reply_subject, subject_prefix]
SUBJECTS = [*LITERAL, subscription_subject]
TOKENS = [queue_name, sid_token]
NAMES = [stream_name, consumer_name]
BREAKERS = [
    "\r",
    "\n",
    "\r\n",
    "\0",
    " ",
    "\t",
    "\v",
    "\f",
    "\x7f",
    "\x1b",
    "\x1f",
    "\ud800",
    "\udcff",
]


@pytest.mark.parametrize("check", [*SUBJECTS, *TOKENS, *NAMES])
@pytest.mark.parametrize("breaker", BREAKERS)
def test_no_name_carries_a_blank_a_control_character_or_a_surrogate(check, breaker):
    for text in (breaker, f"a{breaker}", f"{breaker}a", f"a{breaker}b"):
        with pytest.raises(InvalidSubject, match=r"expected .*, got "):
            check(text)


@pytest.mark.parametrize("check", [*SUBJECTS, *TOKENS, *NAMES])
@pytest.mark.parametrize("other", [None, 5, b"a", ("a",)])
def test_a_name_is_text(check, other):
    with pytest.raises(InvalidSubject, match="got"):
        check(other)


@pytest.mark.parametrize("check", [*SUBJECTS, *TOKENS, *NAMES])
def test_a_name_is_not_empty(check):
    with pytest.raises(InvalidSubject, match="got ''"):
        check("")


@pytest.mark.parametrize("check", SUBJECTS)
@pytest.mark.parametrize("subject", [".", ".a", "a.", "a..b", "..", "a.b."])
def test_a_subject_has_no_empty_token(check, subject):
    with pytest.raises(InvalidSubject):
        check(subject)


@pytest.mark.parametrize("check", SUBJECTS)
@pytest.mark.parametrize(
    "subject",
    ["a", "a.b", "$JS.API.INFO", "_INBOX.x", "été.日本", "a*b", ">>", "a.b>", "*a.x", "\x85"],
)
def test_wildcard_characters_inside_a_token_are_text(check, subject):
    assert check(subject) == subject


@pytest.mark.parametrize("check", LITERAL)
@pytest.mark.parametrize("subject", ["*", ">", "a.*", "a.>", "*.a", ">.a", "a.*.b", "a.>.b"])
def test_nothing_is_published_to_a_wildcard(check, subject):
    with pytest.raises(InvalidSubject, match="without wildcard"):
        check(subject)


@pytest.mark.parametrize("subject", ["*", ">", "a.*", "a.>", "*.a", "a.*.b", "*.*.>"])
def test_wildcards_are_listened_on(subject):
    assert subscription_subject(subject) == subject


@pytest.mark.parametrize("subject", [">.a", "a.>.b", ">.>", "*.>.*"])
def test_the_full_wildcard_is_the_last_token(subject):
    with pytest.raises(InvalidSubject, match="only as the last"):
        subscription_subject(subject)


@pytest.mark.parametrize("check", NAMES)
@pytest.mark.parametrize(
    "name", ["a.b", "*", "a*", ">", "a>", "a/b", "a\\b", ".", "x" * 256, "é" * 128]
)
def test_a_stream_or_consumer_name_is_a_token_and_a_file_name(check, name):
    with pytest.raises(InvalidSubject, match="name of 1 to 255 bytes"):
        check(name)


@pytest.mark.parametrize("check", NAMES)
@pytest.mark.parametrize("name", ["ORDERS", "a-b_c", "x" * 255, "é", "a:b"])
def test_other_names_of_streams_and_consumers_pass(check, name):
    assert check(name) == name


@pytest.mark.parametrize("check", TOKENS)
@pytest.mark.parametrize("name", ["workers", "a.b", "q*", "été", "7"])
def test_queues_and_sids_are_any_token(check, name):
    assert check(name) == name


def test_the_memory_of_passed_subjects_is_bounded_and_keeps_refusing():
    for number in range(3000):
        publish_subject(f"orders.{number}")

    assert len(subjects._passed) <= 1024
    assert publish_subject("orders.1") == "orders.1"
    with pytest.raises(InvalidSubject):
        publish_subject("orders..1")


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("a", "a.b", False),
        ("a.b", "a", False),
        ("*", "a", True),
        ("*", "a.b", False),
        (">", "a", True),
        (">", "a.b.c", True),
        ("a.>", "a", False),
        ("a.>", "a.b", True),
        ("a.>", "b.b", False),
        ("a.*.c", "a.b.c", True),
        ("a.*.c", "a.b.d", False),
        ("*.*.>", "a.b", False),
        ("*.*.>", "a.b.c.d", True),
        ("a*", "a*", True),
        ("a*", "ab", False),
    ],
)
def test_a_filter_matches_as_the_server_matches(pattern, subject, matches):
    assert subject_matches(pattern, subject) is matches


@given(st.text(max_size=12))
def test_a_subject_that_passes_is_one_word_of_a_control_line(text):
    for check in (*SUBJECTS, *TOKENS, *NAMES):
        try:
            check(text)
        except InvalidSubject:
            continue

        assert text.encode().split() == [text.encode()]
