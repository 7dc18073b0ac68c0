"""Answers of servers, typed: what is known has its type, what is not is kept, and an error is no
answer.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.errors import ApiError, InvalidResponse
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.events.monitoring import Connz, Healthz, Jsz, Statsz, UserInfo, Varz
from jsproto.jetstream.api.requests.system import ServerAnswer, ServerIdentity

FORMS = (Connz, Document, Healthz, Jsz, Statsz, UserInfo, Varz)


def answer(form, data, **more):
    return ServerAnswer(form=form, server=ServerIdentity(name="n1"), data=data, **more)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_in_an_answer_is_needed_and_what_is_not_known_is_kept(form):
    seen = {"a_member_of_tomorrow": {"deep": [1, None]}}

    assert answer(form, {}).read() == form()
    assert answer(form, seen).read().extra == seen
    assert answer(form, seen).read().to_wire().items() >= seen.items()


def test_what_is_known_has_its_type_at_every_depth():
    varz = answer(
        Varz,
        {
            "cpu": 1.5,
            "auth_timeout": 2,
            "write_deadline": 10_000_000_000,
            "jetstream": {
                "stats": {"api": {"total": 2, "later": 1}},
                "config": {"sync_interval": 1000},
            },
        },
    ).read()

    assert (varz.cpu, varz.auth_timeout, varz.write_deadline) == (1.5, 2, timedelta(seconds=10))
    assert varz.jetstream.stats.api.total == 2
    assert varz.jetstream.stats.api.extra == {"later": 1}
    assert varz.jetstream.config.sync_interval == timedelta(microseconds=1)


def test_an_account_without_a_limit_has_the_largest_number():
    jsz = answer(Jsz, {"account_details": [{"name": "A", "reserved_memory": 2**64 - 1}]}).read()

    assert jsz.account_details[0].reserved_memory == 2**64 - 1


@pytest.mark.parametrize(
    ("data", "well"),
    [({"status": "ok"}, True), ({"status": "unavailable", "error": "x"}, False), ({}, False)],
)
def test_who_is_well_says_ok(data, well):
    assert answer(Healthz, data).read().well is well


def test_an_error_is_raised_by_whoever_reads():
    refused = answer(Varz, {}, error="no such thing")

    with pytest.raises(ApiError, match=r"'n1'.*no such thing"):
        refused.read()


@pytest.mark.parametrize("data", [{"cpu": "much"}, {"connections": 1.5}, {"mem": []}])
def test_a_member_of_another_form_is_an_invalid_response(data):
    with pytest.raises(InvalidResponse, match="Varz"):
        answer(Varz, data).read()


def test_a_number_is_one():
    assert answer(Varz, {"cpu": 3}).read().to_wire()["cpu"] == 3
    with pytest.raises(InvalidResponse):
        answer(Varz, {"cpu": True}).read()


def test_details_that_were_not_asked_for_are_not_an_empty_list_n112():
    bare = answer(Jsz, {"streams": 1, "consumers": 3}).read()
    asked = answer(
        Jsz, {"consumers": 0, "account_details": [{"name": "A", "stream_detail": [{"name": "S"}]}]}
    ).read()

    assert (bare.consumers, bare.account_details) == (3, None)
    assert asked.account_details is not None
    assert asked.account_details[0].stream_detail[0].consumer_detail is None
    assert answer(Jsz, {"account_details": []}).read().account_details == ()


def pages(total, limit, later=None):
    """All connections of a server that is asked page after page; ``later`` is how many there are
    after the first page.
    """
    seen, offset = [], 0
    while offset is not None:
        there = range(total)[offset : offset + limit]
        page = answer(
            Connz,
            {"total": total, "offset": offset, "connections": [{"cid": each} for each in there]},
        )
        seen.append([each.cid for each in page.read().connections])
        offset = page.read().next_offset
        total = total if later is None else later
    return seen


def test_the_next_page_begins_behind_what_was_received_n113():
    whole = pages(2050, 1024)

    assert [len(each) for each in whole] == [1024, 1024, 2]
    assert sorted(cid for page in whole for cid in page) == list(range(2050))
    assert [len(each) for each in pages(2050, 1024, later=1500)] == [1024, 476]
    assert [len(each) for each in pages(2050, 1024, later=100)] == [1024, 0]
