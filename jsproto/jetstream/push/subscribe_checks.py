"""What a subscribe call may not ask for, and what it may not find: the checks of ADR-15 as one
table.

Theory. A subscription is described by the caller (`jsproto.jetstream.push.subscribe.Subscribe`) and
answered by what the server has. What is true about the two is a set of `Condition`, computed in one
place; a check is a row that names which facts must hold and which must not. So the table is data,
the first row that holds is the answer, and each row has an error class of its own. The same table,
with the specification's meaning in our words and the test that provokes each row on a real server,
lies in ``spec/subscribe_checks.toml``.

When a row is looked at depends on its `CheckPhase`: before anything is sent, when the stream was
looked up, when a consumer was found, and when it was found only after our own create had lost a
race.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import ClassVar, Final, NamedTuple, final

from attrs import frozen

from jsproto.errors.tree import JsprotoError, LocalProtocolError
from jsproto.jetstream.api.errors import ConsumerNotFound

# ------------------------------------------------------------------------------------------------ the errors


class SubscribeRefused(LocalProtocolError, ValueError):
    """A subscription that cannot work as asked. The class says which check refused it, and so does
    ``check``.
    """

    check: ClassVar[str] = ""


class QueueWithHeartbeat(SubscribeRefused):
    """Heartbeats were asked for together with a queue: each would reach one member only."""

    check = "QUEUE_WITH_HEARTBEAT"


class QueueWithFlowControl(SubscribeRefused):
    """Flow control was asked for together with a queue: each question would reach one member only."""

    check = "QUEUE_WITH_FLOW_CONTROL"


class NoSubject(SubscribeRefused):
    """Neither a subject nor a stream was named, so no stream can be found."""

    check = "NO_SUBJECT"


class PullAckPolicy(SubscribeRefused):
    """A pull subscription with ack policy none or all."""

    check = "PULL_ACK_POLICY"


class PullWithDeliverSubject(SubscribeRefused):
    """A pull subscription with a deliver subject."""

    check = "PULL_WITH_DELIVER_SUBJECT"


class FlowControlWithoutHeartbeat(SubscribeRefused):
    """Flow control without heartbeats: a lost answer could never be repaired (B097)."""

    check = "FLOW_CONTROL_WITHOUT_HEARTBEAT"


class NoMatchingStream(SubscribeRefused):
    """Not exactly one stream stores the subject. ``streams`` are those that do."""

    check = "NO_MATCHING_STREAM"

    def __init__(self, message: str, streams: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.streams = streams


class PullOnPush(SubscribeRefused):
    """A pull subscription for a consumer that is pushed."""

    check = "PULL_ON_PUSH"


class PushOnPull(SubscribeRefused):
    """A push subscription for a consumer that is pulled."""

    check = "PUSH_ON_PULL"


class DuplicateSubscription(SubscribeRefused):
    """Somebody is bound to the consumer already, and it has no group to share it in.

    The server notices a moment after the SUB or UNSUB (2.9 to 2.15), so of two at the very same
    time both may pass.
    """

    check = "DUPLICATE_SUBSCRIPTION"


class ConsumerHasGroup(SubscribeRefused):
    """A subscription without a queue for a consumer that was made for a queue group."""

    check = "CONSUMER_HAS_GROUP"


class OtherGroup(SubscribeRefused):
    """A queue subscription for a consumer that was made for another queue group."""

    check = "OTHER_GROUP"


class ConsumerHasNoGroup(SubscribeRefused):
    """A queue subscription for a consumer that was made without a queue group."""

    check = "CONSUMER_HAS_NO_GROUP"


class FilterMismatch(SubscribeRefused):
    """The consumer filters another subject than the one subscribed to."""

    check = "FILTER_MISMATCH"


class ConsumerHasFlowControl(SubscribeRefused):
    """A queue subscription for a consumer with flow control."""

    check = "CONSUMER_HAS_FLOW_CONTROL"


class ConsumerHasHeartbeat(SubscribeRefused):
    """A queue subscription for a consumer with heartbeats."""

    check = "CONSUMER_HAS_HEARTBEAT"


class ConfigMismatch(SubscribeRefused):
    """The consumer has other settings than asked for, and a subscription does not change them.

    Attributes:
        differences: name, asked and found value of each, as the wire has them.
    """

    check = "CONFIG_MISMATCH"

    def __init__(
        self, message: str, differences: tuple[tuple[str, object, object], ...] = ()
    ) -> None:
        super().__init__(message)
        self.differences = differences


class RaceLost(SubscribeRefused):
    """Somebody else made the consumer at the same moment, and it can't be shared without a queue."""

    check = "RACE_LOST"


# ------------------------------------------------------------------------------------------------ the facts


class Condition(Enum):
    """What can be true about what was asked and what was found."""

    #: A pull subscription was asked for.
    PULL = "PULL"
    #: A queue was named.
    QUEUE = "QUEUE"
    #: The consumer to bind to was named.
    NAMED = "NAMED"
    NO_SUBJECT = "NO_SUBJECT"
    NO_STREAM = "NO_STREAM"
    ASKED_HEARTBEAT = "ASKED_HEARTBEAT"
    ASKED_FLOW_CONTROL = "ASKED_FLOW_CONTROL"
    ASKED_DELIVER_SUBJECT = "ASKED_DELIVER_SUBJECT"
    #: Ack policy none or all.
    ASKED_NO_SINGLE_ACKS = "ASKED_NO_SINGLE_ACKS"
    #: None, or more than one stream has the subject.
    NOT_ONE_STREAM = "NOT_ONE_STREAM"
    NOT_FOUND = "NOT_FOUND"
    #: The consumer that was found has a deliver subject.
    FOUND_PUSH = "FOUND_PUSH"
    #: Somebody listens on it.
    FOUND_BOUND = "FOUND_BOUND"
    FOUND_GROUP = "FOUND_GROUP"
    #: The group found is another than the queue asked for.
    GROUP_DIFFERS = "GROUP_DIFFERS"
    FILTER_DIFFERS = "FILTER_DIFFERS"
    FOUND_HEARTBEAT = "FOUND_HEARTBEAT"
    FOUND_FLOW_CONTROL = "FOUND_FLOW_CONTROL"
    CONFIG_DIFFERS = "CONFIG_DIFFERS"
    #: It was not there when we looked, and there when we wanted to make it.
    RACED = "RACED"


class CheckPhase(Enum):
    """When a check is made."""

    #: Before anything is sent.
    ASKED = "ASKED"
    #: The stream was looked up.
    STREAM = "STREAM"
    #: The consumer was looked up.
    LOOKUP = "LOOKUP"
    #: A consumer was found.
    FOUND = "FOUND"


# ------------------------------------------------------------------------------------------------ the table


@final
@frozen(kw_only=True)
class Check:
    """One check.

    Attributes:
        phase: when it is made.
        error: what it raises.
        when: facts that must all hold.
        unless: facts of which none may hold.
        after_race: whether a pull subscription is held to it after a lost race too (ADR-15: only
            the basic ones).
        expected: what was expected, for the message.
        seen: what was seen, with the names of values in braces.
        says: what the specification demands, in our words.
    """

    phase: CheckPhase
    error: type[JsprotoError]
    when: frozenset[Condition]
    unless: frozenset[Condition] = frozenset()
    after_race: bool = False
    expected: str
    seen: str
    says: str

    @property
    def code(self) -> str:
        """The name of the check."""
        return getattr(self.error, "check", "") or "CONSUMER_NOT_FOUND"

    @property
    def test(self) -> str:
        """The test that provokes it on a real server."""
        return f"tests/jetstream/push/test_subscribe_checks.py::test_live_{self.code.lower()}"

    def holds(self, facts: frozenset[Condition]) -> bool:
        """Whether the facts are those of this check."""
        if Condition.PULL in facts and Condition.RACED in facts and not self.after_race:
            return False
        return self.when <= facts and not self.unless & facts


def _set(*facts: Condition) -> frozenset[Condition]:
    return frozenset(facts)


_F = Condition

#: All checks, in the order in which they are made.
CHECKS: Final = (
    Check(
        phase=CheckPhase.ASKED, error=QueueWithHeartbeat, when=_set(_F.QUEUE, _F.ASKED_HEARTBEAT),
        expected="no idle_heartbeat beside a queue", seen="idle_heartbeat {heartbeat} with queue {queue}",
        says="Whoever names a queue may not configure heartbeats: the server would send each to a random member.",
    ),
    Check(
        phase=CheckPhase.ASKED, error=QueueWithFlowControl, when=_set(_F.QUEUE, _F.ASKED_FLOW_CONTROL),
        expected="no flow_control beside a queue", seen="flow_control with queue {queue}",
        says="Whoever names a queue may not configure flow control: the server would ask a random member.",
    ),
    Check(
        phase=CheckPhase.ASKED, error=NoSubject, when=_set(_F.NO_SUBJECT, _F.NO_STREAM),
        expected="a subject or a stream", seen="neither",
        says="Without a subject and without a stream the consumer can be neither found nor made.",
    ),
    Check(
        phase=CheckPhase.ASKED, error=PullAckPolicy, when=_set(_F.PULL, _F.ASKED_NO_SINGLE_ACKS),
        expected="ack_policy explicit for a pull subscription", seen="{ack_policy}",
        says="A pull subscription may not ask for ack policy none or all.",
    ),
    Check(
        phase=CheckPhase.ASKED, error=PullWithDeliverSubject, when=_set(_F.PULL, _F.ASKED_DELIVER_SUBJECT),
        expected="no deliver_subject for a pull subscription", seen="{asked_deliver}",
        says="For pull consumers the deliver subject is left blank.",
    ),
    Check(
        phase=CheckPhase.ASKED, error=FlowControlWithoutHeartbeat, when=_set(_F.ASKED_FLOW_CONTROL), unless=_set(_F.ASKED_HEARTBEAT),
        expected="an idle_heartbeat beside flow_control", seen="none",
        says="Flow control needs an idle heartbeat, since a lost question or answer is repaired through heartbeats alone.",
    ),
    Check(
        phase=CheckPhase.STREAM, error=NoMatchingStream, when=_set(_F.NOT_ONE_STREAM),
        expected="exactly one stream for subject {subject}", seen="{streams}",
        says="A stream is looked up by the subject, and anything but exactly one name is an error.",
    ),
    Check(
        phase=CheckPhase.LOOKUP, error=ConsumerNotFound, when=_set(_F.NAMED, _F.NOT_FOUND), unless=_set(_F.PULL),
        expected="a consumer {consumer}", seen="none",
        says="A consumer that is named must be there, unless the subscription pulls.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=PullOnPush, when=_set(_F.PULL, _F.FOUND_PUSH), after_race=True,
        expected="a consumer without deliver_subject for a pull subscription", seen="{deliver} of consumer {consumer}",
        says="A pull subscription on a consumer with a deliver subject is an error.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=PushOnPull, when=_set(), unless=_set(_F.PULL, _F.FOUND_PUSH),
        expected="a consumer with a deliver_subject", seen="none at consumer {consumer}: it needs a pull subscription",
        says="A push subscription on a consumer without a deliver subject is an error: it needs a pull subscription.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=DuplicateSubscription, when=_set(_F.FOUND_BOUND), unless=_set(_F.PULL, _F.QUEUE, _F.FOUND_GROUP),
        expected="consumer {consumer} to be free", seen="it is bound to a subscription already",
        says="A consumer that is push bound and has no deliver group takes no second subscription without a queue.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=ConsumerHasGroup, when=_set(_F.FOUND_GROUP), unless=_set(_F.PULL, _F.QUEUE),
        expected="queue {group} for consumer {consumer}, which was made for it", seen="no queue",
        says="Without a queue nobody subscribes to a consumer that was made for a deliver group, bound or not.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=OtherGroup, when=_set(_F.QUEUE, _F.FOUND_GROUP, _F.GROUP_DIFFERS), unless=_set(_F.PULL),
        expected="queue {group} for consumer {consumer}, which was made for it", seen="queue {queue}",
        says="A queue subscription must name the deliver group that the consumer was made for.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=ConsumerHasNoGroup, when=_set(_F.QUEUE), unless=_set(_F.PULL, _F.FOUND_GROUP),
        expected="consumer {consumer} to have the deliver group {queue}", seen="it has none",
        says="A queue subscription needs a consumer that was made with a deliver group.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=FilterMismatch, when=_set(_F.FILTER_DIFFERS),
        expected="consumer {consumer} to filter {subject}", seen="{filters}",
        says="The consumer's filter subject, if it has one, must be the subject that is subscribed to.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=ConsumerHasFlowControl, when=_set(_F.QUEUE, _F.FOUND_FLOW_CONTROL), unless=_set(_F.PULL),
        expected="consumer {consumer} to have no flow_control for a queue", seen="it has",
        says="A queue subscription to a consumer with flow control is an error.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=ConsumerHasHeartbeat, when=_set(_F.QUEUE, _F.FOUND_HEARTBEAT), unless=_set(_F.PULL),
        expected="consumer {consumer} to have no idle_heartbeat for a queue", seen="{found_heartbeat}",
        says="A queue subscription to a consumer with heartbeats is an error.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=ConfigMismatch, when=_set(_F.CONFIG_DIFFERS),
        expected="consumer {consumer} to be as asked for", seen="{differences}; a subscription does not change it",
        says="Settings that differ from those of the consumer that is there are an error, since they are not applied; the deliver subject alone may differ.",
    ),
    Check(
        phase=CheckPhase.FOUND, error=RaceLost, when=_set(_F.RACED), unless=_set(_F.PULL, _F.QUEUE),
        expected="consumer {consumer} to be made here", seen="somebody else made it at the same moment",
        says="Who meets the consumer only when making it goes on with it as a member of its queue; without a queue it is an error.",
    ),
)  # fmt: skip


class RejectedSubscribe(NamedTuple):
    """A check that holds, and its message."""

    check: Check
    message: str


def refusal(
    phase: CheckPhase, facts: Iterable[Condition], values: Mapping[str, object]
) -> RejectedSubscribe | None:
    """The first check of this phase that holds. ``values`` are what its message can name."""
    true = frozenset(facts)
    for check in CHECKS:
        if check.phase is phase and check.holds(true):
            said = f"expected {check.expected}, got {check.seen}".format_map(values)
            return RejectedSubscribe(check, said)
    return None


def as_toml() -> str:
    """The table as ``spec/subscribe_checks.toml`` holds it, for readers in any language."""
    lines = [
        "# Checks of the subscribe workflow (ADR-15), one table per row of jsproto/jetstream/push/subscribe_checks.py; a test compares.",
        "# Within one phase the first check counts all of whose facts in `when` hold and none of those in `unless`.",
        "# After a lost race a pull subscription is held to the checks with after_race only.",
    ]
    for check in CHECKS:
        lines += ["", "[[check]]", f'code = "{check.code}"', f'phase = "{check.phase.value}"']
        lines += [
            f'says = "{check.says}"',
            f"when = {_names(check.when)}",
            f"unless = {_names(check.unless)}",
        ]
        if check.after_race:
            lines.append("after_race = true")
        lines += [f'error = "{check.error.__name__}"', f'test = "{check.test}"']
    return "\n".join(lines) + "\n"


def _names(facts: frozenset[Condition]) -> str:
    return "[" + ", ".join(f'"{fact.value}"' for fact in Condition if fact in facts) + "]"
