"""Creds texts and JWTs: what they say is read, everything else is one typed error that holds
nothing of them.
"""

from __future__ import annotations

import base64
import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.connection.creds import MAX_CREDS, Claims, UserCreds, user_seed
from jsproto.errors import InvalidCredentials
from jsproto.wire.nkey import KeyKind, PublicKey, Seed

SEED = Seed(KeyKind.USER, b"c" * 32)
USER = str(PublicKey(KeyKind.USER, b"p" * 32))
CANARY = "cAnAry"


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(claims):
    return ".".join(
        part(each if isinstance(each, bytes) else json.dumps(each).encode())
        for each in ({}, claims, b"sig")
    )


def creds(
    jwt_=None,
    seed=SEED,
    first="-----BEGIN NATS USER JWT-----",
    ends="------END {} ------",
    eol="\n",
):
    lines = [
        "for people --- who read",
        first,
        jwt_ or jwt({"sub": USER, "name": "joe", "exp": 7}),
        ends.format("NATS USER JWT"),
        "",
        "************************* IMPORTANT *************************",
        "-----",
        "-----BEGIN USER NKEY SEED-----",
        seed.reveal(),
        ends.format("USER NKEY SEED"),
        "",
    ]
    return eol.join(lines)


def silent(error, *secrets):
    """Neither it nor what it was raised behind holds a secret."""
    while error is not None:
        for secret in (CANARY, SEED.reveal(), *secrets):
            assert secret not in f"{error!r} {error} {vars(error)}"
        error = error.__context__


# ---------------------------------------------------------------------------------------------- creds


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\n\n", "  \n\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_jwt_and_seed_are_found_between_their_fences(eol, mark):
    text = mark + creds(eol=eol)

    for given_ in (text, text.encode()):
        found = UserCreds.parse(given_)

        assert found == UserCreds(jwt=jwt({"sub": USER, "name": "joe", "exp": 7}), seed=SEED)
        assert found.claims == Claims(name="joe", subject=USER, expires=7)


def test_the_blocks_may_come_in_any_order_and_a_jwt_may_be_wrapped():
    token = jwt({"sub": USER})
    text = creds(f"{token[:20]}\n  {token[20:]}")
    head, tail = text.split("****", 1)

    assert UserCreds.parse(tail + "\n" + head).jwt == token


def damaged():
    text = creds()
    yield "lone seed", SEED.reveal(), "one block with a JWT in the creds file, got 0"
    yield "empty", "", "one block with a JWT in the creds file, got 0"
    yield "no text", None, "creds file as text, got NoneType"
    yield "other bytes", text.encode("utf-16"), "creds file in UTF-8"
    yield "too long", " " * (MAX_CREDS + 1), f"at most {MAX_CREDS} bytes"
    yield "no seed", text[: text.index("****")], "one block with a SEED in the creds file, got 0"
    yield "two", text + text, "one block with a JWT in the creds file, got 2"
    yield "no first fence", creds(first=""), "BEGIN and END to take turns"
    yield "only begins", creds(ends=""), "BEGIN and END to take turns"
    yield "cut", text[: text.index(SEED.reveal()) + 20], "an END after the last BEGIN"
    yield "seed cut", text.replace(SEED.reveal(), SEED.reveal()[:-1]), "58 characters as the seed"
    yield (
        "account",
        creds(seed=Seed(KeyKind.ACCOUNT, b"c" * 32)),
        "seed of a user .SU...., got one of kind ACC",
    )
    yield "no jwt", creds(f"{CANARY}.x"), "expected a JWT, three parts"
    yield (
        "no subject",
        creds(jwt({"name": "joe"})),
        "expected 56 characters as a public nkey, got 0",
    )
    account = str(PublicKey(KeyKind.ACCOUNT, b"p" * 32))
    yield (
        "account's",
        creds(jwt({"sub": account})),
        "JWT of a user in the creds file, got one of kind ACC",
    )


@pytest.mark.parametrize("case", list(damaged()), ids=lambda case: case[0])
def test_a_damaged_creds_text_says_what_is_wrong_and_nothing_of_itself(case):
    _, text, match = case
    with pytest.raises(InvalidCredentials, match=match) as caught:
        UserCreds.parse(text)

    silent(caught.value)


@given(st.data())
def test_a_cut_or_changed_creds_text_is_read_whole_or_refused(data):
    text = creds()
    start, stop = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))
    other = data.draw(st.text(max_size=5) | st.sampled_from(["---BEGIN JWT---\n", "\n---END---\n"]))
    try:
        found = UserCreds.parse(text[:start] + other + text[stop:])
    except InvalidCredentials as error:
        silent(error, SEED.reveal()[10:30])
    else:
        assert found.seed == SEED


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_any_text_is_read_or_refused(text):
    with pytest.raises(InvalidCredentials):
        UserCreds.parse(text)


def test_creds_show_nothing():
    found = UserCreds.parse(creds())

    assert repr(found) == "UserCreds(seed=Seed(kind=<KeyKind.USER: 'USER'>))"
    assert copy.deepcopy(found) is found


def test_the_seed_of_a_user_may_be_given_in_each_form():
    assert user_seed(SEED) == user_seed(SEED.reveal()) == user_seed(SEED.reveal().encode()) == SEED


# ---------------------------------------------------------------------------------------------- claims


def test_claims_are_read_without_asking_who_signed():
    full = {
        "jti": "x",
        "iat": 1,
        "iss": "A",
        "name": "joe",
        "sub": "U",
        "exp": 2**63 - 1,
        "nats": {"version": 2},
    }

    assert Claims.read(jwt(full)) == Claims(name="joe", subject="U", issuer="A", expires=2**63 - 1)


@pytest.mark.parametrize("claims", [{}, {"exp": 0}, {"exp": None, "name": None, "sub": None}])
def test_a_claim_that_is_not_made_is_empty(claims):
    assert Claims.read(jwt(claims)) == Claims()


@pytest.mark.parametrize(
    ("token", "match"),
    [
        (None, "JWT as text, got NoneType"),
        (b"a.b.c", "JWT as text, got bytes"),
        ("", "three parts"),
        (f"{CANARY}.{CANARY}", "three parts"),
        (f"a.{CANARY}=.c", "three parts"),
        (f"a.b.c\n{CANARY}", "three parts"),
        ("a.b.c\n", "three parts"),
        ("a." + "b" * MAX_CREDS + ".c", "three parts"),
        (f"a.{CANARY}.c", "JSON object as claims"),
        ("a.bbbbb.c", "JSON object as claims"),
        (jwt(b"\xff" + CANARY.encode()), "JSON object as claims"),
        (jwt(f'"{CANARY}"'.encode()), "JSON object as claims"),
        (jwt(f'{{"{CANARY}": NaN}}'.encode()), "JSON object as claims"),
        (jwt(f'{{"exp": 1, "{CANARY}"'.encode()), "JSON object as claims"),
        (jwt(b"[" * 100_000), "JSON object as claims"),
        (jwt(b'{"exp": ' + b"9" * 5000 + b"}"), "JSON object as claims"),
        (jwt({"exp": CANARY}), "whole seconds"),
        (jwt({"exp": True}), "whole seconds"),
        (jwt({"exp": 1.5}), "whole seconds"),
        (jwt({"exp": -1}), "whole seconds"),
        (jwt({"exp": 2**63}), "whole seconds"),
        (jwt({"name": [CANARY]}), "text as name of the JWT, got list"),
        (jwt({"sub": 5}), "text as sub of the JWT, got int"),
    ],
)
def test_what_is_no_jwt_is_refused_without_a_word_of_it(token, match):
    with pytest.raises(InvalidCredentials, match=match) as caught:
        Claims.read(token)

    silent(caught.value)
