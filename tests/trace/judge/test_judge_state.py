"""A judge that is put away and taken up at every record of a trace finds what one that never slept
finds.
"""

import io
import pickle
import zlib
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import LocalProtocolError
from jsproto.trace.formats.reading import Trace
from jsproto.trace.formats.recording import Happened, Received, Sent
from jsproto.trace.judge import lint
from jsproto.trace.judge.judge_state import VERSION, kept, taken_up
from jsproto.trace.judge.lint import Lint
from jsproto.trace.observe import (
    books,
    deliveries,
    facts,
    ledger,
    observer,
    publishes,
    pulls,
    requests,
)
from jsproto.trace.observe.facts import PullIssued
from jsproto.trace.observe.ledger import SeenLink
from jsproto.trace.observe.observer import Observer
from jsproto.wire import client_commands, frames, parser
from jsproto.wire.client_commands import ClientCommandParser
from jsproto.wire.parser import Parser
from tests.recordings import RECORDINGS, name_of

INFO = b'INFO {"server_id":"N","version":"2.15.1","max_payload":1048576}\r\n'
#: Where the records are defined that a judge's state is made of.
HOMES = (
    facts,
    frames,
    ledger,
    client_commands,
    lint,
    observer,
    parser,
    books,
    deliveries,
    publishes,
    pulls,
    requests,
)
#: Each of their records by module and name, with its fields or slots; a tuple with names has both,
#: and its slots are none.
SHAPE = {
    (each.__module__, each.__qualname__): tuple(
        getattr(each, "_fields", getattr(each, "__slots__", ()))
    )
    for home in HOMES
    for each in vars(home).values()
    if isinstance(each, type)
    and each.__module__ == home.__name__
    and (hasattr(each, "_fields") or hasattr(each, "__slots__"))
}
#: The checksum of all shapes in this version of the state.
CHECKSUMS = {4: 0x5D9836B4}
MAGIC = kept(Lint()).split(b"\n", 1)[0] + b"\n"


@pytest.mark.parametrize("path", RECORDINGS[::9], ids=name_of)
def test_it_goes_on_where_it_was(path):
    awake, asleep = Lint(), Lint()
    found, found_too = [], []
    with path.open("rb") as lines:
        for line, record in Trace(lines).records():
            found += awake.feed(line, record)
            asleep = taken_up(kept(asleep))
            found_too += asleep.feed(line, record)

    assert found_too == found
    assert asleep.counted == awake.counted
    assert asleep.observer.frames == awake.observer.frames


def test_what_did_not_happen_is_still_told_after_the_sleep():
    judge = Lint()
    judge.feed(1, Happened(at=0.0, name="connected", conn="a", detail={}))
    judge.feed(2, Received(at=0.0, conn="a", data=INFO + b"PING\r\n"))
    judge = taken_up(kept(judge))

    found = judge.feed(3, Received(at=60.0, conn="a", data=b"+OK\r\n"))

    assert [each.rule for each in found] == ["ping-unanswered"]


class Walk(pickle.Unpickler):
    """Reads a memory, and notes the classes that it names."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))
        self.named = set()

    def find_class(self, module, name):
        found = super().find_class(module, name)
        self.named.add(found)
        return found


@pytest.mark.parametrize("path", RECORDINGS[::9], ids=name_of)
def test_every_record_in_a_memory_has_its_shape_in_the_checksum(path):
    judge, named = Lint(), set()
    with path.open("rb") as lines:
        for at, (line, record) in enumerate(Trace(lines).records()):
            judge.feed(line, record)
            if at % 5 == 0:
                walk = Walk(kept(judge).split(b"\n", 1)[1])
                walk.load()
                named |= walk.named
    records = {
        each
        for kind in named
        for each in kind.__mro__
        if each.__module__.startswith("jsproto.") and not issubclass(each, Enum)
    }

    assert records >= {Lint, Observer, SeenLink, ClientCommandParser, Parser}
    assert [each for each in records if (each.__module__, each.__qualname__) not in SHAPE] == []


def test_the_version_is_counted_up_when_a_record_changes():
    seen = zlib.crc32(repr(sorted(SHAPE.items())).encode())

    assert CHECKSUMS.get(VERSION) == seen, (
        f"a record of the judge's state changed: count VERSION up, and keep {seen:#x}"
    )


def test_the_shape_of_a_record_is_its_fields_or_its_slots():
    assert SHAPE["jsproto.trace.observe.facts", "PullIssued"] == PullIssued._fields != ()
    assert SHAPE["jsproto.trace.observe.ledger", "SeenLink"] == SeenLink.__slots__ != ()
    assert ["Due"] == [
        name for (_, name), shape in SHAPE.items() if not shape
    ]  # each kind of it has some


def test_who_else_hears_is_not_kept():
    heard = []
    judge = Lint(heard.append)
    later = taken_up(kept(judge))
    pull = b'SUB i.* 1\r\nPUB $JS.API.CONSUMER.MSG.NEXT.S.C i.1 11\r\n{"batch":1}\r\n'

    later.feed(1, Sent(at=0.0, conn="a", data=pull))
    assert heard == []
    judge.feed(1, Sent(at=0.0, conn="a", data=pull))
    assert any(isinstance(fact, PullIssued) for fact in heard)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "in version 4.*new checkpoint"),
        (b"jsproto-judge/3 0001e240\n", "in version 4.*new checkpoint"),
        (MAGIC, "EOFError"),
        (MAGIC + b"\x80\x05junk", "UnpicklingError"),
        (MAGIC + pickle.dumps([1]), "the state of a list"),
        (MAGIC + pickle.dumps(print), "builtins.print"),
        (MAGIC + b"cos\nsystem\n(S'x'\ntR.", "os.system"),
        (MAGIC + pickle.dumps(getattr), "builtins.getattr"),
        (MAGIC + b"cjsproto.trace.judge.judge_state\npickle\n.", "judge_state.pickle"),
        (MAGIC + b"cjsproto.trace.judge.judge_state\ntaken_up\n.", "judge_state.taken_up"),
        (
            MAGIC + b"\x80\x05\x8c\x1fjsproto.trace.judge.judge_state\x8c\x0epickle.Pickler\x93.",
            "pickle.Pickler",
        ),
    ],
)
def test_what_is_no_state_of_a_judge_is_refused(data, why):
    with pytest.raises(LocalProtocolError, match=why):
        taken_up(data)


@given(st.binary(max_size=64))
def test_no_bytes_raise_anything_else(data):
    with pytest.raises(LocalProtocolError):
        taken_up(MAGIC + data)
