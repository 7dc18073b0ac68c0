import base64
import json

import pytest

COUNTER = {"allow_msg_counter": True}


def published(client, headers="", payload="", subject="s.a"):
    """The acknowledgement of one publish, ``""`` if there is none."""
    client.pub(subject, payload, "in.1", headers)
    heard = client.hear()
    return json.loads(heard.split("~")[1]) if heard else ""


def test_a_counter_adds_up_and_its_message_is_the_total(make):
    client = make(stream=COUNTER)
    totals = [
        published(client, f"Nats-Incr: {each}")["val"]
        for each in ("+1", "41", "-2", "+" + "9" * 25)
    ]
    message = client.server.request("STREAM.MSG.GET.S", {"last_by_subj": "s.a"}, 0.0)["message"]

    assert totals == ["1", "42", "40", "10000000000000000000000039"]
    assert json.loads(base64.b64decode(message["data"])) == {"val": totals[-1]}


@pytest.mark.parametrize(
    ("stream", "headers", "payload", "err_code"),
    [
        ({}, "Nats-Incr: 1", "", 10168),
        (COUNTER, "Nats-Incr: x", "", 10171),
        (COUNTER, "Nats-Incr: 1", "body", 10170),
        (COUNTER, "Nats-Incr: 1\r\nNats-Rollup: sub", "", 10171),
        (COUNTER, "", "", 10169),
        (COUNTER, "K: v", "", 10169),
    ],
)
def test_a_counter_takes_numbers_alone(make, stream, headers, payload, err_code):
    assert published(make(stream=stream), headers, payload)["error"]["err_code"] == err_code


def test_a_counter_whose_last_message_is_none_is_broken(make):
    client = make()
    client.pub("s.a", "no number").pub("s.b", '{"val":"x"}')
    config = client.server.request("STREAM.INFO.S", None, 0.0)["config"]
    config.pop("metadata")
    client.server._jetstream.streams["S"].configure({**config, **COUNTER})

    assert published(client, "Nats-Incr: 1")["error"]["err_code"] == 10172
    assert published(client, "Nats-Incr: 1", subject="s.b")["error"]["err_code"] == 10172


def test_servers_without_counters_store_the_header(make):
    client = make(version="2.11.11")

    assert published(client, "Nats-Incr: x") == {"stream": "S", "seq": 1}


@pytest.mark.parametrize(("version", "duplicate"), [("2.11.11", True), ("2.12.8", False)])
def test_expectations_are_looked_at_before_or_behind_duplicates(make, version, duplicate):
    client = make(version=version)
    published(client, "Nats-Msg-Id: a")
    again = published(client, "Nats-Msg-Id: a\r\nNats-Expected-Last-Sequence: 7")

    assert ("duplicate" in again) is duplicate
    assert ("error" in again) is not duplicate


def test_a_value_in_an_error_is_quoted_as_go_quotes(make):
    client = make(stream={"allow_rollup_hdrs": True})

    assert published(client, 'Nats-Rollup: a"b')["error"]["description"] == (
        'rollup value invalid: "a\\"b"'
    )
