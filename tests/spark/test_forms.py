"""The text of an option becomes a value, or says what was expected."""

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, InvalidSubject
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto_spark.option_types import Form, value_of

GOOD = [
    (Form.TEXT, "me", "me"),
    (Form.FILE, "~/me.creds", "~/me.creds"),
    (Form.SERVERS, "nats://a:4222, tls://b", "nats://a:4222, tls://b"),
    (Form.STREAM, "ORDERS", "ORDERS"),
    (Form.CONSUMER, "spark", "spark"),
    (Form.PREFIX, "$JS.hub.API", "$JS.hub.API"),
    (Form.API_PREFIX, "$JS.hub.API", "$JS.hub.API"),
    (Form.API_PREFIX, "$JS.hub.API.", "$JS.hub.API"),
    (Form.SUBJECT, "orders.new", "orders.new"),
    (Form.SUBJECTS, "a.*, b.> ,a.*", ("a.*", "b.>")),
    (Form.FLAG, "TRUE", True),
    (Form.FLAG, "false", False),
    (Form.COUNT, "12", 12),
    (Form.SECONDS, "10", 10.0),
    (Form.SECONDS, "500ms", 0.5),
    (Form.SECONDS, "2m", 120.0),
    (Form.SECONDS, "1.5h", 5400.0),
    (Form.MOMENT, "1700000000123", Timestamp(1_700_000_000_123_000_000)),
    (Form.MOMENT, "2024-01-01T00:00:00.5Z", Timestamp(1_704_067_200_500_000_000)),
    (Form.VARIABLE, "NATS_PASSWORD", "NATS_PASSWORD"),
]

BAD = [
    (Form.TEXT, ""),
    (Form.FILE, ""),
    (Form.SERVERS, "ftp://a"),
    (Form.STREAM, "a.b"),
    (Form.CONSUMER, "a b"),
    (Form.PREFIX, "a.*"),
    (Form.PREFIX, "a."),
    (Form.API_PREFIX, "a.*"),
    (Form.API_PREFIX, "a.."),
    (Form.API_PREFIX, "."),
    (Form.SUBJECT, "a.*"),
    (Form.SUBJECTS, "a,,b"),
    (Form.FLAG, "yes"),
    (Form.COUNT, "0"),
    (Form.COUNT, "-1"),
    (Form.COUNT, "1.5"),
    (Form.COUNT, "١"),  # noqa: RUF001 - a digit to Python, not to us
    (Form.COUNT, "9" * 30),
    (Form.SECONDS, "0"),
    (Form.SECONDS, "fast"),
    (Form.SECONDS, "5 days"),
    (Form.SECONDS, "nan"),
    (Form.MOMENT, "yesterday"),
    (Form.MOMENT, "0001-01-01T00:00:00Z"),
    (Form.VARIABLE, "hunter-2"),
    (Form.VARIABLE, "2nd"),
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

    assert "latest" == value_of(Form.OFFSET, "Latest", words)
    assert 7 == value_of(Form.OFFSET, "7", words)
    with pytest.raises(InvalidConfig, match="expected earliest, latest or a sequence"):
        value_of(Form.OFFSET, "-2", words)


def test_a_word_is_written_as_the_table_has_it():
    assert "nextPlan" == value_of(Form.WORD, "nextplan", ("commit", "nextPlan"))
    with pytest.raises(InvalidConfig, match="expected one of commit, nextPlan"):
        value_of(Form.WORD, "never", ("commit", "nextPlan"))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (Form.SERVERS, "nats://me:hunter2@a:4222"),
        (Form.SERVERS, "nats://hunter2@a"),
        (Form.VARIABLE, "hunter2!"),
        (Form.FILE, "-----BEGIN PRIVATE KEY----- hunter2"),
    ],
)
def test_what_may_be_a_secret_by_mistake_is_not_quoted(form, text):
    with pytest.raises(InvalidConfig) as caught:
        value_of(form, text)

    assert "hunter2" not in str(caught.value)
