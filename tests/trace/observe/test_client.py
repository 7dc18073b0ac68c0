import pytest

from jsproto.trace.observe.client import api_call, json_object, member, number, pull_of


@pytest.mark.parametrize(
    ("subject", "verb", "names"),
    [
        ("$JS.API.INFO", "INFO", ()),
        ("$JS.API.STREAM.INFO.S", "STREAM.INFO", ("S",)),
        ("$JS.API.STREAM.MSG.GET.S", "STREAM.MSG.GET", ("S",)),
        ("$JS.API.DIRECT.GET.S.a.b", "DIRECT.GET", ("S", "a", "b")),
        ("$JS.hub.API.CONSUMER.MSG.NEXT.S.C", "CONSUMER.MSG.NEXT", ("S", "C")),
        ("$JS.API.FOO", "", ()),
        ("$JS.API", "", ()),
        ("$JS.EVENT.x", "", ()),
        ("$JS", "", ()),
    ],
)
def test_a_subject_of_the_api_is_a_verb_and_names(subject, verb, names):
    assert api_call(subject) == (verb, names)


@pytest.mark.parametrize(
    ("body", "batch", "members"),
    [
        (b"", 1, None),
        (b"10", 10, None),
        (b" 7 ", 7, None),
        (b"0", 1, None),
        (b"9" * 16, 1, None),
        (b"ten", 1, None),
        (b"[5]", 1, None),
        (b"{}", 1, frozenset()),
        (b'{"batch":-5}', 1, {"batch"}),
        (b'{"batch":true}', 1, {"batch"}),
        (b'{"batch":"9"}', 1, {"batch"}),
        (b'{"batch":9}', 9, {"batch"}),
        (b'{"batch":9223372036854775807}', 2**63 - 1, {"batch"}),
        (b'{"batch":9223372036854775808}', 1, {"batch"}),
    ],
)
def test_the_batch_of_a_pull_is_what_the_server_takes_it_for(body, batch, members):
    pull = pull_of(("S", "C"), "r", body, 0.0, 1)

    assert (pull.batch, pull.members) == (batch, members)


def test_the_members_of_a_pull_are_read_in_nanoseconds_and_bytes():
    body = b'{"batch":2,"max_bytes":9,"expires":5000000000,"idle_heartbeat":500000000,"no_wait":true,"group":"g","id":"p"}'
    pull = pull_of(("S", "C"), "r", body, 10**9, 1)

    assert (pull.max_bytes, pull.expires, pull.heartbeat, pull.no_wait) == (
        9,
        5 * 10**9,
        5 * 10**8,
        True,
    )
    assert (pull.group, pull.pin) == ("g", "p")


def test_a_number_that_no_server_can_count_is_none():
    body = b'{"max_bytes":NINES,"expires":NINES,"idle_heartbeat":-NINES}'.replace(
        b"NINES", b"9" * 400
    )
    pull = pull_of(("S", "C"), "r", body, 10**9, 1)

    assert (pull.max_bytes, pull.expires, pull.heartbeat) == (0, 0, 0)


def test_members_of_a_wrong_kind_count_as_none():
    body = b'{"max_bytes":-9,"expires":"5s","idle_heartbeat":-1,"no_wait":1,"group":5,"id":null}'
    pull = pull_of(("S", "C"), "r", body, 10**9, 1)

    assert (pull.max_bytes, pull.expires, pull.heartbeat, pull.no_wait) == (0, 0, 0, False)
    assert (pull.group, pull.pin) == ("", "")


@pytest.mark.parametrize("data", [b"", b"what", b"5", b"[]", b"[" * 100_000, b"\xff"])
def test_what_is_no_json_object_is_none(data):
    assert json_object(data) is None


def test_members_are_taken_only_if_they_are_what_is_asked_for():
    body = {"config": {"a": 1}, "other": 5, "yes": True}

    assert member(body, "config") == {"a": 1}
    assert member(body, "other") == {}
    assert [number(body, name) for name in ("other", "yes", "none")] == [5, 0, 0]
