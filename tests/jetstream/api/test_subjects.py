"""Every subject of the API, and no name that could be another subject or another frame."""

from __future__ import annotations

import pytest

from jsproto.errors import InvalidSubject
from jsproto.jetstream.api.subjects import ApiSubjects

API = ApiSubjects()

OF_STREAM = {
    "stream_create": "STREAM.CREATE",
    "stream_update": "STREAM.UPDATE",
    "stream_info": "STREAM.INFO",
    "stream_delete": "STREAM.DELETE",
    "stream_purge": "STREAM.PURGE",
    "stream_msg_get": "STREAM.MSG.GET",
    "stream_msg_delete": "STREAM.MSG.DELETE",
    "stream_snapshot": "STREAM.SNAPSHOT",
    "stream_restore": "STREAM.RESTORE",
    "stream_peer_remove": "STREAM.PEER.REMOVE",
    "stream_leader_stepdown": "STREAM.LEADER.STEPDOWN",
    "direct_get": "DIRECT.GET",
    "consumer_create": "CONSUMER.CREATE",
    "consumer_names": "CONSUMER.NAMES",
    "consumer_list": "CONSUMER.LIST",
}
OF_CONSUMER = {
    "consumer_create": "CONSUMER.CREATE",
    "consumer_durable_create": "CONSUMER.DURABLE.CREATE",
    "consumer_info": "CONSUMER.INFO",
    "consumer_delete": "CONSUMER.DELETE",
    "consumer_msg_next": "CONSUMER.MSG.NEXT",
    "consumer_pause": "CONSUMER.PAUSE",
    "consumer_unpin": "CONSUMER.UNPIN",
    "consumer_reset": "CONSUMER.RESET",
    "consumer_leader_stepdown": "CONSUMER.LEADER.STEPDOWN",
}
BAD_NAMES = ["a.b", "a b", "*", ">", "a\r\nPUB x 0", "a\x00", "a/b", "a\\b", "\ud800"]


@pytest.mark.parametrize(("verb", "tokens"), OF_STREAM.items())
def test_verbs_of_a_stream_end_in_its_name(verb: str, tokens: str) -> None:
    assert getattr(API, verb)("ORDERS") == f"$JS.API.{tokens}.ORDERS"


@pytest.mark.parametrize(("verb", "tokens"), OF_CONSUMER.items())
def test_verbs_of_a_consumer_end_in_stream_and_consumer(verb: str, tokens: str) -> None:
    assert getattr(API, verb)("ORDERS", "NEW") == f"$JS.API.{tokens}.ORDERS.NEW"


def test_verbs_of_the_account_take_no_name() -> None:
    assert [API.account_info(), API.stream_names(), API.stream_list()] == [
        "$JS.API.INFO",
        "$JS.API.STREAM.NAMES",
        "$JS.API.STREAM.LIST",
    ]


@pytest.mark.parametrize("name", ["", *BAD_NAMES])
@pytest.mark.parametrize("verb", OF_STREAM)
def test_a_streams_name_adds_no_token_and_no_frame(verb: str, name: str) -> None:
    with pytest.raises(InvalidSubject, match="stream"):
        getattr(API, verb)(name)


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("verb", OF_CONSUMER)
def test_a_consumers_name_adds_no_token_and_no_frame(verb: str, name: str) -> None:
    with pytest.raises(InvalidSubject, match="consumer"):
        getattr(API, verb)("ORDERS", name)


def test_the_prefix_is_that_of_the_domain_or_any_that_an_account_imports() -> None:
    assert ApiSubjects.for_domain("hub").account_info() == "$JS.hub.API.INFO"
    assert ApiSubjects("acc.js").stream_info("S") == "acc.js.STREAM.INFO.S"


@pytest.mark.parametrize("prefix", ["", "a b", "a.", "a..b", "a.>", "a.*", "a\r\n"])
def test_a_prefix_that_is_no_literal_subject_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidSubject):
        ApiSubjects(prefix)


@pytest.mark.parametrize("domain", ["", "a.b", "a b", "*", "a\r\nb"])
def test_a_domain_is_one_token(domain: str) -> None:
    with pytest.raises(InvalidSubject):
        ApiSubjects.for_domain(domain)


def test_a_literal_filter_goes_behind_the_name_and_one_with_wildcards_stays_in_the_configuration() -> (
    None
):
    assert API.consumer_create("S", "C", "orders.new") == "$JS.API.CONSUMER.CREATE.S.C.orders.new"
    assert API.consumer_create("S", "C", "a*b.new") == "$JS.API.CONSUMER.CREATE.S.C.a*b.new"
    assert API.consumer_create("S", "C", "orders.>") == "$JS.API.CONSUMER.CREATE.S.C"
    assert API.consumer_create("S", "C", "orders.*.new") == "$JS.API.CONSUMER.CREATE.S.C"
    assert API.consumer_create("S", "", "orders.new") == "$JS.API.CONSUMER.CREATE.S"


@pytest.mark.parametrize("subject", ["a..b", "a b", ">.a", "a\r\nb"])
@pytest.mark.parametrize("consumer", ["", "C"])
def test_a_filter_that_is_no_subject_is_refused(consumer: str, subject: str) -> None:
    with pytest.raises(InvalidSubject):
        API.consumer_create("S", consumer, subject)


def test_the_last_message_of_one_subject_is_asked_for_by_subject() -> None:
    assert API.direct_get_last("KV_a", "$KV.a.key") == "$JS.API.DIRECT.GET.KV_a.$KV.a.key"
    with pytest.raises(InvalidSubject):
        API.direct_get_last("KV_a", "$KV.a.>")
