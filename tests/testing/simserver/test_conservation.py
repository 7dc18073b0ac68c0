"""Random clients against the model: nothing is lost, nothing is counted twice, and chance never
raises.
"""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.testing.simserver import PROFILES, SimServer

CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}\r\n'
WORDS = [b"+ACK", b"-NAK", b"+WPI", b"+NXT", b"+TERM", b'-NAK {"delay":300000000}', b"junk", b""]
PULLS = [
    {"batch": 3, "expires": 10**9},
    {"batch": 2, "no_wait": True},
    {"batch": 5, "expires": 2 * 10**9, "idle_heartbeat": 3 * 10**8},
    {"batch": 9, "max_bytes": 150, "expires": 10**9},
    {"batch": 1},
]
STEPS = st.one_of(
    st.tuples(st.just("publish"), st.integers(0, 3)),
    st.tuples(st.just("pull"), st.sampled_from(PULLS)),
    st.tuples(st.just("ack"), st.tuples(st.integers(0, 20), st.sampled_from(WORDS))),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.1, 0.7, 1.5])),
    st.tuples(st.just("reconnect"), st.booleans()),
    st.tuples(st.just("step_down"), st.none()),
    st.tuples(st.just("restart"), st.none()),
)


class World:
    def __init__(self, version):
        self.server = SimServer(version=version)
        self.now = 0.0
        self.published = 0
        self.handed = {}
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
        config = {
            "durable_name": "C",
            "ack_policy": "explicit",
            "ack_wait": 10**9,
            "max_ack_pending": 4,
        }
        self.server.request(
            "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
        )
        self.connect()

    def connect(self):
        self.cid = self.server.connect(self.now)
        self.server.receive_data(self.cid, CONNECT + b"SUB in.* 1\r\n", self.now)

    def say(self, subject, body, reply):
        self.server.receive_data(
            self.cid, b"PUB %b %b %d\r\n%b\r\n" % (subject, reply, len(body), body), self.now
        )

    def hear(self):
        for ack in re.findall(rb"\$JS\.ACK\.\S+", self.server.data_to_send(self.cid)):
            self.handed[ack] = int(ack.split(b".")[5])

    def do(self, what, how):
        if what == "publish":
            self.server.publish(f"s.{how}", b"x" * how, self.now)
            self.published += 1
        elif what == "pull":
            self.say(b"$JS.API.CONSUMER.MSG.NEXT.S.C", json.dumps(how).encode(), b"in.p")
        elif what == "ack" and self.handed:
            self.say(list(self.handed)[how[0] % len(self.handed)], how[1], b"in.a")
        elif what == "wait":
            self.now += how
            self.server.handle_tick(self.now)
        elif what == "reconnect":
            self.server.disconnect(self.cid, self.now)
            self.connect()
        elif what == "step_down":
            self.server.step_down("S", "C", self.now)
        elif what == "restart":
            self.server.kill_and_restart(self.now)
            self.connect()
        self.hear()

    def check(self):
        info = self.server.request("CONSUMER.INFO.S.C", None, self.now)
        given = info["delivered"]["stream_seq"]

        assert info["num_pending"] == self.published - given
        assert 0 <= info["num_ack_pending"] <= 4
        assert info["ack_floor"]["stream_seq"] <= given
        assert info["num_ack_pending"] <= given - info["ack_floor"]["stream_seq"]
        assert self.server.not_modelled == ()


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(PROFILES)), st.lists(STEPS, max_size=40))
def test_whatever_clients_do_the_numbers_of_a_consumer_add_up(version, steps):
    world = World(version)
    for what, how in steps:
        world.do(what, how)
        world.check()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PROFILES)), st.lists(STEPS, max_size=30))
def test_in_the_end_everything_can_be_acknowledged(version, steps):
    world = World(version)
    for what, how in steps:
        world.do(what, how)
    for _ in range(60):
        world.do("pull", {"batch": 50, "expires": 10**9})
        for ack in list(world.handed):
            world.say(ack, b"+ACK", b"in.a")
        world.hear()
        world.do("wait", 0.7)

    info = world.server.request("CONSUMER.INFO.S.C", None, world.now)
    assert (info["num_pending"], info["num_ack_pending"]) == (0, 0)
    assert info["ack_floor"]["stream_seq"] == world.published
