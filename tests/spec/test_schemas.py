"""The schemas of events are those of the classes, say something, and hold for every event that was
recorded.
"""

from __future__ import annotations

import json

import pytest

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.events.advisories import EVENTS, read_event
from jsproto.jetstream.api.events.schemas import NEEDED, event_schema
from tests.jetstream.api.events.recorded import recorded_events
from tests.spec.schemas import FOLDER, drawn

jsonschema = pytest.importorskip("jsonschema")
Validator = jsonschema.Draft202012Validator


@pytest.fixture(scope="module")
def recorded(traces):
    return [json.loads(body) for _, body in recorded_events(traces)]


def test_the_files_are_what_the_classes_say():
    files = {each.name: each.read_text(encoding="utf-8") for each in FOLDER.iterdir()}

    assert files == drawn(), "run python tests/spec/schemas.py"


@pytest.mark.parametrize("kind", EVENTS)
def test_each_schema_is_one_and_knows_what_it_needs(kind):
    schema = event_schema(kind)
    Validator.check_schema(schema)

    assert set(schema["required"]) <= schema["properties"].keys()
    assert schema["properties"]["type"] == {"const": kind}


def test_every_type_has_its_row_and_no_other():
    assert NEEDED.keys() == {kind.rpartition(".")[2] for kind in EVENTS}


def test_an_unknown_type_has_no_schema():
    with pytest.raises(InvalidConfig, match="of_tomorrow"):
        event_schema("io.nats.jetstream.advisory.v1.of_tomorrow")


def test_every_recorded_event_is_valid(recorded):
    assert len({each["type"] for each in recorded}) >= 8
    for event in recorded:
        Validator(event_schema(event["type"])).validate(event)


def test_what_lacks_a_member_or_has_one_of_another_form_is_not_valid(recorded):
    for event in recorded:
        schema = event_schema(event["type"])
        validator = Validator(schema)
        for name in schema["required"]:
            assert not validator.is_valid(
                {key: value for key, value in event.items() if key != name}
            )
        for name in event:
            assert not validator.is_valid({**event, name: [1.5]})


def test_what_is_valid_can_be_read_and_what_is_read_and_written_is_valid(recorded):
    for event in recorded:
        more = {**event, "a_member_of_tomorrow": {"deep": [None]}}
        Validator(event_schema(event["type"])).validate(more)
        written = read_event(json.dumps(more).encode()).to_wire()
        Validator(event_schema(event["type"])).validate(written)

        assert written["a_member_of_tomorrow"] == {"deep": [None]}
