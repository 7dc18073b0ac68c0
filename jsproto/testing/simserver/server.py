"""The model server: the root that owns the time, the connections and JetStream.

Bytes and ticks in, bytes out; nothing happens by itself. Every input first lets the server live
through its own deadlines up to that moment, one after the other and each at its own time, so it
makes no difference how often or how late it is ticked. The same inputs give the same bytes; ids
come from ``seed``.

What is stored survives :meth:`SimServer.kill` and :meth:`SimServer.start` as a file store with its
last write on disk would keep it: file streams with their duplicates' memory, their consumers with
what is delivered and acknowledged; memory streams and memory consumers are gone, and so is every
waiting pull and every connection.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from typing import Final

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.testing.simserver.account.api import Api
from jsproto.testing.simserver.account.disk import Image
from jsproto.testing.simserver.account.jetstream import API_PREFIX, SimJetStream
from jsproto.testing.simserver.account.routing import InterestRouter, Lottery, SimSubscription
from jsproto.testing.simserver.consumers.acks import Mistaken
from jsproto.testing.simserver.session import ClientPermissions, Login, Session
from jsproto.testing.simserver.values.documents import Table, read, table
from jsproto.testing.simserver.values.gotime import (
    MILLISECOND,
    SECOND,
    earlier,
    to_nanos,
    to_seconds,
)
from jsproto.testing.simserver.values.profile import profile_of
from jsproto.wire.client_commands import MAX_CONTROL_LINE, MAX_PAYLOAD, ClientCommandParser, PubLine

#: Between the last word of a graceful stop and the end of the streams.
_STOP_DELAY: Final = 50 * MILLISECOND
_PORT: Final = 4222
#: Questions that are answered with everything there is of something.
_LISTINGS: Final = tuple(
    f"{API_PREFIX}{verb}"
    for verb in ("INFO", "STREAM.NAMES", "STREAM.LIST", "CONSUMER.NAMES.", "CONSUMER.LIST.")
)
#: No deadline is as late as this.
_NEVER: Final = 1 << 80
#: Of so many connections whose client has gone the last words can still be read.
_MOST_LEFT: Final = 64


class SimServer:
    """A nats-server with JetStream, as a pure state machine.

    Args:
        version: which server to be, ``2.9`` to ``2.15``.
        seed: source of every id and choice.
        now: virtual seconds at the start.
        name: ``server_name``.
        auth: who may come in; ``None``: everybody.
        auth_timeout: seconds within which a client must introduce itself, if ``auth`` is set.
        permissions: what clients may do.
        jetstream: ``False``: a server without JetStream.
        domain: JetStream domain.
        ack_v2: acknowledgement subjects of 11 tokens (feature flag ``js_ack_fc_v2``, 2.14 and
            later).
        max_payload: largest header block plus payload, announced and enforced.
        max_control_line: most bytes of a line of a client, with subject and reply; enforced and not
            announced, as by a real server.
        max_connections: further clients are refused; 0: no limit.
        max_subs: subscriptions per client; 0: no limit.
        ping_interval: seconds between the server's PINGs.
        ping_max: unanswered PINGs before the server hangs up.
        connect_urls: gossip in INFO.

    Raises:
        InvalidConfig: the version is not modelled.
    """

    def __init__(
        self,
        *,
        version: str = "2.15.1",
        seed: int = 0,
        now: float = 0.0,
        name: str = "sim",
        auth: Login | None = None,
        auth_timeout: float = 2.0,
        permissions: ClientPermissions | None = None,
        jetstream: bool = True,
        domain: str = "",
        ack_v2: bool = False,
        max_payload: int = MAX_PAYLOAD,
        max_control_line: int = MAX_CONTROL_LINE,
        max_connections: int = 0,
        max_subs: int = 0,
        ping_interval: float = 120.0,
        ping_max: int = 2,
        connect_urls: tuple[str, ...] = (),
    ) -> None:
        self.profile = profile_of(version)
        self.name = name
        self.auth = auth
        self.auth_timeout = round(auth_timeout * SECOND)
        self.permissions = permissions if permissions is not None else ClientPermissions()
        self.max_payload = max_payload
        self._max_control_line = max_control_line
        self.max_subs = max_subs
        self.ping_interval = round(ping_interval * SECOND)
        self.ping_max = ping_max
        self.connect_urls = connect_urls
        self._max_connections = max_connections
        self._now = to_nanos(now)
        self._lottery = Lottery(seed)
        self._server_id = self._lottery.key("N")
        self._xkey = self._lottery.key("X")
        self._router = InterestRouter(self.profile, self._lottery)
        self._jetstream = SimJetStream(
            self.profile, self._router, self._lottery, domain=domain, v2=ack_v2
        )
        self._api = Api(self._jetstream, name)
        self._has_jetstream = jetstream
        self._sessions: dict[int, Session] = {}
        #: Connections whose client has gone, oldest first: they can be asked about for a while.
        self._left: deque[int] = deque()
        self._live: dict[int, Session] = {}
        self._next_cid = 1
        #: What somebody else says where a client waits for a listing of the API, ``None`` if nobody
        #: does.
        self.usurper: bytes | None = None
        self._up = True
        self._lame_duck = False
        #: When the streams end: of all at once, or one after the other.
        self._halt_at: int | None = None
        #: The next deadline; ``None``: something has happened since anybody looked.
        self._due_at: int | None = None

    # ------------------------------------------------------------------------------------------------ inputs

    def connect(self, now: float) -> int:
        """A client has connected; answers its number. A server that is down refuses: the connection
        is closed at once.
        """
        at = self._live_until(now)
        cid = self._next_cid
        self._next_cid += 1
        reader = ClientCommandParser(
            max_payload=self.max_payload, max_control_line=self._max_control_line
        )
        session = Session(cid, self, reader, at)
        self._sessions[cid] = session
        if not self._up or self._lame_duck:
            session.data_to_send()
            session.gone()
        elif 0 < self._max_connections <= len(self._live):
            session.fail("maximum connections exceeded")
        else:
            self._live[cid] = session
        return cid

    def receive_data(self, cid: int, data: bytes, now: float) -> None:
        """Bytes of a client have arrived."""
        at = self._passed(now)
        session = self._session(cid)
        if session.received(data, at):
            self._due_at = None
        if session.closed:
            self._live.pop(cid, None)

    def disconnect(self, cid: int, now: float) -> None:
        """The client has gone, or its link was cut. Its pulls stay: nobody tells the consumers."""
        self._live_until(now)
        self._session(cid).gone()
        self._live.pop(cid, None)
        self._left.append(cid)
        if len(self._left) > _MOST_LEFT:
            self._sessions.pop(self._left.popleft(), None)

    def handle_tick(self, now: float) -> None:
        """Time has passed. Early and spurious calls are harmless."""
        self._passed(now)

    # ------------------------------------------------------------------------------------------------ outputs

    def data_to_send(self, cid: int) -> bytes:
        """What the server has written to this client since the last call."""
        return self._session(cid).data_to_send()

    def collect(self, cid: int) -> tuple[bytes, bool]:
        """Both in one: what has been written to this client since, and whether its connection is
        over.
        """
        session = self._session(cid)
        return session.data_to_send(), session.closed

    def closed(self, cid: int) -> bool:
        """Whether this connection is over. What was written before the end can still be collected."""
        return self._session(cid).closed

    def close_reason(self, cid: int) -> str:
        """The -ERR text with which the server hung up, ``""`` if it did so silently or not at all."""
        return self._session(cid).reason

    def next_deadline(self) -> float | None:
        """The next moment at which `handle_tick` has something to do."""
        at = self._due()
        return to_seconds(at) if at < _NEVER else None

    @property
    def up(self) -> bool:
        """Whether it runs."""
        return self._up

    @property
    def connections(self) -> tuple[int, ...]:
        """The clients that are connected."""
        return tuple(self._live)

    def destination(self, subject: str) -> tuple[str, int]:
        """The stream that a publish on ``subject`` goes to, and the sequence that it would get;
        ``""`` and 0 if none.
        """
        stream = self._jetstream.reaches(subject) if self._has_jetstream else None
        return (stream.name, stream.last + 1) if stream is not None else ("", 0)

    @property
    def jetstream(self) -> SimJetStream:
        """The truth: streams and consumers as they are. To look at; nothing is told to anybody if
        it is changed.
        """
        return self._jetstream

    def subscriptions(self, cid: int) -> int:
        """How many subscriptions this connection has."""
        return len(self._session(cid).subs)

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What was asked for and is beyond the model; each was refused with code 501."""
        return tuple(self._jetstream.not_modelled)

    @property
    def mistaken(self) -> tuple[Mistaken, ...]:
        """What was settled by an acknowledgement of another message that bore its sequence before;
        a real server does not notice.
        """
        return tuple(self._jetstream.mistaken)

    # ------------------------------------------------------------------------------------------------ from the side

    def request(self, subject: str, body: Table | None, now: float) -> Table:
        """A JSON API request from the side, as another client would make it; ``subject`` without
        ``$JS.API.``.

        Raises:
            LocalProtocolError: the server would not have answered.
        """
        at = self._live_until(now)
        payload = b"" if body is None else json.dumps(body).encode()
        answer = self._api.answer(API_PREFIX + subject, None, payload, at) if self._up else None
        if answer is None:
            raise LocalProtocolError(
                f"expected an API request that is answered, got {shorten(subject)}"
            )
        return table(read(answer.body))

    def publish(
        self, subject: str, payload: bytes, now: float, *, block: bytes | None = None
    ) -> None:
        """A message from the side, as another client would publish it, without waiting for an
        acknowledgement.
        """
        at = self._live_until(now)
        if self._up:
            self.published(None, PubLine(subject, "", block, payload), at)

    def publish_run(
        self, subject: str, payloads: Iterable[bytes], now: float, *, block: bytes | None = None
    ) -> None:
        """Several messages from the side at one moment, each with this header block."""
        at = self._live_until(now)
        if not self._up:
            return
        if block is None and self._has_jetstream and not self._router.interested(subject):
            self._jetstream.accept_run(self._local(subject), payloads, at)
            return
        for payload in payloads:
            self.published(None, PubLine(subject, "", block, payload), at)

    # ------------------------------------------------------------------------------------------------ faults

    def step_down(self, stream: str, consumer: str, now: float) -> None:
        """The leader of a consumer moves: its waiting pulls end with 409 Leadership Change, one for
        each inbox.

        Raises:
            LocalProtocolError: there is no such consumer.
        """
        self._live_until(now)
        found = self._jetstream.consumers.get(stream, {}).get(consumer)
        if found is None:
            raise LocalProtocolError(
                f"expected a consumer of the model, got {shorten(f'{stream} > {consumer}')}"
            )
        found.led_elsewhere()
        self._jetstream.refresh(self._jetstream.streams[stream])

    def shutdown(self, now: float) -> None:
        """A graceful stop: waiting pulls hear 409 Server Shutdown, and if there were any, the
        streams end 50 ms later.
        """
        at = self._live_until(now)
        if self._jetstream.stopped():
            self._halt_at = at + _STOP_DELAY
        else:
            self._halt()

    def lame_duck(self, now: float, *, grace: float = 10.0) -> None:
        """The server wants to be left: INFO says so, new clients are refused, the streams end after
        ``grace`` seconds.
        """
        at = self._live_until(now)
        self._lame_duck = True
        if not self.profile.serves_as_lame_duck:
            self._jetstream.serving = False
            for consumers in self._jetstream.consumers.values():
                for consumer in consumers.values():
                    consumer.forsaken()
        for session in self._live.values():
            session.inform()
        self._halt_at = at + round(grace * SECOND)

    def kill(self, now: float) -> None:
        """SIGKILL: every connection ends without a word. `start` brings back what a file store
        keeps.
        """
        self._live_until(now)
        self._halt()

    def image(self, now: float, *, consumers_only: bool = False) -> Image:
        """What the disk holds at this moment, if everything written is on it; see
        `jsproto.testing.simserver.account.disk`.
        """
        self._live_until(now)
        return Image(self._jetstream, consumers_only=consumers_only)

    def lose(self, image: Image, now: float) -> None:
        """SIGKILL, or the power fails, and the disk holds what it held at an earlier moment. An
        image is good for one loss.
        """
        at = self._live_until(now)
        self._halt()
        image.restore(self._jetstream, at)

    def fill_disk(self, now: float, *, full: bool = True) -> None:
        """The disk is full, or has room again: meanwhile each publish is refused with 10077."""
        self._live_until(now)
        self._jetstream.disk_full = full

    def start(self, now: float) -> None:
        """Start again after `kill`, `shutdown` or a lame duck's end; harmless while the server is
        up.

        The same store and the same name, a new server id.
        """
        at = self._live_until(now)
        if self._up and self._halt_at is None and not self._lame_duck:
            return
        self._halt()
        self._up, self._lame_duck = True, False
        self._server_id = self._lottery.key("N")
        self._jetstream.restarted(at)

    def kill_and_restart(self, now: float) -> None:
        """`kill` and `start` in the same moment."""
        self.kill(now)
        self.start(now)

    # ------------------------------------------------------------------------------------------------ for sessions

    def info(self, session: Session, *, after_connect: bool) -> bytes:
        """The INFO line for this session (nats-server ``Info``)."""
        profile = self.profile
        members: Table = {
            "server_id": self._server_id,
            "server_name": self.name,
            "version": profile.version,
            "proto": 1,
        }
        if profile.git_commit:
            members["git_commit"] = profile.git_commit
        members.update({"go": profile.go, "host": "127.0.0.1", "port": _PORT, "headers": True})
        if self.auth is not None:
            members["auth_required"] = True
        members["max_payload"] = self.max_payload
        if self._has_jetstream:
            members["jetstream"] = True
        members.update({"client_id": session.cid, "client_ip": "127.0.0.1"})
        if self._jetstream.domain:
            members["domain"] = self._jetstream.domain
        if self.connect_urls:
            members["connect_urls"] = list(self.connect_urls)
        if self._lame_duck:
            members["ldm"] = True
        if after_connect:
            members.update({"connect_info": True, "remote_account": "$G"})
        if profile.level_in_info:
            members["api_lvl"] = profile.api_level
        if profile.xkey:
            members["xkey"] = self._xkey
        return b"INFO " + json.dumps(members, separators=(",", ":")).encode() + b" \r\n"

    def jitter(self, spread: int) -> int:
        """A number below ``spread``."""
        return self._lottery.below(spread)

    def subscribed(self, sub: SimSubscription) -> None:
        """New interest."""
        self._router.interest.add(sub)
        self._jetstream.interest_changed(sub.subject, self._now)

    def unsubscribed(self, sub: SimSubscription) -> None:
        """Interest has ended."""
        self._router.interest.remove(sub)
        self._jetstream.interest_changed(sub.subject, self._now)

    def published(self, session: Session | None, command: PubLine, now: int) -> bool:
        """A message that passed the checks of its session, or came from the side; answers whether
        anybody listened.
        """
        subject, reply, block, payload = command
        reached = self._router.publish(session, subject, reply, block, payload)
        if self._has_jetstream:
            if self._jetstream.domain:
                subject = self._local(subject)
            reached |= self._jetstream.accept(subject, reply, block, payload, now)
            if reply and subject.startswith(API_PREFIX):
                answer = self._api.answer(subject, block, payload, now)
                if (
                    answer is not None
                    and self.usurper is not None
                    and subject.startswith(_LISTINGS)
                ):
                    self._router.say(reply, None, self.usurper)
                elif answer is not None:
                    self._router.answer(reply, answer.body, two_blanks=answer.two_blanks)
        return reached

    def _local(self, subject: str) -> str:
        """``$JS.<domain>.API.`` is the API of this server if the domain is its own."""
        domain = self._jetstream.domain
        prefix = f"$JS.{domain}.API."
        return (
            API_PREFIX + subject[len(prefix) :]
            if domain and subject.startswith(prefix)
            else subject
        )

    # ------------------------------------------------------------------------------------------------ time

    def _live_until(self, now: float) -> int:
        """The same as `_passed`, for whoever then changes something."""
        until = self._passed(now)
        self._due_at = None
        return until

    def _passed(self, now: float) -> int:
        """Live through every deadline up to ``now``; time never runs backwards."""
        until = max(self._now, to_nanos(now))
        while (at := self._due()) <= until:
            self._now = max(self._now, at)
            self._due_at = None
            self._tick(self._now)
        self._now = until
        return until

    def _due(self) -> int:
        """The next deadline; found out anew only when something has happened since."""
        if self._due_at is None:
            at = earlier(self._halt_at, self._jetstream.deadline() if self._up else None)
            for session in self._live.values():
                at = earlier(at, session.deadline())
            self._due_at = _NEVER if at is None else at
        return self._due_at

    def _tick(self, now: int) -> None:
        if self._halt_at is not None and self._halt_at <= now:
            self._halt()
            return
        self._jetstream.ticked(now)
        for cid, session in list(self._live.items()):
            due = session.deadline()
            if due is not None and due <= now:
                session.ticked(now)
            if session.closed:
                self._live.pop(cid, None)

    def _halt(self) -> None:
        self._up = False
        self._halt_at = None
        for session in self._live.values():
            session.gone()
        self._live.clear()

    def _session(self, cid: int) -> Session:
        session = self._sessions.get(cid)
        if session is None:
            raise LocalProtocolError(
                f"expected a connection of the model (1 to {self._next_cid - 1}, not long gone), got {cid!r}"
            )
        return session
