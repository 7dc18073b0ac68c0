"""The text of an option becomes a value, or says what was expected."""

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, InvalidSubject
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto_spark.option_types import OptionType, value_of

GOOD = [
    (OptionType.TEXT, "me", "me"),
    (OptionType.FILE, "~/me.creds", "~/me.creds"),
    (OptionType.SERVERS, "nats://a:4222, tls://b", "nats://a:4222, tls://b"),
    (OptionType.STREAM, "ORDERS", "ORDERS"),
    (OptionType.CONSUMER, "spark", "spark"),
    (OptionType.PREFIX, "$JS.hub.API", "$JS.hub.API"),
    (OptionType.API_PREFIX, "$JS.hub.API", "$JS.hub.API"),
    (OptionType.API_PREFIX, "$JS.hub.API.", "$JS.hub.API"),
    (OptionType.SUBJECT, "orders.new", "orders.new"),
    (OptionType.SUBJECTS, "a.*, b.> ,a.*", ("a.*", "b.>")),
    (OptionType.FLAG, "TRUE", True),
    (OptionType.FLAG, "false", False),
    (OptionType.COUNT, "12", 12),
    (OptionType.SECONDS, "10", 10.0),
    (OptionType.SECONDS, "500ms", 0.5),
    (OptionType.SECONDS, "2m", 120.0),
    (OptionType.SECONDS, "1.5h", 5400.0),
    (OptionType.MOMENT, "1700000000123", Timestamp(1_700_000_000_123_000_000)),
    (OptionType.MOMENT, "2024-01-01T00:00:00.5Z", Timestamp(1_704_067_200_500_000_000)),
    (OptionType.VARIABLE, "NATS_PASSWORD", "NATS_PASSWORD"),
]

BAD = [
    (OptionType.TEXT, ""),
    (OptionType.FILE, ""),
    (OptionType.SERVERS, "ftp://a"),
    (OptionType.STREAM, "a.b"),
    (OptionType.CONSUMER, "a b"),
    (OptionType.PREFIX, "a.*"),
    (OptionType.PREFIX, "a."),
    (OptionType.API_PREFIX, "a.*"),
    (OptionType.API_PREFIX, "a.."),
    (OptionType.API_PREFIX, "."),
    (OptionType.SUBJECT, "a.*"),
    (OptionType.SUBJECTS, "a,,b"),
    (OptionType.FLAG, "yes"),
    (OptionType.COUNT, "0"),
    (OptionType.COUNT, "-1"),
    (OptionType.COUNT, "1.5"),
    (OptionType.COUNT, "١"),  # noqa: RUF001 - a digit to Python, not to us
    (OptionType.COUNT, "9" * 30),
    (OptionType.SECONDS, "0"),
    (OptionType.SECONDS, "fast"),
    (OptionType.SECONDS, "5 days"),
    (OptionType.SECONDS, "nan"),
    (OptionType.MOMENT, "yesterday"),
    (OptionType.MOMENT, "0001-01-01T00:00:00Z"),
    (OptionType.VARIABLE, "hunter-2"),
    (OptionType.VARIABLE, "2nd"),
]


@pytest.mark.parametrize(("form", "text", "value"), GOOD)
def test_a_text_of_the_form_is_its_value(form, text, value):
    assert value == value_of(form, text)


@pytest.mark.parametrize(("form", "text"), BAD)
def test_another_text_says_what_was_expected(form, text):
    with pytest.raises((InvalidConfig, InvalidResponse, InvalidSubject), match="expected"):
        value_of(form, text)


def test_an_offset_is_a_word_of_its_row_or_a_sequence():
    words = ("earliest", "latest")

    assert "latest" == value_of(OptionType.OFFSET, "Latest", words)
    assert 7 == value_of(OptionType.OFFSET, "7", words)
    with pytest.raises(InvalidConfig, match="expected earliest, latest or a sequence"):
        value_of(OptionType.OFFSET, "-2", words)


def test_a_word_is_written_as_the_table_has_it():
    assert "nextPlan" == value_of(OptionType.WORD, "nextplan", ("commit", "nextPlan"))
    with pytest.raises(InvalidConfig, match="expected one of commit, nextPlan"):
        value_of(OptionType.WORD, "never", ("commit", "nextPlan"))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (OptionType.SERVERS, "nats://me:hunter2@a:4222"),
        (OptionType.SERVERS, "nats://hunter2@a"),
        (OptionType.VARIABLE, "hunter2!"),
        (OptionType.FILE, "-----BEGIN PRIVATE KEY----- hunter2"),
    ],
)
def test_what_may_be_a_secret_by_mistake_is_not_quoted(form, text):
    with pytest.raises(InvalidConfig) as caught:
        value_of(form, text)

    assert "hunter2" not in str(caught.value)
