"""The driver against a connection that says what the test wants."""

from __future__ import annotations

from collections import deque

import pytest

from jsproto import Connection, Options
from jsproto.core.connection.events import (
    Authenticate,
    Closed,
    Connected,
    Dial,
    Disconnected,
    HangUp,
    LameDuck,
    Notice,
    NoticeKind,
    Ready,
    Upgrade,
)
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation, Stage
from jsproto.driver import MAX_UNHEARD, Driver, WaitSlot, seat_of
from jsproto.errors import (
    AuthorizationFailed,
    BusyConversation,
    ConnectionClosed,
    ConversationClosed,
    InvalidConfig,
)
from jsproto.errors import ConnectionLost as LinkLost
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.frames import Info

SERVER = Server(host="a")
CONNECTED = Connected(Info(), resumed=False)


class Scripted:
    """Stands in for the connection: says the events put into it, and notes what it is asked."""

    def __init__(self) -> None:
        self.events: deque[object] = deque()
        self.asked: list[tuple[object, ...]] = []
        self.refuses = False

    def next_event(self):
        return self.events.popleft() if self.events else None

    def open(self, conversation, now):
        if self.refuses:
            raise ConversationClosed("closed")
        self.asked.append(("open", conversation, now))

    def take(self, conversation, now):
        self.asked.append(("take", conversation, now))
        return "item"

    def take_all(self, conversation, now):
        self.asked.append(("take_all", conversation, now))
        return ["item"]

    def put(self, conversation, item, now):
        self.asked.append(("put", conversation, item, now))
        return False


@pytest.fixture
def connection():
    return Scripted()


@pytest.fixture
def driver(connection):
    return Driver(connection, client="me")


@pytest.fixture
def conversation(driver):
    opened: Conversation[object] = Conversation()
    driver.open(opened, 1.0)
    return opened


# ---------------------------------------------------------------------------------------------- verbs


def test_an_opened_conversation_has_a_seat_that_knows_the_client(driver, connection, conversation):
    seat = seat_of(conversation)

    assert seat.client == "me"
    assert (seat.taker, seat.putter) == (None, None)
    assert connection.asked == [("open", conversation, 1.0)]


@pytest.mark.parametrize(("given", "seen"), [("A", "the text 'A'"), (5, "int")])
def test_what_is_no_conversation_is_not_opened(driver, given, seen):
    with pytest.raises(InvalidConfig, match=rf"expected a conversation, .* got {seen}$"):
        driver.open(given, 0.0)


def test_a_conversation_that_could_not_be_opened_keeps_its_context(driver, connection):
    connection.refuses = True
    conversation: Conversation[object] = Conversation()
    conversation.context = "mine"

    with pytest.raises(ConversationClosed):
        driver.open(conversation, 0.0)

    assert conversation.context == "mine"


def test_verbs_are_those_of_the_connection(driver, connection, conversation):
    assert driver.take(conversation, 2.0) == "item"
    assert driver.take_all(conversation, 3.0) == ["item"]
    assert driver.put(conversation, "x", 4.0) is False
    assert connection.asked[1:] == [
        ("take", conversation, 2.0),
        ("take_all", conversation, 3.0),
        ("put", conversation, "x", 4.0),
    ]


@pytest.mark.parametrize("verb", ["take", "take_all"])
def test_a_second_taker_is_told_that_somebody_waits(driver, connection, conversation, verb):
    seat_of(conversation).taker = "first"
    before = list(connection.asked)

    with pytest.raises(BusyConversation, match="one take at a time on Conversation"):
        getattr(driver, verb)(conversation, 0.0)

    assert connection.asked == before


def test_a_second_putter_is_told_that_somebody_waits(driver, connection, conversation):
    seat_of(conversation).putter = "first"

    with pytest.raises(BusyConversation, match="one put at a time"):
        driver.put(conversation, "x", 0.0)

    assert len(connection.asked) == 1


def test_taking_and_putting_do_not_disturb_each_other(driver, conversation):
    seat_of(conversation).putter = "first"

    assert driver.take(conversation, 0.0) == "item"


@pytest.mark.parametrize(
    "use", [lambda d, c: d.take(c, 0.0), lambda d, c: d.put(c, 1, 0.0), lambda d, c: d.ending(c)]
)
def test_a_conversation_that_was_never_opened_is_refused(driver, connection, use):
    with pytest.raises(ConversationClosed, match="opened before it is used"):
        use(driver, Conversation())

    assert connection.asked == []


def test_the_end_of_a_conversation_can_be_waited_for_at_the_putters_place(driver, conversation):
    assert driver.ending(conversation) is True
    assert conversation.put_blocked is True

    conversation.ended = True

    assert driver.ending(conversation) is False


def test_nobody_waits_for_the_end_where_somebody_waits_for_room(driver, conversation):
    seat_of(conversation).putter = "first"

    with pytest.raises(BusyConversation):
        driver.ending(conversation)


# ---------------------------------------------------------------------------------------------- sorting


def test_orders_keep_their_order_and_reach_no_listener(driver, connection):
    listener = driver.listen()
    orders = [Dial(SERVER), Upgrade(SERVER), Authenticate(SERVER, "nonce"), HangUp("why")]
    connection.events.extend(orders)

    driver.collect()

    assert list(driver.orders) == orders
    assert listener.take() is NEED_DATA


def test_ready_wakes_taker_and_putter_of_that_conversation_alone(driver, connection, conversation):
    other: Conversation[object] = Conversation()
    driver.open(other, 0.0)
    seat_of(conversation).taker = "taker"
    seat_of(conversation).putter = "putter"
    seat_of(other).taker = "other"
    connection.events.append(Ready(conversation))

    driver.collect()

    assert driver.woken == ["taker", "putter"]


def test_a_stage_is_watched_until_it_has_come(driver, conversation):
    assert driver.watch(conversation, Stage.GOING) is False
    assert conversation.watched is None
    assert driver.watch(conversation, Stage.ENDED) is True
    assert conversation.watched is Stage.GOING

    conversation.end()

    assert driver.watch(conversation, Stage.ENDED) is False
    assert driver.watch(conversation, Stage.GOING) is False


def test_a_conversation_that_was_not_opened_cannot_be_watched(driver):
    with pytest.raises(ConversationClosed):
        driver.watch(Conversation(), Stage.ENDED)


def test_ready_wakes_all_who_watch_the_conversation(driver, connection, conversation):
    seat_of(conversation).watchers = ("one", "two")
    connection.events.append(Ready(conversation))

    driver.collect()

    assert driver.woken == ["one", "two"]


def test_a_woken_waiter_keeps_its_place_until_it_leaves(driver, connection, conversation):
    seat_of(conversation).taker = "first"
    connection.events.append(Ready(conversation))
    driver.collect()

    with pytest.raises(BusyConversation):
        driver.take(conversation, 0.0)


def test_ready_of_a_conversation_that_nobody_waits_for_wakes_nobody(
    driver, connection, conversation
):
    stranger: Conversation[object] = Conversation()
    connection.events.extend([Ready(conversation), Ready(stranger)])

    driver.collect()

    assert driver.woken == []


@pytest.mark.parametrize("event", [Ready(None), CONNECTED, Closed(None)])
def test_room_the_link_and_the_end_wake_who_waits_for_the_connection(driver, connection, event):
    driver.wait("a")
    driver.wait("b")
    connection.events.append(event)

    driver.collect()

    assert driver.woken == ["a", "b"]


def test_b215_a_waiter_that_left_is_not_woken(driver, connection):
    driver.wait("a")
    driver.wait("b")
    driver.leave("a")
    driver.leave("a")
    connection.events.append(Ready(None))

    driver.collect()

    assert driver.woken == ["b"]


# ---------------------------------------------------------------------------------------------- the first link


def test_the_first_link_is_waited_for_and_stays_known(driver, connection):
    assert driver.linked() is False

    connection.events.append(CONNECTED)
    driver.collect()

    assert driver.linked() is True
    assert driver.greeted is True

    connection.events.append(Closed(LinkLost("gone")))
    driver.collect()

    assert driver.linked() is True


def test_a_first_link_that_never_comes_raises_why(driver, connection):
    connection.events.append(Closed(AuthorizationFailed("wrong password")))
    driver.collect()

    with pytest.raises(AuthorizationFailed, match="wrong password"):
        driver.linked()

    assert driver.closed is True
    assert isinstance(driver.error, AuthorizationFailed)


def test_a_connection_closed_before_its_first_link_says_so(driver, connection):
    connection.events.append(Closed(None))
    driver.collect()

    with pytest.raises(ConnectionClosed, match="closed before it was up"):
        driver.linked()


# ---------------------------------------------------------------------------------------------- listening


def test_a_listener_hears_everything_in_order_and_ends_behind_closed(driver, connection):
    listener = driver.listen()
    told = [
        CONNECTED,
        Notice(None, NoticeKind.SERVER_ERROR, "x"),
        LameDuck(SERVER),
        Disconnected(LinkLost("gone")),
        Closed(None),
    ]
    connection.events.extend(told)
    driver.collect()

    assert [listener.take() for _ in told] == told
    assert listener.take() is ENDED


def test_a_listener_hears_nothing_of_before(driver, connection):
    connection.events.append(CONNECTED)
    driver.collect()

    assert driver.listen().take() is NEED_DATA


def test_a_listener_made_after_the_end_ends_at_once(driver, connection):
    connection.events.append(Closed(None))
    driver.collect()

    assert driver.listen().take() is ENDED


def test_who_waits_for_an_event_is_woken_and_alone(driver, connection):
    listener = driver.listen()
    listener.waiter = "reader"
    connection.events.append(CONNECTED)
    driver.collect()

    assert driver.woken == ["reader"]
    with pytest.raises(BusyConversation):
        listener.take()


def test_a_listener_that_does_not_listen_loses_the_oldest_and_counts(driver, connection):
    listener = driver.listen()
    connection.events.extend(
        Notice(None, NoticeKind.UNKNOWN_SID, at) for at in range(MAX_UNHEARD + 3)
    )
    driver.collect()

    assert listener.missed == 3
    assert listener.take().detail == 3


def test_a_forgotten_listener_hears_nothing_more(driver, connection):
    listener = driver.listen()
    driver.unlisten(listener)
    driver.unlisten(listener)
    connection.events.append(CONNECTED)
    driver.collect()

    assert listener.take() is NEED_DATA


def test_a_seat_of_nobody_has_no_waiters():
    seat = WaitSlot("me")

    assert (seat.client, seat.taker, seat.putter) == ("me", None, None)


def test_it_shows_its_connection():
    connection = Connection(Options(), entropy=bytes, now=0.0)

    assert f"<Driver of {connection!r}>" == repr(Driver(connection))
