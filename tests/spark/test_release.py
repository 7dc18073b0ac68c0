"""What is processed is released, all of it and never early: interest streams by a cursor, work
queues by a purge.
"""

import json
from itertools import product

import pytest

from jsproto.errors import JsprotoError
from jsproto_io.blocking import connect
from jsproto_spark.errors import Unreadable
from jsproto_spark.read.release import OWNER, resets
from jsproto_spark.read.stream import StreamReader
from tests.spark.feeding import fill, new_stream
from tests.spark.naive_streams import EarlyReader, HastyReader
from tests.spark.querying import Query
from tests.spark.traps import trap

pytestmark = pytest.mark.live

CURSOR = {"startingOffsets": "earliest", "releaseMode": "cursor", "cursor": "spark-cursor"}
PURGE = {"startingOffsets": "earliest", "releaseMode": "purge"}
NEXT = {"releaseOn": "nextPlan"}


def held(stream):
    return stream.info().state.messages


def interest(nc):
    return new_stream(nc, retention="interest")


def queue(nc, messages=0, **config):
    return new_stream(nc, messages, retention="workqueue", **config)


def test_an_interest_stream_keeps_messages_for_the_cursor_from_the_start(broker):
    stream = interest(broker)
    query = Query(broker, stream, **CURSOR)
    query.initial()
    fill(broker, stream, 50)

    assert 50 == held(stream)
    assert list(range(1, 51)) == query.all()


@pytest.mark.parametrize("retention", ["interest", "queue"])
@trap("4.2", ours=("nextPlan", 0), by_commit=("commit", 40))
def test_nothing_is_left_behind_a_run_that_releases_with_the_next_plan(
    broker, retention, kind, seen, eventually
):
    # Spark's commit never comes for the last batch of a run; on it alone the last 40 stay in the
    # stream.
    stream = interest(broker) if retention == "interest" else queue(broker)
    how = CURSOR if retention == "interest" else PURGE
    query = Query(broker, stream, maxMessagesPerTrigger="40", releaseOn=kind, **how)
    query.initial()
    fill(broker, stream, 200)

    assert list(range(1, 201)) == query.all()
    assert eventually(lambda: held(stream) == seen)


@pytest.mark.parametrize(
    "way", list(product(["interest", "queue"], ["commit", "nextPlan"])), ids=" ".join
)
@trap("4.2", ours=(StreamReader, 41), early=(EarlyReader, 81))
def test_a_killed_run_releases_nothing_that_was_not_committed(broker, way, kind, seen, eventually):
    retention, when = way
    stream = interest(broker) if retention == "interest" else queue(broker)
    how = {**(CURSOR if retention == "interest" else PURGE), "releaseOn": when}
    query = Query(
        broker, stream, kind=kind, maxMessagesPerTrigger="40", failOnDataLoss="false", **how
    )
    query.initial()
    fill(broker, stream, 200)
    query.plan()
    query.run()
    query.plan()
    query.run(commit=False)
    query.crash()

    # Ours: the first batch, which is done, and no more. What is released is gone, and nobody has
    # seen 41..80.
    assert eventually(lambda: stream.info().state.first_seq == seen)
    assert [*range(1, 41), *range(seen, 201)] == query.all()


@trap("4.2", ours=(StreamReader, 100), hasty=(HastyReader, 0))
def test_where_a_query_begins_nothing_is_processed_yet(broker, kind, seen):
    # Who releases everything before the start of the first batch takes what nobody has read.
    stream = new_stream(broker, 100)
    query = Query(broker, stream, kind=kind, releaseMode="cursor", cursor="seen", **NEXT)
    query.initial()
    query.plan()

    assert seen == stream.consumer("seen").info().num_pending
    fill(broker, stream, 10)
    query.all()
    assert 0 == stream.consumer("seen").info().num_pending


def test_a_purge_takes_only_what_is_read(broker):
    stream = queue(broker, 90)
    query = Query(broker, stream, **PURGE, **NEXT, subjects=f"{stream.name}.0,{stream.name}.1")
    query.all()

    assert 30 == held(stream)
    assert {"2"} == {
        subject.rpartition(".")[2] for subject in stream.info(subjects_filter=">").state.subjects
    }


def test_a_queue_that_others_work_on_is_not_purged_unless_it_is_forced(broker):
    stream = queue(broker, 10)
    stream.create_consumer(durable_name="other", filter_subject=f"{stream.name}.9")
    with pytest.raises(Unreadable, match="see option purgeDespiteConsumers: expected no consumer"):
        Query(broker, stream, **PURGE).initial()

    query = Query(broker, stream, **PURGE, **NEXT, purgeDespiteConsumers="true")
    query.all()
    assert 0 == held(stream)


def test_only_a_work_queue_is_purged_and_no_work_queue_has_a_cursor(broker):
    with pytest.raises(
        Unreadable,
        match="option releaseMode: expected a work-queue stream to purge, got retention limits",
    ):
        Query(broker, new_stream(broker, 1), **PURGE).initial()
    with pytest.raises(
        Unreadable, match="option releaseMode: expected purge for a work-queue stream"
    ):
        Query(broker, queue(broker), **CURSOR).initial()


def test_what_the_server_refuses_to_release_is_one_line_that_names_the_option(broker):
    stream = queue(broker, 10, deny_purge=True)
    query = Query(broker, stream, **PURGE, **NEXT)

    with pytest.raises(JsprotoError, match="see option releaseMode") as caught:
        query.all()
    assert "\n" not in str(caught.value)
    assert list(range(1, 11)) == query.rows  # and nothing that was read is lost by it


def test_a_cursor_that_is_there_already_goes_on(broker):
    stream = interest(broker)
    first = Query(broker, stream, **CURSOR, **NEXT)
    first.initial()
    fill(broker, stream, 10)
    first.all()
    again = Query(broker, stream, **CURSOR, **NEXT, takeOver="true")
    fill(broker, stream, 10)

    assert list(range(11, 21)) == again.all()
    assert 1 == len(list(stream.consumer_names()))


@pytest.mark.parametrize("when", ["commit", "nextPlan"])
def test_a_queue_that_was_made_anew_loses_nothing_to_what_was_read_of_the_old_one(broker, when):
    # The last release of a query comes late. By sequence alone it purges what nobody has read.
    stream = queue(broker, 100)
    query = Query(
        broker, stream, **PURGE, releaseOn=when, failOnDataLoss="false", maxMessagesPerTrigger="50"
    )
    query.plan()
    query.run()
    query.plan()
    query.run()
    stream.delete()
    again = queue(broker, name=stream.name, subjects=[f"{stream.name}.>"])
    fill(broker, again, 60)
    query.reader.commit(json.loads(query.log[-1]))

    assert 60 == held(again)
    assert [*range(1, 101), *range(1, 61)] == query.all()
    query.reader.commit(json.loads(query.log[-1]))
    assert 0 == held(again)


@pytest.mark.parametrize("version", ["2.9.10", "2.12.8"])
def test_before_there_was_a_reset_the_last_message_of_a_range_is_acknowledged(
    start_server, version, eventually
):
    with connect(start_server(version=version).url) as nc:
        stream = new_stream(nc, retention="interest")
        query = Query(nc, stream, maxMessagesPerTrigger="700", **CURSOR, **NEXT)
        query.initial()
        fill(nc, stream, 1600)
        query.plan()
        query.run()
        query.plan()

        assert eventually(lambda: stream.info().state.first_seq == 701)
        assert list(range(701, 1401)) == query.run()
        query.all()
        assert eventually(lambda: held(stream) == 0)


@pytest.mark.parametrize(
    ("version", "policy", "fits"),
    [
        ("2.12.8", "explicit", False),
        ("2.12.8", "none", False),
        ("2.12.8", "all", True),
        ("2.15.1", "none", False),
        ("2.15.1", "explicit", True),
    ],
)
def test_a_cursor_whose_floor_cannot_be_set_is_refused_before_anything_is_read(
    start_server, version, policy, fits, eventually
):
    # The ack of the last message of a range covers the others with ack policy all alone; else they
    # stay for ever.
    with connect(start_server(version=version).url) as nc:
        stream = new_stream(nc, retention="interest")
        stream.create_consumer(durable_name="spark-cursor", ack_policy=policy)
        query = Query(nc, stream, **CURSOR, **NEXT)
        if not fits:
            with pytest.raises(
                Unreadable, match=f"see option cursor: expected ack policy all .*, got {policy}"
            ):
                query.initial()
            return
        query.initial()
        fill(nc, stream, 30)
        query.all()

        assert eventually(lambda: held(stream) == 0)


def test_nobody_waits_for_messages_behind_a_range(start_server):
    # A pull that waits for a full run costs each micro-batch its whole expiry.
    with connect(start_server(version="2.12.8").url) as nc:
        stream = new_stream(nc, retention="interest")
        query = Query(nc, stream, **CURSOR, **NEXT)
        query.initial()
        fill(nc, stream, 60)
        with nc.subscribe(
            f"$JS.API.CONSUMER.MSG.NEXT.{stream.name}.spark-cursor", limit=1
        ) as pulls:
            nc.flush()
            query.all()
            (asked,) = [json.loads(pull.payload) for pull in pulls]

        assert {"batch": 500, "no_wait": True} == asked


# ------------------------------------------------------------------------------------------------ one query and no other


def two_ways(nc, retention):
    """A stream that is emptied as it is processed, and the options for that."""
    return (interest(nc), CURSOR) if retention == "interest" else (queue(nc), PURGE)


@pytest.mark.parametrize("when", ["commit", "nextPlan"])
@pytest.mark.parametrize("retention", ["interest", "queue"])
def test_a_second_query_is_refused_where_another_one_releases_n103(broker, retention, when):
    # Two queries that release for each other lose messages: the second saw only what the first had
    # not released.
    stream, how = two_ways(broker, retention)
    first = Query(broker, stream, **how, releaseOn=when, maxMessagesPerTrigger="10")
    second = Query(broker, stream, **how, releaseOn=when, maxMessagesPerTrigger="10")
    first.initial()
    second.initial()
    fill(broker, stream, 40)
    first.plan()
    first.run()
    name = json.loads(first.log[0])["owner"]

    with pytest.raises(
        Unreadable, match=f"see option takeOver: expected no other query .* got query {name}"
    ):
        second.all()
    third = Query(broker, stream, **how, releaseOn=when)
    with pytest.raises(Unreadable, match=f"got query {name}"):
        third.all()
    first.crash()
    assert list(range(1, 41)) == first.all()


@pytest.mark.parametrize("retention", ["interest", "queue"])
def test_a_query_that_crashed_in_its_first_batch_is_still_the_owner(broker, retention):
    # The new process answers initialOffset with a name of its own; the end that is in the
    # checkpoint has the right one.
    stream, how = two_ways(broker, retention)
    query = Query(broker, stream, **how, **NEXT)
    query.initial()
    fill(broker, stream, 20)
    query.plan()
    query.run(commit=False)
    query.crash()

    assert list(range(1, 21)) == query.all()
    assert 0 == held(stream)


def test_a_query_that_crashed_before_its_first_batch_is_in_nobodys_way(broker):
    stream, how = two_ways(broker, "interest")
    query = Query(broker, stream, **how, **NEXT)
    query.initial()
    fill(broker, stream, 20)
    query.reader.latestOffset(
        query.initial(), query.reader.getDefaultReadLimit()
    )  # written nowhere
    query.crash()

    assert list(range(1, 21)) == query.all()


@pytest.mark.parametrize("retention", ["interest", "queue"])
def test_a_query_that_is_taken_over_says_so_and_releases_nothing_more(broker, retention):
    stream, how = two_ways(broker, retention)
    first = Query(broker, stream, **how, **NEXT)
    first.initial()
    fill(broker, stream, 20)
    first.plan()
    first.run()
    second = Query(broker, stream, **how, **NEXT, takeOver="true", maxMessagesPerTrigger="5")
    second.plan()
    second.run()

    with pytest.raises(Unreadable, match="see option takeOver"):
        first.all()
    assert 20 == held(stream)
    assert list(range(1, 21)) == second.all()
    assert 0 == held(stream)


def test_a_query_with_a_checkpoint_of_an_older_version_gets_a_name_with_its_next_batch(broker):
    stream, how = two_ways(broker, "interest")
    query = Query(broker, stream, **how, **NEXT)
    query.initial()
    fill(broker, stream, 10)
    query.all()
    older = json.loads(query.log[-1])
    stream.consumer("spark-cursor").change(metadata={"kept": "yes"})
    query.log[-1] = json.dumps(
        {key: older[key] for key in ("v", "stream", "created", "seq", "init", "what")}
    )
    query.crash()
    fill(broker, stream, 10)

    assert list(range(1, 21)) == query.all()
    metadata = stream.consumer("spark-cursor").info().config.metadata
    assert json.loads(query.log[-1])["owner"] == metadata[OWNER]
    assert "yes" == metadata["kept"]
    with pytest.raises(Unreadable, match="see option takeOver"):
        Query(broker, stream, **how).plan()


def test_two_queries_that_purge_different_subjects_are_not_in_each_others_way(broker):
    stream = queue(broker, 90)
    one = Query(broker, stream, **PURGE, **NEXT, subjects=f"{stream.name}.0")
    two = Query(broker, stream, **PURGE, **NEXT, subjects=f"{stream.name}.1,{stream.name}.2")
    one.all()
    two.all()

    assert (30, 60, 0) == (len(one.rows), len(two.rows), held(stream))
    with pytest.raises(Unreadable, match="expected no consumer on a stream that is purged"):
        Query(broker, stream, **PURGE).initial()  # all subjects, which are theirs


def test_a_worker_cannot_come_to_a_queue_that_is_purged(broker):
    stream = queue(broker, 9)
    Query(broker, stream, **PURGE, **NEXT, subjects=f"{stream.name}.0").initial()

    with pytest.raises(JsprotoError, match="filtered consumer not unique"):
        stream.create_consumer(durable_name="late", filter_subject=f"{stream.name}.0")


@pytest.mark.parametrize(
    ("version", "retention"),
    [("2.10.26", "interest"), ("2.12.8", "interest"), ("2.11.11", "queue"), ("2.12.8", "queue")],
)
def test_older_servers_know_who_releases_too_n103(start_server, version, retention):
    with connect(start_server(version=version).url) as nc:
        stream, how = two_ways(nc, retention)
        first = Query(nc, stream, **how, **NEXT)
        first.initial()
        fill(nc, stream, 20)
        first.all()
        fill(nc, stream, 20)

        with pytest.raises(Unreadable, match="see option takeOver"):
            Query(nc, stream, **how, **NEXT).all()
        first.crash()
        assert list(range(1, 41)) == first.all()


def test_without_metadata_a_warning_says_that_nobody_would_notice(start_server, caplog):
    with connect(start_server(version="2.9.10").url) as nc:
        stream = new_stream(nc, retention="interest")
        query = Query(nc, stream, **CURSOR, **NEXT)
        query.initial()
        fill(nc, stream, 10)

        assert list(range(1, 11)) == query.all()
    assert 1 == caplog.text.count("keeps no metadata, so a second query with consumer spark-cursor")


def test_a_reset_came_with_2_14():
    assert [False, False, True, True, True] == [
        resets(version) for version in ("2.9.10", "2.13.9-RC.1", "2.14.0", "2.15.1-dev", "3.0.0")
    ]
