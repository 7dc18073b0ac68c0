"""A complete adapter without asyncio, trio or jsproto_io, to read and to copy from.

It has one thread, one selector, and callbacks. A `Loop` drives any number of clients. A call that
needs an answer asks, and turns the loop while the answer is "not yet". `Client.each` does not
wait: it registers a function as the waiter, and waking the waiter calls the function.
"""

import errno
import os
import selectors
import socket
from time import monotonic

import jsproto
from jsproto import ENDED, NEED_DATA, Connection, JsMessage, Options, Publish, errors, events
from jsproto.driver import Driver

READ, BOTH = selectors.EVENT_READ, selectors.EVENT_READ | selectors.EVENT_WRITE


class Loop:
    def __init__(self):
        self.selector, self.clients = selectors.DefaultSelector(), set()
        self.calls, self.stirred = [], False

    def turn(
        self,
    ):  # wait for data or a deadline; then bytes first, time second, callbacks last
        due = [client.deadline for client in self.clients if client.deadline is not None]
        patience = max(0, min(due) - monotonic()) if due else None
        if self.calls or self.stirred:
            patience, self.stirred = 0, False
        for key, _ in self.selector.select(patience):
            key.data()
        for client in list(self.clients):
            if client.deadline is not None and client.deadline <= monotonic():
                client.connection.handle_tick(monotonic())
                client.pump()
        calls, self.calls = self.calls, []
        for call in calls:
            call()


class Client:
    def __init__(self, loop, servers, credentials=None, **options):
        self.loop, self.credentials, self.driver, self.sock = loop, credentials, None, None
        self.options = Options(
            servers=servers, ask_for_credentials=credentials is not None, **options
        )

    connected = property(lambda self: self.connection.connected)
    closed = property(lambda self: self.driver is not None and self.driver.closed)
    info = property(lambda self: self.connection.info)
    stats = property(lambda self: self.connection.stats)

    def __enter__(self):
        if self.driver is not None:
            raise errors.ConversationClosed("expected a new client, this one was entered before")
        self.connection = Connection(self.options, entropy=os.urandom, now=monotonic())
        self.driver, self.unsent = Driver(self.connection, client=self), bytearray()
        self.loop.clients.add(self)
        try:
            self.until(lambda _: self.driver.linked())  # or raises why connecting failed
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # ---- the methods of the user

    def until(self, ask, not_yet=False):
        while (answer := ask(monotonic())) is not_yet:
            self.pump()  # asking may have changed the outputs
            self.loop.turn()
        self.pump()
        return answer

    def run(self, conversation):
        with Feed(self, conversation) as results:
            for result in results:
                return result
        raise errors.ConversationClosed(f"expected a result of {conversation}, it ended without")

    def stream(self, conversation):
        return Feed(self, conversation)

    sink = stream

    def publish(self, subject, payload=b""):
        self.until(lambda now: self.connection.send(Publish(subject, payload), now))

    def settle(self, once):
        def ask(now):
            try:
                return self.connection.settle(once, now)
            except errors.OutboundFull:
                return NEED_DATA

        return self.until(ask, NEED_DATA)

    def each(
        self, conversation, callback, ended
    ):  # returns at once; the loop calls back when it is turned
        seat = self.open(conversation)

        def look():
            seat.taker = None
            try:
                item = self.driver.take(conversation, monotonic())
            except jsproto.JsprotoError as error:
                ended(error)
                return
            self.pump()  # taking makes room, and the feed requests more
            if item is NEED_DATA:
                seat.taker = look
            elif item is ENDED:
                ended(None)
            else:
                try:
                    callback(item)
                finally:
                    self.loop.calls.append(look)

        self.loop.calls.append(look)

    def events(self):
        listener = self.driver.listen()
        return iter(lambda: self.until(lambda _: listener.take(), NEED_DATA), ENDED)

    def reconnect(self):
        self.connection.reconnect(monotonic())
        self.pump()

    def drain(self):  # at most drain_timeout
        self.connection.tell(None, jsproto.StopMode.DRAIN, monotonic())
        self.until(lambda _: self.driver.closed)

    def close(self):  # at most close_timeout
        if self.driver is None or self.driver.closed:
            return
        try:
            self.connection.close(None, monotonic())
            self.until(lambda _: self.driver.closed)
        finally:
            self.connection.close(None, monotonic())  # the second time does not wait
            self.pump()

    def open(self, conversation):
        if (
            getattr(conversation, "message", None) is JsMessage
        ):  # a feed of deliveries creates messages of our class
            conversation.message = Message
        return self.driver.open(conversation, monotonic())

    # ---- driving: after every input the three outputs, in this order

    def pump(self):
        self.driver.collect()
        while self.driver.orders:
            self.obey(self.driver.orders.popleft(), monotonic())
            self.driver.collect()
            self.loop.stirred = (
                True  # executing an order is an input too: look again before the loop sleeps
            )
        self.write(self.connection.data_to_send())
        self.driver.collect()
        self.deadline = self.connection.next_deadline()
        self.loop.calls += self.driver.woken
        self.driver.woken.clear()
        if self.driver.closed:
            self.loop.clients.discard(self)

    def obey(self, order, now):
        if isinstance(order, events.HangUp):
            self.write(self.connection.data_to_send())
            self.hang_up()
        elif isinstance(order, events.Authenticate):
            try:
                auth = self.credentials(order.server, order.nonce)
            except Exception as error:  # noqa: BLE001 - its text may contain a secret: only its type is reported
                failure = jsproto.AuthorizationFailed(
                    f"asking for credentials raised {type(error)}"
                )
                self.connection.authentication_failed(failure, now)
            else:
                self.connection.authenticate(auth, now)
        elif isinstance(order, events.Upgrade) or order.secure:
            self.down(errors.TlsUnavailable("expected a server without TLS, this adapter has none"))
        else:
            self.dial(order.server)

    # ---- the transport: one socket that never blocks

    def dial(self, server):
        try:
            self.places = iter(
                socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
            )
        except (OSError, ValueError) as error:
            self.down(error)
        else:
            self.try_next(None)

    def try_next(self, why):
        for family, kind, proto, _, place in self.places:  # continues where it stopped
            self.sock = socket.socket(family, kind, proto)
            self.sock.settimeout(0.0)
            self.loop.selector.register(self.sock, selectors.EVENT_WRITE, self.opened)
            code = self.sock.connect_ex(place)
            if code in {0, errno.EINPROGRESS}:
                return
            self.hang_up()
            why = OSError(code, os.strerror(code))
        self.down(why)

    def opened(self):
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self.hang_up()
            self.try_next(OSError(code, os.strerror(code)))
        else:
            self.loop.selector.modify(self.sock, READ, self.ready)
            self.connection.transport_up(monotonic())
        self.pump()

    def ready(self):
        self.write(b"")  # retry what the kernel did not take before
        try:
            data = self.sock.recv(65_536)
        except BlockingIOError:
            pass
        except OSError as error:
            self.down(error)
        else:
            self.connection.receive_data(data, monotonic()) if data else self.down(None)
        self.pump()

    def write(self, data):
        self.unsent += data
        if not self.unsent:
            return
        try:
            del self.unsent[: self.sock.send(self.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self.unsent.clear()  # reading will report why
        self.loop.selector.modify(self.sock, BOTH if self.unsent else READ, self.ready)
        self.connection.transport_unsent(len(self.unsent), monotonic())
        self.loop.stirred = True

    def down(self, error):
        self.hang_up()
        self.connection.transport_down(error, monotonic())

    def hang_up(self):
        self.unsent.clear()
        if self.sock is not None:
            self.loop.selector.unregister(self.sock)
            self.sock.close()
            self.sock = None


class Feed:
    def __init__(self, client, conversation):
        self.client, self.conversation = client, conversation

    def __enter__(self):
        self.client.open(self.conversation)
        self.client.pump()
        return self

    def __exit__(self, *_):
        self.client.connection.close(self.conversation, monotonic())
        self.client.pump()

    def __iter__(self):
        return iter(lambda: self.client.until(self.take, NEED_DATA), ENDED)

    results = __iter__

    def take(self, now):
        return self.client.driver.take(self.conversation, now)

    def put(self, item):
        self.client.until(lambda now: self.client.driver.put(self.conversation, item, now))

    def drain(self):
        self.client.connection.tell(self.conversation, jsproto.StopMode.DRAIN, monotonic())
        self.client.until(lambda _: self.client.driver.ending(self.conversation), not_yet=True)


class Message(JsMessage):
    __slots__ = ()

    def ack(self):
        return self.feed.context.client.settle(self)


def connect(servers="nats://127.0.0.1:4222", *, loop=Loop(), **options):  # noqa: B008 - one loop for all clients, like the thread
    return Client(loop, servers, **options)
