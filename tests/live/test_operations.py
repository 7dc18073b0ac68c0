"""Leaders, peers and moves on a cluster of every version, each with its refusals, and what a server
on its own says to that.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.conversation.procedure import Procedure
from jsproto.errors import ApiError, NoResponders, RequestTimeout
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.errors import (
    CannotServe,
    ConfigurationRefused,
    JetStreamError,
    JetStreamNotEnabled,
    NotFound,
    RequestContext,
    RetryLater,
    StreamNotFound,
)
from jsproto.jetstream.api.requests.manage import request
from jsproto_io.blocking import Client, SyncJetStream, SyncStream, connect
from tests.live.conftest import NOT_YET, VERSIONS, Cluster

pytestmark = pytest.mark.live

T = TypeVar("T")

#: An election takes up to 9 s, on a busy machine longer.
BOUND = 40.0
NAMES = {"n1", "n2", "n3"}
ACCOUNTS = """
accounts {
  SYS { users: [{user: sys, password: s}] }
  A { jetstream: enabled, users: [{user: a, password: a}] }
  B { jetstream: enabled, users: [{user: b, password: b}] }
}
system_account: SYS
"""


def test_leaders_step_down_and_the_new_ones_are_named(cluster, joined, stored, within) -> None:
    work = stored(joined(), stream={"num_replicas": 3}, num_replicas=3)
    with within(BOUND * 2):
        first = work.stream.info().cluster.leader
        second = work.stream.step_down(timeout=BOUND)
        other = work.consumer.info().cluster.leader
        third = work.consumer.step_down(timeout=BOUND)

        assert second in NAMES - {first}
        assert third in NAMES - {other}
        assert work.stream.info().cluster.leader == second


def test_a_leader_can_be_wished_for(cluster, joined, stored, within) -> None:
    node = next(iter(cluster.nodes.values()))
    if tuple(int(part) for part in node.version.split(".")[:2]) < (2, 11):
        return
    work = stored(joined(), stream={"num_replicas": 3})
    with within(BOUND * 2):
        wished = next(name for name in NAMES if name != work.stream.info().cluster.leader)

        assert work.stream.step_down(placement=Placement(preferred=wished), timeout=BOUND) == wished


def test_a_peer_that_is_none_of_the_group_is_refused(cluster, joined, stored, within) -> None:
    work = stored(joined(), stream={"num_replicas": 1})
    with within(BOUND), pytest.raises(ApiError):
        work.stream.remove_peer("nobody", timeout=BOUND)


# ------------------------------------------------------------------------------------------------ with a system account


class Accounts:
    """Three servers with a system account and two others, one client of each."""

    def __init__(self, cluster: Cluster) -> None:
        self.version = tuple(
            int(part) for part in next(iter(cluster.nodes.values())).version.split(".")
        )
        self.clients: dict[str, Client] = {}
        for user in ("sys", "a", "b"):
            cluster.user = Auth(user=user, password=user[0])
            self.clients[user] = cluster.client(*cluster.nodes).__enter__()

    @property
    def meta(self):
        return self.clients["sys"].jetstream(timeout=BOUND).meta

    def js(self, user: str = "a", timeout: float = BOUND):
        return self.clients[user].jetstream(timeout=timeout)

    def denied(self, ask: Callable[[SyncJetStream], object]) -> None:
        """Another account is not answered; old servers let everybody do it."""
        if self.version >= (2, 11, 1):
            with pytest.raises(RequestTimeout):
                ask(self.js("b", timeout=0.5))

    def close(self) -> None:
        for client in self.clients.values():
            client.close()


@pytest.fixture(scope="module", params=[each for each in VERSIONS if each != "2.14.0"])
def trio_of_servers(request, server_binary_of) -> Iterator[Cluster]:
    cluster = Cluster(server_binary_of, request.param, ACCOUNTS, Auth(user="a", password="a"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def accounts(trio_of_servers, within) -> Iterator[Accounts]:
    trio_of_servers.ready()
    with within(BOUND):
        made = Accounts(trio_of_servers)
    yield made
    made.close()


def delete(stream: SyncStream) -> None:
    """Until it is gone: 2.9 does not hear each of these while its leaders change."""
    with contextlib.suppress(StreamNotFound):
        patiently(lambda: stream.delete(timeout=3.0))


def patiently(make: Callable[[], T]) -> T:
    """A cluster that has just found together may refuse for a moment."""
    deadline = time.monotonic() + BOUND
    while True:
        try:
            return make()
        except NOT_YET:
            if time.monotonic() > deadline:
                raise


@pytest.fixture
def single(accounts) -> Iterator[SyncStream]:
    """A stream of one copy with messages; gone with the test."""
    stream = patiently(
        lambda: accounts.js().create_stream(name="ONE", subjects=["one.>"], num_replicas=1)
    )
    for _ in range(100):
        accounts.js().publish("one.a", b"x" * 1000)
    yield stream
    delete(stream)


def refused(err_code: int, kind: type[JetStreamError], ask: Callable[[], object]) -> None:
    with pytest.raises(kind) as caught:
        ask()
    assert caught.value.err_code == err_code


def test_the_leader_of_all_steps_down_and_the_new_one_is_named(
    accounts, eventually, within
) -> None:
    with within(BOUND * 3):
        first = accounts.meta.step_down(timeout=BOUND)
        assert first in NAMES
        eventually(lambda: accounts.meta.step_down(timeout=BOUND) in NAMES - {first}, within=BOUND)
        assert accounts.meta.step_down(wait=False) == ""
        if accounts.version >= (2, 11):
            leads = accounts.meta.step_down(timeout=BOUND)
            wished = Placement(preferred=next(iter(NAMES - {leads})))

            assert accounts.meta.step_down(placement=wished, timeout=BOUND) == wished.preferred
        accounts.meta.step_down(timeout=BOUND)
        refused(
            10005,
            ConfigurationRefused,
            lambda: accounts.meta.step_down(placement=Placement(cluster="NOWHERE"), wait=False),
        )
        with pytest.raises(NoResponders):
            accounts.js("a").meta.step_down()
        accounts.denied(lambda js: js.meta.step_down(wait=False))


def leader_of(stream: SyncStream) -> str | None:
    """Who leads a stream of one copy, ``None`` while nobody does or it is on its way."""
    try:
        group = stream.info(timeout=1.0).cluster
    except NOT_YET:
        return None
    return None if group.replicas or group.desired else group.leader


def elsewhere(stream: SyncStream, before: str | None) -> Callable[[], str | None]:
    """Asks for the leader that a stream has after it has left a server."""
    return lambda: None if (leader := leader_of(stream)) == before else leader


def cancelled(cancel: Callable[[], object]) -> bool:
    """Whether a move was cancelled; it may be over before that is heard (10129)."""
    try:
        cancel()
    except JetStreamError as error:
        if error.err_code != 10129:
            raise
        return False
    return True


def test_a_stream_is_moved_away_by_its_account_or_the_system_and_stays_if_that_is_cancelled(
    accounts, single, eventually, within
) -> None:
    with within(BOUND * 3):
        leader = single.info().cluster.leader
        for mover in (accounts.meta, accounts.js().meta):
            mover.move_stream("A", "ONE", server=leader)
            leader = eventually(elsewhere(single, leader), within=BOUND)
            assert single.info().state.messages == 100
        eventually(
            lambda: not cancelled(lambda: accounts.meta.cancel_move("A", "ONE")), within=BOUND
        )
        accounts.meta.move_stream("A", "ONE", server=leader)
        stays = cancelled(lambda: accounts.js().meta.cancel_move("A", "ONE"))
        after = eventually(lambda: leader_of(single), within=BOUND)
        assert after == leader or not stays
        for err_code, kind, ask in (
            (10035, NotFound, lambda: accounts.meta.move_stream("NOBODY", "ONE")),
            (10059, StreamNotFound, lambda: accounts.meta.move_stream("A", "NONE")),
            (10044, JetStreamError, lambda: accounts.meta.move_stream("A", "ONE", server="nobody")),
            (10035, NotFound, lambda: accounts.meta.cancel_move("NOBODY", "ONE")),
            (10059, StreamNotFound, lambda: accounts.meta.cancel_move("A", "NONE")),
        ):
            refused(err_code, kind, ask)
        accounts.denied(lambda js: js.meta.move_stream("A", "ONE"))
        accounts.denied(lambda js: js.meta.cancel_move("A", "ONE"))


def test_where_nobody_can_take_the_place_a_peer_stays(accounts, eventually, within) -> None:
    with within(BOUND * 2):
        whole = patiently(
            lambda: accounts.js().create_stream(name="WHOLE", subjects=["whole"], num_replicas=3)
        )
        try:
            refused(
                10005,
                ConfigurationRefused,
                lambda: accounts.meta.move_stream("A", "WHOLE", server="n1"),
            )
            refused(10075, JetStreamError, lambda: whole.remove_peer("n1"))
            refused(10040, JetStreamError, lambda: whole.remove_peer("nobody"))
            nowhere = Placement(tags=["nowhere"])
            refused(
                10005,
                ConfigurationRefused,
                lambda: accounts.js().create_stream(
                    name="TAGGED", subjects=["t"], placement=nowhere
                ),
            )
        finally:
            delete(whole)


def test_a_move_is_not_begun_beside_another_change(accounts, single, eventually, within) -> None:
    """10124: beside a move; 10123: a move and another size at once."""

    def met() -> bool:
        """Whether a second move met the first; the first may be over before that is heard."""
        leader = eventually(lambda: leader_of(single), within=BOUND)
        accounts.meta.move_stream("A", "ONE", server=leader)
        try:
            accounts.meta.move_stream("A", "ONE")
        except JetStreamError as error:
            return error.err_code in {10124, 10226}
        return False

    with within(BOUND * 3):
        eventually(met, within=BOUND)
        eventually(lambda: leader_of(single), within=BOUND)
        if accounts.version >= (2, 15):
            refused(
                10123,
                ConfigurationRefused,
                lambda: single.change(num_replicas=3, placement=Placement(cluster="C1")),
            )


def test_a_peer_is_removed_and_another_takes_its_place(accounts, eventually, within) -> None:
    def members(stream: SyncStream) -> set[str]:
        try:
            group = stream.info(timeout=1.0).cluster
        except (*NOT_YET, RetryLater):
            return set()
        return {str(group.leader), *(each.name for each in group.replicas if each.current)}

    with within(BOUND * 2):
        stream = patiently(
            lambda: accounts.js().create_stream(name="TWO", subjects=["two"], num_replicas=2)
        )
        before = set(eventually(lambda: len(found := members(stream)) == 2 and found, within=BOUND))
        out = min(before)
        stream.remove_peer(out)
        eventually(lambda: members(stream) == NAMES - {out}, within=BOUND)
        delete(stream)


def test_what_is_evacuated_leaves_when_another_has_it(accounts, single, eventually, within) -> None:
    if accounts.version < (2, 15):
        for ask in (
            lambda: accounts.js(timeout=0.5).stream("ONE").evacuate_peer("n1"),
            lambda: accounts.js(timeout=0.5).stream("ONE").cancel_move(),
        ):
            with pytest.raises(RequestTimeout, match=r"before 2\.15"):
                ask()
        with pytest.raises((RequestTimeout, JetStreamNotEnabled)):
            accounts.clients["sys"].jetstream(timeout=0.5).meta.evacuate_server("n1")
        return
    with within(BOUND * 3):
        leader = single.info().cluster.leader
        single.evacuate_peer(leader)
        leader = eventually(elsewhere(single, leader), within=BOUND)
        assert single.info().state.messages == 100

        accounts.meta.move_stream("A", "ONE", server=leader)
        going = single.info().cluster.desired
        if cancelled(single.cancel_move):
            assert going is not None
            assert going.origin.replicas == 1
            assert leader not in {each.name for each in going.replicas}
        leader = eventually(lambda: leader_of(single), within=BOUND)
        eventually(lambda: not cancelled(single.cancel_move), within=BOUND)
        refused(10059, StreamNotFound, accounts.js().stream("NONE").cancel_move)
        refused(10040, JetStreamError, lambda: single.evacuate_peer("nobody"))

        leader = eventually(lambda: leader_of(single), within=BOUND)
        accounts.meta.evacuate_server(leader)
        eventually(elsewhere(single, leader), within=BOUND)
        refused(10044, JetStreamError, lambda: accounts.meta.evacuate_server("nobody"))


def test_a_quorum_is_not_lowered_while_somebody_leads(accounts, within) -> None:
    """10224: the last resort of a cluster that has lost its majority, which nobody asks for here
    (2.15).
    """
    if accounts.version < (2, 15):
        return
    about = RequestContext(what="meta rescue")
    body = {"quorum_needed": 1}
    with within(BOUND):
        refused(
            10224,
            JetStreamError,
            lambda: accounts.clients["sys"].run(
                Procedure(
                    lambda: request(
                        "$JS.API.META.RESCUE", about, AnswerType.META_REMOVE_SERVER, body=body
                    )
                )
            ),
        )


def test_an_account_is_purged_and_others_are_not(accounts, eventually, within) -> None:
    with within(BOUND * 2):
        for user, name in (("a", "GONE"), ("b", "STAYS")):
            accounts.js(user).create_stream(name=name, subjects=[name.lower()], num_replicas=1)
        accounts.meta.purge_account("A")
        eventually(lambda: accounts.js("a").stream_names() == (), within=BOUND)

        assert accounts.js("b").stream_names() == ("STAYS",)
        accounts.meta.purge_account("NOBODY")  # an account that is no more can have files
        accounts.js("b").delete_stream("STAYS")
        accounts.denied(lambda js: js.meta.purge_account("A"))


def test_a_server_that_is_gone_is_taken_out_of_the_cluster(
    server_binary_of, trio_of_servers, within
) -> None:
    """On a cluster of its own, which is one server short afterwards."""
    version = trio_of_servers.nodes["n1"].version
    with (
        contextlib.closing(
            Cluster(server_binary_of, version, ACCOUNTS, Auth(user="a", password="a"))
        ) as cluster,
        within(BOUND * 4),
    ):
        cluster.start()
        with contextlib.closing(Accounts(cluster)) as accounts:
            refused(10044, JetStreamError, lambda: accounts.meta.remove_server("nobody"))
            leader = accounts.meta.step_down(timeout=BOUND)
        out = next(iter(NAMES - {leader}))
        cluster.nodes.pop(out).kill()
        with contextlib.closing(Accounts(cluster)) as accounts:
            accounts.meta.remove_server(out)
            refused(10044, JetStreamError, lambda: accounts.meta.remove_server(out))
            (answer,) = accounts.clients["sys"].jetstream().system.jsz(leader_only=True, expect=1)

            assert answer.read().meta_cluster.cluster_size == 2


def test_a_server_on_its_own_says_so(start_server) -> None:
    server = start_server()
    with connect(server.url) as nc:
        js = nc.jetstream(timeout=0.5)
        stream = js.create_stream(name="ALONE", subjects=["alone"], storage="memory")
        consumer = stream.create_consumer(durable_name="C")
        for ask in (
            lambda: stream.step_down(wait=False),
            lambda: consumer.step_down(wait=False),
            lambda: stream.remove_peer("n1"),
            lambda: stream.evacuate_peer("n1"),
            stream.cancel_move,
        ):
            with pytest.raises(CannotServe):
                ask()
        for silent in (
            lambda: js.meta.step_down(wait=False),
            lambda: js.meta.remove_server("n1"),
            lambda: js.meta.evacuate_server("n1"),
            lambda: js.meta.move_stream("A", "S"),
            lambda: js.meta.cancel_move("A", "S"),
            lambda: js.meta.purge_account("A"),
        ):
            with pytest.raises(RequestTimeout):
                silent()
        with pytest.raises(NoResponders):
            js.meta.step_down()


def test_a_server_on_its_own_purges_an_account_for_the_system(start_server) -> None:
    server = start_server(config=ACCOUNTS)
    with (
        connect(server.url.replace("//", "//a:a@")) as nc,
        connect(server.url.replace("//", "//sys:s@")) as system,
    ):
        nc.jetstream().create_stream(name="GONE", subjects=["gone"])
        system.jetstream().meta.purge_account("A")
        refused(10051, JetStreamError, lambda: system.jetstream().meta.purge_account("a/b"))

        assert nc.jetstream().stream_names() == ()
        with pytest.raises(RequestTimeout):
            system.jetstream(timeout=0.5).meta.step_down()
