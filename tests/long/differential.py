"""The model server and a real one side by side: random scripts, and whatever they answer
differently.

    python tests/long/differential.py --scripts 2000 --server 2.15.1        some minutes
    python tests/long/differential.py --scripts 1 --seed 17 --server 2.12.8 --show       one script,
    step by step

Each script of 50 steps (`scripts.py`) is played to a `SimServer` of that version and to the real
server, step by step; compared are the frames of each subscription in order, as in the proof by
recordings. Between two steps the real server gets the time that it needs to say what the model has
said. A step that only looks is asked again if it was too early.

A script that differs is played again, a few times: if it is equal then, the real server has done
two things in another order the first time. Such a race is explained if `beside.py` knows of that
order, and so is the crash of a version that is known for it; a server that crashes is started
again. Gives one JSON line for each script whose outcome is not explained, and one for all; the exit
code is 1 if there is such a script. It is a command and not a test because it takes minutes; the
short form is tested.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto.testing.proof.frames import FrameReader  # noqa: E402
from jsproto.testing.proof.normal import normal  # noqa: E402
from jsproto.testing.simserver import SimServer  # noqa: E402
from jsproto.testing.simserver.values.gotime import EPOCH_NS  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from tests.conftest import _binary_of  # noqa: E402
from tests.long.beside import Difference, why, why_crashed  # noqa: E402
from tests.long.scripts import CONSUMERS, Script, Step  # noqa: E402

CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"protocol":1,"headers":true,"no_responders":true}\r\n'
#: Seconds that the real server may take for what the model says at once.
PATIENCE = 1.0
#: A step after which nothing is to be heard still has to be understood.
SETTLE = 0.002
AGAIN = 3
TRIES = 3
#: Tries while all that was shown could be excused: some orders are as likely as others.
PATIENT_TRIES = 12
#: A stream that is there all the time: with its last stream a server takes away the folder of all,
#: beside whatever comes next.
KEPT = {"name": "KEPT", "subjects": ["kept"], "storage": "file"}


class Said(NamedTuple):
    """A frame as it is compared, and the subject on which it can be acknowledged."""

    channel: str
    said: object
    ack: str


class Side:
    """One of the two servers: what was said to it, and what it said."""

    def __init__(self) -> None:
        self.reader = FrameReader()
        self.heard: list[Said] = []
        self.pongs = 0
        #: Deliveries of each consumer that can be acknowledged, oldest first.
        self.deliveries: dict[str, list[str]] = defaultdict(list)

    def say(self, data: bytes) -> None:
        raise NotImplementedError

    def take(self, data: bytes) -> None:
        """Note what came."""
        for frame in self.reader.feed(data):
            if frame.line == "PONG":
                self.pongs += 1
            elif frame.line == "PING":
                self.say(b"PONG\r\n")
            elif not frame.line.startswith("INFO"):
                ack = frame.reply if frame.is_message and frame.reply.startswith("$JS.ACK.") else ""
                if ack:
                    self.deliveries[ack.split(".")[3]].append(ack)
                self.heard.append(Said(*normal(frame), ack))

    def forget(self, channel: str) -> None:
        """What was heard in this channel has not been said."""
        self.heard = [said for said in self.heard if said.channel != channel]

    def channels(self) -> dict[str, list[object]]:
        """What was heard, by channel."""
        found: dict[str, list[object]] = defaultdict(list)
        for said in self.heard:
            found[said.channel].append(said.said)
        return found

    def written(self, step: Step, number: int, stream: str) -> bytes:
        """A step, as it is said to this server."""
        reply = f"rq.{number}"
        match step.verb:
            case "api":
                return pub(f"$JS.API.{step.what}", reply, step.body)
            case "publish":
                return pub(step.what, reply, step.body, step.headers)
            case "pull":
                inbox = f"in.{step.what}.{stream}.{number}"
                return pub(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{step.what}", inbox, step.body)
            case "sub":
                subject, _, queue = step.what.partition(" ")
                subject += f".{stream}.>" if subject.startswith("in.") else ""
                return f"SUB {subject} {queue} {sid_of(step.what)}\r\n".encode()
            case "unsub":
                return f"UNSUB {sid_of(step.what)}\r\n".encode()
            case _:
                return self.acknowledged(step, number, stream)

    def acknowledged(self, step: Step, number: int, stream: str) -> bytes:
        able = [name for name in CONSUMERS if self.deliveries[name]]
        if not able:
            return b""
        name = able[step.number % len(able)]
        known = self.deliveries[name]
        ack = known[-1 - step.number % len(known)]
        reply = f"in.{name}.{stream}.{number}" if step.body.startswith(b"+NXT") else f"rq.{number}"
        return pub(ack, reply if step.what else "", step.body)


class Model(Side):
    """The model server."""

    def __init__(self, version: str) -> None:
        super().__init__()
        self.begun = time.monotonic()
        self.base = (time.time_ns() - EPOCH_NS) / 1e9
        self.server = SimServer(version=version, now=self.base)
        self.server.request("STREAM.CREATE.KEPT", KEPT, self.base)
        self.cid = self.server.connect(self.base)

    def say(self, data: bytes) -> None:
        now = self.base + time.monotonic() - self.begun
        self.server.receive_data(self.cid, data, now)
        self.take(self.server.data_to_send(self.cid))


class Real(Side):
    """A real server."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def listen(self, seconds: float) -> bool:
        """Read once; ``False`` if nothing came in time."""
        self.socket.settimeout(max(seconds, 0.0001))
        try:
            data = self.socket.recv(1 << 20)
        except TimeoutError:
            return False
        if not data:
            raise ConnectionError("the server closed the connection")
        self.take(data)
        return True

    def wait_for(self, wanted: dict[str, list[object]], pongs: int) -> None:
        """Read until there is as much in each channel as is wanted, and as many PONGs."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            have = self.channels()
            if self.pongs >= pongs and all(
                len(have[channel]) >= len(said) for channel, said in wanted.items()
            ):
                return
            self.listen(end - time.monotonic())


class Play:
    """One script, played to both."""

    def __init__(self, script: Script, version: str, port: int, *, show: bool) -> None:
        self.script = script
        self.show = show
        self.model, self.real = Model(version), Real(port)
        self.pongs = 0

    def run(self) -> Difference | None:
        """The first difference."""
        self.both(lambda _: CONNECT + opening(self.script.stream))
        found = None
        for number, step in enumerate(self.script.steps):
            found = self.step(step, number)
            if found is not None:
                break
        self.model.heard.clear()
        self.real.say(
            pub(f"$JS.API.STREAM.DELETE.{self.script.stream}", "rq.end", b"") + b"PING\r\n"
        )
        self.real.wait_for({"rq": [None]}, 0)
        self.real.socket.close()
        return found

    def both(self, written: Callable[[Side], bytes]) -> None:
        """Say something to both and hear both out."""
        self.pongs += 1
        self.model.say(written(self.model) + b"PING\r\n")
        self.real.say(written(self.real) + b"PING\r\n")
        self.real.wait_for(self.model.channels(), self.pongs)

    def step(self, step: Step, number: int) -> Difference | None:
        stream = self.script.stream
        self.both(lambda side: side.written(step, number, stream))
        if not self.model.heard:
            self.real.listen(SETTLE)
        for _ in range(AGAIN):
            if not looks(step) or self.model.channels() == self.real.channels():
                break
            time.sleep(0.02)
            for side in (self.model, self.real):
                side.forget("rq")
            self.both(lambda side: side.written(step, number, stream))
        ours, theirs = self.model.channels(), self.real.channels()
        if self.show:
            print(number, step)
            print("    model", dict(ours), "" if ours == theirs else f"\n    real  {dict(theirs)}")
        self.model.heard.clear()
        self.real.heard.clear()
        channel = next(
            (each for each in sorted({*ours, *theirs}) if ours[each] != theirs[each]), None
        )
        if channel is None:
            return None
        return Difference(number, str(step), channel, ours[channel], theirs[channel])


def pub(
    subject: str, reply: str, payload: bytes, headers: Mapping[str, str] | None = None
) -> bytes:
    words = f"{subject} {reply}".rstrip()
    if not headers:
        return f"PUB {words} {len(payload)}\r\n".encode() + payload + b"\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    block = f"NATS/1.0\r\n{lines}\r\n".encode()
    return (
        f"HPUB {words} {len(block)} {len(block) + len(payload)}\r\n".encode()
        + block
        + payload
        + b"\r\n"
    )


def sid_of(subject: str) -> str:
    return subject.replace(" ", ".")


def looks(step: Step) -> bool:
    """Whether a step changes nothing, so that it can be asked again."""
    return step.verb == "api" and any(
        word in step.what for word in ("INFO", "NAMES", "LIST", "MSG.GET")
    )


def opening(stream: str) -> bytes:
    """The subscriptions with which a script begins: each consumer has sids of its own, and hears
    nothing of other scripts.
    """
    lines = ["SUB rq.> rq", "SUB r.> republished"]
    for name in CONSUMERS:
        lines.append(f"SUB in.{name}.{stream}.> in.{name}")
        lines += [
            f"SUB $JS.EVENT.{kind}.{stream}.{name} {kind}.{name}"
            for kind in (
                "ADVISORY.CONSUMER.MSG_NAKED",
                "ADVISORY.CONSUMER.MSG_TERMINATED",
                "METRIC.CONSUMER.ACK",
            )
        ]
    return "".join(f"{line}\r\n" for line in lines).encode()


def played(
    seed: int, version: tuple[int, int], chosen: argparse.Namespace, port: int
) -> tuple[list[Difference], bool]:
    """What one script has shown, play by play until it showed nothing, and whether it showed
    something every time.
    """
    found = []
    for attempt in range(PATIENT_TRIES):
        script = Script(seed, version, chosen.length, attempt)
        shown = Play(
            script, chosen.model or chosen.server, port, show=chosen.show and not attempt
        ).run()
        if shown is None:
            return found, False
        found.append(shown)
        if len(found) >= TRIES and not all(why(each) for each in found):
            break
    return found, True


class Tally:
    """What came of the scripts: how many are not explained, and how often each reason explained
    one.
    """

    def __init__(self, *, talkative: bool) -> None:
        self.counts = {"different": 0, "races": 0, "crashes": 0}
        self.explained: Counter[str] = Counter()
        self._talkative = talkative

    def shown(self, seed: int, found: list[Difference], *, always: bool) -> None:
        """A script has shown differences."""
        reasons = {why(each) for each in found}
        explained = not always and "" not in reasons
        if explained:
            self.explained.update(reasons)
        else:
            self.counts["different" if always else "races"] += 1
        if self._talkative or not explained:
            tell({"seed": seed, "race": not always, **found[-1]._asdict()})

    def crashed(self, seed: int, log: str) -> None:
        """A server has crashed, and said this before."""
        reason = why_crashed(log)
        if reason:
            self.explained[reason] += 1
            return
        self.counts["crashes"] += 1
        tell({"seed": seed, "crash": log[log.find("\npanic: ") + 1 :][:600]})


def tell(line: Mapping[str, object]) -> None:
    print(json.dumps(line, default=str), flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scripts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first script")
    parser.add_argument("--server", default="2.15.1", metavar="VERSION")
    parser.add_argument("--model", metavar="VERSION", help="of the model, if it is to be another")
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--show", action="store_true", help="every step, with what both said")
    parser.add_argument("--races", action="store_true", help="tell those that are explained, too")
    chosen = parser.parse_args(arguments)
    tally = Tally(talkative=chosen.races)
    begun = time.monotonic()
    seeds = iter(range(chosen.seed, chosen.seed + chosen.scripts))
    while crashed := some(seeds, chosen, tally):
        tally.crashed(*crashed)
    seconds = round(time.monotonic() - begun, 1)
    total = {
        "server": chosen.server,
        "scripts": chosen.scripts,
        **tally.counts,
        "explained": tally.explained,
    }
    tell({**total, "seconds": seconds})
    return 1 if any(tally.counts.values()) else 0


def some(seeds: Iterator[int], chosen: argparse.Namespace, tally: Tally) -> tuple[int, str] | None:
    """Play scripts to one server until there are no more or it has crashed: the seed, and what it
    said last.
    """
    major, minor = (int(part) for part in chosen.server.split(".")[:2])
    with NatsServer(_binary_of(chosen.server)) as server:
        keep(server.port)
        for seed in seeds:
            try:
                found, always = played(seed, (major, minor), chosen, server.port)
            except ConnectionError:
                return seed, server.log
            if found:
                tally.shown(seed, found, always=always)
    return None


def keep(port: int) -> None:
    """Create the stream that stays."""
    server = Real(port)
    server.say(CONNECT + b"SUB rq.> rq\r\n")
    server.say(pub("$JS.API.STREAM.CREATE.KEPT", "rq.kept", json.dumps(KEPT).encode()))
    server.wait_for({"rq": [None]}, 0)
    server.socket.close()


if __name__ == "__main__":
    sys.exit(main())
