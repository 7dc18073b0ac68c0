"""Traces as rows, what is found in them, and what another version of the core finds, without Spark."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import jsproto
from jsproto.trace.formats.reading import Trace
from jsproto.trace.formats.recording import Happened, Wished
from jsproto.trace.judge.lint import Lint
from jsproto_spark.corpus import elsewhere, rows
from jsproto_spark.corpus.batches import JUDGED, columns, judged_batches
from jsproto_spark.corpus.judging import _plain, judged
from jsproto_spark.corpus.live import UNREADABLE, Memory
from jsproto_spark.corpus.tables import _read
from tests.recordings import RECORDINGS, name_of

from .corpora import CORPUS, DEAF, TWICE, change_one_line, session

SOME = RECORDINGS[::61]


def batch_of(texts):
    made = [rows.row_of(name, text.splitlines(keepends=True)) for name, text in texts.items()]
    return pa.RecordBatch.from_pylist(made, schema=rows.SCHEMA)


def found_in(batches):
    return [row for batch in judged_batches(batches) for row in batch.to_pylist()]


@pytest.mark.parametrize("path", SOME, ids=name_of)
def test_a_row_gives_back_the_records_of_the_file(path):
    with path.open("rb") as lines:
        records = list(Trace(lines).records())
    with path.open("rb") as lines:
        row = rows.row_of(str(path), lines)
    stored = pa.RecordBatch.from_pylist([row], schema=rows.SCHEMA).to_pylist()[0]

    back = list(rows.records_of(stored))

    assert [line for line, _ in back] == [line for line, _ in records]
    assert [type(record) for _, record in back] == [type(record) for _, record in records]
    for (_, one), (_, other) in zip(back, records, strict=True):
        assert one.at == pytest.approx(other.at, abs=1e-9)
        assert one.conn == other.conn
        assert getattr(one, "data", None) == getattr(other, "data", None)
        if isinstance(one, Happened | Wished):
            assert (one.name, one.detail) == (other.name, other.detail)
    assert not row["truncated"]
    assert row["server_version"] == path.parent.name


@pytest.mark.parametrize("path", SOME, ids=name_of)
def test_what_is_found_in_a_row_is_what_is_found_in_the_file(path):
    judge, found = Lint(), []
    with path.open("rb") as lines:
        for line, record in Trace(lines).records():
            found += judge.feed(line, record)
    with path.open("rb") as lines:
        row = rows.row_of(str(path), lines)

    tables = judged(rows.records_of(row))

    assert [(each["rule"], each["line"]) for each in tables["violations"]] == [
        (each.rule, each.line) for each in found
    ]
    assert tables["replay"]["frames"] == judge.observer.frames


def test_the_client_and_its_server_are_named():
    row = rows.row_of("t", session(2).splitlines(keepends=True))

    assert (row["client"], row["client_version"], row["server_version"], row["scenario"]) == (
        "test",
        "1.2",
        "2.15.1",
        "consume",
    )


def test_a_trace_that_breaks_off_is_kept_as_far_as_it_goes_and_says_why():
    whole = session(4).splitlines(keepends=True)

    row = rows.row_of("t", [*whole[:-1], b"? what\n"])

    assert row["truncated"]
    assert row["error"].startswith(f"line {len(whole)}: expected a line that begins with")
    assert len(row["ev"]) == len(rows.row_of("t", whole)["ev"]) - 1


def test_a_line_of_a_file_ends_where_that_of_a_trace_does():
    text = b"#jsproto-trace/2\n: description one\rline\x0b\n= a connected\n"
    file = pa.RecordBatch.from_pylist([{"path": "t", "content": text}])
    [batch] = _read([file])
    [row] = batch.to_pylist()

    assert (row["error"], [each["line"] for each in row["ev"]]) == ("", [3])


def test_what_is_no_trace_is_a_row_that_says_so():
    row = rows.row_of("t", [b"hello\n"])

    assert row["truncated"]
    assert row["ev"] == []
    assert "expected #jsproto-trace" in row["error"]


def test_planted_faults_are_found_where_they_were_planted_and_nowhere_else():
    found = {
        row["trace_id"]: {each["rule"] for each in row["violations"]}
        for row in found_in([batch_of(CORPUS)])
    }

    assert sorted(name for name, rules in found.items() if rules == {"ack-twice"}) == TWICE
    assert sorted(name for name, rules in found.items() if rules == {"ping-unanswered"}) == DEAF
    assert sorted(name for name, rules in found.items() if rules) == sorted([*TWICE, *DEAF])


def test_how_the_rows_are_cut_into_batches_changes_nothing():
    whole = batch_of(CORPUS)

    assert found_in([whole.slice(0, 7), whole.slice(7, 1), whole.slice(8)]) == found_in([whole])


def test_pulls_statuses_and_acks_are_counted():
    text = session(4)
    body = b"PUB $JS.ACK.S.C.2.9.9.1795813228857713434.0"
    text += b"@ 1.000000\n< a MSG s.x 2 $JS.ACK.S.C.2.9.9.1795813228857713434.0 1\\r\\nx\\r\\n\n"
    text += (
        b"@ 1.500000\n> a " + body + b" 4\\r\\n+WPI\\r\\n\n> a " + body + b" 4\\r\\n-NAK\\r\\n\n"
    )
    pull = b'{"batch":3,"expires":1000000000}'
    text += b"> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p.2 %d\\r\\n%b\\r\\n\n" % (
        len(pull),
        pull,
    )
    status = b"NATS/1.0 408 Request Timeout\\r\\nNats-Pending-Messages: 3\\r\\nNats-Pending-Bytes: 0\\r\\n\\r\\n"
    size = len(status.replace(b"\\r\\n", b"\r\n"))
    text += b"@ 2.500000\n< a HMSG _INBOX.p.2 2 %d %d\\r\\n%b\\r\\n\n" % (size, size, status)
    row = rows.row_of("t", text.splitlines(keepends=True))

    tables = judged(rows.records_of(row), "test", "1.2")

    assert tables["pulls"] == [
        {
            "stream": "S", "consumer": "C", "pulls": 2, "requested": 7, "delivered": 4, "wasted": 3, "expired": 1, "drift": 0,
            "heartbeats_missed": 0, "recovery_ms": 0.0,
        }
    ]  # fmt: skip
    assert tables["statuses"] == [
        {
            "code": 408,
            "description": "Request Timeout",
            "client": "test",
            "version": "1.2",
            "hour": 0,
            "n": 1,
        }
    ]
    acks = tables["acks"]
    assert (acks["ack"], acks["nak"], acks["in_progress"], acks["redelivered"]) == (4, 1, 1, 2)
    assert acks["p50_ms"] == pytest.approx(2.0)
    assert acks["p99_ms"] == pytest.approx(500.0)


def test_recovery_is_the_time_from_the_loss_of_a_pull_to_the_next_one():
    text = session(2)
    pull = b'{"batch":3,"expires":30000000000,"idle_heartbeat":5000000000}'
    text += b"@ 1.000000\n> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p.2 %d\\r\\n%b\\r\\n\n" % (
        len(pull),
        pull,
    )
    status = b"NATS/1.0 409 Leadership Change\\r\\nNats-Pending-Messages: 3\\r\\nNats-Pending-Bytes: 0\\r\\n\\r\\n"
    size = len(status.replace(b"\\r\\n", b"\r\n"))
    text += b"@ 2.000000\n< a HMSG _INBOX.p.2 2 %d %d\\r\\n%b\\r\\n\n" % (size, size, status)
    text += b"@ 2.750000\n> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p.3 %d\\r\\n%b\\r\\n\n" % (
        len(pull),
        pull,
    )
    row = rows.row_of("t", text.splitlines(keepends=True))

    assert judged(rows.records_of(row))["pulls"][0]["recovery_ms"] == pytest.approx(750.0)


def test_the_fingerprint_is_that_of_the_decisions():
    one, other = (
        judged(rows.records_of(rows.row_of("t", session(count).splitlines(keepends=True))))
        for count in (3, 4)
    )
    again = judged(rows.records_of(rows.row_of("u", session(3).splitlines(keepends=True))))

    assert again["replay"] == one["replay"]
    assert other["replay"]["decision_hash"] != one["replay"]["decision_hash"]


def test_what_has_no_order_has_one_in_the_fingerprint():
    assert _plain({"b", "a", "c"}) == _plain(frozenset("cab")) == ["'a'", "'b'", "'c'"]


def test_columns_are_told_in_the_words_of_sql():
    schema = pa.schema(
        [pa.field("a", pa.list_(pa.struct([pa.field("b", pa.int64())]))), pa.field("c", pa.bool_())]
    )

    assert columns(schema) == "`a` array<struct<`b`: bigint>>, `c` boolean"
    assert columns(JUDGED).startswith("`trace_id` string, `violations` array<struct<`rule`: string")


# ------------------------------------------------------------------------------------------------ another version


@pytest.fixture
def other_core(tmp_path):
    """The core with one line changed: a nak does not settle a delivery any more."""
    core = Path(jsproto.__file__).parent
    shutil.copytree(core, tmp_path / "jsproto", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_same_core_in_another_process_decides_the_same(other_core):
    batch = batch_of(dict(list(CORPUS.items())[:5]))

    there = [
        row
        for each in elsewhere.judged_batches([batch], str(other_core))
        for row in each.to_pylist()
    ]

    assert there == found_in([batch])


def test_one_changed_line_is_seen_in_the_traces_that_it_concerns_only(other_core):
    change_one_line(other_core)
    batch = batch_of(CORPUS)

    there = [
        row
        for each in elsewhere.judged_batches([batch], str(other_core))
        for row in each.to_pylist()
    ]

    differ = [
        one["trace_id"]
        for one, other in zip(found_in([batch]), there, strict=True)
        if one["replay"]["decision_hash"] != other["replay"]["decision_hash"]
    ]
    assert differ == TWICE


def test_a_core_that_is_not_there_or_broken_is_named(other_core, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(RuntimeError, match="expected a folder with the package jsproto"):
        list(elsewhere.judged_batches([batch_of({})], str(empty)))

    (other_core / "jsproto" / "trace" / "judge" / "lint.py").write_text(
        "raise ValueError('broken')\n", encoding="utf-8"
    )
    with pytest.raises(RuntimeError, match="ValueError: broken"):
        list(elsewhere.judged_batches([batch_of({})], str(other_core)))


def test_a_column_that_cannot_be_null_is_judged_like_one_that_can(other_core):
    # Behind a filter Spark's schema says NOT NULL; the batches then did not fit, and all traces
    # seemed to differ.
    batch = batch_of(dict(list(CORPUS.items())[:5]))
    strict = pa.schema([field.with_nullable(False) for field in rows.SCHEMA])
    filtered = pa.RecordBatch.from_arrays(batch.columns, schema=strict)

    there = [
        row
        for each in elsewhere.judged_batches([filtered, filtered], str(other_core))
        for row in each.to_pylist()
    ]

    assert there == found_in([batch]) * 2


def test_no_traces_are_no_failure(other_core):
    assert [] == list(elsewhere.judged_batches([], str(other_core)))


@pytest.mark.parametrize(
    "error", [ValueError("no more"), OSError("the disk is gone"), BrokenPipeError("Spark")]
)
def test_traces_that_cannot_be_read_are_no_end(other_core, error):
    def traces():
        yield batch_of(dict(list(CORPUS.items())[:2]))
        raise error

    with pytest.raises(type(error), match=str(error)):
        list(elsewhere.judged_batches(traces(), str(other_core)))


def test_batches_of_another_form_in_the_middle_are_no_end(other_core):
    first = batch_of(dict(list(CORPUS.items())[:2]))

    with pytest.raises(pa.ArrowInvalid):
        list(elsewhere.judged_batches([first, first.drop_columns(["ev"])], str(other_core)))


#: What another process may do instead of judging all traces and ending well; each was once taken
#: for an end.
ENDINGS = {
    "the first half": "traces = list(traces)[:1]",
    "exit": "import os; os._exit(0)",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "words": "print('hello', flush=True); import os; os._exit(0)",
    "raises": "raise ValueError('no judge')",
}


@pytest.mark.parametrize("how", ENDINGS)
def test_another_process_that_ends_too_early_is_no_end(other_core, tmp_path, monkeypatch, how):
    # Adapters of its own, so that the second side is another one than this.
    adapters = tmp_path / "adapters"
    shutil.copytree(
        Path(elsewhere.__file__).parents[1],
        adapters / "jsproto_spark",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    file = adapters / "jsproto_spark" / "corpus" / "elsewhere.py"
    text = file.read_text(encoding="utf-8")
    assert 1 == text.count("        for batch in batches.judged_batches(coming):")
    wrong = ENDINGS[how].replace("traces", "coming")
    file.write_text(
        text.replace(
            "        for batch in batches.judged_batches(coming):",
            f"        {wrong}\n        for batch in batches.judged_batches(coming):",
        ),
        encoding="utf-8",
    )
    monkeypatch.setattr(elsewhere, "_ADAPTERS", adapters)
    some = [batch_of(dict(list(CORPUS.items())[at : at + 3])) for at in (0, 3)]

    with pytest.raises(RuntimeError, match="expected the version in"):
        list(elsewhere.judged_batches(some, str(other_core)))


def test_who_raises_while_it_reads_leaves_no_process_behind(other_core):
    asking = elsewhere.judged_batches([batch_of(CORPUS)] * 3, str(other_core))
    next(asking)

    with pytest.raises(KeyError):
        asking.throw(KeyError("elsewhere"))


def test_who_wants_no_more_leaves_no_process_behind(other_core):
    asking = elsewhere.judged_batches([batch_of(CORPUS)] * 3, str(other_core))
    assert next(asking).num_rows == len(CORPUS)

    asking.close()


# ------------------------------------------------------------------------------------------------ while it is recorded


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_trace_in_pieces_is_judged_like_a_whole_one(size, end):
    for name in ("trace-005", "trace-007", "trace-008"):
        text = CORPUS[name].replace(b"\n", end)
        memory, found = Memory(), []
        for start in range(0, len(text), size):
            memory, more = memory.after([text[start : start + size]])
            found += more

        row = rows.row_of(name, text.splitlines(keepends=True))
        assert found == judged(rows.records_of(row))["violations"]


def test_a_text_that_is_no_trace_says_so_once():
    memory, found = Memory().after([b"hello\n"])
    assert [(each["rule"], each["line"]) for each in found] == [(UNREADABLE, 1)]

    memory, found = memory.after([b"more\n"])
    assert found == []


def test_a_line_without_an_end_is_bounded(monkeypatch):
    monkeypatch.setattr("jsproto_spark.corpus.live.MOST_LINE", 100)

    memory, found = Memory().after([b"#jsproto-trace/2\n< a " + b"x" * 200])

    assert [each["rule"] for each in found] == [UNREADABLE]
    assert memory.judge == b""


#: Traces that are odd in ways that once cost more than themselves: an ack to no delivery, half a
#: surrogate pair, numbers of more than 64 bits.
ODD = {
    "malformed ack": session(3) + rb"> a PUB $JS.ACK.S.C.1.1.1 4\r\n+ACK\r\n" + b"\n",
    "bad numbers": session(3) + rb"> a PUB $JS.ACK.S.C.1.x.1.1.1 4\r\n+ACK\r\n" + b"\n",
    "half a pair": session(3).replace(b'"lang":"test"', rb'"lang":"\\ud800"'),
    "bytes in a subject": session(3) + rb"> a PUB $JS.ACK.S.\xed\xa0\x80.1.1.1.1.0 4\r\n+\xff\xfeK\r\n" + b"\n",
    "a huge batch": session(3) + 3 * (rb'> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p.9 29\r\n{"batch":9223372036854775807}\r\n' + b"\n"),
    "the end of time": session(3) + b"@ 999999999999999.5\n= a eof\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_trace_costs_no_other_trace_and_is_judged_itself(name):
    [batch] = _read([pa.RecordBatch.from_pylist([{"path": "odd", "content": ODD[name]}])])
    good = batch_of({"one": session(3), "two": session(4, "twice")})

    one, odd, two = (found_in([each])[0] for each in (good.slice(0, 1), batch, good.slice(1)))
    together = found_in(
        [
            pa.Table.from_batches([good.slice(0, 1), batch, good.slice(1)])
            .combine_chunks()
            .to_batches()[0]
        ]
    )

    assert together == [one, odd, two]
    assert {each["rule"] for each in two["violations"]} == {"ack-twice"}
    assert odd["replay"]["frames"] >= 5
    assert UNREADABLE not in {each["rule"] for each in odd["violations"]}


def test_a_trace_that_the_judge_cannot_bear_is_one_row_that_says_why(monkeypatch):
    def judged_or_not(records, client, version):
        if len(list(records)) > 14:
            raise KeyError("half a \ud800 pair")
        return judged([], client, version)

    monkeypatch.setattr("jsproto_spark.corpus.batches.judged", judged_or_not)

    one, other = found_in([batch_of({"good": session(3), "bad": session(9)})])

    assert one["violations"] == []
    [said] = other["violations"]
    assert (said["rule"], other["trace_id"], other["pulls"]) == (UNREADABLE, "bad", [])
    assert said["got"].startswith("KeyError: ")
