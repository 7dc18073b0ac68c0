"""What was wished of a link holds on every link: TLS and who we are, over random scripts of links,
gossip and lies (invariant 33 in ``spec/invariants.toml``).

A script is a list of links, each with what its server claims and how far it comes. Judged is what
leaves: no byte of a secret before TLS stands where it was asked for, no server that was named in
clear there, a decision that depends on nothing but the wish and the INFO, be it the first link or
the tenth, and an answer to no nonce but that of its own INFO.
"""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Authenticate, Connected, Dial, Upgrade
from jsproto.core.connection.link import LinkState
from jsproto.core.connection.options import Options, Tls

CANARY = b"cAnAry"
#: What configured servers look like; user info is inherited by those that are learned.
URLS = [
    f"{scheme}://{host}"
    for scheme in ("nats", "tls", "ws", "wss")
    for host in ("u:cAnAry@a:1", "b:2", "cAnAry@c:3")
]
#: What a server claims, truly or not.
CLAIMS = st.fixed_dictionaries(
    {},
    optional={
        "tls_required": st.booleans(),
        "tls_available": st.booleans(),
        "auth_required": st.booleans(),
        "ldm": st.booleans(),
        "connect_urls": st.lists(st.sampled_from(["x:7", "y:8", "10.0.0.9:9", "a:1"]), max_size=3),
    },
)
#: How far a link comes, and what the road does to it.
STEPS = st.sampled_from(
    ["refused", "silent", "cut", "cut in TLS", "early words", "lied to", "up", "up"]
)
LINKS = st.lists(st.tuples(CLAIMS, STEPS), min_size=1, max_size=8)


class Life:
    """One connection, and everything that a listener on the road would hear."""

    def __init__(self, urls, tls, *, asks):
        self.tls = tls
        self.asks = asks
        auth = None if asks else Auth(token="cAnAry")
        self.connection = Connection(
            Options(
                servers=urls,
                tls=tls,
                auth=auth,
                ask_for_credentials=asks,
                randomize=False,
                reconnect_jitter=0.0,
                reconnect_jitter_tls=0.0,
                connect_sweeps=None,
            ),
            entropy=bytes,
            now=0.0,
        )
        self.now = 0.0
        self.nonces = 0
        self.decided = {}
        self.told = {
            "10.0.0.9"
        }  # an address shows the certificate of who was configured, whoever told of it
        self.configured = self.connection.servers

    def events(self):
        return list(iter(self.connection.next_event, None))

    def asked_for(self, server):
        """Whether nothing may be said in clear to this server."""
        return self.tls in {Tls.REQUIRED, Tls.FIRST} or server.tls

    def clear(self, server):
        """What leaves while there is no TLS."""
        data = self.connection.data_to_send()
        if self.asked_for(server):
            assert data == b""

    def dial(self):
        events = self.events()
        while not any(isinstance(each, Dial) for each in events):
            due = self.connection.next_deadline()
            self.now = max(self.now, due)
            self.connection.handle_tick(self.now)
            events += self.events()
        return next(each for each in reversed(events) if isinstance(each, Dial))

    def link(self, claims, step):
        dial = self.dial()
        server, secure = dial.server, dial.secure
        if server.gossiped:  # it is as safe as the safest of its kind that was configured
            kin = [each for each in self.configured if each.web is server.web] or self.configured
            assert server.tls or not any(each.tls for each in kin)
            assert not self.asked_for(server) or server.host in self.told
        self.clear(server)
        if step == "refused":
            self.connection.transport_down(OSError("refused"), self.now)
            return
        if secure and step == "cut in TLS":
            self.connection.transport_down(OSError("cut"), self.now)
            return
        self.connection.transport_up(self.now)
        if not secure:
            self.clear(server)
        if step == "silent":
            self.wait_it_out(server, secure=secure)
            return
        self.nonces += 1
        nonce = f"n{self.nonces}"
        told = {"max_payload": 1000, "nonce": nonce, **claims}
        if secure:
            self.told.update(url.partition(":")[0] for url in claims.get("connect_urls", ()))
        line = b"INFO " + json.dumps(told).encode() + b"\r\n"
        self.connection.receive_data(
            line + (b"PING\r\n" if step == "early words" else b""), self.now
        )
        events = self.events()
        upgrade = any(isinstance(each, Upgrade) for each in events)
        self.decide(
            server, secure=secure, claims=claims, early=step == "early words", upgrade=upgrade
        )
        if upgrade:
            self.clear(server)
            if step in {"cut in TLS", "lied to"}:
                self.connection.transport_down(OSError("cut"), self.now)
                return
            self.connection.transport_up(self.now)
            secure = True
            events += self.events()
        self.introduce(events, server, nonce, secure=secure)
        self.end(step)

    def wait_it_out(self, server, *, secure):
        self.now += 2.0
        self.connection.handle_tick(self.now)
        if not secure:
            self.clear(server)

    def decide(self, server, *, secure, claims, early, upgrade):
        """The same wish and the same claims lead to the same, on the first link and on each later
        one.
        """
        state = self.connection.state
        if early and (upgrade or state in {LinkState.WAITING, LinkState.DIALING}):
            return  # words between INFO and TLS end it
        offer = (bool(claims.get("tls_required")), bool(claims.get("tls_available")))
        case = (server.scheme, secure, offer)
        outcome = (upgrade, state in {LinkState.WAITING, LinkState.DIALING})

        assert outcome == self.decided.setdefault(case, outcome)

    def introduce(self, events, server, nonce, *, secure):
        for each in events:
            if isinstance(each, Authenticate):
                assert each.nonce == nonce

                for old in ("n0", nonce):  # one that comes too late, then the right one
                    self.connection.authenticate(Auth(token=f"cAnAry-{old}", nonce=old), self.now)
        said = self.connection.data_to_send()
        if not secure and self.asked_for(server):
            assert said == b""
        if b"CONNECT" in said:
            connect = json.loads(said.partition(b"CONNECT ")[2].partition(b"\r\n")[0])

            assert connect["tls_required"] is secure
            assert not self.asks or connect.get("auth_token") == f"cAnAry-{nonce}"
            assert self.asks or connect.get("auth_token") == "cAnAry"

    def end(self, step):
        if step == "up" and self.connection.state is LinkState.CHECKING:
            self.connection.receive_data(b"PONG\r\n", self.now)

            assert any(isinstance(each, Connected) for each in self.events())
        if self.connection.state not in {LinkState.WAITING, LinkState.DIALING}:
            self.connection.transport_down(None, self.now)
        self.connection.data_to_send()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(URLS), min_size=1, max_size=3, unique=True),
    st.sampled_from(list(Tls)),
    st.booleans(),
    LINKS,
)
@example(["tls://u:cAnAry@a:1"], Tls.IF_ASKED, False, [({"tls_required": True}, "up"), ({}, "up")])
@example(
    ["nats://b:2"],
    Tls.REQUIRED,
    True,
    [({"connect_urls": ["x:7"], "tls_available": True}, "up")] * 4,
)
def test_what_was_wished_of_a_link_holds_on_every_link_33(urls, tls, asks, links):
    life = Life(urls, tls, asks=asks)
    for claims, step in links:
        life.link(claims, step)
