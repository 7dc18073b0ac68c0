import pytest

from jsproto.testing.simserver.consumers.pulls import BadPullError, Waiting, parse_pull
from jsproto.testing.simserver.values.profile import PROFILES

NEW, OLD = PROFILES["2.15"], PROFILES["2.10"]


@pytest.mark.parametrize(
    ("body", "batch"),
    [
        (b"", 1),
        (b"5", 5),
        (b" 7 ", 7),
        (b"-2", -2),
        (b"hello", 1),
        (b"[1]", 1),
        (b"{}", 0),
        (b'{"batch":3}', 3),
        (b'{"batch":null}', 0),
    ],
)
def test_every_form_of_a_request_is_read(body, batch):
    assert parse_pull(body, "in", 0, NEW).batch == batch


def test_moments_are_counted_from_now():
    pull = parse_pull(
        b'{"batch":1,"expires":1000,"idle_heartbeat":500,"no_wait":true,"max_bytes":9,"unknown":{}}',
        "in",
        50,
        NEW,
    )

    assert (pull.expires_at, pull.heartbeat_at, pull.no_wait, pull.max_bytes) == (
        1050,
        550,
        True,
        9,
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"batch":', "unexpected end of JSON input"),
        (b'{"batch":x}', "invalid character 'x' looking for beginning of value"),
        (b'{"batch":"5"}', "json: cannot unmarshal string into Go struct field .batch of type int"),
        (
            b'{"batch":1.5}',
            "json: cannot unmarshal number 1.5 into Go struct field .batch of type int",
        ),
        (b'{"batch":true}', "json: cannot unmarshal bool into Go struct field .batch of type int"),
        (
            b'{"group":[]}',
            "json: cannot unmarshal array into Go struct field .group of type string",
        ),
        (
            b'{"group":{}}',
            "json: cannot unmarshal object into Go struct field .group of type string",
        ),
        (b'{"id":5}', "json: cannot unmarshal number into Go struct field .id of type string"),
        (
            b'{"no_wait":1}',
            "json: cannot unmarshal number into Go struct field .no_wait of type bool",
        ),
        (b'{"expires":100,"idle_heartbeat":51}', "heartbeat value too large"),
        (b'{"idle_heartbeat":1}', "heartbeat value too large"),
    ],
)
def test_what_cannot_be_read_says_why(body, text):
    with pytest.raises(BadPullError) as caught:
        parse_pull(body, "in", 0, NEW)
    assert str(caught.value) == text


class Stage:
    def __init__(self, profile=NEW, limit=3):
        self.said, self.beats, self.listeners = [], [], {"a", "b"}
        self.waiting = Waiting(limit, profile, self.listeners.__contains__, 0)

    def pull(self, reply, body):
        self.waiting.add(parse_pull(body, reply, 0, NEW), 0)

    def serve(self, size=10, now=1):
        pull = self.waiting.serve(size, now, lambda reply, block: self.said.append((reply, block)))
        return pull.reply if pull is not None else None

    def sweep(self, now=1, at_end=False):
        return self.waiting.sweep(
            now,
            lambda reply, block: self.said.append((reply, block)),
            self.beats.append,
            at_end=at_end,
        )


def test_pulls_are_served_in_turn():
    stage = Stage()
    stage.pull("a", b"2")
    stage.pull("b", b"3")

    assert [stage.serve() for _ in range(6)] == ["a", "b", "a", "b", "b", None]


def test_a_message_that_does_not_fit_ends_the_pull_and_goes_to_the_next():
    stage = Stage()
    stage.pull("a", b'{"batch":5,"max_bytes":9}')
    stage.pull("b", b"1")

    assert stage.serve(10) == "b"
    assert stage.said == [
        (
            "a",
            b"NATS/1.0 409 Message Size Exceeds MaxBytes\r\nNats-Pending-Messages: 5\r\nNats-Pending-Bytes: 9\r\n\r\n",
        )
    ]


def test_a_budget_used_up_exactly_ends_the_pull_silently():
    stage = Stage()
    stage.pull("a", b'{"batch":5,"max_bytes":10}')

    assert stage.serve(10) == "a"
    assert (len(stage.waiting), stage.said) == (0, [])


def test_expired_and_unheard_pulls_get_nothing():
    stage = Stage()
    stage.pull("a", b'{"batch":1,"expires":5}')
    stage.pull("gone", b"1")

    assert stage.serve(10, now=6) is None
    assert stage.said[0][1].startswith(b"NATS/1.0 408 Request Timeout")


@pytest.mark.parametrize(
    ("profile", "line"),
    [
        (NEW, b"404 No Messages\r\n\r\n"),
        (OLD, b"408 Request Timeout\r\nNats-Pending-Messages: 1\r\nNats-Pending-Bytes: 0\r\n\r\n"),
    ],
)
def test_a_no_wait_pull_that_was_given_something_ends_at_the_end(profile, line):
    stage = Stage(profile)
    stage.pull("a", b'{"batch":2,"no_wait":true,"expires":100}')

    assert stage.sweep(at_end=True) == 0
    stage.serve()
    assert stage.sweep(at_end=False) == 0
    assert stage.sweep(at_end=True) == 1
    assert stage.said == [("a", b"NATS/1.0 " + line)]


def test_a_sweep_sends_heartbeats_and_drops_who_is_not_heard():
    stage = Stage()
    stage.pull("a", b'{"batch":2,"expires":100,"idle_heartbeat":10}')
    stage.pull("gone", b"1")

    assert stage.waiting.deadline() == 10
    assert stage.sweep(now=10) == 1
    assert stage.beats == ["a"]
    assert stage.waiting.deadline() == 20


def test_the_queue_knows_its_bounds():
    stage = Stage(limit=1)
    stage.pull("a", b"4")

    assert stage.waiting.full
    assert stage.waiting.asked == 4
    stage.waiting.resize(2)
    assert not stage.waiting.full
    assert list(stage.waiting.newest_by_reply()) == ["a"]
    assert [pull.reply for pull in stage.waiting.take_all()] == ["a"]


def test_a_no_wait_pull_that_would_wait_for_ever_ends_at_the_end_too():
    stage = Stage()
    stage.pull("a", b'{"batch":2,"no_wait":true}')

    assert stage.sweep(at_end=True) == 1
    assert stage.said == [("a", b"NATS/1.0 404 No Messages\r\n\r\n")]


def test_a_judge_lets_pulls_take_pass_or_end():
    stage = Stage()
    verdicts = {"a": False, "b": b"ended", "c": True}
    stage.listeners.add("c")
    for reply in verdicts:
        stage.pull(reply, b"1")
    said = []

    taken = stage.waiting.serve(
        1, 1, lambda *each: said.append(each), lambda pull: verdicts[pull.reply]
    )
    assert (taken.reply, said) == ("c", [("b", b"ended")])
    assert stage.waiting.serve(1, 1, stage.said.append, lambda pull: verdicts[pull.reply]) is None
    assert [pull.reply for pull in stage.waiting.take_all()] == ["a"]


def test_a_sorted_queue_serves_low_numbers_first_and_those_of_one_number_in_turn():
    stage = Stage(limit=9)
    stage.waiting.prioritized = True
    stage.listeners.update("cd")
    for reply, body in (
        ("a", b'{"batch":2,"priority":5}'),
        ("b", b'{"batch":2,"priority":1}'),
        ("c", b'{"batch":2,"priority":1}'),
        ("d", b"1"),
    ):
        stage.pull(reply, body)

    assert [stage.serve() for _ in range(8)] == ["b", "c", "b", "c", "a", "a", "d", None]
