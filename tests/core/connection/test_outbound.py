"""What belongs to a link dies with it, what belongs to the user goes out once and in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.connection.outbound import Outbound

steps = st.lists(st.sampled_from(["user", "bound", "take", "lost", "twin"]), max_size=40)


@given(steps)
def test_every_user_byte_goes_out_once_in_order_and_no_bound_byte_on_another_link(script):
    outbound, link, up = Outbound(), 0, True
    sent: list[tuple[int, bytes]] = []
    written: list[bytes] = []
    for number, step in enumerate(script):
        if step == "user":
            data = b"u%d;" % number
            written.append(data)
            outbound.append(data) if up else outbound.keep(data)
        elif step == "bound" and up:
            outbound.append_bound(b"b%d.%d;" % (link, number))
        elif step == "take" and up:
            sent += [(link, piece + b";") for piece in outbound.take().split(b";")[:-1]]
        elif step == "lost":
            if up:
                outbound.lost()
            else:
                outbound.resume()
                link += 1
            up = not up
        elif step == "twin":
            twin = Outbound()
            twin.restore(outbound.snapshot())
            outbound = twin
        assert outbound.kept_size == sum(map(len, outbound.kept))
    if not up:
        outbound.resume()
        link += 1
    size = outbound.size
    rest = outbound.take()
    sent += [(link, piece + b";") for piece in rest.split(b";")[:-1]]

    assert size == len(rest)
    assert written == [piece for _, piece in sent if piece.startswith(b"u")]
    assert all(piece.startswith(b"b%d." % on) for on, piece in sent if piece.startswith(b"b"))
