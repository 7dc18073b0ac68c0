"""What goes wrong is one line that names the stream and the option."""

import pytest

from jsproto.errors import AuthorizationFailed, ConnectFailed, JsprotoError, TlsFailed
from jsproto.jetstream.errors import DataLost
from jsproto_spark.errors import OPTION_OF, InvalidOption, Unreadable, named, naming
from jsproto_spark.options import OPTIONS


def test_the_option_comes_from_the_table():
    assert "stream 'S', see option servers: ConnectFailed: no" == str(
        named(ConnectFailed("no"), "S")
    )
    assert "see option tlsCaFile" in str(named(TlsFailed("no"), "S"))
    assert "see option failOnDataLoss" in str(named(DataLost("no", "S", 1, 2), "S"))
    assert "see option readMode: JsprotoError" in str(named(JsprotoError("no"), "S", "readMode"))
    assert "stream 'S': JsprotoError: no" == str(named(JsprotoError("no"), "S"))


def test_every_option_of_the_table_exists():
    names = {option.name for option in OPTIONS}

    assert {name for _, said in OPTION_OF for name in said.split(", ")} <= names


def test_an_error_of_several_lines_becomes_one():
    assert "\n" not in str(named(AuthorizationFailed("one\n  two"), "S"))


def test_what_names_them_already_stays_as_it_is():
    error = InvalidOption("stream 'S': option x")

    assert error is named(error, "S")


def test_the_cause_is_not_shown():
    with pytest.raises(Unreadable) as caught, naming("S"):
        raise ConnectFailed("no")

    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
