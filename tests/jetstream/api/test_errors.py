"""The number of an error answer decides its class; whatever else is in the answer, it is one typed
error.
"""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import ApiError, InvalidResponse, ServerError
from jsproto.jetstream.api.error_codes import BY_ERR_CODE
from jsproto.jetstream.api.errors import (
    CLASS_OF,
    CLASSES,
    ApiLevelTooLow,
    ConfigIgnored,
    ConfigurationRefused,
    ConsumerExists,
    ConsumerNotFound,
    InvalidBatch,
    InvalidMessage,
    InvalidPubAck,
    InvalidRequest,
    JetStreamError,
    JetStreamNotEnabled,
    MessageNotFound,
    MessageTooLargeToStore,
    NotFound,
    RequestContext,
    ResourceLimitReached,
    RetryLater,
    StreamExists,
    StreamFull,
    StreamNotFound,
    StreamSealed,
    WrongLastMessageId,
    WrongLastSequence,
    WrongStream,
    api_error,
    described,
)

ABOUT = RequestContext(what="consumer info", stream="ORDERS", consumer="NEW")


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ((10059,), StreamNotFound),
        ((10014,), ConsumerNotFound),
        ((10037,), MessageNotFound),
        ((10043,), MessageNotFound),
        ((10058,), StreamExists),
        ((10148, 10013, 10105), ConsumerExists),
        ((10149,), ConsumerNotFound),
        ((10039, 10076), JetStreamNotEnabled),
        ((10004, 10008, 10009, 10023, 10158, 10163, 10167), RetryLater),
        ((10071, 10164), WrongLastSequence),
        ((10070,), WrongLastMessageId),
        ((10060,), WrongStream),
        ((10054, 10097), MessageTooLargeToStore),
        ((10077,), StreamFull),
        ((10109,), StreamSealed),
        ((10026, 10027, 10028, 10047, 10113, 10122), ResourceLimitReached),
        ((10025, 10003, 10056, 10038), InvalidRequest),
        ((10012, 10052, 10053, 10049, 10065), ConfigurationRefused),
        (
            (10093, 10131, 10136, 10137, 10138, 10139, 10159, 10178, 10196, 10197),
            ConfigurationRefused,
        ),
        (
            (10165, 10166, 10168, 10169, 10170, 10171, 10172, 10188, 10192, 10203, 10212, 10223),
            InvalidMessage,
        ),
        (
            (10174, 10175, 10176, 10177, 10179, 10199, 10200, 10201, 10205, 10206, 10207, 10208),
            InvalidBatch,
        ),
        ((10185,), ApiLevelTooLow),
        ((10040, 10110, 99999, 0), JetStreamError),
    ],
)
def test_each_number_raises_the_class_that_clients_act_upon(
    numbers: tuple[int, ...], kind: type[JetStreamError]
) -> None:
    made = {type(api_error({"code": 400, "err_code": number}, ABOUT)) for number in numbers}

    assert made == {kind}


def test_no_number_has_two_classes_and_each_is_one_of_the_server() -> None:
    numbers = [number for _, group in CLASSES for number in group]

    assert len(numbers) == len(set(numbers)) == len(CLASS_OF)
    assert set(numbers) <= BY_ERR_CODE.keys()


def test_an_error_says_what_was_asked_and_what_the_server_said() -> None:
    error = api_error({"code": 404, "err_code": 10014, "description": "consumer not found"}, ABOUT)

    assert isinstance(error, NotFound)
    assert isinstance(error, ApiError)
    assert isinstance(error, ServerError)
    assert (error.stream, error.consumer, error.constant) == (
        "ORDERS",
        "NEW",
        "JSConsumerNotFoundErr",
    )
    assert str(error) == (
        "consumer not found [code 404, err_code 10014] (consumer info, stream ORDERS, consumer NEW)"
    )


@pytest.mark.parametrize(
    ("number", "text", "sequence"),
    [
        (10071, "wrong last sequence: 44", 44),
        (10071, "wrong last sequence: 18446744073709551615", 2**64 - 1),
        (10164, "wrong last sequence", None),
        (10071, "wrong last sequence: many", None),
    ],
)
def test_b205_both_numbers_of_a_lost_compare_and_set_are_one_class_with_the_sequence_if_it_is_said(
    number: int, text: str, sequence: int | None
) -> None:
    error = api_error({"code": 400, "err_code": number, "description": text}, RequestContext())

    assert isinstance(error, WrongLastSequence)
    assert error.sequence == sequence


def test_the_actual_last_message_id_is_said_if_the_server_says_it() -> None:
    def last(text: str) -> str | None:
        error = api_error({"err_code": 10070, "description": text}, RequestContext())
        assert isinstance(error, WrongLastMessageId)
        return error.message_id

    assert last("wrong last msg ID: order-1") == "order-1"
    assert last("wrong last msg ID: ") == ""
    assert last("no id at all") is None


def test_b193_every_part_of_an_error_is_optional() -> None:
    partial = api_error(
        {"code": 503, "description": "JetStream system temporarily unavailable"}, RequestContext()
    )
    empty = api_error({}, RequestContext())

    assert (partial.code, partial.err_code, type(partial)) == (503, 0, JetStreamError)
    assert (empty.code, empty.err_code, empty.description, empty.constant) == (0, 0, "", "")
    assert str(empty) == "no description [code 0, err_code 0]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(JSON | st.fixed_dictionaries({"code": JSON, "err_code": JSON, "description": JSON}))
def test_any_error_member_is_one_typed_error_that_survives_pickling(member: object) -> None:
    error = api_error(member, ABOUT)

    assert isinstance(error, JetStreamError)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.about) == (type(error), str(error), ABOUT)


def test_an_error_member_that_is_text_or_a_list_is_told_as_it_came() -> None:
    assert api_error("boom", RequestContext()).description == "boom"
    assert api_error(["boom"], RequestContext()).description == "list of 1"
    assert api_error({"code": True, "err_code": "10059"}, RequestContext()).err_code == 0


def test_what_was_asked_reads_as_a_sentence_part_and_may_be_empty() -> None:
    assert str(RequestContext()) == ""
    assert (
        str(RequestContext(what="publish", subject="orders.new")) == "publish, subject orders.new"
    )


def test_containers_are_described_by_size_and_all_else_as_seen() -> None:
    assert described({"a": 1}) == "dict of 1"
    assert described(()) == "tuple of 0"
    assert described("x") == "'x'"


def test_wrong_answers_carry_what_the_caller_needs_to_look_at() -> None:
    assert InvalidPubAck("no", b"pong").body == b"pong"
    assert ConfigIgnored("no", ("max_age",)).members == ("max_age",)
    assert issubclass(InvalidPubAck, InvalidResponse)
    assert issubclass(ConfigIgnored, InvalidResponse)
