"""Every text of the server's refusals has one meaning."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.connection.server_errors import ROWS, LinkEffect, refusal
from jsproto.errors import AuthorizationFailed, PermissionViolation, ServerError, StaleConnection

TEXTS = [
    ("Unknown Protocol Operation", LinkEffect.ENDS, ServerError),
    ("maximum control line exceeded", LinkEffect.ENDS, ServerError),
    ("Maximum Payload Violation", LinkEffect.ENDS, ServerError),
    ("Authorization Violation", LinkEffect.LOCKED_OUT, AuthorizationFailed),
    ("Authentication Timeout", LinkEffect.ENDS, AuthorizationFailed),
    ("maximum connections exceeded", LinkEffect.ENDS, ServerError),
    ("Stale Connection", LinkEffect.ENDS, StaleConnection),
    ("invalid client protocol", LinkEffect.ENDS, ServerError),
    ("no responders requires headers support", LinkEffect.ENDS, ServerError),
    ('Permissions Violation for Publish to "a.b"', LinkEffect.STAYS, PermissionViolation),
    (
        'Permissions Violation for Publish with Reply of "_R_.x"',
        LinkEffect.STAYS,
        PermissionViolation,
    ),
    (
        'Permissions Violation for Subscription to "a" using queue "q"',
        LinkEffect.STAYS,
        PermissionViolation,
    ),
    (
        'Permissions Violation for Subscription to "a" (sid "3")',
        LinkEffect.STAYS,
        PermissionViolation,
    ),
    ("Permissions Violation", LinkEffect.STAYS, PermissionViolation),
    ("maximum subscriptions exceeded", LinkEffect.STAYS, ServerError),
    ("Invalid Subject", LinkEffect.STAYS, ServerError),
    ("Invalid Publish Subject", LinkEffect.STAYS, ServerError),
    ("User Authentication Expired", LinkEffect.RENEW, AuthorizationFailed),
    ("User Authentication Revoked", LinkEffect.RENEW, AuthorizationFailed),
    ("Account Authentication Expired", LinkEffect.RENEW, AuthorizationFailed),
    ("maximum account active connections exceeded", LinkEffect.ENDS, ServerError),
    ("Secure Connection - TLS Required", LinkEffect.ENDS, ServerError),
    ("Failed Account Registration", LinkEffect.ENDS, ServerError),
    ("Connection throttling is active. Please try again later.", LinkEffect.ENDS, ServerError),
    ("Some New Error", LinkEffect.UNKNOWN, ServerError),
    ("", LinkEffect.UNKNOWN, ServerError),
]


@pytest.mark.parametrize(("text", "fate", "kind"), TEXTS)
@pytest.mark.parametrize("case", [str, str.lower, str.upper])
def test_each_text_has_its_fate_and_error_B161(text, fate, kind, case):
    said = refusal(case(text))

    assert fate is said.fate
    assert type(said.error) is kind
    assert case(text) in str(said.error)


@pytest.mark.parametrize(
    ("text", "operation", "subject", "queue", "sid"),
    [
        ('Publish to "a.b"', "publish", "a.b", "", ""),
        ('Publish with Reply of "_R_.x"', "publish", "_R_.x", "", ""),
        ('Subscription to "a"', "subscription", "a", "", ""),
        ('Subscription to "a" using queue "q"', "subscription", "a", "q", ""),
        ('Subscription to "a" (sid "3")', "subscription", "a", "", "3"),
        ("Something", "", "", "", ""),
        # as nats-server 2.9.10 to 2.15.1 quote: %q of Go
        (r'Subscription to "we\\ird"', "subscription", r"we\ird", "", ""),
        (r'Subscription to "a\"b" using queue "c\"d"', "subscription", 'a"b', 'c"d', ""),
        (r'Publish to "a\x7f\u200b\U000e0001\a\v"', "publish", "a\x7f\u200b\U000e0001\a\v", "", ""),
        ('Publish to "ü.ä"', "publish", "ü.ä", "", ""),
        (r'Publish to "\Uffffffff"', "publish", "\U0010ffff", "", ""),
    ],
)
def test_a_violation_names_what_was_refused_as_it_was_before_it_was_quoted(
    text, operation, subject, queue, sid
):
    said = refusal(f"Permissions Violation for {text}")
    error = said.error

    assert (operation, subject, queue, sid) == (
        error.operation,
        error.subject,
        error.queue,
        error.sid,
    )
    assert subject == said.subject


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_whatever_is_quoted_comes_back(subject):
    quoted = "".join(
        each
        if each.isprintable() and each not in '"\\'
        else f"\\{each}"
        if each in '"\\'
        else f"\\U{ord(each):08x}"
        for each in subject
    )

    assert refusal(f'Permissions Violation for Publish to "{quoted}"').subject == subject


@given(
    st.one_of(
        st.text(),
        st.sampled_from([begin for begin, _, _ in ROWS]).flatmap(
            lambda begin: st.builds(str.__add__, st.just(begin), st.text())
        ),
    )
)
def test_every_text_has_one_fate_and_one_typed_error_34(text):
    said = refusal(text)
    known = [(fate, kind) for begin, fate, kind in ROWS if text.lower().startswith(begin)]

    assert (said.fate, type(said.error)) == (known or [(LinkEffect.UNKNOWN, ServerError)])[0]
    assert refusal(text) == said or str(refusal(text).error) == str(said.error)


def test_no_row_hides_a_later_one():
    for at, (begin, _, _) in enumerate(ROWS):
        assert not [later for later, _, _ in ROWS[at + 1 :] if later.startswith(begin)]


@pytest.mark.parametrize(
    "piece", ["Publish", 'Publish"', 'Publish "\\', 'Subscription to "a" using queue ', '"', "x"]
)
def test_a_text_of_any_length_is_judged_in_one_pass(piece):
    text = "Permissions Violation for " + piece * (500_000 // len(piece))
    begun = time.process_time()
    said = refusal(text)

    assert time.process_time() - begun < 2.0  # a second look for each piece takes minutes
    assert said.fate is LinkEffect.STAYS
    assert len(str(said.error)) < 300
