"""Every rule finds its example first, and nothing is found where there is nothing; a live test asks
the server the same.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import (
    ExternalStream,
    Republish,
    StreamConfig,
    StreamSource,
    SubjectTransform,
)
from jsproto.jetstream.api.error_codes import BY_ERR_CODE
from jsproto.jetstream.api.validation.rules import (
    CONSUMER_RULES,
    STREAM_RULES,
    UPDATE_RULES,
    ConfigRule,
    Op,
    check_consumer,
    check_stream,
    check_stream_update,
)
from tests.jetstream.api import check_examples as examples
from tests.lines_run import lines_run

ALL = STREAM_RULES + UPDATE_RULES + CONSUMER_RULES


def stream(**settings: object) -> StreamConfig:
    return StreamConfig(**{"name": "CHECK", "subjects": ["check.>"], **settings})


def named(rule: ConfigRule) -> str:
    return f"{rule.setting}: {rule.text}"


def test_there_are_many_rules_and_each_is_a_number_of_the_servers_once() -> None:
    assert len(ALL) >= 140
    assert len({rule.err_code for rule in ALL}) >= 60
    assert {rule.err_code for rule in ALL} <= BY_ERR_CODE.keys()
    for rules in (STREAM_RULES, UPDATE_RULES, CONSUMER_RULES):
        assert len({(rule.err_code, rule.setting, rule.text) for rule in rules}) == len(rules)


@pytest.mark.parametrize("rule", STREAM_RULES, ids=named)
def test_a_rule_of_streams_finds_its_example_first(rule: ConfigRule) -> None:
    config = stream(**examples.STREAMS[rule.setting, rule.text])
    found = check_stream(config, pedantic=rule.pedantic)

    assert found[0].rule == rule
    assert rule not in [each.rule for each in check_stream(config)] or not rule.pedantic


@pytest.mark.parametrize(
    "rule", [each for each in UPDATE_RULES if each.setting != "name"], ids=named
)
def test_a_rule_of_updates_finds_its_example_first(rule: ConfigRule) -> None:
    before, after = examples.UPDATES[rule.setting, rule.text]
    found = check_stream_update(stream(**before), stream(**after))

    assert found[0].rule == rule


@pytest.mark.parametrize("rule", CONSUMER_RULES, ids=named)
def test_a_rule_of_consumers_finds_its_example_first(rule: ConfigRule) -> None:
    settings, of = examples.CONSUMERS[rule.setting, rule.text]
    if rule.err_code == 10098:
        settings, of = examples.WORKQUEUE_ALL
    found = check_consumer(ConsumerConfig(**settings), stream(**of), pedantic=rule.pedantic)

    assert found[0].rule == rule


def test_a_name_cannot_be_changed_by_an_update() -> None:
    found = check_stream_update(stream(), stream(name="OTHER"))

    assert [(each.err_code, each.setting) for each in found] == [(10052, "name")]


def test_a_finding_says_the_setting_what_was_seen_and_the_number() -> None:
    (finding,) = check_stream(stream(num_replicas=6))

    assert str(finding) == "num_replicas = 6: at most 5 (10052 JSStreamInvalidConfigF)"
    assert (finding.err_code, finding.setting, finding.seen) == (10052, "num_replicas", 6)
    assert str(check_consumer(ConsumerConfig(filter_subjects=[""]))[0]).startswith(
        "filter_subjects = ['']: "
    )


@pytest.mark.parametrize(
    "config",
    [
        StreamConfig(name="S"),
        stream(max_age=timedelta(hours=1), duplicate_window=timedelta(minutes=1)),
        stream(no_ack=True, subjects=[">"]),
        stream(subjects=["$JS.EVENT.>", "$SYS.ACCOUNT.x.>", "a.*.c", "a.b.d"]),
        stream(discard="new", discard_new_per_subject=True, max_msgs_per_subject=1),
        stream(
            mirror=StreamSource(name="O", external=ExternalStream(api="other.api", deliver="d")),
            subjects=(),
        ),
        stream(
            sources=[
                StreamSource(name="O", filter_subject="a"),
                StreamSource(name="O", filter_subject="b"),
                StreamSource(
                    name="P",
                    subject_transforms=[
                        SubjectTransform(src="a.*", dest="b.{{wildcard(1)}}"),
                        SubjectTransform(src="c", dest=""),
                    ],
                ),
            ]
        ),
        stream(
            subject_transform=SubjectTransform(
                src="check.*", dest="x.{{partition(3,1)}}.{{wildcard(1)}}"
            )
        ),
        stream(republish=Republish(src="check.>", dest="elsewhere.>")),
        stream(
            subject_transform=SubjectTransform(src="check.>", dest="moved.>"),
            republish=Republish(src=">", dest=">"),
        ),
        stream(allow_msg_schedules=True),
        stream(subject_delete_marker_ttl=timedelta(seconds=1)),
    ],
    ids=str,
)
def test_what_works_is_not_found_fault_with(config: StreamConfig) -> None:
    assert check_stream(config) == ()


def test_a_consumer_is_found_fault_with_only_as_far_as_its_stream_is_known() -> None:
    for settings, of in examples.CONSUMERS.values():
        if of:
            config = ConsumerConfig(**settings)
            known = {each.rule for each in check_consumer(config, stream(**of))}
            alone = {each.rule for each in check_consumer(config)}

            assert alone < known


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {
            "durable_name": "C",
            "ack_policy": "explicit",
            "backoff": [timedelta(seconds=1)],
            "max_deliver": 1,
        },
        {"backoff": [timedelta(seconds=1)] * 3, "max_deliver": -1, "ack_policy": "explicit"},
        {"deliver_policy": "last_per_subject", "filter_subjects": ["a", "b"]},
        {"sample_freq": "30%"},
        {"priority_policy": "overflow", "priority_groups": ["a/b=c-1_"]},
        {**examples.FC},
    ],
    ids=str,
)
def test_a_consumer_that_works_is_not_found_fault_with(settings: dict[str, object]) -> None:
    assert check_consumer(ConsumerConfig(**settings), stream(name="S", subjects=())) == ()


def test_nothing_is_what_the_server_takes_for_its_default() -> None:
    assert check_stream(stream(num_replicas=0, subjects=[">"], no_ack=True)) == ()


def test_every_way_to_look_at_a_fact_is_used() -> None:
    assert {op for rule in ALL for _, op, _ in rule.given} == set(Op)


@pytest.mark.parametrize(
    "judge",
    [
        lambda many: check_stream(StreamConfig(name="S", subjects=many)),
        lambda many: check_consumer(ConsumerConfig(name="C", filter_subjects=many)),
    ],
)
def test_the_work_for_many_subjects_grows_with_their_number_alone(judge) -> None:
    def work(size: int) -> int:
        subjects = [f"orders.{number}.new" for number in range(size)]
        return lines_run(lambda: judge(subjects))

    assert work(800) < 5 * work(200)
