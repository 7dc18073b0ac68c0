"""The messages that a stream holds: one by one, many at once, and gone."""

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
    from jsproto.jetstream.context.stream import Stream  # noqa: TC004 - nobody resolves the field's type


@final
@frozen(kw_only=True)
class StoredMessages:
    """The messages of a stream, read and deleted by the API; to work them off, use a consumer.

    ``no_headers`` leaves the stored headers out of an answer (2.12; older servers send them, and
    they are left out here). The API is asked then: a direct get would answer the payload alone,
    without subject, sequence and time.

    Attributes:
        stream: whose.
        direct: whether to ask any replica, which is cheaper and can be a little behind; the stream
            must allow it. The stream's handle knows, if it has asked the server.
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
        """The message of a sequence.

        Raises:
            MessageNotFound: there is none, or it was deleted.
            NoResponders: direct gets are not allowed.
            InvalidConfig: a sequence that is none, or ``no_headers`` beside ``direct``.
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
        """The last message of a subject, or of all subjects that match.

        Raises:
            MessageNotFound: there is none.
            NoResponders: direct gets are not allowed.
            InvalidSubject: it is none.
            InvalidConfig: ``no_headers`` beside ``direct``.
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
        """The first message of the subjects that match, at or behind a sequence.

        Raises:
            MessageNotFound: there is none.
            NoResponders: direct gets are not allowed.
            InvalidSubject: it is none.
            InvalidConfig: a sequence that is none, or ``no_headers`` beside ``direct``.
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
        """The first message of the subjects that match, stored at an instant or after it (2.11).

        Raises:
            MessageNotFound: there is none.
            NoResponders: direct gets are not allowed.
            InvalidResponse: the server is too old to know a start time.
            InvalidSubject: it is none.
            InvalidConfig: a ``datetime`` without a time zone, or ``no_headers`` beside ``direct``.
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
        """Many messages by direct gets, page after page until nothing is pending: a feed with an
        end (ADR-31).

        The stream must allow direct gets. Servers before 2.11 are asked for one message at a time.

        Args:
            seq: from this sequence on.
            start_time: from this instant on (2.11); excludes ``seq``.
            subject: only subjects that match.
            limit: end after so many messages, 0 for none.
            page: the most messages of one answer.
            page_bytes: the most bytes of one answer, as the server counts them.
            timeout: seconds within which the server must say something.

        Raises:
            NoResponders: no such stream, or direct gets are not allowed.
            RequestTimeout: the server fell silent; what came before is handed out first.
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
        """The last message of each subject that matches, as the stream is now or was: a feed in the
        order of sequences.

        The server answers for at most 1024 subjects. Servers before 2.11 are asked for each subject
        by itself.

        Args:
            subjects: subjects, with wildcards or without.
            seq: only messages from this sequence on.
            up_to_seq: as if this were the stream's last sequence (2.11).
            up_to_time: as the stream was at an instant (2.11); excludes ``up_to_seq``.
            limit: end after so many messages, 0 for none.
            page: the most messages of one answer.
            page_bytes: the most bytes of one answer, as the server counts them.
            timeout: seconds within which the server must say something.

        Raises:
            TooManyResults: more subjects match than the server answers for; an ordered consumer
                reads them all.
            NoResponders: no such stream, or direct gets are not allowed.
            RequestTimeout: the server fell silent; what came before is handed out first.
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
            SequenceNotFound: no such message.
            Refused: the stream denies it, or is sealed.
            InvalidConfig: a sequence that is none.
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
