import pytest

CONFIG = {"name": "S", "subjects": ["s.>"]}


def ask(client, subject, body=None):
    return client.server.request(subject, body, client.now)


def err_code(client, subject, body=None):
    return ask(client, subject, body)["error"]["err_code"]


def create(client, name="C", action=None, stream="S", **config):
    request = {
        "stream_name": stream,
        "config": {"durable_name": name, "ack_policy": "explicit", **config},
    }
    return ask(
        client,
        f"CONSUMER.CREATE.{stream}.{name}",
        {**request, **({"action": action} if action else {})},
    )


def test_creating_the_same_stream_again_is_fine_and_another_is_not(make):
    client = make()

    assert ask(client, "STREAM.CREATE.S", CONFIG)["did_create"] is True
    assert err_code(client, "STREAM.CREATE.S", {**CONFIG, "max_msgs": 5}) == 10058


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "T", "subjects": ["t"]}, 10056),
        ({"name": "N", "subjects": ["s.x"]}, 10065),
        ({"name": "N", "subjects": ["a..b"]}, 10052),
        ({"name": "N", "subjects": ["a", "a"]}, 10052),
        ({"name": "N", "unknown": 1}, 10025),
        ({"name": "N", "max_msgs": "5"}, 10025),
        ({"name": "N", "max_age": "1h"}, 10025),
        ({"name": "N", "subjects": [5]}, 10025),
        ({"name": "N", "no_ack": 1}, 10025),
        ({"name": "N", "description": 1}, 10025),
        ({"name": "N", "retention": "forever"}, 10025),
        ({"name": "N", "consumer_limits": 5}, 10025),
        ({"name": "N", "max_age": 5, "duplicate_window": 6, "pedantic": True}, 10052),
    ],
)
def test_streams_that_are_refused(make, body, code):
    assert err_code(make(), "STREAM.CREATE.N", body) == code


@pytest.mark.parametrize(
    "member",
    [
        {"placement": {"cluster": "X"}},
        {"mirror": {"name": "X"}},
        {"sources": [{"name": "X"}]},
        {"allow_msg_schedules": True},
        {"allow_batched": True},
    ],
)
def test_streams_beyond_the_model_are_refused_and_noted(make, member):
    client = make()
    error = ask(client, "STREAM.CREATE.N", {"name": "N", **member})["error"]

    assert error["code"] == 501
    assert error["description"].startswith("not modelled by SimServer: ")
    assert len(client.server.not_modelled) == 1


def test_names_that_say_nothing_get_their_own_name_as_subject(make):
    client = make()

    assert ask(client, "STREAM.CREATE.T", {"name": "T", "num_replicas": 0})["config"][
        "subjects"
    ] == ["T"]


def test_defaults_are_those_of_the_server(make):
    config = ask(
        make(), "STREAM.CREATE.T", {"name": "T", "max_msgs": 0, "max_age": 10**9, "sealed": True}
    )["config"]

    assert (
        config["max_msgs"],
        config["duplicate_window"],
        config["discard"],
        config["deny_delete"],
    ) == (
        -1,
        10**9,
        "new",
        True,
    )


def test_unknown_members_are_dropped_before_2_12(make):
    client = make(version="2.11")

    assert "unknown" not in ask(client, "STREAM.CREATE.T", {"name": "T", "unknown": 1})["config"]


def test_updates_change_what_may_change(make):
    client = make()
    updated = ask(client, "STREAM.UPDATE.S", {**CONFIG, "max_msgs": 5, "metadata": {"k": "v"}})[
        "config"
    ]

    assert updated["max_msgs"] == 5
    assert updated["metadata"]["k"] == "v"
    assert err_code(client, "STREAM.UPDATE.S", {**CONFIG, "storage": "memory"}) == 10052
    assert err_code(client, "STREAM.UPDATE.S", {**CONFIG, "retention": "workqueue"}) == 10052
    assert err_code(client, "STREAM.UPDATE.X", {"name": "X"}) == 10059
    ask(client, "STREAM.UPDATE.S", {**CONFIG, "sealed": True})
    assert err_code(client, "STREAM.UPDATE.S", CONFIG) == 10052


def test_lists_are_paged_and_filtered(make):
    client = make()
    for name in ("B", "A"):
        ask(client, f"STREAM.CREATE.{name}", {"name": name, "subjects": [f"{name}.>"]})

    assert ask(client, "STREAM.NAMES")["streams"] == ["A", "B", "S"]
    assert ask(client, "STREAM.NAMES", {"subject": "B.x"})["streams"] == ["B"]
    page = ask(client, "STREAM.NAMES", {"offset": 50})
    assert (page["total"], page["offset"], page["streams"]) == (3, 3, None)
    listed = ask(client, "STREAM.LIST", {"offset": 2})["streams"]
    assert [each["config"]["name"] for each in listed] == ["S"]
    assert listed[0]["config"]["metadata"] == {"_nats.req.level": "0"}
    create(client)
    assert ask(client, "CONSUMER.NAMES.S")["consumers"] == ["C"]
    assert ask(client, "CONSUMER.NAMES.S", {"offset": -5})["offset"] == 0
    assert [each["name"] for each in ask(client, "CONSUMER.LIST.S")["consumers"]] == ["C"]
    assert err_code(client, "CONSUMER.LIST.X") == 10059


def test_stream_info_tells_subjects_and_gaps(make):
    client = make(publish=3)
    ask(client, "STREAM.MSG.DELETE.S", {"seq": 2})
    info = ask(client, "STREAM.INFO.S", {"subjects_filter": "s.>", "deleted_details": True})

    assert info["state"]["subjects"] == {"s.a": 2}
    assert info["state"]["deleted"] == [2]
    assert (info["total"], info["limit"]) == (1, 100_000)
    assert (
        "subjects"
        not in ask(client, "STREAM.INFO.S", {"subjects_filter": "s.>", "offset": 1})["state"]
    )
    assert ask(client, "STREAM.INFO.S", {"subjects_filter": "x"})["total"] == 0


def test_messages_are_looked_up(make):
    client = make(publish=1)
    client.pub("s.b", "")

    assert ask(client, "STREAM.MSG.GET.S", {"seq": 1})["message"]["data"] == "MA=="
    assert ask(client, "STREAM.MSG.GET.S", {"last_by_subj": "s.*"})["message"]["seq"] == 2
    assert (
        ask(client, "STREAM.MSG.GET.S", {"seq": 1, "next_by_subj": "s.b"})["message"]["subject"]
        == "s.b"
    )
    assert err_code(client, "STREAM.MSG.GET.S", {"seq": 9}) == 10037
    assert err_code(client, "STREAM.MSG.GET.S", {"seq": 1, "last_by_subj": "s.a"}) == 10003
    assert err_code(client, "STREAM.MSG.GET.S") == 10003


def test_deleting_a_stream_takes_its_consumers(make):
    client = make(consumer={})
    client.pull(batch=1)
    assert err_code(client, "STREAM.DELETE.S", {"x": 1}) == 10038
    assert ask(client, "STREAM.DELETE.S")["success"] is True

    assert "409 Consumer Deleted" in client.hear()
    assert err_code(client, "STREAM.DELETE.S") == 10059
    client.pub("s.a", "x", "in.1")
    assert "503" in client.hear()


@pytest.mark.parametrize(
    ("subject", "body", "code"),
    [
        ("CONSUMER.CREATE.NOPE", {"stream_name": "NOPE", "config": {}}, 10059),
        ("CONSUMER.CREATE.S", {"stream_name": "T", "config": {}}, 10056),
        ("CONSUMER.CREATE.S", {"stream_name": "S", "config": {"durable_name": "D"}}, 10020),
        ("CONSUMER.DURABLE.CREATE.S.D", {"stream_name": "S"}, 10018),
        (
            "CONSUMER.DURABLE.CREATE.S.D",
            {"stream_name": "S", "config": {"durable_name": "E"}},
            10017,
        ),
        ("CONSUMER.CREATE.S.A", {"stream_name": "S", "config": {"durable_name": "B"}}, 10017),
        (
            "CONSUMER.CREATE.S.A.s.a",
            {"stream_name": "S", "config": {"filter_subject": "s.b"}},
            10131,
        ),
        (
            "CONSUMER.CREATE.S.A.s.a",
            {"stream_name": "S", "config": {"filter_subjects": ["s.a"]}},
            10137,
        ),
        (
            "CONSUMER.CREATE.S.A",
            {"stream_name": "S", "config": {"filter_subject": "s.a", "filter_subjects": ["s.b"]}},
            10136,
        ),
        (
            "CONSUMER.CREATE.S.A",
            {"stream_name": "S", "config": {"filter_subjects": ["s.a", "s.*"]}},
            10138,
        ),
        ("CONSUMER.CREATE.S.A", {"stream_name": "S", "config": {"filter_subjects": [""]}}, 10139),
        (
            "CONSUMER.CREATE.S.A",
            {"stream_name": "S", "config": {"backoff": [1, 2], "max_deliver": 1}},
            10116,
        ),
        ("CONSUMER.CREATE.S.A", {"stream_name": "S", "config": {"backoff": ["1s"]}}, 10025),
        ("CONSUMER.CREATE.S.A", {"stream_name": "S", "config": {}, "action": "bogus"}, 10025),
        ("CONSUMER.CREATE.S.A", {"stream_name": "S", "config": {}, "action": "update"}, 10149),
        (
            "CONSUMER.CREATE.S.A",
            {"stream_name": "S", "pedantic": True, "config": {"max_deliver": -5}},
            10157,
        ),
        ("CONSUMER.CREATE.S.A", None, 10056),
        ("CONSUMER.INFO.S.NOPE", None, 10014),
        ("CONSUMER.DELETE.S.NOPE", None, 10014),
        ("CONSUMER.PAUSE.S.NOPE", {}, 10014),
        ("STREAM.LEADER.STEPDOWN.S", None, 10010),
    ],
)
def test_consumer_requests_that_are_refused(make, subject, body, code):
    assert err_code(make(), subject, body) == code


def test_a_filter_in_the_subject_is_that_of_the_configuration(make):
    body = {"stream_name": "S", "config": {"durable_name": "A", "filter_subject": "s.a"}}

    assert ask(make(), "CONSUMER.CREATE.S.A.s.a", body)["config"]["filter_subject"] == "s.a"


def test_the_action_says_what_is_meant(make):
    client = make()
    create(client, action="create")

    assert create(client, action="create")["name"] == "C"
    assert create(client, action="create", max_deliver=3)["error"]["err_code"] == 10148
    assert create(client, action="update", max_deliver=3)["config"]["max_deliver"] == 3
    assert create(client, ack_policy="all")["error"] == {
        "code": 500,
        "err_code": 10012,
        "description": "ack policy can not be updated",
    }


def test_ephemeral_consumers_are_named_by_the_server_and_do_not_stay(make):
    client = make()
    made = ask(client, "CONSUMER.CREATE.S", {"stream_name": "S", "config": {"max_deliver": 0}})

    assert len(made["name"]) == 8
    assert made["config"]["inactive_threshold"] == 5 * 10**9
    assert made["config"]["max_deliver"] == -1
    client.wait(5.0)
    assert ask(client, "CONSUMER.NAMES.S")["consumers"] == []


def test_a_work_queue_has_one_consumer_for_each_message(make):
    client = make(stream={"retention": "workqueue"})

    assert create(client, "A", ack_policy="none")["error"]["err_code"] == 10084
    assert create(client, "A", deliver_policy="new")["error"]["err_code"] == 10101
    assert create(client, "A", filter_subject="s.a")["name"] == "A"
    assert create(client, "B")["error"]["err_code"] == 10099
    assert create(client, "B", filter_subject="s.*")["error"]["err_code"] == 10100
    assert create(client, "B", filter_subjects=["s.b"])["name"] == "B"


def test_consumers_of_a_stream_are_limited(make):
    client = make(stream={"max_consumers": 1})
    create(client)

    assert create(client, "D")["error"]["err_code"] == 10026


def test_on_2_9_filters_lie_within_the_stream_or_around_it_and_are_single(make):
    client = make(version="2.9")

    for outside in ("x", "*.z", "*.*.>"):
        assert create(client, filter_subject=outside)["error"]["err_code"] == 10093
    for number, wide in enumerate((">", "s.>", "*.>")):
        assert create(client, f"W{number}", filter_subject=wide)["name"] == f"W{number}"
    assert "filter_subjects" not in create(client, filter_subjects=["s.a", "s.b"])["config"]


@pytest.mark.parametrize(
    "subject", ["STREAM.FOO.S", "NOPE", "STREAM.INFO", "STREAM.INFO.S.x", "CONSUMER.CREATE"]
)
def test_what_no_server_answers_is_not_answered(make, subject):
    assert make().request(subject) is None


@pytest.mark.parametrize(
    ("version", "verb"), [("2.10", "CONSUMER.PAUSE.S.C"), ("2.12", "CONSUMER.RESET.S.C")]
)
def test_verbs_that_a_version_does_not_know_are_not_answered(make, version, verb):
    assert make(version=version).request(verb) is None


def test_verbs_beyond_the_model_are_refused(make):
    client = make()

    assert client.request("STREAM.SNAPSHOT.S", {})["error"]["code"] == 501


def test_a_request_may_require_an_api_level(make):
    client = make()
    client.pub("$JS.API.STREAM.NAMES", "", "in.1", "Nats-Required-Api-Level: 99")

    assert '"err_code":10185' in client.hear()


def test_the_account_adds_up(make):
    client = make(stream={"storage": "memory"}, consumer={}, publish=2)
    ask(client, "STREAM.CREATE.F", {"name": "F", "subjects": ["f"]})
    client.pub("f", "x")
    info = ask(client, "INFO")

    assert (info["memory"], info["storage"], info["streams"], info["consumers"]) == (40, 32, 2, 1)
    assert info["api"]["level"] == 5


def test_answers_are_escaped_as_go_escapes(make):
    client = make()
    client.pub("$JS.API.STREAM.INFO.S", "", "in.1")

    assert '"subjects":["s.\\u003e"]' in client.hear()


def test_a_pause_and_its_end(make):
    client = make(consumer={})
    paused = ask(client, "CONSUMER.PAUSE.S.C", {"pause_until": "2027-01-15T08:00:05Z"})

    assert paused["pause_remaining"] == 5 * 10**9
    assert ask(client, "CONSUMER.INFO.S.C")["config"]["metadata"]["_nats.req.level"] == "1"
    assert ask(client, "CONSUMER.PAUSE.S.C") == {
        "type": "io.nats.jetstream.api.v1.consumer_pause_response",
        "paused": False,
        "pause_until": "0001-01-01T00:00:00Z",
    }


def test_a_pinned_group_is_unpinned_on_request_and_others_are_not_there(make):
    client = make(consumer={"priority_groups": ["g"], "priority_policy": "pinned_client"})
    create(client, "P")

    assert ask(client, "CONSUMER.UNPIN.S.C", {"group": "g"}) == {
        "type": "io.nats.jetstream.api.v1.consumer_unpin_response"
    }
    assert err_code(client, "CONSUMER.UNPIN.S.C", {"group": ""}) == 10025
    assert err_code(client, "CONSUMER.UNPIN.S.C", {"group": "h"}) == 10160
    assert err_code(client, "CONSUMER.UNPIN.S.P", {"group": "g"}) == 10160


@pytest.mark.parametrize(
    ("policy", "asked", "seq"),
    [
        ({}, {}, 2),
        ({}, {"seq": 3}, 3),
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 2}, {"seq": 3}, 3),
        (
            {"deliver_policy": "by_start_time", "opt_start_time": "2027-01-15T08:00:00Z"},
            {"seq": 1},
            1,
        ),
    ],
)
def test_a_reset_consumer_begins_anew(make, policy, asked, seq):
    client = make(consumer=policy, publish=4)
    client.pull(batch=2)
    first = client.hear().split("~")[0].split()[3]
    client.pub(first)
    answer = ask(client, "CONSUMER.RESET.S.C", asked)
    client.pull(batch=1)

    expected = seq if policy.get("opt_start_seq") != 2 or asked else 3
    assert answer["reset_seq"] == expected
    assert answer["num_pending"] == 5 - expected
    assert f"$JS.ACK.S.C.1.{expected}.1." in client.hear()


@pytest.mark.parametrize(
    ("policy", "seq", "text"),
    [
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 3}, 2, "below start seq"),
        (
            {"deliver_policy": "by_start_time", "opt_start_time": "2027-01-15T08:00:01Z"},
            2,
            "below start time",
        ),
        ({"deliver_policy": "new"}, 2, "not allowed"),
    ],
)
def test_a_consumer_is_not_reset_to_before_its_start(make, policy, seq, text):
    client = make(consumer=policy, publish=4)
    error = ask(client, "CONSUMER.RESET.S.C", {"seq": seq})["error"]

    assert (error["err_code"], error["description"]) == (10204, f"invalid reset: {text}")


def test_nobody_answers_for_a_consumer_that_is_not_there(make):
    client = make()
    client.pub("$JS.API.CONSUMER.RESET.S.NOPE", "", "in.1")

    assert client.hear() == ""


def test_the_answer_to_a_reset_has_two_blanks(make):
    client = make(consumer={})
    client.pub("$JS.API.CONSUMER.RESET.S.C", "", "in.1")

    assert client.hear().startswith("MSG in.1 1  ")


@pytest.mark.parametrize("verb", ["PAUSE", "UNPIN", "RESET"])
def test_verbs_that_came_later_meet_silence(make, verb):
    client = make(version="2.10.26", consumer={})
    client.pub(f"$JS.API.CONSUMER.{verb}.S.C", "", "in.1")

    assert client.hear() == ""


def test_a_pull_consumer_does_not_become_a_push_consumer_nor_back(make):
    client = make()
    create(client, "L")
    create(client, "U", deliver_subject="in.d")

    assert ask(client, "CONSUMER.CREATE.S.L", body_of("L", deliver_subject="in.d"))["error"] == {
        "code": 500,
        "err_code": 10012,
        "description": "can not update pull consumer to push based",
    }
    assert ask(client, "CONSUMER.CREATE.S.U", body_of("U"))["error"]["description"] == (
        "can not update push consumer to pull based"
    )


def body_of(name, **config):
    return {
        "stream_name": "S",
        "config": {"durable_name": name, "ack_policy": "explicit", **config},
    }
