"""The words of the server; which number is said when has been confirmed by live tests of the rules."""

import pytest

from jsproto.testing.simserver.requests.checks import refused_consumer, refused_stream
from jsproto.testing.simserver.values.profile import PROFILES

NEW, OLD = PROFILES["2.15"], PROFILES["2.9"]
STREAM = {"name": "S", "subjects": ["s.>"]}


@pytest.mark.parametrize(
    ("asked", "err_code", "text"),
    [
        ({"max_age": 5}, 10052, "max age needs to be >= 100ms"),
        ({"subjects": ["a.*", "a.b"]}, 10052, 'subject "a.*" overlaps with "a.b"'),
        ({"subjects": [">"]}, 10052, "capturing all subjects requires no-ack to be true"),
        ({"num_replicas": -1}, 10133, "replicas count cannot be negative"),
        ({"republish": {"src": ">", "dest": "s.x"}}, 10052, None),
        (
            {"allow_msg_counter": True, "discard": "new"},
            10052,
            "counter stream cannot use discard new",
        ),
    ],
)
def test_what_is_said_against_a_stream(asked, err_code, text):
    refusal = refused_stream({**STREAM, **asked}, NEW)

    assert refusal.err_code == err_code
    assert text in {None, refusal.text}


@pytest.mark.parametrize(
    ("asked", "err_code", "text"),
    [
        (
            {"deliver_policy": "by_start_sequence"},
            10094,
            "consumer delivery policy is deliver by start sequence, but optional start sequence is not set",
        ),
        (
            {"deliver_policy": "last_per_subject"},
            10094,
            "consumer delivery policy is deliver last per subject, but optional filter subject is not set",
        ),
        (
            {"opt_start_seq": 5},
            10094,
            "consumer delivery policy is deliver all, but optional start sequence is also set",
        ),
        (
            {"sample_freq": "x%"},
            10095,
            'failed to parse consumer sampling configuration: strconv.Atoi: parsing "x": invalid syntax',
        ),
        (
            {"description": "x" * 5000},
            10107,
            "consumer description is too long, maximum allowed is 4096",
        ),
        ({"deliver_subject": "d.*"}, 10079, "consumer deliver subject has wildcards"),
        ({"flow_control": True}, 10089, "consumer flow control requires a push based consumer"),
        ({"ack_wait": -1}, 10183, "consumer ack wait needs to be positive"),
    ],
)
def test_what_is_said_against_a_consumer(asked, err_code, text):
    refusal = refused_consumer({"ack_policy": "explicit", **asked}, STREAM, NEW).at_once

    assert (refusal.err_code, refusal.text) == (err_code, text)


def test_what_came_later_is_not_said_by_an_old_server():
    assert refused_consumer({"ack_policy": "explicit", "ack_wait": -1}, STREAM, OLD) == (None, None)


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (NEW, "consumer in pull mode requires explicit ack policy on workqueue stream"),
        (OLD, "consumer in pull mode requires ack policy"),
    ],
)
def test_a_text_that_has_changed_is_that_of_the_version(profile, text):
    stream = {**STREAM, "retention": "workqueue"}

    assert refused_consumer({"ack_policy": "none"}, stream, profile).at_once.text == text


def test_what_a_work_queue_says_to_new_consumers_comes_last():
    stream = {**STREAM, "retention": "workqueue"}
    at_once, at_last = refused_consumer(
        {"ack_policy": "explicit", "deliver_policy": "new"}, stream, NEW
    )

    assert at_once is None
    assert (at_last.err_code, at_last.text) == (
        10101,
        "consumer must be deliver all on workqueue stream",
    )


def test_pedantic_refuses_what_is_adjusted_otherwise():
    asked = {"ack_policy": "explicit", "max_deliver": -5}

    assert refused_consumer(asked, STREAM, NEW) == (None, None)
    assert refused_consumer(asked, STREAM, NEW, pedantic=True).at_once.text == (
        "pedantic mode: max_deliver must be set to -1"
    )
