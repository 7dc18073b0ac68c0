"""Options by name, form and combination: Spark passes on whatever was written, so everything wrong
is said here.
"""

import pickle
from pathlib import Path

import pytest

from jsproto.jetstream.api.timestamps import Timestamp
from jsproto_spark.errors import InvalidOption
from jsproto_spark.options import OPTIONS, OptionType, Use, settings_of, values_of
from tests.spark.naive_source import looked_up
from tests.spark.page import column_rows, option_rows
from tests.spark.traps import outcome, trap

EVERY = list(Use)
READS = [Use.BATCH_READ, Use.STREAM_READ]

#: A text of each form that is no default.
TEXTS = {
    OptionType.TEXT: "word",
    OptionType.FILE: "/a/word",
    OptionType.SERVERS: "nats://elsewhere:4222",
    OptionType.STREAM: "NAME",
    OptionType.CONSUMER: "name",
    OptionType.PREFIX: "a.b",
    OptionType.API_PREFIX: "a.b",
    OptionType.SUBJECT: "a.b",
    OptionType.SUBJECTS: "a.*",
    OptionType.COUNT: "17",
    OptionType.SECONDS: "17s",
    OptionType.OFFSET: "17",
    OptionType.MOMENT: "1700000000000",
    OptionType.VARIABLE: "NAME",
}


def read(use=Use.STREAM_READ, **given):
    return settings_of({"stream": "S", **given}, use).read


def refused(use=Use.STREAM_READ, **given):
    with pytest.raises(InvalidOption) as caught:
        settings_of({"stream": "S", **given}, use)
    text = str(caught.value)

    assert "\n" not in text
    assert "stream" in text
    return text


@trap("4.10", ours=(settings_of, [8, InvalidOption, InvalidOption]), naive=(looked_up, [1, 1, 1]))
def test_what_is_written_is_taken_or_refused_and_never_a_silent_default(kind, seen):
    given = [{"minpartitions": "8"}, {"minpartition": "8"}, {"minpartitions": "eight"}]

    assert seen == [
        outcome(lambda each=each: kind({"stream": "S", **each}, Use.BATCH_READ).read.min_partitions)
        for each in given
    ]


def test_keys_come_in_lower_case_and_values_do_not():
    assert 8 == read(minpartitions="8").min_partitions
    assert "nextPlan" == read(releasemode="cursor", cursor="c", releaseon="NEXTPLAN").release_on


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_read_by_its_name(option):
    default = option.default
    text = (
        str(not default).lower() if option.form is OptionType.FLAG
        else next(word for word in option.words if word != default) if option.form is OptionType.WORD
        else TEXTS[option.form]
    )  # fmt: skip
    found = values_of({option.name.lower(): text})

    assert found.keys() == {option.name}
    assert found[option.name] != default
    assert option.means
    assert option.uses


@pytest.mark.parametrize(
    ("option", "use"),
    [
        pytest.param(option, use, id=f"{option.name} in a {use}")
        for option in OPTIONS
        for use in EVERY
        if use not in option.uses
    ],
)
def test_an_option_that_does_nothing_in_a_use_is_refused_there(option, use):
    text = (
        option.words or ("true" if option.form is OptionType.FLAG else TEXTS.get(option.form),)
    )[0]

    assert f"expected option {option.name}" in refused(use, **{option.name: text})


def test_defaults_are_those_of_the_table():
    made = settings_of({"stream": "S"}, Use.BATCH_READ)

    assert made.where.servers == "nats://127.0.0.1:4222"
    assert made.read.starting_offsets is None
    assert made.read.max_records_per_partition == 1_000_000
    assert made.write.window == 4000


def test_an_unknown_option_is_refused_by_name_and_its_value_is_not_shown():
    text = refused(password="hunter2")

    assert "'password'" in text
    assert "hunter2" not in text


def test_the_word_of_kafka_is_answered_with_ours():
    assert "here it is servers" in refused(**{"kafka.bootstrap.servers": "a:1"})
    assert "here it is stream" in refused(subscribe="a")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("startingOffset", "is startingOffsets meant"),
        ("sevrers", "is servers meant"),
        ("minPartition", "is minPartitions meant"),
        ("maxoffsetpertrigger", "is maxMessagesPerTrigger meant"),
        ("subscribePatern", "is subscribepattern meant? Then here it is subjects"),
        ("kafka.group.id", "consumerNamePrefix"),
        ("kafka.max.poll.records", "options of Kafka's client have no effect here"),
        ("minOffsetsPerTrigger", "there is no such option"),
        ("password", "name it with passwordEnv"),
        ("PassWord", "name it with passwordEnv"),
        ("passwort", "is password meant? Then an option must not contain a secret"),
        ("token", "tokenEnv"),
        ("creds", "credentialsFile"),
        ("path", "give it as the option stream"),
        ("durable", "the option cursor"),
        ("url", "the option servers"),
        ("provider", "CREATE TEMPORARY VIEW"),
    ],
)
def test_a_word_that_is_no_option_is_answered_with_what_to_do(key, said):
    with pytest.raises(InvalidOption) as caught:
        values_of({"stream": "S", key: "hunter2"})

    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_word_that_is_like_nothing_is_answered_with_nothing():
    with pytest.raises(InvalidOption, match=r"got 'zzzzzz'$"):
        values_of({"zzzzzz": "1"})


def test_a_table_that_was_made_without_our_options_is_told_what_works():
    with pytest.raises(
        InvalidOption,
        match=r"got none; Spark does not pass the options of a table .* CREATE TEMPORARY VIEW",
    ):
        settings_of({}, Use.BATCH_READ)


@pytest.mark.parametrize(
    ("subjects", "within"),
    [
        ("a.>,a.b", "'a.b' within 'a.>'"),
        ("a.b,c,*.b", "'a.b' within '*.b'"),
        ("x,>", "'x' within '>'"),
    ],
)
def test_subjects_of_which_one_holds_another_are_refused_before_anything_is_planned(
    subjects, within
):
    # The server refuses them for a consumer (10138), so they failed in the tasks only.
    with pytest.raises(
        InvalidOption, match="option subjects: expected subjects none of which contains another"
    ) as caught:
        values_of({"stream": "S", "subjects": subjects})
    assert within in str(caught.value)
    values_of({"stream": "S", "subjects": "a.*,*.b,c"})


def test_the_other_name_of_an_option_is_the_same_option():
    assert 5 == read(maxOffsetsPerTrigger="5").max_messages_per_trigger
    assert "got both" in refused(maxOffsetsPerTrigger="5", maxMessagesPerTrigger="5")


def test_what_spark_puts_among_the_options_of_a_sink_is_none_of_ours():
    made = settings_of(
        {"stream": "S", "checkpointLocation": "/tmp/x", "subject": "a"}, Use.STREAM_WRITE
    )

    assert made.write.subject == "a"


@pytest.mark.parametrize("use", EVERY, ids=str)
def test_a_stream_is_always_named(use):
    with pytest.raises(InvalidOption, match="expected the option stream"):
        settings_of({}, use)


CONFLICTS = [
    ({"startingOffsets": "5", "startingTimestamp": "1"}, READS, "expected one of them"),
    ({"endingOffsets": "5", "endingTimestamp": "1"}, [Use.BATCH_READ], "expected one of them"),
    ({"domain": "a", "apiPrefix": "b"}, EVERY, "expected one of them"),
    ({"credentialsFile": "a", "user": "b", "passwordEnv": "C"}, EVERY, "credentialsFile and user"),
    ({"nkeySeedFile": "a", "tokenEnv": "C"}, EVERY, "nkeySeedFile and tokenEnv"),
    ({"msgIdColumn": "a", "autoMsgId": "true"}, [Use.BATCH_WRITE], "expected one of them"),
    ({"passwordEnv": "A"}, EVERY, "expected user"),
    ({"user": "a"}, EVERY, "expected passwordEnv"),
    ({"tlsKeyFile": "a"}, EVERY, "expected tlsCertFile"),
    ({"startingOffsetsByTimestampStrategy": "latest"}, READS, "expected startingTimestamp"),
    ({"expectedOutage": "1h"}, [Use.STREAM_WRITE], "expected msgIdColumn or autoMsgId"),
    ({"stallWait": "30s"}, [Use.BATCH_WRITE], "expected a wait below the 30 s"),
    ({"stallWait": "2s", "ackTimeout": "1s"}, [Use.STREAM_WRITE], "below the 1 s"),
    ({"releaseMode": "cursor"}, [Use.STREAM_READ], "expected the name of a durable consumer"),
    ({"cursor": "c"}, [Use.STREAM_READ], "expected releaseMode cursor"),
    ({"releaseOn": "nextPlan"}, [Use.STREAM_READ], "expected releaseMode cursor or purge"),
    ({"purgeDespiteConsumers": "true"}, [Use.STREAM_READ], "expected releaseMode purge"),
    ({"releaseMode": "purge"}, [Use.STREAM_READ], "expected earliest"),
    (
        {"releaseMode": "purge", "startingOffsets": "earliest", "readMode": "consumer"},
        [Use.STREAM_READ],
        "expected direct gets",
    ),
    ({"includeHeaders": "false", "headersFormat": "map"}, READS, "expected no headersFormat"),
    (
        {"startingOffsets": "5", "endingOffsets": "4"},
        [Use.BATCH_READ],
        "expected an end after the start",
    ),
    (
        {"startingTimestamp": "5", "endingTimestamp": "4"},
        [Use.BATCH_READ],
        "expected an end after the start",
    ),
]


@pytest.mark.parametrize(
    ("given", "use", "said"),
    [
        pytest.param(given, use, said, id=f"{' '.join(given)} in a {use}")
        for given, uses, said in CONFLICTS
        for use in uses
    ],
)
def test_what_does_not_go_together_is_refused(given, use, said):
    text = refused(use, **given)

    assert said in text
    assert next(iter(given)) in text


def test_what_goes_together_is_taken():
    made = read(
        releaseMode="purge",
        startingOffsets="earliest",
        releaseOn="nextPlan",
        purgeDespiteConsumers="true",
    )

    assert ("purge", "nextPlan", True) == (
        made.release_mode,
        made.release_on,
        made.purge_despite_consumers,
    )
    assert read(
        startingTimestamp="1", startingOffsetsByTimestampStrategy="latest"
    ).starting_timestamp == Timestamp(1_000_000)
    assert (
        settings_of({"stream": "S", "user": "a", "passwordEnv": "B"}, Use.BATCH_READ).where.user
        == "a"
    )


def test_settings_travel_to_a_task_and_are_a_key():
    made = settings_of({"stream": "S", "subjects": "a,b"}, Use.BATCH_READ)

    assert made == pickle.loads(pickle.dumps(made))
    assert hash(made.where) == hash(pickle.loads(pickle.dumps(made.where)))


def test_the_page_shows_the_tables_of_options_and_columns_as_they_are():
    page = (Path(__file__).resolve().parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")

    assert "\n".join(option_rows()) in page, (
        "run: python -c 'from tests.spark.page import *; print(*option_rows(), sep=chr(10))'"
    )
    assert "\n".join(column_rows()) in page
