"""What differs between server versions, as one frozen row per version.

A row holds facts that were seen on the wire of that very server, never a version comparison spread
over the code: code asks ``profile.reason_after_term`` and not ``version >= (2, 10)``. A new server
version is a new row.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

from attrs import evolve, frozen

from jsproto.errors.tree import InvalidConfig, shorten


@final
@frozen(kw_only=True)
class Profile:
    """One server version. Every flag is a row of the version matrix."""

    version: str
    go: str
    #: Absent from INFO when empty.
    git_commit: str
    #: ``api_lvl`` of INFO, ``level`` of the account and ``_nats.level`` of assets; 0: the server
    #: has no such thing.
    api_level: int
    #: The level stands in INFO too (2.11 has one and does not tell).
    level_in_info: bool
    #: INFO carries an ``xkey``.
    xkey: bool
    #: A second INFO follows the first PONG for clients of protocol 1.
    connect_info: bool
    #: A 503 names the subject that nobody listens on.
    subject_in_503: bool
    #: A pull on an unknown consumer, or a direct get nobody serves, meets silence instead of 503.
    silent_unknown_pull: bool
    #: A no_wait pull that got some but not all of its messages ends with 404 and without headers
    #: (else 408 with them).
    partial_no_wait_404: bool
    #: 409 Batch Completed when a batch is filled while bytes are left.
    batch_completed: bool
    #: A pull above max_waiting that has a heartbeat meets silence.
    silent_full_with_heartbeat: bool
    #: A full queue of pulls is swept whenever one more comes; else at most once a second.
    sweeps_at_once: bool
    #: The status line of a published message is stripped before it is stored.
    strips_status_line: bool
    #: ``+TERM <reason>`` terminates; else only the exact word does.
    term_reason: bool
    #: An acknowledgement to a consumer without acknowledgements is answered; else nobody listens
    #: there.
    answers_ack_none: bool
    #: An acknowledgement of a sequence that was never delivered is answered.
    answers_undelivered: bool
    #: JetStream keeps serving while the server is a lame duck.
    serves_as_lame_duck: bool
    #: A JSON member that the server does not know is an error.
    strict_json: bool
    #: Errors of broken JSON tell what was wrong; a body may then be several documents, or none.
    verbose_json_errors: bool
    #: JSON is read by Go 1.27, whose errors have other words and name the whole path of a value.
    json_v2: bool
    #: A stream that says which template it belongs to is refused; else the member is not known.
    template_owner: bool
    #: A pull whose time is up when a message comes to it is told so; else it is gone without a
    #: word.
    tells_expired: bool
    #: A store in memory that begins later forgets what its subjects had before; else it counts it
    #: for ever.
    forgets_subjects: bool
    #: A stream that listens to everything, or to what the server itself listens to, must be one
    #: without acknowledgements; else it may be any, and acknowledges requests of the API as it does
    #: whatever else it stores.
    refuses_everything: bool
    #: ... which a subject with a wildcard in front does too; else only one that lies within those
    #: of the server.
    judges_wildcards: bool
    #: ``action`` of CONSUMER.CREATE is honoured.
    consumer_action: bool
    #: ``filter_subjects`` of a consumer is honoured.
    multiple_filters: bool
    #: ``max_deliver`` must be above the number of steps of ``backoff``, and so has to be set.
    strict_backoff: bool
    #: That ``max_waiting`` cannot be updated comes before that a pull consumer cannot push, nor a
    #: push consumer be pulled from.
    waiting_first: bool
    #: A filter subject must lie within one of the subjects of the stream, or one of them within it.
    filter_within_stream: bool
    #: Nats-Required-Api-Level is honoured.
    required_api_level: bool
    #: Clients may not publish under ``$NRG.``.
    reserves_nrg: bool
    #: An inactive consumer stays while somebody may still work on what it has delivered.
    waits_for_acks: bool
    #: ``$JS.API.CONSUMER.PAUSE`` exists.
    pause: bool
    #: The priority policy prioritized exists.
    prioritized: bool
    #: A pull of the overflow policy is served when either of its bounds is reached; else when both
    #: are.
    overflow_either: bool
    #: A pull that does not fit the policy ends; else it is told so and waits all the same.
    bad_priority_ends: bool
    #: 423 Nats-Wrong-Pin-Id tells what the pull still had coming.
    wrong_pin_headers: bool
    #: Acknowledgement subjects of 11 tokens can be switched on.
    ack_v2: bool
    #: What the server says itself is framed with an empty reply: two blanks in a row.
    two_blanks: bool
    #: The JSON of a publish acknowledgement has a blank after its comma.
    blank_in_pub_ack: bool
    #: Answers carry the server's time ``ts``, and stream info a ``cluster``.
    timestamps: bool
    #: Assets carry metadata about their API level.
    asset_metadata: bool
    #: ``name`` of a consumer is part of its configuration also when the subject named it.
    names_consumers: bool
    #: The reserved sums stand in the account information.
    reserved_in_account: bool
    #: Reason of a termination because the message was deleted.
    deletion_reason: str
    #: What lies before the start of a new consumer counts as acknowledged.
    floor_at_start: bool
    #: A start beyond the end of the stream is waited for; else the consumer begins behind the end.
    waits_for_start: bool
    #: More than lies between a consumer and the end of the stream is never told as pending; else
    #: only more than there is at all is counted anew.
    bounds_pending: bool
    #: A consumer tells of itself what it has written down, which are its deliveries; else where it
    #: is in the stream.
    tells_record: bool
    #: A store in files does not say of which subject a deleted message was: a consumer with a
    #: filter does not hear of it.
    deletes_blindly: bool
    #: A redelivery whose message has left the stream meanwhile counts as terminated; else nothing
    #: comes of it.
    terminates_missing: bool
    #: A message whose time to live is refused counts as the last one where a publisher says what he
    #: expects to be that.
    counts_refused_ttl: bool
    #: The storages where a message that nobody is interested in says when an empty stream begins.
    dates_skipped: frozenset[str]
    #: Ids that are known are looked for behind the expectations of the publisher, else before them.
    duplicates_last: bool
    #: The size of a publish is looked at before anything else.
    size_first: bool
    #: A pull that has expired does not get to know that a message is too large for it.
    expiry_first: bool
    #: A purge of a store in memory tells at once what is gone, it counts as acknowledging, and
    #: moves a consumer along only if it covers all of its filters.
    careful_purge: bool
    #: A purge of some subjects moves a consumer that wants these, and others too, to the first of
    #: them that is left, over all others; one that wants fewer stays where it is.
    blunt_purge: bool
    #: The storages where a purge below sequence 1 takes all messages.
    purges_below_1: frozenset[str]
    #: A purge below a sequence of a store in memory is refused if no message has that sequence.
    purge_needs_message: bool
    #: A store in memory from which a purge below a sequence takes the last messages, though
    #: sequences behind it are given already, keeps the first sequence that it had.
    purge_keeps_first: bool
    #: With discard new, ``max_bytes`` may be reached exactly.
    fills_max_bytes: bool
    #: A redelivery that nobody could take after all leaves no trace; else the message counts as
    #: delivered again.
    forgets_undelivered: bool
    #: A roll-up in a batch is stored though its subject is full.
    rollup_fits: bool
    #: Messages can have a time to live.
    message_ttl: bool
    #: Counters and atomic batches exist.
    counters: bool
    #: A batch can be ended without another message.
    batch_end: bool
    #: That end counts in the size of the batch, although it is not stored (mended in 2.14.3).
    batch_end_counts: bool
    #: A direct get can ask for a batch, for the last messages of many subjects, and from a time on.
    direct_batches: bool
    #: A message of a batch counts itself among what is pending, and the end of many last messages
    #: one too few.
    direct_counts_itself: bool
    #: A direct get can ask for the payload alone, and a get of the API for a message without its
    #: headers.
    direct_no_headers: bool
    #: Where a consumer is stored cannot be changed, else the change is without effect.
    fixed_storage: bool
    #: A work queue looks at the deliver policy of a new consumer before it looks at the others.
    workqueue_delivers_first: bool
    #: Limit of consumers per stream that is set nowhere; -1: none.
    default_max_consumers: int
    #: Text of 10084 for a pull consumer without explicit acks on a work queue.
    workqueue_ack_text: str
    #: Nats-Expected-Last-Subject-Sequence-Subject is honoured, and refused alone.
    expected_subject: bool
    expected_subject_alone_refused: bool
    #: A bad roll-up value is answered with 10111, else met with silence.
    rollup_answered: bool

    @property
    def number(self) -> tuple[int, int]:
        """The first two numbers of the version, for tables that say since when something exists."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)


_V2_9: Final = Profile(
    version="2.9.10",
    go="go1.19.8",
    git_commit="",
    api_level=0,
    level_in_info=False,
    xkey=False,
    connect_info=False,
    subject_in_503=False,
    silent_unknown_pull=True,
    partial_no_wait_404=False,
    batch_completed=False,
    silent_full_with_heartbeat=False,
    sweeps_at_once=True,
    strips_status_line=False,
    term_reason=False,
    answers_ack_none=True,
    answers_undelivered=True,
    serves_as_lame_duck=True,
    strict_json=False,
    verbose_json_errors=False,
    json_v2=False,
    template_owner=True,
    tells_expired=False,
    forgets_subjects=False,
    refuses_everything=False,
    judges_wildcards=False,
    consumer_action=False,
    multiple_filters=False,
    filter_within_stream=True,
    strict_backoff=True,
    waiting_first=True,
    required_api_level=False,
    reserves_nrg=False,
    waits_for_acks=False,
    pause=False,
    prioritized=False,
    overflow_either=False,
    bad_priority_ends=False,
    wrong_pin_headers=False,
    ack_v2=False,
    two_blanks=True,
    blank_in_pub_ack=True,
    timestamps=False,
    asset_metadata=False,
    names_consumers=False,
    reserved_in_account=False,
    deletion_reason="",
    floor_at_start=False,
    waits_for_start=False,
    bounds_pending=False,
    tells_record=False,
    terminates_missing=False,
    deletes_blindly=False,
    counts_refused_ttl=False,
    dates_skipped=frozenset({"file"}),
    duplicates_last=False,
    size_first=False,
    workqueue_delivers_first=False,
    fixed_storage=False,
    expiry_first=False,
    careful_purge=False,
    blunt_purge=True,
    purges_below_1=frozenset({"file", "memory"}),
    purge_needs_message=True,
    purge_keeps_first=False,
    fills_max_bytes=False,
    forgets_undelivered=False,
    rollup_fits=False,
    message_ttl=False,
    counters=False,
    batch_end=False,
    batch_end_counts=False,
    direct_batches=False,
    direct_counts_itself=False,
    direct_no_headers=False,
    default_max_consumers=-1,
    workqueue_ack_text="consumer in pull mode requires ack policy",
    expected_subject=False,
    expected_subject_alone_refused=False,
    rollup_answered=False,
)

_V2_10: Final = evolve(
    _V2_9,
    version="2.10.26",
    go="go1.24.0",
    git_commit="2898698",
    xkey=True,
    silent_unknown_pull=False,
    batch_completed=True,
    term_reason=True,
    answers_ack_none=False,
    answers_undelivered=False,
    serves_as_lame_duck=False,
    consumer_action=True,
    multiple_filters=True,
    filter_within_stream=False,
    strict_backoff=False,
    tells_expired=True,
    forgets_subjects=True,
    refuses_everything=True,
    waiting_first=False,
    sweeps_at_once=False,
    blunt_purge=False,
    purges_below_1=frozenset({"file"}),
    purge_needs_message=False,
    purge_keeps_first=True,
    dates_skipped=frozenset({"file", "memory"}),
    two_blanks=False,
    timestamps=True,
    reserved_in_account=True,
    deletion_reason="Unacknowledged message was deleted",
)

_V2_11: Final = evolve(
    _V2_10,
    version="2.11.11",
    go="go1.25.4",
    git_commit="ac1095e",
    api_level=1,
    partial_no_wait_404=True,
    silent_full_with_heartbeat=True,
    judges_wildcards=True,
    verbose_json_errors=True,
    reserves_nrg=True,
    waits_for_acks=True,
    waits_for_start=True,
    tells_record=True,
    deletes_blindly=True,
    counts_refused_ttl=True,
    dates_skipped=frozenset(),
    message_ttl=True,
    direct_batches=True,
    direct_counts_itself=True,
    pause=True,
    asset_metadata=True,
    workqueue_ack_text="consumer in pull mode requires explicit ack policy on workqueue stream",
    expected_subject=True,
    rollup_answered=True,
)

_V2_12: Final = evolve(
    _V2_11,
    version="2.12.8",
    go="go1.25.7",
    git_commit="c3b0f4a",
    api_level=3,
    level_in_info=True,
    connect_info=True,
    subject_in_503=True,
    prioritized=True,
    overflow_either=True,
    wrong_pin_headers=True,
    strips_status_line=True,
    strict_json=True,
    required_api_level=True,
    blank_in_pub_ack=False,
    names_consumers=True,
    bounds_pending=True,
    terminates_missing=True,
    deletes_blindly=False,
    counts_refused_ttl=False,
    duplicates_last=True,
    counters=True,
    direct_counts_itself=False,
    direct_no_headers=True,
    expected_subject_alone_refused=True,
)

_V2_14: Final = evolve(
    _V2_12,
    version="2.14.0",
    go="go1.26.2",
    git_commit="0cbd01c",
    api_level=4,
    template_owner=False,
    batch_end=True,
    batch_end_counts=True,
    floor_at_start=True,
    fills_max_bytes=True,
    rollup_fits=True,
    ack_v2=True,
)

_V2_15: Final = evolve(
    _V2_14,
    version="2.15.1",
    batch_end_counts=False,
    go="go1.27.2",
    git_commit="b2fd3ef",
    api_level=5,
    default_max_consumers=1000,
    size_first=True,
    workqueue_delivers_first=True,
    fixed_storage=True,
    bad_priority_ends=True,
    expiry_first=True,
    careful_purge=True,
    purges_below_1=frozenset(),
    purge_keeps_first=False,
    forgets_undelivered=True,
    json_v2=True,
)

#: The versions that are modelled, by their first two numbers.
PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "2.9": _V2_9,
        "2.10": _V2_10,
        "2.11": _V2_11,
        "2.12": _V2_12,
        "2.14": _V2_14,
        "2.15": _V2_15,
    }
)


def profile_of(version: str) -> Profile:
    """The profile of a server version such as ``2.15.1``; its last number does not matter.

    Raises:
        InvalidConfig: the version is not one of those that are modelled.
    """
    found = PROFILES.get(".".join(version.split(".")[:2]))
    if found is None:
        raise InvalidConfig(
            f"expected a server version among {', '.join(PROFILES)}, got {shorten(version)}"
        )
    return found if version.count(".") < 2 else evolve(found, version=version)
