"""Requests of the API: what is asked on which subject, and the one value or the one error that
comes of the answer.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.core.conversation.conversation import Call
from jsproto.errors import (
    InvalidConfig,
    InvalidResponse,
    InvalidSubject,
    NoResponders,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import ConsumerAction
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.errors import (
    ConfigIgnored,
    ConfigurationRefused,
    ConsumerExists,
    ConsumerNotFound,
    JetStreamNotEnabled,
    StreamExists,
    StreamNotFound,
)
from jsproto.jetstream.api.requests import manage as api
from jsproto.jetstream.api.subjects import ApiSubjects
from tests.jetstream.api.asking import message, refusal, run

API = ApiSubjects()
S = StreamConfig(name="S", subjects=["s.>"])
C = ConsumerConfig(durable_name="C", filter_subject="s.a")
STREAM = {
    "config": {"name": "S", "subjects": ["s.>"], "max_msgs": -1},
    "created": "2024-01-01T00:00:00Z",
    "did_create": True,
}
CONSUMER = {
    "stream_name": "S",
    "name": "C",
    "config": {"durable_name": "C", "filter_subject": "s.a"},
}


NO_STREAM = refusal(404, 10059, "stream not found")


def test_creating_a_stream_sends_what_is_set_and_answers_what_was_made() -> None:
    info, asked = run(api.create_stream(API, S), STREAM)

    assert asked == [("$JS.API.STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})]
    assert (info.config.max_msgs, info.did_create) == (-1, True)


def test_pedantry_is_sent_only_when_it_is_wished_for() -> None:
    _, asked = run(api.update_stream(API, S, pedantic=True), STREAM)
    _, consumer = run(api.create_consumer(API, "S", C, pedantic=True), CONSUMER)

    assert asked == [
        ("$JS.API.STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "pedantic": True})
    ]
    assert consumer[0][1]["pedantic"] is True


@pytest.mark.parametrize(
    ("steps", "answer", "error", "text"),
    [
        (
            lambda: api.stream_info(API, "NOPE"),
            NO_STREAM,
            StreamNotFound,
            "stream not found .*10059.* \\(stream info, stream NOPE\\)",
        ),
        (
            lambda: api.delete_stream(API, "NOPE"),
            NO_STREAM,
            StreamNotFound,
            "delete stream, stream NOPE",
        ),
        (
            lambda: api.create_stream(API, S),
            refusal(400, 10058, "stream name already in use with a different configuration"),
            StreamExists,
            "create stream, stream S",
        ),
        (
            lambda: api.create_stream(API, S),
            refusal(500, 10052, "duplicates window can not be negative"),
            ConfigurationRefused,
            "duplicates window .* \\(create stream, stream S\\)",
        ),
        (
            lambda: api.consumer_info(API, "S", "NOPE"),
            refusal(404, 10014, "consumer not found"),
            ConsumerNotFound,
            "consumer info, stream S, consumer NOPE",
        ),
        (
            lambda: api.create_consumer(API, "S", C),
            refusal(400, 10148, "consumer already exists"),
            ConsumerExists,
            "create consumer, stream S, consumer C",
        ),
        (
            lambda: api.account_info(API),
            refusal(503, 10039, "JetStream not enabled for account"),
            JetStreamNotEnabled,
            "account info",
        ),
    ],
)
def test_a_refusal_is_one_typed_error_that_says_what_was_asked(steps, answer, error, text) -> None:
    with pytest.raises(error, match=text):
        run(steps(), answer)


def test_nobody_there_is_no_jetstream_and_says_where_it_was_looked_for() -> None:
    with pytest.raises(
        JetStreamNotEnabled, match=r"JetStream API on '\$JS\.hub\.API\.INFO', got no responders"
    ) as caught:
        run(api.account_info(ApiSubjects.for_domain("hub")), NoResponders("nobody", "x"))

    assert (caught.value.code, caught.value.err_code) == (503, 0)
    assert isinstance(caught.value.__cause__, NoResponders)


def test_silence_is_a_timeout_that_says_what_was_asked() -> None:
    with pytest.raises(RequestTimeout, match="delete consumer, stream S, consumer C: none came"):
        run(api.delete_consumer(API, "S", "C"), RequestTimeout("none came"))


def test_the_timeout_is_that_of_the_caller() -> None:
    step = next(api.account_info(API, timeout=0.5))

    assert step == Call("$JS.API.INFO", b"", None, 0.5)


def test_a_status_instead_of_an_answer_is_a_status_error() -> None:
    with pytest.raises(
        StatusError,
        match=r"stream info, stream S: expected an answer .* got status 408 Bad Request",
    ):
        run(api.stream_info(API, "S"), message(b"", b"NATS/1.0 408 Bad Request\r\n\r\n"))


@pytest.mark.parametrize("body", [b"", b"pong", b"{}", b'{"config":{}}'])
def test_an_answer_that_is_none_is_invalid_and_says_what_was_asked(body: bytes) -> None:
    with pytest.raises(InvalidResponse, match="stream info, stream S"):
        run(api.stream_info(API, "S"), message(body))


def test_details_are_asked_for_only_when_they_are_wished_for() -> None:
    _, plain = run(api.stream_info(API, "S"), STREAM)
    _, detailed = run(api.stream_info(API, "S", subjects_filter=">", deleted_details=True), STREAM)

    assert plain == [("$JS.API.STREAM.INFO.S", None)]
    assert detailed == [
        ("$JS.API.STREAM.INFO.S", {"subjects_filter": ">", "deleted_details": True})
    ]


def test_a_stream_that_is_not_there_is_made_and_one_that_is_there_is_updated() -> None:
    _, made = run(api.create_or_update_stream(API, S), NO_STREAM, STREAM)
    _, updated = run(api.create_or_update_stream(API, S), STREAM)

    assert [subject for subject, _ in made] == [
        "$JS.API.STREAM.UPDATE.S",
        "$JS.API.STREAM.CREATE.S",
    ]
    assert [subject for subject, _ in updated] == ["$JS.API.STREAM.UPDATE.S"]


def test_b202_a_change_sends_all_that_was_read_and_what_is_new() -> None:
    there = {
        "config": {"name": "S", "subjects": ["a"], "max_age": 1_000_000_001, "future_opt": {"x": 1}}
    }
    _, asked = run(api.change_stream(API, "S", {"max_msgs": 10}), there, STREAM)

    assert asked[1] == (
        "$JS.API.STREAM.UPDATE.S",
        {
            "name": "S",
            "subjects": ["a"],
            "max_age": 1_000_000_001,
            "future_opt": {"x": 1},
            "max_msgs": 10,
        },
    )
    with pytest.raises(InvalidConfig, match="max_messages"):
        run(api.change_stream(API, "S", {"max_messages": 10}), there)


@pytest.mark.parametrize("subject", ["", "a b", "a\r\nb"])
def test_a_configuration_that_no_stream_can_have_is_not_written_again(subject) -> None:
    there = {"config": {"name": "S", "subjects": [subject]}}
    with pytest.raises(
        InvalidResponse, match="stream info, stream S: expected a subject of a stream"
    ):
        run(api.change_stream(API, "S", {"max_msgs": 10}), there)


def test_b202_a_consumer_is_changed_under_the_name_it_has() -> None:
    nameless = {"stream_name": "S", "name": "C", "config": {"max_deliver": 3, "future_opt": 1}}
    _, ephemeral = run(
        api.change_consumer(API, "S", "C", {"max_ack_pending": 5}), nameless, CONSUMER
    )
    _, durable = run(api.change_consumer(API, "S", "C", {"max_deliver": 2}), CONSUMER, CONSUMER)

    assert ephemeral[1] == (
        "$JS.API.CONSUMER.CREATE.S.C",
        {
            "stream_name": "S",
            "config": {"name": "C", "max_deliver": 3, "max_ack_pending": 5, "future_opt": 1},
            "action": "update",
        },
    )
    assert durable[1][1]["config"] == {
        "durable_name": "C",
        "max_deliver": 2,
        "filter_subject": "s.a",
    }


@pytest.mark.parametrize(
    ("procedure", "action"),
    [
        (api.create_consumer, {"action": "create"}),
        (api.update_consumer, {"action": "update"}),
        (api.create_or_update_consumer, {}),
    ],
)
def test_the_action_is_said_where_there_is_one(procedure, action: dict[str, str]) -> None:
    info, asked = run(procedure(API, "S", C), CONSUMER)

    assert info.name == "C"
    assert asked == [
        (
            "$JS.API.CONSUMER.CREATE.S.C.s.a",
            {
                "stream_name": "S",
                "config": {"durable_name": "C", "filter_subject": "s.a"},
                **action,
            },
        )
    ]


def test_a_consumer_without_a_name_is_named_by_the_server() -> None:
    config = ConsumerConfig(filter_subject="s.a", inactive_threshold=timedelta(seconds=5))
    info, asked = run(api.create_consumer(API, "S", config), {**CONSUMER, "name": "x7"})

    assert asked[0][0] == "$JS.API.CONSUMER.CREATE.S"
    assert asked[0][1]["config"] == {"filter_subject": "s.a", "inactive_threshold": 5_000_000_000}
    assert info.name == "x7"


def test_b208_several_filters_are_sent_alone_and_both_kinds_never() -> None:
    several = ConsumerConfig(name="C", filter_subjects=["a.1", "a.2"])
    _, asked = run(api.create_consumer(API, "S", several), CONSUMER)

    assert asked[0] == (
        "$JS.API.CONSUMER.CREATE.S.C",
        {
            "stream_name": "S",
            "config": {"name": "C", "filter_subjects": ["a.1", "a.2"]},
            "action": "create",
        },
    )
    with pytest.raises(InvalidConfig, match="got both"):
        run(api.create_consumer(API, "S", several.evolve(filter_subject="a.>")))


def test_a_name_that_is_none_is_refused_before_anything_is_sent() -> None:
    for steps in (
        api.stream_info(API, "a.b"),
        api.create_stream(API, StreamConfig(name="a b")),
        api.create_consumer(API, "S", ConsumerConfig(name="a.b")),
        api.delete_consumer(API, "S", ""),
    ):
        with pytest.raises(InvalidSubject):
            next(steps)


def test_b203_a_strict_request_names_the_settings_that_the_server_left_out() -> None:
    several = ConsumerConfig(name="C", filter_subjects=["a.1"], ack_wait=timedelta(seconds=1))
    dropped = {**CONSUMER, "config": {"name": "C", "ack_wait": 1_000_000_000}}
    with pytest.raises(
        ConfigIgnored, match=r"create consumer, stream S, consumer C: .* filter_subjects"
    ) as caught:
        run(api.create_consumer(API, "S", several, strict=True), dropped)
    assert caught.value.members == ("filter_subjects",)

    with pytest.raises(ConfigIgnored, match="allow_msg_ttl"):
        run(api.create_stream(API, S.evolve(allow_msg_ttl=True), strict=True), STREAM)
    info, _ = run(api.create_or_update_stream(API, S, strict=True), NO_STREAM, STREAM)
    assert info.config.name == "S"
    lax, _ = run(api.create_or_update_consumer(API, "S", several), dropped)
    assert lax.config.filter_subjects == ()
    exact, _ = run(api.update_consumer(API, "S", C, strict=True), CONSUMER)
    assert exact.config == C


def test_deleting_succeeds_or_says_why_not() -> None:
    done, asked = run(
        api.delete_stream(API, "S"),
        {"type": "io.nats.jetstream.api.v1.stream_delete_response", "success": True},
    )
    _, consumer = run(api.delete_consumer(API, "S", "C"), {"success": True})

    assert done is None
    assert asked == [("$JS.API.STREAM.DELETE.S", None)]
    assert consumer == [("$JS.API.CONSUMER.DELETE.S.C", None)]
    with pytest.raises(InvalidResponse, match="'success'"):
        run(api.delete_stream(API, "S"), {})
    with pytest.raises(InvalidResponse, match="expected success or an error, got False"):
        run(api.delete_stream(API, "S"), {"success": False})


def test_usage_and_limits_of_the_account_are_read() -> None:
    info, asked = run(
        api.account_info(API),
        {
            "type": "io.nats.jetstream.api.v1.account_info_response",
            "memory": 1,
            "storage": 0,
            "streams": 0,
            "consumers": 0,
            "limits": {"max_streams": -1},
            "api": {"level": 5},
        },
    )

    assert asked == [("$JS.API.INFO", None)]
    assert (info.memory, info.limits.max_streams, info.api.level) == (1, -1, 5)


def test_b191_no_streams_is_an_empty_list_and_the_end() -> None:
    names, asked = run(
        api.stream_names(API), {"total": 0, "offset": 0, "limit": 1024, "streams": None}
    )

    assert names == ()
    assert asked == [("$JS.API.STREAM.NAMES", None)]


def test_b200_the_offset_grows_by_what_came_until_the_total_or_an_empty_page() -> None:
    pages = ({"total": 3, "streams": ["a", "b"]}, {"total": 3, "streams": ["c"]})
    names, asked = run(api.stream_names(API, subject="s.>"), *pages)
    early, _ = run(
        api.consumer_names(API, "S"),
        {"total": 10, "consumers": ["a"]},
        {"total": 10, "consumers": []},
    )

    assert names == ("a", "b", "c")
    assert asked == [
        ("$JS.API.STREAM.NAMES", {"subject": "s.>"}),
        ("$JS.API.STREAM.NAMES", {"subject": "s.>", "offset": 2}),
    ]
    assert early == ("a",)


def test_lists_are_pages_of_documents() -> None:
    found, asked = run(api.streams(API), {"total": 1, "streams": [STREAM]})
    filtered, _ = run(api.streams(API, subject="s.a"), {"total": 0, "streams": []})
    held, _ = run(api.consumers(API, "S"), {"total": 1, "consumers": [CONSUMER]})

    assert [info.config.name for info in found] == ["S"]
    assert asked == [("$JS.API.STREAM.LIST", None)]
    assert filtered == ()
    assert [info.name for info in held] == ["C"]


@pytest.mark.parametrize("page", [{"streams": {}}, {"streams": [1]}, {"streams": "ab"}])
def test_a_page_that_is_none_is_an_invalid_response(page: dict[str, object]) -> None:
    with pytest.raises(InvalidResponse, match="stream names"):
        run(api.stream_names(API), page)


def test_the_default_action_is_to_create() -> None:
    assert ConsumerAction("") is ConsumerAction.CREATE_OR_UPDATE
    _, asked = run(api.create_consumer(API, "S", C), CONSUMER)
    assert asked[0][1]["action"] == "create"


def test_only_what_the_caller_set_is_sent_n118() -> None:
    _, stream = run(api.create_stream(API, StreamConfig(name="S", subjects=["s"])), STREAM)
    _, consumer = run(api.create_consumer(API, "S", ConsumerConfig(durable_name="C")), CONSUMER)

    assert stream == [("$JS.API.STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})]
    assert consumer == [
        (
            "$JS.API.CONSUMER.CREATE.S.C",
            {"stream_name": "S", "config": {"durable_name": "C"}, "action": "create"},
        )
    ]


def test_an_empty_object_is_sent_back_as_an_empty_object_n119() -> None:
    told = {
        "name": "S",
        "consumer_limits": {},
        "placement": {},
        "metadata": {},
        "sources": [],
        "republish": None,
        "later": {"a": {}, "b": []},
    }
    _, asked = run(api.change_stream(API, "S", {"description": "x"}), {"config": told}, STREAM)

    assert asked[1] == (
        "$JS.API.STREAM.UPDATE.S",
        {
            "name": "S",
            "description": "x",
            "placement": {},
            "consumer_limits": {},
            "later": {"a": {}, "b": []},
        },
    )


@pytest.mark.parametrize(
    "odd", [{"mirror": {}}, {"republish": {}}, {"subject_transform": {}}, {"sources": [None]}]
)
def test_a_part_of_a_configuration_without_content_costs_that_part(odd: dict[str, object]) -> None:
    info, _ = run(api.stream_info(API, "S"), {"config": {"name": "S", "subjects": ["s"], **odd}})

    assert (info.config.name, info.config.subjects) == ("S", ("s",))


@pytest.mark.parametrize("setting", ["durable_name", "name", "deliver_subject", "deliver_group"])
def test_an_empty_name_is_refused_since_it_would_mean_none(setting: str) -> None:
    with pytest.raises(
        InvalidConfig, match=rf"expected a name as ConsumerConfig\.{setting}, got ''"
    ):
        ConsumerConfig(**{setting: ""})


def test_what_an_empty_name_means_in_an_answer_is_none() -> None:
    assert ConsumerConfig.from_wire({"durable_name": "", "name": "C"}) == ConsumerConfig(name="C")
