"""The options of the source and the sink as a table: name, type, default, use, and Kafka's word.

Theory. Spark passes all options of a user as text, with keys in lower case, and checks nothing. So
`settings_of` knows every name and parses every value by its type. It rejects options without effect
in the current use (an end for a stream, a window for a read), and options that conflict. All this
happens before it connects. The results are typed and contain no secrets: options name the file or
environment variable of a password, token, creds or seed, and the secret is read where it is used.

Each field of the three classes is a row of the table. Its name in Spark is the same in camel case.
"""

# ruff: noqa: RUF009 - `_option` returns an attrs `field` with the table row in its metadata

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
    """What a source or sink is used for."""

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
        name: the name in Spark.
        form: how the text is parsed.
        default: the value if the option is not given; ``None`` for none.
        uses: the uses in which it has an effect; it is rejected in others.
        means: what it does.
        words: the allowed words, for types that have some.
        kafka: the name of the same option in Kafka's source and sink.
        alias: another accepted name.
        required: whether every use needs it.
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
    """The stream, and how to connect."""

    stream: str = _option(
        OptionType.STREAM,
        default="",
        means="the stream to read, or the stream that must store the rows",
        uses=_EVERYWHERE,
        kafka="subscribe, topic",
        required=True,
    )
    servers: str = _option(
        OptionType.SERVERS,
        default="nats://127.0.0.1:4222",
        means="the servers: nats://, tls://, ws:// or wss://, separated by commas",
        uses=_EVERYWHERE,
        kafka="kafka.bootstrap.servers",
    )
    domain: str | None = _option(
        OptionType.STREAM, default=None, means="JetStream of another domain", uses=_EVERYWHERE
    )
    api_prefix: str | None = _option(
        OptionType.API_PREFIX,
        default=None,
        means="JetStream with another API prefix",
        uses=_EVERYWHERE,
    )
    inbox_prefix: str | None = _option(
        OptionType.PREFIX, default=None, means="the first tokens of every inbox", uses=_EVERYWHERE
    )
    credentials_file: str | None = _option(
        OptionType.FILE,
        default=None,
        means="a creds file, on the driver and on every executor",
        uses=_EVERYWHERE,
    )
    credentials_env: str | None = _option(
        OptionType.VARIABLE,
        default=None,
        means="the variable that holds the text of a creds file",
        uses=_EVERYWHERE,
    )
    nkey_seed_file: str | None = _option(
        OptionType.FILE,
        default=None,
        means="a file with the seed of a user's nkey",
        uses=_EVERYWHERE,
    )
    user: str | None = _option(OptionType.TEXT, default=None, means="a user name", uses=_EVERYWHERE)
    password_env: str | None = _option(
        OptionType.VARIABLE,
        default=None,
        means="the variable that holds the user's password",
        uses=_EVERYWHERE,
    )
    token_env: str | None = _option(
        OptionType.VARIABLE, default=None, means="the variable that holds a token", uses=_EVERYWHERE
    )
    tls_ca_file: str | None = _option(
        OptionType.FILE,
        default=None,
        means="the trusted certificates, in PEM; it makes TLS required",
        uses=_EVERYWHERE,
        kafka="kafka.ssl.truststore.location",
    )
    tls_cert_file: str | None = _option(
        OptionType.FILE,
        default=None,
        means="the client's certificate, in PEM",
        uses=_EVERYWHERE,
        kafka="kafka.ssl.keystore.location",
    )
    tls_key_file: str | None = _option(
        OptionType.FILE,
        default=None,
        means="the client's private key, if it is in another file",
        uses=_EVERYWHERE,
    )
    tls_first: bool = _option(
        OptionType.FLAG,
        default=False,
        means="start TLS before the server's first message (handshake_first)",
        uses=_EVERYWHERE,
    )
    request_timeout: float = _option(
        OptionType.SECONDS,
        default=10.0,
        means="seconds that a request waits for its answer",
        uses=_EVERYWHERE,
        kafka="fetchOffset.numRetries",
    )
    reconnect_max_wait: float = _option(
        OptionType.SECONDS,
        default=4.0,
        means="the longest pause between two reconnect attempts",
        uses=_EVERYWHERE,
    )


@final
@frozen(kw_only=True)
class ReadSettings:
    """What to read, and how."""

    subjects: tuple[str, ...] = _option(
        OptionType.SUBJECTS,
        default=(),
        means="only subjects that match one of these",
        uses=_READS,
        kafka="subscribePattern",
    )
    starting_offsets: str | int | None = _option(
        OptionType.OFFSET,
        default=None,
        means="where a new query begins: earliest, latest, or a sequence; by default "
        "latest for a stream, earliest for a batch",
        uses=_READS,
        words=("earliest", "latest"),
        kafka="startingOffsets",
    )
    starting_timestamp: Timestamp | None = _option(
        OptionType.MOMENT,
        default=None,
        means="begin at the first message stored at this time or later",
        uses=_READS,
        kafka="startingTimestamp",
    )
    starting_offsets_by_timestamp_strategy: str = _option(
        OptionType.WORD,
        default="error",
        means="what to do if no message was stored since startingTimestamp",
        uses=_READS,
        words=("error", "latest"),
        kafka="startingOffsetsByTimestampStrategy",
    )
    ending_offsets: str | int | None = _option(
        OptionType.OFFSET,
        default=None,
        means="where a batch ends: latest, or the first sequence that is not read",
        uses=_BATCH,
        words=("latest",),
        kafka="endingOffsets",
    )
    ending_timestamp: Timestamp | None = _option(
        OptionType.MOMENT,
        default=None,
        means="end before the first message stored at this time or later",
        uses=_BATCH,
        kafka="endingTimestamp",
    )
    fail_on_data_loss: bool = _option(
        OptionType.FLAG,
        default=True,
        means="fail if messages were removed before they were read",
        uses=_READS,
        kafka="failOnDataLoss",
    )
    max_messages_per_trigger: int | None = _option(
        OptionType.COUNT,
        default=None,
        means="the most sequences of a micro-batch, an upper bound of its messages",
        uses=_STREAM,
        kafka="maxOffsetsPerTrigger",
        alias="maxOffsetsPerTrigger",
    )
    max_bytes_per_trigger: int | None = _option(
        OptionType.COUNT,
        default=None,
        means="about the most bytes of a micro-batch, by the stream's mean message size",
        uses=_STREAM,
    )
    min_partitions: int = _option(
        OptionType.COUNT,
        default=1,
        means="the least number of tasks for a range",
        uses=_READS,
        kafka="minPartitions",
    )
    max_records_per_partition: int = _option(
        OptionType.COUNT,
        default=1_000_000,
        means="the most sequences of one task",
        uses=_READS,
        kafka="maxRecordsPerPartition",
    )
    include_headers: bool = _option(
        OptionType.FLAG,
        default=True,
        means="whether the default schema has a column headers",
        uses=_READS,
        kafka="includeHeaders",
    )
    headers_format: str | None = _option(
        OptionType.WORD,
        default=None,
        means="the form of the column headers: map of lists, array of pairs in order, or none",
        uses=_READS,
        words=("map", "array", "none"),
    )
    read_mode: str = _option(
        OptionType.WORD,
        default="auto",
        means="read by consumers or by direct gets; auto uses direct gets for work-queue "
        "streams, and for mirrors that allow them (allow_direct, server 2.11)",
        uses=_READS,
        words=("auto", "consumer", "direct"),
    )
    release_mode: str = _option(
        OptionType.WORD,
        default="none",
        means="what happens to a processed range: nothing, the cursor advances, or it is purged",
        uses=_STREAM,
        words=("none", "cursor", "purge"),
    )
    release_on: str = _option(
        OptionType.WORD,
        default="commit",
        means="release with Spark's commit, which never comes for the last batch of a "
        "run, or when the next batch is planned",
        uses=_STREAM,
        words=("commit", "nextPlan"),
    )
    cursor: str | None = _option(
        OptionType.CONSUMER,
        default=None,
        means="the durable consumer of releaseMode cursor; it is created if missing",
        uses=_STREAM,
    )
    purge_despite_consumers: bool = _option(
        OptionType.FLAG, default=False, means="purge even if the stream has consumers", uses=_STREAM
    )
    take_over: bool = _option(
        OptionType.FLAG,
        default=False,
        means="release even if the cursor, or the purged range, belongs to another query, "
        "which then fails",
        uses=_STREAM,
    )
    allow_option_change: bool = _option(
        OptionType.FLAG,
        default=False,
        means="restart a query whose offsets were made with another stream or other subjects",
        uses=_STREAM,
    )
    consumer_name_prefix: str = _option(
        OptionType.CONSUMER,
        default="spark",
        means="prefix of the names of the short-lived consumers",
        uses=_READS,
        kafka="groupIdPrefix",
    )
    read_deadline: float = _option(
        OptionType.SECONDS,
        default=120.0,
        means="seconds that a task continues without any message, also while the link is lost",
        uses=_READS,
        kafka="kafkaConsumer.pollTimeoutMs",
    )
    pushdown: bool = _option(
        OptionType.FLAG,
        default=False,
        means="narrow the range by the query's filters; needs "
        "spark.sql.python.filterPushdown.enabled",
        uses=_BATCH,
    )


@final
@frozen(kw_only=True)
class WriteSettings:
    """How to publish rows."""

    subject: str | None = _option(
        OptionType.SUBJECT,
        default=None,
        means="the subject of all rows; without it, rows need a column subject",
        uses=_WRITES,
        kafka="topic",
    )
    msg_id_column: str | None = _option(
        OptionType.TEXT,
        default=None,
        means="the column with the message id for deduplication (Nats-Msg-Id); msg_id if "
        "the column exists",
        uses=_WRITES,
    )
    auto_msg_id: bool = _option(
        OptionType.FLAG,
        default=False,
        means="make ids from query, batch, partition and row; for plans that always give "
        "the same rows in the same order",
        uses=_WRITES,
    )
    window: int = _option(
        OptionType.COUNT,
        default=4000,
        means="the most messages of a task without an acknowledgement",
        uses=_WRITES,
    )
    ack_timeout: float = _option(
        OptionType.SECONDS,
        default=30.0,
        means="seconds after which a row without an acknowledgement fails, also while the "
        "link is lost",
        uses=_WRITES,
    )
    max_inflight_bytes: int = _option(
        OptionType.COUNT,
        default=67_108_864,
        means="the most bytes without an acknowledgement",
        uses=_WRITES,
    )
    stall_wait: float | None = _option(
        OptionType.SECONDS,
        default=None,
        means="seconds that a row waits for room in the window before the task fails; by "
        "default a little longer than ackTimeout, which happens only without a link",
        uses=_WRITES,
    )
    expected_outage: float | None = _option(
        OptionType.SECONDS,
        default=None,
        means="warn if the stream remembers ids for less than this number of seconds",
        uses=_WRITES,
    )


@final
@frozen(kw_only=True)
class Settings:
    """The options of a user, parsed and checked for one use."""

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


#: All options, in the order of the documentation.
OPTIONS: Final[tuple[Option, ...]] = tuple(
    _row(attribute)
    for part in (ConnectSettings, ReadSettings, WriteSettings)
    for attribute in fields(part)
)

_BY_KEY: Final[dict[str, Option]] = {
    key.lower(): option for option in OPTIONS for key in (option.name, option.alias) if key
}

#: Options that Spark itself adds for a sink.
_SPARKS_OWN: Final = frozenset({"checkpointlocation", "queryname"})

#: The remedy for a table: Spark does not pass its options to a source in Python.
TABLE: Final = (
    "Spark does not pass the options of a table made by CREATE TABLE or saveAsTable to a source in "
    "Python: use CREATE TEMPORARY VIEW name USING jetstream OPTIONS (servers '...', stream '...'), "
    "or spark.read and df.write"
)

_Part = TypeVar("_Part", ConnectSettings, ReadSettings, WriteSettings)


def values_of(given: Mapping[str, str]) -> dict[str, object]:
    """Parse each given option, without the checks that depend on the use.

    Returns:
        The values by the options' names in camel case.

    Raises:
        InvalidOption: an unknown option, one that is given twice, or an invalid value.
    """
    stream = _stream_of(given)
    found: dict[str, object] = {}
    for key, text in given.items():
        if key.lower() in _SPARKS_OWN:
            continue
        option = _BY_KEY.get(key.lower())
        if option is None:
            raise InvalidOption(
                f"stream {stream}: expected a known option, got {key!r}{_meant(key)}"
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
    """Parse and check all options for one use.

    Raises:
        InvalidOption: see `values_of`; or an option is missing, has no effect in this use, or
            conflicts with another.
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
                f"stream {stream}: expected option {option.name} with {uses}, got it for a {use}"
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
    """The stream name for errors."""
    return next(
        (shorten(value) for key, value in given.items() if key.lower() == "stream"), "not given"
    )


def _part(part: type[_Part], found: Mapping[str, object]) -> _Part:
    names = {attribute.name: _camel(attribute.name) for attribute in fields(part)}
    return part(
        **{name: cast("Any", found[camel]) for name, camel in names.items() if camel in found}
    )


#: Alternatives: at most one option of each row may be given.
_EITHER: Final[tuple[tuple[str, ...], ...]] = (
    ("startingOffsets", "startingTimestamp"),
    ("endingOffsets", "endingTimestamp"),
    ("domain", "apiPrefix"),
    ("credentialsFile", "credentialsEnv", "nkeySeedFile", "user", "tokenEnv"),
    ("msgIdColumn", "autoMsgId"),
)

#: Options that have no effect without another.
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
        why = "expected earliest, because a purge also removes all older messages: read them first"
        yield ("releaseMode", "startingOffsets"), why
    if mode == "purge" and found.get("readMode") == "consumer":
        yield (
            ("releaseMode", "readMode"),
            "expected direct gets where processed messages are purged, got consumer",
        )
    if found.get("includeHeaders") is False and found.get("headersFormat", "none") != "none":
        yield (
            ("includeHeaders", "headersFormat"),
            "expected no headersFormat without headers, got one",
        )
    start, end = found.get("startingOffsets"), found.get("endingOffsets")
    if isinstance(start, int) and isinstance(end, int) and end < start:
        yield (
            ("startingOffsets", "endingOffsets"),
            f"expected an end after the start, got {end} before {start}",
        )
    since, until = found.get("startingTimestamp"), found.get("endingTimestamp")
    if isinstance(since, Timestamp) and isinstance(until, Timestamp) and until < since:
        yield (
            ("startingTimestamp", "endingTimestamp"),
            "expected an end after the start, got one before it",
        )
    stall, ack = found.get("stallWait"), found.get("ackTimeout", WriteSettings().ack_timeout)
    if isinstance(stall, float) and isinstance(ack, float) and stall >= ack:
        why = (
            f"expected a wait below the {ack:g} s of ackTimeout, within which there is room "
            f"in any case, got {stall:g} s"
        )
        yield ("stallWait", "ackTimeout"), why


#: Words that are no options here, with the remedy: Spark's own first, then those of Kafka and of
#: NATS clients.
_INSTEAD: Final[dict[str, str]] = {
    "provider": TABLE,
    "path": (
        "a stream has no path: give it as the option stream, "
        "and call load() and start() without a path"
    ),
    "paths": "a stream has no path: give it as the option stream, and call load() without paths",
    "password": (
        "an option must not contain a secret: set a variable and name it with passwordEnv, "
        "beside user"
    ),
    "token": "an option must not contain a secret: set a variable and name it with tokenEnv",
    "credentials": (
        "an option must not contain a secret: name a creds file with credentialsFile, "
        "or a variable with credentialsEnv"
    ),
    "creds": (
        "an option must not contain a secret: name a creds file with credentialsFile, "
        "or a variable with credentialsEnv"
    ),
    "seed": "an option must not contain a secret: name a file with nkeySeedFile",
    "nkey": "an option must not contain a secret: name a file with nkeySeedFile",
    "url": "the addresses are the option servers",
    "host": "the addresses are the option servers",
    "group.id": (
        "Spark's checkpoint stores the position of a query, so there is no group; "
        "consumerNamePrefix names the short-lived consumers"
    ),
    "kafka.group.id": (
        "Spark's checkpoint stores the position of a query, so there is no group; "
        "consumerNamePrefix names the short-lived consumers"
    ),
    "durable": (
        "Spark's checkpoint stores the position of a query; "
        "a durable consumer that follows it is the option cursor"
    ),
    "consumer": (
        "Spark's checkpoint stores the position of a query; "
        "a durable consumer that follows it is the option cursor"
    ),
    "minoffsetspertrigger": "there is no such option: a trigger takes what the stream has",
    "maxtriggerdelay": "there is no such option: a trigger takes what the stream has",
    "assign": "partitions are planned for each range; subjects selects what is read",
    "kafka.sasl.jaas.config": (
        "use user with passwordEnv, tokenEnv, credentialsFile, or nkeySeedFile to authenticate"
    ),
    "kafka.security.protocol": "use tlsCaFile, tlsCertFile or tls:// in servers for TLS",
}
_KAFKAS: Final[dict[str, str]] = {
    word.strip().lower(): option.name
    for option in OPTIONS
    for word in option.kafka.split(",")
    if word
}


def _meant(key: str) -> str:
    """A hint for an unknown option: another product's word, or a mistyped one of ours."""
    word = key.lower()
    if word in _KAFKAS:
        return f"; here it is {_KAFKAS[word]}"
    if word in _INSTEAD:
        return f"; {_INSTEAD[word]}"
    if word.startswith("kafka."):
        return (
            "; options of Kafka's client have no effect here, "
            "see the table of options for the names"
        )
    close = get_close_matches(word, [*_BY_KEY, *_KAFKAS, *_INSTEAD], 1, 0.75)
    if not close:
        return ""
    if close[0] in _BY_KEY:
        return f"; is {_BY_KEY[close[0]].name} meant?"
    return f"; is {close[0]} meant?{_meant(close[0]).replace(';', ' Then', 1)}"
