"""What holds in every life of a connection: links, users, clocks and cuts in any order, step by
step in a `World`.

A script is a list of plain tuples, so that the same life can be led twice: to compare, with another
clock, with other cuts, or with one operation less.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import StopMode
from tests.core.world import World

WHICH = st.integers(0, 3)
WISHES = st.sampled_from([StopMode.DRAIN, StopMode.STOP])
REFUSALS = st.sampled_from(
    [
        "Stale Connection",
        "Authorization Violation",
        "User Authentication Expired",
        'Permissions Violation for Subscription to "s.0"',
        'Permissions Violation for Publish to "svc"',
        "Some New Error",
        "maximum subscriptions exceeded",
    ]
)

#: What a user and a healthy server do while nothing is closed.
BENIGN = st.one_of(
    st.tuples(
        st.just("start_one"),
        st.sampled_from(["sub", "request", "flush", "puller"]),
        st.integers(0, 3),
    ),
    st.tuples(
        st.just("start_one"),
        st.sampled_from(["sub", "request", "flush", "puller"]),
        st.integers(0, 3),
    ),
    st.tuples(
        st.just("start_one"),
        st.sampled_from(["sub", "request", "flush", "puller"]),
        st.integers(0, 3),
    ),
    st.tuples(st.just("take"), WHICH),
    st.tuples(st.just("take"), WHICH),
    st.tuples(st.just("take"), WHICH, st.booleans()),
    st.tuples(st.just("say"), WHICH, st.integers(1, 4)),
    st.tuples(st.just("say"), WHICH, st.integers(1, 7)),
    st.tuples(st.just("answer"), WHICH),
    st.tuples(st.just("pong")),
    st.tuples(st.just("ping")),
    st.tuples(st.just("send"), st.integers(0, 30), st.integers(1, 3)),
    st.tuples(st.just("settle")),
    st.tuples(st.just("unsent"), st.sampled_from([0, 40, 100])),
    st.tuples(st.just("advance"), st.sampled_from([0.0, 0.25, 1.0, 3.0, 5.0])),
    st.tuples(st.just("close"), WHICH),
    st.tuples(st.just("tell"), WHICH, WISHES),
)
#: What the road, the server and the user do besides.
ROUGH = st.one_of(
    st.tuples(st.just("link")),
    st.tuples(st.just("link")),
    st.tuples(st.just("link")),
    st.tuples(st.just("transport")),
    st.tuples(st.just("info"), st.sampled_from([0, 8, 1000])),
    st.tuples(st.just("down")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("stray")),
    st.tuples(st.just("early")),
    st.tuples(st.just("error"), REFUSALS),
    st.tuples(
        st.just("feed"), st.sampled_from([b"MSG a b c\r\n", b"PO", b"+OK\r\n", b"nonsense\r\n"])
    ),
    st.tuples(st.just("reconnect")),
)
ENDS = st.one_of(st.tuples(st.just("close")), st.tuples(st.just("tell"), st.none(), WISHES))

LINK = ("link",)


def _joined(parts):
    return [step for part in parts for step in part]


#: A few steps before the first link, a good deal with links that come and go.
LIVES = st.tuples(
    st.lists(st.one_of(BENIGN, ROUGH), max_size=4),
    st.just([LINK]),
    st.lists(BENIGN, min_size=4, max_size=12),
    st.lists(st.one_of(BENIGN, ROUGH, ROUGH), max_size=12),
    st.just([LINK]),
    st.lists(st.one_of(BENIGN, ROUGH), max_size=12),
).map(_joined)
LIVES_AND_ENDS = st.tuples(
    LIVES, st.lists(ENDS, max_size=1), st.lists(st.one_of(BENIGN, BENIGN, ROUGH, ENDS), max_size=6)
).map(_joined)


def lived(script, **world):
    """The world after a script."""
    made = World(**world)
    for name, *arguments in script:
        getattr(made, name)(*arguments)
    return made


@settings(max_examples=300, deadline=None)
@given(LIVES_AND_ENDS, st.sampled_from([None, StopMode.DRAIN, StopMode.STOP]))
def test_every_life_keeps_its_promises_and_ends_in_time_in_every_state(script, how):
    world = lived(script)
    world.stop(how)
    for step in (
        ("send",),
        ("settle",),
        ("reconnect",),
        ("close",),
        ("advance", 100.0),
        ("tell", None, StopMode.DRAIN),
    ):
        getattr(world, step[0])(*step[1:])
    for number in range(len(world.opened)):
        world.take(number, everything=True)
        world.close(number)
        world.tell(number, StopMode.DRAIN)

    assert 0 == world.connection.conversations
    assert set() == world.waiting


@settings(max_examples=60, deadline=None)
@given(LIVES_AND_ENDS)
def test_the_same_inputs_give_the_same_outputs_byte_for_byte(script):
    assert lived(script).transcript == lived(script).transcript


@settings(max_examples=60, deadline=None)
@given(LIVES_AND_ENDS, st.sampled_from([-(2.0**20), -1.5, 2.0**24]))
def test_only_differences_of_the_clock_count_24(script, start):
    assert lived(script).transcript == lived(script, start=start).transcript


def shown(world):
    """What does not depend on how the bytes were cut: bytes out, items, ends and drops."""
    return (
        b"".join(data for _, data, _ in world.transcript),
        [world.taken.get(each) for each in world.opened],
        [(each.ended, repr(each.error), getattr(each, "dropped", 0)) for each in world.opened],
        world.connection.state,
        world.connection.next_deadline(),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(BENIGN, min_size=5, max_size=25), st.integers(1, 7))
def test_the_cuts_of_the_stream_change_nothing_1(script, cuts):
    script = [LINK, *script]

    assert shown(lived(script)) == shown(lived(script, cuts=cuts))


#: What another user of the connection may do, as steps on the second and third conversation.
OTHERS = st.lists(
    st.one_of(
        st.tuples(
            st.just("start_one"),
            st.sampled_from(["sub", "request", "flush", "puller"]),
            st.integers(0, 2),
        ),
        st.tuples(st.just("take"), st.integers(1, 3)),
        st.tuples(st.just("close"), st.integers(1, 3)),
        st.tuples(st.just("tell"), st.integers(1, 3), WISHES),
        st.tuples(st.just("answer"), WHICH),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(OTHERS, min_size=3, max_size=3), st.sampled_from(["sub", "puller"]))
def test_what_one_does_never_depends_on_what_becomes_of_another_59(others, kind):
    def one(between):
        world = World()
        world.link()
        first = world.start_one(kind)
        sid = first.port.sid
        for number, steps in enumerate(between):
            for name, *arguments in steps:
                if len(world.opened) > 3 or name == "start_one":
                    getattr(world, name)(*arguments)
            if sid in world.peer.subs:
                world.feed(world.peer.message(sid, b"%d" % number, "subject"))
            world.take(0)
            world.take(0)
        world.close(0)
        return world.taken.get(first), first.ended, repr(first.error)

    assert one([[], [], []]) == one(others)
