"""Values with secrets: shown to nobody and pickled never, and without a secret they are values like others."""

from __future__ import annotations

import copy
import pickle
from typing import final

import pytest
from attrs import field, frozen

from jsproto.errors import LocalProtocolError
from jsproto.wire.secret import Secretive


@final
@frozen
class Account(Secretive):
    name: str
    password: str | None = field(default=None, repr=False)
    pin: str | None = field(default=None, repr=False)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_holds_a_secret_is_not_pickled_and_says_which_field(protocol):
    with pytest.raises(LocalProtocolError, match="Account holds pin: make it anew") as caught:
        pickle.dumps({"deep": [Account("joe", pin="canary")]}, protocol)

    assert "canary" not in str(caught.value)


def test_without_a_secret_it_is_pickled_like_any_value():
    account = Account("joe")

    assert pickle.loads(pickle.dumps(account)) == account


def test_a_copy_is_the_value_itself():
    account = Account("joe", "canary")

    assert copy.copy(account) is account
    assert copy.deepcopy([account])[0] is account
