"""The subjects of the JetStream API; each name is checked, so none can inject a token or a frame.

Theory. The API has a prefix: ``$JS.API`` in the own domain, ``$JS.<domain>.API`` in another, or
any prefix under which an account imports it. An :class:`ApiSubjects` holds one prefix and returns
the subject of each request.
"""

from __future__ import annotations

from typing import Final, Self, final

from attrs import field, frozen

from jsproto.errors.tree import InvalidSubject, shorten
from jsproto.jetstream.api.patterns import literal
from jsproto.wire.subjects import (
    consumer_name,
    publish_subject,
    stream_name,
    subject_prefix,
    subscription_subject,
)

DEFAULT_PREFIX: Final = "$JS.API"


@final
@frozen
class ApiSubjects:
    """Subjects below one API prefix.

    Raises:
        InvalidSubject: the prefix, or a name given to a method, is invalid (ADR-6).
    """

    prefix: str = field(default=DEFAULT_PREFIX)

    def __attrs_post_init__(self) -> None:
        subject_prefix(self.prefix)

    @classmethod
    def for_domain(cls, domain: str) -> Self:
        """The API of another domain, ``$JS.<domain>.API``."""
        if not isinstance(domain, str) or not domain or "." in domain:
            raise InvalidSubject(f"expected a domain of one token, got {shorten(domain)}")
        return cls(f"$JS.{domain}.API")

    def account_info(self) -> str:
        """INFO: usage and limits of the account."""
        return f"{self.prefix}.INFO"

    def stream_create(self, stream: str) -> str:
        """STREAM.CREATE."""
        return self._of_stream("STREAM.CREATE", stream)

    def stream_update(self, stream: str) -> str:
        """STREAM.UPDATE."""
        return self._of_stream("STREAM.UPDATE", stream)

    def stream_info(self, stream: str) -> str:
        """STREAM.INFO."""
        return self._of_stream("STREAM.INFO", stream)

    def stream_delete(self, stream: str) -> str:
        """STREAM.DELETE."""
        return self._of_stream("STREAM.DELETE", stream)

    def stream_purge(self, stream: str) -> str:
        """STREAM.PURGE."""
        return self._of_stream("STREAM.PURGE", stream)

    def stream_names(self) -> str:
        """STREAM.NAMES."""
        return f"{self.prefix}.STREAM.NAMES"

    def stream_list(self) -> str:
        """STREAM.LIST."""
        return f"{self.prefix}.STREAM.LIST"

    def stream_msg_get(self, stream: str) -> str:
        """STREAM.MSG.GET."""
        return self._of_stream("STREAM.MSG.GET", stream)

    def stream_msg_delete(self, stream: str) -> str:
        """STREAM.MSG.DELETE."""
        return self._of_stream("STREAM.MSG.DELETE", stream)

    def stream_snapshot(self, stream: str) -> str:
        """STREAM.SNAPSHOT."""
        return self._of_stream("STREAM.SNAPSHOT", stream)

    def stream_restore(self, stream: str) -> str:
        """STREAM.RESTORE."""
        return self._of_stream("STREAM.RESTORE", stream)

    def stream_peer_remove(self, stream: str) -> str:
        """STREAM.PEER.REMOVE."""
        return self._of_stream("STREAM.PEER.REMOVE", stream)

    def stream_peer_evacuate(self, stream: str) -> str:
        """STREAM.PEER.EVACUATE (2.15)."""
        return self._of_stream("STREAM.PEER.EVACUATE", stream)

    def stream_cancel_move(self, stream: str) -> str:
        """STREAM.CANCEL_MOVE (2.15)."""
        return self._of_stream("STREAM.CANCEL_MOVE", stream)

    def stream_leader_stepdown(self, stream: str) -> str:
        """STREAM.LEADER.STEPDOWN."""
        return self._of_stream("STREAM.LEADER.STEPDOWN", stream)

    def direct_get(self, stream: str) -> str:
        """DIRECT.GET with a request as payload."""
        return self._of_stream("DIRECT.GET", stream)

    def direct_get_last(self, stream: str, subject: str) -> str:
        """DIRECT.GET of the last message of one subject; the payload stays empty."""
        return f"{self._of_stream('DIRECT.GET', stream)}.{publish_subject(subject)}"

    def consumer_create(self, stream: str, consumer: str = "", filter_subject: str = "") -> str:
        """CONSUMER.CREATE; without a consumer name the server generates one.

        A filter can only follow a name. A filter with wildcards is left out of the subject, because
        a client cannot publish to wildcards. The server takes it from the configuration anyway.
        """
        subject = self._of_stream("CONSUMER.CREATE", stream)
        if filter_subject:
            subscription_subject(filter_subject)
        if not consumer:
            return subject
        subject = f"{subject}.{consumer_name(consumer)}"
        literal = filter_subject and not {"*", ">"} & set(filter_subject.split("."))
        return f"{subject}.{filter_subject}" if literal else subject

    def consumer_durable_create(self, stream: str, consumer: str) -> str:
        """CONSUMER.DURABLE.CREATE, the older request, still served."""
        return self._of_consumer("CONSUMER.DURABLE.CREATE", stream, consumer)

    def consumer_info(self, stream: str, consumer: str) -> str:
        """CONSUMER.INFO."""
        return self._of_consumer("CONSUMER.INFO", stream, consumer)

    def consumer_delete(self, stream: str, consumer: str) -> str:
        """CONSUMER.DELETE."""
        return self._of_consumer("CONSUMER.DELETE", stream, consumer)

    def consumer_names(self, stream: str) -> str:
        """CONSUMER.NAMES."""
        return self._of_stream("CONSUMER.NAMES", stream)

    def consumer_list(self, stream: str) -> str:
        """CONSUMER.LIST."""
        return self._of_stream("CONSUMER.LIST", stream)

    def consumer_msg_next(self, stream: str, consumer: str) -> str:
        """CONSUMER.MSG.NEXT, the subject of pull requests."""
        return self._of_consumer("CONSUMER.MSG.NEXT", stream, consumer)

    def consumer_pause(self, stream: str, consumer: str) -> str:
        """CONSUMER.PAUSE (2.11)."""
        return self._of_consumer("CONSUMER.PAUSE", stream, consumer)

    def consumer_unpin(self, stream: str, consumer: str) -> str:
        """CONSUMER.UNPIN (2.11)."""
        return self._of_consumer("CONSUMER.UNPIN", stream, consumer)

    def consumer_reset(self, stream: str, consumer: str) -> str:
        """CONSUMER.RESET (2.14); the server does not answer for an unknown consumer."""
        return self._of_consumer("CONSUMER.RESET", stream, consumer)

    def consumer_leader_stepdown(self, stream: str, consumer: str) -> str:
        """CONSUMER.LEADER.STEPDOWN."""
        return self._of_consumer("CONSUMER.LEADER.STEPDOWN", stream, consumer)

    def meta_leader_stepdown(self) -> str:
        """META.LEADER.STEPDOWN, for the system account."""
        return f"{self.prefix}.META.LEADER.STEPDOWN"

    def server_remove(self) -> str:
        """SERVER.REMOVE, for the system account."""
        return f"{self.prefix}.SERVER.REMOVE"

    def server_evacuate(self) -> str:
        """SERVER.EVACUATE (2.15), for the system account."""
        return f"{self.prefix}.SERVER.EVACUATE"

    def account_purge(self, account: str) -> str:
        """ACCOUNT.PURGE, for the system account."""
        return f"{self.prefix}.ACCOUNT.PURGE.{_account(account)}"

    def account_stream_move(self, account: str, stream: str) -> str:
        """ACCOUNT.STREAM.MOVE, for the account itself and the system account."""
        return f"{self.prefix}.ACCOUNT.STREAM.MOVE.{_account(account)}.{stream_name(stream)}"

    def account_stream_cancel_move(self, account: str, stream: str) -> str:
        """ACCOUNT.STREAM.CANCEL_MOVE, for the account itself and the system account."""
        return f"{self.prefix}.ACCOUNT.STREAM.CANCEL_MOVE.{_account(account)}.{stream_name(stream)}"

    def _of_stream(self, verb: str, stream: str) -> str:
        return f"{self.prefix}.{verb}.{stream_name(stream)}"

    def _of_consumer(self, verb: str, stream: str, consumer: str) -> str:
        return f"{self._of_stream(verb, stream)}.{consumer_name(consumer)}"


def _account(account: str) -> str:
    """The name of an account as one token."""
    if not isinstance(account, str) or "." in account or not literal(account):
        raise InvalidSubject(f"expected an account of one token, got {shorten(account)}")
    return publish_subject(account)
