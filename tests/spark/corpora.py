"""A corpus whose faults are known: sessions of a good client, some with one fault planted."""

import re
from pathlib import Path

from jsproto.trace.formats.format import FIRST_LINE, escaped

INFO = b'INFO {"server_id":"N","version":"2.15.1","max_payload":1048576,"headers":true}\r\n'
CONNECT = b'CONNECT {"verbose":false,"lang":"test","version":"1.2","headers":true}\r\n'


def session(messages: int, fault: str = "") -> bytes:
    """One trace: a pull, so many messages, an ack for each. ``fault``: ``twice`` acks one again,
    ``deaf`` leaves a PING alone.
    """
    lines = [FIRST_LINE, ": server_version 2.15.1", ": scenario consume"]

    def says(way: str, data: bytes) -> None:
        lines.append(f"{way} a {escaped(data)}")

    lines.append("= a connected")
    says("<", INFO)
    says(">", CONNECT + b"PING\r\n")
    says("<", b"PONG\r\n")
    says(">", b"SUB _INBOX.p.* 2\r\n")
    body = b'{"batch":%d,"expires":30000000000,"idle_heartbeat":5000000000}' % messages
    says(">", b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p.1 %d\r\n%b\r\n" % (len(body), body))
    for number in range(1, messages + 1):
        lines.append(f"@ {number / 100:.6f}")
        reply = b"$JS.ACK.S.C.1.%d.%d.1795813228857713434.%d" % (number, number, messages - number)
        says("<", b"MSG s.x 2 %b 5\r\nhello\r\n" % reply)
        lines.append(f"@ {number / 100 + 0.002:.6f}")
        ack = b"PUB %b 4\r\n+ACK\r\n" % reply
        says(">", ack)
        if fault == "twice" and number == messages:
            says(">", ack)
    if fault == "deaf":
        says("<", b"PING\r\n")
        lines.append("@ 60.000000")
        says("<", b"PING\r\n")
        says(">", b"PONG\r\n")
    return "\n".join(lines).encode() + b"\n"


#: name -> text; every fifth acks twice, every seventh is deaf.
CORPUS = {
    f"trace-{number:03}": session(
        3 + number % 5, "twice" if number % 5 == 0 else "deaf" if number % 7 == 0 else ""
    )
    for number in range(1, 41)
}
TWICE = sorted(name for name in CORPUS if int(name[-3:]) % 5 == 0)
DEAF = sorted(name for name in CORPUS if int(name[-3:]) % 7 == 0 and int(name[-3:]) % 5)


def change_one_line(core: Path) -> None:
    """In the copy of the core below this folder, no ack settles a delivery any more."""
    file = core / "jsproto" / "trace" / "observe" / "deliveries.py"
    text, times = re.subn(
        r"delivery\.settled = .*", "delivery.settled = None", file.read_text(encoding="utf-8")
    )
    assert times == 1, f"{file} has changed"
    file.write_text(text, encoding="utf-8")
