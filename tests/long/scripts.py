"""Random scripts for a server: API calls, publishes, pulls, acknowledgements and subscriptions,
drawn from a seed.

A script is a list of steps over one stream and up to three consumers. It holds no bytes: what a
step says to a server depends on what that server has said before, since acknowledgements go to
subjects with times in them. `said` writes a step down for one of the servers that play the script.

What depends on chance in a real server is not drawn: one thing is published at a time, nothing runs
out of time, and each consumer has an inbox of its own, since between two of them no server promises
an order.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

SUBJECTS = ("s.a", "s.b", "s.c", "s.a.x")
CONSUMERS = ("C1", "C2", "C3")
SECOND = 10**9
LONG = 60 * SECOND
#: What an acknowledgement may say; the first ones more often.
WORDS = (
    *[b"+ACK"] * 6, b"", b"+OK", *[b"-NAK"] * 3, b"+WPI", *[b"+TERM"] * 2, b"+TERM because", b"+NXT", b"+NXT 2",
    b'+NXT {"batch":2,"no_wait":true}', b"hello", b"+ack", b"+ACK ", b"-NAKx", b'-NAK {"delay":60000000000}',
)  # fmt: skip
#: Bodies that are no JSON, or no object, or hold what no request has or another type; each of them
#: is an error for some verb.
ODD_BODIES = (
    b"", b" ", b"x", b"1", b"true", b"null", b"nul", b'"x"', b"[]", b"{", b"{}", b"{ }", b"{}x", b"{,}", b"{a", b'{"a"', b'{"a":', b'{"a":}',
    b'{"a" 1}', b'{"a":1,}', b'{"a":[1 2]}', b'{"a":tru}', b'{"a":01}', b'{"a":1.}', b'{"a":"\\q"}', b'{"a":"\\u12x4"}', b'{"a":"x\n"}',
    b"{'a':1}", b'{"a":\xc3\xa9}', b'{"a":1} {"b":2}', b'{"seq":1} {"seq":"x"}', b'{"seq":"x"}', b'{"seq":1.5}', b'{"seq":-1}', b'{"seq":1e2}',
    b'{"seq":0}', b'{"SEQ":99}', b'{"seq":18446744073709551616}', b'{"offset":"1"}', b'{"subject":1}', b'{"filter":1}', b'{"keep":-1}',
    b'{"last_by_subj":1}', b'{"no_hdr":1}', b'{"group":1}', b'{"pause_until":"x"}', b'{"pause_until":1}', b'{"name":1}', b'{"name":null}',
    b'{"batch":"5"}', b'{"batch":1.5}', b'{"batch":1,"no_wait":true}x', b'{"batch":true}', b'{"no_wait":1}', b'{"expires":"1s"}',
)  # fmt: skip
#: What may be asked with such a body; ``{}`` is the stream.
ODD_VERBS = (
    "STREAM.CREATE.{}", "STREAM.UPDATE.{}", "STREAM.INFO.{}", "STREAM.INFO.NOPE", "STREAM.NAMES", "STREAM.LIST", "STREAM.PURGE.{}",
    "STREAM.MSG.GET.{}", "STREAM.MSG.DELETE.{}", "CONSUMER.CREATE.{}.C1", "CONSUMER.CREATE.{}", "CONSUMER.DURABLE.CREATE.{}.C1",
    "CONSUMER.INFO.{}.C1", "CONSUMER.DELETE.{}.NOPE", "CONSUMER.NAMES.{}", "CONSUMER.LIST.{}", "CONSUMER.PAUSE.{}.C1", "CONSUMER.UNPIN.{}.C1",
    "CONSUMER.RESET.{}.C1", "DIRECT.GET.{}", "STREAM.LEADER.STEPDOWN.{}",
)  # fmt: skip
#: Members of a stream and of a consumer with values that the server cannot read, or does not take.
ODD_STREAMS = (
    ("retention", "bogus"), ("retention", 1), ("retention", None), ("discard", 1), ("storage", None), ("compression", "x"), ("compression", 1),
    ("max_msgs", "1"), ("max_msgs", 1.5), ("max_msgs", 2**70), ("max_msg_size", 2**31), ("first_seq", -1), ("max_age", "1s"), ("subjects", "s.>"),
    ("subjects", ["s.>", 1]), ("sealed", 1), ("num_replicas", 3), ("num_replicas", 6), ("republish", 1), ("republish", {"src": 1}),
    ("placement", {"tags": [1]}), ("mirror", 1), ("mirror", {"opt_start_seq": -1}), ("sources", [1]), ("sources", {}),
    ("sources", [{"name": 1}]), ("metadata", {"a": 1}), ("consumer_limits", {"max_ack_pending": "x"}), ("template_owner", "x"), ("pedantic", 1),
    ("MAX_MSGS", 5), ("nope", 1), ("subject_transform", {"src": 1}), ("name", ""), ("subjects", ["$JS.API.>"]),
)  # fmt: skip
ODD_CONSUMERS = (
    ("deliver_policy", "bogus"), ("deliver_policy", None), ("ack_policy", 1), ("replay_policy", "x"), ("ack_wait", "1s"), ("max_deliver", 1.5),
    ("backoff", 1), ("backoff", [1, "x"]), ("filter_subject", 1), ("filter_subjects", [1]), ("filter_subjects", "x"), ("opt_start_time", "x"),
    ("opt_start_time", "2020-13-01T00:00:00Z"), ("opt_start_time", 1), ("opt_start_seq", -1), ("num_replicas", 3), ("headers_only", 1),
    ("metadata", [1]), ("pause_until", "x"), ("priority_groups", "g"), ("priority_policy", "x"), ("priority_policy", None), ("sample_freq", 1),
    ("rate_limit_bps", -1), ("nope", 1), ("DURABLE_NAME", "C1"), ("deliver_subject", 1), ("mem_storage", "x"),
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One thing to do: a verb and what it needs."""

    verb: str
    what: str = ""
    body: bytes = b""
    headers: Mapping[str, str] | None = None
    number: int = 0


class Script:
    """Steps drawn from one seed, for a server that knows so much (``version``, its first two
    numbers).
    """

    def __init__(
        self, seed: int, version: tuple[int, int], length: int = 50, attempt: int = 0
    ) -> None:
        self.stream = f"S{seed}-{attempt}"
        self.chance = random.Random(seed)
        self.version = version
        self.push: set[str] = set()
        self.steps = [self._create_stream(), self._create_consumer(CONSUMERS[0])]
        makers = [
            (self._publish, 26), (self._pull, 20), (self._ack, 20), (self._create, 6), (self._info, 6),
            (self._direct, 3), (self._get, 3), (self._take_out, 3), (self._listen, 4), (self._listed, 2),
            (self._update_stream, 1), (self._delete, 1), (self._pause, 1), (self._special, 2), (self._odd, 2),
        ]  # fmt: skip
        while len(self.steps) < length:
            (make,) = self.chance.choices(
                [each for each, _ in makers], [weight for _, weight in makers]
            )
            self.steps.append(make())

    def api(self, verb: str, body: object = None) -> Step:
        """A request to the JSON API."""
        return Step("api", verb, b"" if body is None else json.dumps(body).encode())

    def maybe(self, likely: float) -> bool:
        return self.chance.random() < likely

    def any(self, *values: object) -> object:
        return self.chance.choice(values)

    # ------------------------------------------------------------------------------------------------ the stream

    def _stream_config(self) -> dict[str, object]:
        config: dict[str, object] = {"name": self.stream, "subjects": ["s.>"]}
        config["storage"] = self.any("memory", "memory", "file")
        config["retention"] = self.any("limits", "limits", "limits", "interest", "workqueue")
        for name, likely, values in (
            ("max_msgs", 0.15, (1, 3, 8)),
            ("max_msgs_per_subject", 0.2, (1, 2)),
            ("max_bytes", 0.1, (150, 400)),
            ("max_msg_size", 0.1, (8, 40)),
            ("discard", 0.25, ("new",)),
            ("allow_direct", 0.6, (True,)),
            ("allow_rollup_hdrs", 0.5, (True,)),
            ("deny_delete", 0.05, (True,)),
            ("no_ack", 0.04, (True,)),
            ("duplicate_window", 0.1, (SECOND * 30,)),
            ("description", 0.1, ("words & <more>",)),
            ("max_consumers", 0.1, (1, 2)),
            ("discard_new_per_subject", 0.05, (True,)),
            ("max_age", 0.05, (LONG,)),
            ("republish", 0.08, ({"src": "s.>", "dest": "r.>"},)),
        ):
            if self.maybe(likely):
                config[name] = self.any(*values)
        for since, name, likely, values in (
            ((2, 10), "first_seq", 0.05, (5,)),
            ((2, 10), "metadata", 0.05, ({"k": "v"},)),
            (
                (2, 10),
                "subject_transform",
                0.05,
                ({"src": "s.a.*", "dest": "s.moved.{{wildcard(1)}}"},),
            ),
            ((2, 11), "allow_msg_ttl", 0.2, (True,)),
            ((2, 12), "allow_msg_counter", 0.05, (True,)),
            ((2, 12), "allow_atomic", 0.2, (True,)),
        ):
            if self.version >= since and self.maybe(likely):
                config[name] = self.any(*values)
        return config

    def _create_stream(self) -> Step:
        self.config = self._stream_config()
        return self.api(f"STREAM.CREATE.{self.stream}", self.config)

    def _update_stream(self) -> Step:
        changed = {**self.config, "description": self.any("a", "b")}
        if self.maybe(0.5):
            changed["max_msgs"] = self.any(-1, 2, 10)
        if self.maybe(0.2):
            changed["storage"] = "file"
        return self.api(f"STREAM.UPDATE.{self.stream}", changed)

    # ------------------------------------------------------------------------------------------------ consumers

    def _consumer_config(self, name: str) -> dict[str, object]:
        config: dict[str, object] = {"durable_name": name}
        config["ack_policy"] = self.any("explicit", "explicit", "explicit", "all", "none")
        for key, likely, values in (
            (
                "deliver_policy",
                0.3,
                ("all", "last", "new", "last_per_subject", "by_start_sequence"),
            ),
            ("filter_subject", 0.35, ("s.a", "s.*", "s.b", "s.>", "nowhere")),
            ("max_ack_pending", 0.25, (1, 2, 3)),
            ("max_deliver", 0.2, (1, 2, 5)),
            ("max_waiting", 0.1, (1, 2)),
            ("headers_only", 0.1, (True,)),
            ("max_batch", 0.1, (2,)),
            ("max_expires", 0.05, (SECOND,)),
            ("max_bytes", 0.05, (100,)),
            ("ack_wait", 0.1, (LONG,)),
            ("sample_freq", 0.1, ("100", "100%", "x")),
            ("backoff", 0.05, ([LONG, 2 * LONG],)),
            ("inactive_threshold", 0.05, (LONG,)),
            ("opt_start_seq", 0.1, (1, 3)),
            ("description", 0.1, ("d",)),
            ("mem_storage", 0.05, (True,)),
        ):
            if self.maybe(likely):
                config[key] = self.any(*values)
        if config.get("deliver_policy") == "by_start_sequence" and self.maybe(0.8):
            config["opt_start_seq"] = self.any(1, 3, 10, 30)
        if self.version >= (2, 10) and self.maybe(0.1):
            config.pop("filter_subject", None)
            config["filter_subjects"] = self.any(["s.a", "s.b"], ["s.a", "s.*"], [""])
        if self.maybe(0.3):
            config["deliver_subject"] = f"d.{name}"
            if self.maybe(0.85):
                config.pop("max_waiting", None)
            if self.maybe(0.3):
                config["deliver_group"] = "g"
            if self.maybe(0.3):
                config.update({"flow_control": True, "idle_heartbeat": LONG})
        elif self.version >= (2, 12) and self.maybe(0.15):
            config["priority_policy"] = self.any("overflow", "prioritized", "pinned_client")
            config["priority_groups"] = ["g"]
        return config

    def _create_consumer(self, name: str) -> Step:
        request: dict[str, object] = {
            "stream_name": self.stream,
            "config": self._consumer_config(name),
        }
        if self.version >= (2, 10) and self.maybe(0.2):
            request["action"] = self.any("create", "update", "")
        verb = self.any("CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE")
        return self.api(f"{verb}.{self.stream}.{name}", request)

    def _create(self) -> Step:
        return self._create_consumer(self.chance.choice(CONSUMERS))

    def _pause(self) -> Step:
        name = self.chance.choice(CONSUMERS)
        body = self.any(
            {"pause_until": "2999-01-01T00:00:00Z"}, {}, {"pause_until": "2001-01-01T00:00:00Z"}
        )
        return self.api(f"CONSUMER.PAUSE.{self.stream}.{name}", body)

    def _delete(self) -> Step:
        return self.api(f"CONSUMER.DELETE.{self.stream}.{self.chance.choice(CONSUMERS)}")

    def _pull(self) -> Step:
        request: dict[str, object] = {"batch": self.any(1, 1, 2, 3, 5, 0)}
        if self.maybe(0.5):
            request["no_wait"] = True
        if self.maybe(0.5):
            request["expires"] = self.any(LONG, LONG, -1)
        if self.maybe(0.2):
            request["max_bytes"] = self.any(30, 60, 100, 200)
        if self.maybe(0.1):
            request["idle_heartbeat"] = self.any(LONG // 2, LONG)
        if self.maybe(0.15):
            request["group"] = self.any("g", "g", "h", "")
        if self.maybe(0.05):
            request.update(
                self.any({"priority": 3}, {"priority": 12}, {"min_pending": 2}, {"id": "x"})
            )
        forms = [json.dumps(request).encode()] * 8 + [b"", b"2", b"x", b"{", b'{"batch":"1"}']
        return Step("pull", self.chance.choice(CONSUMERS), self.chance.choice(forms))

    def _ack(self) -> Step:
        """``number`` says which of the deliveries, counted from the newest."""
        number = self.chance.choice((0, 0, 0, 1, 1, 2, 3, 8))
        return Step(
            "ack", self.any("reply", "reply", "reply", ""), self.chance.choice(WORDS), number=number
        )

    def _listen(self) -> Step:
        """Come to listen on a subject, or go."""
        name = self.chance.choice(CONSUMERS)
        subject = self.any(f"d.{name}", f"d.{name}", f"d.{name} g", f"in.{name}")
        return Step(self.any("sub", "sub", "unsub"), str(subject))

    # ------------------------------------------------------------------------------------------------ messages

    def _publish(self) -> Step:
        headers: dict[str, str] = {}
        for name, likely, values in (
            ("Nats-Msg-Id", 0.15, ("a", "b", "c")),
            ("Nats-Expected-Last-Sequence", 0.06, ("0", "1", "4", "x")),
            ("Nats-Expected-Last-Subject-Sequence", 0.06, ("0", "1", "2")),
            ("Nats-Expected-Last-Msg-Id", 0.04, ("a", "b")),
            ("Nats-Expected-Stream", 0.05, (self.stream, "other")),
            ("Nats-Rollup", 0.05, ("sub", "all", "junk")),
            ("Nats-TTL", 0.06, ("60", "60s", "never", "junk", "0")),
            ("Nats-Incr", 0.05, ("+1", "2", "-3", "x")),
            ("K", 0.2, ("v", "longer value")),
        ):
            if self.maybe(likely):
                headers[name] = str(self.any(*values))
        if self.version >= (2, 12) and self.maybe(0.06):
            headers["Nats-Batch-Id"] = str(self.any("b1", "b2"))
            headers["Nats-Batch-Sequence"] = str(self.any(1, 1, 2, 2, 3))
            if self.maybe(0.5):
                headers["Nats-Batch-Commit"] = str(self.any("1", "1", "eob", "x"))
        payload = b"x" * self.chance.choice((0, 1, 1, 3, 10, 50))
        subject = self.chance.choice((*SUBJECTS, "nowhere"))
        return Step("publish", subject, payload, headers or None)

    def _direct(self) -> Step:
        body = self.any(
            {"seq": 1}, {"seq": 3}, {"last_by_subj": "s.a"}, {"next_by_subj": "s.b"}, {"seq": 2, "next_by_subj": "s.*"},
            {"batch": 2, "seq": 1}, {"multi_last": ["s.>"]}, {"multi_last": ["s.a", "s.c"], "batch": 1}, {}, {"batch": 3},
            {"seq": 1, "last_by_subj": "s.a"}, {"batch": 5, "seq": 1, "max_bytes": 20}, {"seq": 1, "no_hdr": True},
        )  # fmt: skip
        if self.maybe(0.2):
            return self.api(f"DIRECT.GET.{self.stream}.{self.chance.choice(SUBJECTS)}")
        return self.api(f"DIRECT.GET.{self.stream}", body)

    def _get(self) -> Step:
        body = self.any(
            {"seq": 1}, {"seq": 2}, {"last_by_subj": "s.a"}, {"next_by_subj": "s.b"}, {"seq": 0}, {}, {"seq": 99},
            {"seq": 2, "next_by_subj": "s.>"},
        )  # fmt: skip
        return self.api(f"STREAM.MSG.GET.{self.stream}", body)

    def _take_out(self) -> Step:
        if self.maybe(0.6):
            return self.api(f"STREAM.MSG.DELETE.{self.stream}", {"seq": self.any(1, 2, 3, 5, 9)})
        body = self.any(
            None, {"filter": "s.a"}, {"seq": 3}, {"keep": 1}, {"filter": "s.*", "keep": 1}
        )
        return self.api(f"STREAM.PURGE.{self.stream}", body)

    # ------------------------------------------------------------------------------------------------ looking

    def _info(self) -> Step:
        name = self.chance.choice(CONSUMERS)
        verb = self.any(
            f"STREAM.INFO.{self.stream}",
            f"CONSUMER.INFO.{self.stream}.{name}",
            f"CONSUMER.INFO.{self.stream}.{name}",
        )
        return self.api(str(verb))

    def _listed(self) -> Step:
        return self.api(
            str(
                self.any(
                    "STREAM.NAMES",
                    f"CONSUMER.NAMES.{self.stream}",
                    f"CONSUMER.LIST.{self.stream}",
                    "STREAM.LIST",
                )
            )
        )

    def _odd(self) -> Step:
        """A request that the server cannot read, or reads in its own way."""
        if self.maybe(0.7):
            verb = self.chance.choice(ODD_VERBS).format(self.stream)
            return Step("api", verb, self.chance.choice(ODD_BODIES))
        if self.maybe(0.5):
            name, value = self.chance.choice(ODD_STREAMS)
            return self.api(f"STREAM.CREATE.{self.stream}", {**self.config, name: value})
        name, value = self.chance.choice(ODD_CONSUMERS)
        config = {"durable_name": "C1", "ack_policy": "explicit", name: value}
        return self.api(
            f"CONSUMER.CREATE.{self.stream}.C1", {"stream_name": self.stream, "config": config}
        )

    def _special(self) -> Step:
        """What should not be asked."""
        return self.chance.choice(
            (
                self.api("STREAM.INFO.NOPE"),
                self.api(f"STREAM.CREATE.{self.stream}", {**self.config, "unknown_member": 1}),
                self.api(f"CONSUMER.INFO.{self.stream}.NOPE"),
                self.api(f"CONSUMER.CREATE.{self.stream}.C1", {"stream_name": "X", "config": {}}),
                self.api(f"STREAM.DELETE.{self.stream}", {}),
                self.api(
                    f"STREAM.INFO.{self.stream}", {"subjects_filter": ">", "deleted_details": True}
                ),
                self.api("STREAM.NAMES", {"subject": "s.a"}),
                self.api(f"STREAM.LEADER.STEPDOWN.{self.stream}"),
                Step("pull", "NOPE", b"1"),
                self.api(f"CONSUMER.NAMES.{self.stream}", {"offset": 1}),
            )
        )
