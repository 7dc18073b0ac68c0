"""Which setting a refusal is about, and that none is named by guess."""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Call
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.error_codes import BY_ERR_CODE
from jsproto.jetstream.api.errors import (
    CLASSES,
    ApiLevelTooLow,
    ConfigurationRefused,
    InvalidRequest,
    RequestContext,
    api_error,
)
from jsproto.jetstream.api.requests import manage
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.validation.error_setting import BLAMED, blamed
from jsproto.jetstream.api.validation.rules import (
    CONSUMER_RULES,
    STREAM_RULES,
    UPDATE_RULES,
    check_consumer,
    check_stream,
)
from tests.jetstream.api.asking import refusal, run

API = ApiSubjects()
ASKED = RequestContext(what="create stream", stream="S")
#: What wraps a reason of any kind, asks for something else than a configuration, or is said no
#: more.
OF_NO_SETTING = {
    10012, 10016, 10019, 10029, 10032, 10033, 10045, 10048, 10049, 10053, 10066, 10069, 10092, 10225,
}  # fmt: skip


def said(err_code: int, description: str = "no") -> ConfigurationRefused:
    error = api_error({"code": 400, "err_code": err_code, "description": description}, ASKED)
    assert isinstance(error, InvalidRequest)
    return error


def test_every_number_about_a_configuration_has_a_setting_or_says_why_not() -> None:
    (numbers,) = [numbers for kind, numbers in CLASSES if kind is ConfigurationRefused]
    ruled = {rule.err_code for rule in (*STREAM_RULES, *UPDATE_RULES, *CONSUMER_RULES)}

    assert {each for each in numbers if each not in ruled and each not in BLAMED} == OF_NO_SETTING
    assert BLAMED.keys() <= BY_ERR_CODE.keys()
    assert not BLAMED.keys() & OF_NO_SETTING


def test_the_first_finding_with_the_number_is_the_culprit() -> None:
    config = StreamConfig(name="S", description="x" * 5000, num_replicas=6)
    error = blamed(said(10052), check_stream(config))

    assert (type(error), error.setting, error.err_code) == (
        ConfigurationRefused,
        "description",
        10052,
    )
    assert (
        str(error) == "no [code 400, err_code 10052] (create stream, stream S, setting description)"
    )


def test_a_number_about_one_setting_alone_names_it_without_a_finding() -> None:
    assert blamed(said(10065), ()).setting == "subjects"
    assert blamed(said(10101), check_consumer(ConsumerConfig())).setting == "deliver_policy"


def test_a_field_that_the_server_does_not_know_stands_in_its_text() -> None:
    text = 'invalid JSON: json: unknown field "allow_batched"'

    assert blamed(said(10025, text), ()).setting == "allow_batched"
    assert blamed(said(10025, "invalid JSON"), ()).setting == ""


def test_nobody_is_blamed_by_guess() -> None:
    error = said(10052)

    assert blamed(error, ()) is error
    assert error.setting == ""
    assert "setting" not in str(error)


def test_what_was_asked_with_the_procedures_is_told_with_its_setting() -> None:
    with pytest.raises(ConfigurationRefused, match=r"update stream, stream S, setting storage"):
        run(
            manage.change_stream(API, "S", {"storage": "file"}),
            {"config": {"name": "S", "storage": "memory"}},
            refusal(500, 10052),
        )
    with pytest.raises(ConfigurationRefused, match=r"consumer C, setting deliver_subject"):
        run(
            manage.create_consumer(API, "S", ConsumerConfig(name="C", deliver_subject="a.*")),
            refusal(400, 10079),
        )


def first(steps) -> Call:
    step = next(steps)
    assert isinstance(step, Call)
    return step


def test_a_configuration_is_sent_with_the_level_that_it_needs() -> None:
    new = first(manage.create_stream(API, StreamConfig(name="S", allow_batched=True)))
    worker = ConsumerConfig(name="C", priority_groups=["g"], priority_policy="overflow")
    reader = first(manage.create_consumer(API, "S", worker))
    plain = first(manage.update_stream(API, StreamConfig(name="S", max_msgs=5)))

    assert new.headers is not None
    assert list(new.headers.items()) == [("Nats-Required-Api-Level", "4")]
    assert reader.headers is not None
    assert reader.headers["Nats-Required-Api-Level"] == "1"
    assert plain.headers is None


def test_a_server_that_has_less_is_told_with_all_that_needs_more() -> None:
    config = StreamConfig(name="S", allow_batched=True, allow_msg_ttl=True)
    with pytest.raises(ApiLevelTooLow) as caught:
        run(
            manage.create_stream(API, config),
            refusal(412, 10185, "JetStream minimum api level required"),
        )

    assert (
        caught.value.setting
        == "allow_msg_ttl (level 1, server 2.11), allow_batched (level 4, server 2.14)"
    )
