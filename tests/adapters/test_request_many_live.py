"""One question and many answers, in every adapter, on a real server."""

from __future__ import annotations

import threading
import uuid

import pytest

from jsproto import InvalidSubject, NoResponders, PermissionViolation, RequestTimeout
from jsproto.core import Gathered, empty_payload
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live


@pytest.fixture
def subject(nats_server):
    """A subject on which each question gets as many answers as it says, and one without payload
    behind them.
    """
    name = f"q{uuid.uuid4().hex[:12]}"
    ready = threading.Event()

    def answer():
        with connect(nats_server.url) as nc, nc.subscribe(name) as questions:
            nc.flush()
            ready.set()
            for question in questions:
                if question.payload == b"over":
                    return
                for at in range(int(question.payload)):
                    nc.publish(question.reply, b"%d" % at)
                if question.headers.first("Ends"):
                    nc.publish(question.reply)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    assert ready.wait(10.0)
    yield name
    with connect(nats_server.url) as nc:
        nc.publish(name, b"over")
        nc.flush()
    thread.join(10.0)
    assert not thread.is_alive()


def gathers(subject, payload, **options):
    """A verb for `use`: the answers, and what ended them."""

    def verb(nc):
        answers = nc.request_many(subject, payload, **options)
        if hasattr(answers, "__aenter__"):
            return awaited(answers)
        with answers:
            taken = [each.payload for each in answers]
        return taken, answers.feed.end_of

    async def awaited(answers):
        async with answers:
            taken = [each.payload async for each in answers]
        return taken, answers.feed.end_of

    return verb


def numbers(count):
    return [b"%d" % at for at in range(count)]


def test_each_end_is_told_apart(use, nats_server, subject):
    took = use(
        nats_server.url,
        gathers(subject, b"9", count=4),
        gathers(subject, b"3", sentinel=empty_payload, headers={"Ends": "yes"}),
        gathers(subject, b"3", stall=0.1),
        gathers(subject, b"3", timeout=0.2),
        gathers(subject, b"200", count=200),
    )

    assert [
        (numbers(4), Gathered.COUNT),
        (numbers(3), Gathered.SENTINEL),
        (numbers(3), Gathered.STALL),
        (numbers(3), Gathered.TIMEOUT),
        (numbers(200), Gathered.COUNT),
    ] == took


def test_no_answer_is_an_error(use, nats_server, subject):
    with pytest.raises(NoResponders):
        use(nats_server.url, gathers(f"{subject}.nobody", b"1"))
    with pytest.raises(RequestTimeout):
        use(nats_server.url, gathers(subject, b"0", timeout=0.1))
    with pytest.raises(InvalidSubject):
        use(nats_server.url, gathers("a b", b"0"))


def test_what_may_not_be_asked_is_an_error_of_the_question(use, start_server):
    server = start_server(
        config='authorization { users: [ { user: joe, password: pw, permissions: { publish: "open.>", subscribe: "_I.>" } } ] }'
    )
    url = server.url.replace("//", "//joe:pw@")

    with pytest.raises(PermissionViolation, match="secret"):
        use(url, gathers("secret", b"1"), inbox_prefix="_I")
    with pytest.raises(PermissionViolation, match="Subscription"):
        use(url, gathers("open.a", b"1"), inbox_prefix="_J")
    with pytest.raises(NoResponders):
        use(url, gathers("open.a", b"1"), inbox_prefix="_I")
