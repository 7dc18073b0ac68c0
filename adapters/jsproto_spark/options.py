"""The options of the source and the sink, as a table: name, form, default, where they count, and
Kafka's word beside each.

Theory. Spark hands over whatever a user wrote, as text, with keys in lower case, and never
complains. So `settings_of` knows every name, reads every value by its form, refuses what does
nothing in the use at hand (an end for a stream, a window for a read), and refuses what does not go
together, before anything is connected. What comes out is typed and holds no secret: passwords,
tokens, creds and seeds are named by file or by environment variable, and read where they are used.

A field of the three classes is a row of the table; its name in Spark is the same in camel case.
"""

# ruff: noqa: RUF009 - a field made by `_option` is attrs' own `field` with the row of the table in its metadata

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final, TypeVar, cast, final

from attrs import Attribute, field, fields, frozen

from jsproto.errors import InvalidConfig, InvalidResponse
from jsproto.errors.tree import shorten
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto_spark.errors import InvalidOption
from jsproto_spark.option_types import OptionType, value_of

__all__ = [
    "OPTIONS",
    "ConnectSettings",
    "Option",
    "OptionType",
    "ReadSettings",
    "Settings",
    "Use",
    "WriteSettings",
    "settings_of",
    "values_of",
]


class Use(Enum):
    """What a source or sink is asked to be."""

    BATCH_READ = "BATCH_READ"
    STREAM_READ = "STREAM_READ"
    BATCH_WRITE = "BATCH_WRITE"
    STREAM_WRITE = "STREAM_WRITE"

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


_READS: Final = frozenset({Use.BATCH_READ, Use.STREAM_READ})
_WRITES: Final = frozenset({Use.BATCH_WRITE, Use.STREAM_WRITE})
_BATCH: Final = frozenset({Use.BATCH_READ})
_STREAM: Final = frozenset({Use.STREAM_READ})
_EVERYWHERE: Final = _READS | _WRITES

_MARK: Final = "jsproto_spark"


@final
@frozen(kw_only=True)
class Option:
    """A row of the table.

    Attributes:
        name: as it is written in Spark.
        form: how its text is read.
        default: what it is when nobody gives it; ``None`` for nothing.
        uses: where it counts; elsewhere it is refused.
        means: what it does.
        words: the words that it may be, for the forms that have some.
        kafka: what Kafka's source and sink call the same.
        alias: another name that is understood.
        required: there is no use without.
    """

    name: str
    form: OptionType
    default: object
    uses: frozenset[Use]
    means: str
    words: tuple[str, ...] = ()
    kafka: str = ""
    alias: str = ""
    required: bool = False


def _option(
    form: OptionType,
    *,
    default: object,
    means: str,
    uses: frozenset[Use],
    words: tuple[str, ...] = (),
    kafka: str = "",
    alias: str = "",
    required: bool = False,
) -> Any:
    facts = {
        "form": form,
        "uses": uses,
        "means": means,
        "words": words,
        "kafka": kafka,
        "alias": alias,
    }
    return field(default=default, metadata={_MARK: {**facts, "required": required}})


@final
@frozen(kw_only=True)
class ConnectSettings:
    """Which stream, and how to get there."""

    # fmt: off
    stream: str = _option(OptionType.STREAM, default="", means="the stream to read, or that must store what is written", uses=_EVERYWHERE, kafka="subscribe, topic", required=True)
    servers: str = _option(OptionType.SERVERS, default="nats://127.0.0.1:4222", means="where to connect: nats://, tls://, ws:// or wss://, with commas between", uses=_EVERYWHERE, kafka="kafka.bootstrap.servers")
    domain: str | None = _option(OptionType.STREAM, default=None, means="JetStream of another domain", uses=_EVERYWHERE)
    api_prefix: str | None = _option(OptionType.API_PREFIX, default=None, means="JetStream behind another API prefix", uses=_EVERYWHERE)
    inbox_prefix: str | None = _option(OptionType.PREFIX, default=None, means="first tokens of every inbox", uses=_EVERYWHERE)
    credentials_file: str | None = _option(OptionType.FILE, default=None, means="a creds file, on the driver and on every executor", uses=_EVERYWHERE)
    credentials_env: str | None = _option(OptionType.VARIABLE, default=None, means="the variable that holds the text of a creds file", uses=_EVERYWHERE)
    nkey_seed_file: str | None = _option(OptionType.FILE, default=None, means="a file with the seed of a user's nkey", uses=_EVERYWHERE)
    user: str | None = _option(OptionType.TEXT, default=None, means="a user name", uses=_EVERYWHERE)
    password_env: str | None = _option(OptionType.VARIABLE, default=None, means="the variable that holds the user's password", uses=_EVERYWHERE)
    token_env: str | None = _option(OptionType.VARIABLE, default=None, means="the variable that holds a token", uses=_EVERYWHERE)
    tls_ca_file: str | None = _option(OptionType.FILE, default=None, means="whom to trust, in PEM; TLS is required then", uses=_EVERYWHERE, kafka="kafka.ssl.truststore.location")
    tls_cert_file: str | None = _option(OptionType.FILE, default=None, means="our own certificate, in PEM", uses=_EVERYWHERE, kafka="kafka.ssl.keystore.location")
    tls_key_file: str | None = _option(OptionType.FILE, default=None, means="its private key, if that is another file", uses=_EVERYWHERE)
    tls_first: bool = _option(OptionType.FLAG, default=False, means="TLS stands before the server says a word (handshake_first)", uses=_EVERYWHERE)
    request_timeout: float = _option(OptionType.SECONDS, default=10.0, means="seconds that a question waits for its answer", uses=_EVERYWHERE, kafka="fetchOffset.numRetries")
    reconnect_max_wait: float = _option(OptionType.SECONDS, default=4.0, means="longest pause between two attempts to connect again", uses=_EVERYWHERE)
    # fmt: on


@final
@frozen(kw_only=True)
class ReadSettings:
    """What is read, and how."""

    # fmt: off
    subjects: tuple[str, ...] = _option(OptionType.SUBJECTS, default=(), means="only subjects that match one of these", uses=_READS, kafka="subscribePattern")
    starting_offsets: str | int | None = _option(OptionType.OFFSET, default=None, means="where a new query begins: earliest, latest, or a sequence; latest for a stream, earliest for a batch", uses=_READS, words=("earliest", "latest"), kafka="startingOffsets")
    starting_timestamp: Timestamp | None = _option(OptionType.MOMENT, default=None, means="begin at the first message stored at this instant or after it", uses=_READS, kafka="startingTimestamp")
    starting_offsets_by_timestamp_strategy: str = _option(OptionType.WORD, default="error", means="when nothing is stored since startingTimestamp", uses=_READS, words=("error", "latest"), kafka="startingOffsetsByTimestampStrategy")
    ending_offsets: str | int | None = _option(OptionType.OFFSET, default=None, means="where a batch ends: latest, or the first sequence that is not read", uses=_BATCH, words=("latest",), kafka="endingOffsets")
    ending_timestamp: Timestamp | None = _option(OptionType.MOMENT, default=None, means="end before the first message stored at this instant or after it", uses=_BATCH, kafka="endingTimestamp")
    fail_on_data_loss: bool = _option(OptionType.FLAG, default=True, means="fail when messages vanished before they were read", uses=_READS, kafka="failOnDataLoss")
    max_messages_per_trigger: int | None = _option(OptionType.COUNT, default=None, means="most sequences of a micro-batch, so an upper bound of its messages", uses=_STREAM, kafka="maxOffsetsPerTrigger", alias="maxOffsetsPerTrigger")
    max_bytes_per_trigger: int | None = _option(OptionType.COUNT, default=None, means="about the most bytes of a micro-batch, by the stream's mean message", uses=_STREAM)
    min_partitions: int = _option(OptionType.COUNT, default=1, means="least number of tasks for a range", uses=_READS, kafka="minPartitions")
    max_records_per_partition: int = _option(OptionType.COUNT, default=1_000_000, means="most sequences of one task", uses=_READS, kafka="maxRecordsPerPartition")
    include_headers: bool = _option(OptionType.FLAG, default=True, means="whether there is a column headers when no schema is given", uses=_READS, kafka="includeHeaders")
    headers_format: str | None = _option(OptionType.WORD, default=None, means="the form of the column headers: map of lists, array of pairs in their order, or none", uses=_READS, words=("map", "array", "none"))
    read_mode: str = _option(OptionType.WORD, default="auto", means="read by consumers or by direct gets; auto takes direct for work-queue streams, and for mirrors that allow it (allow_direct, server 2.11)", uses=_READS, words=("auto", "consumer", "direct"))
    release_mode: str = _option(OptionType.WORD, default="none", means="what a processed range means to the stream: nothing, the cursor goes on, or it is purged", uses=_STREAM, words=("none", "cursor", "purge"))
    release_on: str = _option(OptionType.WORD, default="commit", means="released with Spark's commit, which never comes for the last batch of a run, or when the next one is planned", uses=_STREAM, words=("commit", "nextPlan"))
    cursor: str | None = _option(OptionType.CONSUMER, default=None, means="the durable consumer of releaseMode cursor; it is made if it is not there", uses=_STREAM)
    purge_despite_consumers: bool = _option(OptionType.FLAG, default=False, means="purge although the stream has consumers", uses=_STREAM)
    take_over: bool = _option(OptionType.FLAG, default=False, means="release although the cursor, or what is purged, belongs to another query; that one fails then", uses=_STREAM)
    allow_option_change: bool = _option(OptionType.FLAG, default=False, means="restart a query although stream or subjects are others than its offsets were made with", uses=_STREAM)
    consumer_name_prefix: str = _option(OptionType.CONSUMER, default="spark", means="how the names of the short-lived consumers begin", uses=_READS, kafka="groupIdPrefix")
    read_deadline: float = _option(OptionType.SECONDS, default=120.0, means="seconds that a task goes on without any message, over lost links too", uses=_READS, kafka="kafkaConsumer.pollTimeoutMs")
    pushdown: bool = _option(OptionType.FLAG, default=False, means="narrow the range by the query's filters; needs spark.sql.python.filterPushdown.enabled", uses=_BATCH)
    # fmt: on


@final
@frozen(kw_only=True)
class WriteSettings:
    """How rows are published."""

    # fmt: off
    subject: str | None = _option(OptionType.SUBJECT, default=None, means="where all rows are published; without it there is a column subject", uses=_WRITES, kafka="topic")
    msg_id_column: str | None = _option(OptionType.TEXT, default=None, means="the column that makes a row the same row when it is sent again (Nats-Msg-Id); msg_id if there is one", uses=_WRITES)
    auto_msg_id: bool = _option(OptionType.FLAG, default=False, means="ids by place: query, batch, partition and row; for plans that always give the same rows in the same order", uses=_WRITES)
    window: int = _option(OptionType.COUNT, default=4000, means="messages without an acknowledgement that a task may have under way", uses=_WRITES)
    ack_timeout: float = _option(OptionType.SECONDS, default=30.0, means="seconds without an acknowledgement behind which a row counts as not acknowledged, over lost links too", uses=_WRITES)
    max_inflight_bytes: int = _option(OptionType.COUNT, default=67_108_864, means="most bytes under way", uses=_WRITES)
    stall_wait: float | None = _option(OptionType.SECONDS, default=None, means="seconds that a row waits for room in the window before the task fails; without it a little longer than ackTimeout, which only a lost link takes", uses=_WRITES)
    expected_outage: float | None = _option(OptionType.SECONDS, default=None, means="warn if the stream forgets ids before a failure of so many seconds is over", uses=_WRITES)
    # fmt: on


@final
@frozen(kw_only=True)
class Settings:
    """What a user wrote, read and checked for one use."""

    use: Use
    where: ConnectSettings
    read: ReadSettings
    write: WriteSettings


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _row(attribute: Attribute[Any]) -> Option:
    facts = cast("dict[str, Any]", attribute.metadata[_MARK])
    return Option(name=_camel(attribute.name), default=attribute.default, **facts)


#: Every option, in the order of the documentation.
OPTIONS: Final[tuple[Option, ...]] = tuple(
    _row(attribute)
    for part in (ConnectSettings, ReadSettings, WriteSettings)
    for attribute in fields(part)
)

_BY_KEY: Final[dict[str, Option]] = {
    key.lower(): option for option in OPTIONS for key in (option.name, option.alias) if key
}

#: What Spark itself puts among the options of a sink.
_SPARKS_OWN: Final = frozenset({"checkpointlocation", "queryname"})

#: What to do instead of a table, whose options Spark gives to no source in Python.
TABLE: Final = (
    "Spark gives the options of a table made by CREATE TABLE or saveAsTable to no source in Python: "
    "use CREATE TEMPORARY VIEW name USING jetstream OPTIONS (servers '...', stream '...'), or spark.read and df.write"
)

_Part = TypeVar("_Part", ConnectSettings, ReadSettings, WriteSettings)


def values_of(given: Mapping[str, str]) -> dict[str, object]:
    """The value of each option that is given, by its name in camel case; what does not depend on
    the use is checked.

    Raises:
        InvalidOption: an option that does not exist, that is given twice, or whose value has not
            its form.
    """
    stream = _stream_of(given)
    found: dict[str, object] = {}
    for key, text in given.items():
        if key.lower() in _SPARKS_OWN:
            continue
        option = _BY_KEY.get(key.lower())
        if option is None:
            raise InvalidOption(
                f"stream {stream}: expected an option that there is, got {key!r}{_meant(key)}"
            )
        if option.name in found:
            raise InvalidOption(
                f"stream {stream}: expected {option.name} or {option.alias}, got both"
            )
        try:
            found[option.name] = value_of(option.form, text.strip(), option.words)
        except (InvalidConfig, InvalidResponse) as error:
            raise InvalidOption(f"stream {stream}: option {option.name}: {error}") from None
    return found


def settings_of(given: Mapping[str, str], use: Use) -> Settings:
    """All options for one use.

    Raises:
        InvalidOption: see `values_of`; or one that is missing, does nothing in this use, or does
            not go with another.
    """
    found = values_of(given)
    stream = _stream_of(given)
    for option in OPTIONS:
        if option.required and not found.get(option.name):
            table = "" if found else f"; {TABLE}"
            raise InvalidOption(
                f"stream {stream}: expected the option {option.name} for a {use}, got none{table}"
            )
        if option.name in found and use not in option.uses:
            uses = ", ".join(str(each) for each in Use if each in option.uses)
            raise InvalidOption(
                f"stream {stream}: expected option {option.name} with {uses}, got for a {use}"
            )
    for wrong, why in _conflicts(found):
        raise InvalidOption(f"stream {stream}: options {' and '.join(wrong)}: {why}")
    return Settings(
        use=use,
        where=_part(ConnectSettings, found),
        read=_part(ReadSettings, found),
        write=_part(WriteSettings, found),
    )


def _stream_of(given: Mapping[str, str]) -> str:
    """The stream as errors name it."""
    return next(
        (shorten(value) for key, value in given.items() if key.lower() == "stream"), "not given"
    )


def _part(part: type[_Part], found: Mapping[str, object]) -> _Part:
    names = {attribute.name: _camel(attribute.name) for attribute in fields(part)}
    return part(
        **{name: cast("Any", found[camel]) for name, camel in names.items() if camel in found}
    )


#: Several ways to say the same thing: at most one of each row is given.
_EITHER: Final[tuple[tuple[str, ...], ...]] = (
    ("startingOffsets", "startingTimestamp"),
    ("endingOffsets", "endingTimestamp"),
    ("domain", "apiPrefix"),
    ("credentialsFile", "credentialsEnv", "nkeySeedFile", "user", "tokenEnv"),
    ("msgIdColumn", "autoMsgId"),
)

#: An option that means nothing without another.
_NEEDS: Final[tuple[tuple[str, str], ...]] = (
    ("passwordEnv", "user"),
    ("user", "passwordEnv"),
    ("tlsKeyFile", "tlsCertFile"),
    ("startingOffsetsByTimestampStrategy", "startingTimestamp"),
    ("expectedOutage", "msgIdColumn or autoMsgId"),
)


def _conflicts(found: Mapping[str, object]) -> Iterable[tuple[tuple[str, ...], str]]:
    for ways in _EITHER:
        seen = tuple(name for name in ways if found.get(name))
        if len(seen) > 1:
            yield seen, "expected one of them, got both"
    for one, other in _NEEDS:
        if one in found and not any(found.get(name) for name in other.split(" or ")):
            yield (one, other), f"expected {other} beside {one}, got none"
    mode = found.get("releaseMode", "none")
    if mode == "cursor" and "cursor" not in found:
        yield (
            ("releaseMode", "cursor"),
            "expected the name of a durable consumer as cursor, got none",
        )
    if mode != "cursor" and "cursor" in found:
        yield ("releaseMode", "cursor"), f"expected releaseMode cursor beside cursor, got {mode}"
    if mode == "none" and found.get("takeOver"):
        yield (
            ("releaseMode", "takeOver"),
            "expected releaseMode cursor or purge beside takeOver, got none",
        )
    if mode == "none" and "releaseOn" in found:
        yield (
            ("releaseMode", "releaseOn"),
            "expected releaseMode cursor or purge beside releaseOn, got none",
        )
    if mode != "purge" and found.get("purgeDespiteConsumers"):
        yield ("releaseMode", "purgeDespiteConsumers"), f"expected releaseMode purge, got {mode}"
    if mode == "purge" and found.get("startingOffsets") != "earliest":
        why = "a purge takes all that is older too, so expected earliest, that it is read first"
        yield ("releaseMode", "startingOffsets"), why
    if mode == "purge" and found.get("readMode") == "consumer":
        yield (
            ("releaseMode", "readMode"),
            "expected direct gets where processed messages are purged, got consumer",
        )
    if found.get("includeHeaders") is False and found.get("headersFormat", "none") != "none":
        yield (
            ("includeHeaders", "headersFormat"),
            "expected no format of headers that are not included",
        )
    start, end = found.get("startingOffsets"), found.get("endingOffsets")
    if isinstance(start, int) and isinstance(end, int) and end < start:
        yield (
            ("startingOffsets", "endingOffsets"),
            f"expected an end behind the start, got {end} before {start}",
        )
    since, until = found.get("startingTimestamp"), found.get("endingTimestamp")
    if isinstance(since, Timestamp) and isinstance(until, Timestamp) and until < since:
        yield (
            ("startingTimestamp", "endingTimestamp"),
            "expected an end behind the start, got one before it",
        )
    stall, ack = found.get("stallWait"), found.get("ackTimeout", WriteSettings().ack_timeout)
    if isinstance(stall, float) and isinstance(ack, float) and stall >= ack:
        why = f"expected a wait for room below the {ack:g} s within which there is room in any case, got {stall:g} s"
        yield ("stallWait", "ackTimeout"), why


#: Words that are no option of any name like ours, and what to do instead. Spark's own first, then
#: those of Kafka and of NATS clients.
_INSTEAD: Final[dict[str, str]] = {
    "provider": TABLE,
    "path": "a stream is no path: give it as the option stream, and call load() and start() without a path",
    "paths": "a stream is no path: give it as the option stream, and call load() without paths",
    "password": "a secret is no option: set a variable and name it with passwordEnv, beside user",
    "token": "a secret is no option: set a variable and name it with tokenEnv",
    "credentials": "a secret is no option: name a creds file with credentialsFile, or a variable with credentialsEnv",
    "creds": "a secret is no option: name a creds file with credentialsFile, or a variable with credentialsEnv",
    "seed": "a secret is no option: name a file with nkeySeedFile",
    "nkey": "a secret is no option: name a file with nkeySeedFile",
    "url": "the addresses are the option servers",
    "host": "the addresses are the option servers",
    "group.id": "Spark's checkpoint knows where a query is, so there is no group; consumerNamePrefix names the short-lived consumers",
    "kafka.group.id": "Spark's checkpoint knows where a query is, so there is no group; consumerNamePrefix names the short-lived consumers",
    "durable": "Spark's checkpoint knows where a query is; a durable consumer that follows it is the option cursor",
    "consumer": "Spark's checkpoint knows where a query is; a durable consumer that follows it is the option cursor",
    "minoffsetspertrigger": "there is none like it: a trigger takes what is there",
    "maxtriggerdelay": "there is none like it: a trigger takes what is there",
    "assign": "partitions are planned for each range; subjects says what is read",
    "kafka.sasl.jaas.config": "user with passwordEnv, tokenEnv, credentialsFile, or nkeySeedFile say who connects",
    "kafka.security.protocol": "tlsCaFile, tlsCertFile or tls:// in servers ask for TLS",
}
_KAFKAS: Final[dict[str, str]] = {
    word.strip().lower(): option.name
    for option in OPTIONS
    for word in option.kafka.split(",")
    if word
}


def _meant(key: str) -> str:
    """What somebody may have meant who wrote Spark's, Kafka's or another client's word, or mistyped
    ours.
    """
    word = key.lower()
    if word in _KAFKAS:
        return f"; here it is {_KAFKAS[word]}"
    if word in _INSTEAD:
        return f"; {_INSTEAD[word]}"
    if word.startswith("kafka."):
        return "; no option of Kafka's client means anything here, see the table of options for what each is called"
    close = get_close_matches(word, [*_BY_KEY, *_KAFKAS, *_INSTEAD], 1, 0.75)
    if not close:
        return ""
    if close[0] in _BY_KEY:
        return f"; is {_BY_KEY[close[0]].name} meant?"
    return f"; is {close[0]} meant?{_meant(close[0]).replace(';', ' Then', 1)}"
