"""Values with secrets: shown to nobody and pickled never, and without a secret they are values like
others.
"""

from __future__ import annotations

import copy
import pickle
from typing import final

import pytest
from attrs import field, frozen

from jsproto.errors import InvalidConfig, LocalProtocolError
from jsproto.wire.secret import RedactedSecret, file_name
from tests.accounts import USER, creds


@final
@frozen
class Account(RedactedSecret):
    name: str
    password: str | None = field(default=None, repr=False)
    pin: str | None = field(default=None, repr=False)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_holds_a_secret_is_not_pickled_and_says_which_field(protocol):
    with pytest.raises(LocalProtocolError, match="Account holds pin: create it again") as caught:
        pickle.dumps({"deep": [Account("joe", pin="canary")]}, protocol)

    assert "canary" not in str(caught.value)


def test_without_a_secret_it_is_pickled_like_any_value():
    account = Account("joe")

    assert pickle.loads(pickle.dumps(account)) == account


def test_a_copy_is_the_value_itself():
    account = Account("joe", "canary")

    assert copy.copy(account) is account
    assert copy.deepcopy([account])[0] is account


@pytest.mark.parametrize(
    "name",
    [
        "me.creds",
        "~/.nkeys/creds/O/A/me.creds",
        "SU.nk",
        "/k/U" + "A" * 55 + ".nk",
        "eyJ.pem",
        "a-b---c",
    ],
)
def test_the_name_of_a_file_is_taken_as_it_is(name):
    assert name == file_name(name)


@pytest.mark.parametrize(
    "content",
    [
        creds(),
        " ".join(creds().splitlines()),
        creds().splitlines()[1],
        USER.reveal(),
        f"/keys/{USER.reveal()}.nk",
        "canary\ncanary",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_what_belongs_into_a_file_is_no_name_and_is_not_shown(content):
    with pytest.raises(InvalidConfig, match="expected the name of a file") as caught:
        file_name(content)

    assert max(content.split(), key=len) not in str(caught.value)
