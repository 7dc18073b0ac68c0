"""Permissions of each use, added up and as the server's configuration has them; a live test runs
each use with no more.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.errors import InvalidSubject
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.ops import permissions as allow

API = ApiSubjects()


def test_a_puller_asks_hears_and_acks() -> None:
    needed = allow.pulling(API, "S", "C")

    assert needed.publish == ("$JS.API.CONSUMER.MSG.NEXT.S.C", "$JS.ACK.S.C.>")
    assert needed.subscribe == ("_INBOX.>",)
    assert needed.responses is None


def test_with_responses_only_the_receiver_can_ack() -> None:
    needed = allow.pulling(
        API, "S", "C", responses=allow.ResponseLimits(1, timedelta(minutes=5)), inbox="me.>"
    )

    assert needed.publish == ("$JS.API.CONSUMER.MSG.NEXT.S.C",)
    assert needed.subscribe == ("me.>",)
    assert 'allow_responses { max: 1, expires: "300s" }' in needed.as_config()


def test_who_creates_needs_the_verbs_for_it() -> None:
    needed = allow.pulling(ApiSubjects.for_domain("hub"), "S", "C", create=True)

    assert needed.publish == (
        "$JS.hub.API.CONSUMER.MSG.NEXT.S.C",
        "$JS.hub.API.CONSUMER.CREATE.S.C",
        "$JS.hub.API.CONSUMER.CREATE.S.C.>",
        "$JS.hub.API.CONSUMER.INFO.S.C",
        "$JS.hub.API.CONSUMER.DELETE.S.C",
        "$JS.ACK.S.C.>",
    )


def test_who_is_pushed_listens_there_and_answers_flow_control() -> None:
    needed = allow.pushed(API, "S", "C", "deliver.me", create=True)
    silent = allow.pushed(API, "S", "C", "deliver.me", responses=allow.ResponseLimits())

    assert needed.subscribe == ("deliver.me", "_INBOX.>")
    assert needed.publish[0] == "$JS.FC.S.C.>"
    assert needed.publish[-1] == "$JS.ACK.S.C.>"
    assert silent.publish == ("$JS.FC.S.C.>",)


def test_the_other_uses_have_their_subjects() -> None:
    assert allow.publishing(["a", "b.*"]).publish == ("a", "b.*")
    assert "$JS.API.CONSUMER.CREATE.S.>" in allow.ordered(API, "S").publish
    assert allow.looking_up(API, "S", direct=False).publish == ("$JS.API.STREAM.MSG.GET.S",)
    assert allow.looking_up(API, "S").publish == (
        "$JS.API.DIRECT.GET.S",
        "$JS.API.DIRECT.GET.S.>",
        "$JS.API.STREAM.INFO.S",
    )
    assert allow.administering(API).publish == ("$JS.API.>",)


def test_uses_add_up_and_nothing_is_said_twice() -> None:
    both = (
        allow.pulling(API, "S", "C", responses=allow.ResponseLimits())
        | allow.administering(API)
        | allow.publishing(["a"])
    )

    assert both.publish == ("$JS.API.>", "a")
    assert both.subscribe == ("_INBOX.>",)
    assert both.responses == allow.ResponseLimits()
    assert both.as_config() == (
        "permissions {\n"
        '  publish { allow: ["$JS.API.>", "a"] }\n'
        '  subscribe { allow: ["_INBOX.>"] }\n'
        '  allow_responses { max: -1, expires: "120s" }\n'
        "}"
    )
    assert "allow_responses" not in allow.publishing(["a"]).as_config()


def test_no_name_can_add_a_token() -> None:
    with pytest.raises(InvalidSubject):
        allow.acks("S", "C.>")


def test_a_backup_looks_takes_and_says_what_came() -> None:
    assert allow.backing_up(API, "S").publish == (
        "$JS.API.STREAM.INFO.S",
        "$JS.API.CONSUMER.LIST.S",
        "$JS.API.STREAM.SNAPSHOT.S",
        "$JS.SNAPSHOT.ACK.S.>",
    )
    assert allow.backing_up(ApiSubjects.for_domain("hub"), inbox="me.>") == allow.Permissions(
        publish=(
            "$JS.hub.API.STREAM.LIST",
            "$JS.hub.API.CONSUMER.LIST.*",
            "$JS.hub.API.STREAM.SNAPSHOT.*",
            "$JS.SNAPSHOT.ACK.>",
        ),
        subscribe=("me.>",),
    )


def test_a_restore_looks_what_is_there_and_makes_streams_in_each_way() -> None:
    assert allow.restoring(API, "S").publish == (
        "$JS.API.STREAM.LIST",
        "$JS.API.STREAM.RESTORE.S",
        "$JS.API.STREAM.CREATE.S",
        "$JS.API.STREAM.UPDATE.S",
        "$JS.API.CONSUMER.NAMES.S",
        "$JS.API.CONSUMER.CREATE.S.>",
        "$JS.SNAPSHOT.RESTORE.S.*",
    )
    assert "$JS.API.STREAM.RESTORE.*" in allow.restoring(API).publish


def test_who_only_listens_may_say_nothing() -> None:
    needed = allow.hearing_events()

    assert needed.subscribe == ("$JS.EVENT.ADVISORY.>", "$JS.EVENT.METRIC.>")
    assert needed.as_config() == (
        "permissions {\n"
        '  publish { deny: ">" }\n'
        '  subscribe { allow: ["$JS.EVENT.ADVISORY.>", "$JS.EVENT.METRIC.>"] }\n'
        "}"
    )


def test_servers_are_asked_by_the_word_for_it_all_or_one_or_about_an_account() -> None:
    assert allow.asking_servers(["VARZ", "JSZ"]).publish == (
        "$SYS.REQ.SERVER.*.VARZ",
        "$SYS.REQ.SERVER.*.JSZ",
    )
    assert allow.asking_servers(["INFO"], accounts=["A"]).publish == ("$SYS.REQ.ACCOUNT.A.INFO",)
    with pytest.raises(InvalidSubject):
        allow.asking_servers(["VARZ.>"])
    with pytest.raises(InvalidSubject):
        allow.asking_servers(["INFO"], accounts=["*"])


@pytest.mark.parametrize("use", [allow.backing_up, allow.restoring])
def test_no_name_of_a_stream_can_add_a_token_to_what_is_allowed(use) -> None:
    with pytest.raises(InvalidSubject):
        use(API, "S.>")
