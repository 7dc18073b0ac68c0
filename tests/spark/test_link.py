"""How a process reaches the server: credentials by file and variable, TLS, one connection for each
process, and what failure says.
"""

import pickle
import time
import tomllib
from pathlib import Path

import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

from jsproto.errors import ConnectFailed, JsprotoError
from jsproto_io.blocking import connect
from jsproto_spark import connections
from jsproto_spark.errors import Unreadable
from jsproto_spark.options import Use, settings_of
from jsproto_spark.source import JetStreamSource
from tests.accounts import USER, creds, public, server_config
from tests.forked import forked
from tests.served import served
from tests.spark.feeding import SEQUENCES, fill, read
from tests.spark.querying import Query

pytestmark = pytest.mark.live

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def _no_connection_is_left():
    yield
    for held in connections._CLIENTS.values():
        held.close()
    connections._CLIENTS.clear()


def count(url, **given):
    """How many messages a batch reads from the stream S there."""
    source = JetStreamSource({"servers": url, "stream": "S", **given})
    reader = pickle.loads(pickle.dumps(source)).reader(SEQUENCES)
    return len(read(reader, reader.partitions()))


def filled(url, **options):
    with connect(url, **options) as nc:
        stream = nc.jetstream().create_stream(
            name="S", subjects=["S.>"], storage="memory", allow_direct=True
        )
        fill(nc, stream, 10)


def failure(url, **given):
    with pytest.raises(JsprotoError) as caught:
        count(url, **given)
    text = str(caught.value)

    assert "\n" not in text
    assert "stream 'S'" in text
    for secret in (SECRET, USER.reveal(), "eyJ"):
        assert secret not in f"{text}{caught.value!r}{caught.value.__context__!r}"
    return text


# ------------------------------------------------------------------------------------------------ who


def test_a_user_with_a_password_in_a_variable(start_server, monkeypatch):
    server = start_server(config=f"authorization {{ user: me, password: {SECRET} }}")
    filled(server.url.replace("//", f"//me:{SECRET}@"))
    monkeypatch.setenv("SPARK_TEST_PASSWORD", SECRET)

    assert 10 == count(server.url, user="me", passwordEnv="SPARK_TEST_PASSWORD")
    assert "see option credentialsFile, credentialsEnv" in failure(server.url)
    monkeypatch.setenv("SPARK_TEST_PASSWORD", "wrong" + SECRET)
    assert "AuthorizationFailed" in failure(
        server.url, user="you", passwordEnv="SPARK_TEST_PASSWORD"
    )
    assert "option passwordEnv: expected the name of a variable" in failure(
        server.url, user="me", passwordEnv=SECRET
    )


def test_a_token_in_a_variable(start_server, monkeypatch):
    server = start_server(config=f"authorization {{ token: {SECRET} }}")
    filled(server.url.replace("//", f"//{SECRET}@"))
    monkeypatch.setenv("SPARK_TEST_TOKEN", SECRET)

    assert 10 == count(server.url, tokenEnv="SPARK_TEST_TOKEN")


def test_creds_in_a_file_and_in_a_variable(start_server, monkeypatch, tmp_path):
    server = start_server(config=server_config())
    path = tmp_path / "me.creds"
    path.write_text(creds())
    monkeypatch.setenv("SPARK_TEST_CREDS", creds())
    with connect(
        server.url, credentials=connections._credentials(where(credentialsFile=str(path)))
    ) as nc:
        fill(nc, nc.jetstream().create_stream(name="S", subjects=["S.>"], storage="memory"), 10)

    assert 10 == count(server.url, credentialsFile=str(path))
    assert 10 == count(server.url, credentialsEnv="SPARK_TEST_CREDS")
    assert "it cannot be read: FileNotFoundError" in failure(
        server.url, credentialsFile=str(tmp_path / "no")
    )
    monkeypatch.setenv("SPARK_TEST_CREDS", "damaged")
    connections.forget(where(servers=server.url, credentialsEnv="SPARK_TEST_CREDS"))
    assert "see option credentialsFile" in failure(server.url, credentialsEnv="SPARK_TEST_CREDS")


@pytest.mark.parametrize("option", ["credentialsFile", "nkeySeedFile", "tlsCaFile", "tlsCertFile"])
@pytest.mark.parametrize(
    "content", [creds(), USER.reveal(), "-----BEGIN PRIVATE KEY-----\n" + SECRET]
)
def test_what_belongs_into_a_file_and_is_given_in_place_of_its_name_is_shown_to_nobody(
    option, content
):
    assert f"option {option}: expected the name of a file" in failure(
        "nats://127.0.0.1:1", **{option: content}
    )


def test_a_seed_in_a_file(start_server, tmp_path):
    server = start_server(config=f"authorization {{ users: [ {{ nkey: {public(USER)} }} ] }}")
    path = tmp_path / "me.nk"
    path.write_text(USER.reveal())
    with connect(
        server.url, credentials=connections._credentials(where(nkeySeedFile=str(path)))
    ) as nc:
        fill(nc, nc.jetstream().create_stream(name="S", subjects=["S.>"], storage="memory"), 10)

    assert 10 == count(server.url, nkeySeedFile=str(path))


def test_the_extra_brings_what_signs():
    # credentialsFile, credentialsEnv and nkeySeedFile are options of the source, so its extra must
    # be enough for them.
    project = tomllib.loads(
        (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    )
    extras = project["project"]["optional-dependencies"]

    assert set(extras["nkeys"]) <= set(extras["spark"])


def where(**given):
    return settings_of({"stream": "S", **given}, Use.BATCH_READ).where


# ------------------------------------------------------------------------------------------------ TLS


@pytest.mark.parametrize("transport", ["tls", "tls-first", "wss"])
def test_tls_is_required_as_soon_as_a_certificate_is_named(transport, server_binary_of, tmp_path):
    with served(server_binary_of("2.15.1"), transport, tmp_path) as there:
        filled(there.url, **there.options)
        first = {"tlsFirst": "true"} if transport == "tls-first" else {}

        assert 10 == count(there.url, tlsCaFile=str(tmp_path / "ca.pem"), **first)


def test_a_certificate_that_proves_nothing_is_one_line_that_names_the_options(
    server_binary_of, tmp_path
):
    with served(server_binary_of("2.15.1"), "tls", tmp_path) as there:
        assert "see option tlsCaFile, tlsCertFile, tlsKeyFile, tlsFirst" in failure(there.url)
        text = failure(there.url, tlsCaFile=str(tmp_path / "no.pem"))
        assert (
            "see option tlsCaFile, tlsCertFile, tlsKeyFile: InvalidConfig: expected files with"
            in text
        )


def test_a_server_without_tls_is_not_spoken_to_in_clear(nats_server, tmp_path, server_binary_of):
    with served(server_binary_of("2.15.1"), "tls", tmp_path):
        assert "TlsUnavailable" in failure(nats_server.url, tlsCaFile=str(tmp_path / "ca.pem"))


# ------------------------------------------------------------------------------------------------ what may not be


def test_without_permission_the_subject_is_named(start_server, monkeypatch):
    server = start_server(
        config="""authorization { users: [
            { user: all, password: p },
            { user: me, password: p, permissions { publish { deny: ["$JS.API.CONSUMER.CREATE.>"] } } },
            { user: you, password: p, permissions { publish { deny: ["$JS.API.STREAM.INFO.>"] } } } ] }"""
    )
    filled(server.url.replace("//", "//all:p@"))
    monkeypatch.setenv("SPARK_TEST_PASSWORD", "p")

    assert "$JS.API.STREAM.INFO.S" in failure(
        server.url, user="you", passwordEnv="SPARK_TEST_PASSWORD"
    )
    text = failure(server.url, user="me", passwordEnv="SPARK_TEST_PASSWORD")
    assert "PermissionViolation" in text
    assert "see option user, credentialsFile" in text
    assert 10 == count(server.url, user="me", passwordEnv="SPARK_TEST_PASSWORD", readMode="direct")


@pytest.mark.parametrize("use", ["batch", "stream", "sink"])
def test_a_question_that_is_not_allowed_is_told_as_such_at_once_n101(
    start_server, monkeypatch, use
):
    # It is no "stream not found" and no timeout: the server refuses the publish, and says of which
    # subject.
    server = start_server(
        config="""authorization { users: [
            { user: all, password: p },
            { user: me, password: p, permissions {
                publish { allow: ["$JS.API.CONSUMER.MSG.NEXT.S.D", "$JS.ACK.S.D.>"] }, subscribe { allow: ["_INBOX.>"] } } } ] }"""
    )
    filled(server.url.replace("//", "//all:p@"))
    monkeypatch.setenv("SPARK_TEST_PASSWORD", "p")
    given = {
        "servers": server.url,
        "stream": "S",
        "user": "me",
        "passwordEnv": "SPARK_TEST_PASSWORD",
    }
    rows = StructType([StructField("payload", BinaryType())])
    ask = {
        "batch": lambda: JetStreamSource(given).reader(SEQUENCES).partitions(),
        "stream": lambda: (
            JetStreamSource({**given, "releaseMode": "cursor", "cursor": "D"})
            .streamReader(SEQUENCES)
            .initialOffset()
        ),
        "sink": lambda: JetStreamSource({**given, "subject": "S.a"}).writer(rows, overwrite=False),
    }[use]
    begin = time.monotonic()
    with pytest.raises(JsprotoError, match="PermissionViolation") as caught:
        ask()

    assert "$JS.API.STREAM.INFO.S" in str(caught.value)
    assert "not found" not in str(caught.value)
    assert time.monotonic() - begin < 5.0  # of ten seconds of requestTimeout


ASKED = ["$JS.API.STREAM.INFO.{0}", "$JS.API.STREAM.MSG.GET.{0}"]
BY_CONSUMER = [
    "$JS.API.CONSUMER.CREATE.{0}.>",
    "$JS.API.CONSUMER.MSG.NEXT.{0}.>",
    "$JS.API.CONSUMER.DELETE.{0}.>",
]
DIRECTLY = ["$JS.API.DIRECT.GET.{0}"]
STANDING = ["$JS.API.CONSUMER.INFO.{0}.>", "$JS.API.CONSUMER.CREATE.{0}.>"]


@pytest.mark.parametrize(
    ("rights", "stream", "given"),
    [
        ([*ASKED, *BY_CONSUMER], {}, {}),
        (
            [*ASKED, *BY_CONSUMER],
            {},
            {"subjects": "T.0", "minPartitions": "3", "maxMessagesPerTrigger": "9"},
        ),
        ([*ASKED, *DIRECTLY], {}, {"readMode": "direct"}),
        (
            [*ASKED, *BY_CONSUMER, *STANDING, "$JS.API.CONSUMER.RESET.{0}.C"],
            {},
            {"releaseMode": "cursor", "cursor": "C"},
        ),
        (
            [*ASKED, *DIRECTLY, *STANDING, "$JS.API.STREAM.PURGE.{0}"],
            {"retention": "workqueue"},
            {"releaseMode": "purge"},
        ),
    ],
    ids=["consumer", "subjects", "direct", "cursor", "purge"],
)
def test_the_rights_that_the_page_names_are_enough_and_nothing_beyond_is_asked_n101(
    start_server, monkeypatch, rights, stream, given
):
    allowed = ", ".join(f'"{each.format("T")}"' for each in rights)
    server = start_server(
        config=f"""authorization {{ users: [
            {{ user: all, password: p }},
            {{ user: me, password: p, permissions {{ publish {{ allow: [{allowed}] }}, subscribe {{ allow: ["_INBOX.>"] }} }} }} ] }}"""
    )
    monkeypatch.setenv("SPARK_TEST_PASSWORD", "p")
    page = (Path(__file__).resolve().parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    for each in rights:
        assert each.partition("{0}")[0] + "<stream>" in page
    who = {"user": "me", "passwordEnv": "SPARK_TEST_PASSWORD", "startingOffsets": "earliest"}
    with connect(server.url.replace("//", "//all:p@")) as nc:
        made = nc.jetstream().create_stream(
            name="T", subjects=["T.>"], storage="memory", allow_direct=True, **stream
        )
        fill(nc, made, 30)
        query = Query(
            nc,
            made,
            **who,
            **given,
            **({"releaseOn": "nextPlan"} if "releaseMode" in given else {}),
        )
        first = query.all()
        fill(nc, made, 3)
        query.crash()

        assert len(first) + (1 if "subjects" in given else 3) == len(query.all())
        assert 33 - made.info().state.messages == (33 if stream else 0)


def test_without_jetstream_it_says_so(start_server):
    server = start_server(jetstream=False)

    assert "see option servers" in failure(server.url)


def test_where_nobody_is_it_says_so_soon():
    assert "see option servers: ConnectFailed" in failure("nats://127.0.0.1:1")


def test_a_domain_that_there_is_not_is_named(nats_server):
    assert "see option servers, domain, apiPrefix: JetStreamNotEnabled" in failure(
        nats_server.url, domain="nowhere"
    )


def test_an_inbox_prefix_and_an_api_prefix_are_used(start_server, monkeypatch):
    server = start_server(
        config="""authorization { users: [
            { user: all, password: p },
            { user: me, password: p, permissions { subscribe { allow: ["_MINE.>"] } } } ] }"""
    )
    filled(server.url.replace("//", "//all:p@"))
    monkeypatch.setenv("SPARK_TEST_PASSWORD", "p")
    given = {"user": "me", "passwordEnv": "SPARK_TEST_PASSWORD"}

    assert 10 == count(server.url, inboxPrefix="_MINE", apiPrefix="$JS.API", **given)
    denied = failure(server.url, **given)
    assert "see option user, credentialsFile, inboxPrefix: PermissionViolation" in denied
    assert "_INBOX." in denied


# ------------------------------------------------------------------------------------------------ one for each process


def test_a_process_keeps_its_connection_and_another_way_is_another_one(nats_server):
    here = where(servers=nats_server.url)
    first = connections.client(here, 1.0)

    assert first is connections.client(where(servers=nats_server.url), 1.0)
    assert first is not connections.client(where(servers=nats_server.url, inboxPrefix="_MINE"), 1.0)
    connections.forget(here)
    connections.forget(here)  # twice is harmless
    assert first.closed
    assert first is not connections.client(here, 1.0)


def test_many_streams_and_apis_of_one_server_share_one_connection(start_server):
    server = start_server()
    names = [f"S{number}" for number in range(20)]
    with connect(server.url) as nc:
        for name in names:
            nc.jetstream().create_stream(name=name, subjects=[f"{name}.>"], storage="memory")
    for name in names:
        for other in ({}, {"apiPrefix": "$JS.API"}, {"requestTimeout": "3s"}):
            assert 0 == count(server.url, stream=name, **other)
    here = where(servers=server.url, stream=names[0], requestTimeout="3s")

    assert 1 == len(connections._CLIENTS)
    assert 3.0 == connections.jetstream(here, 1.0).timeout
    assert (
        "$OTHER" == connections.jetstream(where(servers=server.url, apiPrefix="$OTHER"), 1.0).prefix
    )
    assert 1 == len(connections._CLIENTS)


def test_a_fork_finds_no_connection(nats_server):
    # A socket that two processes share mixes their frames; Spark forks its workers from a daemon.
    here = where(servers=nats_server.url)
    mine = connections.client(here, 1.0)

    def asked():
        theirs = connections.client(here, 1.0)
        assert theirs is not mine
        assert theirs.rtt() > 0

    assert 0 == forked(asked)
    assert mine.rtt() > 0


def test_a_question_is_asked_again_over_a_lost_link_and_a_server_that_comes_back(start_server):
    server = start_server()
    here = where(servers=server.url)
    with connect(server.url) as nc:
        nc.jetstream().create_stream(name="S", subjects=["S.>"])
    connections.client(here, 5.0)
    server.kill()
    server.restart()

    assert "S" == connections.asking(here, 20.0, lambda js: js.stream("S").info().config.name)


def test_a_question_to_nobody_ends_with_its_patience(start_server):
    server = start_server()
    here = where(servers=server.url)
    connections.client(here, 5.0)
    server.kill()

    with pytest.raises(ConnectFailed):
        connections.asking(here, 0.5, lambda js: js.stream("S").info())


def test_the_server_is_looked_for_about_as_long_as_the_patience():
    assert 1 == connections.sweeps(0.1, 4.0)
    assert 4 == connections.sweeps(2.0, 4.0)  # 0.25, 0.5 and 1 s between them
    assert 30 < connections.sweeps(120.0, 4.0) < 40
    assert connections.sweeps(10.0, 0.001) > 30


def test_the_sink_reaches_the_server_in_the_same_way(start_server, monkeypatch):
    server = start_server(config=f"authorization {{ user: me, password: {SECRET} }}")
    filled(server.url.replace("//", f"//me:{SECRET}@"))
    monkeypatch.setenv("SPARK_TEST_PASSWORD", SECRET)
    schema = StructType([StructField("payload", BinaryType())])
    source = JetStreamSource({"servers": server.url, "stream": "S", "subject": "S.a"})

    with pytest.raises(Unreadable, match="see option credentialsFile"):
        source.writer(schema, overwrite=False)
