"""The stored messages of a stream: get one, get many, delete."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, final

from attrs import frozen

from jsproto.core.conversation.procedure import Procedure
from jsproto.jetstream.api.config.settings import seconds_of
from jsproto.jetstream.api.requests import messages
from jsproto.jetstream.api.requests.maintenance import sequence
from jsproto.jetstream.api.requests.messages import MessageSelector, StoredMessage
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.stored.direct_batch import PAGE, PAGE_BYTES, BatchOptions, DirectBatch

if TYPE_CHECKING:
    from jsproto.jetstream.context.stream import Stream  # noqa: TC004 - never resolved


@final
@frozen(kw_only=True)
class StoredMessages:
    """The messages of a stream, read and deleted by sequence, subject or time.

    To process the messages of a stream, use a consumer instead.

    ``no_headers`` omits the stored headers (2.12; older servers send them, and the client drops
    them). It uses the API, not a direct get: that would return the payload without subject,
    sequence and time.

    Attributes:
        stream: the stream.
        direct: whether to use direct gets. Any replica answers them, so they are cheaper, but a
            replica can lag a little. The stream must allow them. A stream handle sets this by
            itself if it knows the configuration.
    """

    stream: Stream
    direct: bool = False

    def by_seq(
        self,
        seq: int,
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Procedure[StoredMessage]:
        """Get the message with a sequence.

        Raises:
            MessageNotFound: no such message, or it was deleted.
            NoResponders: the stream does not allow direct gets.
            InvalidConfig: an invalid sequence, or ``no_headers`` together with ``direct``.
        """
        return self._one(MessageSelector(seq=seq), direct, timeout, no_headers=no_headers)

    def last(
        self,
        subject: str,
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Procedure[StoredMessage]:
        """Get the last message of a subject, or of all subjects that match.

        Raises:
            MessageNotFound: no such message.
            NoResponders: the stream does not allow direct gets.
            InvalidSubject: the subject is invalid.
            InvalidConfig: ``no_headers`` together with ``direct``.
        """
        return self._one(
            MessageSelector(last_by_subj=subject), direct, timeout, no_headers=no_headers
        )

    def next(
        self,
        subject: str = ">",
        *,
        seq: int = 1,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Procedure[StoredMessage]:
        """Get the first message from a sequence on, of the subjects that match.

        Raises:
            MessageNotFound: no such message.
            NoResponders: the stream does not allow direct gets.
            InvalidSubject: the subject is invalid.
            InvalidConfig: an invalid sequence, or ``no_headers`` together with ``direct``.
        """
        return self._one(
            MessageSelector(next_by_subj=subject, seq=seq), direct, timeout, no_headers=no_headers
        )

    def since(
        self,
        start_time: datetime | Timestamp,
        subject: str = ">",
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Procedure[StoredMessage]:
        """Get the first message stored at a time or later, of the subjects that match (2.11).

        Raises:
            MessageNotFound: no such message.
            NoResponders: the stream does not allow direct gets.
            InvalidResponse: the server does not know a start time (before 2.11).
            InvalidSubject: the subject is invalid.
            InvalidConfig: a ``datetime`` without a time zone, or ``no_headers`` with ``direct``.
        """
        return self._one(
            MessageSelector(next_by_subj=subject, start_time=start_time),
            direct,
            timeout,
            no_headers=no_headers,
        )

    def batch(
        self,
        *,
        seq: int | None = None,
        start_time: datetime | Timestamp | None = None,
        subject: str = "",
        limit: int = 0,
        page: int = PAGE,
        page_bytes: int = PAGE_BYTES,
        timeout: float | timedelta | None = None,
    ) -> DirectBatch:
        """Get many messages by direct gets, page by page: a feed that ends (ADR-31).

        It ends when no message is pending. The stream must allow direct gets. From servers before
        2.11 the client gets one message at a time.

        Args:
            seq: the first sequence.
            start_time: the earliest time (2.11); excludes ``seq``.
            subject: only subjects that match.
            limit: the most messages in total, 0 for no limit.
            page: the most messages of one page.
            page_bytes: the most bytes of one page, as the server counts them.
            timeout: seconds to wait for the next frame of the server.

        Raises:
            NoResponders: the stream does not exist, or does not allow direct gets.
            RequestTimeout: the server fell silent; messages that came before are returned first.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        return self._many(
            BatchOptions(
                seq=seq,
                start_time=start_time,
                next_by_subj=subject,
                limit=limit,
                page=page,
                page_bytes=page_bytes,
                timeout=seconds_of(timeout, self.stream.js.timeout),
            )
        )

    def last_of(
        self,
        subjects: Sequence[str],
        *,
        seq: int | None = None,
        up_to_seq: int | None = None,
        up_to_time: datetime | Timestamp | None = None,
        limit: int = 0,
        page: int = PAGE,
        page_bytes: int = PAGE_BYTES,
        timeout: float | timedelta | None = None,
    ) -> DirectBatch:
        """Get the last message of each subject that matches, now or at an earlier point: a feed.

        The messages come in the order of their sequences. The server answers for at most 1024
        subjects. From servers before 2.11 the client gets each subject separately.

        Args:
            subjects: subjects, with or without wildcards.
            seq: the first sequence.
            up_to_seq: answer as if this were the stream's last sequence (2.11).
            up_to_time: answer as of this time (2.11); excludes ``up_to_seq``.
            limit: the most messages in total, 0 for no limit.
            page: the most messages of one page.
            page_bytes: the most bytes of one page, as the server counts them.
            timeout: seconds to wait for the next frame of the server.

        Raises:
            TooManyResults: more subjects match than the server answers for; an ordered consumer can
                read them all.
            NoResponders: the stream does not exist, or does not allow direct gets.
            RequestTimeout: the server fell silent; messages that came before are returned first.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        return self._many(
            BatchOptions(
                multi_last=subjects,
                seq=seq,
                up_to_seq=up_to_seq,
                up_to_time=up_to_time,
                limit=limit,
                page=page,
                page_bytes=page_bytes,
                timeout=seconds_of(timeout, self.stream.js.timeout),
            )
        )

    def delete(
        self, seq: int, *, erase: bool = False, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Delete a message.

        Args:
            seq: its sequence.
            erase: also overwrite its bytes in the store, which takes longer.
            timeout: seconds.

        Raises:
            MessageNotFound: no such message.
            NotAllowed: the stream does not allow it, or is sealed.
            InvalidConfig: an invalid sequence.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        sequence("seq", seq)
        return Procedure(
            lambda: messages.delete_message(
                js.api, self.stream.name, seq, erase=erase, timeout=seconds
            )
        )

    def _one(
        self,
        which: MessageSelector,
        direct: bool | None,
        timeout: float | timedelta | None,
        *,
        no_headers: bool,
    ) -> Procedure[StoredMessage]:
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        messages.headerless(direct=direct, no_headers=no_headers)
        anyone = (self.direct and not no_headers) if direct is None else direct
        return Procedure(
            lambda: messages.stored_message(
                js.api,
                self.stream.name,
                which,
                direct=anyone,
                no_headers=no_headers,
                timeout=seconds,
            )
        )

    def _many(self, options: BatchOptions) -> DirectBatch:
        return DirectBatch(self.stream.js.api, self.stream.name, options)
