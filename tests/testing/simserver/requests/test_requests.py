"""How the model reads the bodies of requests: Go's words for what is wrong, by version.

Each text was said by a real server of that version. `tests/live/test_model_requests.py` plays such
requests to a server and the model side by side.
"""

import pytest

from jsproto.testing.simserver.requests.requests import asked_of
from jsproto.testing.simserver.values.gotime import time_error
from jsproto.testing.simserver.values.profile import PROFILES

EOF = "unexpected EOF"
END = "unexpected end of JSON input"
ACK = "Go struct field {}.ack_wait of type time.Duration"


@pytest.fixture
def said(make):
    """``said(version, verb, body)`` is the error that answers a request: its number, and what
    follows ``invalid JSON``.
    """

    def say(version, verb, body):
        error = make(version=version).request(verb, body)["error"]
        return error["err_code"], error["description"].removeprefix("invalid JSON").removeprefix(
            ": "
        )

    return say


@pytest.mark.parametrize(
    ("body", "old", "new", "newest"),
    [
        ("{", END, EOF, EOF),
        ("x", "invalid character 'x' looking for beginning of value", "{} at offset 1", None),
        ('{"a"', END, EOF, EOF),
        ('{"a":}', "invalid character '}' looking for beginning of value", "{} at offset 6", None),
        ('{"a" 1}', "invalid character '1' after object key", "{} at offset 6", None),
        (
            '{"a":1 "b":2}',
            "invalid character '\"' after object key:value pair",
            "{} at offset 8",
            None,
        ),
        ('{"a":[1 2]}', "invalid character '2' after array element", "{} at offset 9", None),
        ('{"a":[1,]}', "invalid character ']' looking for beginning of value", "{} at offset 9", None),
        (
            '{"a":1,}',
            "invalid character '}' looking for beginning of object key string",
            "{} at offset 8",
            None,
        ),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string", "{} at offset 2", None),
        (
            "{}x",
            "invalid character 'x' after top-level value",
            "invalid character 'x' looking for beginning of value at offset 3",
            None,
        ),
        ("nul", "invalid character ' ' in literal null (expecting 'l')", EOF, EOF),
        ('{"a":tru}', "invalid character '}' in literal true (expecting 'e')", "{} at offset 9", None),
        ('{"a":01}', "invalid character '1' after object key:value pair", "{} at offset 7", None),
        ('{"a":-}', "invalid character '}' in numeric literal", "{} at offset 7", None),
        (
            '{"a":1.x}',
            "invalid character 'x' after decimal point in numeric literal",
            "{} at offset 8",
            "invalid character 'x' in numeric literal at offset 8",
        ),
        (
            '{"a":1e+x}',
            "invalid character 'x' in exponent of numeric literal",
            "{} at offset 9",
            "invalid character 'x' in numeric literal at offset 9",
        ),
        (
            '{"a":"\t"}',
            "invalid character '\\t' in string literal",
            "{} at offset 7",
            "invalid character '\\t' in string at offset 7",
        ),
        (
            r'{"a":"\q"}',
            "invalid character 'q' in string escape code",
            "{} at offset 8",
            r"invalid escape sequence `\q` in string at offset 8",
        ),
        (
            r'{"a":"\u12x4"}',
            "invalid character 'x' in \\u hexadecimal character escape",
            "{} at offset 11",
            r"invalid escape sequence `\u12x4` in string at offset 12",
        ),
        (
            '{"a":é}',
            "invalid character 'Ã' looking for beginning of value",
            "{} at offset 6",
            "invalid character 'é' looking for beginning of value at offset 7",
        ),
        ("\x00", "invalid character '\\x00' looking for beginning of value", "{} at offset 1", None),
        (
            '{"a":' * 11_000,
            "invalid character '{' exceeded max depth",
            "{} at offset 50001",
            "exceeded max depth at offset 50001",
        ),
        (
            "[]",
            "json: cannot unmarshal array into Go value of type server.CreateConsumerRequest",
            "{}",
            None,
        ),
        (
            '{"stream_name":1}',
            "json: cannot unmarshal number into Go struct field CreateConsumerRequest.stream_name of type string",
            "{}",
            None,
        ),
        (
            '{"config":{"ack_wait":1.5}}',
            "json: cannot unmarshal number 1.5 into " + ACK.format("ConsumerConfig.config"),
            "{}",
            "json: cannot unmarshal number 1.5 into " + ACK.format("CreateConsumerRequest.config"),
        ),
        (
            '{"config":{"filter_subjects":["a",1]}}',
            "json: cannot unmarshal number into Go struct field ConsumerConfig.config.filter_subjects of type string",
            "{}",
            "json: cannot unmarshal number into CreateConsumerRequest.config.filter_subjects.1 of type string",
        ),
        (
            '{"config":{"metadata":{"a":1}}}',
            "json: cannot unmarshal number into Go struct field ConsumerConfig.config.metadata of type string",
            "{}",
            "json: cannot unmarshal number into Go struct field CreateConsumerRequest.config.metadata.a of type string",
        ),
        (
            '{"config":{"metadata":1}}',
            "json: cannot unmarshal number into Go struct field ConsumerConfig.config.metadata of type map[string]string",
            "{}",
            "json: cannot unmarshal number into Go struct field CreateConsumerRequest.config.metadata of type map[string]string",
        ),
        (
            '{"config":{"backoff":1}}',
            "json: cannot unmarshal number into Go struct field ConsumerConfig.config.backoff of type []time.Duration",
            "{}",
            "json: cannot unmarshal number into Go struct field CreateConsumerRequest.config.backoff of type []time.Duration",
        ),
        ('{"config":{"ack_policy":"x"}}', 'can not unmarshal "\\"x\\""', "{}", None),
        ('{"config":{"deliver_policy":null}}', 'can not unmarshal "null"', "{}", None),
        ('{"action":"x"}', 'unknown consumer action: "x"', "{}", None),
        (
            '{"config":{"opt_start_time":1}}',
            "Time.UnmarshalJSON: input is not a JSON string",
            "{}",
            "json: cannot unmarshal number into Go struct field CreateConsumerRequest.config.opt_start_time of type time.Time",
        ),
        (
            '{"config":{"opt_start_time":"x"}}',
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
            "{}",
            None,
        ),
        (
            '{"stream_name":1,"config":{"ack_policy":"x"}}',
            'can not unmarshal "\\"x\\""',
            "{}",
            "json: cannot unmarshal number into Go struct field CreateConsumerRequest.stream_name of type string",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_body_is_told_in_the_words_of_the_version(
    said, body, old, new, newest
):
    new = new.format(old) if "{}" in new else new
    told = {
        "2.10": "",
        "2.11": old,
        "2.12": new,
        "2.14": new,
        "2.15": new if newest is None else newest,
    }

    assert {version: said(version, "CONSUMER.CREATE.S.A", body)[1] for version in told} == told


@pytest.mark.parametrize("version", ["2.12", "2.14", "2.15"])
def test_a_member_that_the_struct_does_not_have_is_an_error_from_2_12_on_for_every_verb(
    said, version
):
    for verb in (
        "STREAM.CREATE.S", "STREAM.UPDATE.S", "STREAM.INFO.S", "STREAM.NAMES", "STREAM.LIST", "STREAM.PURGE.S", "STREAM.MSG.GET.S",
        "STREAM.MSG.DELETE.S", "CONSUMER.CREATE.S.C", "CONSUMER.NAMES.S", "CONSUMER.LIST.S", "CONSUMER.PAUSE.S.C",
    ):  # fmt: skip
        assert said(version, verb, '{"nope":1}') == (10025, 'json: unknown field "nope"')
    assert said(version, "CONSUMER.UNPIN.S.C", '{"nope":1}') == (
        10025,
        "consumer group not specified",
    )
    assert said(version, "STREAM.CREATE.S", '{"max_msgs":"x","nope":2}')[1].startswith(
        "json: cannot"
    )
    assert said("2.11", "STREAM.CREATE.S", '{"nope":1}')[0] == 10056


@pytest.mark.parametrize("version", ["2.11", "2.12", "2.15"])
def test_from_2_11_on_a_body_may_be_several_documents_or_none(said, make, version):
    for nothing in ("", " ", "null", '{"stream_name":"X"} {"config":{}}'):
        assert said(version, "CONSUMER.CREATE.S.A", nothing)[0] == 10056
    two = '{"stream_name":"X"} {"stream_name":"S","config":{"DURABLE_NAME":"A"}}'

    assert make(version=version).request("CONSUMER.CREATE.S.A", two)["name"] == "A"


def test_before_2_11_it_is_one_document(said):
    for nothing, code in (("", 10025), (" ", 10025), ("null", 10056), ("{}{}", 10025)):
        assert said("2.10", "CONSUMER.CREATE.S.A", nothing)[0] == code


def test_a_body_that_is_neither_object_nor_list_counts_as_none_where_none_is_needed(make):
    for version, counts in (("2.15", True), ("2.11", True), ("2.10", False)):
        for body in ("x", "1", "true", " "):
            for verb in (
                "STREAM.NAMES",
                "STREAM.LIST",
                "STREAM.INFO.S",
                "STREAM.PURGE.S",
                "CONSUMER.NAMES.S",
            ):
                assert ("error" not in make(version=version).request(verb, body)) is counts, (
                    version,
                    body,
                )


def test_what_wants_no_body_takes_none(said, make):
    for verb in ("CONSUMER.INFO.S.C", "CONSUMER.DELETE.S.C", "STREAM.DELETE.S"):
        for body in ("x", " ", '{"a":1}', "null"):
            assert said("2.15", verb, body) == (10038, "expected an empty request payload")
    assert make().request("STREAM.DELETE.S", "{ }")["success"] is True


def test_a_get_of_the_api_takes_no_batch_and_no_request_is_a_bad_one(said):
    for body in ("", "{}", '{"seq":1,"batch":1}', '{"multi_last":["a"]}'):
        assert said("2.15", "STREAM.MSG.GET.S", body) == (10003, "bad request")
    assert said("2.15", "STREAM.MSG.DELETE.NOPE", "") == (10003, "bad request")
    assert said("2.15", "STREAM.MSG.DELETE.S", '{"seq":0}')[0] in {10043, 10057}
    assert said("2.15", "STREAM.MSG.GET.S", '{"seq":-1}') == (
        10025,
        "json: cannot unmarshal number -1 into Go struct field JSApiMsgGetRequest.seq of type uint64",
    )


def test_replicas_are_refused_without_a_cluster(said):
    replicas = (10074, "replicas > 1 not supported in non-clustered mode")

    for version in ("2.9", "2.12", "2.15"):
        assert said(version, "STREAM.CREATE.N", '{"name":"N","num_replicas":3}') == replicas
        assert said(version, "STREAM.UPDATE.S", '{"name":"S","num_replicas":3}') == replicas
        for more in ("", ',"deliver_subject":"d"', ',"mem_storage":true'):
            body = f'{{"stream_name":"S","config":{{"num_replicas":3{more}}}}}'
            assert said(version, "CONSUMER.CREATE.S.A", body) == replicas
    assert said("2.15", "STREAM.CREATE.N", '{"name":"N","num_replicas":6}') == (
        10052,
        "maximum replicas is 5",
    )


def test_an_update_is_checked_before_its_name_is(said):
    assert said("2.15", "STREAM.UPDATE.S", "{}") == (
        10052,
        "stream name is required and can not contain '.', '*', '>', '\\', '/'",
    )
    assert said("2.11", "STREAM.UPDATE.S", "{}")[1].endswith("can not contain '.', '*', '>'")
    assert said("2.15", "STREAM.UPDATE.S", '{"name":"T","max_age":-1}')[0] == 10052
    assert said("2.15", "STREAM.CREATE.S", '{"name":"T","max_age":-1}')[0] == 10056
    assert said("2.15", "STREAM.UPDATE.NOPE", '{"name":"NOPE","num_replicas":3}')[0] == 10059


def test_templates_are_known_before_2_14(said):
    body = '{"name":"N","template_owner":"x"}'

    assert said("2.12", "STREAM.CREATE.N", body) == (10049, "stream not owned by template")
    assert said("2.12", "STREAM.CREATE.S", '{"name":"S","template_owner":"x"}')[0] == 10058
    assert said("2.15", "STREAM.CREATE.N", body) == (10025, 'json: unknown field "template_owner"')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2020-01-02T03:04:05Z", ""),
        ("2020-01-02T03:04:05.123+01:00", ""),
        ("2020-01-01", 'as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2020-13-01T00:00:00Z", ": month out of range"),
        ("2020-01-01T24:00:00Z", ": hour out of range"),
        ("2020-02-30T00:00:00Z", ": day out of range"),
        ("2020-01-02T03:04:05Zx", ': extra text: "x"'),
    ],
)
def test_times_are_read_as_go_reads_them(text, words):
    told = time_error(text)

    assert told.endswith(words)
    assert (told == "") is (words == "")


def test_a_word_is_known_since_the_version_that_brought_it(said):
    body = '{"stream_name":"S","config":{"priority_policy":"prioritized"}}'

    assert said("2.11", "CONSUMER.CREATE.S.A", body)[1] == 'unknown priority policy: "prioritized"'
    assert said("2.12", "CONSUMER.CREATE.S.A", body)[0] != 10025
    assert (
        said("2.15", "CONSUMER.CREATE.S.A", body.replace('"prioritized"', "1"))[1]
        == "unknown priority policy: 1"
    )


def test_values_are_what_was_said():
    body = b'{"offset":-0,"SUBJECTS_FILTER":"a\\ud800\\u00e9","deleted_details":true}'
    asked = asked_of(body, "JSApiStreamInfoRequest", PROFILES["2.15"])

    assert asked == {"offset": 0, "subjects_filter": "a\ufffdé", "deleted_details": True}
