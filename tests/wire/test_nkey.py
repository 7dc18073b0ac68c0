"""Keys as text: each has one text, a damaged one is refused, and nothing shows a seed."""

from __future__ import annotations

from base64 import b32encode
from binascii import crc_hqx

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidCredentials
from jsproto.wire.nkey import LETTERS, PUBLIC_LENGTH, SEED_LENGTH, KeyKind, PublicKey, Seed

# A pair that the documentation of nats-server uses as its example.
SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
PUBLIC = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"

KINDS = st.sampled_from(KeyKind)
RAWS = st.binary(min_size=32, max_size=32)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@given(KINDS, RAWS)
def test_text_of_a_key_is_read_as_that_key(kind, raw):
    public, seed = PublicKey(kind, raw), Seed(kind, raw)

    assert PublicKey.parse(str(public)) == public
    assert Seed.parse(seed.reveal()) == seed
    assert Seed.parse(seed.reveal().encode()) == seed
    assert (str(public)[0], seed.reveal()[:2]) == (LETTERS[kind], "S" + LETTERS[kind])
    assert (len(str(public)), len(seed.reveal())) == (PUBLIC_LENGTH, SEED_LENGTH)


def test_the_example_of_the_servers_documentation_is_understood():
    assert Seed.parse(SEED).kind is KeyKind.USER
    assert Seed.parse(SEED).reveal() == SEED
    assert str(PublicKey.parse(PUBLIC)) == PUBLIC
    assert PublicKey.parse(PUBLIC).kind is KeyKind.USER


@given(KINDS, RAWS, st.booleans(), st.data())
def test_one_wrong_character_is_always_noticed(kind, raw, is_seed, data):
    parse = Seed.parse if is_seed else PublicKey.parse
    text = Seed(kind, raw).reveal() if is_seed else str(PublicKey(kind, raw))
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(ALPHABET).filter(lambda char: char != text[at]))

    with pytest.raises(InvalidCredentials) as caught:
        parse(text[:at] + other + text[at + 1 :])

    assert text[2:12] not in str(caught.value)


@given(st.text(max_size=70) | st.binary(max_size=70) | st.text(ALPHABET, min_size=56, max_size=58))
def test_anything_else_is_a_typed_error_and_nothing_but(text):
    for parse in (PublicKey.parse, Seed.parse):
        with pytest.raises(InvalidCredentials):
            parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "match"),
    [
        (PublicKey.parse, None, "expected a public nkey as text, got NoneType"),
        (PublicKey.parse, "", "expected 56 characters as a public nkey, got 0"),
        (PublicKey.parse, SEED, "expected 56 characters as a public nkey, got 58"),
        (PublicKey.parse, PUBLIC.lower(), "expected only A to Z and 2 to 7"),
        (PublicKey.parse, "Ü" + PUBLIC[1:], "expected only A to Z and 2 to 7"),
        (PublicKey.parse, PUBLIC[:-1] + "5", "expected a checksum"),
        (Seed.parse, PUBLIC, "expected 58 characters as the seed of an nkey, got 56"),
        (Seed.parse, SEED[:-1] + "Z", "expected zeros in the last bits of the seed"),
        (
            Seed.parse,
            bytearray(SEED.encode()),
            "expected the seed of an nkey as text, got bytearray",
        ),
    ],
)
def test_what_is_wrong_is_said(parse, text, match):
    with pytest.raises(InvalidCredentials, match=match):
        parse(text)


def forged(begin):
    """Right length and right checksum, whatever it begins with."""
    data = begin + bytes(32)
    return b32encode(data + crc_hqx(data, 0).to_bytes(2, "little")).rstrip(b"=").decode()


def bits(first, second, rest=0):
    return (ALPHABET.index(first) << 11 | ALPHABET.index(second) << 6 | rest).to_bytes(2, "big")


@pytest.mark.parametrize(
    ("parse", "begin"),
    [
        (PublicKey.parse, bytes([ALPHABET.index("P") << 3])),
        (PublicKey.parse, bytes([ALPHABET.index("U") << 3 | 1])),
        (Seed.parse, bits("P", "U")),
        (Seed.parse, bits("S", "B")),
        *((Seed.parse, bits("S", "U", 1 << place)) for place in range(6)),
    ],
)
def test_a_good_checksum_does_not_make_a_key(parse, begin):
    assert Seed.parse(forged(bits("S", "U"))).raw == bytes(32)
    with pytest.raises(InvalidCredentials, match="begins with"):
        parse(forged(begin))


@pytest.mark.parametrize("kind", [PublicKey, Seed])
@pytest.mark.parametrize(("raw", "seen"), [(b"x" * 31, "31"), (b"", "0"), ("x" * 32, "str")])
def test_a_key_has_32_raw_bytes(kind, raw, seen):
    with pytest.raises(InvalidCredentials, match=f"expected 32 raw bytes of a key, got {seen}"):
        kind(KeyKind.USER, raw)
