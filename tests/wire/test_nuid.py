import random
from collections import Counter

import pytest

from jsproto.errors import LocalProtocolError
from jsproto.wire.nuid import DIGITS, LENGTH, derived, nuid


def test_the_same_entropy_gives_the_same_id():
    assert nuid(lambda n: bytes(range(n))) == nuid(lambda n: bytes(range(n)))


@pytest.mark.parametrize("byte", [0, 255])
def test_any_entropy_gives_22_letters_and_digits(byte):
    name = nuid(lambda n: bytes([byte]) * n)

    assert len(name) == LENGTH == 22
    assert set(name) <= set(DIGITS)


def test_no_digit_at_any_place_is_preferred():
    source = random.Random(7)
    names = [nuid(source.randbytes) for _ in range(6200)]

    assert len(set(names)) == 6200
    for place in range(LENGTH):
        counts = Counter(name[place] for name in names)
        assert set(counts) == set(DIGITS)
        assert min(counts.values()) > 50
        assert max(counts.values()) < 150


def test_entropy_of_another_length_is_refused():
    with pytest.raises(LocalProtocolError, match="expected 32 bytes of entropy, got 3"):
        nuid(lambda _: b"abc")


def test_a_derived_id_is_always_the_same_for_a_text_and_does_not_show_it():
    one = derived("_INBOX.P.secret.7.1")

    assert one == derived("_INBOX.P.secret.7.1")
    assert one != derived("_INBOX.P.secret.7.2")
    assert len(one) == LENGTH
    assert set(one) <= set(DIGITS)
