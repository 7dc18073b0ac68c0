"""One reader and one writer for all documents: tolerant in, strict out, nothing lost in between."""

# ruff: noqa: RUF009 - as in the modules under test

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, InvalidResponse
from jsproto.jetstream.api.codecs import DURATION, INTEGER, LABELS, NAME, TEXTS, ListCodec
from jsproto.jetstream.api.config.account import AccountInfo
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.stream import (
    ConsumerLimits,
    StreamConfig,
    StreamInfo,
    StreamState,
)
from jsproto.jetstream.api.document import Document, Nested, mapping, member, of, table, unechoed
from jsproto.jetstream.api.envelope import parse_object, to_json
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.timestamps import Duration


@frozen(kw_only=True, repr=False)
class Inner(Document):
    name: str = field(metadata=of(NAME))
    size: int | None = member(INTEGER)


@frozen(kw_only=True, repr=False)
class Outer(Document):
    name: str = field(metadata=of(NAME))
    age: timedelta | None = member(DURATION)
    count: int = member(INTEGER, 0)
    subjects: Sequence[str] = member(TEXTS, ())
    labels: Mapping[str, str] = mapping(LABELS)
    inner: Inner | None = member(Nested(Inner))
    inners: Sequence[Inner] = member(ListCodec(Nested(Inner)), ())


@pytest.mark.parametrize(
    "nothing", [{}, {"subjects": None}, {"subjects": []}, {"labels": {}, "inner": None}]
)
def test_b191_null_missing_and_empty_mean_the_same(nothing: dict[str, object]) -> None:
    read = Outer.from_wire({"name": "o", **nothing})

    assert (list(read.subjects), dict(read.labels), read.inner, read.age) == ([], {}, None, None)
    assert read == Outer(name="o")


def test_b202_unknown_members_at_any_depth_are_written_back() -> None:
    members = {
        "name": "o",
        "future": {"x": [1, None]},
        "inner": {"name": "i", "odd": False},
        "inners": [{"name": "j", "odd": 1}],
    }
    read = Outer.from_wire(members)

    assert read.extra == {"future": {"x": [1, None]}}
    assert read.evolve(count=3).to_wire() == {**members, "count": 3}


def test_b203_only_what_is_set_is_written_and_false_and_zero_are_set() -> None:
    assert StreamConfig(name="S").to_wire() == {"name": "S"}
    assert StreamConfig(name="S", allow_direct=False, max_msgs=0, description="").to_wire() == {
        "name": "S",
        "description": "",
        "max_msgs": 0,
        "allow_direct": False,
    }


def test_durations_are_written_as_integer_nanoseconds_even_below_the_microsecond() -> None:
    written = to_json(Outer(name="o", age=timedelta(seconds=0.3)).to_wire())

    assert written == b'{"name":"o","age":300000000,"count":0}'
    assert (
        Outer.from_wire({"name": "o", "age": 1_000_000_001}).evolve(count=1).to_wire()["age"]
        == 1_000_000_001
    )


def test_a_number_or_flag_of_another_form_is_an_invalid_response_that_names_its_place() -> None:
    with pytest.raises(
        InvalidResponse, match=r"as Outer\.count, got 'x' in the answer to stream info"
    ):
        Outer.from_wire({"name": "o", "count": "x"}, "stream info")
    with pytest.raises(InvalidResponse, match=r"as Outer\.name, got list of 0"):
        Outer.from_wire({"name": []})
    with pytest.raises(InvalidResponse, match=r"expected an object as Outer, got list of 0"):
        Outer.from_wire([])


@pytest.mark.parametrize(
    "odd",
    [
        {"age": "soon"},
        {"subjects": {}},
        {"labels": {"a": 1}},
        {"inner": {}},
        {"inner": "x"},
        {"inners": [{"name": "i"}, {}]},
    ],
)
def test_a_value_that_cannot_be_read_costs_that_member_and_is_written_back(
    odd: dict[str, object],
) -> None:
    read = Outer.from_wire({"name": "o", "count": 3, **odd, "later": 1})
    [name] = odd

    assert (read.name, read.count, getattr(read, name) or None) == ("o", 3, None)
    assert read.extra == {**odd, "later": 1}
    assert read.to_wire() == {"name": "o", "count": 3, **odd, "later": 1}
    assert Outer.from_wire(read.to_wire()) == read
    assert read.evolve(count=4).to_wire()[name] == odd[name]
    assert read.unread() == (name,)


def test_a_member_that_is_set_replaces_the_value_that_could_not_be_read() -> None:
    read = Outer.from_wire({"name": "o", "inner": {}})

    assert read.evolve(inner=Inner(name="i")).to_wire() == {
        "name": "o",
        "count": 0,
        "inner": {"name": "i"},
    }
    assert read.evolve(inner=Inner(name="i")).extra == {}


def test_a_value_that_cannot_be_read_within_a_member_costs_the_innermost_one_that_may_be_missing() -> (
    None
):
    read = Outer.from_wire({"name": "o", "inners": [{"name": "i"}, {"name": "j", "size": "x"}]})

    assert read.inners == (Inner(name="i"), Inner(name="j", extra={"size": "x"}))
    assert read.unread() == ("inners.size",)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"age": "5"}, r"expected seconds, or a timedelta, .* as Outer\.age, got '5'"),
        ({"count": "1"}, r"as Outer\.count"),
        ({"subjects": "a"}, r"expected a sequence as Outer\.subjects"),
        ({"labels": {"a": 1}}, r"expected text as Outer\.labels\.a, got 1"),
        ({"inner": {"name": "i"}}, r"expected a Inner as Outer\.inner"),
        ({"name": ""}, r"expected a name as Outer\.name"),
        ({"name": None}, r"expected a name as Outer\.name, got None"),
        ({"extra": []}, r"expected a mapping as Outer\.extra"),
        ({"extra": {"count": 1}}, r"expected unknown members in Outer\.extra, got 'count'"),
    ],
)
def test_a_value_of_another_form_is_refused_when_it_is_given(
    given: dict[str, object], text: str
) -> None:
    with pytest.raises(InvalidConfig, match=text):
        Outer(**{"name": "o", **given})


def test_an_edit_makes_a_copy_and_none_takes_a_setting_back() -> None:
    first = Outer(name="o", subjects=["a"], labels={"k": "v"}, count=2, age=timedelta(1))
    second = first.evolve(subjects=None, labels=None, count=None, age=None)

    assert second == Outer(name="o")
    assert first.subjects == ("a",)
    with pytest.raises(InvalidConfig, match=r"expected settings of Outer, got \['colour'\]"):
        first.evolve(colour="red")


def test_b064_what_the_caller_owns_is_not_changed_and_equal_input_gives_equal_bytes() -> None:
    subjects, labels = ["b", "a"], {"k": "v"}
    config = Outer(name="o", subjects=subjects, labels=labels)
    first = to_json(config.to_wire())
    subjects.append("c")
    labels["k"] = "w"

    assert to_json(config.to_wire()) == first
    assert to_json(Outer(name="o", subjects=("b", "a"), labels={"k": "v"}).to_wire()) == first


def test_a_document_shows_what_is_set_and_nothing_else() -> None:
    assert repr(Outer(name="o", inner=Inner(name="i"), extra={"x": 1})) == (
        "Outer(extra={'x': 1}, name='o', count=0, inner=Inner(name='i'))"
    )


def test_documents_are_values_that_can_be_pickled() -> None:
    config = StreamConfig(
        name="S", max_age=Duration.from_ns(5), consumer_limits=ConsumerLimits(max_ack_pending=3)
    )

    assert pickle.loads(pickle.dumps(config)) == config


def test_b203_settings_that_did_not_come_back_are_named() -> None:
    sent = Outer(
        name="o",
        count=5,
        subjects=["a"],
        inner=Inner(name="i", size=3),
        age=timedelta(0),
        extra={"x": 1},
    )
    back = Outer(name="o", count=6, inner=Inner(name="i"), labels={"added": "by the server"})

    assert unechoed(sent, back) == ("count", "subjects", "inner.size", "x")
    assert unechoed(sent, sent) == ()


MEMBERS = st.sampled_from(
    sorted(
        {
            name
            for kind in (
                StreamConfig,
                StreamInfo,
                StreamState,
                ConsumerConfig,
                ConsumerInfo,
                AccountInfo,
                PubAck,
            )
            for name, _, _ in table(kind)
        }
        | {"future"}
    )
)
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from(["", "x", "limits", "1%", "2024-01-01T00:00:00Z"])
)
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=150)
@given(
    st.sampled_from([StreamConfig, StreamInfo, ConsumerConfig, ConsumerInfo, AccountInfo, PubAck]),
    st.dictionaries(MEMBERS, JSON, max_size=12) | JSON,
)
def test_any_json_is_a_document_that_survives_or_an_invalid_response(
    kind: type[Document], members: object
) -> None:
    if isinstance(members, dict):
        members.setdefault("name", "n")
        members.setdefault("stream", "s")
        members.setdefault("stream_name", "s")
        members.setdefault("config", {"name": "c"})
    try:
        document = kind.from_wire(members)
    except InvalidResponse:
        return

    written = to_json(document.to_wire())
    assert kind.from_wire(parse_object(written)) == document
    assert to_json(document.to_wire()) == written


def test_a_deep_or_long_value_is_told_by_its_size() -> None:
    nest: object = 0
    for _ in range(900):
        nest = [nest]
    with pytest.raises(InvalidResponse, match="got list of 1"):
        StreamInfo.from_wire({"config": nest})
