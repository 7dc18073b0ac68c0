"""What is known of a consumer's acknowledgements, and what the user wishes about messages in his
hands.

Who binds to a consumer without asking the server knows nothing of it; then messages are taken for
messages of a consumer with ack policy explicit, which is right or harmless. With the consumer's
configuration at hand (`AckOptions.within`) no ack is sent to a consumer that wants none, an ack of
a consumer with ack policy all counts for all before it, and ``ack_wait`` is known.

In-progress is said when the connection is ticked, so somebody must drive it while the user works:
an event loop does, and the pump of a blocking client; one without a pump is driven by its caller,
only inside its calls.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, final

from attrs import Factory, evolve, field, frozen

from jsproto.core.numbers import in_seconds, seconds
from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.jetstream.api.codecs import UnknownWord
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import AckPolicy
from jsproto.jetstream.delivery.ack import CUMULATIVE, MUTE, OPEN, AckState

#: A beat looks at a message for the first time when it is one to two beats old: at two thirds of
#: ack_wait at the latest.
_BEATS: Final = 3
#: Seconds between two looks, at least.
_SHORTEST: Final = 0.001
_STATES: Final = {AckPolicy.NONE: MUTE, AckPolicy.ALL: CUMULATIVE}


def _progress(value: bool | float | timedelta) -> bool | float:
    return value if isinstance(value, bool) else in_seconds(value)


def _state_of(acking: AckOptions) -> AckState:
    """How a message begins, of wishes that can be met."""
    for name, value in (("wait", acking.wait), ("in_progress", acking.in_progress)):
        if value is None or (name == "in_progress" and isinstance(value, bool)):
            continue
        seconds(name, value, finite=True)
    if acking.nak_held and not acking.in_progress:
        raise InvalidConfig(
            "expected in_progress with nak_held: else nobody knows what is in the user's hands"
        )
    policy = acking.policy
    if policy is None or isinstance(policy, UnknownWord):  # of a newer server
        return OPEN
    try:
        return _STATES.get(AckPolicy(policy), OPEN)
    except ValueError:
        raise InvalidConfig(
            f"expected one of {', '.join(AckPolicy)} as policy, got {shorten(policy)}"
        ) from None


def _every_of(acking: AckOptions) -> float:
    every = _wished(acking)
    # A step that is lost in the digits of a clock would never bring the next moment closer.
    return max(every, _SHORTEST) if every else 0.0


def _wished(acking: AckOptions) -> float:
    if acking.state is MUTE:
        return 0.0
    if not acking.in_progress or acking.in_progress is True:
        return 0.0 if acking.wait is None else acking.wait / _BEATS
    if acking.wait is not None and 2 * acking.in_progress >= acking.wait:
        raise InvalidConfig(
            f"expected in_progress below half of ack_wait ({acking.wait} s), got {acking.in_progress} s"
        )
    return acking.in_progress


def _keeps_of(acking: AckOptions) -> bool:
    return bool(acking.in_progress) and acking.state is not MUTE


@final
@frozen(kw_only=True, cache_hash=True)
class AckOptions:
    """How messages are acknowledged, and what happens to those that are not yet.

    Attributes:
        policy: the consumer's ack policy, ``None`` if it is not known.
        wait: the consumer's ``ack_wait`` in seconds, ``None`` if it is not known.
        in_progress: tell the server by itself that messages are being worked on, as long as they
            are at hand or in the user's hands: at a third of ``wait``, or each so many seconds,
            which should be a third of it at most.
        nak_held: closing a feed gives back what is in the user's hands too; needs ``in_progress``.
        strict: a second settlement of a message raises `AlreadySettled`; else it is ignored with a
            notice.
        state: the ack state of a new message.
        every: seconds between two looks at the messages that are not settled; 0 for none.
        keeps: whether messages are kept in progress.

    Raises:
        InvalidConfig: times that are not above 0 or come too late, or ``nak_held`` without
            ``in_progress``.
    """

    policy: AckPolicy | str | None = None
    wait: float | None = field(default=None, converter=in_seconds)
    in_progress: bool | float = field(default=False, converter=_progress)
    nak_held: bool = False
    strict: bool = False

    state: AckState = field(
        init=False, repr=False, eq=False, default=Factory(_state_of, takes_self=True)
    )
    every: float = field(
        init=False, repr=False, eq=False, default=Factory(_every_of, takes_self=True)
    )
    keeps: bool = field(
        init=False, repr=False, eq=False, default=Factory(_keeps_of, takes_self=True)
    )

    def checked(self) -> AckOptions:
        """These wishes, if they can be met.

        Raises:
            InvalidConfig: ``in_progress`` without a time to go by.
        """
        if self.in_progress is True and self.wait is None:
            raise InvalidConfig(
                "expected a known ack_wait for in_progress: give it, or the seconds, or ask for the consumer's info"
            )
        return self

    def within(self, config: ConsumerConfig) -> AckOptions:
        """The same for a consumer that is known; what was said here is kept."""
        policy = self.policy if config.ack_policy is None else config.ack_policy
        return evolve(
            self, policy=policy, wait=self.wait if self.wait is not None else ack_wait_of(config)
        )


#: Nothing is known and nothing wished.
UNKNOWN: Final = AckOptions()


def ack_wait_of(config: ConsumerConfig) -> float | None:
    """Seconds after which the server delivers again; with a backoff the shortest of it."""
    waits: list[timedelta] = [*config.backoff] or (
        [] if config.ack_wait is None else [config.ack_wait]
    )
    seconds = min((each.total_seconds() for each in waits), default=0.0)
    return seconds if seconds > 0 else None
